"""Histogram gradient boosting of scikit-learn, categorical splits included."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.paths import NO_CHILD, TreeArrays, tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import fitted, is_active, level_set_conditions


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted HistGradientBoosting model.

    All its trees count: early stopping here stops, it does not go back to a best iteration, and
    `predict` uses every tree.

    Parameters
    ----------
    model : BaseHistGradientBoosting
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    predictors = list(chain.from_iterable(fitted(model, "_predictors")))
    if columns is not None:
        columns = columns.take(_column_order(model))
    trees = [_tree_arrays(tree, model, columns) for tree in predictors]
    return tree_terms(trees, None if X is None else _leaves(model, predictors, X))


def _column_order(model: Any) -> NDArray[np.int64]:
    """Positions of the columns as the trees see them: categories first, if there are any."""
    is_category = model.is_categorical_
    if is_category is None:
        return np.arange(model.n_features_in_)
    return np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])


def _tree_arrays(tree: Any, model: Any, columns: Columns | None) -> TreeArrays:
    nodes = tree.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    conditions = np.zeros(len(nodes), dtype=np.int64)
    conditions[~is_leaf] = conditions_of(columns, nodes["feature_idx"][~is_leaf])
    for n in np.flatnonzero(~is_leaf & nodes["is_categorical"].astype(bool)):
        listed = tree.raw_left_cat_bitsets[nodes["bitset_idx"][n]]
        n_in = sum(int(word).bit_count() for word in listed)
        # For a category the binner's thresholds are its known levels.
        n_total = len(model._bin_mapper.bin_thresholds_[nodes["feature_idx"][n]])
        conditions[n] *= level_set_conditions(n_in, n_total)
    left = np.where(is_leaf, NO_CHILD, nodes["left"].astype(np.int64))
    right = np.where(is_leaf, NO_CHILD, nodes["right"].astype(np.int64))
    return TreeArrays(left, right, conditions, is_active(nodes["value"]))


def _leaves(model: Any, predictors: list[Any], X: Any) -> NDArray[np.float64]:
    """Let scikit-learn walk its own trees, with each node's value replaced by its position."""
    table = model._preprocess_X(X, reset=False)
    known, position = model._bin_mapper.make_known_categories_bitsets()
    leaves = np.empty((len(table), len(predictors)))
    for t, tree in enumerate(predictors):
        nodes = tree.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        walker = type(tree)(nodes, tree.binned_left_cat_bitsets, tree.raw_left_cat_bitsets)
        leaves[:, t] = walker.predict(table, known, position, n_threads=1)
    return leaves
