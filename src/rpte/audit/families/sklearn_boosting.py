"""Classic gradient boosting of scikit-learn: leaves with a non-zero value, all classes."""

from __future__ import annotations

from typing import Any

from rpte.audit.columns import Columns
from rpte.audit.families.sklearn_tree import tree_arrays
from rpte.audit.paths import tree_terms
from rpte.audit.terms import Terms
from rpte.columns.units import fitted


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted GradientBoosting model; early stopping has already cut `estimators_`.

    Parameters
    ----------
    model : BaseGradientBoosting
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    estimators = fitted(model, "estimators_")
    _refuse_model_as_start(model)
    trees = [tree_arrays(tree.tree_, columns, all_leaves=False) for tree in estimators.ravel()]
    if X is None:
        return tree_terms(trees, None)
    leaves = model.apply(X)
    return tree_terms(trees, leaves.reshape(len(leaves), -1))


def _refuse_model_as_start(model: Any) -> None:
    """Boosting may start from any model, whose conditions would go uncounted."""
    start = model.init_
    is_constant = isinstance(start, str) or type(start).__module__ == "sklearn.dummy"
    if not is_constant:
        raise TypeError(
            f"{type(model).__qualname__} starts from init={type(start).__qualname__}, a model of "
            "its own that is not a constant; fit with init=None or init='zero' to count it"
        )
