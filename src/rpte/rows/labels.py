"""Targets of rows that are read in blocks: what stands beside variables, labels, groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rpte.errors import InputError
from rpte.table.column import is_absent
from rpte.table.table import repetitions
from rpte.utils.arrays import Array, Floats, Index

MOST_LABELS = 1_000  # different ones, more than which are not counted


class Sides(Protocol):
    """What stands beside the variables of a block of rows."""

    def labels(self) -> tuple[list[Any], Index]:
        """Return the distinct cells of the target, and which of them each row holds."""

    def numbers(self, role: str) -> Array | None:
        """Return the column of numbers in a role: y, exposure or offset; None if there is none."""

    def weights(self) -> Floats:
        """Return the weights that users gave, ones if none."""


@dataclass
class LabelCounts:
    """The different labels of a table, rows, cases and weight of each; missing ones apart."""

    rows: dict[Any, int] = field(default_factory=dict)
    cases: dict[Any, int] = field(default_factory=dict)  # of positive weight
    weight: dict[Any, float] = field(default_factory=dict)
    counted: int = 0  # rows of positive weight
    missing: int = 0
    first_missing: int = -1
    total: int = 0

    def add(self, cells: list[Any], places: Index, weight: Floats) -> None:
        """Add rows: which of some cells each of them holds, and its weight."""
        rows = np.bincount(places, minlength=len(cells))
        sums = np.bincount(places, weight, minlength=len(cells))
        cases = np.bincount(places, repetitions(weight) * (weight > 0), minlength=len(cells))
        for place, cell in enumerate(cells):
            if not rows[place]:
                continue
            if is_absent(cell):
                if not self.missing:
                    self.first_missing = self.total + int(np.argmax(places == place))
                self.missing += int(rows[place])
                continue
            self.rows[cell] = self.rows.get(cell, 0) + int(rows[place])
            self.cases[cell] = self.cases.get(cell, 0) + int(cases[place])
            self.weight[cell] = self.weight.get(cell, 0.0) + float(sums[place])
        self.counted += int((weight > 0).sum())
        self.total += len(places)

    def plus(self, other: LabelCounts) -> LabelCounts:
        """Return the counts of these rows and of others behind them."""
        own = dict(self.rows), dict(self.cases), dict(self.weight)
        found = LabelCounts(*own, self.counted, self.missing, self.first_missing, self.total)
        for cell, rows in [*other.rows.items()][: MOST_LABELS + 1]:
            found.rows[cell] = found.rows.get(cell, 0) + rows
            found.cases[cell] = found.cases.get(cell, 0) + other.cases[cell]
            found.weight[cell] = found.weight.get(cell, 0.0) + other.weight[cell]
        if other.missing and not self.missing:
            found.first_missing = self.total + other.first_missing
        found.missing += other.missing
        found.counted += other.counted
        found.total += other.total
        return found

    @property
    def hopeless(self) -> bool:
        """Whether there are more labels than anyone has classes."""
        return len(self.rows) > MOST_LABELS

    def labels(self, dtype: Any) -> Array:
        """Return the different labels, numbers in the type of their column."""
        cells = list(self.rows)
        plain = cells and all(isinstance(cell, (bool, int, float)) for cell in cells)
        return np.array(cells, dtype if plain else object)


def group_numbers(groups: set[Any]) -> dict[Any, int]:
    """Number groups in their order: numbers by size, all others by their text."""
    numbers = all(isinstance(cell, (bool, int, float)) for cell in groups)
    return {cell: place for place, cell in enumerate(sorted(groups, key=None if numbers else str))}


def numbers_of(cells: Sequence[Any], places: Index, numbers: Mapping[Any, int], what: str) -> Index:
    """Return the number of the cell that each row holds, as an earlier pass has given them.

    A cell that was not there then is refused: the table has changed meanwhile.
    """
    found = np.array([numbers.get(cell, -1) for cell in cells], np.intp)[places]
    new = np.flatnonzero(found < 0)
    if len(new):
        raise InputError(
            f"the {what} {cells[places[new[0]]]!r} was not in the table when it was first read; "
            "fit a table that does not change meanwhile"
        )
    return found
