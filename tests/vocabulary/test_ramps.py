"""Ramps: limits inside the data, flat beyond them, and as many as there are knots for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.columns.kinds import Hinge, Scale, Step, Value, goes_on
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.vocabulary.ramps import FEWEST_VALUES, MARGINS, inner_limits, ramp, ramps, within

CELLS = st.floats(-1e9, 1e9).filter(lambda x: x == 0.0 or abs(x) > 1e-250)  # smaller are refused
NUMBERS = st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: float(np.round(x, 3))),
    min_size=2,
    max_size=60,
)


def table_of(x, weight=None):
    x = np.asarray(x, float)
    weight = np.ones(len(x)) if weight is None else weight
    return make_table(read_training({"x": x}), np.arange(len(x)) % 2.0, weight)


def evaluated(column, x):
    return column.evaluate(read_training({"x": np.asarray(x, float)}))


@examples(100)
@given(NUMBERS, st.sampled_from(MARGINS), st.integers(0, 99))
def test_limits_lie_inside_the_data_and_leave_little_outside(x, margin, seed):
    weight = np.random.default_rng(seed).integers(1, 5, len(x)).astype(float)
    table = table_of(x, weight)
    values, found = np.unique(x), inner_limits(table, "x", margin)
    if len(values) < 3:
        assert found is None
        return
    low, high = found
    assert values[0] <= low < high <= values[-1]
    heaviest = max(weight[np.array(x) == value].sum() for value in values)
    for outside in (np.array(x) < low, np.array(x) > high):
        # A value that reaches over the margin may end outside, and so may a neighbour of it.
        assert weight[outside].sum() <= margin * weight.sum() + 2 * heaviest
    if margin == 0.0 or len(values) < FEWEST_VALUES:
        assert weight[(np.array(x) < low) | (np.array(x) > high)].sum() <= 2 * heaviest


@pytest.mark.parametrize("margin", MARGINS)
def test_of_many_values_the_margin_lies_outside(margin):
    x = np.random.default_rng(0).permutation(np.arange(10_000) / 10)
    low, high = inner_limits(table_of(x), "x", margin)
    assert np.mean(x < low) == pytest.approx(margin, abs=0.003)
    assert np.mean(x > high) == pytest.approx(margin, abs=0.003)


def test_missing_cells_and_constants():
    assert inner_limits(table_of([np.nan, 3.0, np.nan, 3.0]), "x", 0.01) is None
    assert inner_limits(table_of([np.nan, 3.0, 5.0]), "x", 0.0) is None  # a step is enough
    assert inner_limits(table_of([np.nan, 3.0, 5.0, 4.0]), "x", 0.0) == (3.0, 5.0)


@examples(60)
@given(
    CELLS.map(lambda x: x % 50), st.floats(0.1, 50), st.lists(st.floats(-100, 100), max_size=12),
    st.lists(CELLS, min_size=1, max_size=20),
)  # fmt: skip
def test_ramps_are_flat_beyond_the_limits_and_never_fall(low, width, knots, x):
    high = low + width
    for column in [ramp("x", (low, high)), *ramps("x", (low, high), knots)]:
        assert isinstance(column, Scale)
        assert column.formula == "clip"
        first, last = column.numbers
        assert low <= first < last <= high
        assert {first, last} <= {low, high, *knots}
        at = evaluated(column, [low, high])
        assert (evaluated(column, [-1e300, low - 1.0]) == at[0]).all()
        assert (evaluated(column, [high + 1.0, 1e300]) == at[1]).all()
        assert (np.diff(evaluated(column, np.sort(x))) >= 0).all()
        assert at.tolist() == [first, last]


SHAPES = [
    Value("x"),
    Hinge("x", 4.0, "above"),
    Hinge("x", 4.0, "below"),
    Scale("x", "log", (0.5,)),
    Scale("x", "log", (3.0,)),
    Scale("x", "sqrt", (0.0,)),
    Scale("x", "distance", (4.0,)),
]


@examples(60)
@given(st.sampled_from(SHAPES), st.floats(0.001, 3.9), st.floats(4.1, 50), CELLS)
def test_inside_the_limits_a_column_is_as_it_was_and_beyond_them_flat(column, low, high, x):
    found = within(column, (low, high))
    assert not goes_on(found)
    assert within(found, (low, high)) == found
    first, last = found.limits
    assert low <= first < last <= high
    kept = min(max(x, low), high)
    assert evaluated(found, [x]) == evaluated(found, [kept]) == evaluated(column, [kept])


def test_columns_that_would_be_constant_between_the_limits_are_left_out():
    limits = (5.0, 9.0)
    for knot, side in ((4.0, "above"), (9.0, "above"), (10.0, "below"), (5.0, "below")):
        assert within(Hinge("x", knot, side), limits) is None
    assert within(Scale("x", "distance", (5.0,)), limits) is None
    assert within(Scale("x", "log", (9.0,)), limits) is None
    assert within(Step("x", 2.0), limits) == Step("x", 2.0)


def test_inner_ramps_add_up_to_the_widest():
    low, high, knots = 0.0, 10.0, [3.0, 7.0, -4.0, 12.0]
    found = {column.numbers for column in ramps("x", (low, high), knots)}
    assert found == {(0.0, 3.0), (0.0, 7.0), (3.0, 10.0), (7.0, 10.0), (3.0, 7.0)}
    x = np.linspace(-5, 15, 41)
    pieces = [ramp("x", limits) for limits in ((0.0, 3.0), (3.0, 7.0), (7.0, 10.0))]
    whole = sum(evaluated(p, x) - p.numbers[0] for p in pieces)
    np.testing.assert_allclose(whole, evaluated(ramp("x", (low, high)), x))
