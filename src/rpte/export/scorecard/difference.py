"""How far a scorecard is from its model: in points, and with labels in AUC and calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rpte.audit import metrics
from rpte.audit.metrics import Ranked, rank
from rpte.errors import InputError, did_you_mean
from rpte.export.form import Floats
from rpte.export.parity import read_silently
from rpte.losses import BINOMIAL
from rpte.model.model import Model
from rpte.scorecard import Scorecard
from rpte.scorecard.build import CERTAIN
from rpte.table.inputs import as_array, column_names
from rpte.table.target import as_classes


def bound_note(card: Scorecard) -> str:
    """Say what is known of the difference without rows to measure it on."""
    known = f"{card.rows} rows" if card.rows else "what the model file tells"
    return (
        f"not measured on rows: over the values that the bins were made from ({known}) the card "
        f"differs from the model by at most {card.bound:.1f} points, beyond them there is no "
        "bound; give rows to measure it"
    )


def differences(card: Scorecard, X: Any, found: Floats, label: str | None) -> tuple[str, ...]:
    """Say how far the card is from the model on some rows.

    `found`, of shape (n_rows,), are the log odds that the points of each row stand for; `label` is
    the column of `X` that holds the classes.
    """
    score = card.model.score(read_silently(card.model, X))
    both = (np.clip(values, -CERTAIN, CERTAIN) for values in (found, score))
    gap = np.abs(np.subtract(*both)) * abs(card.scale.factor)
    moved = np.abs(BINOMIAL.response(found) - BINOMIAL.response(score))
    said = [
        f"the card differs from the model by {gap.mean():.2f} points on average and "
        f"{gap.max():.1f} at most (odds beyond a billion to 1 count as that), its probability by "
        f"{moved.mean():.4f} and {moved.max():.4f}"
    ]
    if label is not None:
        y = labels(card.model, X, label)
        said += [_compared(name, y, score, found) for name in MEASURES]
    return tuple(said)


def labels(model: Model, X: Any, label: str) -> Floats:
    """Return 1.0 where a column of the table holds the positive class."""
    names = column_names(X) or {}
    if label not in names:
        hint = did_you_mean(label, names)
        raise InputError(f"label={label!r} is no column of the table{hint}; name its classes")
    found = as_classes(as_array(X[names[label]]), model.classes)
    return np.asarray(found == model.classes[model.positive], np.float64)


def _compared(name: str, y: Floats, score: Floats, found: Floats) -> str:
    everyone = np.ones(len(y))
    before, after = (MEASURES[name](rank(y, values, everyone)) for values in (score, found))
    if before is None or after is None:
        return f"{name}: not defined, the table holds one class only"
    return f"{name}: {before:.4f} of the model, {after:.4f} of the card ({after - before:+.4f})"


MEASURES: dict[str, Callable[[Ranked], float | None]] = {
    "AUC": metrics.auc,
    "log-loss": metrics.log_loss,
    "Brier score": metrics.brier,
    "mean probability minus observed rate": lambda rows: (
        metrics.expected(rows) - float(rows.y.mean())
    ),
}
