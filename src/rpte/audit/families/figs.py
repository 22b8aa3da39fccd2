"""imodels' FIGS: a sum of trees, counted like boosted trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.families.linear import dense
from rpte.audit.paths import NO_CHILD, TreeArrays, tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import fitted, is_active


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted FIGS model.

    Parameters
    ----------
    model : FIGS
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    roots = [list(_nodes(root)) for root in fitted(model, "trees_")]
    encoded = hasattr(model, "_encoder")
    trees = [_tree_arrays(nodes, None if encoded else columns) for nodes in roots]
    if X is None:
        return tree_terms(trees, None)
    if encoded:  # FIGS one-hot encodes by itself; its indicators are ordinary conditions
        X = model._encode_categories(X, model.categorical_features_, "_encoder")
    values = np.asarray(dense(X), dtype=np.float64)
    leaves = np.zeros((len(values), len(trees)), dtype=np.int64)
    for t, tree in enumerate(trees):
        leaves[:, t] = _walk(tree, roots[t], values)
    return tree_terms(trees, leaves)


def _nodes(node: Any) -> Iterator[Any]:
    """Walk a tree, root first."""
    yield node
    if node.left is not None:
        yield from _nodes(node.left)
        yield from _nodes(node.right)


def _tree_arrays(nodes: list[Any], columns: Columns | None) -> TreeArrays:
    position = {id(node): n for n, node in enumerate(nodes)}
    inner = [n for n, node in enumerate(nodes) if node.left is not None]
    conditions = np.zeros(len(nodes), dtype=np.int64)
    conditions[inner] = conditions_of(columns, [nodes[n].feature for n in inner])
    return TreeArrays(
        np.asarray([position.get(id(node.left), NO_CHILD) for node in nodes], dtype=np.int64),
        np.asarray([position.get(id(node.right), NO_CHILD) for node in nodes], dtype=np.int64),
        conditions,
        np.asarray([bool(is_active(node.value).any()) for node in nodes]),
    )


def _walk(tree: TreeArrays, nodes: list[Any], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of the leaves that rows reach; parents come before children in `nodes`."""
    at = np.zeros(len(values), dtype=np.int64)
    for n, node in enumerate(nodes):
        if node.left is not None:
            goes_left = values[:, node.feature] <= node.threshold
            at = np.where(at == n, np.where(goes_left, tree.left[n], tree.right[n]), at)
    return at
