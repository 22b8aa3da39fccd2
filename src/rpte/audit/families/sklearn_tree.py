"""Single scikit-learn trees: every leaf counts, with the conditions on its path."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.paths import TreeArrays, tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import any_active, fitted


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted DecisionTree or ExtraTree.

    Parameters
    ----------
    model : BaseDecisionTree
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    arrays = tree_arrays(fitted(model, "tree_"), columns)
    return tree_terms([arrays], None if X is None else model.apply(X)[:, None])


def tree_arrays(tree: Any, columns: Columns | None, all_leaves: bool = True) -> TreeArrays:
    """Read a scikit-learn `tree_`.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    columns : Columns, optional
    all_leaves : bool
        Whether leaves of value zero count too.
    """
    inner = tree.feature >= 0
    conditions = np.zeros(tree.node_count, dtype=np.int64)
    conditions[inner] = conditions_of(columns, tree.feature[inner])
    active = np.ones(tree.node_count, dtype=bool) if all_leaves else any_active(tree.value)
    return TreeArrays(tree.children_left, tree.children_right, conditions, active)
