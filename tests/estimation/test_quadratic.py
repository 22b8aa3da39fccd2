"""The penalised quadratic on Gram matrices that stop plain coordinate descent."""

from __future__ import annotations

import numpy as np
import pytest

from rpte.estimation import quadratic
from rpte.estimation.quadratic import minimise_quadratic
from rpte.kernels.coordinate_descent import gram_descent


def problem(seed, rank, k=30):
    """A singular Gram matrix with a right side in its range, so that a minimum exists."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(rank, k)) * 10.0 ** rng.uniform(-2, 2, k)
    b = root.T @ rng.normal(size=rank)
    return root.T @ root, b, 1e-3 * np.abs(b).max() * np.ones(k)


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
    ones = np.ones(b.size)
    theta = minimise_quadratic(gram, gram @ start - b, start, threshold, ones, tolerance)
    assert violation(gram, b, threshold, theta) <= 1e-6 * threshold[0]


def test_exact_steps_rescue_slow_descent():
    """Three columns that sum to nothing: descent alone drifts, the exact step arrives at once."""
    gram = np.eye(3) - 1 / 3
    threshold, start = np.full(3, 1e-6), np.array([3.0, 4.0, -1.0])
    b = gram @ start
    slow, slope = start.copy(), np.zeros(3)
    ones = np.ones(3)
    assert gram_descent(gram, slope, slow, threshold, ones, 1e-12, quadratic.SWEEPS) > 1e-12
    theta = minimise_quadratic(gram, np.zeros(3), start, threshold, ones, 1e-12)
    assert violation(gram, b, threshold, theta) <= 1e-11
    assert np.count_nonzero(theta) == 2


def test_columns_without_curvature_are_dropped():
    gram = np.diag([1.0, 0.0])
    theta = minimise_quadratic(
        gram, np.array([-2.0, 0.0]), np.array([0.0, 5.0]), np.full(2, 0.5), np.ones(2), 1e-12
    )
    np.testing.assert_allclose(theta, [1.5, 0.0])
