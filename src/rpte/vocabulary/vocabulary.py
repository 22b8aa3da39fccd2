"""The vocabulary of Stage 1: readable columns, evaluated on the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rpte.columns.kinds import (
    Column,
    Hinge,
    Interval,
    Level,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.table.inputs import Inputs
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index, Int8s, Mask
from rpte.vocabulary.cells import SharedCells
from rpte.vocabulary.redundancy import Registry
from rpte.vocabulary.shape_cache import Entry, Middle, evaluate, standardise

ORIGINAL, PATTERN, PAIR = 0, 1, 2  # shapes are in the budget of patterns, products in that of pairs
PLAIN, CURVE, STEP, CODE = 0, 1, 2, 3  # what shape families tell apart; a log is plain


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The columns of Stage 1 on some training rows, as Stage 3 sees them.

    Raw variables, then patterns or shapes, then pairs, each `block` in its ranking. `z` in C order
    is (value - centre) / scale for numeric columns, 0 where missing, and binary ones as they are.
    """

    columns: tuple[Column, ...]
    block: Index
    z: Floats | SharedCells  # (V, rows), of a long table only the first rows
    centre: Floats
    scale: Floats
    seen: Registry | None = field(default=None, repr=False)  # binary columns, after `with_pairs`
    role: Int8s = field(init=False)  # plain, curve, step, or code (a single value), (V,)
    paired: Mask = field(init=False)  # whether the column reads two variables, (V,)

    def __post_init__(self) -> None:
        kinds = np.array([0 if type(c) is Value else 1 for c in self.columns], np.intp)
        role, paired = np.zeros(len(kinds), np.int8), np.zeros(len(kinds), np.bool_)
        for j in np.flatnonzero(kinds):  # values, often most columns, are plain
            column = self.columns[j]
            role[j], paired[j] = _role(column), isinstance(column, (Pair, Pattern))
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "paired", paired)

    def __len__(self) -> int:
        return len(self.columns)

    def parts_of(self, pairs: Index) -> Mask:
        """Tell which columns are parts of some pairs, (V,)."""
        made = [c for j in pairs if isinstance(c := self.columns[j], (Pair, Pattern))]
        parts = {part for column in made for part in (column.left, column.right)}
        if not parts:
            return np.zeros(len(self), np.bool_)
        return np.array([column in parts for column in self.columns], np.bool_)

    def keep(self, which: Index, z: Floats | None = None) -> Vocabulary:
        """Return the vocabulary of some columns, whose cells are `z` if they are there already."""
        columns, z = tuple(self.columns[j] for j in which), self.z[which] if z is None else z
        return Vocabulary(columns, self.block[which], z, self.centre[which], self.scale[which])

    def first_rows(self, rows: int) -> Vocabulary:
        """Return the same columns with the cells of their first rows only."""
        return replace(self, z=self.z[:, :rows].copy())

    def on(self, inputs: Inputs) -> Floats:
        """Return the columns on other rows, (V, n)."""
        found = [self.column_on(inputs, j) for j in range(len(self))]
        return np.array(found, np.float64).reshape(len(self), inputs.n_rows)

    def column_on(self, inputs: Inputs, j: int) -> Floats:
        """Return a column on other rows, (n,)."""
        known = self.z.column_on(inputs, j) if isinstance(self.z, SharedCells) else None
        if known is not None:
            return known
        x = self.columns[j].evaluate(inputs)
        return standardise(x, float(self.centre[j]), float(self.scale[j]))

    def with_shared(self, columns: tuple[Column, ...], entries: Sequence[Entry]) -> Vocabulary:
        """Return the vocabulary with more columns of one variable, as they are on all rows."""
        assert isinstance(self.z, SharedCells)
        z = self.z.with_shared(tuple(entry.z for entry in entries))
        block = np.append(self.block, np.full(len(columns), PATTERN))
        centre = np.append(self.centre, [entry.centre for entry in entries])
        scale = np.append(self.scale, [entry.scale for entry in entries])
        return Vocabulary((*self.columns, *columns), block, z, centre, scale, self.seen)

    def with_pairs(self, table: Table, pairs: tuple[Column, ...]) -> Vocabulary:
        """Return the vocabulary with more columns of two sources, without repetitions.

        `table` is the one that this vocabulary was evaluated on.
        """
        if self.seen is None:
            seen, binary = Registry(), np.flatnonzero([column.binary for column in self.columns])
            seen.numbers(self.z[binary], np.arange(len(binary)))
        else:
            seen = self.seen.copy()
        more = evaluate_columns(table, (), (), pairs, False, seen)
        z, added = self.z, more.z[:]
        z = z.with_own(added) if isinstance(z, SharedCells) else np.vstack([z, added])
        fields = ("block", "centre", "scale")
        block, centre, scale = (np.append(getattr(self, f), getattr(more, f)) for f in fields)
        return Vocabulary((*self.columns, *more.columns), block, z, centre, scale, seen)


def _role(column: Column) -> int:
    if isinstance(column, (Hinge, Scale)):
        return PLAIN if isinstance(column, Scale) and column.formula == "log" else CURVE
    if isinstance(column, Level) and len(column.levels) > 1:
        return STEP
    return CODE if isinstance(column, Interval) else STEP if isinstance(column, Step) else PLAIN


def evaluate_columns(
    table: Table,
    originals: tuple[Column, ...],
    patterns: tuple[Column, ...],
    pairs: tuple[Column, ...],
    paper: bool,
    seen: Registry | None = None,
    rows: int | None = None,
) -> Vocabulary:
    """Evaluate columns on the training rows; z is of the first `rows`.

    Constants and repetitions of another column, or of one `seen` before, are left out.
    """
    columns = (*originals, *patterns, *pairs)
    block = np.repeat([ORIGINAL, PATTERN, PAIR], [len(originals), len(patterns), len(pairs)])
    seen = Registry() if seen is None else seen
    z = np.empty((len(columns), min(table.n_rows, rows or table.n_rows)))
    kept: list[int] = []
    location = np.empty((2, len(columns)))
    for j, column in enumerate(columns):
        middle: Middle = "mean" if paper and block[j] == PAIR else "median"
        before = seen.count
        entry = evaluate(table, column, middle, paper, seen, rows)
        if seen.count > before:  # not a repetition
            z[len(kept)], location[:, len(kept)] = entry.z, (entry.centre, entry.scale)
            kept.append(j)
    centre, scale = location[:, : len(kept)]
    known = tuple(columns[j] for j in kept)
    return Vocabulary(known, block[kept], z[: len(kept)], centre, scale)
