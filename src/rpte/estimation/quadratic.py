"""The quadratic subproblem of a Newton step: coordinate descent, helped by exact solves.

Coordinate descent finds the support quickly but crawls along directions in which the columns are
(nearly) dependent, and the leaves of a tree always are. There the support is solved exactly, up to
the first coefficient that reaches zero: the homotopy step of an active-set method. Both moves only
ever lower the objective, and neither ever gives a coefficient a sign it may not have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpte.estimation.problem import AnyProblem
from rpte.kernels.coordinate_descent import gram_descent, support_step, violations
from rpte.utils.arrays import Floats, Index

SWEEPS = 250
ROUNDS = 200
RANK = 1e-13  # eigenvalues below this fraction of the largest are null directions


class Penalty(NamedTuple):
    """``sum_j threshold_j |theta_j| + ridge_j/2 theta_j^2`` with units `scale`, each (q,)."""

    threshold: Floats
    up: Floats  # of positive coefficients: the threshold, or infinity where the sign forbids them
    down: Floats  # of negative ones
    ridge: Floats
    scale: Floats

    @classmethod
    def of(cls, design: AnyProblem, l1: float, l1_ratio: float) -> Penalty:
        """Build the penalty of equation (5), with a ridge when `l1_ratio` is below 1."""
        threshold = l1 * l1_ratio * design.penalty
        up = np.where(design.sign < 0, np.inf, threshold)
        down = np.where(design.sign > 0, np.inf, threshold)
        return cls(threshold, up, down, l1 * (1 - l1_ratio) * design.penalty, design.penalty)

    def take(self, terms: Index) -> Penalty:
        """Penalty of the terms `terms` alone."""
        return Penalty(*(part[terms] for part in self))

    def value(self, theta: Floats) -> float:
        """Penalty at `theta` (q,), whose signs must be permitted."""
        return float(self.threshold @ np.abs(theta) + 0.5 * self.ridge @ theta**2)

    def residuals(self, gradient: Floats, theta: Floats) -> Floats:
        """Violation of the optimality conditions by term, in units of lambda, shape (q,)."""
        out = np.empty_like(theta)
        slope = gradient + self.ridge * theta
        violations(slope, theta, self.up, self.down, self.scale, out)
        return out


def minimise_quadratic(
    gram: Floats, slope: Floats, theta: Floats, penalty: Penalty, tolerance: float
) -> Floats:
    """Minimiser t (k,) of ``1/2 (t-theta)' gram (t-theta) + slope't`` plus the penalty.

    `gram` (k, k) is positive semi-definite, `slope` (k,) the gradient of the smooth part at the
    starting point `theta` (k,), ridge not included; `theta` has permitted signs and is not changed.
    The `tolerance` is the largest violation of the optimality conditions, in the penalty's units.
    """
    slope, theta = slope + penalty.ridge * theta, theta.copy()
    if penalty.ridge.any():
        gram = gram + np.diag(penalty.ridge)
    up, down, scale = penalty.up, penalty.down, penalty.scale
    for _ in range(ROUNDS):
        if gram_descent(gram, slope, theta, up, down, scale, tolerance, SWEEPS) <= tolerance:
            break
        # To the end: a term that came in too early would stop every first step at once.
        while support_step(gram, slope, theta, penalty.threshold):
            pass
    return theta


def spectrum(gram: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale (k,), eigenvalues (k,) ascending and eigenvectors (k, k) of the correlation matrix."""
    root = np.sqrt(np.diag(gram))
    root = np.where(root > 0.0, root, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))
    return root, values, vectors
