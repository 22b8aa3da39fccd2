"""How well a model does on a table: log-loss, Brier score and AUC, with numpy alone."""

from __future__ import annotations

from typing import Any

from rpte.audit import metrics
from rpte.errors import InputError
from rpte.model.model import Model
from rpte.model.verify_table import labelled


def performance(model: Model, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
    """Return rows (weight), log-loss, Brier score and AUC; weights by class count, as in training.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    y : labels of shape (n_rows,)
    sample_weight : (n_rows,), optional
    """
    given = labelled(model, model.read(X), y, sample_weight)
    rows = metrics.rank(given.y, model.score(given.inputs), given.weight)
    area = metrics.auc(rows)
    if area is None:
        raise InputError("the table holds one class only; metrics need cases of both")
    return {
        "rows": float(given.weight.sum()),
        "log_loss": metrics.log_loss(rows),
        "brier": metrics.brier(rows),
        "auc": area,
    }
