"""The penalised quadratic on Gram matrices that stop plain coordinate descent."""

from __future__ import annotations

import numpy as np
import pytest

from rpte.estimation import quadratic
from rpte.estimation.quadratic import Penalty, minimise_quadratic
from rpte.kernels.coordinate_descent import gram_descent, support_step


def problem(seed, rank, k=30):
    """A singular Gram matrix with a right side in its range, so that a minimum exists."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(rank, k)) * 10.0 ** rng.uniform(-2, 2, k)
    b = root.T @ rng.normal(size=rank)
    return root.T @ root, b, 1e-3 * np.abs(b).max() * np.ones(k)


def lasso(threshold, sign=0):
    """An L1 penalty without ridge, in units of one."""
    up = np.where(np.equal(sign, -1), np.inf, threshold)
    down = np.where(np.equal(sign, 1), np.inf, threshold)
    return Penalty(threshold, up, down, np.zeros_like(threshold), np.ones_like(threshold))


def violation(gram, b, threshold, theta):
    slope = gram @ theta - b
    idle = np.maximum(np.abs(slope) - threshold, 0)
    return np.where(theta != 0, np.abs(slope + threshold * np.sign(theta)), idle).max()


@pytest.mark.parametrize("rank", [5, 20, 40])
@pytest.mark.parametrize("seed", range(4))
def test_singular_quadratics_are_solved(seed, rank):
    gram, b, threshold = problem(seed, rank)
    start = np.random.default_rng(seed).normal(size=b.size)
    tolerance = 1e-8 * threshold[0]
    theta = minimise_quadratic(gram, gram @ start - b, start, lasso(threshold), tolerance)
    assert violation(gram, b, threshold, theta) <= 1e-6 * threshold[0]


def test_exact_steps_rescue_slow_descent():
    """Three columns that sum to nothing: descent alone drifts, the exact step arrives at once."""
    gram = np.eye(3) - 1 / 3
    threshold, start = np.full(3, 1e-6), np.array([3.0, 4.0, -1.0])
    b = gram @ start
    slow, slope = start.copy(), np.zeros(3)
    ones = np.ones(3)
    left = gram_descent(gram, slope, slow, threshold, threshold, ones, 1e-12, quadratic.SWEEPS)
    assert left > 1e-12
    theta = minimise_quadratic(gram, np.zeros(3), start, lasso(threshold), 1e-12)
    assert violation(gram, b, threshold, theta) <= 1e-11
    assert np.count_nonzero(theta) == 2


def test_columns_without_curvature_are_dropped():
    gram = np.diag([1.0, 0.0])
    slope, start = np.array([-2.0, 0.0]), np.array([0.0, 5.0])
    theta = minimise_quadratic(gram, slope, start, lasso(np.full(2, 0.5)), 1e-12)
    np.testing.assert_allclose(theta, [1.5, 0.0])


@pytest.mark.parametrize("rank", [5, 20, 40])
@pytest.mark.parametrize("seed", range(4))
def test_singular_quadratics_with_signs_are_solved(seed, rank):
    gram, b, threshold = problem(seed, rank)
    rng = np.random.default_rng(seed)
    sign = rng.integers(-1, 2, b.size)
    start = np.where(sign == 0, rng.normal(size=b.size), sign * rng.random(b.size))
    tolerance = 1e-8 * threshold[0]
    penalty = lasso(threshold, sign)
    theta = minimise_quadratic(gram, gram @ start - b, start, penalty, tolerance)
    assert (sign * theta >= 0).all()
    slope = gram @ theta - b
    # A forbidden side of zero has no bound on its slope.
    slope = np.where((theta == 0) & (sign * slope > 0), 0.0, slope)
    idle = np.maximum(np.abs(slope) - threshold, 0)
    worst = np.where(theta != 0, np.abs(slope + threshold * np.sign(theta)), idle).max()
    assert worst <= 1e-6 * threshold[0]


def test_ridge_is_added_to_the_quadratic():
    gram, b, threshold = problem(0, 40)
    ridge = np.linspace(0.1, 2.0, b.size) * gram.diagonal().mean()
    penalty = Penalty(threshold, threshold, threshold, ridge, np.ones(b.size))
    theta = minimise_quadratic(gram, -b, np.zeros(b.size), penalty, 1e-9 * threshold[0])
    assert violation(gram + np.diag(ridge), b, threshold, theta) <= 1e-6 * threshold[0]


def test_terms_that_reach_zero_together_do_not_pass_it():
    """The second term is at zero with the first, but for rounding."""
    passed = 0
    for here, slope in np.random.default_rng(0).random((50, 2)):
        theta, slopes = here * np.array([1.0, 2.0]), 1024 * slope * np.array([1.0, 2.0])
        passed += (theta - (here / slope) * slopes / 1024 < 0).any()
        support_step(np.eye(2), slopes, theta, np.zeros(2))
        assert (theta >= 0).all()
        assert theta.max() < 1e-15
    assert passed > 0
