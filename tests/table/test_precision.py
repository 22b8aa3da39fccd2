"""Numbers that float64 cannot hold are refused; all others give a model that holds its claims."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.table.files import read_table
from rpte.table.read import read_training


def signal(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, (x + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object, "Int64"])
def test_integers_that_would_become_one_number_are_refused(dtype):
    cells = pd.Series([2**53, 2**53 + 1, 5], dtype=dtype)
    with pytest.raises(InputError, match=r"'c' holds 9007199254740992 and 9007199254740993, which"):
        read_training(pd.DataFrame({"c": cells}))
    apart = cells.where(cells != 2**53 + 1, 2**53 + 2)  # as far apart as floats are
    inputs = read_training(pd.DataFrame({"c": apart.astype(dtype)}))
    assert inputs["c"].tolist() == [2.0**53, 2.0**53 + 2, 5.0]


@pytest.mark.parametrize(
    "cells",
    [
        [2**70, 2**70 + 1],
        [Decimal("0.1"), Decimal("0.10000000000000000001")],
        [Fraction(1, 3), 1 / 3],
        [np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps],
    ],
)
def test_any_exact_numbers_that_would_become_one_are_refused(cells):
    if np.finfo(np.longdouble).eps == np.finfo(float).eps and isinstance(cells[0], np.longdouble):
        pytest.skip("long doubles are doubles here")
    for column in (np.array(cells, object), np.array(cells[::-1], object)):
        with pytest.raises(InputError, match="are one number in float64"):
            read_training({"c": column})


def test_wide_floats_are_refused_where_they_lose():
    wide = np.array([1.0, 1.0], np.longdouble)
    wide[1] += np.finfo(np.longdouble).eps
    if wide[1].astype(float) == 1.0 and wide[1] != 1.0:
        with pytest.raises(InputError, match="are one number"):
            read_training({"c": wide})
    assert read_training({"c": np.array([1.0, 2.0], np.longdouble)})["c"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("cell", [10**400, -(10**400), Decimal("1e400"), Fraction(10**400)])
def test_numbers_without_a_float_are_refused(cell):
    with pytest.raises(InputError, match=r"values beyond 1e\+300"):
        read_training({"c": np.array([cell, 1], object)})


def test_large_whole_numbers_in_a_file_stay_levels(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n9007199254740993,1\n9007199254740992,2\n")
    with pytest.warns(RPTEWarning, match="'id' holds 9007199254740992 and 9007199254740993"):
        table = read_table(path)
    assert table["id"].tolist() == ["9007199254740993", "9007199254740992"]
    assert table["x"].tolist() == [1, 2]


def test_numbers_that_are_too_small_for_slopes_are_refused():
    x, y = signal()
    with pytest.raises(InputError, match=r"'x0' holds numbers no larger than .*e-310 .* multiply"):
        RPTEClassifier(l1=0.02).fit((x * 1e-310)[:, None], y)
    with pytest.raises(InputError, match="no larger than"):
        RPTEClassifier(l1=0.02).fit(np.full((120, 1), 5e-324), y)
    assert read_training({"zero": np.zeros(3)}).schema["zero"].kind == "number"


def test_a_few_tiny_numbers_among_others_are_allowed():
    x, y = signal()
    X = np.where(x > 0, 1.0, np.abs(x) * 1e-310)[:, None]
    fitted = RPTEClassifier(l1=0.02).fit(X, y)
    assert all(check.holds for check in fitted.verify(X, y))


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 100), st.tuples(st.integers(-269, 299), st.integers(-269, 299)), st.booleans()
)
def test_every_allowed_size_gives_a_model_that_holds(seed, powers, gaps):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 2)).clip(-3, 3)
    y = (x[:, 0] * x[:, 1] + rng.normal(size=60) > 0).astype(int)
    X = x * 10.0 ** np.array(powers)
    if gaps:
        X[rng.random(60) < 0.2] = np.nan
    fitted = RPTEClassifier(l1=0.02).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert all(check.holds for check in fitted.verify(X, y))


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e-200, 1e20])
def test_the_unit_of_columns_with_gaps_does_not_matter(unit):
    """Columns with gaps in the same rows were taken for one where their unit is small."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).round(2)
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    X[rng.random(200) < 0.1] = np.nan
    fitted = RPTEClassifier(l1=0.02, vocabulary="original", max_trees=0).fit(X * unit, y)
    assert {r for rule in fitted.model_.rules() for r in rule.sources} == {"x0", "x1"}


@pytest.mark.parametrize("unit", [1.0, 1e9, 1e15, 1e200])
def test_a_slope_is_a_condition_in_any_unit(unit, tmp_path):
    x, y = signal()
    fitted = RPTEClassifier(l1=0.05, vocabulary="original", max_trees=0).fit((x * unit)[:, None], y)
    assert (fitted.audit().mu, fitted.audit().miu) == (1, 1)


class TestMasks:
    def test_masked_cells_are_missing(self):
        x, y = signal()
        plain = np.where(x > 1, np.nan, x)[:, None]
        expected = RPTEClassifier(l1=0.02).fit(plain, y).predict_proba(plain)
        masked = np.ma.array(x[:, None], mask=(x > 1)[:, None])
        fitted = RPTEClassifier(l1=0.02).fit(masked, y)
        assert (fitted.predict_proba(masked) == expected).all()
        assert (fitted.model_.predict_proba(list(masked)) == expected).all()
        named = RPTEClassifier(l1=0.02).fit({"x0": masked[:, 0]}, y)
        assert named.model_.schema["x0"].has_missing

    @pytest.mark.parametrize("cells", [[1, 2, 3], ["a", "b", "c"], [True, False, True]])
    def test_masked_cells_of_any_type(self, cells):
        inputs = read_training({"c": np.ma.array(cells, mask=[0, 1, 0])})
        assert inputs.is_missing("c").tolist() == [False, True, False]
        assert not read_training({"c": np.ma.array(cells)}).is_missing("c").any()

    def test_masked_labels_are_missing(self):
        x, y = signal()
        masked = np.ma.array(y, mask=x > 1)
        with pytest.raises(InputError, match=r"missing label\(s\)"):
            RPTEClassifier(l1=0.02).fit(x[:, None], masked)
        fitted = RPTEClassifier(l1=0.02).fit(x[:, None], y)
        with pytest.raises(InputError, match="y holds None"):
            fitted.verify(x[:, None], masked)


def test_structured_arrays_are_told_to_be_frames():
    X = np.array([(1.0, 2.0)], [("a", float), ("b", float)])
    with pytest.raises(InputError, match=r"fields \['a', 'b'\]; pass pandas.DataFrame"):
        read_training(X)
