"""Replay of a log of decisions: every record computed again, and every break of the chain found.

What a replay can tell: a record that was changed, left out, put in or moved, and a result that the
model does not give. What it cannot tell without the head: that the whole file was made anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rpte.audit.catalogue import Catalogue
from rpte.audit.decisions import BLOCK, FORMAT, VERSION, Maker, Record, maker
from rpte.audit.reasons import REFERENCES, ReasonRule, reason_rule
from rpte.errors import InputError, ModelFileError
from rpte.model.file import sealed_hash, to_dict
from rpte.model.format import (
    LABEL,
    NUMBER,
    SHA256,
    SHARE,
    TEXT,
    mapping,
    one_of,
    or_null,
    record,
)
from rpte.model.model import Model
from rpte.model.reading import check_plain, parsed
from rpte.model.validator import validate
from rpte.table.inputs import read_inputs

PROBABILITY = 1e-12  # exponentials differ in their last bits between machines
OPENING = record(
    record={"const": "head"},
    format={"const": FORMAT},
    version={"const": VERSION},
    library_version=TEXT,
    when=TEXT,
    model=SHA256,
    rule=record(
        adverse=LABEL,
        reference=one_of(*REFERENCES),
        values=mapping(NUMBER),
        most={"type": "integer", "minimum": 1},
        threshold=or_null(NUMBER),
        least=SHARE,
    ),
    catalogue=mapping(mapping(TEXT)),
    previous={"type": "null"},
    hash=SHA256,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, with the line of the file."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found.

    Parameters
    ----------
    cases : int
        Case records in the file.
    head : str
        Hash of the last record before the closing one.
    findings : tuple of Finding
        Empty if every record is as the model gives it and the chain is whole.
    head_given : bool
        Whether the head was compared with one that was kept elsewhere. If not, a file that was made
        anew from the first to the last record cannot be told from the original.
    """

    cases: int
    head: str
    findings: tuple[Finding, ...]
    head_given: bool


def replay(path: str | Path, model: Model, head: str | None = None) -> Replay:
    """Compute a log of decisions again.

    Parameters
    ----------
    path : str or Path
        A file of `decide`.
    model : Model
        The model that decided.
    head : str, optional
        The head hash that was printed when the log was made, kept elsewhere.

    Raises
    ------
    InputError
        If the file is no log of decisions at all.
    """
    walk = _Walk(model)
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            walk.take(line, content)
            if line == 1 and walk.opening is None:
                raise InputError(f"{path} is no log of decisions: {walk.findings[0].text}")
    if walk.line == 0:
        raise InputError(f"{path} is empty; a log of decisions begins with its opening record")
    walk.finish(head)
    found = tuple(sorted(walk.findings, key=lambda finding: finding.line))
    return Replay(walk.cases, walk.last, found, head is not None)


