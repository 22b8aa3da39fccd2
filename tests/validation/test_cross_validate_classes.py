"""The cross-validated estimate of several classes: whole fits on other rows, kept in the file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from model_files import sealed, write
from rpte import InputError, ModelFileError, RPTEClassifier, RPTERegressor, load
from rpte.model.file import to_dict
from rpte.table.read import read_training
from rpte.table.table import row_hashes
from rpte.validation.cross_validate import estimate, held_out_splits

QUICK = RPTEClassifier(l1=0.03, max_trees=0)


def sorts(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(2), "zone": rng.choice(list("pqr"), n)})
    best = np.column_stack([2 * X["a"], np.zeros(n), 2 * (X["zone"] == "p") - X["a"]])
    y = np.array(["low", "mid", "top"])[(best + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    return X, y


X, Y = sorts()


def test_each_fold_is_a_fit_on_the_other_rows():
    weight = np.random.default_rng(1).integers(1, 4, len(Y)).astype(float)
    found = estimate(QUICK, X, Y, weight=weight, folds=3)
    splits = list(held_out_splits(row_hashes(read_training(X)), Y, None, 3, weight))
    assert len(splits) == len(found.folds) == 3
    for (train, test), fold in zip(splits, found.folds, strict=True):
        assert set(Y[train]) == set(Y[test]) == set(Y)
        fitted = clone(QUICK).fit(X.iloc[train], Y[train], sample_weight=weight[train])
        p, given = fitted.predict_proba(X.iloc[test]), {"sample_weight": weight[test]}
        assert fold.log_loss == pytest.approx(log_loss(Y[test], p, **given))
        said = fitted.predict(X.iloc[test])
        assert fold.accuracy == pytest.approx(accuracy_score(Y[test], said, **given))
        own = [roc_auc_score(Y[test] == c, p[:, k], **given) for k, c in enumerate(np.unique(Y))]
        assert fold.auc == pytest.approx(np.mean(own))
        assert (fold.rows, fold.miu) == (len(test), fitted.audit().miu)
    assert not hasattr(QUICK, "model_")


def test_the_figures_are_kept_with_the_model(tmp_path):
    made = clone(QUICK).fit(X, Y)
    found = made.cross_validate(X, Y, folds=2)
    made.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    kept = model.training["cross_validation"]
    assert kept == found.record()
    assert set(kept) == {"folds", "by", "rows", "auc", "log_loss", "accuracy", "miu"}
    said = f"accuracy {found.mean('accuracy'):.4f} ± {found.error('accuracy'):.4f}"
    assert said in model.summary()
    assert "mean AUC (one class against the rest)" in model.summary()
    assert all(check.holds for check in model.verify(X, Y))


def test_the_figures_are_those_of_the_task(tmp_path):
    """A file of several classes may not hold figures of two or of a number, nor they its."""
    several, two = clone(QUICK).fit(X, Y), RPTEClassifier(l1=0.1).fit(X, Y == "top")
    number = RPTERegressor(l1=0.1).fit(X, X["a"])
    given = ((several, Y), (two, Y == "top"), (number, X["a"]))
    documents = []
    for made, y in given:
        made.cross_validate(X, y, folds=2)
        documents.append(to_dict(made.model_))
    for document in documents:
        for other in documents:
            figures = other["training"]["cross_validation"]
            training = {**document["training"], "cross_validation": figures}
            path = write(sealed({**document, "training": training}), tmp_path)
            if other is document:
                load(path)
                continue
            with pytest.raises(ModelFileError, match="cross_validation is not of the task"):
                load(path)


def test_a_small_class_gives_fewer_folds():
    y = Y.copy()
    y[:4] = "rare"
    splits = list(held_out_splits(row_hashes(read_training(X)), y, None, 10))
    assert len(splits) == 4
    assert all(set(y[train]) == set(y) for train, _ in splits)


def test_groups_stay_together_and_every_fold_trains_on_all_classes():
    groups = np.arange(len(Y)) % 12
    found = estimate(QUICK, X, Y, groups=groups, folds=3)
    assert found.by == "groups"
    for train, test in held_out_splits(row_hashes(read_training(X)), Y, groups, 3):
        assert not set(groups[train]) & set(groups[test])
        assert set(Y[train]) == set(Y)
    with pytest.raises(InputError, match="one class has fewer than two rows or groups"):
        estimate(QUICK, X, Y, groups=Y, folds=3)


def test_what_would_not_repeat_the_fit_is_refused():
    made = clone(QUICK).fit(X, Y)
    with pytest.raises(InputError, match="not the table that the model was fitted on"):
        made.cross_validate(X[:-1], Y[:-1])
    with pytest.raises(InputError, match="exposure is for models of numbers; this tells classes"):
        made.cross_validate(X, Y, exposure=np.ones(len(Y)))
    with pytest.raises(InputError, match="l1 was changed since the fit"):
        made.set_params(l1=0.5).cross_validate(X, Y)
