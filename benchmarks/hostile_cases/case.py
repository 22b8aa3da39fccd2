"""What a case is, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


class Skipped(Exception):  # noqa: N818  # no error: something is not on this machine
    """A case cannot be run here."""


@dataclass(slots=True)
class Result:
    """How often something was tried, and a line for each wrong answer that nobody was told of."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)

    def expect(self, holds: bool, otherwise: str) -> None:
        """Count one trial; keep the line if it failed."""
        self.tried += 1
        if not holds:
            self.failures.append(otherwise)


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is tried.

    Parameters
    ----------
    what : str
        In a few words.
    run : callable
        From a seed to a Result.
    """

    what: str
    run: Callable[[int], Result]
