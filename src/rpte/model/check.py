"""A claim of a model, checked."""

from dataclasses import dataclass

MOST_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One claim: its name, whether it holds, and what was looked at."""

    name: str
    holds: bool
    evidence: str


def checked(name: str, faults: list[str], evidence: str) -> Check:
    """Return a check that holds if nothing is wrong; else the first faults are the evidence."""
    return Check(name, not faults, "; ".join(faults[:MOST_FAULTS]) or evidence)
