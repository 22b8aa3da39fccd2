import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_stage1 as naive
from effort import examples
from rpte.vocabulary import pursuit
from rpte.vocabulary.redundancy import Registry, keep_independent


def keep_distinct(columns):
    """Return the columns that are not constant and repeat no earlier one, as vocabularies do."""
    seen, kept = Registry(), []
    for place, x in enumerate(columns):
        before = seen.count
        seen.number(x)
        if seen.count > before:
            kept.append(place)
    return np.array(kept, np.intp)


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
    found = keep_distinct(values.T)
    assert found.tolist() == naive.distinct(values.T.tolist(), binary)


def test_constants_duplicates_and_complements_go():
    a = np.array([0.0, 1.0, 1.0, 0.0])
    x = np.array([1.5, np.nan, 2.5, 1.5])
    columns = [a, np.ones(4), a.copy(), 1 - a, x, x.copy(), np.full(4, np.nan), 1 - x,
               np.where(np.isnan(x), np.nan, 7.0)]  # fmt: skip
    assert keep_distinct(columns).tolist() == [0, 4, 7]


def test_negative_zero_makes_no_difference():
    x = np.array([0.0, 1.0, 2.0])
    assert keep_distinct([x, np.array([-0.0, 1.0, 2.0])]).tolist() == [0]


@examples(60)
@given(st.integers(0, 10_000), st.integers(2, 300), st.sampled_from([0, 1, 3]))
def test_where_a_column_lies_in_memory_makes_no_difference(seed, n, offset):
    """The same numbers are one column, be they a row of a matrix, every k-th cell, or shifted."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(1)
    x[:2] = 0.0, 1.0
    strided = np.empty((n, 3))
    strided[:, 1] = x
    shifted = np.empty(n + offset)
    shifted[offset:] = x
    assert keep_distinct([x, strided[:, 1], shifted[offset:], x[::-1][::-1]]).tolist() == [0]


def test_near_copies_are_two_columns():
    x = np.random.default_rng(1).normal(size=500)
    near = x.copy()
    near[250] += 1e-9
    swapped = x.copy()
    swapped[[3, 4]] = swapped[[4, 3]]
    assert keep_distinct([x, near, swapped]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [4, 8, 12])
def test_no_two_sets_of_rows_are_taken_for_one(n):
    """All 0/1 columns of n rows: halves of them are the complements of the others."""
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    assert len(keep_distinct(every.astype(float))) == 2 ** (n - 1) - 1


def test_a_registry_goes_on_numbering():
    a, b = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 2.0])
    seen = Registry()
    assert [seen.number(x) for x in (a, np.ones(4), 1 - a)] == [0, -1, 0]
    assert seen.count == 1
    assert [seen.number(x) for x in (b, a, 2 - b)] == [1, 0, 2]


@examples(60)
@given(st.integers(0, 10_000), st.integers(2, 9))
def test_independent_columns_equal_the_oracle(seed, q):
    rng = np.random.default_rng(seed)
    block = np.sort(rng.integers(0, 3, q))
    n, weight = 40, rng.integers(1, 4, 40)
    values = rng.normal(size=(n, q))
    for j in range(1, q):
        values[:, j] += rng.choice([0, 0, 1, 3]) * values[:, rng.integers(0, j)]
    found = keep_independent(values.T, weight.astype(float), block)
    assert found.tolist() == naive.independent(np.repeat(values, weight, axis=0), block)


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_correlations_add_up_over_blocks_of_rows(monkeypatch, rows):
    monkeypatch.setattr(pursuit, "TILE_ROWS", rows)
    rng = np.random.default_rng(2)
    values, weight = rng.normal(3.0, 2.0, (200, 5)), rng.integers(1, 4, 200)
    values[:, 4] = 1.0
    found, _ = pursuit.correlations(values.T, weight.astype(float), weight[None])
    expected = np.corrcoef(np.repeat(values[:, :4], weight, axis=0), rowvar=False)
    np.testing.assert_allclose(found[:4, :4], expected, atol=1e-12)
    assert (found[4] == 0.0).all()


def test_raw_variables_stay_even_when_equal():
    x = np.random.default_rng(0).normal(size=30)
    values = np.column_stack([x, x + 1e-9, x * 2, -x])
    block = np.array([0, 0, 1, 2])
    assert keep_independent(values.T, np.ones(30), block).tolist() == [0, 1]
    assert keep_independent(values.T[:0], np.ones(30), block[:0]).tolist() == []


def test_a_copy_of_a_registry_goes_its_own_way():
    a, b = np.array([0.0, 1.0, 1.0]), np.array([0.5, 2.0, 1.0])
    seen = Registry()
    assert seen.number(a) == 0
    other = seen.copy()
    assert (other.number(1 - a), other.number(b)) == (0, 1)
    assert seen.count == 1
