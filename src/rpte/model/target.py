"""What a model predicts: the kind of target, and the loss that links a score to it (numpy only).

Everything in this room that depends on the task asks `Model.target` or `Model.loss`. A later task
is one more record like `Target`, with an entry in `TASKS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpte.errors import InputError
from rpte.losses import BINOMIAL, Loss
from rpte.table.inputs import as_array
from rpte.utils.arrays import Array, Floats

Label = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Target:
    """Two classes, one of which the score speaks of.

    Parameters
    ----------
    classes : tuple of two labels, in order
    positive : int
        Which of them the score, the rules and the explanations speak of.
    total : float
        Sum of weight times target over the training rows: the weight of the positive class.
    """

    task: ClassVar[str] = "binary"
    loss: ClassVar[Loss] = BINOMIAL
    classes: tuple[Label, Label]
    positive: int
    total: float

    @property
    def outcome(self) -> Label:
        """The positive class."""
        return self.classes[self.positive]

    @property
    def other(self) -> Label:
        """The class that is not positive."""
        return self.classes[1 - self.positive]

    @property
    def score_text(self) -> str:
        """What a score is, in words."""
        return f"log odds of {self.outcome!r} against {self.other!r}"

    @property
    def labels(self) -> Array:
        """The classes as an array; of objects where numpy's own types would lose something."""
        labels = np.array(self.classes)
        return labels if labels.tolist() == list(self.classes) else np.array(self.classes, object)

    def read(self, y: Any, n_rows: int) -> Floats:
        """Return labels as 1.0 for the positive class and 0.0 for the other, (n_rows,)."""
        labels = as_array(y)
        if labels.shape != (n_rows,):
            text = f"y has shape {labels.shape}, X has {n_rows} rows; give one label per row"
            raise InputError(text)
        strange = labels[~np.isin(labels, self.labels)].tolist()
        if strange:
            raise InputError(f"y holds {strange[0]!r}; the model's classes are {self.classes}")
        return np.asarray(labels == self.outcome, np.float64)

    def in_order(self, positive: Floats) -> tuple[Floats, Floats]:
        """Return probabilities of the positive class as those of the two classes."""
        return (1.0 - positive, positive) if self.positive == 1 else (positive, 1.0 - positive)

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values."""
        return {"classes": list(self.classes), "positive": self.positive, "total": self.total}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Target:
        """Rebuild a target from `to_dict`."""
        first, second = record["classes"]
        return cls((first, second), record["positive"], record["total"])


TASKS = {"binary": Target}  # what a model file may hold
