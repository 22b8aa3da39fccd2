import naive_stage1 as naive
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte.vocabulary.redundancy import keep_distinct, keep_independent


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 6), st.integers(1, 14), st.booleans())
def test_distinct_columns_equal_brute_force(seed, n, q, gaps):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (n, q)).astype(float)
    numeric = rng.random(q) < 0.4
    values[:, numeric] *= rng.choice([1.0, -0.0, 2.0])
    if gaps:
        holes = (rng.random((n, q)) < 0.2) & numeric
        values[holes] = np.nan
    binary = np.isin(values, (0.0, 1.0)).all(axis=0)
    found = keep_distinct(np.asfortranarray(values), binary)
    assert found.tolist() == naive.distinct(values.T.tolist(), binary)


def test_constants_duplicates_and_complements_go():
    a = np.array([0.0, 1.0, 1.0, 0.0])
    x = np.array([1.5, np.nan, 2.5, 1.5])
    columns = [a, np.ones(4), a.copy(), 1 - a, x, x.copy(), np.full(4, np.nan), 1 - x,
               np.where(np.isnan(x), np.nan, 7.0)]  # fmt: skip
    binary = np.array([True, True, True, True, False, False, False, False, False])
    assert keep_distinct(np.column_stack(columns), binary).tolist() == [0, 4, 7]


def test_negative_zero_makes_no_difference():
    x = np.array([0.0, 1.0, 2.0])
    assert keep_distinct(
        np.column_stack([x, np.array([-0.0, 1.0, 2.0])]), np.zeros(2, bool)
    ).tolist() == [0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9))
def test_independent_columns_equal_the_oracle(seed, q):
    rng = np.random.default_rng(seed)
    block = np.sort(rng.integers(0, 3, q))
    n, weight = 40, rng.integers(1, 4, 40)
    values = rng.normal(size=(n, q))
    for j in range(1, q):
        values[:, j] += rng.choice([0, 0, 1, 3]) * values[:, rng.integers(0, j)]
    found = keep_independent(values, weight.astype(float), block)
    assert found.tolist() == naive.independent(np.repeat(values, weight, axis=0), block)


def test_raw_variables_stay_even_when_equal():
    x = np.random.default_rng(0).normal(size=30)
    values = np.column_stack([x, x + 1e-9, x * 2, -x])
    block = np.array([0, 0, 1, 2])
    assert keep_independent(values, np.ones(30), block).tolist() == [0, 1]
    assert keep_independent(values[:, :0], np.ones(30), block[:0]).tolist() == []
