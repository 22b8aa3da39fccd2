"""Additive passes over blocks of rows: the one way in which all rows are looked at.

A pass is a function of one block whose results are added in block order. Blocks are fixed by the
rows alone, so the sum is the same for any number of threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.table.table import Table
from rpte.utils.arrays import Index

Block = TypeVar("Block")
BlockRead = TypeVar("BlockRead", covariant=True)
T = TypeVar("T")


class Engine(Protocol[BlockRead]):
    """Rows in blocks: what a pass needs of memory, of files or of a cluster."""

    def __len__(self) -> int:
        """Return the number of blocks: at least one, which may be empty."""

    def read(self, number: int, /) -> BlockRead:
        """Return one block; several threads may ask at once."""


@dataclass(frozen=True, slots=True)
class RowBlocks:
    """The rows of arrays in memory: a block is a slice of these."""

    n_rows: int

    def __len__(self) -> int:
        return max(1, -(-self.n_rows // scale.BLOCK_ROWS))

    def read(self, number: int) -> slice:
        """Return the rows of a block."""
        low = number * scale.BLOCK_ROWS
        return slice(low, min(low + scale.BLOCK_ROWS, self.n_rows))


@dataclass(frozen=True, slots=True)
class UnevenBlocks:
    """Rows in blocks that begin at `starts` (b + 1,), the end of the last included."""

    starts: Index

    def __len__(self) -> int:
        return len(self.starts) - 1

    def read(self, number: int) -> slice:
        """Return the rows of a block."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))


@dataclass(frozen=True, slots=True)
class TableBlocks:
    """A table in memory: a block is the table of its rows."""

    table: Table

    def __len__(self) -> int:
        return len(RowBlocks(self.table.n_rows))

    def read(self, number: int) -> Table:
        """Return cells, targets and weights of the rows of a block."""
        table, rows = self.table, RowBlocks(self.table.n_rows).read(number)
        return Table(table.inputs.take(rows), table.y[rows], table.weight[rows], loss=table.loss)


def each_block(function: Callable[[Block], T], rows: Engine[Block]) -> Iterator[T]:
    """Yield what a function returns for each block, in block order; blocks run in threads."""
    return thread_map(lambda number: function(rows.read(number)), range(len(rows)))


def add(statistic: Callable[[Block], T], rows: Engine[Block]) -> T:
    """Return the sum of a statistic over all blocks, added in block order.

    Parameters
    ----------
    statistic : callable
        From a block to a number, an array, or a tuple of these.
    rows : Engine

    Examples
    --------
    >>> import numpy as np
    >>> weight = np.ones(40_000)
    >>> add(lambda rows: float(weight[rows].sum()), RowBlocks(len(weight)))
    40000.0
    """
    found = each_block(statistic, rows)
    total: Any = next(found)
    for more in found:
        total = _plus(total, more)
    return total  # type: ignore[no-any-return]


def _plus(total: Any, more: Any) -> Any:
    if isinstance(total, tuple):
        return tuple(_plus(a, b) for a, b in zip(total, more, strict=True))
    return total + more
