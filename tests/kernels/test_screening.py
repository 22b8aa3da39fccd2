"""What Stage 1 asks of columns, against loops that build every column and against numpy."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from effort import examples
from rpte.kernels.screening import (
    column_moments,
    distance_gradients,
    distance_moments,
    fingerprints,
    knot_moments,
    label_slope,
    own_sums,
    pivots,
    product_gradients,
    rough_gradients,
    scaled_squares,
)

COMPILED = pytest.mark.parametrize("compiled", [True, False])


def choose(kernel, compiled):
    return kernel if compiled else kernel.__wrapped__


def beside(a, b, t, curvature, residual):
    """Regress t on a, b and a constant; return the rest's standardised gradient."""
    root = np.sqrt(curvature)
    known = np.column_stack([np.ones(len(a)), a, b])
    assume(np.linalg.cond(np.column_stack([known, t])) < 1e3)
    line = np.linalg.lstsq(known * root[:, None], t * root, rcond=None)[0]
    rest = t - known @ line
    return abs(residual @ rest) / np.sqrt(curvature @ rest**2)


def made(seed, n, p=4):
    rng = np.random.default_rng(seed)
    x = np.maximum(rng.normal(size=(p, n)) + 0.3, 0.0)
    x[0] = x[0] > 0.5
    return x, rng.uniform(0.05, 1.0, n), rng.normal(size=n)


@COMPILED
@examples(25)
@given(st.integers(0, 9_999), st.integers(20, 80))
def test_products(compiled, seed, n):
    x, curvature, residual = made(seed, n)
    i, k = np.triu_indices(len(x), 1)
    own, exact, rough = np.empty((len(x), 3)), np.empty(len(i)), np.empty((len(i), 2))
    choose(own_sums, compiled)(x, curvature, residual, own)
    np.testing.assert_allclose(
        own, np.column_stack([x @ curvature, x @ residual, x**2 @ curvature])
    )
    choose(product_gradients, compiled)(x, i, k, curvature, residual, own, exact)
    both = np.vstack([x, x[1:] ** 2])
    seconds, slopes = (both * curvature) @ both.T, (x * residual) @ x.T
    square = np.array([0, 4, 5, 6])  # the first is its own square
    total, r = curvature.sum(), residual.sum()
    choose(rough_gradients, compiled)(i, k, total, r, own, square, seconds, slopes, rough)
    np.testing.assert_allclose(rough[:, 0], exact, rtol=1e-6, atol=1e-8)
    assert (rough[rough[:, 0] > 0, 1] >= 1.0 - 1e-9).all()
    for a, b, got in zip(i, k, exact, strict=True):
        expected = beside(x[a], x[b], x[a] * x[b], curvature, residual)
        assert got == pytest.approx(expected, rel=1e-6, abs=1e-8)


@COMPILED
@examples(25)
@given(st.integers(0, 9_999), st.integers(20, 80), st.sampled_from([0.0, 1e6]))
def test_distances(compiled, seed, n, offset):
    x, curvature, residual = made(seed, n)
    i, k, unit = np.array([1, 3]), np.array([2, 1]), np.array([0.5, 2.0])
    found = np.empty(2)
    choose(distance_gradients, compiled)(x + offset, i, k, unit, curvature, residual, found)
    for a, b, got in zip(i, k, found, strict=True):
        expected = beside(x[a], x[b], np.abs(x[a] - x[b]), curvature, residual)
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_what_is_zero_everywhere_has_a_sure_gradient_of_none():
    x = np.array([[1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 1.0]])
    curvature, residual = np.full(5, 0.25), np.arange(5.0)
    own, rough = np.empty((3, 3)), np.full((2, 2), 7.0)
    own_sums(x, curvature, residual, own)
    seconds, slopes = (x * curvature) @ x.T, (x * residual) @ x.T
    rough_gradients(
        np.array([0, 0]), np.array([1, 2]), 1.25, 10.0, own, np.arange(3), seconds, slopes, rough
    )
    assert rough.tolist() == [[0.0, 0.0], [0.0, np.inf]]  # the second says what its part says


SEEDS = st.integers(0, 10_000)


@pytest.mark.parametrize("compiled", [True, False])
@examples(40)
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
@examples(40)
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
@examples(20)
@given(SEEDS, st.integers(1, 60))
def test_column_moments_are_sums_over_some_rows(compiled, seed, n):
    rng = np.random.default_rng(seed)
    z, rows = rng.normal(size=2 * n), rng.permutation(2 * n)[:n]
    weight, r, out = rng.uniform(0.2, 3.0, n), rng.normal(size=n), np.full(3, 7.0)
    (column_moments if compiled else column_moments.__wrapped__)(z, rows, weight, r, out)
    some = z[rows]
    np.testing.assert_allclose(out, [weight @ some, weight @ some**2, r @ some], atol=1e-12)


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
@examples(40)
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


@pytest.mark.parametrize("compiled", [True, False])
@examples(30)
@given(st.integers(0, 9_999), st.integers(1, 8), st.integers(0, 9), st.integers(1, 3))
def test_each_pivot_gains_most_beside_those_before(compiled, seed, m, most, slopes):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, m)), rng.normal(size=(30, slopes))
    x /= np.linalg.norm(x, axis=0)
    chosen = np.full(min(most, m), -1, np.intp)
    run = pivots if compiled else pivots.__wrapped__
    assert run(x.T @ x, y.T @ x, 1e-3, 1e9, chosen) == len(chosen)
    for place, best in enumerate(chosen):
        before = x[:, chosen[:place]]

        def left(columns, y=y):
            return np.linalg.norm(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0])

        others = [j for j in range(m) if j not in chosen[:place]]
        losses = {j: left(np.column_stack([before, x[:, j]])) for j in others}
        assert losses[best] == pytest.approx(min(losses.values()), rel=1e-6)


def test_ties_go_to_the_first_and_what_is_explained_is_left_out():
    chosen = np.empty(3, np.intp)
    gram = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert pivots(gram, np.array([[1.0, 1.0, 0.5]]), 1e-3, 1e9, chosen) == 2
    assert chosen[:2].tolist() == [0, 2]
    # Of several slopes the squares add up.
    assert pivots(gram, np.array([[1.0, 1.0, 0.5], [0.0, 0.0, 0.9]]), 1e-3, 1e9, chosen) == 2
    assert chosen[:2].tolist() == [2, 0]
