"""The order in which columns are taken when each is judged beside those before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

__all__ = ["pivots"]

Vector = NDArray[np.float64]


@kernel
def pivots(
    gram: Vector, slope: Vector, least: float, steps: float, chosen: NDArray[np.intp]
) -> int:
    """Fill `chosen` with the pivots of a Cholesky factorisation by the gain; return how many.

    Parameters
    ----------
    gram : (m, m)
    slope : (m,)
        The gain is its square over what is left of the diagonal.
    least : float
        What must be left of the diagonal.
    steps : float
        Gains are compared in steps of 1 / steps; ties go to the first.
    """
    size = slope.size
    left, slope = np.empty(size), slope.copy()
    for j in range(size):
        left[j] = gram[j, j]
    factors = np.zeros((chosen.size, size))
    for count in range(chosen.size):
        best, most = -1, -1.0
        for j in range(size):
            gain = np.rint(slope[j] * slope[j] / left[j] * steps) if left[j] > least else -1.0
            if gain > most:
                best, most = j, gain
        if best < 0:
            return count
        root, factor = np.sqrt(left[best]), factors[count]
        for j in range(size):
            factor[j] = gram[best, j]
        for earlier in range(count):
            factor -= factors[earlier, best] * factors[earlier]
        factor /= root
        slope -= factor * (slope[best] / root)
        left -= factor * factor
        left[best] = -1.0
        chosen[count] = best
    return chosen.size
