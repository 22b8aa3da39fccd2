"""What readers of logs of all versions share (findings, cases computed again), and version 1.

In a log of version 1 a record holds everything, its own hash included.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from rpte.audit.decisions.catalogue import Catalogue, read_variables
from rpte.audit.decisions.decide import BLOCK, full_cases, read_cells
from rpte.audit.decisions.reasons import OF_CLASSES, REFERENCES, ReasonRule, reason_rule
from rpte.audit.decisions.records import FORMAT, Record, Run
from rpte.errors import InputError, ModelFileError
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel, content_hash, to_dict
from rpte.model.format import described
from rpte.model.reading import check_plain, parsed
from rpte.model.validator import validate
from rpte.table.numbers import read_numbers
from rpte.utils.arrays import Array

RULE = described(
    "adverse: label, reference: reference, values: {number}, most: from 1, "
    "threshold: null|number, least: share, horizon?: number",
    reference=described("|".join(map(repr, REFERENCES))),
)
CLASS_RULE = described(
    "reference: reference, against: null|label, most: from 1, least: share",
    reference=described("'mean'|'best'"),
)
RULES = {"rule": RULE, "class_rule": CLASS_RULE, "catalogue": described("{{text}}")}  # of a run
OPTIONAL = {"horizon"}  # what a rule of a model of a time may have
PROBABILITY = 1e-12  # exponentials differ in their last bits between machines
OPENING = described(
    f"record: 'head', format: '{FORMAT}', version: 1, library_version: text, when: text, "
    "model: hash, rule: rule, catalogue: catalogue, previous: null, hash: hash",
    **RULES,
)
ASIDE = {"record", "number", "id", "previous", "hash"}
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, with the line of the file."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass
class LogReader(ABC):
    """Reads a log line by line; keeps what is wrong, and cases until they are computed again."""

    model: AnyModel
    findings: list[Finding] = field(default_factory=list)
    run: Run | None = None  # how cases are computed again; None while that is not known
    opening: Record | None = None  # the first record of the log
    line: int = 0
    cases: int = 0
    number: int = 0  # of the last case
    waiting: list[tuple[int, Any]] = field(default_factory=list)  # stored cases by line

    @abstractmethod
    def _cells(self, stored: Any) -> Sequence[Any] | None:
        """Return the cells of a stored case in the order of the model's variables, None if not."""

    @abstractmethod
    def _differences(self, stored: Any, again: Record) -> Iterator[str]:
        """Yield in what a stored case is not what is computed again."""

    @cached_property
    def variables(self) -> list[str]:
        """The variables that the model reads."""
        return read_variables(self.model)

    def find(self, text: str, line: int | None = None) -> None:
        """Keep a finding."""
        self.findings.append(Finding(self.line if line is None else line, text))

    def find_unreadable(self, error: Exception) -> None:
        """Keep that the line is no record."""
        self.find(f"is not a record: {_said(error)}")

    def is_of_model(self, found: Record) -> bool:
        """Tell whether an opening record names the model given; find it if not."""
        own = to_dict(self.model)["hash"]
        if found["model"] != own:
            self.find(f"the log is of the model {found['model']}, not of the given one, {own}")
        return bool(found["model"] == own)

    def use(self, rule: Record, catalogue: Record, **options: Any) -> None:
        """Compute from now on by these rules; the reference, where the model alone gives it."""
        several = isinstance(self.model, ClassesModel)
        of_one = {each.name for each in fields(ReasonRule)} - {"against"}
        names = set(OF_CLASSES) if several else of_one
        fits = names - OPTIONAL <= rule.keys() <= names
        found = ReasonRule(**rule) if fits else None
        if found is None or not self._is_rule(found):
            self.find("the rule of reasons is not one that this model gives")
            self.run = None
            return
        self.run = Run(self.model, found, Catalogue(catalogue), **options)

    def _is_rule(self, rule: ReasonRule) -> bool:
        if rule.reference == "threshold":
            return rule.values.keys() == {component.name for component in self.model.components}
        names = ("adverse", "most", "threshold", "least", "horizon", "against")
        options: dict[str, Any] = {name: getattr(rule, name) for name in names}
        try:
            return reason_rule(self.model, rule.reference, **options) == rule
        except InputError:
            return False

    def stands_right(self, number: Any) -> bool:
        """Tell whether a case has the number that is next; find it if not."""
        expected, self.cases = self.number + 1, self.cases + 1
        if type(number) is not int:
            self.find(f"a case has the number {number!r}")
            return False
        if number > expected:
            gap = f"case {expected}" if number == expected + 1 else f"cases {expected}-{number - 1}"
            self.find(f"case {number} stands where {gap} should: removed or moved")
        elif number < expected:
            self.find(f"case {number} stands after case {self.number}: moved or put in")
        self.number = number
        return number == expected

    def wait(self, stored: Any) -> None:
        """Let a case wait until there are enough to compute together."""
        self.waiting.append((self.line, stored))
        if len(self.waiting) >= BLOCK:
            self.compute()

    def compute(self) -> None:
        """Compute the waiting cases again."""
        waiting, self.waiting = self.waiting, []
        if self.run is None or not waiting:
            return
        for (line, stored), again in zip(waiting, self.again(waiting), strict=True):
            number = stored["number"]
            if isinstance(again, str):
                self.find(f"case {number} cannot be computed again: {again}", line)
                continue
            wrong = list(self._differences(stored, again))
            if wrong:
                self.find(f"case {number} is not what the model gives: {'; '.join(wrong)}", line)

    def again(self, waiting: list[tuple[int, Any]]) -> list[Record | str]:
        """Return cases as the model gives them, or why it cannot."""
        assert self.run is not None
        raw: dict[str, Any] = {name: [None] * len(waiting) for name in self.model.schema.names}
        try:
            rows = [self._cells(stored) for _, stored in waiting]
            if None in rows:
                raise InputError(f"its inputs must be those of {self.variables}")
            raw |= zip(self.variables, map(list, zip(*rows, strict=True)), strict=True)
            beside = {role: _column(waiting, role) for role in self.run.beside}
            return list(full_cases(self.run, *read_cells(self.model, raw), beside))
        except UNREADABLE as error:
            if len(waiting) == 1:
                return [_said(error)]
        middle = len(waiting) // 2  # so that one bad case costs few computations
        return [*self.again(waiting[:middle]), *self.again(waiting[middle:])]


