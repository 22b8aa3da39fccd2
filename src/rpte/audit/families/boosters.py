"""XGBoost and LightGBM: leaves with a non-zero value up to the best iteration.

Splits on sets of levels are counted too.
"""

import json
from importlib import import_module
from typing import Any

import numpy as np

from rpte.audit.columns import Columns
from rpte.audit.terms import Terms, TreeArrays, linked_nodes, tree_arrays, tree_terms
from rpte.columns.units import any_active, fitted, is_active
from rpte.utils.arrays import Array

Node = dict[str, Any]


def xgboost(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read an XGBoost scikit-learn model or Booster by its JSON; rows may be a DMatrix."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    content = _tree_model(booster)
    rounds, best = booster.num_boosted_rounds(), booster.attr("best_iteration")
    per_round = len(content["trees"]) // max(rounds, 1)
    rounds = rounds if best is None else int(best) + 1
    levels = {  # of each category, where the file lists them (XGBoost 3.1, data frames)
        feature: len(listed["offsets"]) - 1 if listed.get("offsets") else len(listed["values"])
        for feature, listed in enumerate(content.get("cats", {}).get("enc", []))
    }
    kept = content["trees"][: rounds * per_round]
    trees = [_xgboost_tree(tree, levels, columns) for tree in kept]
    return tree_terms(trees, None if X is None else _xgboost_leaves(model, booster, X, rounds))


def _tree_model(booster: Any) -> Node:
    """Return the part of the model file that holds the trees; DART wraps it once more."""
    content = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    content = content.get("gbtree", content)["model"]
    if "trees" not in content:
        raise TypeError(
            "this XGBoost model has no trees (booster='gblinear'), which are what is counted; fit "
            "scikit-learn's LogisticRegression instead, or another booster"
        )
    return dict(content)


def _xgboost_tree(tree: Node, levels: dict[int, int], columns: Columns | None) -> TreeArrays:
    feature = tree["split_indices"]
    # Where the file knows no level outside the set, the set is read as it stands.
    level_sets = {
        node: (n_in, levels.get(int(feature[node]), 0) or 2 * n_in)
        for node, n_in in zip(tree["categories_nodes"], tree["categories_sizes"], strict=True)
    }
    children = tree["left_children"], tree["right_children"]
    # A leaf with one value per class keeps them apart.
    per_class = int(tree["tree_param"]["size_leaf_vector"]) > 1
    values = tree["base_weights" if per_class else "split_conditions"]
    active = any_active(np.reshape(values, (len(feature), -1)))
    return tree_arrays(children, np.asarray(feature, np.int64), active, columns, level_sets)


def _xgboost_leaves(model: Any, booster: Any, X: Any, rounds: int) -> Array:
    """Labels of the leaves each row reaches."""
    if model is not booster:
        return np.asarray(model.apply(X, iteration_range=(0, rounds)))
    if not hasattr(X, "num_row"):
        described = {}
        if not hasattr(X, "columns"):  # a plain array takes what the booster expects
            described = {
                name: getattr(booster, name) for name in ("feature_names", "feature_types")
            }
        X = import_module("xgboost").DMatrix(X, enable_categorical=True, **described)
    return np.asarray(booster.predict(X, pred_leaf=True, iteration_range=(0, rounds)))


def lightgbm(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a LightGBM model or Booster; its first tree holds the mean of the target too."""
    booster = model if hasattr(model, "dump_model") else fitted(model, "booster_")
    best = booster.best_iteration
    dump = booster.dump_model(num_iteration=best)
    levels = _lightgbm_levels(dump)
    trees = [_lightgbm_tree(tree["tree_structure"], levels, columns) for tree in dump["tree_info"]]
    leaves = None if X is None else booster.predict(X, pred_leaf=True, num_iteration=best)
    return tree_terms(trees, leaves)


def _lightgbm_levels(dump: Node) -> dict[int, int]:
    """Count the levels of each category; LightGBM writes missing as level -1."""
    infos = dump["feature_infos"]
    return {
        j: sum(level >= 0 for level in infos[name]["values"])
        for j, name in enumerate(dump["feature_names"])
        if name in infos
    }


def _lightgbm_tree(root: Node, levels: dict[int, int], columns: Columns | None) -> TreeArrays:
    sides = "left_child", "right_child"
    nodes, children = linked_nodes(root, lambda node: [node[s] for s in sides if s in node])
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
