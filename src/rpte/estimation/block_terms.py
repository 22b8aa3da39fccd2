"""How the terms of a block of rows are made, from what its rows have alone.

A hinge or a product of two numbers takes less time to compute than to fetch from memory, so direct
terms are evaluated tile by tile from the numbers and 0/1 columns that they are made of. Nothing
here holds rows: what is made of a block is kept with the block, where it stays in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

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
    fill_terms,
)
from rpte.rows.training_rows import made_once, taken
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Int8s, Int32s

LARGE = 1e150  # products of smaller numbers are finite


@dataclass(frozen=True, slots=True, eq=False)
class BlockTerms:
    """Trees, and direct terms as the penalty sees them: (value - centre) / scale, 0 if missing."""

    trees: tuple[Tree, ...]
    leaves: tuple[Index, ...]  # by tree, the term of each leaf
    numbers: tuple[Column, ...]  # what direct terms are made of
    bits: tuple[Column, ...]
    operation: Int8s  # how, as `fill_terms` has it
    kind: Int8s
    place: Index
    knot: Floats
    centre: Floats  # (d,)
    scale: Floats

    @classmethod
    def of(
        cls, trees: tuple[Tree, ...], columns: Sequence[Column], centre: Floats, scale: Floats
    ) -> BlockTerms:
        """Take some columns apart."""
        made = [_made_of(column) for column in columns]
        numbers: dict[Column, int] = {}
        bits: dict[Column, int] = {}
        known = [_part(part, numbers, bits) for _, pair in made for part in pair]
        kinds, places, knots = zip(*known, strict=True) if known else ((), (), ())
        shape = len(columns), 2
        return cls(
            trees,
            tuple(np.arange(tree.n_leaves) for tree in trees),
            tuple(numbers),
            tuple(bits),
            np.array([operation for operation, _ in made], np.int8),
            np.array(kinds, np.int8).reshape(shape),
            np.array(places, np.intp).reshape(shape),
            np.array(knots, np.float64).reshape(shape),
            centre,
            scale,
        )

    def tied(self, groups: Sequence[Index]) -> BlockTerms:
        """Return the same with the leaves of each tree in groups, by number."""
        pairs = zip(groups, self.leaves, strict=True)
        return replace(self, leaves=tuple(group[leaves] for group, leaves in pairs))

    @property
    def n_direct(self) -> int:
        """Number of direct terms."""
        return len(self.operation)

    def are_flags(self, columns: Index) -> bool:
        """Tell whether some direct terms are 0/1 columns."""
        alone = (self.operation[columns] == ALONE) & (self.kind[columns, 0] == BIT)
        return bool(alone.all())

    def flags(self, block: Table, columns: Index) -> list[Array]:
        """Return direct terms that are 0/1 columns."""
        return [_bits(block, self.bits[place]) for place in self.place[columns, 0]]

    def codes(self, block: Table, step: int = 1) -> Int32s:
        """Return the leaf of every `step`-th row among the terms of its tree, (M, rows)."""
        rows = len(range(0, block.n_rows, step))
        out = np.empty((len(self.trees), rows), np.int32)
        for codes, tree, leaves in zip(out, self.trees, self.leaves, strict=True):
            np.take(leaves, leaves_of(block, tree)[::step], out=codes, mode="clip")
        return out

    def cells(self, block: Table, step: int = 1) -> Cells:
        """Return what `fill_terms` makes the direct terms of every `step`-th row of."""
        rows = len(range(0, block.n_rows, step))
        numbers = np.empty((len(self.numbers), rows))
        bits = np.empty((len(self.bits), rows), np.uint8)
        gaps = np.zeros(len(self.numbers), np.bool_)
        for place, column in enumerate(self.numbers):
            x = _numbers(block, column)
            numbers[place] = x[::step]
            gaps[place] = made_once(block, (column, "gaps"), partial(_has_gaps, x))
        for flags, column in zip(bits, self.bits, strict=True):
            flags[:] = _bits(block, column)[::step]
        reads = (self.kind != BIT) & np.isin(self.place, np.flatnonzero(gaps))
        made = self.operation, self.kind, self.place, self.knot, self.centre
        return numbers, bits, (*made, 1.0 / self.scale, reads.any(axis=1))

    def tiles(self, block: Table, step: int = 1) -> Iterator[tuple[int, int, Floats]]:
        """Yield the ends of each tile of a block and its direct terms, (d, high - low).

        Of every `step`-th row. The next tile takes the place of the one before.
        """
        cells, out = self.cells(block, step), np.empty((self.n_direct, TILE_ROWS))
        rows = cells[0].shape[1]
        for low in range(0, rows, TILE_ROWS):
            high = min(low + TILE_ROWS, rows)
            if high - low < TILE_ROWS:
                out = np.empty((self.n_direct, high - low))
            fill_terms(*cells, low, out)
            yield low, high, out


def leaves_of(block: Table, tree: Tree) -> Array:
    """Return the leaf that each row of a block reaches, (rows,)."""

    def made() -> Array:
        inputs = taken(block, tree.sources)
        return tree.apply(inputs).astype(np.min_scalar_type(tree.n_leaves))

    return made_once(block, tree, made)


def _numbers(block: Table, column: Column) -> Array:
    if isinstance(column, Value):
        return made_once(block, column.source, partial(column.evaluate, block.inputs))
    return made_once(block, column, lambda: column.evaluate(taken(block, column.sources)))


def _has_gaps(x: Array) -> Array:
    """Tell whether a number may be missing somewhere, or its products overflow."""
    ends = (float(x.max()), float(x.min())) if len(x) else (0.0, 0.0)
    return np.array(not (ends[0] <= LARGE and ends[1] >= -LARGE))


def _bits(block: Table, column: Column) -> Array:
    def made() -> Array:
        return column.evaluate(taken(block, column.sources)).astype(np.uint8)

    return made_once(block, column, made)


def _made_of(column: Column) -> tuple[int, tuple[Column, Column]]:
    """Return an operation and the two parts of a column.

    A distance is what its number exceeds a knot by on either side; the number is held anyway.
    """
    if isinstance(column, Pair):
        return OPERATIONS[column.operation], (column.left, column.right)
    if isinstance(column, Scale) and column.formula == "distance" and not column.limited:
        name, middle = column.source, column.numbers[0]
        return OPERATIONS["sum"], (Hinge(name, middle, "above"), Hinge(name, middle, "below"))
    return ALONE, (column, column)


def _part(
    column: Column, numbers: dict[Column, int], bits: dict[Column, int]
) -> tuple[int, int, float]:
    """Return the kind of a part, its place among numbers or 0/1 columns, and its knot."""
    if column.binary:
        return BIT, bits.setdefault(column, len(bits)), 0.0
    if isinstance(column, Hinge) and column.end is None:
        side = ABOVE if column.side == "above" else BELOW
        value = Value(column.source)
        return side, numbers.setdefault(value, len(numbers)), column.knot
    return NUMBER, numbers.setdefault(column, len(numbers)), 0.0
