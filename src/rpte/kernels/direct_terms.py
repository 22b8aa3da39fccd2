"""Direct terms of a block of rows, from the cells of the variables that they read."""

from __future__ import annotations

import numpy as np

from rpte.kernels.compile import Bits, Floats, Index, Int8s, jitable, kernel
from rpte.kernels.losses import loss_statistics

# Of each term: operation (d,), kind, place and knot of its parts (d, 2), centre, 1 / scale, and
# whether it may be missing, all (d,).
Program = tuple[Int8s, Int8s, Index, Floats, Floats, Floats, Mask]

NUMBER, ABOVE, BELOW, BIT = 0, 1, 2, 3  # what a part of a term makes of its cells
ALONE = 0
OPERATIONS = {"product": 1, "sum": 2, "difference": 3, "absolute difference": 4}
ROWS = 512  # whose terms stay at hand between the score and the gradient


@kernel
def gather(column: Floats, rows: Index, low: int, out: Floats) -> None:
    """Fill `out` with the cells of a column at the `rows` from `low` on."""
    for i in range(out.shape[0]):
        out[i] = column[rows[low + i]]


@jitable
def fill_part(
    kind: int, numbers: Floats, bits: Bits, place: int, knot: float, low: int, out: Floats
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
def fill_terms(numbers: Floats, bits: Bits, program: Program, low: int, out: Floats) -> None:
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
def step_rows(
    numbers: Floats,
    bits: Bits,
    program: Program,
    code: int,
    change: Floats,
    y: Floats,
    row_weight: Floats,
    along: Floats,
    score: Floats,
    residual: Floats,
    curvature: Floats,
    slopes: Floats,
) -> float:
    """Change the coefficients of some rows' terms by `change` (d,); return the loss there.

    `along` gains the change of the score, `score` becomes the new one, `residual` and `curvature`
    are those of the new one, all (rows,); `slopes` (d,) gains the gradient. Call it with BLAS on
    one thread.
    """
    loss, d = 0.0, change.shape[0]
    whole = np.empty((d, ROWS))
    for low in range(0, along.shape[0], ROWS):
        high = min(low + ROWS, along.shape[0])
        z = whole if high - low == ROWS else np.empty((d, high - low))
        fill_terms(numbers, bits, program, low, z)
        moved = np.dot(change, z)
        for i in range(moved.size):
            along[low + i] += moved[i]
            score[low + i] += along[low + i]
        loss += loss_statistics(
            code,
            score[low:high],
            y[low:high],
            row_weight[low:high],
            residual[low:high],
            curvature[low:high],
        )
        slopes += np.dot(z, residual[low:high])
    return loss


@kernel
def add_sums_and_peaks(
    numbers: Floats, bits: Bits, program: Program, values: Floats, sums: Floats, peaks: Floats
) -> None:
    """Add the products of some rows' terms with `values` (rows,) to `sums`; raise `peaks`, (d,).

    Call it with BLAS on one thread.
    """
    d = sums.shape[0]
    whole = np.empty((d, ROWS))
    for low in range(0, values.shape[0], ROWS):
        high = min(low + ROWS, values.shape[0])
        z = whole if high - low == ROWS else np.empty((d, high - low))
        fill_terms(numbers, bits, program, low, z)
        sums += np.dot(z, values[low:high])
        for t in range(d):
            row, top = z[t], peaks[t]
            for i in range(row.shape[0]):
                top = max(top, abs(row[i]))
            peaks[t] = top
