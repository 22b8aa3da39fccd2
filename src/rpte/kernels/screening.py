"""What Stage 1 asks of columns: sums from which they are judged without building them.

A column's own sums are those of cx, rx and cxx under the curvature c and the residual r, (3,). A
term t of the columns a and b has the sums of cab, ct, rt, cat, cbt and ctt, (6,): they tell how
much a product or a distance says beside its two columns.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Floats, Index

LEAST_CURVATURE = 1e-6  # fraction of the rows' curvature that a term must have of its own
DEPENDENT = 1e-9  # fraction of their variances below which two columns say the same


@jitable
def largest_size(x: Floats) -> float:
    """Return the largest |x|, NaN left out; 0 where there is nothing else."""
    biggest = 0.0
    for j in range(x.size):
        if not np.isnan(x[j]):
            biggest = max(biggest, abs(x[j]))
    return biggest


@kernel
def fingerprints(x: Floats, which: Index, probes: Floats, gap: float, out: Floats) -> None:
    """Fill `out` (k, 4) with the products of columns with two `probes` (2, n), then those of 1 - x.

    The former are NaN for a constant, the latter for a column that is not 0 or 1 everywhere. The
    columns are the rows `which` (k,) of `x` (p, n). `gap` times the largest size of a cell stands
    for NaN: beside a number of another unit the cells of small ones would be lost in the sums.
    """
    for m in range(which.size):
        column = x[which[m]]
        biggest = largest_size(column)
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
def label_slope(x: Floats, weight: Floats, residual: Floats) -> float:
    """Return the squared sum of residual times x over the weighted variance of x; all (n,).

    Cells that are NaN are left out; 0 where x does not vary. `residual` has the weight in it.
    """
    biggest = largest_size(x)
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
def scaled_squares(x: Floats, mean: float, out: Floats) -> float:
    """Return the largest distance of x (n,) from its mean; `out` gets squared fractions of it.

    Fractions, because the squares of values near 1e300 are not finite. It is left as it is where x
    is constant.
    """
    most = 0.0
    for i in range(x.size):
        most = max(most, abs(x[i] - mean))
    if most > 0.0:
        for i in range(x.size):
            fraction = (x[i] - mean) / most
            out[i] = fraction * fraction
    return most


@kernel
def knot_moments(
    x: Floats,
    rows: Index,
    centre: float,
    unit: float,
    knots: Floats,
    weight: Floats,
    r: Floats,
    out: Floats,
) -> None:
    """Fill `out` (m + 1, 5) with sums of w, wx, wxx, r, rx over the rows above just j of m knots.

    The cells are those of `x` (N,) at `rows` (n,), counted from `centre` in `unit`; NaN is left
    out. The `knots` (m,) ascend; `weight` and `r` are (n,).
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
def column_moments(z: Floats, rows: Index, weight: Floats, r: Floats, out: Floats) -> None:
    """Fill `out` (3,) with sums of wz, wzz and rz over `rows` (n,) of `z` (N,)."""
    out[:] = 0.0
    for i in range(rows.size):
        value = z[rows[i]]
        weighted = weight[i] * value
        out[0] += weighted
        out[1] += weighted * value
        out[2] += r[i] * value


@kernel
def distance_moments(
    x: Floats, i: Index, k: Index, unit: Floats, curvature: Floats, r: Floats, out: Floats
) -> None:
    """Fill `out` (m, 3) with sums of ct, ctt and rt for the distances t of rows i and k of x.

    `x` is (p, n), `i` and `k` are (m,), `curvature` and `r` (n,); a distance has the unit (p,) of
    row i.
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


@kernel
def own_sums(x: Floats, curvature: Floats, r: Floats, out: Floats) -> None:
    """Fill `out` (p, 3) with the sums of cx, rx and cxx of the rows of `x` (p, n)."""
    for i in range(x.shape[0]):
        first, slope, second = 0.0, 0.0, 0.0
        for j in range(x.shape[1]):
            value = x[i, j]
            weighted = curvature[j] * value
            first += weighted
            slope += r[j] * value
            second += weighted * value
        out[i, 0], out[i, 1], out[i, 2] = first, slope, second


@jitable
def beside_parts(total: float, r: float, a: Floats, b: Floats, t: Floats) -> tuple[float, float]:
    """Return the standardised gradient of t beside the intercept, a and b, and its condition.

    The latter is by how much the error of the sums may have grown. `total` and `r` are the sums of
    the curvature and of the residual, `a` and `b` (3,) and `t` (6,) those of the columns and of t.
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


@kernel
def rough_gradients(
    i: Index,
    k: Index,
    total: float,
    r: float,
    own: Floats,
    square: Index,
    seconds: Floats,
    slopes: Floats,
    out: Floats,
) -> None:
    """Fill `out` (m, 2) with the gradients of products and their conditions, from matrices.

    `i` and `k` (m,) are the columns of each product, `own` (p, 3) their sums. `seconds` (q, q) has
    the products under the curvature of all columns and of some squares, whose places there are
    `square` (p,); `slopes` (p, p) has the products of the columns under the residual.
    """
    t = np.empty(6)
    for m in range(i.size):
        a, b = i[m], k[m]
        t[0] = t[1] = seconds[a, b]
        t[2], t[3], t[4] = slopes[a, b], seconds[square[a], b], seconds[a, square[b]]
        t[5] = seconds[square[a], square[b]]
        out[m, 0], out[m, 1] = beside_parts(total, r, own[a], own[b], t)


@kernel
def product_gradients(
    x: Floats, i: Index, k: Index, curvature: Floats, r: Floats, own: Floats, out: Floats
) -> None:
    """Fill `out` (m,) with the gradients of the products x[i] x[k] of rows of `x` (p, n)."""
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
        out[m] = beside_parts(total, slope, own[i[m]], own[k[m]], t)[0]


@kernel
def distance_gradients(
    x: Floats, i: Index, k: Index, unit: Floats, curvature: Floats, r: Floats, out: Floats
) -> None:
    """Fill `out` (m,) with the gradients of the distances of x[i] and x[k], rows of `x` (p, n).

    `unit` (m,) is that of each distance and its numbers.
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
        out[m] = beside_parts(total, slope, a, b, t)[0]


@kernel
def pivots(gram: Floats, slope: Floats, least: float, steps: float, chosen: Index) -> int:
    """Fill `chosen` with the pivots of a Cholesky factorisation by the gain; return how many.

    The gain of a column of `gram` (m, m) is the sum of squares of its `slope` (k, m) over what is
    left of its diagonal, which must be more than `least`. Gains are compared in steps of 1 / steps;
    ties go to the first.
    """
    size = slope.shape[1]
    left, slope = np.empty(size), slope.copy()
    for j in range(size):
        left[j] = gram[j, j]
    factors = np.zeros((chosen.size, size))
    for count in range(chosen.size):
        best, most = -1, -1.0
        for j in range(size):
            squares = 0.0
            for k in range(slope.shape[0]):
                squares += slope[k, j] * slope[k, j]
            gain = np.rint(squares / left[j] * steps) if left[j] > least else -1.0
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
        for k in range(slope.shape[0]):
            slope[k] -= factor * (slope[k, best] / root)
        left -= factor * factor
        left[best] = -1.0
        chosen[count] = best
    return chosen.size
