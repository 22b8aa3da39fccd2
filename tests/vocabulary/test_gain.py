import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_stage1 as naive
from rpte.losses.binomial import weighted_entropy
from rpte.vocabulary.gain import (
    BITS,
    SortedColumn,
    in_or_out_gain,
    information_gain,
    median,
)

rows = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.integers(0, 1), st.integers(1, 4)),
    min_size=1,
    max_size=40,
)


def unpack(drawn):
    return tuple(np.array(v, float) for v in zip(*drawn, strict=True))


@given(st.integers(0, 50), st.integers(0, 50))
def test_weighted_entropy(events, others):
    total = events + others
    expected = total * naive.entropy([events, others]) if total else 0.0
    assert math.isclose(weighted_entropy(total, events), expected, abs_tol=1e-12)


@given(rows, st.lists(st.integers(-6, 6).map(lambda k: k / 2), max_size=4))
def test_gain_of_bins_equals_the_oracle(drawn, edges):
    x, y, weight = unpack(drawn)
    edges = sorted(set(edges))
    repeated = [np.repeat(v, weight.astype(int)).tolist() for v in (x, y)]
    codes = [sum(v >= e for e in edges) for v in repeated[0]]
    expected = naive.gain_of(codes, [int(v) for v in repeated[1]], math.log)
    assert math.isclose(SortedColumn(x, y, weight).gains(np.array(edges)), expected, abs_tol=1e-12)


@given(rows)
def test_order_statistics_and_quantiles_count_weight_as_repetition(drawn):
    x, y, weight = unpack(drawn)
    column = SortedColumn(np.append(x, np.nan), np.append(y, 1.0), np.append(weight, 5.0))
    repeated = np.sort(np.repeat(x, weight.astype(int)))
    assert column.total == len(repeated)
    assert column.at(np.arange(len(repeated))).tolist() == repeated.tolist()
    fractions = np.linspace(0, 1, 12)
    expected = np.quantile(repeated, fractions)
    np.testing.assert_allclose(column.quantiles(fractions), expected, rtol=1e-12, atol=1e-12)


@given(rows, st.booleans())
def test_the_median_is_a_quantile_to_the_last_bit(drawn, weighted):
    x, y, weight = unpack(drawn)
    x, weight = (
        np.append(x * 0.1, np.nan),
        np.append(weight, 2.0) if weighted else np.ones(len(x) + 1),
    )
    column = SortedColumn(x, np.append(y, 1.0), weight)
    assert median(x, weight) == float(column.quantiles(0.5))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_indicator_gain(a, b, c, d):
    inside, outside = [1] * a + [0] * b, [1] * c + [0] * d
    if not inside + outside:
        return
    codes = [1] * len(inside) + [0] * len(outside)
    expected = naive.gain_of(codes, inside + outside, math.log)
    found = in_or_out_gain(a + b, a, float(a + b + c + d), float(a + c))
    assert math.isclose(found, expected, abs_tol=1e-12)


def test_empty_cells_gain_nothing():
    assert information_gain(np.zeros(3), np.zeros(3)) == 0.0
    assert information_gain(np.array([4.0, 0.0]), np.array([2.0, 0.0])) == 0.0
    perfect = information_gain(np.array([2.0, 2.0]), np.array([2.0, 0.0]))
    assert math.isclose(perfect * BITS, 1.0)


def test_quantiles_of_fractional_weights_lie_between_the_values():
    column = SortedColumn(np.array([3.0, 1.0]), np.zeros(2), np.array([0.3, 0.4]))
    assert column.quantiles(np.array([0.0, 0.5, 1.0])).tolist() == [1.0, 1.0, 1.0]
    column = SortedColumn(np.array([3.0, 1.0]), np.zeros(2), np.array([0.5, 1.5]))
    found = column.quantiles(np.linspace(0, 1, 9))
    assert (np.diff(found) >= 0).all()
    assert found[0] == 1.0
    assert 1.0 < found[-1] <= 3.0 or found[-1] == 1.0
