"""The cross-validated estimate of numbers: whole fits on other rows, with exposure and offset."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score, mean_absolute_error, mean_squared_error

from model_files import sealed, write
from rpte import InputError, ModelFileError, RPTEClassifier, RPTERegressor, load
from rpte.audit.number_metrics import gini
from rpte.check import rpte_check
from rpte.losses import POISSON
from rpte.model.file import to_dict
from rpte.table.read import read_training
from rpte.table.table import row_hashes
from rpte.validation.cross_validate import estimate, held_out_splits


def claims(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(18, 80, n) * 1.0, "zone": rng.choice(list("abc"), n)})
    years = rng.uniform(0.2, 2.0, n).round(2)
    rate = np.exp(-0.5 + 0.03 * (X["age"] - 50) + 0.8 * (X["zone"] == "a"))
    return X, pd.Series(rng.poisson(rate * years), name="claims"), years


X, Y, YEARS = claims()
COUNTS = RPTERegressor(l1=0.05, loss="poisson", max_trees=0)


def test_each_fold_is_a_fit_on_the_other_rows():
    found = estimate(COUNTS, X, Y, folds=3, exposure=YEARS)
    y, strata = Y.to_numpy(), POISSON.strata(Y.to_numpy() / YEARS)
    splits = list(held_out_splits(row_hashes(read_training(X)), y, None, 3, None, strata))
    assert len(splits) == len(found.folds) == 3
    for (train, test), fold in zip(splits, found.folds, strict=True):
        fitted = clone(COUNTS).fit(X.iloc[train], y[train], exposure=YEARS[train])
        mean = fitted.predict(X.iloc[test], exposure=YEARS[test])
        rate = {"y_pred": mean / YEARS[test], "sample_weight": YEARS[test]}
        explained = d2_tweedie_score(y[test] / YEARS[test], **rate, power=1)
        assert fold.deviance_explained == pytest.approx(explained)
        assert fold.calibration_ratio == pytest.approx(mean.sum() / y[test].sum())
        order = gini(mean / YEARS[test], y[test], np.ones(len(test)), YEARS[test])
        assert fold.gini == pytest.approx(order)
        assert fold.mae == pytest.approx(mean_absolute_error(y[test], mean))
        assert fold.rmse == pytest.approx(mean_squared_error(y[test], mean) ** 0.5)
        assert (fold.rows, fold.miu) == (len(test), fitted.audit().miu)
    assert found.mean("mae") == pytest.approx(np.mean([fold.mae for fold in found.folds]))
    assert not hasattr(COUNTS, "model_")


def test_the_figures_are_kept_with_the_model(tmp_path):
    table = X.assign(years=YEARS)
    made = clone(COUNTS).fit(table, Y, exposure="years")
    found = made.cross_validate(table, Y, folds=2, exposure="years")
    assert found == estimate(COUNTS, table, Y, folds=2, exposure="years")
    made.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    kept = model.training["cross_validation"]
    assert kept == found.record()
    assert (kept["folds"], kept["by"], kept["rows"]) == (2, "content", len(Y))
    for name in ("deviance_explained", "gini", "calibration_ratio", "mae", "rmse", "miu"):
        assert kept[name] == {"mean": found.mean(name), "error": found.error(name)}
    said = f"mean absolute error {found.mean('mae'):.4f} ± {found.error('mae'):.4f}"
    assert said in made.summary()
    assert "deviance explained" in made.summary()
    assert "AUC" not in made.summary()
    assert all(check.holds for check in model.verify(table, Y, exposure="years"))
    command = [sys.executable, rpte_check.__file__, tmp_path / "model.json"]
    checker = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checker.returncode == 0, checker.stdout


def test_the_figures_are_those_of_the_task(tmp_path):
    """A file of a number may not hold figures of classes, and the other way round."""
    made = clone(COUNTS).fit(X, Y)
    made.cross_validate(X, Y, folds=2)
    numbers = to_dict(made.model_)
    made = RPTEClassifier(l1=0.1).fit(X, Y > 0)
    made.cross_validate(X, Y > 0, folds=2)
    classes = to_dict(made.model_)
    for document, other in ((numbers, classes), (classes, numbers)):
        figures = other["training"]["cross_validation"]
        turned = {**document, "training": {**document["training"], "cross_validation": figures}}
        with pytest.raises(ModelFileError, match="cross_validation"):
            load(write(sealed(turned), tmp_path))
        assert "the cross-validated figures are not those of the task" in list(
            rpte_check.sense_of_training(turned)
        )


@pytest.mark.parametrize("loss", ["squared_error", "gamma", "tweedie"])
def test_weights_offsets_and_groups_reach_every_fold(loss):
    rng = np.random.default_rng(1)
    y = np.exp(0.02 * X["age"].to_numpy()) * rng.gamma(2.0, 1.0, len(X))
    weight, offset = rng.integers(1, 4, len(X)), rng.normal(size=len(X)) / 4
    groups = np.arange(len(X)) // 5
    made = RPTERegressor(l1=0.05, loss=loss, max_trees=0)
    found = estimate(made, X, y, weight=weight, groups=groups, folds=2, offset=offset)
    assert found.by == "groups"
    plain = estimate(made, X, y, folds=2, groups=groups)
    assert found.mean("mae") != plain.mean("mae")
    assert found.mean("rmse") >= found.mean("mae") > 0


def test_few_rows_have_fewer_folds():
    few = pd.DataFrame({"x": np.arange(6.0)})
    made = RPTERegressor(l1=0.1)
    assert len(estimate(made, few, few["x"], folds=10).folds) == 6
    pairs = np.array([0, 0, 0, 1, 1, 1])
    assert len(estimate(made, few, few["x"], groups=pairs, folds=5).folds) == 2
    with pytest.raises(InputError, match="fewer than two rows or groups"):
        estimate(made, few, few["x"], groups=np.zeros(6), folds=5)


def test_folds_of_a_rare_count_have_some_of_it_each():
    y = np.zeros(100)
    y[:10] = 3.0
    splits = held_out_splits(np.arange(100), y, None, 5, None, POISSON.strata(y))
    assert [int((y[test] > 0).sum()) for _, test in splits] == [2] * 5


def test_only_the_fit_itself_is_repeated():
    made = clone(COUNTS).fit(X, Y, exposure=YEARS)
    with pytest.raises(InputError, match="give X, y and sample_weight, exposure and offset as to"):
        made.cross_validate(X, Y, exposure=2 * YEARS)
    with pytest.raises(InputError, match="loss was changed since the fit"):
        made.set_params(loss="tweedie").cross_validate(X, Y, exposure=YEARS)
    assert "cross_validation" not in made.model_.training
