"""Trees of any family as arrays, and the conditions on the way to their leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.terms import NOT_CONSULTED, Terms

NO_CHILD = -1


@dataclass(frozen=True, slots=True)
class TreeArrays:
    """One tree; node 0 is the root.

    Parameters
    ----------
    left, right : ndarray of int, shape (n_nodes,)
        Children; a leaf has `left` = -1.
    conditions : ndarray of int, shape (n_nodes,)
        Conditions of the test at each inner node.
    active : ndarray of bool, shape (n_nodes,)
        Leaves that count.
    label : ndarray of int, shape (n_nodes,), optional
        What the family calls each node when it says which leaf a row reaches; by default its
        position.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    conditions: NDArray[np.int64]
    active: NDArray[np.bool_]
    label: NDArray[np.int64] | None = None


def leaf_paths(tree: TreeArrays) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the active leaves of a tree and the conditions on the path to each, as they stand.

    Only what hangs below the root is seen: some families leave pruned nodes in their arrays.

    Returns
    -------
    leaves, conditions : ndarray of int, shape (n_active,)
    """
    path = np.zeros(len(tree.left), dtype=np.int64)
    level = np.zeros(1, dtype=np.int64)
    leaves: list[NDArray[np.int64]] = []
    while level.size:
        is_leaf = tree.left[level] == NO_CHILD
        leaves.append(level[is_leaf])
        inner = level[~is_leaf]
        below = path[inner] + tree.conditions[inner]
        path[tree.left[inner]] = below
        path[tree.right[inner]] = below
        level = np.concatenate([tree.left[inner], tree.right[inner]])
    found = np.sort(np.concatenate(leaves))
    found = found[tree.active[found]]
    return found, path[found]


def tree_terms(trees: Sequence[TreeArrays], leaf_of_row: Any | None) -> Terms:
    """Count the active leaves of a sum of trees.

    Parameters
    ----------
    trees : sequence of TreeArrays
    leaf_of_row : array of int, shape (n_rows, n_trees), optional
        Label of the leaf each row reaches in each tree, inactive leaves included.
    """
    paths = [leaf_paths(tree) for tree in trees]
    counts = [len(leaves) for leaves, _ in paths]
    conditions = np.concatenate([np.zeros(0, dtype=np.int64), *(path for _, path in paths)])
    if leaf_of_row is None:
        return Terms(conditions)
    labels = np.asarray(leaf_of_row).astype(np.int64, copy=False)
    # Written out, not -1: a model of no trees leaves nothing to infer the number of columns from.
    labels = labels.reshape(len(labels), len(trees))
    reached = np.empty(labels.shape, dtype=np.int64)
    for t, first in enumerate(np.cumsum([0, *counts])[:-1]):
        reached[:, t] = _term_of_label(trees[t], paths[t][0], int(first))[labels[:, t]]
    return Terms(conditions, reached)


def _term_of_label(tree: TreeArrays, leaves: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Table from the label of a leaf to its position among the terms, -1 if it is not active."""
    label = np.arange(len(tree.left)) if tree.label is None else tree.label
    table = np.full(int(label.max()) + 1, NOT_CONSULTED, dtype=np.int64)
    table[label[leaves]] = first + np.arange(len(leaves))
    return table
