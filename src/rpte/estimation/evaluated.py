"""Direct terms of many rows: evaluated a block of rows at a time instead of being held.

A hinge or a product of two numbers takes less time to compute than to fetch from memory, and what
is held is one column per variable (as much of it as there is room for), 0/1 columns as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.design_products import ROW_BLOCK
from rpte.kernels.direct_terms import ABOVE, ALONE, BELOW, BIT, NUMBER, OPERATIONS, fill_terms
from rpte.table.inputs import Inputs
from rpte.vocabulary.columns import Column, Hinge, Pair, Value

__all__ = ["Evaluated", "Shelf"]

Vector = NDArray[np.float64]

BLOCK = ROW_BLOCK
HELD_CELLS = 24_000_000  # numbers of variables that are held in order; others are taken each time


class Shelf:
    """Columns of some rows that the direct terms of several models read, each made once."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._bits: dict[Column, NDArray[np.uint8]] = {}
        self._numbers: dict[Column, Vector] = {}

    def bits(self, column: Column) -> NDArray[np.uint8]:
        """Return a 0/1 column, (n,)."""
        if column not in self._bits:
            self._bits[column] = column.evaluate(self.inputs).astype(np.uint8)
        return self._bits[column]

    def number(self, column: Column) -> Vector | None:
        """Return a number, (n,); None for a variable as it is where there is no room for it."""
        held = len(self._numbers) * self.inputs.n_rows
        if isinstance(column, Value) and column not in self._numbers and held > HELD_CELLS:
            return None
        if column not in self._numbers:
            self._numbers[column] = column.evaluate(self.inputs)
        return self._numbers[column]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Direct terms as the penalty sees them, (value - centre) / scale, 0 where missing.

    Parameters
    ----------
    shelf : Shelf
    shape : (rows, terms)
    numbers, bits : tuples of columns
        What the terms are made of.
    operation, kind, place, knot
        How, as `fill_terms` has it.
    centre, scale : (d,)
    """

    shelf: Shelf
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
        cls, shelf: Shelf, columns: Sequence[Column], centre: Vector, scale: Vector
    ) -> Evaluated:
        """Take some columns apart."""
        parts = [(c.left, c.right) if isinstance(c, Pair) else (c, c) for c in columns]
        numbers: dict[Column, int] = {}
        bits: dict[Column, int] = {}
        known = [[_part(part, numbers, bits) for part in pair] for pair in parts]
        shape = len(columns), 2
        return cls(
            shelf,
            (shelf.inputs.n_rows, len(columns)),
            tuple(numbers),
            tuple(bits),
            np.array(
                [OPERATIONS[c.operation] if isinstance(c, Pair) else ALONE for c in columns],
                np.int8,
            ),
            np.array([[part[0] for part in pair] for pair in known], np.int8).reshape(shape),
            np.array([[part[1] for part in pair] for pair in known], np.intp).reshape(shape),
            np.array([[part[2] for part in pair] for pair in known], np.float64).reshape(shape),
            centre,
            scale,
        )

    def head(self, rows: int) -> Evaluated:
        """Return the terms of the first rows."""
        return replace(self, shape=(rows, self.shape[1]))

    def blocks(self, rows: int) -> Iterator[tuple[int, int, Vector]]:
        """Yield the ends of each block of the first `rows` and its terms, (d, high - low).

        The next block takes the place of the one before.
        """
        held = [self.shelf.number(column) for column in self.numbers]
        bits = [self.shelf.bits(column) for column in self.bits]
        numbers = np.empty((len(held), BLOCK))
        flags = np.empty((len(bits), BLOCK), np.uint8)
        out = np.empty((self.shape[1], min(BLOCK, rows)))
        for low in range(0, rows, BLOCK):
            high = min(low + BLOCK, rows)
            self._fetch(held, low, high, numbers)
            for row, bit in zip(flags, bits, strict=True):
                row[: high - low] = bit[low:high]
            if high - low < out.shape[1]:
                out = np.empty((self.shape[1], high - low))
            fill_terms(
                numbers,
                flags,
                self.operation,
                self.kind,
                self.place,
                self.knot,
                self.centre,
                self.scale,
                out,
            )
            yield low, high, out

    def _fetch(self, held: list[Vector | None], low: int, high: int, out: Vector) -> None:
        """Fill the leading columns of `out` with the numbers of a block of rows."""
        inputs = self.shelf.inputs
        for row, column, numbers in zip(out, self.numbers, held, strict=True):
            if numbers is None:
                row[: high - low] = inputs.part(column.sources[0], low, high)
            else:
                row[: high - low] = numbers[low:high]

    def __getitem__(self, rows: NDArray[np.generic]) -> Vector:
        """Return the terms of some rows, (k, d)."""
        whole = np.empty(self.shape)
        for low, high, block in self.blocks(self.shape[0]):
            whole[low:high] = block.T
        return np.asarray(whole[rows])


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
