"""Trees of scikit-learn: alone, in forests and in both kinds of gradient boosting."""

from itertools import chain
from typing import Any

import numpy as np

from rpte.audit.columns import Columns
from rpte.audit.terms import NO_CHILD, Terms, TreeArrays, tree_arrays, tree_terms
from rpte.columns.units import any_active, fitted, is_active
from rpte.utils.arrays import Floats


def single(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted DecisionTree or ExtraTree: every leaf counts."""
    arrays = _tree(fitted(model, "tree_"), columns)
    return tree_terms([arrays], None if X is None else model.apply(X)[:, None])


def forest(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted forest: every leaf of every tree counts."""
    trees = [_tree(tree.tree_, columns) for tree in fitted(model, "estimators_")]
    return tree_terms(trees, None if X is None else model.apply(X))


def boosting(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted GradientBoosting model, cut by early stopping: leaves that are not zero."""
    estimators = fitted(model, "estimators_")
    start = model.init_
    if not (isinstance(start, str) or type(start).__module__ == "sklearn.dummy"):
        raise TypeError(  # the conditions of such a model would go uncounted
            f"{type(model).__qualname__} starts from init={type(start).__qualname__}, a model of "
            "its own that is not a constant; fit with init=None or init='zero' to count it"
        )
    trees = [_tree(tree.tree_, columns, all_leaves=False) for tree in estimators.ravel()]
    if X is None:
        return tree_terms(trees, None)
    leaves = model.apply(X)
    return tree_terms(trees, leaves.reshape(len(leaves), -1))


def _tree(tree: Any, columns: Columns | None, all_leaves: bool = True) -> TreeArrays:
    """Read a `tree_`, with or without leaves of value zero."""
    active = np.ones(tree.node_count, dtype=bool) if all_leaves else any_active(tree.value)
    return tree_arrays((tree.children_left, tree.children_right), tree.feature, active, columns)


def hist(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted HistGradientBoosting model: leaves with a non-zero value."""
    # All trees count: early stopping here does not go back to a best iteration.
    predictors = list(chain.from_iterable(fitted(model, "_predictors")))
    if columns is not None and model.is_categorical_ is not None:
        # The trees see categories before all other columns.
        columns = columns.take(np.argsort(~model.is_categorical_, kind="stable"))
    trees = [_hist_tree(tree, model, columns) for tree in predictors]
    return tree_terms(trees, None if X is None else _hist_leaves(model, predictors, X))


def _hist_tree(tree: Any, model: Any, columns: Columns | None) -> TreeArrays:
    nodes = tree.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    level_sets = {}
    for n in np.flatnonzero(~is_leaf & nodes["is_categorical"].astype(bool)).tolist():
        listed = tree.raw_left_cat_bitsets[nodes["bitset_idx"][n]]
        # For a category the binner's thresholds are its known levels.
        levels = model._bin_mapper.bin_thresholds_[nodes["feature_idx"][n]]
        level_sets[n] = sum(int(word).bit_count() for word in listed), len(levels)
    left, right = (
        np.where(is_leaf, NO_CHILD, nodes[side].astype(np.int64)) for side in ("left", "right")
    )
    active = is_active(nodes["value"])
    return tree_arrays((left, right), nodes["feature_idx"], active, columns, level_sets)


def _hist_leaves(model: Any, predictors: list[Any], X: Any) -> Floats:
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
