"""Additive passes over blocks of rows: the one way in which all rows are looked at.

A pass is a function of one block whose results are added in block order. Blocks are fixed by the
rows alone, so the sum is the same for any number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.utils.arrays import Index

Block = TypeVar("Block")
BlockRead = TypeVar("BlockRead", covariant=True)
T = TypeVar("T")


class Engine(Protocol[BlockRead]):
    """Rows in blocks: what a pass needs of memory, of files or of a cluster."""

    def map(self, function: Callable[[BlockRead], T], /) -> Iterator[T]:
        """Yield what a function returns for each block, in block order; at least one block."""


@runtime_checkable
class Reducer(Protocol[BlockRead]):
    """Rows in blocks whose results are combined where they are."""

    def reduce(self, function: Callable[[BlockRead], T], plus: Callable[[T, T], T], /) -> T:
        """Return what a function returns for all blocks, combined in the order of a fixed tree."""


class Slices(Sequence[slice]):
    """The rows of arrays in memory, in blocks that are slices of these."""

    __slots__ = ()

    def map(self, function: Callable[[slice], T]) -> Iterator[T]:
        """Yield what a function returns for each slice, in order; they run in threads."""
        return thread_map(function, self)


@dataclass(frozen=True, slots=True)
class RowBlocks(Slices):
    """Blocks of one length."""

    n_rows: int

    def __len__(self) -> int:
        return max(1, -(-self.n_rows // scale.BLOCK_ROWS))

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < len(self):
            raise IndexError(number)
        low = number * scale.BLOCK_ROWS
        return slice(low, min(low + scale.BLOCK_ROWS, self.n_rows))


@dataclass(frozen=True, slots=True)
class UnevenBlocks(Slices):
    """Blocks that begin at `starts` (b + 1,), the end of the last included."""

    starts: Index

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return slice(int(self.starts[number]), int(self.starts[number + 1]))


def search_blocks(n_rows: int) -> UnevenBlocks:
    """Return the blocks of the search, which has few rows beside many terms: short ones."""
    count = max(1, -(-n_rows // scale.SEARCH_BLOCK_ROWS))
    return UnevenBlocks(np.array([n_rows * at // count for at in range(count + 1)], np.intp))


def each_block(function: Callable[[Block], T], rows: Engine[Block]) -> Iterator[T]:
    """Yield what a function returns for each block, in block order."""
    return rows.map(function)


def add(statistic: Callable[[Block], T], rows: Engine[Block]) -> T:
    """Return the sum of a statistic over all blocks, added in block order, or that of a tree.

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
    if isinstance(rows, Reducer):
        total: T = rows.reduce(statistic, plus)
    else:
        total = reduce(plus, rows.map(statistic))
    return total


def plus(total: Any, more: Any) -> Any:
    """Return the sum of two numbers, arrays, or tuples of these."""
    if isinstance(total, tuple):
        return tuple(plus(a, b) for a, b in zip(total, more, strict=True))
    return total + more