def _column(waiting: list[tuple[int, Any]], role: str) -> Array:
    """Return exposures, offsets or strata of stored cases."""
    cells = [stored[role] for _, stored in waiting]
    if role == "strata":
        return np.array([*cells, None], object)[:-1]
    return read_numbers(cells, len(cells), role)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def short(value: Any) -> str:
    """Say a value in a few letters."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def differs(key: str, stored: Any, computed: Any) -> str:
    """Say that a value is not the one computed again."""
    return f"'{key}' is {short(stored)}, computed {short(computed)}"


@dataclass
class Version1Reader(LogReader):
    """Reads a log of version 1."""

    last: str = ""
    closed: bool = False

    @property
    def head(self) -> str:
        """The hash of the last record before the closing one."""
        return self.last

    def take(self, line: int, content: bytes) -> None:
        """Look at one line of the file."""
        self.line = line
        try:
            found = parsed(content.decode("utf-8"))
            check_plain(found)
            kind, sealed = str(found["record"]), (str(found["hash"]), found["previous"])
        except UNREADABLE as error:
            self.find_unreadable(error)
            return
        if self.closed:
            self.find("stands after the closing record")
        if content_hash(found) != sealed[0]:
            name = f"case {found.get('number')}" if kind == "case" else f"the {kind!r} record"
            self.find(f"{name} was changed: its content does not match its hash")
        readers = {"head": self._open, "case": self._case, "end": self._close}
        if kind in readers:
            readers[kind](found, sealed[1])
        else:
            self.find(f"is a record of unknown kind {found['record']!r}")
        if kind != "end":
            self.last = sealed[0]

    def finish(self, head: str | None) -> None:
        """Look at the file as a whole."""
        self.compute()
        if not self.closed:
            self.find("the file ends without a closing record: it was cut off")
        if head is not None and self.proved(head) is None:
            self.find(
                f"the head is {self.last}, not {head}: the file was written again, cut or continued"
            )

    def proved(self, head: str) -> int | None:
        """Return the number of cases if this is the head."""
        return self.cases if head.strip().lower() == self.last else None

    def _open(self, found: Record, previous: Any) -> None:
        if self.opening is not None:
            self.find("is a second opening record")
            return
        try:
            validate(found, OPENING)
        except ModelFileError as error:
            self.find(f"the opening record is malformed: {error}")
            return
        self.opening = found
        if self.is_of_model(found):
            self.use(found["rule"], found["catalogue"])

    def _case(self, found: Record, previous: Any) -> None:
        number = found.get("number")
        if self.stands_right(number) and previous != self.last:
            self.find(
                f"case {number} was not written after the record that stands before it: that one "
                "was changed and sealed again, or replaced"
            )
        if type(number) is int:
            self.wait(found)

    def _close(self, found: Record, previous: Any) -> None:
        self.closed = True
        if found.get("cases") != self.cases:
            self.find(f"the closing record states {found.get('cases')} cases, not {self.cases}")
        if found.get("head") != self.last or previous != self.last:
            self.find(
                f"the closing record states the head {found.get('head')}, the last record has "
                f"{self.last}: records at the end were changed or removed"
            )

    def _cells(self, stored: Record) -> list[Any] | None:
        used = stored.get("inputs")
        if not isinstance(used, dict) or used.keys() != set(self.variables):
            return None
        return [used[name] for name in self.variables]

    def _differences(self, stored: Record, again: Record) -> Iterator[str]:
        for key in sorted(stored.keys() - again.keys() - ASIDE):
            yield f"'{key}' is no field of a case"
        for key, value in again.items():
            if key not in stored:
                yield f"'{key}' is gone"
            elif not _same(key, stored[key], value):
                yield differs(key, stored[key], value)


def _same(key: str, stored: Any, again: Any) -> bool:
    if key == "probability" and isinstance(stored, float):
        return math.isclose(stored, again, rel_tol=PROBABILITY, abs_tol=0.0)
    return bool(stored == again) and type(stored) is type(again)
