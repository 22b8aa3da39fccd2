"""Random forests and extra trees: every leaf of every tree counts."""

from __future__ import annotations

from typing import Any

from rpte.audit.columns import Columns
from rpte.audit.families.sklearn_tree import tree_arrays
from rpte.audit.paths import tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import fitted


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted forest.

    Parameters
    ----------
    model : ForestClassifier or ForestRegressor
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    trees = [tree_arrays(tree.tree_, columns) for tree in fitted(model, "estimators_")]
    return tree_terms(trees, None if X is None else model.apply(X))
