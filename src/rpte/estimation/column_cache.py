"""Direct terms of many rows: evaluated a block of rows at a time instead of being held.

A hinge or a product of two numbers takes less time to compute than to fetch from memory, and what
is held is one column per variable (as much of it as there is room for), 0/1 columns as bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    Program,
    fill_terms,
    gather,
)
from rpte.table.inputs import Inputs

__all__ = ["ColumnCache", "Evaluated", "Places"]

Vector = NDArray[np.float64]

BLOCK = 1024
CHUNK = 16_384  # rows whose cells are fetched together
SOME, MOST = 4096, 256  # rows that tell whether numbers are few, and how many these are
LARGE = 1e150  # products of smaller numbers are finite
HELD_CELLS = 12_000_000  # numbers of variables that are held in order; others are taken each time


class Places(NamedTuple):
    """A column as cells, and the place of each row (n,) among them."""

    cells: Vector
    rows: NDArray[Any]


class ColumnCache:
    """Columns of some rows that the direct terms of several models read, each made once."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._bits: dict[Column, NDArray[np.uint8]] = {}
        self._numbers: dict[Column, Vector | Places] = {}
        self._codes: dict[str, NDArray[np.int32]] = {}
        self._gaps: dict[Column, bool] = {}

    def bits(self, column: Column) -> NDArray[np.uint8]:
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
        known: dict[str, NDArray[Any]] = {**self._codes}
        for column, numbers in self._numbers.items():
            if isinstance(column, Value) and isinstance(numbers, np.ndarray):
                known[column.source] = numbers
        columns = [known[name] if name in known else some[name] for name in some.schema.names]
        return replace(some, columns=columns)

    def number(self, column: Column) -> Vector | Places:
        """Return a number, (n,), or where its cells are if there is no room for it."""
        if column not in self._numbers:
            self._numbers[column] = self._made(column)
        return self._numbers[column]

    def _made(self, column: Column) -> Vector | Places:
        crowded = self.inputs.n_rows * len(self.inputs.schema) > HELD_CELLS
        if not (crowded and isinstance(column, Value)):
            return column.evaluate(self.in_order(column.sources))
        cells, rows = self.inputs.source(column.source)
        few = _few(cells, rows)
        held = sum(isinstance(numbers, np.ndarray) for numbers in self._numbers.values())
        if few is None and held * self.inputs.n_rows <= HELD_CELLS:
            return cells[rows]
        return few or Places(cells, rows)

    def has_gaps(self, column: Column) -> bool:
        """Tell whether a number may be missing somewhere, or its products overflow."""
        if column not in self._gaps:
            numbers = self.number(column)
            x = numbers.cells if isinstance(numbers, Places) else numbers
            self._gaps[column] = not (x.max() <= LARGE and x.min() >= -LARGE)
        return self._gaps[column]


