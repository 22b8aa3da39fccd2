"""The cross-validated figures that a model file may keep: how good its fit is on rows not seen.

They are of the fit, repeated in folds of the training table. A model that is edited afterwards is
another one: the edit drops them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpte.model.model import Model

RECORD = "cross_validation"  # the field of the training record
NAMES = {"auc": "AUC", "log_loss": "log-loss", "brier": "Brier score", "miu": "conditions"}


def figures(model: Model) -> Mapping[str, Any] | None:
    """Return the figures that a model keeps, None if it has none."""
    found: Mapping[str, Any] | None = model.training.get(RECORD)
    return found


def without_figures(training: Mapping[str, Any]) -> dict[str, Any]:
    """Return a training record without figures."""
    return {key: value for key, value in training.items() if key != RECORD}


def figures_text(record: Mapping[str, Any]) -> str:
    """Say how the figures were found, AUC, log-loss and Brier score on one line."""
    kept = ", groups together" if record["by"] == "groups" else ""
    how = f"{record['folds']}-fold cross-validation of {record['rows']:,} rows{kept}"
    known = [name for name in ("auc", "log_loss", "brier") if record[name] is not None]
    said = ", ".join(f"{NAMES[name]} {measure_text(record[name], 4)}" for name in known)
    return f"on rows not seen ({how}): {said}"


def measure_text(measure: Mapping[str, Any] | None, digits: int) -> str:
    """Return a mean and its standard error over folds."""
    if measure is None or measure["mean"] is None:
        return "not known"
    error = measure["error"]
    return f"{measure['mean']:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")
