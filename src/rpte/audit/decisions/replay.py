"""Replay of a log of decisions: every record computed again, and every break of the chain found.

What a replay can tell: a record that was changed, left out, put in or moved, and a result that the
model does not give. What it cannot tell without the head: that the whole file was made anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rpte.audit.decisions.records import FORMAT, VERSION, Record, record_of
from rpte.audit.decisions.replay_1 import Version1Reader
from rpte.audit.decisions.replay_2 import CaseReader, Version2Reader
from rpte.audit.decisions.replay_base import Finding
from rpte.errors import InputError
from rpte.model.model import Model


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
    reader = CaseReader(model)
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            if line == 1 and _version(path, content) == 1:
                raise InputError(f"{path} is a log of version 1, whose lines are full records")
            reader.take(line, content)
            yield from reader.full
            reader.full.clear()
    reader.compute()
    yield from reader.full


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found.

    Without a head that was kept elsewhere, a file that was made anew from the first to the last
    record cannot be told from the original.
    """

    cases: int  # records of cases in the file
    head: str  # of the log as it stands
    findings: tuple[Finding, ...]  # empty if the chain is whole and all is as the model gives it
    head_given: bool  # whether the head was compared with one that was kept elsewhere
    proved: int = 0  # cases, from the first one on, that the given head proves


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
    reader: Version1Reader | Version2Reader | None = None
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            if reader is None:
                old = _version(path, content) == 1
                reader = Version1Reader(model) if old else Version2Reader(model)
            reader.take(line, content)
            if line == 1 and reader.opening is None:
                raise InputError(f"{path} is no log of decisions: {reader.findings[0].text}")
    if reader is None:
        raise InputError(f"{path} is empty; a log of decisions begins with its opening record")
    reader.finish(head)
    found = tuple(sorted(reader.findings, key=lambda finding: finding.line))
    proved = 0 if head is None else reader.proved(head) or 0
    return Replay(reader.cases, reader.head, found, head is not None, proved)


def _version(path: str | Path, first: bytes) -> int:
    """Return the version that the first line names, 1 or 2."""
    found = record_of(first)
    if found.get("format") != FORMAT:
        raise InputError(f"{path} is no log of decisions: it does not begin as one")
    version = found.get("version")
    if version not in (1, VERSION):
        raise InputError(
            f"{path} is a log of version {version!r}, this library knows 1 and {VERSION}; install "
            "the version that wrote it"
        )
    return int(version)
