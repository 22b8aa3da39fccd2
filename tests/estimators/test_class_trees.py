"""Trees of several classes: a tree that is the truth is found, and all that follows agrees."""

import importlib.util
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest

from rpte import RPTEClassifier, bootstrap
from rpte.audit.edits import edit
from rpte.check import rpte_check
from rpte.fit.refit import refit
from rpte.model.file import from_text, to_text
from rpte.structure.coded import CodedColumns
from rpte.structure.grower import GrowthLimits, grow


@cache
def flowers(n=1_000, seed=0):
    """Return a table whose classes follow from three conditions at once, with some noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.uniform(0, 10, n).round(2) for name in "abcd"})
    X["soil"] = rng.choice(["clay", "sand", "loam"], n)
    X.loc[rng.random(n) < 0.04, "b"] = np.nan
    first = (X.a > 4) & ~(X.b <= 5) & (X.soil != "clay")
    second = (X.a <= 4) & (X.c > 5) & (X.soil == "clay")
    y = np.where(first, 0, np.where(second, 1, 2))
    y = np.where(rng.random(n) < 0.05, rng.integers(0, 3, n), y)
    return X, np.array(["x", "y", "z"])[y]


@cache
def fitted(form="any", trees=10):
    return RPTEClassifier(form=form, max_trees=trees, cv=2).fit(*flowers())


def log_loss(clf):
    X, y = flowers(4000, 99)
    p = clf.predict_proba(X)
    return -np.log(p[np.arange(len(y)), np.searchsorted(clf.classes_, y)]).mean()


def test_splits_gain_in_all_classes_together():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 6, (3, 400)).astype(np.uint8)
    g, h = rng.normal(size=(3, 400)), rng.uniform(0.1, 0.3, (3, 400))
    g[1] += 0.8 * (codes[2] >= 4)
    sources, never = ((0,), (1,), (2,)), np.zeros(3, bool)
    columns = CodedColumns(codes, np.full(3, 6), never, sources, never)
    tree = grow(columns, np.arange(3), g, h, np.ones(400), GrowthLimits(2, 1, 5.0, 1.0))

    def gain(j, last):
        inside = codes[j] <= last
        sums = [(g[:, m].sum(axis=1), h[:, m].sum(axis=1)) for m in (inside, ~inside)]
        parent = (g.sum(axis=1) ** 2 / (h.sum(axis=1) + 1.0)).sum()
        return sum((a**2 / (b + 1.0)).sum() for a, b in sums) - parent

    best = max((gain(j, last), j, last) for j in range(3) for last in range(5))
    split = tree.splits[0]
    assert (split.column, split.bin) == best[1:] == (2, 3)
    assert split.gain == pytest.approx(best[0])


def test_a_category_is_split_by_the_levels_of_one_class():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 5, (1, 500)).astype(np.uint8)
    g = 0.05 * rng.normal(size=(3, 500))
    g[2] += np.isin(codes[0], [1, 3])
    columns = CodedColumns(codes, np.array([5]), np.ones(1, bool), ((0,),), np.zeros(1, bool))
    limits = GrowthLimits(2, 1, 5.0, 1.0)
    split = grow(columns, np.arange(1), g, np.full((3, 500), 0.2), np.ones(500), limits).splits[0]
    assert {split.left_levels, split.right_levels} == {(0, 2, 4), (1, 3)}


@pytest.mark.slow(reason="fits several models with inner validation")
@pytest.mark.parametrize("form", ["any", "rules"])
def test_a_tree_that_is_the_truth_is_found(form):
    clf, without = fitted(form), fitted(form, 0)
    trees = clf.model_.outline.trees
    assert len(trees) == 1
    assert {"a", "b", "soil"} <= set(trees[0].sources)
    assert not without.model_.outline.trees
    assert log_loss(clf) < log_loss(without) - 0.01
    assert all(check.holds for check in clf.verify(*flowers()))
    assert clf.audit().miu == sum(rule.inspection_units for rule in clf.model_.rules())


@pytest.mark.slow(reason="fits several models with inner validation")
@pytest.mark.parametrize("form", ["any", "rules"])
def test_all_that_follows_agrees(form, tmp_path, capsys):
    (X, y), model = flowers(), fitted(form).model_
    assert from_text(to_text(model)) == model
    score = model.score(X)
    for row, told in enumerate(model.explain(X[:200])):
        a, b = (model.target.place(label) for label in (told.chosen, told.against))
        assert told.difference.score == pytest.approx(score[row, a] - score[row, b], abs=1e-9)
    model.save(tmp_path / "m.json")
    X.assign(kind=y).to_csv(tmp_path / "t.csv", index=False)
    given = [str(tmp_path / name) for name in ("m.json", "t.csv")]
    assert rpte_check.main([*given, "--target", "kind"]) == 0, capsys.readouterr().out
    again = refit(model, X, y)
    np.testing.assert_allclose(again.score(X), score, atol=1e-4)
    less = edit(model, drop_terms=["T1"], by="a reader", reason="a test")
    assert not less.outline.trees
    assert all(check.holds for check in less.verify(X))
    drawn = bootstrap(model, X, y, n=3)
    assert {i.name for i in drawn.terms(label="x")} - {"intercept"} <= set(drawn.names)
    assert "T1.L" in model.summary()
    assert "T1.L" in model._repr_html_()
    assert set(fitted(form).plot("T1").labels) == {"x", "y", "z"}


TARGETS = [
    ("python", {}, ()),
    ("javascript", {}, ("node",)),
    ("c", {}, ("cc",)),
    ("sql", {"dialect": "sqlite", "contributions": True}, ()),
    ("onnx", {}, ()),
    pytest.param("pmml", {}, ("java",), marks=pytest.mark.slow(reason="starts Java")),
    pytest.param("xlsx", {}, ("soffice",), marks=pytest.mark.slow(reason="starts LibreOffice")),
]


@pytest.mark.slow(reason="fits several models with inner validation")
@pytest.mark.parametrize(("target", "options", "programs"), TARGETS)
def test_exports_compute_what_the_model_does(target, options, programs, tmp_path):
    if not all(map(shutil.which, programs)) or (
        target == "onnx" and not importlib.util.find_spec("onnxruntime")
    ):
        pytest.skip("what runs it is not there")
    found = fitted().model_.export(target, tmp_path / f"m.{target}", flowers()[0], **options)
    assert found.holds
    assert any(name.startswith("T1_") for name in found.differences) or target == "pmml"
