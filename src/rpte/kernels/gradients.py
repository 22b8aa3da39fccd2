"""How much a product or a distance of two columns says beside these two, from sums over rows.

A column's own sums are those of cx, rx and cxx under the curvature c and the residual r, (3,). A
term t of the columns a and b has the sums of cab, ct, rt, cat, cbt and ctt, (6,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import inner, kernel

__all__ = ["distance_gradients", "own_sums", "product_gradients", "rough_gradients"]

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]

LEAST_CURVATURE = 1e-6  # share of the rows' curvature that a term must have of its own
DEPENDENT = 1e-9  # share of their variances below which two columns say the same


@kernel
def own_sums(x: Vector, curvature: Vector, r: Vector, out: Vector) -> None:
    """Fill `out` (p, 3) with the sums of cx, rx and cxx.

    Parameters
    ----------
    x : (p, n)
    curvature, r : (n,)
    """
    for i in range(x.shape[0]):
        first, slope, second = 0.0, 0.0, 0.0
        for j in range(x.shape[1]):
            value = x[i, j]
            weighted = curvature[j] * value
            first += weighted
            slope += r[j] * value
            second += weighted * value
        out[i, 0], out[i, 1], out[i, 2] = first, slope, second


@kernel
def beside_parts(total: float, r: float, a: Vector, b: Vector, t: Vector) -> tuple[float, float]:
    """Return the standardised gradient of t beside the intercept, a and b, and its condition.

    The latter is by how much the error of the sums may have grown.

    Parameters
    ----------
    total, r : float
        Sums of the curvature and of the residual.
    a, b : (3,)
    t : (6,)
    """
    mean_a, mean_b, mean_t = a[0] / total, b[0] / total, t[1] / total
    aa, bb = a[2] - mean_a * a[0], b[2] - mean_b * b[0]
    ab = t[0] - mean_a * b[0]
    at, bt = t[3] - mean_a * t[1], t[4] - mean_b * t[1]
    determinant = aa * bb - ab * ab
    varies_a, varies_b = aa > DEPENDENT * a[2], bb > DEPENDENT * b[2]
    on_a, on_b, condition = 0.0, 0.0, np.inf
    if varies_a and varies_b and determinant > DEPENDENT * aa * bb:
        on_a, on_b = (at * bb - bt * ab) / determinant, (bt * aa - at * ab) / determinant
        condition = a[2] * b[2] / determinant
    elif varies_a:  # the two say the same, or b is constant
        on_a = at / aa
    elif varies_b:
        on_b = bt / bb
    size = t[5] - mean_t * t[1] - on_a * at - on_b * bt
    if not size > LEAST_CURVATURE * t[5]:
        return 0.0, 0.0 if t[5] == 0.0 else np.inf
    slope = t[2] - mean_t * r - on_a * (a[1] - mean_a * r) - on_b * (b[1] - mean_b * r)
    return abs(slope) / np.sqrt(size), condition * t[5] / size


_beside_parts = inner(beside_parts)


@kernel
def rough_gradients(
    i: Rows,
    k: Rows,
    total: float,
    r: float,
    own: Vector,
    square: Rows,
    seconds: Vector,
    slopes: Vector,
    out: Vector,
) -> None:
    """Fill `out` (m, 2) with the gradients of products and their conditions, from matrices.

    Parameters
    ----------
    i, k : (m,)
        The columns of each product.
    own : (p, 3)
    square : (p,)
        The place of each column's square in `seconds`.
    seconds : (q, q)
        Products under the curvature of all columns and the squares of some.
    slopes : (p, p)
        Products of the columns under the residual.
    """
    t = np.empty(6)
    for m in range(i.size):
        a, b = i[m], k[m]
        t[0] = t[1] = seconds[a, b]
        t[2], t[3], t[4] = slopes[a, b], seconds[square[a], b], seconds[a, square[b]]
        t[5] = seconds[square[a], square[b]]
        out[m, 0], out[m, 1] = _beside_parts(total, r, own[a], own[b], t)


@kernel
def product_gradients(
    x: Vector, i: Rows, k: Rows, curvature: Vector, r: Vector, own: Vector, out: Vector
) -> None:
    """Fill `out` (m,) with the gradients of the products x[i] x[k].

    Parameters
    ----------
    x : (p, n)
    i, k : (m,)
    curvature, r : (n,)
    own : (p, 3)
    """
    t, total, slope = np.empty(6), curvature.sum(), r.sum()
    for m in range(i.size):
        a, b = x[i[m]], x[k[m]]
        first, with_a, with_b, second, gradient = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(a.size):
            value = a[j] * b[j]
            weighted = curvature[j] * value
            first += weighted
            with_a += weighted * a[j]
            with_b += weighted * b[j]
            second += weighted * value
            gradient += r[j] * value
        t[0], t[1], t[2], t[3], t[4], t[5] = first, first, gradient, with_a, with_b, second
        out[m] = _beside_parts(total, slope, own[i[m]], own[k[m]], t)[0]


@kernel
def distance_gradients(
    x: Vector, i: Rows, k: Rows, unit: Vector, curvature: Vector, r: Vector, out: Vector
) -> None:
    """Fill `out` (m,) with the gradients of the distances of x[i] and x[k].

    Parameters
    ----------
    x : (p, n)
    i, k : (m,)
    unit : (m,)
        Of each distance and its numbers.
    curvature, r : (n,)
    """
    a, b, t, total, slope = np.empty(3), np.empty(3), np.empty(6), curvature.sum(), r.sum()
    for m in range(i.size):
        one, two = x[i[m]], x[k[m]]
        a[:], b[:], t[:] = 0.0, 0.0, 0.0
        # Squares of numbers far from zero would drown the rest.
        mean_a, mean_b = one.mean() / unit[m], two.mean() / unit[m]
        for j in range(one.size):
            u, v = one[j] / unit[m], two[j] / unit[m]
            c, value = curvature[j], abs(u - v)
            u, v = u - mean_a, v - mean_b
            a[0] += c * u
            a[1] += r[j] * u
            a[2] += c * u * u
            b[0] += c * v
            b[1] += r[j] * v
            b[2] += c * v * v
            t[0] += c * u * v
            t[1] += c * value
            t[2] += r[j] * value
            t[3] += c * u * value
            t[4] += c * v * value
            t[5] += c * value * value
        out[m] = _beside_parts(total, slope, a, b, t)[0]
