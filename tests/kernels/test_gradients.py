"""Gradients of products and distances beside their parts, against weighted least squares."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rpte.kernels.screening import distance_gradients, own_sums, product_gradients, rough_gradients

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
@settings(max_examples=25, deadline=None)
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
@settings(max_examples=25, deadline=None)
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
