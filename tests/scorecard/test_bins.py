"""Bins: contiguous, few, and of the least squared error that so few can have."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpte.scorecard.build import MOST_BINS, NEGLIGIBLE, segment

effects = st.lists(st.floats(-50, 50), min_size=1, max_size=9)


def error(values, weights, bins):
    total = 0.0
    for number in np.unique(bins):
        inside = bins == number
        mean = np.average(values[inside], weights=weights[inside])
        total += float((weights[inside] * (values[inside] - mean) ** 2).sum())
    return total


@given(effects, st.integers(1, 4), st.integers(0, 99))
def test_no_other_cuts_are_better(values, most, seed):
    values = np.array(values)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, len(values))
    bins = segment(values[:, None], weights[:, None], most)
    assert bins[0] == 0
    assert set(np.diff(bins).tolist()) <= {0, 1}
    assert bins[-1] < most
    places = range(1, len(values))
    tried = [
        np.searchsorted(cuts, np.arange(len(values)), "right")
        for count in range(most)
        for cuts in combinations(places, count)
    ]
    best = min(error(values, weights, other) for other in tried)
    assert error(values, weights, bins) <= max(best, NEGLIGIBLE * weights.sum()) + 1e-6


def test_a_slope_over_even_values_is_cut_into_equal_effects():
    values = np.linspace(0, 80, 800)[:, None]
    bins = segment(values, np.full(values.shape, 1 / 800))
    assert np.bincount(bins).tolist() == [100] * MOST_BINS


def test_what_rounding_hides_is_not_cut():
    assert segment(np.array([[0.0], [0.1], [0.2]]), np.ones((3, 1))).tolist() == [0, 0, 0]
