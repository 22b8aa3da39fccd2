"""Why a row is given one class and not another, of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rpte.model.explanations import frame_of
from rpte.model.labels import Label

if TYPE_CHECKING:
    import pandas as pd

    from rpte.model.classes import ClassesModel
    from rpte.model.explain import Explanation
    from rpte.table.inputs import Inputs


class CaseOf(NamedTuple):
    """Where a row that was explained is found: the model, the rows read, and its place in them."""

    model: ClassesModel
    inputs: Inputs
    place: int


@dataclass(frozen=True, slots=True, repr=False)
class ClassExplanation:
    """Why a row is given one class and not another: contributions to the difference of scores.

    `difference` takes the log odds of `chosen` against `against` apart, and sums exactly.
    """

    chosen: Label
    against: Label
    probabilities: Mapping[Label, float]
    difference: Explanation
    case: CaseOf = field(compare=False)
    row: Any = field(default=0, compare=False)

    def __repr__(self) -> str:
        chosen, against = self.chosen, self.against
        said = f"{chosen!r} {self.probabilities[chosen]:.4g} against {against!r}"
        return f"ClassExplanation(row={self.row!r}, {said} {self.probabilities[against]:.4g})"

    @property
    def scores(self) -> tuple[Explanation, ...]:
        """The score of every class taken apart, in the order of the classes."""
        return self.every_score([self])[0]

    @staticmethod
    def every_score(explained: Sequence[ClassExplanation]) -> list[tuple[Explanation, ...]]:
        """Return the score of every class taken apart, for each row; those of one table at once."""
        groups: dict[int, list[int]] = {}
        for number, told in enumerate(explained):
            groups.setdefault(id(told.case.inputs), []).append(number)
        found: list[tuple[Explanation, ...]] = [()] * len(explained)
        for numbers in groups.values():
            first = explained[numbers[0]]
            places = np.array([explained[number].case.place for number in numbers], np.intp)
            rows = first.case.inputs.take(places)
            reference = first.difference.reference
            every = [each.explain(rows, reference) for each in first.case.model.models]
            for number, scores in zip(numbers, zip(*every, strict=True), strict=True):
                found[number] = scores
        return found

    def to_frame(self, order: str = "size") -> pd.DataFrame:
        """Return the contributions to the difference as a table; see `Explanations.to_frame`."""
        return frame_of([self], order)

    def _repr_html_(self) -> str:
        from rpte.notebook.explanations import class_explanation_html

        return class_explanation_html(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, order: str = "size") -> str:
        """Return the difference in words; see `Explanation.text`."""
        ranked = sorted(self.probabilities.items(), key=lambda pair: -pair[1])
        shown = ", ".join(f"{label!r} {p:.4f}" for label, p in ranked[:5])
        more = f", {len(ranked) - 5} more" if len(ranked) > 5 else ""
        return (
            f"why {self.chosen!r} and not {self.against!r} (probabilities: {shown}{more})\n"
            f"{self.difference.text(order)}"
        )
