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

    The best gains most in the quadratic model of the loss (`residual` and `curvature`, (K, n), are
    its negative first and second derivative by score and row); ties go to the first. Columns that
    those before them explain are left out. `rows` (known + m, n) are columns of the model, which
    always has a constant too, then the candidates. Correlations of columns are those under the mean
    curvature of all scores, in units of which the slopes of each are taken.
    """
    weight = curvature.mean(axis=0) if len(curvature) > 1 else curvature[0]
    units = np.sqrt(curvature.sum(axis=1) / weight.sum()) if len(curvature) > 1 else np.ones(1)
    with one_blas_thread():
        gram, slopes = correlations(rows, weight, residual / units[:, None])
        own = gram[:known, :known] + RIDGE * np.eye(known)
        explained = np.linalg.solve(own, gram[:known, known:])
        rest = gram[known:, known:] - gram[known:, :known] @ explained
        left = np.array([slope[known:] - slope[:known] @ explained for slope in slopes])
    chosen = np.empty(min(most, left.shape[1]), np.intp)
    return chosen[: pivots(rest, left, LEFT, 10.0**DIGITS, chosen)]


def correlations(rows: Floats, weight: Floats, residual: Floats) -> tuple[Floats, Floats]:
    """Return the weighted correlations of rows (m, n), and their standardised slopes (K, m).

    Residuals are (K, n).

    Constant rows have none. Blocks of columns stay in the cache between centring and multiplying.
    """
    total = weight.sum()
    fraction, slopes = weight / total, residual / total
    root = np.sqrt(fraction)
    mean = np.concatenate(list(thread_map(lambda at: rows[at] @ fraction, chunks(len(rows), 64))))

    def moments(block: slice) -> tuple[Floats, Floats]:
        gram, gradient = np.zeros((len(rows), len(rows))), np.zeros((len(slopes), len(rows)))
        for tile in chunks(block.stop, TILE_ROWS, block.start):
            centred = rows[:, tile] - mean[:, None]
            for line, slope in zip(gradient, slopes, strict=True):
                line += centred @ slope[tile]
            centred *= root[tile]
            gram += centred @ centred.T
        return gram, gradient

    gram, gradient = add(moments, search_blocks(len(fraction)))
    size = np.sqrt(np.diag(gram))
    size[size <= CONSTANT * np.sqrt(size**2 + mean**2)] = np.inf
    return gram / np.outer(size, size), gradient / size
