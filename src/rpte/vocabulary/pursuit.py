"""Choosing among many columns that say much the same: orthogonal matching pursuit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.gram import one_blas_thread

__all__ = ["pursue"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

LEFT = 1e-3  # share of its own variance that a column must have beside the columns before it
RIDGE = 1e-3  # on the columns that are there already, which may say the same
CONSTANT = 1e-7  # share of its root mean square that a column must vary by
DIGITS = 9


def pursue(columns: Floats, beside: Floats, residual: Floats, curvature: Floats, most: int) -> Rows:
    """Return the places of at most so many columns, each the best beside those before it.

    The best gains most in the quadratic model of the loss; ties go to the first. Columns that
    those before them explain are left out.

    Parameters
    ----------
    columns : (m, n)
    beside : (b, n)
        What is there already; a constant always is.
    residual, curvature : (n,)
        Negative first and second derivative of the loss by row.
    """
    gram, slope = _moments(np.vstack([beside, columns]), residual, curvature)
    known = len(beside)
    own = gram[:known, :known] + RIDGE * np.eye(known)
    explained = np.linalg.solve(own, gram[:known, known:])
    rest = gram[known:, known:] - gram[known:, :known] @ explained
    return _in_turn(rest, slope[known:] - slope[:known] @ explained, most)


def _moments(rows: Floats, residual: Floats, curvature: Floats) -> tuple[Floats, Floats]:
    """Return the correlations of rows under the curvature, and their standardised slopes."""
    share = curvature / curvature.sum()
    with one_blas_thread():
        centred = rows - (rows @ share)[:, None]
        slope = centred @ (residual / curvature.sum())
        centred *= np.sqrt(share)
        gram = centred @ centred.T
    size = np.sqrt(np.diag(gram))
    size[size <= CONSTANT * np.sqrt((rows * rows) @ share)] = np.inf
    return gram / np.outer(size, size), slope / size


def _in_turn(gram: Floats, slope: Floats, most: int) -> Rows:
    """Return the pivots of a Cholesky factorisation that goes by the gain."""
    left, slope = np.diag(gram).copy(), slope.copy()
    open_ = left > LEFT
    factors = np.zeros((min(most, len(left)), len(left)))
    chosen: list[int] = []
    while len(chosen) < most and open_.any():
        gain = np.where(open_, slope**2 / np.maximum(left, LEFT), -1.0)
        best = int(np.argmax(np.round(gain, DIGITS)))
        before = factors[: len(chosen)]
        factor = (gram[best] - before[:, best] @ before) / np.sqrt(left[best])
        factors[len(chosen)] = factor
        slope -= factor * (slope[best] / np.sqrt(left[best]))
        left -= factor**2
        chosen.append(best)
        open_ &= left > LEFT
        open_[best] = False
    return np.array(chosen, np.intp)