@dataclass(slots=True)
class _Walk:
    """Where a replay stands: the record before, and cases waiting to be computed again."""

    model: Model
    findings: list[Finding] = field(default_factory=list)
    opening: Record | None = None
    made: Maker | None = None
    line: int = 0
    cases: int = 0
    number: int = 0
    last: str = ""
    closed: bool = False
    waiting: list[tuple[int, Record]] = field(default_factory=list)

    def take(self, line: int, content: bytes) -> None:
        """Look at one line of the file."""
        self.line = line
        try:
            found = parsed(content.decode("utf-8"))
            check_plain(found)
            kind, sealed = str(found["record"]), (str(found["hash"]), found["previous"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._find(f"is not a record: {str(error) or type(error).__name__}")
            return
        if self.closed:
            self._find("stands after the closing record")
        self._check_seal(found, kind)
        readers = {"head": self._open, "case": self._case, "end": self._close}
        readers.get(kind, self._strange)(found, sealed[1])
        if kind != "end":
            self.last = sealed[0]

    def finish(self, head: str | None) -> None:
        """Look at the file as a whole."""
        self._compute()
        if not self.closed:
            self._find("the file ends without a closing record: it was cut off")
        if head is not None and head.strip().lower() != self.last:
            self._find(
                f"the head is {self.last}, not {head}: the file was made anew, cut or continued"
            )

    def _find(self, text: str, line: int | None = None) -> None:
        self.findings.append(Finding(self.line if line is None else line, text))

    def _check_seal(self, found: Record, kind: Any) -> None:
        own = sealed_hash({key: value for key, value in found.items() if key != "hash"})
        if own != found["hash"]:
            name = f"case {found.get('number')}" if kind == "case" else f"the {kind!r} record"
            self._find(f"{name} was changed: its content does not match its hash")

    def _strange(self, found: Record, previous: Any) -> None:
        self._find(f"is a record of unknown kind {found['record']!r}")

    def _open(self, found: Record, previous: Any) -> None:
        if self.opening is not None:
            self._find("is a second opening record")
            return
        try:
            validate(found, OPENING)
        except ModelFileError as error:
            self._find(f"the opening record is malformed: {error}")
            return
        self.opening = found
        own = to_dict(self.model)["hash"]
        if found["model"] != own:
            self._find(f"the log is of the model {found['model']}, not of the given one, {own}")
            return
        rule = ReasonRule(**found["rule"])
        self.made = maker(self.model, rule, Catalogue(found["catalogue"]))
        self._check_rule(rule)

    def _check_rule(self, rule: ReasonRule) -> None:
        """Compute the reference again, where the model alone gives it."""
        if rule.reference == "threshold":
            right = rule.values.keys() == {component.name for component in self.model.components}
        else:
            names = ("adverse", "most", "threshold", "least")
            options: dict[str, Any] = {name: getattr(rule, name) for name in names}
            try:
                again = reason_rule(self.model, rule.reference, **options)
                right = again == rule
            except InputError:
                right = False
        if not right:
            self._find("the rule of reasons is not one that this model gives")
            self.made = None

    def _case(self, found: Record, previous: Any) -> None:
        number, expected = found.get("number"), self.number + 1
        self.cases += 1
        if type(number) is not int:
            self._find(f"a case has the number {number!r}")
            return
        if number > expected:
            gap = f"case {expected}" if number == expected + 1 else f"cases {expected}-{number - 1}"
            self._find(f"case {number} stands where {gap} should: removed or moved")
        elif number < expected:
            self._find(f"case {number} stands after case {self.number}: moved or put in")
        elif previous != self.last:
            self._find(
                f"case {number} was not written after the record that stands before it: that one "
                "was changed and sealed again, or replaced"
            )
        self.number = number
        self.waiting.append((self.line, found))
        if len(self.waiting) >= BLOCK:
            self._compute()

    def _close(self, found: Record, previous: Any) -> None:
        self.closed = True
        if found.get("cases") != self.cases:
            self._find(f"the closing record tells of {found.get('cases')} cases, not {self.cases}")
        if found.get("head") != self.last or previous != self.last:
            self._find(
                f"the closing record tells of the head {found.get('head')}, the last record has "
                f"{self.last}: records at the end were changed or removed"
            )

    def _compute(self) -> None:
        """Compute the waiting cases again."""
        waiting, self.waiting = self.waiting, []
        if self.made is None or not waiting:
            return
        for (line, stored), again in zip(waiting, self._again(waiting), strict=True):
            number = stored["number"]
            if isinstance(again, str):
                self._find(f"case {number} cannot be computed again: {again}", line)
                continue
            wrong = list(_differences(stored, again))
            if wrong:
                self._find(f"case {number} is not what the model gives: {'; '.join(wrong)}", line)

    def _again(self, waiting: list[tuple[int, Record]]) -> list[Record | str]:
        assert self.made is not None
        inputs = [stored.get("inputs") for _, stored in waiting]
        names = [s for s in self.model.schema.names if s in self._read()]
        try:
            return list(self._made(names, inputs))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            if len(waiting) == 1:
                return [str(error) or type(error).__name__]
        return [again for one in waiting for again in self._again([one])]

    def _read(self) -> set[str]:
        return {source for component in self.model.components for source in component.sources}

    def _made(self, names: list[str], inputs: list[Any]) -> Iterator[Record]:
        assert self.made is not None
        for used in inputs:
            if not isinstance(used, dict) or sorted(used) != sorted(names):
                raise InputError(f"its inputs must be those of {names}")
        cells = {name: [used[name] for used in inputs] for name in names}
        empty = [None] * len(inputs)
        table = {name: cells.get(name, empty) for name in self.model.schema.names}
        return self.made.cases(read_inputs(table, self.model.schema), cells)


def _differences(stored: Record, again: Record) -> Iterator[str]:
    """Yield the fields in which a stored record is not what is computed again."""
    aside = {"record", "number", "id", "previous", "hash"}
    for key in sorted(stored.keys() - again.keys() - aside):
        yield f"'{key}' is no field of a case"
    for key, value in again.items():
        if key not in stored:
            yield f"'{key}' is gone"
        elif not _same(key, stored[key], value):
            yield f"'{key}' is {_short(stored[key])}, computed {_short(value)}"


def _same(key: str, stored: Any, again: Any) -> bool:
    if key == "probability" and isinstance(stored, float):
        return math.isclose(stored, again, rel_tol=PROBABILITY, abs_tol=0.0)
    return bool(stored == again) and type(stored) is type(again)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
