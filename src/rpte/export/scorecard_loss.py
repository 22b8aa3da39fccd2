"""What rounding to points costs: in probability, and with labels in AUC and calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit import metrics
from rpte.audit.metrics import Ranked, rank
from rpte.errors import InputError, did_you_mean
from rpte.export.parity import known_columns
from rpte.model.model import Model, probability
from rpte.table.inputs import as_array, column_names
from rpte.table.target import as_classes

Floats = NDArray[np.float64]


def rounding_loss(
    model: Model, X: Any, rounded: Floats, label: str | None, pdo: float
) -> tuple[str, ...]:
    """Say how far rounded points are from the score, and what they lose.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    rounded : (n_rows,)
        The log odds that the points stand for.
    label : str or None
        The column of `X` that holds the classes.
    pdo : float
        Points that double the odds.
    """
    score = model.score(known_columns(model, X))
    gap = np.abs(rounded - score) * pdo / math.log(2)
    moved = np.abs(probability(rounded) - probability(score))
    said = [
        f"rounding moves a case by {gap.mean():.2f} points on average and {gap.max():.2f} at most, "
        f"its probability by {moved.mean():.4f} and {moved.max():.4f}"
    ]
    if label is not None:
        y = labels(model, X, label)
        said += [_compared(name, y, score, rounded) for name in MEASURES]
    return tuple(said)


def labels(model: Model, X: Any, label: str) -> Floats:
    """Return 1.0 where a column of the table holds the positive class."""
    names = column_names(X) or {}
    if label not in names:
        hint = did_you_mean(label, names)
        raise InputError(f"label={label!r} is no column of the table{hint}; name its classes")
    found = as_classes(as_array(X[names[label]]), model.classes)
    return np.asarray(found == model.classes[model.positive], np.float64)


def _compared(name: str, y: Floats, score: Floats, rounded: Floats) -> str:
    everyone = np.ones(len(y))
    before, after = (MEASURES[name](rank(y, values, everyone)) for values in (score, rounded))
    if before is None or after is None:
        return f"{name}: not defined, the table holds one class only"
    return f"{name}: {before:.4f} before rounding, {after:.4f} after ({after - before:+.4f})"


def _gap_in_the_large(rows: Ranked) -> float:
    """Return the mean probability minus the share of the positive class."""
    return metrics.expected(rows) - float(rows.y.mean())


MEASURES: dict[str, Callable[[Ranked], float | None]] = {
    "AUC": metrics.auc,
    "log-loss": metrics.log_loss,
    "Brier score": metrics.brier,
    "mean probability minus observed rate": _gap_in_the_large,
}
