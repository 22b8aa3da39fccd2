"""What a model of several classes is of: their names, and one of them against another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpte.errors import InputError
from rpte.losses import Multinomial
from rpte.model.labels import Label, as_labels, known_labels
from rpte.model.target import Target
from rpte.utils.arrays import Array, Floats


@dataclass(frozen=True, slots=True)
class ClassesTarget:
    """Several classes, in order, with the weight of each in training, and their name if any."""

    task: ClassVar[str] = "multiclass"
    mean_name: ClassVar[str] = "class rate"
    factor: ClassVar[float] = 1.0
    classes: tuple[Label, ...]
    totals: tuple[float, ...]
    name: str | None = None

    @property
    def loss(self) -> Multinomial:
        """The loss that a model of these classes is fitted to."""
        return Multinomial(len(self.classes))

    @property
    def labels(self) -> Array:
        """The classes as an array."""
        return as_labels(self.classes)

    @property
    def hashed_labels(self) -> tuple[Label, ...]:
        """What the hash of a table calls y = 0, 1, ..."""
        return self.classes

    @property
    def score_text(self) -> str:
        """What the scores are, in words."""
        of = "" if self.name is None else f" of {self.name}"
        n = len(self.classes)
        return f"a score for each of {n} classes{of}, probabilities go with exp(score)"

    def place(self, label: Any) -> int:
        """Return the number of a class."""
        if label not in self.classes:
            raise InputError(f"{label!r} is not a class; the classes are {list(self.classes)}")
        return self.classes.index(label)

    def read(self, y: Any, n_rows: int) -> Floats:
        """Return the number of each label's class, (n_rows,)."""
        labels = known_labels(y, n_rows, self.classes)
        return np.searchsorted(self.labels, labels).astype(np.float64)

    @property
    def logged(self) -> dict[str, Any]:
        """What a log of decisions tells of the target."""
        return {"classes": list(self.classes)}

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values."""
        named = {} if self.name is None else {"name": self.name}
        return {"classes": list(self.classes), "totals": list(self.totals), **named}


@dataclass(frozen=True, slots=True)
class PairTarget(Target):
    """One class against another, of several: the rows of all others are left out."""

    @property
    def response_text(self) -> str:
        """What a score stands for, in words."""
        return f"probability of {self.outcome!r}, where it is this or {self.other!r},"

    def caption(self, response: float) -> str:
        """Say below a picture how probable one class is beside the other."""
        return f"{self.outcome} rather than {self.other}: {response:.1%}"
