"""The quadratic subproblem of a Newton step: coordinate descent, helped by exact solves.

Coordinate descent finds the support quickly but crawls along directions in which the columns are
(nearly) dependent, and the leaves of a tree always are. There the support is solved exactly, up to
the first coefficient that reaches zero: the homotopy step of an active-set method. Both moves only
ever lower the objective.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.coordinate_descent import gram_descent

__all__ = ["minimise_quadratic", "spectrum"]

Vector = NDArray[np.float64]

SWEEPS = 250
ROUNDS = 200
RANK = 1e-13  # eigenvalues below this share of the largest are null directions


def minimise_quadratic(
    gram: Vector, slope: Vector, theta: Vector, threshold: Vector, scale: Vector, tolerance: float
) -> Vector:
    """Minimiser of the penalised quadratic with Gram matrix `gram` and gradient `slope` at `theta`.

    All arguments as in `gram_descent`; `slope` and `theta` (k,) are not changed.
    """
    theta, slope = theta.copy(), slope.copy()
    for _ in range(ROUNDS):
        if gram_descent(gram, slope, theta, threshold, scale, tolerance, SWEEPS) <= tolerance:
            break
        change = _support_step(gram, slope, theta, threshold)
        slope += gram @ change
    return theta


def _support_step(gram: Vector, slope: Vector, theta: Vector, threshold: Vector) -> Vector:
    """Move `theta` in place to the minimum over its support and signs, or to the first zero."""
    before = theta.copy()
    support = np.flatnonzero(theta)
    if support.size == 0:
        return before
    pull = slope[support] + threshold[support] * np.sign(theta[support])
    direction = _newton_direction(gram[np.ix_(support, support)], pull, threshold[support])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(direction * theta[support] < 0, -theta[support] / direction, np.inf)
    first = int(np.argmin(crossing))
    step = min(1.0, float(crossing[first]))
    theta[support] += step * direction
    if crossing[first] <= 1.0:
        theta[support[first]] = 0.0
    return theta - before


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
