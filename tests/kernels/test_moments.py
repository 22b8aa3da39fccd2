"""Moments of whole families of columns, against loops that build every column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte.kernels.screening import column_moments, distance_moments, knot_moments

SEEDS = st.integers(0, 10_000)


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 60), st.integers(0, 8))
def test_knot_moments_are_sums_between_knots(compiled, seed, n, m):
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, n) / 2.0
    x[rng.random(n) < 0.2] = np.nan
    knots = np.sort(rng.choice(np.arange(-8, 9) / 4.0, m, replace=False))  # some equal a value
    weight, r = rng.uniform(0.2, 3.0, n), rng.normal(size=n)
    out = np.full((m + 1, 5), 7.0)
    run = knot_moments if compiled else knot_moments.__wrapped__
    every = np.full(2 * n + 1, 99.0)
    rows = rng.permutation(2 * n)[:n]
    every[rows] = x
    run(every, rows, 0.3, 1.7, knots, weight, r, out)
    expected = np.zeros((m + 1, 5))
    for i in range(n):
        if x[i] == x[i]:
            above = sum(x[i] > knot for knot in knots)
            z = (x[i] - 0.3) / 1.7
            expected[above] += [weight[i], weight[i] * z, weight[i] * z * z, r[i], r[i] * z]
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 60), st.integers(2, 6), st.data())
def test_distance_moments_are_sums_over_rows(compiled, seed, n, p, data):
    rng = np.random.default_rng(seed)
    x, c, r = rng.normal(size=(p, n)), rng.uniform(0.01, 0.25, n), rng.normal(size=n)
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, p - 1)] * 2), max_size=5))
    i, k = np.array(pairs, np.intp).reshape(-1, 2).T.copy()
    unit = rng.uniform(0.5, 2.0, p)
    out = np.full((len(pairs), 3), 7.0)
    run = distance_moments if compiled else distance_moments.__wrapped__
    run(x, i, k, unit, c, r, out)
    for line, (one, two) in zip(out, pairs, strict=True):
        t = np.abs(x[one] - x[two]) / unit[one]
        np.testing.assert_allclose(line, [c @ t, c @ t**2, r @ t], atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 60))
def test_column_moments_are_sums_over_some_rows(compiled, seed, n):
    rng = np.random.default_rng(seed)
    z, rows = rng.normal(size=2 * n), rng.permutation(2 * n)[:n]
    weight, r, out = rng.uniform(0.2, 3.0, n), rng.normal(size=n), np.full(3, 7.0)
    (column_moments if compiled else column_moments.__wrapped__)(z, rows, weight, r, out)
    some = z[rows]
    np.testing.assert_allclose(out, [weight @ some, weight @ some**2, r @ some], atol=1e-12)
