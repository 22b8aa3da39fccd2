"""LightGBM: leaves with a non-zero value up to the best iteration, categorical splits included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.paths import NO_CHILD, TreeArrays, tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import fitted, is_active, level_set_conditions


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a LightGBM scikit-learn model or Booster.

    LightGBM adds the mean of the target to the leaves of its first tree; they are counted as they
    stand.

    Parameters
    ----------
    model : LGBMModel or Booster
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    booster = model if hasattr(model, "dump_model") else fitted(model, "booster_")
    dump = booster.dump_model(num_iteration=booster.best_iteration)
    levels = _levels(dump)
    trees = [_tree_arrays(tree["tree_structure"], levels, columns) for tree in dump["tree_info"]]
    if X is None:
        return tree_terms(trees, None)
    return tree_terms(
        trees, booster.predict(X, pred_leaf=True, num_iteration=booster.best_iteration)
    )


def _levels(dump: dict[str, Any]) -> dict[int, int]:
    """Count the levels of each category; LightGBM writes missing as level -1."""
    infos = dump["feature_infos"]
    return {
        j: sum(level >= 0 for level in infos[name]["values"])
        for j, name in enumerate(dump["feature_names"])
        if name in infos
    }


def _tree_arrays(
    root: dict[str, Any], levels: dict[int, int], columns: Columns | None
) -> TreeArrays:
    nodes = list(_nodes(root))
    position = {id(node): n for n, node in enumerate(nodes)}
    left = [position.get(id(node.get("left_child")), NO_CHILD) for node in nodes]
    right = [position.get(id(node.get("right_child")), NO_CHILD) for node in nodes]
    return TreeArrays(
        np.asarray(left, dtype=np.int64),
        np.asarray(right, dtype=np.int64),
        np.asarray([_conditions(node, levels, columns) for node in nodes], dtype=np.int64),
        np.asarray([_is_active_leaf(node) for node in nodes]),
        np.asarray([node.get("leaf_index", 0) for node in nodes], dtype=np.int64),
    )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk a tree, root first."""
    yield node
    for child in ("left_child", "right_child"):
        if child in node:
            yield from _nodes(node[child])


def _is_active_leaf(node: dict[str, Any]) -> bool:
    if node.get("leaf_features"):
        raise TypeError(
            "this LightGBM model has a linear model in each leaf (linear_tree=True), for which "
            "there is no counting rule; fit it with linear_tree=False"
        )
    return bool(is_active(node.get("leaf_value", 0.0)))


def _conditions(node: dict[str, Any], levels: dict[int, int], columns: Columns | None) -> int:
    if "split_feature" not in node:
        return 0
    feature = node["split_feature"]
    conditions = int(conditions_of(columns, [feature])[0])
    if node["decision_type"] != "==":
        return conditions
    n_in = len(str(node["threshold"]).split("||"))
    return conditions * level_set_conditions(n_in, max(n_in, levels.get(feature, 2 * n_in)))
