"""What one variable does to the score, the terms that it shares with others included.

A term of two variables, or a tree, says something else of a variable for every value of the others.
So its effect is averaged over rows: the variable is set to a value in each of them, and what the
terms that read it then add is averaged. Components share no variable, so that this differs from the
mean score (the partial dependence) by a constant only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpte.errors import InputError
from rpte.model.parts import Component, DirectTerm, TreeTerms, sum_of
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.table.table import row_hashes
from rpte.utils.arrays import Array, Floats, Int32s

Part = TreeTerms | DirectTerm

MOST_ROWS = 2000  # that an effect is averaged over
BLOCK = 200_000  # cells times rows that are evaluated at once
NOTHING = 1e-12  # of the largest number: a smaller difference is a rounding error
OUTER = 0.05  # share of the rows below a spread, and of those above it


@dataclass(frozen=True, slots=True)
class Cells:
    """Values of one variable: a number (NaN for none) and the code of a level, each (n_cells,)."""

    numbers: Floats
    codes: Int32s

    @classmethod
    def of_numbers(cls, numbers: Floats) -> Cells:
        """Return cells that hold these numbers."""
        return cls(numbers, np.full(len(numbers), MISSING, np.int32))

    @classmethod
    def of_codes(cls, codes: Sequence[int]) -> Cells:
        """Return cells that hold these levels, special codes, or nothing (`MISSING`)."""
        return cls(np.full(len(codes), np.nan), np.array(codes, np.int32))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, places: slice) -> Cells:
        """Return some of the cells."""
        return Cells(self.numbers[places], self.codes[places])


@dataclass(frozen=True, slots=True)
class Background:
    """Rows to average over: those of a table that differ in what the model reads, or a sample.

    `table_rows` is how many rows the table has, `weight` (n_rows,) how often each counts.
    """

    inputs: Inputs
    weight: Floats
    table_rows: int
    sampled: bool

    @property
    def n_rows(self) -> int:
        """Rows of the table that are averaged over."""
        return MOST_ROWS if self.sampled else self.table_rows

    def mean(self, values: Floats) -> Floats:
        """Return the weighted mean over rows, the last axis."""
        found: Floats = values @ self.weight / self.weight.sum()
        return found

    def quantiles(self, source: str, *shares: float) -> list[float]:
        """Return quantiles (inverted CDF) of a number; none where no row has it."""
        x = self.inputs[source]
        present = ~np.isnan(x)
        if not present.any():
            return []
        found = _quantiles(x[present][None, :], self.weight[present], *shares)
        return [float(quantile[0]) for quantile in found]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a variable adds at some of its values, each array of shape (n_cells,).

    `own` sums the terms that read the variable alone (None if there are none); `whole` adds those
    shared with other variables, averaged over the rows and counted from their mean there (None
    without rows). Between `low` and `high` lie nine tenths of the rows, each with the others of its
    values as they are, and all equal at the variable's `reference` (None without shared terms).
    """

    own: Floats | None
    whole: Floats | None
    low: Floats | None = None
    high: Floats | None = None


def background(inputs: Inputs, sources: Sequence[str], weight: Floats | None = None) -> Background:
    """Return the rows to average over: all that differ, or a sample where they are many.

    The sample depends on what the rows hold and weigh, not on their order; a row is drawn in
    proportion to its weight. Rows that differ in nothing but variables that the model does not
    read (`sources` are those that it reads) are one.
    """
    read = inputs.only(sources)
    given = np.ones(inputs.n_rows) if weight is None else weight
    held = np.flatnonzero(given > 0)
    if not len(held):
        raise InputError("the table has no rows to average over; give at least one")
    _, first, place = np.unique(row_hashes(read.take(held)), return_index=True, return_inverse=True)
    merged = np.bincount(place, given[held]).astype(np.float64)
    if len(first) <= MOST_ROWS:
        return Background(read.take(held[first]), merged, len(held), False)
    marks = (np.arange(MOST_ROWS) + 0.5) / MOST_ROWS * merged.sum()
    drawn = np.minimum(np.searchsorted(np.cumsum(merged), marks), len(first) - 1)
    kept, times = np.unique(drawn, return_counts=True)
    return Background(read.take(held[first[kept]]), times.astype(float), len(held), True)


def own_parts(component: Component, *sources: str) -> list[Part]:
    """Return the parts of a component that read some of these variables and no other."""
    return [part for part in component.parts if set(part.sources) <= set(sources)]


def shared_parts(component: Component, *sources: str) -> list[Part]:
    """Return the parts that read some of these variables beside others."""
    read = set(sources)
    return [p for p in component.parts if read & set(p.sources) and not set(p.sources) <= read]


def effect(
    component: Component, schema: Schema, source: str, cells: Cells, rows: Background | None
) -> Effect:
    """Return what a variable adds where it has these values.

    `component` is the one that reads it, `rows` what its shared terms are averaged over.
    """
    alone, shared = own_parts(component, source), shared_parts(component, source)
    own = added(alone, schema, {source: cells}) if alone else None
    if not shared:
        return Effect(own, own)
    if rows is None:
        return Effect(own, None)
    base = np.zeros(len(cells)) if own is None else own
    spread = _spread(shared, {source: cells}, rows)
    mean = rows.mean(sum_of(shared, rows.inputs))
    whole = base + rows.mean(spread) - mean
    anchor = _spread(shared, {source: reference(rows, source)}, rows)
    moved = spread - anchor + (base + rows.mean(anchor) - mean)[:, None]
    found = whole, *_quantiles(moved, rows.weight, OUTER, 1.0 - OUTER)
    size = max(float(np.abs(each).max(initial=0.0)) for each in (base, spread))
    return Effect(own, *(_rounded(each, size) for each in found))


