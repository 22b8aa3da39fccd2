"""Weighted Gram matrices of any set of terms, the intercept eliminated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rpte.estimation.problem import AnyProblem, Gram, Selection
from rpte.kernels.design_products import add_leaf_pairs, add_leaf_rows, centre_moments
from rpte.utils.arrays import Floats, Index, Int32s

Moments = tuple[float, Floats]  # sum of weights; second moments of leaves, columns, intercept
# Rows from a number on: square roots of their weights and, times these, their columns and a last
# one of ones, (k + 1, rows).
Tiles = Iterator[tuple[int, Floats, Floats]]


class Places(NamedTuple):
    """Where some terms are in a matrix of moments: all leaves of their trees, then columns."""

    trees: Index
    starts: Index  # the first leaf of each of the trees, and the end of the last
    columns: Index

    @classmethod
    def of(cls, problem: AnyProblem, selection: Selection) -> Places:
        """Find the places of some terms."""
        counts = np.asarray(problem.leaf_counts, dtype=np.intp)[selection.trees]
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
        return cls(selection.trees, starts, selection.columns)

    def moments(self, codes: Int32s, low: int, weight: Floats, tiles: Tiles) -> Moments:
        """Leaf against leaf, leaf against direct, direct against direct; the intercept last.

        `codes` (M, *) are the leaves of the rows from `low` on, whose weights are `weight` once all
        `tiles` were seen.
        """
        leaves, size = int(self.starts[-1]), int(self.starts[-1]) + len(self.columns) + 1
        out, mixed = np.zeros((size, size)), np.zeros((leaves, len(self.columns) + 1))
        for start, root, tile in tiles:
            if leaves and len(self.columns):
                add_leaf_rows(codes, self.starts, self.trees, root, tile, start, mixed)
            out[leaves:, leaves:] += tile @ tile.T  # BLAS knows that it is symmetric
        if len(self.columns):
            out[:leaves, leaves:] = mixed
        add_leaf_pairs(codes, self.starts, self.trees, weight, low, out)
        return float(weight.sum()), out


def weighted_tile(z: Floats, columns: Index, root: Floats, out: Floats) -> Floats:
    """Return some columns of `z` (d, rows) times `root` (rows,), and `root` as the last one."""
    tile = out[:, : len(root)]
    np.multiply(
        z if len(z) == len(columns) else z[columns], root, out=tile[:-1], casting="same_kind"
    )
    tile[-1] = root
    return tile


def centred_gram(problem: AnyProblem, selection: Selection, moments: Moments) -> Gram:
    """Return the Gram matrix of some terms, from the moments at their `Places`."""
    total, raw = moments
    leaves = len(raw) - len(selection.columns) - 1
    kept = _positions(problem, selection)
    first = np.concatenate((np.diag(raw)[:leaves], raw[leaves:-1, -1]))
    cross, centred = first[kept], np.empty((kept.size, kept.size))
    centre_moments(raw, kept, cross, total, centred)
    return Gram(selection, centred, cross, total)


def _positions(problem: AnyProblem, selection: Selection) -> Index:
    """Where the columns are among those counted, which are all leaves of their trees."""
    reached = np.zeros(len(problem.leaf_counts), np.bool_)
    reached[selection.trees] = True
    counted = np.concatenate((reached[problem.owner], selection.mask[problem.n_leaves :]))
    return np.flatnonzero(selection.mask[counted])


def grouped(
    problem: AnyProblem,
    selection: Selection,
    rows: tuple[Int32s, Floats],
    group: Index,
    values: Floats,
    size: int,
) -> Floats:
    """Return sums of some terms by `size` groups of some rows, (v, size, k), times `values` (v, *).

    `rows` are their leaves (M, *) and direct columns (d, *).
    """
    codes, z = rows
    out, leaves = np.zeros((len(values), size, selection.terms.size)), problem.n_leaves
    own = selection.terms[selection.terms < leaves]
    for m in selection.trees:
        count, here = problem.leaf_counts[m], np.flatnonzero(problem.owner[own] == m)
        reached = group * count + codes[m]
        for each, sums in zip(values, out, strict=True):
            found = np.bincount(reached, each, size * count).reshape(size, count)
            sums[:, here] = found[:, own[here] - problem.starts[m]]
    for place, j in enumerate(selection.columns, len(own)):
        for each, sums in zip(values, out, strict=True):
            sums[:, place] = np.bincount(group, each * z[j], size)
    return out
