"""Choosing among many columns that say much the same: orthogonal matching pursuit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import TILE_ROWS
from rpte.kernels.screening import pivots

__all__ = ["pursue"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

LEFT = 1e-3  # share of its own variance that a column must have beside the columns before it
RIDGE = 1e-3  # on the columns that are there already, which may say the same
CONSTANT = 1e-7  # share of its root mean square that a column must vary by
DIGITS = 9


def pursue(rows: Floats, known: int, residual: Floats, curvature: Floats, most: int) -> Rows:
    """Return the places of at most so many columns, each the best beside those before it.

    The best gains most in the quadratic model of the loss; ties go to the first. Columns that
    those before them explain are left out.

    Parameters
    ----------
    rows : (known + m, n)
        What is there already, where a constant always is, then the columns.
    known : int
    residual, curvature : (n,)
        Negative first and second derivative of the loss by row.
    """
    with one_blas_thread():
        gram, slope = _moments(rows, residual, curvature)
        own = gram[:known, :known] + RIDGE * np.eye(known)
        explained = np.linalg.solve(own, gram[:known, known:])
        rest = gram[known:, known:] - gram[known:, :known] @ explained
        left = slope[known:] - slope[:known] @ explained
    return _in_turn(rest, left, most)


def _moments(rows: Floats, residual: Floats, curvature: Floats) -> tuple[Floats, Floats]:
    """Return the correlations of rows under the curvature, and their standardised slopes.

    Call it inside `one_blas_thread`.
    """
    share = curvature / curvature.sum()
    root, slope = np.sqrt(share), residual / curvature.sum()
    gram, gradient = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    mean = rows @ share
    for at in range(0, len(share), TILE_ROWS):
        block = slice(at, at + TILE_ROWS)
        centred = rows[:, block] - mean[:, None]
        gradient += centred @ slope[block]
        centred *= root[block]
        gram += centred @ centred.T
    size = np.sqrt(np.diag(gram))
    size[size <= CONSTANT * np.sqrt(size**2 + mean**2)] = np.inf
    return gram / np.outer(size, size), gradient / size


def _in_turn(gram: Floats, slope: Floats, most: int) -> Rows:
    """Return the pivots of a Cholesky factorisation that goes by the gain."""
    chosen = np.empty(min(most, len(slope)), np.intp)
    return chosen[: pivots(gram, slope, LEFT, 10.0**DIGITS, chosen)]
