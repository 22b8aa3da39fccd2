"""XGBoost: leaves with a non-zero value up to the best iteration, read from the model's JSON."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.paths import TreeArrays, tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import any_active, level_set_conditions

CATEGORICAL = 1


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read an XGBoost scikit-learn model or Booster.

    Parameters
    ----------
    model : XGBModel or Booster
    X : table or DMatrix, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    content = _tree_model(booster)
    rounds = _rounds(booster)
    per_round = len(content["trees"]) // max(booster.num_boosted_rounds(), 1)
    levels = _levels(content)
    trees = [_tree_arrays(tree, levels, columns) for tree in content["trees"][: rounds * per_round]]
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


def _tree_arrays(
    tree: dict[str, Any], levels: dict[int, int], columns: Columns | None
) -> TreeArrays:
    left = np.asarray(tree["left_children"], dtype=np.int64)
    inner = np.flatnonzero(left >= 0)
    feature = np.asarray(tree["split_indices"], dtype=np.int64)
    conditions = np.zeros(len(left), dtype=np.int64)
    conditions[inner] = conditions_of(columns, feature[inner])
    for node, n_in in zip(tree["categories_nodes"], tree["categories_sizes"], strict=True):
        # Where the file knows no level outside the set, the set is read as it stands.
        n_total = levels.get(int(feature[node]), 0) or 2 * n_in
        conditions[node] *= level_set_conditions(n_in, n_total)
    right = np.asarray(tree["right_children"], dtype=np.int64)
    return TreeArrays(left, right, conditions, any_active(_leaf_values(tree)))


def _leaf_values(tree: dict[str, Any]) -> NDArray[np.float64]:
    """Values of the leaves, at their nodes; a leaf with one value per class keeps them apart."""
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        return np.reshape(tree["base_weights"], (len(tree["left_children"]), -1))
    return np.asarray(tree["split_conditions"], dtype=np.float64)


def _leaves(model: Any, booster: Any, X: Any, rounds: int) -> NDArray[Any]:
    """Labels of the leaves each row reaches."""
    if model is not booster:
        return np.asarray(model.apply(X, iteration_range=(0, rounds)))
    data = X if hasattr(X, "num_row") else _matrix(booster, X)
    return np.asarray(booster.predict(data, pred_leaf=True, iteration_range=(0, rounds)))


def _matrix(booster: Any, X: Any) -> Any:
    """Make XGBoost's own table; a plain array takes the names and types the booster expects."""
    if hasattr(X, "columns"):
        described = {}
    else:
        described = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    return import_module("xgboost").DMatrix(X, enable_categorical=True, **described)
