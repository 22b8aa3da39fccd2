"""A few rows are scored another way than many: the same numbers to the last bit, and fast."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model_files import NAMES, stored
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.columns.kinds import Hinge, Interval, Missing, Pair, Scale, Step, Value
from rpte.model.file import from_dict
from rpte.model.parts import Component, DirectTerm
from rpte.model.scoring import FEW_ROWS


def one_by_one(model, X, size=1):
    """The score of a table, a few rows at a time."""
    take = X.iloc if isinstance(X, pd.DataFrame) else X
    return np.concatenate([model.score(take[i : i + size]) for i in range(0, len(X), size)])


def spoiled(X, seed=0):
    """The table with holes, and with levels that training did not have."""
    if not isinstance(X, pd.DataFrame):
        return np.where(np.random.default_rng(seed).random(X.shape) < 0.1, np.nan, X)
    rng, out = np.random.default_rng(seed), X.copy()
    for name in out:
        number = out[name].dtype.kind in "fiu"
        out[name] = out[name].astype(float if number else object)
        out.loc[rng.random(len(out)) < 0.1, name] = None
        if not number:
            out.loc[rng.random(len(out)) < 0.1, name] = "never seen"
    return out


@pytest.mark.filterwarnings("ignore:column .* training did not have")
@pytest.mark.parametrize("name", NAMES)
def test_few_rows_score_like_many(name):
    given = stored(name)
    model = from_dict(given.copy())
    for X in (given.X, spoiled(given.X)):
        X = X[:60]
        many = model.score(X)
        assert len(many) > FEW_ROWS
        assert np.array_equal(one_by_one(model, X), many)
        assert np.array_equal(one_by_one(model, X, FEW_ROWS), many)


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40))
    y = (X[:, 3] + X[:, 8] * X[:, 9] + rng.normal(size=120) > 0).astype(int)
    return X, RPTEClassifier(l1=0.05).fit(X, y).model_


def test_every_kind_of_array(wide):
    X, model = wide
    expected = model.score(X)[:5]
    for kind in (np.float64, object):
        assert np.array_equal(model.score(X[:5].astype(kind)), expected)
    assert np.array_equal(model.score(X[:5].tolist()), expected)
    assert np.array_equal(model.score(np.asfortranarray(X[:5])), expected)
    whole = np.round(X[:5])
    for kind in (np.int64, np.float32):
        assert np.array_equal(model.score(whole.astype(kind)), model.score(whole))
    assert np.array_equal(model.score(-0.0 * X[:5]), model.score(0.0 * X[:5]))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e301])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1, 60])
def test_numbers_beyond_the_allowed_are_refused_in_any_column(wide, value, kind, rows):
    X, model = wide
    for column in range(X.shape[1]):
        broken = X[:rows].copy()
        broken[-1, column] = value
        with (
            np.errstate(over="ignore"),
            pytest.raises(InputError, match=f"column 'x{column}' holds 1 values beyond"),
        ):
            model.score(broken.astype(kind))


def test_what_is_wrong_with_an_array_is_said(wide):
    X, model = wide
    with pytest.raises(InputError, match="X has 39 features, but RPTEClassifier is expecting 40"):
        model.score(X[:1, :39])
    with pytest.raises(InputError, match="Expected 2D array, got 1D array"):
        model.score(X[0])
    with pytest.raises(InputError, match="Complex data not supported"):
        model.score(X[:1].astype(complex))
    with pytest.raises(InputError, match="could not convert string to float"):
        model.score(np.full((1, 40), "text"))
    assert model.score(X[:0]).shape == (0,)
    assert replace(model, components=()).score(X[:3]).tolist() == [model.intercept] * 3


def test_a_table_with_names_is_read_where_the_model_reads_it():
    given = stored("shaped")
    model = from_dict(given.copy())
    used = {name for component in model.components for name in component.sources}
    assert np.array_equal(model.score(given.X[[*used]][:1]), model.score(given.X[:1]))
    name = sorted(used)[0]
    with pytest.raises(InputError, match=f"the table lacks 1 of .*{name}"):
        model.score(given.X[:1].drop(columns=name))


def test_copies_score_alike(wide):
    X, model = wide
    expected = model.score(X[:1])
    for other in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert other == model
        assert np.array_equal(other.score(X[:1]), expected)
    moved = replace(model, intercept=model.intercept + 1.0)
    assert moved.score(X[:1]) == pytest.approx(expected + 1.0)


def test_values_near_the_largest_overflow_to_missing_in_both_ways(wide):
    _, model = wide
    left, right = Value("x0"), Hinge("x1", 0.5, "above")
    columns = [
        left,
        right,
        Hinge("x1", -1e300, "below"),
        Step("x2", 0.0),
        Interval("x2", -1.0, 1.0),
        Missing("x3"),
        Scale("x4", "log", (0.5,)),
        Scale("x4", "sqrt", (0.0,)),
        Scale("x5", "clip", (-1.0, 2.0)),
        Scale("x5", "distance", (1e300,)),
        *(Pair(o, left, right) for o in ("product", "sum", "difference", "absolute difference")),
    ]
    terms = [
        DirectTerm(f"D{i}", c, 0.1 * i - 0.4, 0.0 if c.binary else 0.3, 1.0, 1.0, 1.0)
        for i, c in enumerate(columns)
    ]
    model = replace(model, components=(Component("C1", (), tuple(terms)),))
    rng = np.random.default_rng(1)
    cells = [0.0, 1.0, -2.5, 1e300, -1e300, 1e200, np.nan, 0.5]
    X = rng.choice(cells, size=(80, 40))
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.array_equal(one_by_one(model, X), model.score(X), equal_nan=True)


def test_blocks_of_rows_and_tables_of_levels_give_the_defined_sum(monkeypatch):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"c": rng.choice(list("abcd"), 400), "x": rng.normal(size=400)})
    y = (X["x"] + X["c"].isin(["a", "b"]) + rng.normal(size=400) > 0.5).astype(int)
    model = RPTEClassifier(l1=0.01, max_component_sources=1).fit(X, y).model_
    assert ("c",) in [component.sources for component in model.components]
    given = X.assign(c=X["c"].astype(object))
    given.loc[:4, "c"], given.loc[5:9, "c"] = None, "never seen"
    monkeypatch.setattr("rpte.model.scoring.BLOCK", 64)
    with pytest.warns(RPTEWarning, match="never seen"):
        inputs = model.read(given)
    expected = np.full(400, model.intercept)
    for component in model.components:
        expected = expected + component.subtotal(inputs)
    assert np.array_equal(model.score(inputs), expected)


def test_a_classifier_reads_what_its_model_reads_but_needs_every_column(wide):
    X, model = wide
    names = [f"x{k}" for k in range(40)]
    frame = pd.DataFrame(X, columns=names)
    y = model.predict(X)
    clf = RPTEClassifier(l1=0.05).fit(frame, y)
    unread = next(name for name in names if name not in clf.model_.sources)
    odd = frame.assign(**{unread: "text"})
    for method in ("predict_proba", "decision_function", "predict"):
        assert np.array_equal(getattr(clf, method)(odd), getattr(clf.model_, method)(frame))
        with pytest.raises(InputError, match=f"lacks 1 of the 40 columns .*{unread}"):
            getattr(clf, method)(frame.drop(columns=unread))
        with pytest.raises(InputError, match="0 sample"):
            getattr(clf, method)(frame[:0])
