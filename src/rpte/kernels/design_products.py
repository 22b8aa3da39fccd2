"""Products with the Stage 3 design Z: leaves are read as codes, never as one-hot columns.

`direct` is the transpose (d, n) of the design's, so that one direct column is one run of memory.
All sums run in row order (direct columns: in blocks of `ROW_BLOCK` rows, added in block order).
"""

from __future__ import annotations

import numpy as np

from rpte.kernels.compile import Floats, Index, Int32s, kernel

ROW_BLOCK = 2048
COLUMNS = 8  # of float64 are one line of a cache
# Below this share of its raw second moment, the centred one of a column is rounding error.
CONSTANT = 1e-12


@kernel
def add_scores(
    codes: Int32s, starts: Index, direct: Floats, coefficients: Floats, out: Floats
) -> None:
    """Add ``Z coefficients`` to `out` (n,): trees, then direct columns block of rows by block."""
    n, leaves = out.shape[0], starts[-1]
    for m in range(codes.shape[0]):
        start = starts[m]
        if not np.any(coefficients[start : starts[m + 1]]):
            continue
        for i in range(n):
            out[i] += coefficients[start + codes[m, i]]
    for low in range(0, n, ROW_BLOCK):
        part = out[low : min(low + ROW_BLOCK, n)]
        for j in range(direct.shape[0]):
            coefficient = coefficients[leaves + j]
            if coefficient == 0.0:
                continue
            column = direct[j, low : low + part.shape[0]]
            for i in range(part.shape[0]):
                part[i] += coefficient * column[i]


@kernel
def column_sums(
    codes: Int32s,
    starts: Index,
    trees: Index,
    direct: Floats,
    columns: Index,
    values: Floats,
    out: Floats,
) -> None:
    """Add ``Z.T @ values`` to `out` (q,), for the leaves of `trees` and the direct `columns`.

    Blocks are far shorter than what BLAS would share out among threads.
    """
    n, leaves = values.shape[0], starts[-1]
    for m in trees:
        start = starts[m]
        for i in range(n):
            out[start + codes[m, i]] += values[i]
    for low in range(0, n, ROW_BLOCK):
        high = min(low + ROW_BLOCK, n)
        part = values[low:high]
        for j in columns:
            out[leaves + j] += np.dot(direct[j, low:high], part)


@kernel
def leaf_pair_sums(codes: Int32s, starts: Index, trees: Index, weight: Floats, out: Floats) -> None:
    """Weighted contingency counts of all pairs of leaves of `trees`, upper triangle.

    `starts` (len(trees),) are the leaf offsets inside `out`, not those of the design.
    """
    for a in range(trees.shape[0]):
        first, row = codes[trees[a]], starts[a]
        for b in range(a, trees.shape[0]):
            second, column = codes[trees[b]], starts[b]
            for i in range(weight.shape[0]):
                out[row + first[i], column + second[i]] += weight[i]


@kernel
def gather_rows(
    direct: Floats, columns: Index, root: Floats, low: int, high: int, out: Floats
) -> None:
    """Copy ``root * direct[columns, low:high]``, transposed, into the leading rows of `out`.

    The last column of `out` is `root` itself. A few columns at a time, so that what is written lies
    together.
    """
    k = columns.shape[0]
    for i in range(low, high):
        out[i - low, k] = root[i]
    for first in range(0, k, COLUMNS):
        last = min(first + COLUMNS, k)
        for i in range(low, high):
            for c in range(first, last):
                out[i - low, c] = root[i] * direct[columns[c], i]


@kernel
def leaf_direct_sums(
    codes: Int32s, starts: Index, trees: Index, root: Floats, block: Floats, low: int, out: Floats
) -> None:
    """Add the rows of `block`, times `root`, up by leaf: one row of `out` per leaf of `trees`.

    `block` (rows, k) comes from `gather_rows` and begins at row `low` of the design.
    """
    for t in range(trees.shape[0]):
        code, sums = codes[trees[t]], out[starts[t] :]
        for r in range(block.shape[0]):
            row, total, factor = block[r], sums[code[low + r]], root[low + r]
            for c in range(row.shape[0]):
                total[c] += factor * row[c]


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
