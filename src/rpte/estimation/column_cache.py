"""Direct terms of many rows: evaluated tile by tile instead of being held.

A hinge or a product of two numbers takes less time to compute than to fetch from memory, and what
is held is one column per variable (as much of it as there is room for), 0/1 columns as bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Column, Hinge, Pair, Scale, Value
from rpte.kernels.design_products import (
    ABOVE,
    ALONE,
    BELOW,
    BIT,
    NUMBER,
    OPERATIONS,
    TILE_ROWS,
    Cells,
    Program,
    fill_terms,
    gather,
)
from rpte.rows.passes import RowBlocks, each_block
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Array, Bytes, Floats, Index, Int8s, Int32s

SOME, MOST = 4096, 256  # rows that tell whether numbers are few, and how many these are
LARGE = 1e150  # products of smaller numbers are finite
HELD_CELLS = 12_000_000  # numbers of variables that are held in order; others are taken each time


class IndexedCells(NamedTuple):
    """A column as cells, and the place of each row (n,) among them."""

    cells: Floats
    rows: Array


class ColumnCache:
    """Columns of some rows that the direct terms of several models read, each made once."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._bits: dict[Column, Bytes] = {}
        self._numbers: dict[Column, Floats | IndexedCells] = {}
        self._codes: dict[str, Int32s] = {}
        self._gaps: dict[Column, bool] = {}

    def bits(self, column: Column) -> Bytes:
        """Return a 0/1 column, (n,)."""
        if column not in self._bits:
            cells = self.in_order(column.sources)
            self._bits[column] = column.evaluate(cells).astype(np.uint8)
        return self._bits[column]

    def in_order(self, sources: Collection[str]) -> Inputs:
        """Return some variables, each column taken no more than once by all who read it."""
        some = self.inputs.only(sources)
        for variable in some.schema.variables:
            if variable.kind == "category" and variable.name not in self._codes:
                self._codes[variable.name] = some[variable.name]
        known: dict[str, Array] = {**self._codes}
        for column, numbers in self._numbers.items():
            if isinstance(column, Value) and isinstance(numbers, np.ndarray):
                known[column.source] = numbers
        columns = [known[name] if name in known else some[name] for name in some.schema.names]
        return replace(some, columns=columns)

    def number(self, column: Column) -> Floats | IndexedCells:
        """Return a number, (n,), or where its cells are if there is no room for it."""
        if column not in self._numbers:
            self._numbers[column] = self._made(column)
        return self._numbers[column]

    def _made(self, column: Column) -> Floats | IndexedCells:
        crowded = self.inputs.n_rows * len(self.inputs.schema) > HELD_CELLS
        if not (crowded and isinstance(column, Value)):
            return column.evaluate(self.in_order(column.sources))
        cells, rows = self.inputs.source(column.source)
        few = _few(cells, rows)
        held = sum(isinstance(numbers, np.ndarray) for numbers in self._numbers.values())
        if few is None and held * self.inputs.n_rows <= HELD_CELLS:
            return cells[rows]
        return few or IndexedCells(cells, rows)

    def has_gaps(self, column: Column) -> bool:
        """Tell whether a number may be missing somewhere, or its products overflow."""
        if column not in self._gaps:
            numbers = self.number(column)
            x = numbers.cells if isinstance(numbers, IndexedCells) else numbers
            self._gaps[column] = not (x.max() <= LARGE and x.min() >= -LARGE)
        return self._gaps[column]


