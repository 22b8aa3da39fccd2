"""Coordinate descent for Stage 3: an L1-penalised quadratic given by its Gram matrix.

The L1 penalty may differ on the two sides of zero. An infinite one forbids its side.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Floats

SWEEPS = 30  # of coordinate descent, before the support is solved exactly
SOLVES = 10
JITTER = 1e-9  # fraction of its diagonal that is added to a Gram matrix to be solved with


@jitable
def violation(slope: float, value: float, up: float, down: float) -> float:
    """How far a coefficient with this slope and value is from its optimality condition."""
    if value > 0.0:
        return abs(slope + up)
    if value < 0.0:
        return abs(slope - down)
    return max(-slope - up, slope - down, 0.0)


@kernel
def violations(
    slope: Floats, theta: Floats, up: Floats, down: Floats, scale: Floats, out: Floats
) -> None:
    """Fill `out` (k,) with the violations at `theta`, in units of `scale`; all (k,)."""
    for j in range(theta.shape[0]):
        out[j] = violation(slope[j], theta[j], up[j], down[j]) / scale[j]


@kernel
def gram_descent(
    gram: Floats,
    slope: Floats,
    theta: Floats,
    up: Floats,
    down: Floats,
    scale: Floats,
    tolerance: float,
    max_sweeps: int,
) -> float:
    """Minimise ``1/2 t'Gt - b't + sum_j (up_j max(t_j, 0) + down_j max(-t_j, 0))`` in place.

    Sweeps, full or partial, run over the non-zero coordinates until they are solved, then once over
    all of them; the minimum is reached when that full sweep finds no violation. Return the largest
    violation met in the last full sweep, in units of `scale` (k,), as the `tolerance` is.

    `gram` (k, k) is G, positive semi-definite, ridge included: a coordinate whose diagonal is zero
    cannot change the fit, so only its penalty counts and it is set to zero. `slope` (k,) is
    G theta - b; it and the starting point `theta` are kept up to date. `up` and `down` (k,) are
    infinite where there may be no positive or negative values.
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
            if curvature <= 0.0:
                theta[j] = 0.0
                continue
            largest = max(largest, violation(slope[j], old, up[j], down[j]) / scale[j])
            new = 0.0
            if pull > up[j]:
                new = (pull - up[j]) / curvature
            elif pull < -down[j]:
                new = (pull + down[j]) / curvature
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


@kernel
def support_step(gram: Floats, slope: Floats, theta: Floats, l1: Floats) -> bool:
    """Move `theta` to the minimum over its support and signs, or to the first zero on the way.

    `theta` and `slope` change in place. True when a term became zero, so that the support shrank.
    """
    support = np.flatnonzero(theta)
    k = support.size
    if k == 0:
        return False
    part, pull = np.empty((k, k)), np.empty(k)
    for a in range(k):
        for b in range(k):
            part[a, b] = gram[support[a], support[b]]
        part[a, a] *= 1.0 + JITTER
        pull[a] = slope[support[a]] + l1[support[a]] * np.sign(theta[support[a]])
    direction = np.linalg.solve(part, -pull)
    first, length = -1, 1.0
    for a in range(k):
        here = theta[support[a]]
        if direction[a] * here < 0.0 and -here / direction[a] <= length:
            first, length = a, -here / direction[a]
    for a in range(k):
        j, here = support[a], theta[support[a]]
        there = here + length * direction[a]
        theta[j] = there if a != first and there * here > 0.0 else 0.0
        change = theta[j] - here
        for i in range(slope.size):
            slope[i] += change * gram[j, i]
    return first >= 0


@kernel
def penalised_minimum(
    gram: Floats,
    slope: Floats,
    theta: Floats,
    l1: Floats,
    l2: Floats,
    up: Floats,
    down: Floats,
    scale: Floats,
    accuracy: float,
) -> Floats:
    """Return the minimum of a quadratic and the penalties, from `theta` (k,).

    By coordinate descent; where that is slow, over the support and signs that it has come to.
    """
    there, with_ridge = theta.copy(), gram.copy()
    for a in range(theta.size):
        with_ridge[a, a] += l2[a]
    for _ in range(SOLVES):
        if gram_descent(with_ridge, slope, there, up, down, scale, accuracy, SWEEPS) <= accuracy:
            break
        while support_step(with_ridge, slope, there, l1):
            pass
    return there
