"""The cross-validated estimate: whole fits on other rows, folds by content or by group."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score

from fit_tables import mixed_case
from rpte import (
    InputError,
    Labelled,
    RPTEClassifier,
    RPTERegressor,
    RPTESurvival,
    RPTEWarning,
    edit,
    load,
)
from rpte.validation.cross_validate import estimate, held_out_splits, with_estimate
from rpte.validation.tables import fold_of_rows

CASE = mixed_case(160)
MADE = RPTEClassifier(l1=0.03, positive="sick")


def test_groups_stay_together_and_equal_rows_are_spread():
    y = np.repeat([0, 1, 1], 20)
    content = np.repeat(np.arange(6), 10).astype(np.uint64)
    groups = np.tile(list("abcdefghij"), 6)
    for given in (None, groups):
        splits = list(held_out_splits(content, y, given, 5))
        assert len(splits) == 5
        assert sorted(np.concatenate([test for _, test in splits])) == list(range(60))
        for train, test in splits:
            assert sorted([*train, *test]) == list(range(60))
            if given is None:
                assert np.bincount(content[test].astype(int)).tolist() == [2] * 6
            else:
                assert not set(groups[train]) & set(groups[test])


def test_each_fold_is_a_fit_on_the_other_rows():
    seen = []
    found = estimate(MADE, CASE.X, CASE.y, folds=3, on_fold=lambda *told: seen.append(told))
    assert seen == sorted(seen)
    assert {(1, 3, 0.0), (1, 3, 1.0), (2, 3, 0.0), (3, 3, 0.0), (3, 3, 1.0)} <= set(seen)
    assert not hasattr(MADE, "model_")
    assert sum(fold.rows for fold in found.folds) == len(CASE.y)
    from rpte.table.read import read_training
    from rpte.table.table import row_hashes

    hashes = row_hashes(read_training(CASE.X))
    for (train, test), fold in zip(
        held_out_splits(hashes, CASE.y, None, 3), found.folds, strict=True
    ):
        fitted = clone(MADE).fit(CASE.X.iloc[train], CASE.y[train])
        p = fitted.predict_proba(CASE.X.iloc[test])[:, 1]
        truth = CASE.y[test] == "sick"
        assert fold.auc == pytest.approx(roc_auc_score(truth, p))
        assert fold.log_loss == pytest.approx(log_loss(truth, p))
        assert fold.brier == pytest.approx(np.mean((p - truth) ** 2))
        assert fold.miu == fitted.audit().miu
    assert found.mean("auc") == pytest.approx(np.mean([fold.auc for fold in found.folds]))
    spread = np.std([fold.auc for fold in found.folds], ddof=1)
    assert found.error("auc") == pytest.approx(spread / np.sqrt(3))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(CASE.y))
    other = CASE.take(order)
    for weights in ((None, None), (CASE.weight, other.weight)):
        first = estimate(MADE, CASE.X, CASE.y, weight=weights[0], folds=2).to_dict()
        second = estimate(MADE, other.X, other.y, weight=weights[1], folds=2).to_dict()
        assert first["auc"]["mean"] == pytest.approx(second["auc"]["mean"])
        assert first["miu"] == second["miu"]


def test_folds_are_as_many_as_the_smaller_class_allows():
    X = pd.DataFrame({"x": np.arange(40.0)})
    y = np.array([1] * 3 + [0] * 37)
    assert len(estimate(MADE.set_params(positive=None), X, y, folds=10).folds) == 3
    with pytest.raises(InputError, match="fewer than two rows or groups"):
        estimate(MADE, X, np.array([1] + [0] * 39), folds=5)
    with pytest.raises(InputError, match="folds=1; give at least 2"):
        estimate(MADE, X, y, folds=1)


def test_groups_may_leave_a_fold_without_one_class():
    X = pd.DataFrame({"x": np.arange(60.0)})
    groups = np.repeat(list("abcdef"), 10)
    y = np.array([0] * 25 + [1] * 35)
    found = estimate(RPTEClassifier(l1=0.1), X, y, groups=groups, folds=3)
    assert all(fold.auc is None or 0 <= fold.auc <= 1 for fold in found.folds)
    assert found.to_dict()["log_loss"]["mean"] > 0


def of_sites(kind):
    """Return a table of three sites, each a group of its own, and what is learned from it."""
    place = np.arange(90)
    X = pd.DataFrame({"site": np.repeat([*"abc"], 30), "x": place % 10 + 0.0})
    late = (place % 10 >= 5) ^ (X["site"] == "a") ^ (place % 7 == 0)
    if kind == "times":
        return X, (np.ones(90, bool), 1.0 + place % 10 + 10 * late), RPTESurvival(l1=0.01)
    if kind == "numbers":
        return X, late * 1.0, RPTERegressor(l1=0.01)
    y = late.astype(int) + (kind == "classes") * (place % 3 == 0)
    return X, y.to_numpy(), RPTEClassifier(l1=0.01)


@pytest.mark.parametrize("kind", ["two", "classes", "numbers", "times"])
def test_a_level_that_a_fold_has_not_trained_on_follows_the_rule_of_the_model(kind):
    X, y, made = of_sites(kind)
    site = X["site"].to_numpy()
    found = estimate(made, X, y, groups=site, folds=3)
    assert sum(fold.rows for fold in found.folds) == 90
    assert found.unknown == found.to_dict()["unknown"] == {"site": 90}
    assert estimate(made, X, y, folds=3).unknown == {}
    known = site != "c"
    some = tuple(part[known] for part in y) if kind == "times" else y[known]
    fitted = clone(made).fit(X[known], some)
    assert "site" in fitted.model_.sources
    with pytest.raises(InputError, match="30 of 30 cells hold a level that training did not have"):
        fitted.predict(X[~known])


def fitted(**more):
    return RPTEClassifier(l1=0.03, positive="sick", **more).fit(CASE.X, CASE.y, CASE.weight)


def test_the_figures_are_kept_with_the_model(tmp_path):
    made = fitted()
    before = made.model_
    found = made.cross_validate(CASE.X, CASE.y, CASE.weight, folds=3)
    assert found == estimate(made, CASE.X, CASE.y, weight=CASE.weight, folds=3)
    made.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    kept = model.training["cross_validation"]
    assert kept == found.record()
    assert (kept["folds"], kept["by"], kept["rows"]) == (3, "content", len(CASE.y))
    for name in ("auc", "log_loss", "brier", "miu"):
        assert kept[name] == {"mean": found.mean(name), "error": found.error(name)}
    assert model.components == before.components
    assert f"AUC {found.mean('auc'):.4f} ± {found.error('auc'):.4f}" in model.summary()
    assert "cross-validation" not in before.summary()
    assert all(check.holds for check in model.verify(CASE.X, CASE.y, CASE.weight))


def test_groups_are_said():
    groups = np.arange(len(CASE.y)) // 4
    with pytest.warns(RPTEWarning, match="groups"):
        made = RPTEClassifier(l1=0.03).fit(CASE.X, CASE.y, groups=groups)
    found = made.cross_validate(CASE.X, CASE.y, groups=groups, folds=2)
    assert found.record()["by"] == "groups"
    assert "groups together" in made.summary()


@pytest.mark.parametrize("kind", ["array", "list", "mapping", "polars", "object array"])
def test_any_table_can_be_cross_validated(kind):
    numbers = CASE.X[["age", "income", "noise"]]
    X = {
        "array": numbers.to_numpy,
        "list": lambda: numbers.to_numpy().tolist(),
        "mapping": lambda: {name: list(CASE.X[name]) for name in CASE.X},
        "polars": lambda: pytest.importorskip("polars").from_pandas(CASE.X),
        "object array": lambda: CASE.X.astype(object).to_numpy(),
    }[kind]()
    made = RPTEClassifier(l1=0.05).fit(X, CASE.y)
    found = made.cross_validate(X, CASE.y, folds=2)
    assert sum(fold.rows for fold in found.folds) == len(CASE.y)
    assert made.model_.training["cross_validation"] == found.record()


def test_only_the_fit_itself_is_repeated():
    made = fitted()
    with pytest.raises(InputError, match="not the table that the model was fitted on"):
        made.cross_validate(CASE.X[:100], CASE.y[:100], CASE.weight[:100])
    with pytest.raises(InputError, match="not the table"):
        made.cross_validate(CASE.X, CASE.y)
    with pytest.raises(InputError, match="l1 was changed since the fit"):
        made.set_params(l1=0.1).cross_validate(CASE.X, CASE.y, CASE.weight)
    chosen = RPTEClassifier(cv=2, max_trees=0, vocabulary="original").fit(CASE.X, CASE.y)
    least = int(chosen.frontier_["miu"].max())
    picked = chosen.at(least)
    with pytest.raises(InputError, match=f"max_inspection_units={least}"):
        picked.cross_validate(CASE.X, CASE.y)
    assert "cross_validation" not in picked.model_.training


def test_an_edit_drops_the_figures():
    made = fitted()
    made.cross_validate(CASE.X, CASE.y, CASE.weight, folds=2)
    who = {"by": "A. Smith", "reason": "a test"}
    (source, *_) = made.model_.sources
    table = Labelled(CASE.X, CASE.y, CASE.weight)
    for asked in (
        {"drop_sources": [source]},
        {"refit": True, "table": table},
        {"drop_sources": [source], "refit": True, "table": table},
    ):
        edited = edit(made.model_, **asked, **who)
        assert "cross_validation" not in edited.training
        assert all(check.holds for check in edited.verify())
        with pytest.raises(InputError, match="edited after training"):
            with_estimate(edited, estimate(made, CASE.X, CASE.y, weight=CASE.weight, folds=2))


def test_copies_are_held_out_together_and_cells_are_not():
    rng = np.random.default_rng(0)
    content = rng.integers(0, 2**63, 200).astype(np.uint64)
    y, times = rng.integers(0, 2, 200), rng.integers(1, 4, 200)
    row = rng.permutation(np.repeat(np.arange(200), times))
    fold = fold_of_rows(content[row], y[row], None, 5)
    assert all(len(set(fold[row == number])) == 1 for number in range(200))
    assert np.bincount(fold, minlength=5).min() > 60
    cell = rng.integers(0, 40, 600)
    fold = fold_of_rows(content[cell], rng.integers(0, 2, 600), None, 5)
    assert all(len(set(fold[cell == number])) > 1 for number in range(40))
