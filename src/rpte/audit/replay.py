"""Replay of a log of decisions: every record computed again, and every break of the chain found.

What a replay can tell: a record that was changed, left out, put in or moved, and a result that the
model does not give. What it cannot tell without the head: that the whole file was made anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rpte.audit.records import FORMAT, VERSION, Record
from rpte.audit.replay_1 import FirstWalk
from rpte.audit.replay_2 import SecondWalk
from rpte.audit.replay_walk import Finding
from rpte.errors import InputError
from rpte.model.model import Model
from rpte.model.reading import parsed

Log = FirstWalk | SecondWalk


@dataclass
class _Reader(SecondWalk):
    """A walk that keeps what is computed again, in place of comparing it."""

    full: list[Record] = field(default_factory=list)

    def compute(self) -> None:
        """Keep the waiting cases as the model gives them."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        if self.made is None:
            raise InputError(self.findings[0].text if self.findings else "no run is opened")
        for (line, stored), again in zip(waiting, self.again(waiting), strict=True):
            if isinstance(again, str):
                raise InputError(f"line {line} cannot be computed again: {again}")
            named = {name: stored[name] for name in ("number", "id") if name in stored}
            self.full.append({**named, "when": self.when, **again})


def read_decisions(path: str | Path, model: Model) -> Iterator[Record]:
    """Yield each case of a log in full, as the model gives it for what it read at the time.

    Parameters
    ----------
    path : str or Path
        A log of the version that this library writes.
    model : Model
        The model that decided.

    Yields
    ------
    dict
        number, id (if there are ids), when, model, inputs, missing, unseen, notes, intercept,
        components with every contribution, score, probability, adverse, reasons.

    Notes
    -----
    Nothing is checked here but that the model is the right one: `replay` does that.
    """
    reader = _Reader(model)
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            if line == 1 and not isinstance(_new_walk(path, content, model), SecondWalk):
                raise InputError(f"{path} is a log of version 1, whose lines are full records")
            reader.take(line, content)
            yield from reader.full
            reader.full.clear()
    reader.compute()
    yield from reader.full


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found.

    Parameters
    ----------
    cases : int
        Case records in the file.
    head : str
        The head of the log as it stands.
    findings : tuple of Finding
        Empty if every record is as the model gives it and the chain is whole.
    head_given : bool
        Whether the head was compared with one that was kept elsewhere. If not, a file that was made
        anew from the first to the last record cannot be told from the original.
    proved : int
        So many cases, from the first one on, are proved by the head that was given; those after
        them were appended later.
    """

    cases: int
    head: str
    findings: tuple[Finding, ...]
    head_given: bool
    proved: int = 0


def replay(path: str | Path, model: Model, head: str | None = None) -> Replay:
    """Compute a log of decisions again.

    Parameters
    ----------
    path : str or Path
        A file of `append_decisions`, or of an earlier version.
    model : Model
        The model that decided.
    head : str, optional
        The head hash that was printed when the log was written, kept elsewhere. That of an earlier
        run proves the log up to this run.

    Raises
    ------
    InputError
        If the file is no log of decisions at all.
    """
    walk = _walked(path, model)
    walk.finish(head)
    found = tuple(sorted(walk.findings, key=lambda finding: finding.line))
    return Replay(walk.cases, walk.head, found, head is not None, _proved(walk, head))


def _proved(walk: Log, head: str | None) -> int:
    if head is None:
        return 0
    if isinstance(walk, SecondWalk):
        return walk.kept(head) or 0
    return walk.cases if head.strip().lower() == walk.head else 0


def _walked(path: str | Path, model: Model) -> Log:
    walk: Log | None = None
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            walk = _new_walk(path, content, model) if walk is None else walk
            walk.take(line, content)
            if line == 1 and walk.opening is None:
                raise InputError(f"{path} is no log of decisions: {walk.findings[0].text}")
    if walk is None:
        raise InputError(f"{path} is empty; a log of decisions begins with its opening record")
    return walk


def _new_walk(path: str | Path, first: bytes, model: Model) -> Log:
    """Return the walk for the version that the first line names."""
    try:
        found: Any = parsed(first.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{path} is no log of decisions: it does not begin as one")
    if found.get("version") == 1:
        return FirstWalk(model)
    if found.get("version") != VERSION:
        raise InputError(
            f"{path} is a log of version {found.get('version')!r}, this library knows 1 and "
            f"{VERSION}; install the version that wrote it"
        )
    return SecondWalk(model)
