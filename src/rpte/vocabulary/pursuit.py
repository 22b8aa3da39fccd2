"""Choosing among many columns that are much alike: orthogonal matching pursuit."""

import numpy as np

from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import TILE_ROWS
from rpte.kernels.screening import pivots
from rpte.rows.passes import add, search_blocks
from rpte.rows.threads import chunks, thread_map
from rpte.utils.arrays import Floats, Index

LEFT = 1e-3  # fraction of its variance that the columns before it must leave of a column
RIDGE = 1e-3  # on the known columns, which may repeat each other
CONSTANT = 1e-7  # fraction of its root mean square that a column must vary by
DIGITS = 9


def pursue(rows: Floats, known: int, residual: Floats, curvature: Floats, most: int) -> Index:
    """Return the places of at most `most` columns, each the best beside those before it.

    The best gains most in the quadratic model of the loss (`residual` and `curvature`, (n,), are
    its negative first and second derivative by row); ties go to the first. Columns that those
    before them explain are left out. `rows` (known + m, n) are columns of the model, which always
    has a constant too, then the candidates.
    """
    with one_blas_thread():
        gram, slope = correlations(rows, curvature, residual)
        own = gram[:known, :known] + RIDGE * np.eye(known)
        explained = np.linalg.solve(own, gram[:known, known:])
        rest = gram[known:, known:] - gram[known:, :known] @ explained
        left = slope[known:] - slope[:known] @ explained
    chosen = np.empty(min(most, len(left)), np.intp)
    return chosen[: pivots(rest, left, LEFT, 10.0**DIGITS, chosen)]


def correlations(rows: Floats, weight: Floats, residual: Floats) -> tuple[Floats, Floats]:
    """Return the weighted correlations of rows (m, n), and their standardised slopes (m,).

    Constant rows have none. Blocks of columns stay in the cache between centring and multiplying.
    """
    total = weight.sum()
    fraction, slope = weight / total, residual / total
    root = np.sqrt(fraction)
    mean = np.concatenate(list(thread_map(lambda at: rows[at] @ fraction, chunks(len(rows), 64))))

    def moments(block: slice) -> tuple[Floats, Floats]:
        gram, gradient = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
        for tile in chunks(block.stop, TILE_ROWS, block.start):
            centred = rows[:, tile] - mean[:, None]
            gradient += centred @ slope[tile]
            centred *= root[tile]
            gram += centred @ centred.T
        return gram, gradient

    gram, gradient = add(moments, search_blocks(len(fraction)))
    size = np.sqrt(np.diag(gram))
    size[size <= CONSTANT * np.sqrt(size**2 + mean**2)] = np.inf
    return gram / np.outer(size, size), gradient / size
