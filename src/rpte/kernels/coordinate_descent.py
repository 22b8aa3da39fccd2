"""Coordinate descent for Stage 3: an L1-penalised quadratic given by its Gram matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

__all__ = ["gram_descent"]

Vector = NDArray[np.float64]


@kernel
def gram_descent(
    gram: Vector,
    slope: Vector,
    theta: Vector,
    threshold: Vector,
    scale: Vector,
    tolerance: float,
    max_sweeps: int,
) -> float:
    """Minimise ``1/2 t'Gt - b't + sum_j threshold_j |t_j|`` over t, in place.

    Sweeps run over the non-zero coordinates until they are solved, then once over all of them; the
    minimum is reached when that full sweep finds no violation.

    Parameters
    ----------
    gram : (k, k)
        G, symmetric and positive semi-definite, ridge included. A coordinate whose diagonal is zero
        cannot change the fit, so only its penalty counts and it is set to zero.
    slope : (k,)
        G theta - b at the starting point; kept up to date in place.
    theta : (k,)
        Starting point; overwritten by the solution.
    threshold, scale : (k,)
        L1 penalties, and the units in which violations of the optimality conditions are measured.
    tolerance : float
        Largest violation (over `scale`) of a solution.
    max_sweeps : int
        Passes over the coordinates, full or partial.

    Returns
    -------
    float
        The largest violation met in the last full sweep.
    """
    k = theta.shape[0]
    worst = np.inf
    full = True
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(k):
            old = theta[j]
            if not full and old == 0.0:
                continue
            curvature = gram[j, j]
            pull = curvature * old - slope[j]
            size = abs(pull) - threshold[j]
            if old > 0.0:
                violation = abs(slope[j] + threshold[j])
            elif old < 0.0:
                violation = abs(slope[j] - threshold[j])
            else:
                violation = max(size, 0.0)
            if curvature <= 0.0:
                theta[j] = 0.0
                continue
            largest = max(largest, violation / scale[j])
            new = 0.0
            if size > 0.0:
                new = size / curvature if pull > 0.0 else -size / curvature
            if new != old:
                theta[j] = new
                change = new - old
                for i in range(k):
                    slope[i] += change * gram[j, i]
        if full:
            worst = largest
            if worst <= tolerance:
                break
            full = False
        elif largest <= tolerance:
            full = True
    return worst
