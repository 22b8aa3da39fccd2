"""Terms that are rows of one matrix in single precision: products with vectors, and moments."""

from __future__ import annotations

import numpy as np

from rpte.kernels.compile import Floats, Index, Singles, kernel
from rpte.kernels.losses import loss_statistics


ROWS = 4096  # taken together for a Gram matrix
PANEL = 48  # of its rows, so that only half of it is computed


@kernel
def gradients(z: Singles, rows: Index, values: Singles, out: Floats) -> None:
    """Fill `out` (k,) with the products of some rows of `z` (q, n) and `values` (n,)."""
    for a in range(rows.size):
        out[a] = np.dot(z[rows[a]], values)


@kernel
def exact_gradients(z: Singles, rows: Index, values: Floats, out: Floats) -> None:
    """Do as `gradients`, in double precision and row by row: the same on every machine."""
    for a in range(rows.size):
        row, total = z[rows[a]], 0.0
        for i in range(values.size):
            total += row[i] * values[i]
        out[a] = total


@kernel
def add_rows(z: Singles, rows: Index, coefficients: Floats, out: Floats) -> None:
    """Add some rows of `z` (q, n) times their coefficients (k,) to `out` (n,)."""
    for a in range(rows.size):
        factor = coefficients[a]
        if factor != 0.0:
            row = z[rows[a]]
            for i in range(out.size):
                out[i] += factor * row[i]


@kernel
def add_moments(
    z: Singles, rows: Index, known: int, h: Floats, second: Floats, cross: Floats
) -> None:
    """Fill `second` (k, k) and `cross` (k,) with the moments of some rows of `z` (q, n).

    Under the weights `h` (n,). Those of the first `known` rows are there already.
    """
    k, n = rows.size, h.size
    second[known:], cross[known:] = 0.0, 0.0
    root = np.sqrt(h).astype(np.float32)
    for low in range(0, n, ROWS):
        high = min(low + ROWS, n)
        block = np.empty((k, high - low), np.float32)
        for a in range(k):
            row = z[rows[a]]
            for i in range(low, high):
                block[a, i - low] = root[i] * row[i]
        for a in range(known, k):
            cross[a] += np.dot(block[a], root[low:high])
        for first in range(known, k, PANEL):
            last = min(first + PANEL, k)
            panel = np.dot(block[first:last], block[:last].T)
            for a in range(first, last):
                for b in range(last):
                    second[a, b] += panel[a - first, b]
    for a in range(known, k):
        for b in range(a):
            second[b, a] = second[a, b]


@kernel
def deviances(
    code: int,
    z: Singles,
    rows: Index,
    y: Floats,
    weight: Floats,
    blocks: Index,
    fits: Floats,
    out: Floats,
) -> None:
    """Fill `out` (b, f) with the mean deviance of each fit on blocks of held-out rows.

    `code` is that of the loss; `blocks` (b + 1,) are where blocks begin, and the end of the last;
    `fits` (f, q + 1) are intercepts and the coefficients of the terms in some `rows` (q,) of `z`.
    """
    residual, curvature = np.empty(y.size), np.empty(y.size)
    for at in range(fits.shape[0]):
        score = np.full(y.size, fits[at, 0])
        add_rows(z, rows, fits[at, 1:], score)
        for b in range(blocks.size - 1):
            low, high = blocks[b], blocks[b + 1]
            total = 0.0
            for i in range(low, high):
                total += weight[i]
            loss = loss_statistics(
                code,
                score[low:high],
                y[low:high],
                weight[low:high],
                residual[low:high],
                curvature[low:high],
            )
            out[b, at] = 2.0 * loss / total
