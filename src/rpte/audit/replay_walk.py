"""What the replays of all versions of a log share: findings, numbers, cases computed again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rpte.audit.catalogue import Catalogue
from rpte.audit.decisions import BLOCK, Cells, Maker, cells_of, maker, variables_of
from rpte.audit.reasons import REFERENCES, ReasonRule, reason_rule
from rpte.audit.records import Record
from rpte.errors import InputError
from rpte.model.format import LABEL, NUMBER, SHARE, TEXT, mapping, one_of, or_null, record
from rpte.model.model import Model
from rpte.table.inputs import Inputs, read_inputs

RULE = record(
    adverse=LABEL,
    reference=one_of(*REFERENCES),
    values=mapping(NUMBER),
    most={"type": "integer", "minimum": 1},
    threshold=or_null(NUMBER),
    least=SHARE,
)
CATALOGUE = mapping(mapping(TEXT))
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, with the line of the file."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass
class Walk(ABC):
    """Where a replay stands: what was found, and cases waiting to be computed again."""

    model: Model
    findings: list[Finding] = field(default_factory=list)
    made: Maker | None = None
    line: int = 0
    cases: int = 0
    number: int = 0
    waiting: list[tuple[int, Any]] = field(default_factory=list)

    @abstractmethod
    def take(self, line: int, content: bytes) -> None:
        """Look at one line of the file."""

    @abstractmethod
    def finish(self, head: str | None) -> None:
        """Look at the file as a whole."""

    @property
    @abstractmethod
    def head(self) -> str:
        """The head of the log as it stands."""

    @abstractmethod
    def _cells(self, stored: Any) -> Sequence[Any]:
        """Return the cells of a stored case, in the order of the model's variables."""

    @abstractmethod
    def _differences(self, stored: Any, again: Record) -> Iterator[str]:
        """Yield in what a stored case is not what is computed again."""

    def find(self, text: str, line: int | None = None) -> None:
        """Keep a finding."""
        self.findings.append(Finding(self.line if line is None else line, text))

    def use(self, rule: dict[str, Any], catalogue: dict[str, Any]) -> None:
        """Compute from now on by these rules; the reference, where the model alone gives it."""
        found = ReasonRule(**rule)
        self.made = maker(self.model, found, Catalogue(catalogue))
        if not self._is_rule(found):
            self.find("the rule of reasons is not one that this model gives")
            self.made = None

    def _is_rule(self, rule: ReasonRule) -> bool:
        if rule.reference == "threshold":
            return rule.values.keys() == {component.name for component in self.model.components}
        names = ("adverse", "most", "threshold", "least")
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
        if self.made is None or not waiting:
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
        assert self.made is not None
        try:
            rows = [self._cells(stored) for _, stored in waiting]
            inputs, cells = _read(self.made, rows)
            return list(self.made.cases(inputs, cells))
        except UNREADABLE as error:
            if len(waiting) == 1:
                return [str(error) or type(error).__name__]
        return [again for one in waiting for again in self.again([one])]


def _read(made: Maker, rows: Sequence[Sequence[Any]]) -> tuple[Inputs, Cells]:
    """Return the inputs of stored cases, and their cells as `decide` has them."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(variables_of(made.model))}
    empty = [None] * len(rows)
    schema = made.model.schema
    inputs = read_inputs({name: columns.get(name, empty) for name in schema.names}, schema)
    return inputs, {name: cells_of(inputs, name, cells) for name, cells in columns.items()}


def short(value: Any) -> str:
    """Say a value in a few letters."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
