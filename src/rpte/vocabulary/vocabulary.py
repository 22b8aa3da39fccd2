"""The vocabulary of Stage 1: readable columns, evaluated on the training rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rpte.columns.kinds import (
    Column,
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.columns.limits import FREE, Permissions
from rpte.table.inputs import Inputs
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Int8s, Mask
from rpte.utils.growable import GrowableMatrix
from rpte.vocabulary.redundancy import Registry
from rpte.vocabulary.shape_cache import Middle, evaluate, standardise

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
    z: Floats  # (V, rows), of a long table only the first rows
    centre: Floats
    scale: Floats
    # That of z, with space for more columns.
    memory: GrowableMatrix | None = field(default=None, repr=False, compare=False)
    role: Int8s = field(init=False)  # plain, curve, step, or code (a single value), (V,)
    paired: Mask = field(init=False)  # whether the column reads two variables, (V,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", np.array([_role(c) for c in self.columns], np.int8))
        paired = [isinstance(c, (Pair, Pattern)) for c in self.columns]
        object.__setattr__(self, "paired", np.array(paired, np.bool_))

    def __len__(self) -> int:
        return len(self.columns)

    def parts_of(self, pairs: Index) -> Mask:
        """Tell which columns are parts of some pairs, (V,)."""
        made = [c for j in pairs if isinstance(c := self.columns[j], (Pair, Pattern))]
        parts = {part for column in made for part in (column.left, column.right)}
        return np.array([column in parts for column in self.columns], np.bool_)

    def keep(self, which: Index, z: Floats | None = None) -> Vocabulary:
        """Return the vocabulary of some columns, whose cells are `z` if they are there already."""
        columns, z = tuple(self.columns[j] for j in which), self.z[which] if z is None else z
        return Vocabulary(columns, self.block[which], z, self.centre[which], self.scale[which])

    def first_rows(self, rows: int) -> Vocabulary:
        """Return the same columns with the cells of their first rows only."""
        return replace(self, z=self.z[:, :rows].copy(), memory=None)

    def on(self, inputs: Inputs, first: int = 0, kind: type = np.float64) -> Array:
        """Return the columns from the `first` on, on other rows: (V - first, n)."""
        z: Array = np.empty((len(self) - first, inputs.n_rows), kind)
        for row, j in zip(z, range(first, len(self)), strict=True):
            row[:] = standardise(
                self.columns[j].evaluate(inputs), float(self.centre[j]), float(self.scale[j])
            )
        return z

    def with_pairs(self, table: Table, pairs: tuple[Column, ...]) -> Vocabulary:
        """Return the vocabulary with more columns of two sources, without repetitions.

        `table` is the one that this vocabulary was evaluated on.
        """
        seen = Registry()
        seen.numbers(self.z, np.flatnonzero([column.binary for column in self.columns]))
        more = evaluate_columns(table, (), (), pairs, False, seen)
        memory = self.memory
        if memory is not None and memory.count == len(self):
            memory.add(more.z)
            z = memory.rows
        else:  # another vocabulary has grown from this one
            memory, z = None, np.vstack([self.z, more.z])
        fields = ("block", "centre", "scale")
        block, centre, scale = (np.append(getattr(self, f), getattr(more, f)) for f in fields)
        return Vocabulary((*self.columns, *more.columns), block, z, centre, scale, memory)


def _role(column: Column) -> int:
    if isinstance(column, (Hinge, Scale)):
        return PLAIN if isinstance(column, Scale) and column.formula == "log" else CURVE
    if isinstance(column, Level) and len(column.levels) > 1:
        return STEP
    return CODE if isinstance(column, Interval) else STEP if isinstance(column, Step) else PLAIN


def original_columns(
    table: Table, paper: bool, limits: Permissions = FREE, values: bool = True
) -> tuple[Column, ...]:
    """Return values, levels (special codes too) and missing flags, by variable in order."""
    columns: list[Column] = []
    for position in table.schema.canonical():
        variable = table.schema.variables[position]
        if not limits.usable(variable.name):
            continue
        if variable.kind == "number" and values:
            columns.append(Value(variable.name))
        columns.extend(Level(variable.name, (level,)) for level in variable.levels)
        if variable.has_missing and not (paper and variable.kind == "number"):
            columns.append(Missing(variable.name))
    return tuple(columns)


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
