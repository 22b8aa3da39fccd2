"""Passes over single columns, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte.kernels.screening import fingerprints, label_slope, scaled_squares

SEEDS = st.integers(0, 10_000)
COMPILED = pytest.mark.parametrize("compiled", [True, False])


def with_gaps(seed, n, share, factor=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * factor
    x[rng.random(n) < share] = np.nan
    return x, rng.uniform(0.2, 3.0, n), rng.normal(size=n)


@COMPILED
def test_fingerprints_know_constants_gaps_and_complements(compiled):
    run = fingerprints if compiled else fingerprints.__wrapped__
    probes = np.random.default_rng(0).random((2, 4))
    nan = np.nan
    x = np.array(
        [[0, 1, 1, 0], [1, 0, 0, 1], [2, 2, nan, 2], [nan] * 4, [1, 0, nan, 1], [5, 6, 7, 8.0]]
    )
    out = np.full((5, 4), 7.0)
    run(x, np.array([0, 1, 2, 3, 4]), probes, 0.25, out)
    assert out[0, :2].tolist() == out[1, 2:].tolist()
    assert out[0, 2:].tolist() == out[1, :2].tolist()
    assert np.isnan(out[2:4]).all()
    np.testing.assert_allclose(out[4, :2], probes @ [1, 0, 0.25, 1])
    assert np.isnan(out[4, 2:]).all()
    run(x, np.array([5]), probes, 0.25, out)
    np.testing.assert_allclose(out[0, :2], probes @ x[5])


@COMPILED
@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(4, 60), st.sampled_from([1e-200, 1.0, 1e299]))
def test_the_label_slope_is_that_of_present_cells(compiled, seed, n, factor):
    x, weight, residual = with_gaps(seed, n, 0.2, factor)
    x[:2] = factor, 2.0 * factor
    there = ~np.isnan(x)
    unit = x[there] / factor
    centred = unit - np.average(unit, weights=weight[there])
    expected = (residual[there] @ centred) ** 2 / (weight[there] @ centred**2)
    run = label_slope if compiled else label_slope.__wrapped__
    assert run(x, weight, residual) == pytest.approx(expected, rel=1e-9)


def test_what_does_not_vary_has_no_slope():
    weight, residual = np.ones(3), np.array([1.0, -2.0, 0.5])
    assert label_slope(np.full(3, np.nan), weight, residual) == 0.0
    assert label_slope(np.full(3, 4.0), weight, residual) == 0.0
    assert label_slope(np.zeros(3), weight, residual) == 0.0


@COMPILED
@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e300])
def test_squares_are_shares_of_the_largest_distance(compiled, factor):
    run = scaled_squares if compiled else scaled_squares.__wrapped__
    x = np.random.default_rng(0).normal(size=40) * factor
    out = np.empty(40)
    distance = x - x.mean()
    assert run(x, x.mean(), out) == np.abs(distance).max()
    assert out.tolist() == ((distance / np.abs(distance).max()) ** 2).tolist()
    assert run(np.full(3, 0.1), 0.1, out) == 0.0
