"""XGBoost: leaves with a non-zero value up to the best iteration, read from the model's JSON."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns
from rpte.audit.terms import Terms
from rpte.audit.trees import TreeArrays, tree_arrays, tree_terms
from rpte.columns.units import any_active


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read an XGBoost scikit-learn model or Booster; rows may be a DMatrix."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    content = _tree_model(booster)
    rounds = _rounds(booster)
    per_round = len(content["trees"]) // max(booster.num_boosted_rounds(), 1)
    levels = _levels(content)
    trees = [_tree(tree, levels, columns) for tree in content["trees"][: rounds * per_round]]
    return tree_terms(trees, None if X is None else _leaves(model, booster, X, rounds))


def _tree_model(booster: Any) -> dict[str, Any]:
    """Return the part of the model file that holds the trees; DART wraps it once more."""
    content = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    content = content.get("gbtree", content)["model"]
    if "trees" not in content:
        raise TypeError(
            "this XGBoost model has no trees (booster='gblinear'), which are what is counted; fit "
            "scikit-learn's LogisticRegression instead, or another booster"
        )
    result: dict[str, Any] = content
    return result


def _rounds(booster: Any) -> int:
    best = booster.attr("best_iteration")
    return int(booster.num_boosted_rounds() if best is None else int(best) + 1)


def _levels(content: dict[str, Any]) -> dict[int, int]:
    """Count the levels of each category, where the file lists them (XGBoost 3.1, data frames)."""
    known = content.get("cats", {}).get("enc", [])
    return {
        feature: len(levels["offsets"]) - 1 if levels.get("offsets") else len(levels["values"])
        for feature, levels in enumerate(known)
    }


def _tree(tree: dict[str, Any], levels: dict[int, int], columns: Columns | None) -> TreeArrays:
    feature = tree["split_indices"]
    # Where the file knows no level outside the set, the set is read as it stands.
    level_sets = {
        node: (n_in, levels.get(int(feature[node]), 0) or 2 * n_in)
        for node, n_in in zip(tree["categories_nodes"], tree["categories_sizes"], strict=True)
    }
    children = tree["left_children"], tree["right_children"]
    active = any_active(_leaf_values(tree))
    return tree_arrays(children, np.asarray(feature, np.int64), active, columns, level_sets)


def _leaf_values(tree: dict[str, Any]) -> NDArray[np.float64]:
    """Values of the leaves, at their nodes; a leaf with one value per class keeps them apart."""
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        return np.reshape(tree["base_weights"], (len(tree["left_children"]), -1))
    return np.asarray(tree["split_conditions"], dtype=np.float64)


def _leaves(model: Any, booster: Any, X: Any, rounds: int) -> NDArray[Any]:
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