def _rounded(values: Floats, size: float) -> Floats:
    """Return zero for what the difference of two equal means of some size is rounded to."""
    return np.where(np.abs(values) < NOTHING * size, 0.0, values)


def joint_effect(
    component: Component, schema: Schema, axes: Mapping[str, Cells], rows: Background | None
) -> Floats:
    """Return what two variables add together, shape (cells of the second, cells of the first).

    All terms that read one of them or both; those shared with others are averaged over the rows,
    and counted from their mean there. Without rows these are left out.
    """
    (across, up), (a, b) = axes, axes.values()
    grid = {
        across: Cells(np.tile(a.numbers, len(b)), np.tile(a.codes, len(b))),
        up: Cells(np.repeat(b.numbers, len(a)), np.repeat(b.codes, len(a))),
    }
    own = added(own_parts(component, across, up), schema, grid)
    total, size = own.reshape(len(b), len(a)), float(np.abs(own).max(initial=0.0))
    for part in () if rows is None else shared_parts(component, across, up):
        assert rows is not None
        along = [name for name in axes if name in part.sources]
        cells = grid if len(along) == 2 else {along[0]: axes[along[0]]}
        spread = _spread([part], cells, rows)
        means = rows.mean(spread) - rows.mean(part.contribution(rows.inputs))
        size = max(size, float(np.abs(spread).max(initial=0.0)))
        shape = {(across, up): (len(b), len(a)), (across,): (1, len(a)), (up,): (len(b), 1)}
        total = total + means.reshape(shape[tuple(along)])
    return _rounded(total, size)


def added(parts: Sequence[Part], schema: Schema, cells: Mapping[str, Cells]) -> Floats:
    """Return what parts add that read nothing but the variables of these cells."""
    return sum_of(parts, _rows_of(schema, cells))


def reference(rows: Background, source: str) -> Cells:
    """Return the median of a number, or the most frequent level (or missing), as one cell."""
    variable, weight = rows.inputs.schema[source], rows.weight
    if variable.kind == "number":
        middle = rows.quantiles(source, 0.5)
        if middle or not variable.levels:
            return Cells.of_numbers(np.array(middle or [np.nan]))
    codes, place = np.unique(rows.inputs.codes(source), return_inverse=True)
    return Cells.of_codes([int(codes[np.bincount(place, weight).argmax()])])


def _spread(parts: Sequence[Part], cells: Mapping[str, Cells], rows: Background) -> Floats:
    """Return what parts add in every row with these cells in it, shape (n_cells, n_rows)."""
    n_cells = len(next(iter(cells.values())))
    total = np.zeros((n_cells, rows.inputs.n_rows))
    for part in parts:
        others = rows.inputs.only([name for name in part.sources if name not in cells])
        _, first, place = np.unique(row_hashes(others), return_index=True, return_inverse=True)
        distinct = others.take(first)
        step = max(1, BLOCK // len(first))
        for low in range(0, n_cells, step):
            some = {name: held.take(slice(low, low + step)) for name, held in cells.items()}
            values = part.contribution(_rows_of(rows.inputs.schema, some, distinct))
            total[low : low + step] += values.reshape(-1, len(first))[:, place]
    return total


def _rows_of(schema: Schema, cells: Mapping[str, Cells], others: Inputs | None = None) -> Inputs:
    """Return every cell in every one of some rows: the rows of the first cell, then the next."""
    n_cells = len(next(iter(cells.values())))
    n_rows = 1 if others is None else others.n_rows
    names = [*cells, *(() if others is None else others.schema.names)]
    part = Schema(tuple(v for v in schema.variables if v.name in names), schema.named)
    columns: list[Array] = []
    specials: dict[int, Int32s] = {}
    for position, variable in enumerate(part.variables):
        if variable.name in cells:
            held = cells[variable.name]
            numbers, codes = (np.repeat(v, n_rows) for v in (held.numbers, held.codes))
        else:
            assert others is not None
            numbers = np.tile(others[variable.name], n_cells)
            levels = variable.kind == "category" or bool(variable.levels)
            codes = np.tile(others.codes(variable.name), n_cells) if levels else numbers
        columns.append(codes if variable.kind == "category" else numbers)
        if variable.kind == "number" and variable.levels:
            specials[position] = codes.astype(np.int32)
    return Inputs(part, tuple(columns), specials)


def _quantiles(values: Floats, weight: Floats, *shares: float) -> Iterator[Floats]:
    """Yield, for each share, where so much of the weight lies below in the rows of a matrix."""
    order = np.argsort(values, axis=1, kind="stable")
    total = np.cumsum(weight[order], axis=1)
    for share in shares:
        place = (total < share * total[:, -1:]).sum(axis=1)
        at = np.minimum(place, values.shape[1] - 1)[:, None]
        picked = np.take_along_axis(order, at, axis=1)
        yield np.take_along_axis(values, picked, axis=1)[:, 0]
