"""The common form every family is read into before it is counted; sums of trees as arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rpte.audit.columns import Columns, conditions_of
from rpte.columns.units import is_active, level_set_conditions
from rpte.utils.arrays import Floats, Ints, Mask

NOT_CONSULTED = -1
NO_CHILD = -1


@dataclass(frozen=True, slots=True)
class Terms:
    """The active terms of a model, the conditions on each, and which of them each row consults.

    Conditions read when a row consults a term may differ from those of the term as it stands: a
    shape function of many cells is read in one cell. A slot of a row is whatever gives at most one
    term: a tree, a rule, a direct term.
    """

    conditions: Ints  # of each active term as it stands in the whole model
    reached: Ints | None = None  # (n_rows, n_slots): positions of terms, -1 for none
    reading: Ints | None = None  # conditions read of each term, where they differ
    bound: int | None = None  # on the audit load, from before training, if the family has one

    def per_row(self) -> Ints | None:
        """Count the conditions each row reads, shape (n_rows,); None without rows."""
        if self.reached is None:
            return None
        reading = self.conditions if self.reading is None else self.reading
        lookup = np.append(reading, 0)  # NOT_CONSULTED picks the zero at the end
        units = np.zeros(len(self.reached), dtype=np.int64)
        for slot in self.reached.T:  # slot by slot: a forest would double the memory otherwise
            units += lookup[slot]
        return units


def consulted_where(consulted: Mask) -> Ints:
    """Write a mask "row consults term", shape (n_rows, n_terms), as `Terms.reached`."""
    return np.where(consulted, np.arange(consulted.shape[1], dtype=np.int64), NOT_CONSULTED)


def direct_terms_consulted(values: Floats, slope: Mask) -> Ints:
    """Say which direct terms rows consult, (n_rows, n_terms): slopes, and others if not zero."""
    return consulted_where(is_active(values) | slope[None, :])


@dataclass(frozen=True, slots=True)
class TreeArrays:
    """One tree; node 0 is the root, arrays have the shape (n_nodes,)."""

    left: Ints  # -1 for a leaf
    right: Ints
    conditions: Ints  # of the test at each inner node
    active: Mask  # leaves that count
    label: Ints | None = None  # of the leaf that a row reaches; by default its position


def tree_arrays(
    children: tuple[ArrayLike, ArrayLike],
    feature: ArrayLike,
    active: Mask,
    columns: Columns | None,
    level_sets: Mapping[int, tuple[int, int]] | None = None,
    label: Ints | None = None,
) -> TreeArrays:
    """Count the conditions at nodes; `level_sets` has sizes of a set and of all levels, by node."""
    left, right = (np.asarray(side, dtype=np.int64) for side in children)
    inner = np.flatnonzero(left != NO_CHILD)
    conditions = np.zeros(len(left), dtype=np.int64)
    conditions[inner] = conditions_of(columns, np.asarray(feature)[inner])
    for node, (n_in, n_total) in (level_sets or {}).items():
        conditions[node] *= level_set_conditions(n_in, n_total)
    return TreeArrays(left, right, conditions, active, label)


def linked_nodes(
    root: Any, children_of: Callable[[Any], Sequence[Any]]
) -> tuple[list[Any], tuple[list[int], list[int]]]:
    """Return the nodes of a linked tree, parents first, and the positions of their children."""
    nodes, left, right = [root], [], []
    for node in nodes:  # grows on the way
        children = children_of(node)
        left.append(len(nodes) if children else NO_CHILD)
        right.append(len(nodes) + 1 if children else NO_CHILD)
        nodes += children
    return nodes, (left, right)


def leaf_paths(tree: TreeArrays) -> tuple[Ints, Ints]:
    """Find active leaves below the root, not pruned nodes, and the conditions on their paths."""
    path = np.zeros(len(tree.left), dtype=np.int64)
    level = np.zeros(1, dtype=np.int64)
    leaves: list[Ints] = []
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
    """Count active leaves; `leaf_of_row` has the labels of all reached, (n_rows, n_trees)."""
    paths = [leaf_paths(tree) for tree in trees]
    conditions = np.concatenate([np.zeros(0, dtype=np.int64), *(path for _, path in paths)])
    if leaf_of_row is None:
        return Terms(conditions)
    labels = np.asarray(leaf_of_row).astype(np.int64, copy=False)
    # Written out, not -1: a model of no trees leaves nothing to infer the number of columns from.
    labels = labels.reshape(len(labels), len(trees))
    reached, first = np.empty(labels.shape, dtype=np.int64), 0
    for t, (tree, (leaves, _)) in enumerate(zip(trees, paths, strict=True)):
        label = np.arange(len(tree.left)) if tree.label is None else tree.label
        term_of = np.full(int(label.max()) + 1, NOT_CONSULTED, dtype=np.int64)
        term_of[label[leaves]] = first + np.arange(len(leaves))
        reached[:, t] = term_of[labels[:, t]]
        first += len(leaves)
    return Terms(conditions, reached)
