"""A claim of a model, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_FAULTS = 5
MONOTONE = "monotone: "  # begins the name of the check of a direction


@dataclass(frozen=True, slots=True)
class Check:
    """One claim: its name, whether it holds, and what was looked at."""

    name: str
    holds: bool
    evidence: str


def checked(name: str, faults: list[str], evidence: str) -> Check:
    """Return a check that holds if nothing is wrong; else the first faults are the evidence."""
    return Check(name, not faults, "; ".join(faults[:MOST_FAULTS]) or evidence)


def monotone_text(name: str, word: str, label: str | None = None) -> str:
    """Say a monotone direction, of one of several classes if there is a label."""
    return f"{word} in {name}" if label is None else f"'{label}' {word} in {name}"


def monotone_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return every monotone direction in words, with its variable."""
    texts: dict[str, str] = {}
    for name, said in settings["limits"]["monotone"].items():
        of_classes = {None: said} if isinstance(said, str) else said
        texts |= {monotone_text(name, word, label): name for label, word in of_classes.items()}
    return texts


def monotone_claims(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the checks of monotone directions, each with its variable."""
    return {f"{MONOTONE}{text}": name for text, name in monotone_texts(settings).items()}
