"""Weighted Gram matrices of any set of terms, the intercept eliminated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.design import Design, Selection
from rpte.kernels.design_products import (
    ROW_BLOCK,
    centre_moments,
    gather_rows,
    leaf_direct_sums,
    leaf_pair_sums,
)

__all__ = ["Gram", "weighted_gram"]

Vector = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Second moments of some columns of Z under row weights h.

    Parameters
    ----------
    selection : Selection of the k columns
    centred : (k, k) Z'hZ - cross cross' / total; rows of constant columns are exactly zero
    cross : (k,) Z'h
    total : float, sum of h
    """

    selection: Selection
    centred: Vector
    cross: Vector
    total: float

    def corrected(self, move: Vector, shift: float, bend: Vector, at_intercept: float) -> Gram:
        """Return the matrix that has the curvature met on a step (the BFGS formula).

        `move` (k,) and `shift` are the changes of coefficients and intercept, `bend` (k,) and
        `at_intercept` those of their gradients.
        """
        inside = float(self.cross @ move)
        first = self.total * shift + inside  # what the matrix says of the step
        others = self.centred @ move + self.cross * (shift + inside / self.total)
        said, seen = first * shift + others @ move, at_intercept * shift + bend @ move
        if not (said > 0.0 and seen > 0.0):
            return self
        total = self.total - first * first / said + at_intercept * at_intercept / seen
        cross = self.cross - others * (first / said) + bend * (at_intercept / seen)
        centred = self.centred + np.outer(self.cross, self.cross / self.total)
        centred += np.outer(bend, bend / seen) - np.outer(others, others / said)
        centred -= np.outer(cross, cross / total)
        constant = np.diag(self.centred) == 0.0
        centred[constant], centred[:, constant] = 0.0, 0.0
        return Gram(self.selection, centred, cross, float(total))


def weighted_gram(design: Design, selection: Selection, h: Vector, exact: bool = True) -> Gram:
    """Gram matrix of the columns `selection` of Z under the row weights `h` (n,).

    Where `h` is shorter, of the first so many rows; unless it is to be `exact`, products of direct
    terms are summed in single precision within a block. Call it inside `one_blas_thread`.
    """
    terms, trees, columns = selection.terms, selection.trees, selection.columns
    counts = np.asarray(design.leaf_counts, dtype=np.intp)[trees]
    local = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
    leaves, total = int(local[-1]), float(h.sum())
    raw = np.zeros((leaves + columns.size + 1, leaves + columns.size + 1))
    leaf_pair_sums(design.leaf_codes, local, trees, h, raw)
    _add_direct_moments(design, trees, columns, local, h, raw, exact)
    kept = _positions(design, selection)
    first = np.concatenate((np.diag(raw)[:leaves], raw[leaves:-1, -1]))  # moments
    cross = first[kept]
    centred = np.empty((terms.size, terms.size))
    centre_moments(raw, kept, cross, total, centred)
    return Gram(selection, centred, cross, total)


def _positions(design: Design, selection: Selection) -> Index:
    """Where the columns are among those counted, which are all leaves of their trees."""
    reached = np.zeros(len(design.leaf_counts), np.bool_)
    reached[selection.trees] = True
    counted = np.concatenate((reached[design.owner], selection.mask[design.n_leaves :]))
    return np.flatnonzero(selection.mask[counted])


def _add_direct_moments(
    design: Design,
    trees: Index,
    columns: Index,
    local: Index,
    h: Vector,
    out: Vector,
    exact: bool,
) -> None:
    """Leaf against direct and direct against direct, block of rows by block of rows.

    The last row and column of `out` are those of the intercept.
    """
    leaves, n = int(local[-1]), h.shape[0]
    if not columns.size:
        return
    root = np.sqrt(h)
    mixed = np.zeros((leaves, columns.size + 1))
    buffer = np.empty((min(ROW_BLOCK, n), columns.size + 1), np.float64 if exact else np.float32)
    for start, end, direct in design.blocks(n):
        for low in range(start, min(end, n), ROW_BLOCK):
            high = min(low + ROW_BLOCK, end, n)
            block = buffer[: high - low]
            gather_rows(direct, columns, root[start:end], low - start, high - start, block)
            leaf_direct_sums(design.leaf_codes, local, trees, root, block, low, mixed)
            out[leaves:, leaves:] += block.T @ block
    out[:leaves, leaves:] = mixed
