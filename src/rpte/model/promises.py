"""What a fit found that a model might promise: directions of numbers, at no cost on held-out rows.

Validation compares shapes of each number that may turn with those that only rise or only fall. What
it finds is in the model file; whether to promise it is for people who know what a number means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpte.model.causes import CausesModel
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model


def free_promises(model: Model | ClassesModel | CausesModel) -> dict[str, str]:
    """Return directions that cost nothing, of numbers that stand alone in the model."""
    found = (model.training.get("selection") or {}).get("promises") or {}
    alone = {c.sources[0] for c in model.components if len(c.sources) == 1}
    return {name: found[name] for name in sorted(found) if name in alone}


class Hints(tuple[str, ...]):
    """Lines on what deserves a look, and limits that cost nothing.

    Parameters
    ----------
    lines : iterable of str
        What deserves a look; iterating over the hints yields them.
    monotone : mapping from name to "increasing" or "decreasing"
        Numbers whose effect may be promised to go one way: held-out rows lose nothing by it.

    Examples
    --------
    >>> Hints((), {"age": "increasing"})
    these directions cost nothing on held-out rows: monotone={'age': 'increasing'}
    """

    monotone: dict[str, str]

    def __new__(cls, lines: Iterable[str], monotone: Mapping[str, str] | None = None) -> Hints:
        """Return the lines, followed by one for the limits if there are any."""
        promised = dict(monotone or {})
        found = super().__new__(cls, (*lines, *promise_lines(promised)))
        found.monotone = promised
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the lines without the last, which `monotone` gives again."""
        own = len(promise_lines(self.monotone))
        return Hints, (tuple(self)[: len(self) - own], self.monotone)

    def __repr__(self) -> str:
        return "\n".join(self) or "no hints"


def promise_lines(monotone: Mapping[str, str]) -> list[str]:
    """Return a line with the limits ready to paste; none where there are none."""
    said = f"these directions cost nothing on held-out rows: monotone={dict(monotone)}"
    return [said] if monotone else []
