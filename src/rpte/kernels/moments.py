"""Moments from which whole families of columns are judged without building them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

__all__ = ["column_moments", "distance_moments", "knot_moments"]

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]


@kernel
def knot_moments(
    x: Vector,
    rows: Rows,
    centre: float,
    unit: float,
    knots: Vector,
    weight: Vector,
    r: Vector,
    out: Vector,
) -> None:
    """Fill `out` (m + 1, 5) with sums of w, wx, wxx, r, rx over the rows above just j of m knots.

    Parameters
    ----------
    x : (N,)
        Counted from `centre` in `unit`; NaN where missing: these rows are left out.
    rows : (n,)
        Those of x that count.
    knots : (m,) ascending
    weight, r : (n,)
    """
    out[:] = 0.0
    for i in range(rows.size):
        cell = x[rows[i]]
        if np.isnan(cell):
            continue
        above = 0
        for knot in knots:
            above += cell > knot
        line = out[above]
        value, w = (cell - centre) / unit, weight[i]
        line[0] += w
        line[1] += w * value
        line[2] += w * value * value
        line[3] += r[i]
        line[4] += r[i] * value


@kernel
def column_moments(z: Vector, rows: Rows, weight: Vector, r: Vector, out: Vector) -> None:
    """Fill `out` (3,) with sums of wz, wzz and rz.

    Parameters
    ----------
    z : (N,)
    rows : (n,)
        Those of z that count.
    weight, r : (n,)
    """
    out[:] = 0.0
    for i in range(rows.size):
        value = z[rows[i]]
        weighted = weight[i] * value
        out[0] += weighted
        out[1] += weighted * value
        out[2] += r[i] * value


@kernel
def distance_moments(
    x: Vector,
    i: Rows,
    k: Rows,
    unit: Vector,
    curvature: Vector,
    r: Vector,
    out: Vector,
) -> None:
    """Fill `out` (m, 3) with sums of ct, ctt and rt for the distances t of rows i and k of x.

    Parameters
    ----------
    x : (p, n)
        Numbers as rows.
    i, k : (m,)
    unit : (p,)
        That of row i is the distance's.
    curvature, r : (n,)
    """
    for m in range(i.size):
        first, second, shrink = x[i[m]], x[k[m]], 1.0 / unit[i[m]]
        total, square, slope = 0.0, 0.0, 0.0
        for j in range(first.size):
            t = abs(first[j] - second[j]) * shrink
            weighted = curvature[j] * t
            total += weighted
            square += weighted * t
            slope += r[j] * t
        out[m, 0], out[m, 1], out[m, 2] = total, square, slope