def _few(cells: Vector, rows: NDArray[np.intp]) -> Places | None:
    """Return the distinct numbers of some rows and where they are, None if there are many."""
    if len(np.unique(cells[rows[:SOME]])) > MOST:
        return None
    distinct = np.unique(cells)
    if len(distinct) > MOST:
        return None
    return Places(distinct, np.searchsorted(distinct, cells).astype(np.uint8)[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Direct terms as the penalty sees them, (value - centre) / scale, 0 where missing.

    Parameters
    ----------
    cache : ColumnCache
    shape : (rows, terms)
    numbers, bits : tuples of columns
        What the terms are made of.
    operation, kind, place, knot
        How, as `fill_terms` has it.
    centre, scale : (d,)
    """

    cache: ColumnCache
    shape: tuple[int, int]
    numbers: tuple[Column, ...]
    bits: tuple[Column, ...]
    operation: NDArray[np.int8]
    kind: NDArray[np.int8]
    place: NDArray[np.intp]
    knot: Vector
    centre: Vector
    scale: Vector

    @classmethod
    def of(
        cls, cache: ColumnCache, columns: Sequence[Column], centre: Vector, scale: Vector
    ) -> Evaluated:
        """Take some columns apart."""
        made = [_made_of(column) for column in columns]
        numbers: dict[Column, int] = {}
        bits: dict[Column, int] = {}
        known = [[_part(part, numbers, bits) for part in pair] for _, pair in made]
        shape = len(columns), 2
        return cls(
            cache,
            (cache.inputs.n_rows, len(columns)),
            tuple(numbers),
            tuple(bits),
            np.array([operation for operation, _ in made], np.int8),
            np.array([[part[0] for part in pair] for pair in known], np.int8).reshape(shape),
            np.array([[part[1] for part in pair] for pair in known], np.intp).reshape(shape),
            np.array([[part[2] for part in pair] for pair in known], np.float64).reshape(shape),
            centre,
            scale,
        )

    def first_rows(self, rows: int) -> Evaluated:
        """Return the terms of the first rows."""
        return replace(self, shape=(rows, self.shape[1]))

    def sum_to_one(self, columns: NDArray[np.intp]) -> bool:
        """Tell whether some terms sum to one on every row; only 0/1 columns can."""
        if (self.operation[columns] != ALONE).any() or (self.kind[columns] != BIT).any():
            return False
        total = np.zeros(self.shape[0], np.int32)
        for place in self.place[columns, 0]:
            total += self.cache.bits(self.bits[place])[: len(total)]
        return bool((total == 1).all())

    def program(self) -> Program:
        """Return how terms are made of cells, as `fill_terms` has it."""
        missing = {place for place, c in enumerate(self.numbers) if self.cache.has_gaps(c)}
        reads = (self.kind != BIT) & np.isin(self.place, list(missing))
        inverse = 1.0 / self.scale
        return (
            self.operation,
            self.kind,
            self.place,
            self.knot,
            self.centre,
            inverse,
            reads.any(axis=1),
        )

    def chunks(self, rows: int) -> Iterator[tuple[int, int, Vector, NDArray[np.uint8]]]:
        """Yield the ends of each chunk of the first `rows`, its numbers and its 0/1 columns.

        The next chunk takes the place of the one before; only the leading columns are of it.
        """
        bits = [self.cache.bits(column) for column in self.bits]
        numbers = np.empty((len(self.numbers), CHUNK))
        flags = np.empty((len(bits), CHUNK), np.uint8)
        for low in range(0, rows, CHUNK):
            high = min(low + CHUNK, rows)
            self._fetch(low, high, numbers)
            for row, bit in zip(flags, bits, strict=True):
                row[: high - low] = bit[low:high]
            yield low, high, numbers, flags

    def blocks(self, rows: int) -> Iterator[tuple[int, int, Vector]]:
        """Yield the ends of each block of the first `rows` and its terms, (d, high - low).

        The next block takes the place of the one before.
        """
        program, out = self.program(), np.empty((self.shape[1], min(BLOCK, rows)))
        for start, end, numbers, flags in self.chunks(rows):
            for low in range(start, end, BLOCK):
                high = min(low + BLOCK, end)
                if high - low < out.shape[1]:
                    out = np.empty((self.shape[1], high - low))
                fill_terms(numbers, flags, program, low - start, out)
                yield low, high, out

    def _fetch(self, low: int, high: int, out: Vector) -> None:
        """Fill the leading columns of `out` with the numbers of some rows."""
        for row, column in zip(out, self.numbers, strict=True):
            numbers = self.cache.number(column)
            if isinstance(numbers, Places):
                gather(numbers.cells, numbers.rows, low, row[: high - low])
            else:
                row[: high - low] = numbers[low:high]

    def __getitem__(self, rows: NDArray[np.generic]) -> Vector:
        """Return the terms of some rows, (k, d)."""
        whole = np.empty(self.shape)
        for low, high, block in self.blocks(self.shape[0]):
            whole[low:high] = block.T
        return np.asarray(whole[rows])


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
