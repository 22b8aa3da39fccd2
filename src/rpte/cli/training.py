"""A table in memory taken apart for `rpte fit`, of classes or of a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.cli.options import column_numbers
from rpte.utils.arrays import Array

if TYPE_CHECKING:
    import pandas as pd

    from rpte.cli.fit import FitRequest
    from rpte.utils.progress import Callback
    from rpte.validation.cross_validate import Estimate

MOST_SHOWN = 6  # classes, of which the rows are said


def target_column(
    frame: pd.DataFrame, target: str, loss: str | None, several: Callable[[Sequence[Any]], bool]
) -> Any:
    """Return the labels of classes, or the numbers that a loss is for, with their name.

    `several` tells whether more than two different labels are classes.
    """
    from rpte.table.target import class_labels, target_numbers

    if loss is None:
        return class_labels(frame, target, several)
    numbers = target_numbers(frame, target)
    return frame[target].astype(numbers.dtype)


def named_column(frame: pd.DataFrame, name: str | None, role: str) -> pd.Series | None:
    """Return a column of numbers in a role, with its name."""
    if name is None:
        return None
    numbers = column_numbers(frame, name, role)
    return frame[name].astype(numbers.dtype)


def held_text(counts: Sequence[tuple[Any, int]]) -> str:
    """Say how many rows are of each class; of many, the first."""
    said = [f"{label} in {rows}" for label, rows in counts[:MOST_SHOWN]]
    if len(counts) == 2:
        return " and ".join(said)
    return ", ".join(said + [f"{len(counts) - MOST_SHOWN} more"] * (len(counts) > MOST_SHOWN))


@dataclass(frozen=True)
class Training:
    """A table taken apart for a fit."""

    X: pd.DataFrame
    y: Any  # a series of labels or numbers, or outcomes of a follow-up
    weight: Array | None
    groups: Array | None
    estimator: Any
    request: FitRequest

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def description(self) -> str:
        """Say what is there to learn from."""
        values, counts = np.unique(self.y, return_counts=True)
        held = held_text(list(zip(values, counts, strict=True)))
        return f"{len(self.y)} rows, {self.request.target} {held}; {self.X.shape[1]} variables"

    @property
    def given(self) -> dict[str, Any]:
        """What the fit is given beside X, y, weights and groups."""
        return {}

    def fit(self, progress: Callback, cache_dir: Path | None = None) -> Any:
        """Return the fitted estimator; nothing is kept on disk meanwhile."""
        rows = {"sample_weight": self.weight, "groups": self.groups, **self.given}
        return self.estimator.fit(self.X, self.y, **rows, progress=progress)

    def estimate(self, on_fold: Callable[[int, int, float], None]) -> Estimate:
        """Cross-validate the whole fit."""
        from rpte.validation.cross_validate import estimate

        rows = {"weight": self.weight, "groups": self.groups, **self.given}
        folds = self.request.folds
        return estimate(self.estimator, self.X, self.y, folds=folds, on_fold=on_fold, **rows)


@dataclass(frozen=True)
class NumberTraining(Training):
    """A table with a number to predict; what is named keeps its name in the model."""

    exposure: pd.Series | None = None
    offset: pd.Series | None = None

    def description(self) -> str:
        """Say what is there to learn from."""
        mean = self.y.sum() / (len(self.y) if self.exposure is None else self.exposure.sum())
        per = "" if self.exposure is None else f" per unit of {self.exposure.name}"
        values = f"from {self.y.min():g} to {self.y.max():g}, mean {mean:.4g}{per}"
        return (
            f"{len(self.y)} rows, {self.request.target} {values}; {self.X.shape[1]} variables; "
            f"loss {self.estimator.loss}"
        )

    @property
    def given(self) -> dict[str, Any]:
        """What the fit is given beside X, y, weights and groups."""
        return {"exposure": self.exposure, "offset": self.offset}
