"""One small tree over a group of variables that interact.

A group has few variables and its trees few leaves, so splits can be chosen two levels deep: a tree
that looks one level ahead finds a parity, which gains nothing at its first split.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rpte.kernels.growth import GAIN, N_FOUND, two_level_splits
from rpte.losses.loss import Residuals
from rpte.structure.coded import CodedColumns, CodeTree
from rpte.structure.grower import (
    GrowthLimits,
    GrowthTask,
    Node,
    OpenLeaf,
    best_first,
    open_leaf,
    stack,
)
from rpte.utils.arrays import Floats, Index, Int32s, Mask


def grow_group(
    columns: CodedColumns, chosen: Index, at: Residuals, weight: Floats, limits: GrowthLimits
) -> CodeTree | None:
    """Grow a tree on the `chosen` columns by gradient and curvature; None if no split is allowed.

    Of several scores, whose gains are added, splits are chosen one level deep.
    """
    stats = stack(at.gradient, at.hessian, weight)
    task = GrowthTask(columns, np.asarray(chosen, np.int64), stats, limits)

    def opener(parent: OpenLeaf | None, nodes: Sequence[Node], admitted: Mask) -> list[OpenLeaf]:
        leaves = [_open(task, *node) for node in nodes]
        return [leaf for leaf in leaves if leaf is not None]

    return best_first(task, opener)


def _open(task: GrowthTask, node: int, rows: Int32s, depth: int) -> OpenLeaf | None:
    """Return the leaf with its splits, two levels deep where a child may be split again."""
    leaf = open_leaf(task, node, rows, depth)
    if leaf is None or depth + 1 >= task.limits.max_depth or len(leaf.total) > 3:
        return leaf
    columns, found = task.columns, np.empty((len(task.chosen), N_FOUND))
    coded = columns.codes, columns.n_bins, columns.is_category
    two_level_splits(coded, task.chosen, (rows, task.stats[rows], leaf.total, leaf.rule), found)
    better = found[:, GAIN] > leaf.found[:, GAIN]
    leaf.found[better] = found[better]
    return leaf


def least_information(total: float) -> float:
    """Return the ridge and the least curvature of a leaf, for the curvature of all rows.

    Both are in units of curvature and not of rows: where events are rare, rows say little, and a
    ridge in rows would hide what they say.
    """
    return float(np.clip(total / 100.0, 0.3, 3.0))
