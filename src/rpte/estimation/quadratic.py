"""The quadratic subproblem of a Newton step: coordinate descent, helped by exact solves.

Coordinate descent finds the support quickly but crawls along directions in which the columns are
(nearly) dependent, and the leaves of a tree always are. There the support is solved exactly, up to
the first coefficient that reaches zero: the homotopy step of an active-set method. Both moves only
ever lower the objective, and neither ever gives a coefficient a sign it may not have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.design import Design
from rpte.kernels.coordinate_descent import gram_descent, violations

__all__ = ["Penalty", "minimise_quadratic", "spectrum"]

Vector = NDArray[np.float64]
Index = NDArray[np.intp]

SWEEPS = 250
ROUNDS = 200
RANK = 1e-13  # eigenvalues below this share of the largest are null directions


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """``sum_j threshold_j |theta_j| + ridge_j/2 theta_j^2`` with units `scale`, each (q,).

    `up` and `down` are the thresholds of positive and of negative coefficients: `threshold`, or
    infinity on the side that the term's sign forbids.
    """

    threshold: Vector
    up: Vector
    down: Vector
    ridge: Vector
    scale: Vector

    @classmethod
    def of(cls, design: Design, l1: float, l1_ratio: float) -> Penalty:
        """Build the penalty of equation (5), with a ridge share when `l1_ratio` is below 1."""
        threshold = l1 * l1_ratio * design.penalty
        return cls(
            threshold,
            np.where(design.sign < 0, np.inf, threshold),
            np.where(design.sign > 0, np.inf, threshold),
            l1 * (1 - l1_ratio) * design.penalty,
            design.penalty,
        )

    def take(self, terms: Index) -> Penalty:
        """Penalty of the terms `terms` alone."""
        return Penalty(
            self.threshold[terms],
            self.up[terms],
            self.down[terms],
            self.ridge[terms],
            self.scale[terms],
        )

    def value(self, theta: Vector) -> float:
        """Penalty at `theta` (q,), whose signs must be permitted."""
        return float(self.threshold @ np.abs(theta) + 0.5 * self.ridge @ theta**2)

    def residuals(self, gradient: Vector, theta: Vector) -> Vector:
        """Violation of the optimality conditions by term, in units of lambda, shape (q,)."""
        out = np.empty_like(theta)
        slope = gradient + self.ridge * theta
        violations(slope, theta, self.up, self.down, self.scale, out)
        return out


def minimise_quadratic(
    gram: Vector, slope: Vector, theta: Vector, penalty: Penalty, tolerance: float
) -> Vector:
    """Minimiser t (k,) of ``1/2 (t-theta)' gram (t-theta) + slope't`` plus the penalty.

    Parameters
    ----------
    gram : (k, k)
        Symmetric, positive semi-definite.
    slope : (k,)
        Gradient of the smooth part, ridge not included, at `theta`.
    theta : (k,)
        Starting point, of permitted signs; not changed.
    penalty : Penalty
        Of these k terms.
    tolerance : float
        Largest violation of the optimality conditions, in the penalty's units.
    """
    slope, theta = slope + penalty.ridge * theta, theta.copy()
    if penalty.ridge.any():
        gram = gram + np.diag(penalty.ridge)
    up, down, scale = penalty.up, penalty.down, penalty.scale
    for _ in range(ROUNDS):
        if gram_descent(gram, slope, theta, up, down, scale, tolerance, SWEEPS) <= tolerance:
            break
        # To the end: a term that came in too early would stop every first step at once.
        while _support_step(gram, slope, theta, penalty.threshold):
            pass
    return theta


def _support_step(gram: Vector, slope: Vector, theta: Vector, threshold: Vector) -> bool:
    """Move `theta` to the minimum over its support and signs, or to the first zero on the way.

    `theta` and `slope` change in place. True when a term became zero, so that the support shrank.
    """
    support = np.flatnonzero(theta)
    if support.size == 0:
        return False
    here = theta[support]
    pull = slope[support] + threshold[support] * np.sign(here)
    direction = _newton_direction(gram[np.ix_(support, support)], pull, threshold[support])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(direction * here < 0, -here / direction, np.inf)
    first = int(np.argmin(crossing))
    shrinks = bool(crossing[first] <= 1.0)
    there = here + min(1.0, float(crossing[first])) * direction
    if shrinks:
        there[first] = 0.0
    # Terms that reach zero together must not pass it by a rounding error.
    theta[support] = np.where(np.sign(there) == np.sign(here), there, 0.0)
    slope += gram[:, support] @ (theta[support] - here)
    return shrinks


def _newton_direction(gram: Vector, pull: Vector, threshold: Vector) -> Vector:
    """Direction to the minimum of ``1/2 d'Gd + pull'd``; unbounded ones first, and long."""
    root, values, vectors = spectrum(gram)
    inside = vectors.T @ (pull / root)
    null = values <= RANK * values[-1]
    noise = 1e-7 * np.linalg.norm(inside) + 1e-9 * np.linalg.norm(threshold / root)
    if np.linalg.norm(inside[null]) > noise:
        # Along a null direction only the L1 norm changes, so it falls until a term is zero.
        far = np.where(null, -inside * (1e6 / np.linalg.norm(inside[null])), 0.0)
        return np.asarray(vectors @ far / root)
    scaled = np.where(null, 0.0, -inside / np.where(null, 1.0, values))
    return np.asarray(vectors @ scaled / root)


def spectrum(gram: Vector) -> tuple[Vector, Vector, Vector]:
    """Scale (k,), eigenvalues (k,) ascending and eigenvectors (k, k) of the correlation matrix."""
    root = np.sqrt(np.diag(gram))
    root = np.where(root > 0.0, root, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))
    return root, values, vectors
