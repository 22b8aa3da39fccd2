"""Replay of a log of version 1, in which a record holds everything, its own hash included."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rpte.audit.decisions.records import FORMAT, Record
from rpte.audit.decisions.replay_base import RULES, UNREADABLE, LogReader, differs
from rpte.errors import ModelFileError
from rpte.model.file import sealed_hash
from rpte.model.format import described
from rpte.model.reading import check_plain, parsed
from rpte.model.validator import validate

PROBABILITY = 1e-12  # exponentials differ in their last bits between machines
OPENING = described(
    f"record: 'head', format: '{FORMAT}', version: 1, library_version: text, when: text, "
    "model: hash, rule: rule, catalogue: catalogue, previous: null, hash: hash",
    **RULES,
)
ASIDE = {"record", "number", "id", "previous", "hash"}


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
        if sealed_hash({key: value for key, value in found.items() if key != "hash"}) != sealed[0]:
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
                f"the head is {self.last}, not {head}: the file was made anew, cut or continued"
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
            self.find(f"the closing record tells of {found.get('cases')} cases, not {self.cases}")
        if found.get("head") != self.last or previous != self.last:
            self.find(
                f"the closing record tells of the head {found.get('head')}, the last record has "
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
