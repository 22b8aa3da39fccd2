"""Weighted Gram matrices of any set of terms, the intercept eliminated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpte.estimation.design import Design, Selection
from rpte.kernels.design_products import (
    TILE_ROWS,
    add_leaf_pairs,
    add_leaf_rows,
    centre_moments,
    gather_rows,
)
from rpte.rows.passes import RowBlocks, add
from rpte.utils.arrays import Floats, Index


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Second moments of some columns of Z under row weights h."""

    selection: Selection
    centred: Floats  # Z'hZ - cross cross' / total, (k, k); exact zeros for constant columns
    cross: Floats  # Z'h, (k,)
    total: float  # sum of h

    def corrected(self, move: Floats, shift: float, bend: Floats, at_intercept: float) -> Gram:
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


def weighted_gram(design: Design, selection: Selection, h: Floats, exact: bool = True) -> Gram:
    """Gram matrix of the columns `selection` of Z under the row weights `h` (n,).

    Where `h` is shorter it is that of the first rows. Unless it is to be `exact`, products of
    direct terms are summed in single precision within a tile. Call it inside `one_blas_thread`.
    """
    trees, columns = selection.trees, selection.columns
    counts = np.asarray(design.leaf_counts, dtype=np.intp)[trees]
    local = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
    leaves, size = int(local[-1]), int(local[-1]) + columns.size + 1
    tiles, kind = design.tiles(), np.float64 if exact else np.float32

    def moments(rows: slice) -> tuple[float, Floats]:
        """Leaf against leaf, leaf against direct, direct against direct; the intercept last."""
        out, weight, low = np.zeros((size, size)), h[rows], rows.start
        add_leaf_pairs(design.leaf_codes, local, trees, weight, low, out)
        if columns.size:
            root, mixed = np.sqrt(weight), np.zeros((leaves, columns.size + 1))
            buffer = np.empty((min(TILE_ROWS, len(weight)), columns.size + 1), kind)
            for start, end, direct, at in tiles(rows, TILE_ROWS):
                tile, part = buffer[: end - start], root[start - low : end - low]
                gather_rows(direct, columns, part, at, tile)
                add_leaf_rows(design.leaf_codes, local, trees, part, tile, start, mixed)
                out[leaves:, leaves:] += tile.T @ tile
            out[:leaves, leaves:] = mixed
        return float(weight.sum()), out

    total, raw = add(moments, RowBlocks(len(h)))
    kept = _positions(design, selection)
    first = np.concatenate((np.diag(raw)[:leaves], raw[leaves:-1, -1]))
    cross, centred = first[kept], np.empty((kept.size, kept.size))
    centre_moments(raw, kept, cross, total, centred)
    return Gram(selection, centred, cross, total)


def _positions(design: Design, selection: Selection) -> Index:
    """Where the columns are among those counted, which are all leaves of their trees."""
    reached = np.zeros(len(design.leaf_counts), np.bool_)
    reached[selection.trees] = True
    counted = np.concatenate((reached[design.owner], selection.mask[design.n_leaves :]))
    return np.flatnonzero(selection.mask[counted])
