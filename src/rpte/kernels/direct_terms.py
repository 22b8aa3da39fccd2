"""Direct terms of a block of rows, from the cells of the variables that they read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import inner, kernel

__all__ = ["ABOVE", "ALONE", "BELOW", "BIT", "NUMBER", "OPERATIONS", "fill_terms"]

Vector = NDArray[np.float64]
Small = NDArray[np.int8]
Index = NDArray[np.intp]

NUMBER, ABOVE, BELOW, BIT = 0, 1, 2, 3  # what a part of a term makes of its cells
ALONE = 0
OPERATIONS = {"product": 1, "sum": 2, "difference": 3, "absolute difference": 4}


@kernel
def fill_part(
    kind: int, numbers: Vector, bits: NDArray[np.uint8], place: int, knot: float, out: Vector
) -> None:
    """Evaluate one part on all rows of `out`: a number, its excess over a knot, or a 0/1 column."""
    if kind == 3:
        bit = bits[place]
        for i in range(out.shape[0]):
            out[i] = bit[i]
        return
    x = numbers[place]
    if kind == 0:
        for i in range(out.shape[0]):
            out[i] = x[i]
        return
    # NaN is no less than 0, so it stays.
    for i in range(out.shape[0]):
        gap = x[i] - knot if kind == 1 else knot - x[i]
        out[i] = 0.0 if gap < 0.0 else gap


_fill_part = inner(fill_part)


@kernel
def fill_terms(
    numbers: Vector,
    bits: NDArray[np.uint8],
    operation: Small,
    kind: Small,
    place: Index,
    knot: Vector,
    centre: Vector,
    scale: Vector,
    out: Vector,
) -> None:
    """Fill `out` (d, rows) with (value - centre) / scale of each term, 0 where it is missing.

    A term is one part, or two and an `operation` (d,): `kind`, `place` and `knot` are (d, 2), a
    part's place being its row in `numbers` or, for 0/1 columns, in `bits`.
    """
    other = np.empty(out.shape[1])
    for t in range(out.shape[0]):
        z, sign = out[t], operation[t]
        _fill_part(kind[t, 0], numbers, bits, place[t, 0], knot[t, 0], z)
        if sign > 0:
            _fill_part(kind[t, 1], numbers, bits, place[t, 1], knot[t, 1], other)
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
        middle, unit = centre[t], scale[t]
        for i in range(z.shape[0]):
            value = (z[i] + 0.0 - middle) / unit  # -0.0 of a product is 0.0
            z[i] = value if np.isfinite(z[i]) else 0.0
