"""scikit-learn Pipelines: the final model, counted on columns whose variables are known."""

from __future__ import annotations

from typing import Any

from rpte.audit.columns import Columns, follow
from rpte.columns.units import fitted


def unfold(model: Any, X: Any | None, columns: Columns | None) -> tuple[Any, Any | None, Columns]:
    """Take a fitted pipeline apart.

    Parameters
    ----------
    model : Pipeline
    X : table, optional
        Rows as the pipeline takes them.
    columns : Columns, optional
        What those columns are, if the pipeline is the end of another one.

    Returns
    -------
    final : object
        The final model.
    X : table or None
        The rows as the final model takes them.
    columns : Columns
        What the final model's columns are.
    """
    if columns is None:
        columns = Columns.raw(fitted(model, "n_features_in_"))
    for name, step in model.steps[:-1]:
        columns = follow(step, name, columns)
    if X is not None and len(model.steps) > 1:
        X = model[:-1].transform(X)
    final = model.steps[-1][1]
    _check(final, columns)
    return final, X, columns


def _check(final: Any, columns: Columns) -> None:
    """Check the account of the columns against the number the final model was fitted on."""
    taken = getattr(final, "n_features_in_", len(columns))
    if taken != len(columns):
        raise TypeError(
            f"the steps make {len(columns)} columns by their fitted attributes, but "
            f"{type(final).__qualname__} was fitted on {taken}; a step cannot be followed, so "
            "count the final model alone on its own columns"
        )
