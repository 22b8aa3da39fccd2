"""Numbers of values and bins of like weight, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte.kernels.codes import number_values, quantile_bins

SEEDS = st.integers(0, 10_000)


def numbered(x, compiled):
    """Return where each value begins in the order, and the number of each row's value."""
    first, number = np.empty(len(x), np.int64), np.empty(len(x), np.int32)
    run = number_values if compiled else number_values.__wrapped__
    return first[: run(x, np.argsort(x), first, number)], number


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(0, 60))
def test_values_are_numbered_in_their_order(compiled, seed, n):
    x = np.random.default_rng(seed).integers(-5, 6, n) * 0.0625
    x[x == 0.0] *= np.random.default_rng(seed).choice([-1.0, 1.0])
    first, number = numbered(x, compiled)
    values, expected = np.unique(x, return_inverse=True)
    assert number.tolist() == expected.tolist()
    assert np.sort(x)[first].tolist() == values.tolist()


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 80), st.integers(1, 9))
def test_bins_end_where_the_next_share_of_the_weight_begins(compiled, seed, n, most):
    rng = np.random.default_rng(seed)
    x, weight = rng.integers(0, 30, n).astype(float), rng.uniform(0.1, 3.0, n)
    first, number = numbered(x, compiled)
    counts = np.bincount(number, weight)
    before, codes = np.cumsum(counts) - counts, np.empty(n, np.uint16)
    run = quantile_bins if compiled else quantile_bins.__wrapped__
    begins = first.copy()
    bins = run(before, counts.sum(), most, number, begins, codes)
    share = np.floor(before / counts.sum() * most)
    expected = np.unique(share, return_index=True)[1]
    assert bins == len(expected) <= most
    assert begins[:bins].tolist() == first[expected].tolist()
    assert codes.tolist() == (np.searchsorted(expected, number, side="right") - 1).tolist()
