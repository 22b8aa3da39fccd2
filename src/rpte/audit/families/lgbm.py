"""LightGBM: leaves with a non-zero value up to the best iteration, categorical splits included."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpte.audit.columns import Columns
from rpte.audit.terms import Terms
from rpte.audit.trees import TreeArrays, linked_nodes, tree_arrays, tree_terms
from rpte.columns.units import fitted, is_active

Node = dict[str, Any]


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a LightGBM scikit-learn model or Booster.

    LightGBM adds the mean of the target to the leaves of its first tree; they are counted as they
    stand.
    """
    booster = model if hasattr(model, "dump_model") else fitted(model, "booster_")
    best = booster.best_iteration
    dump = booster.dump_model(num_iteration=best)
    levels = _levels(dump)
    trees = [_tree(tree["tree_structure"], levels, columns) for tree in dump["tree_info"]]
    leaves = None if X is None else booster.predict(X, pred_leaf=True, num_iteration=best)
    return tree_terms(trees, leaves)


def _levels(dump: dict[str, Any]) -> dict[int, int]:
    """Count the levels of each category; LightGBM writes missing as level -1."""
    infos = dump["feature_infos"]
    return {
        j: sum(level >= 0 for level in infos[name]["values"])
        for j, name in enumerate(dump["feature_names"])
        if name in infos
    }


def _tree(root: Node, levels: dict[int, int], columns: Columns | None) -> TreeArrays:
    nodes, children = linked_nodes(root, _children)
    if any(node.get("leaf_features") for node in nodes):
        raise TypeError(
            "this LightGBM model has a linear model in each leaf (linear_tree=True), for which "
            "there is no counting rule; fit it with linear_tree=False"
        )
    level_sets = {}
    for n, node in enumerate(nodes):
        if node.get("decision_type") == "==":
            n_in = len(str(node["threshold"]).split("||"))
            level_sets[n] = n_in, max(n_in, levels.get(node["split_feature"], 2 * n_in))
    feature, value, label = (
        np.asarray([node.get(key, 0) for node in nodes])
        for key in ("split_feature", "leaf_value", "leaf_index")
    )
    return tree_arrays(children, feature, is_active(value), columns, level_sets, label)


def _children(node: Node) -> tuple[Node, ...]:
    return (node["left_child"], node["right_child"]) if "left_child" in node else ()
