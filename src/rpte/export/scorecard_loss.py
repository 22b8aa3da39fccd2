"""What rounding to points costs: in probability, and with labels in AUC and calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError, did_you_mean
from rpte.export.parity import known_columns
from rpte.model.model import Model, probability
from rpte.table.inputs import as_array, column_names

Floats = NDArray[np.float64]
SMALLEST = 1e-15


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
    cells = [str(cell) for cell in as_array(X[names[label]]).tolist()]
    known = [str(value) for value in model.classes]
    strange = next((cell for cell in cells if cell not in known), None)
    if strange is not None:
        raise InputError(f"the column {label!r} holds {strange!r}; the classes are {known}")
    return np.array([cell == known[model.positive] for cell in cells], np.float64)


def _compared(name: str, y: Floats, score: Floats, rounded: Floats) -> str:
    before, after = MEASURES[name](y, score), MEASURES[name](y, rounded)
    return f"{name}: {before:.4f} before rounding, {after:.4f} after ({after - before:+.4f})"


def auc(y: Floats, score: Floats) -> float:
    """Return the area under the ROC curve, ties counted half; NaN with one class.

    Examples
    --------
    >>> auc(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    0.75
    """
    positive, negative = score[y > 0], np.sort(score[y == 0])
    if not len(positive) or not len(negative):
        return math.nan
    below = np.searchsorted(negative, positive, "left")
    upto = np.searchsorted(negative, positive, "right")
    return float((below + upto).sum() / (2 * len(positive) * len(negative)))


def log_loss(y: Floats, score: Floats) -> float:
    """Return the mean negative log likelihood."""
    p = np.clip(probability(score), SMALLEST, 1 - SMALLEST)
    return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())


def brier(y: Floats, score: Floats) -> float:
    """Return the mean squared error of the probability."""
    return float(((probability(score) - y) ** 2).mean())


def gap_in_the_large(y: Floats, score: Floats) -> float:
    """Return the mean probability minus the share of the positive class."""
    return float(probability(score).mean() - y.mean())


MEASURES = {
    "AUC": auc,
    "log-loss": log_loss,
    "Brier score": brier,
    "mean probability minus observed rate": gap_in_the_large,
}