def _few(cells: Floats, rows: Index) -> IndexedCells | None:
    """Return the distinct numbers of some rows and where they are, None if there are many."""
    if len(np.unique(cells[rows[:SOME]])) > MOST:
        return None
    distinct = np.unique(cells)
    if len(distinct) > MOST:
        return None
    return IndexedCells(distinct, np.searchsorted(distinct, cells).astype(np.uint8)[rows])


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedTerms:
    """Direct terms as the penalty sees them, (value - centre) / scale, 0 where missing."""

    cache: ColumnCache
    shape: tuple[int, int]  # rows, terms
    numbers: tuple[Column, ...]  # what the terms are made of
    bits: tuple[Column, ...]
    operation: Int8s  # how, as `fill_terms` has it
    kind: Int8s
    place: Index
    knot: Floats
    centre: Floats  # (d,)
    scale: Floats

    @classmethod
    def of(
        cls, cache: ColumnCache, columns: Sequence[Column], centre: Floats, scale: Floats
    ) -> EvaluatedTerms:
        """Take some columns apart."""
        made = [_made_of(column) for column in columns]
        numbers: dict[Column, int] = {}
        bits: dict[Column, int] = {}
        known = [_part(part, numbers, bits) for _, pair in made for part in pair]
        kinds, places, knots = zip(*known, strict=True) if known else ((), (), ())
        shape = len(columns), 2
        return cls(
            cache,
            (cache.inputs.n_rows, len(columns)),
            tuple(numbers),
            tuple(bits),
            np.array([operation for operation, _ in made], np.int8),
            np.array(kinds, np.int8).reshape(shape),
            np.array(places, np.intp).reshape(shape),
            np.array(knots, np.float64).reshape(shape),
            centre,
            scale,
        )

    def first_rows(self, rows: int) -> EvaluatedTerms:
        """Return the terms of the first rows."""
        return replace(self, shape=(rows, self.shape[1]))

    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some terms sum to one on every row; only 0/1 columns can."""
        if (self.operation[columns] != ALONE).any() or (self.kind[columns] != BIT).any():
            return False
        bits = [self.cache.bits(self.bits[place]) for place in self.place[columns, 0]]

        def holds(rows: slice) -> bool:
            return bool((np.sum([bit[rows] for bit in bits], axis=0, dtype=np.int32) == 1).all())

        return all(each_block(holds, RowBlocks(self.shape[0])))

    def open(self) -> TermReader:
        """Return what reads blocks of rows, all columns made beforehand."""
        gaps = [place for place, column in enumerate(self.numbers) if self.cache.has_gaps(column)]
        reads = (self.kind != BIT) & np.isin(self.place, gaps)
        made = self.operation, self.kind, self.place, self.knot, self.centre
        return TermReader(
            [self.cache.number(column) for column in self.numbers],
            [self.cache.bits(column) for column in self.bits],
            (*made, 1.0 / self.scale, reads.any(axis=1)),
        )

    def __getitem__(self, rows: NDArray[np.generic]) -> Floats:
        """Return the terms of some rows, (k, d)."""
        whole, reader = np.empty(self.shape), self.open()
        for low, high, tile in reader.tiles(slice(0, self.shape[0])):
            whole[low:high] = tile.T
        return np.asarray(whole[rows])


class TermReader(NamedTuple):
    """Reads blocks of rows: numbers, 0/1 columns, and how terms are made of them."""

    numbers: list[Floats | IndexedCells]
    bits: list[Bytes]
    program: Program

    def cells(self, rows: slice) -> Cells:
        """Return what `fill_terms` makes the terms of some rows of."""
        count = rows.stop - rows.start
        numbers = np.empty((len(self.numbers), count))
        bits = np.empty((len(self.bits), count), np.uint8)
        for out, column in zip(numbers, self.numbers, strict=True):
            if isinstance(column, IndexedCells):
                gather(column.cells, column.rows, rows.start, out)
            else:
                out[:] = column[rows]
        for flags, bit in zip(bits, self.bits, strict=True):
            flags[:] = bit[rows]
        return numbers, bits, self.program

    def tiles(self, rows: slice) -> Iterator[tuple[int, int, Floats]]:
        """Yield the ends of each tile of a block and its terms, (d, high - low).

        The next tile takes the place of the one before.
        """
        cells, out = self.cells(rows), np.empty((len(self.program[0]), TILE_ROWS))
        for low in range(rows.start, rows.stop, TILE_ROWS):
            high = min(low + TILE_ROWS, rows.stop)
            if high - low < TILE_ROWS:
                out = np.empty((len(out), high - low))
            fill_terms(*cells, low - rows.start, out)
            yield low, high, out


def _made_of(column: Column) -> tuple[int, tuple[Column, Column]]:
    """Return an operation and the two parts of a column.

    A distance is what its number exceeds a knot by on either side; the number is held anyway.
    """
    if isinstance(column, Pair):
        return OPERATIONS[column.operation], (column.left, column.right)
    if isinstance(column, Scale) and column.formula == "distance":
        name, middle = column.source, column.numbers[0]
        return OPERATIONS["sum"], (Hinge(name, middle, "above"), Hinge(name, middle, "below"))
    return ALONE, (column, column)


def _part(
    column: Column, numbers: dict[Column, int], bits: dict[Column, int]
) -> tuple[int, int, float]:
    """Return the kind of a part, its place among numbers or 0/1 columns, and its knot."""
    if column.binary:
        return BIT, bits.setdefault(column, len(bits)), 0.0
    if isinstance(column, Hinge):
        side = ABOVE if column.side == "above" else BELOW
        value = Value(column.source)
        return side, numbers.setdefault(value, len(numbers)), column.knot
    return NUMBER, numbers.setdefault(column, len(numbers)), 0.0
