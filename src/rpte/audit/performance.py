"""How well a model does on a table: log-loss, Brier score and AUC, with numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.model.model import Model, probability
from rpte.model.verify_table import labelled

Floats = NDArray[np.float64]


def performance(model: Model, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
    """Return rows (weight), log-loss, Brier score and AUC; weights by class count, as in training.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    y : labels of shape (n_rows,)
    sample_weight : (n_rows,), optional
    """
    rows = labelled(model, model.read(X), y, sample_weight)
    total = float(rows.weight.sum())
    if not 0.0 < float((rows.weight * rows.y).sum()) < total:
        raise InputError("the table holds one class only; metrics need cases of both")
    score = model.score(rows.inputs)
    loss = np.logaddexp(0.0, score) - rows.y * score
    miss = (probability(score) - rows.y) ** 2
    return {
        "rows": total,
        "log_loss": float((rows.weight * loss).sum()) / total,
        "brier": float((rows.weight * miss).sum()) / total,
        "auc": auc(score, rows.y, rows.weight),
    }


def auc(score: Floats, y: Floats, weight: Floats) -> float:
    """Return the area under the ROC curve: how often a positive case has the higher score.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    0.75
    """
    values, place = np.unique(score, return_inverse=True)
    positive = np.bincount(place, weight * y, len(values))
    negative = np.bincount(place, weight * (1.0 - y), len(values))
    below = np.cumsum(negative) - negative
    wins = float((positive * (below + 0.5 * negative)).sum())
    return wins / float(positive.sum() * negative.sum())
