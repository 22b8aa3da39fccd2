"""Moments from which whole families of columns are judged without building them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

__all__ = ["distance_moments", "knot_moments"]

Vector = NDArray[np.float64]


@kernel
def knot_moments(
    x: Vector, centre: float, unit: float, knots: Vector, weight: Vector, r: Vector, out: Vector
) -> None:
    """Fill `out` (m + 1, 5) with sums of w, wx, wxx, r, rx over the rows above just j of m knots.

    Parameters
    ----------
    x : (n,)
        Counted from `centre` in `unit`; NaN where missing: these rows are left out.
    knots : (m,) ascending
    weight, r : (n,)
    """
    out[:] = 0.0
    for i in range(x.size):
        if np.isnan(x[i]):
            continue
        line = out[np.searchsorted(knots, x[i])]
        value, w = (x[i] - centre) / unit, weight[i]
        line[0] += w
        line[1] += w * value
        line[2] += w * value * value
        line[3] += r[i]
        line[4] += r[i] * value


@kernel
def distance_moments(
    x: Vector,
    i: int,
    others: NDArray[np.intp],
    unit: float,
    curvature: Vector,
    r: Vector,
    out: Vector,
) -> None:
    """Fill `out` (k, 3) with sums of ct, ctt and rt for the distances t of row i from others.

    Parameters
    ----------
    x : (p, n)
        Numbers as rows.
    others : (k,)
    unit : float
        Of the distances.
    curvature, r : (n,)
    """
    first = x[i]
    for a in range(others.size):
        second = x[others[a]]
        total, square, slope = 0.0, 0.0, 0.0
        for j in range(first.size):
            t = abs(first[j] - second[j]) / unit
            total += curvature[j] * t
            square += curvature[j] * t * t
            slope += r[j] * t
        out[a, 0], out[a, 1], out[a, 2] = total, square, slope
