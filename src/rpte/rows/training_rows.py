"""All rows of a fit, wherever they are: their sums, what is searched of them, and passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from rpte.losses import Loss
from rpte.rows.folds import Validation
from rpte.rows.passes import RowBlocks
from rpte.rows.threads import thread_map
from rpte.table.inputs import Inputs, Picked
from rpte.table.schema import Schema
from rpte.table.table import Table
from rpte.utils.arrays import Array

T = TypeVar("T")

# What is kept of what passes make of a table: bytes, or bytes for each of its cells if more.
KEPT_BYTES, KEPT_PER_CELL = 96 * 2**20, 8


class TrainingRows(Protocol):
    """All rows of a fit: in memory, in files or on a cluster.

    A block is a `Table` of some rows, without a place among all.
    """

    @property
    def schema(self) -> Schema:
        """The schema of the columns, learned from all rows."""

    @property
    def loss(self) -> Loss:
        """The loss of the targets."""

    @property
    def n_rows(self) -> int:
        """Number of rows, those that are merged counted once."""

    @property
    def n_cases(self) -> int:
        """Number of cases that these stand for."""

    @property
    def total_weight(self) -> float:
        """Sum of weights."""

    @property
    def target_total(self) -> float:
        """Sum of weight times target."""

    def searched(self, validation: Validation) -> Table:
        """Return what is searched, in memory: all rows, or a random sample of them."""

    def whole(self) -> Table:
        """Return all rows as a table in memory; raise `InputError` where they do not fit."""

    def map(self, function: Callable[[Table], T], /) -> Iterator[T]:
        """Yield what a function returns for each block, in block order; at least one block.

        The function has no table and no engine in it, so that it may go to other machines; it is
        called with BLAS on one thread.
        """


@dataclass(frozen=True, slots=True)
class KeptBlock(Table):
    """A block that stays in memory, with what passes have made of it, as far as there is room."""

    made: dict[Hashable, Array] = field(default_factory=dict)
    room: int = 0  # bytes

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.inputs, self.y, self.weight, self.part, self.hashes, self.cases, self.loss
        return KeptBlock, (*own, {}, self.room)  # what was made can be made again


def made_once(block: Table, key: Hashable, make: Callable[[], Array]) -> Array:
    """Return what is made of a block, kept for the next pass where it stays in memory.

    Numbers that single precision holds exactly are kept in it.
    """
    if not isinstance(block, KeptBlock):
        return make()
    known = block.made.get(key)
    if known is None:
        known = make()
        if known.dtype == np.float64:
            with np.errstate(over="ignore"):
                single = known.astype(np.float32)
            known = single if np.array_equal(single, known, equal_nan=True) else known
        held = list(block.made.values())  # of other threads too
        if known.nbytes + sum(array.nbytes for array in held) <= block.room:
            block.made[key] = known
    return known


def taken(block: Table, names: Collection[str]) -> Inputs:
    """Return some variables of a block, each column put in order once where it stays in memory."""
    some = block.inputs.only(names)
    if not isinstance(some.columns, Picked):
        return some
    found = [made_once(block, name, partial(some.__getitem__, name)) for name in some.schema.names]
    whole = [x.astype(np.float64) if x.dtype == np.float32 else x for x in found]
    return replace(some, columns=tuple(whole))


class MemoryRows:
    """A table in memory, in the order that content gives its rows."""

    def __init__(self, table: Table) -> None:
        self.table = table
        rows = RowBlocks(table.n_rows)
        most = max(KEPT_BYTES, KEPT_PER_CELL * table.n_rows * len(table.schema))
        self._blocks = [_block(table, part, most // len(rows)) for part in rows]

    @property
    def schema(self) -> Schema:
        """The schema of the columns."""
        return self.table.schema

    @property
    def loss(self) -> Loss:
        """The loss of the targets."""
        return self.table.loss

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return self.table.n_rows

    @property
    def n_cases(self) -> int:
        """Number of cases that these stand for."""
        return self.table.n_cases

    @property
    def total_weight(self) -> float:
        """Sum of weights."""
        return self.table.total_weight

    @property
    def target_total(self) -> float:
        """Sum of weight times target."""
        # Block by block, as files give it: of numbers, every order of a sum has its own last bit.
        return sum(float((block.weight * block.y).sum()) for block in self._blocks)

    def searched(self, validation: Validation) -> Table:
        """Return the table, or a sample of it where it is long."""
        return validation.sample(self.table)

    def whole(self) -> Table:
        """Return the table."""
        return self.table

    def map(self, function: Callable[[Table], T]) -> Iterator[T]:
        """Yield what a function returns for each block, in order; they run in threads."""
        return thread_map(function, self._blocks)

    def beside(self, *values: Array) -> Beside:
        """Return the blocks, each with its rows of some values (..., n)."""
        parts = zip(self._blocks, RowBlocks(self.n_rows), strict=True)
        return Beside([(block, *(each[..., at] for each in values)) for block, at in parts])


@dataclass(frozen=True, slots=True)
class Beside:
    """Blocks with values that only some passes need."""

    blocks: list[tuple[Any, ...]]  # a `KeptBlock` and its values

    def map(self, function: Callable[[tuple[Any, ...]], T], /) -> Iterator[T]:
        """Yield what a function returns for each block with its values, in order."""
        return thread_map(function, self.blocks)


def _block(table: Table, rows: slice, room: int) -> KeptBlock:
    """Return some rows; cells in another order are taken when they are asked for."""
    inputs, y, weight = table.inputs, table.y[rows], table.weight[rows]
    if isinstance(inputs.columns, Picked):
        columns = Picked(inputs.columns.columns, inputs.columns.rows[rows])
        specials = {place: codes[rows] for place, codes in inputs.specials.items()}
        inputs = Inputs(inputs.schema, columns, specials)
    else:
        inputs = inputs.take(rows)
    hashes = None if table.hashes is None else table.hashes[rows]
    return KeptBlock(inputs, y, weight, hashes=hashes, loss=table.loss, room=room)
