"""What Stage 1 asks of one column after the other, each in one or two passes over its cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

__all__ = ["fingerprints", "label_slope", "scaled_squares"]

Vector = NDArray[np.float64]


@kernel
def fingerprints(
    x: Vector, which: NDArray[np.intp], probes: Vector, gap: float, out: Vector
) -> None:
    """Fill `out` (k, 4) with the products of columns with two probes, then those of 1 - x.

    The former are NaN for a constant, the latter for a column that is not 0 or 1 everywhere.

    Parameters
    ----------
    x : (p, n)
        Columns as rows.
    which : (k,)
        The rows of x that are asked for.
    probes : (2, n)
    gap : float
        Times the largest size of a cell, it stands for NaN: beside a number of another unit the
        cells of small ones would be lost in the sums.
    """
    for m in range(which.size):
        column = x[which[m]]
        biggest = 0.0
        for j in range(column.size):
            if not np.isnan(column[j]):
                biggest = max(biggest, abs(column[j]))
        constant, binary, seen = True, True, np.nan
        first, second, others, rest = 0.0, 0.0, 0.0, 0.0
        for j in range(column.size):
            value = column[j]
            if np.isnan(value):
                value, binary = gap * biggest, False
            else:
                binary &= value == 0.0 or value == 1.0
                if np.isnan(seen):
                    seen = value
                constant &= value == seen
            first += value * probes[0, j]
            second += value * probes[1, j]
            if binary:
                others += (1.0 - value) * probes[0, j]
                rest += (1.0 - value) * probes[1, j]
        out[m, 0], out[m, 1] = (np.nan, np.nan) if constant else (first, second)
        out[m, 2], out[m, 3] = (others, rest) if binary else (np.nan, np.nan)


@kernel
def label_slope(x: Vector, weight: Vector, residual: Vector) -> float:
    """Return the squared sum of residual times x over the weighted variance of x.

    Cells that are NaN are left out; 0 where x does not vary.

    Parameters
    ----------
    x, weight : (n,)
    residual : (n,)
        With the weight in it.
    """
    biggest = 0.0
    for j in range(x.size):
        if not np.isnan(x[j]):
            biggest = max(biggest, abs(x[j]))
    if biggest == 0.0:
        return 0.0
    total, mean = 0.0, 0.0
    for j in range(x.size):
        if not np.isnan(x[j]):
            total += weight[j]
            mean += weight[j] * (x[j] / biggest)
    mean /= total
    slope, square = 0.0, 0.0
    for j in range(x.size):
        if not np.isnan(x[j]):
            distance = x[j] / biggest - mean
            slope += residual[j] * distance
            square += weight[j] * distance * distance
    return slope * slope / square if square > 0.0 else 0.0


@kernel
def scaled_squares(x: Vector, mean: float, out: Vector) -> float:
    """Return the largest distance of x (n,) from its mean; `out` gets squared shares of it.

    Shares, because the squares of values near 1e300 are not finite. It is left as it is where x is
    constant.
    """
    most = 0.0
    for i in range(x.size):
        most = max(most, abs(x[i] - mean))
    if most > 0.0:
        for i in range(x.size):
            share = (x[i] - mean) / most
            out[i] = share * share
    return most
