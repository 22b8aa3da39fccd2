"""Products with the Stage 3 design Z: leaves are read as codes, never as one-hot columns.

`direct` is the transpose (d, n) of the design's, so that one direct column is one run of memory.
A call is for one block of rows; its sums run in row order (direct columns: tile by tile).
Where the direct columns of a long table are not kept, a `Program` makes them, a few rows at a time,
from the cells of the variables that they read.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.kernels.losses import loss_statistics
from rpte.utils.arrays import Bytes, Floats, Index, Int8s, Int32s, Mask

TILE_ROWS = 2_048  # of direct columns that stay near the processor
# Below this fraction of its raw second moment, the centred one of a column is rounding error.
CONSTANT = 1e-12
# Of each term: operation (d,), kind, place and knot of its parts (d, 2), centre, 1 / scale, and
# whether it may be missing, all (d,).
Program = tuple[Int8s, Int8s, Index, Floats, Floats, Floats, Mask]
Cells = tuple[Floats, Bytes, Program]  # numbers and 0/1 columns of some rows, and what to make
Moved = tuple[Floats, Floats]  # score and residual of some rows

NUMBER, ABOVE, BELOW, BIT = 0, 1, 2, 3  # what a part of a term makes of its cells
ALONE = 0
OPERATIONS = {"product": 1, "sum": 2, "difference": 3, "absolute difference": 4}
SHORT_TILE = 512  # rows: all their terms stay near the processor from the score to the gradient


@kernel
def add_leaf_scores(
    codes: Int32s, starts: Index, coefficients: Floats, low: int, out: Floats
) -> None:
    """Add the coefficients of the leaves that rows from `low` on reach to `out` (rows,)."""
    for m in range(codes.shape[0]):
        start = starts[m]
        if not np.any(coefficients[start : starts[m + 1]]):
            continue
        for i in range(out.shape[0]):
            out[i] += coefficients[start + codes[m, low + i]]


@kernel
def add_direct_scores(direct: Floats, coefficients: Floats, at: int, out: Floats) -> None:
    """Add the direct terms of the columns of `direct` from `at` on to `out` (rows,)."""
    for low in range(0, out.shape[0], TILE_ROWS):
        part = out[low : min(low + TILE_ROWS, out.shape[0])]
        for j in range(direct.shape[0]):
            coefficient = coefficients[j]
            if coefficient == 0.0:
                continue
            column = direct[j, at + low : at + low + part.shape[0]]
            for i in range(part.shape[0]):
                part[i] += coefficient * column[i]


@kernel
def add_leaf_sums(
    codes: Int32s, starts: Index, trees: Index, values: Floats, low: int, out: Floats
) -> None:
    """Add the values of rows from `low` on to the leaves of `trees` that they reach."""
    for m in trees:
        start = starts[m]
        for i in range(values.shape[0]):
            out[start + codes[m, low + i]] += values[i]


@kernel
def add_direct_sums(direct: Floats, columns: Index, values: Floats, at: int, out: Floats) -> None:
    """Add ``direct[columns, at:] @ values`` to `out`, one entry for each row of `direct`.

    Tiles are far shorter than what BLAS would share out among threads.
    """
    for low in range(0, values.shape[0], TILE_ROWS):
        part = values[low : min(low + TILE_ROWS, values.shape[0])]
        for j in columns:
            out[j] += np.dot(direct[j, at + low : at + low + part.shape[0]], part)


@kernel
def add_leaf_pairs(
    codes: Int32s, starts: Index, trees: Index, weight: Floats, low: int, out: Floats
) -> None:
    """Add the weights of rows from `low` on to the pairs of leaves of `trees`, upper triangle.

    `starts` (len(trees),) are the leaf offsets inside `out`, not those of the design.
    """
    for a in range(trees.shape[0]):
        first, row = codes[trees[a]], starts[a]
        for b in range(a, trees.shape[0]):
            second, column = codes[trees[b]], starts[b]
            for i in range(weight.shape[0]):
                out[row + first[low + i], column + second[low + i]] += weight[i]


@kernel
def add_leaf_rows(
    codes: Int32s, starts: Index, trees: Index, root: Floats, tile: Floats, low: int, out: Floats
) -> None:
    """Add the columns of `tile`, times `root` (rows,), up by leaf: a row of `out` per leaf.

    `tile` (k, rows) are direct terms times `root`, from row `low` of the design on.
    """
    for t in range(trees.shape[0]):
        code, sums = codes[trees[t]], out[starts[t] :]
        for c in range(tile.shape[0]):
            column = tile[c]
            for r in range(column.shape[0]):
                sums[code[low + r], c] += root[r] * column[r]


@kernel
def centre_moments(raw: Floats, kept: Index, cross: Floats, total: float, out: Floats) -> None:
    """Second moments `kept` (k,) of `raw`, the intercept eliminated, into `out` (k, k).

    Only the upper triangle of `raw` is read. `cross` (k,) are first moments, `total` the weight.
    Where less than `CONSTANT` of a column's own moment is left, row and column are exactly zero.
    """
    k = kept.shape[0]
    for a in range(k):
        for b in range(a, k):
            value = raw[kept[a], kept[b]] - cross[a] * (cross[b] / total)
            out[a, b] = value
            out[b, a] = value
    for a in range(k):
        if out[a, a] <= CONSTANT * raw[kept[a], kept[a]]:
            out[a, :] = 0.0
            out[:, a] = 0.0


@jitable
def fill_part(
    kind: int, numbers: Floats, bits: Bytes, place: int, knot: float, low: int, out: Floats
) -> None:
    """Evaluate one part on all rows of `out`: a number, its excess over a knot, or a 0/1 column."""
    high = low + out.shape[0]
    if kind == 3:
        bit = bits[place, low:high]
        for i in range(out.shape[0]):
            out[i] = bit[i]
        return
    x = numbers[place, low:high]
    # NaN is no less than 0, so it stays.
    if kind == 0:
        for i in range(out.shape[0]):
            out[i] = x[i]
    elif kind == 1:
        for i in range(out.shape[0]):
            gap = x[i] - knot
            out[i] = 0.0 if gap < 0.0 else gap
    else:
        for i in range(out.shape[0]):
            gap = knot - x[i]
            out[i] = 0.0 if gap < 0.0 else gap


@kernel
def fill_terms(numbers: Floats, bits: Bytes, program: Program, low: int, out: Floats) -> None:
    """Fill `out` (d, rows) with (value - centre) / scale of each term, 0 where it is missing.

    A term is one part, or two and an operation; a part's place is its row in `numbers` or, for 0/1
    columns, in `bits`; their columns from `low` on are read.
    """
    operation, kind, place, knot, centre, inverse, gaps = program
    other = np.empty(out.shape[1])
    for t in range(out.shape[0]):
        z, sign = out[t], operation[t]
        fill_part(kind[t, 0], numbers, bits, place[t, 0], knot[t, 0], low, z)
        if sign > 0:
            fill_part(kind[t, 1], numbers, bits, place[t, 1], knot[t, 1], low, other)
        if sign == 1:
            for i in range(z.shape[0]):
                z[i] *= other[i]
        elif sign == 2:
            for i in range(z.shape[0]):
                z[i] += other[i]
        elif sign > 2:
            for i in range(z.shape[0]):
                z[i] -= other[i]
        if sign == 4:
            for i in range(z.shape[0]):
                z[i] = abs(z[i])
        middle, factor = centre[t], inverse[t]
        if gaps[t]:
            for i in range(z.shape[0]):
                value = (z[i] - middle) * factor
                z[i] = value if np.isfinite(z[i]) else 0.0
        elif middle != 0.0 or factor != 1.0:
            for i in range(z.shape[0]):
                z[i] = (z[i] - middle) * factor


@kernel
def loss_of_rows(
    cells: Cells, code: int, theta: Floats, y: Floats, weight: Floats, moved: Moved, slopes: Floats
) -> float:
    """Return the loss of some rows, whose terms have the coefficients `theta` (d,).

    The scores in `moved` gain those of these terms, its residuals become what they are there;
    `slopes` (d,) gains the gradient. Call it with BLAS on one thread.
    """
    (numbers, bits, program), (score, residual) = cells, moved
    loss, d = 0.0, theta.shape[0]
    whole, curvature = np.empty((d, SHORT_TILE)), np.empty(SHORT_TILE)
    for low in range(0, score.shape[0], SHORT_TILE):
        high = min(low + SHORT_TILE, score.shape[0])
        z = whole if high - low == SHORT_TILE else np.empty((d, high - low))
        fill_terms(numbers, bits, program, low, z)
        if d > 0:  # BLAS leaves the sum over nothing as it finds it
            added = np.dot(theta, z)
            for i in range(added.size):
                score[low + i] += added[i]
        r, h = residual[low:high], curvature[: high - low]
        loss += loss_statistics(code, score[low:high], y[low:high], weight[low:high], r, h)
        slopes += np.dot(z, r)
    return loss


@kernel
def add_sums_and_peaks(
    numbers: Floats, bits: Bytes, program: Program, values: Floats, sums: Floats, peaks: Floats
) -> None:
    """Add the products of some rows' terms with `values` (rows,) to `sums`; raise `peaks`, (d,).

    Call it with BLAS on one thread.
    """
    d = sums.shape[0]
    whole = np.empty((d, SHORT_TILE))
    for low in range(0, values.shape[0], SHORT_TILE):
        high = min(low + SHORT_TILE, values.shape[0])
        z = whole if high - low == SHORT_TILE else np.empty((d, high - low))
        fill_terms(numbers, bits, program, low, z)
        sums += np.dot(z, values[low:high])
        for t in range(d):
            row, top = z[t], peaks[t]
            for i in range(row.shape[0]):
                top = max(top, abs(row[i]))
            peaks[t] = top
