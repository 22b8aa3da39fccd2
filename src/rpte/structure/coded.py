"""Columns and trees in code space: bins and levels as small integers, no thresholds yet.

Stage 2 sees nothing else. A `CodeTree` says between which two bins of its node a split lies;
`rpte.structure.tree` turns that into a threshold that a person can read.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.growth import LEVELS, ORDERED, reached_leaves
from rpte.utils.arrays import Bytes, Int32s, Ints, Mask

Codes = Bytes | NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """The vocabulary as codes; its order is canonical and breaks ties.

    `codes` are uint8 or uint16, C-contiguous: 0 .. n_bins[j] - 1, or n_bins[j] where missing.
    """

    codes: Codes  # (V, n)
    n_bins: Ints
    is_category: Mask  # codes are unordered levels
    sources: tuple[tuple[int, ...], ...]  # one or two source numbers
    root_only: Mask  # may only be the root of a lookahead microtree

    def __post_init__(self) -> None:
        if self.codes.dtype not in (np.uint8, np.uint16) or not self.codes.flags.c_contiguous:
            raise ValueError(
                f"codes are {self.codes.dtype}, contiguous: {self.codes.flags.c_contiguous}; "
                "pass a C-contiguous (V, n) array of uint8 or uint16"
            )
        lengths = {len(self.n_bins), len(self.is_category), len(self.sources), len(self.root_only)}
        if lengths != {self.n_columns}:
            raise ValueError(f"codes have {self.n_columns} columns, the other fields {lengths}")

    @property
    def n_columns(self) -> int:
        """Number of columns V."""
        return int(self.codes.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return int(self.codes.shape[1])


@dataclass(frozen=True, slots=True)
class Split:
    """One test of a node: which codes of one column go left."""

    column: int
    test: int
    missing_code: int  # the column's number of bins
    missing_left: bool
    gain: float
    bin: int = -1  # the neighbouring non-empty bins of an ordered test
    next_bin: int = -1
    left_levels: tuple[int, ...] = ()  # the levels that the node saw
    right_levels: tuple[int, ...] = ()

    def table(self) -> Mask:
        """Say for every code, missing last, whether it goes left: (missing_code + 1,).

        Levels the node never saw follow missing.
        """
        goes_left = np.full(self.missing_code + 1, self.missing_left)
        if self.test == ORDERED:
            goes_left[:-1] = np.arange(self.missing_code) <= self.bin
        elif self.test == LEVELS:
            goes_left[list(self.left_levels)] = True
            goes_left[list(self.right_levels)] = False
        else:
            goes_left[:-1] = False
        return goes_left


@dataclass(frozen=True, slots=True, eq=False)
class CodeTree:
    """A partition of the rows; node 0 is the root, children follow parents. All by node."""

    splits: tuple[Split | None, ...]  # None at a leaf
    left: Int32s  # child, -1 at a leaf
    right: Int32s
    leaf: Int32s  # number of the leaf, from left to right; -1 at an inner node

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.splits.count(None)

    @property
    def used_columns(self) -> tuple[int, ...]:
        """The columns that some node tests, ascending."""
        return tuple(sorted({split.column for split in self.splits if split is not None}))

    def apply(self, codes: Codes) -> Int32s:
        """Return the leaf number of every row: (V, n) codes -> (n,) int32."""
        found = np.empty(codes.shape[1], dtype=np.int32)
        column = np.array([-1 if s is None else s.column for s in self.splits], np.int32)
        tables = [np.zeros(0, np.bool_) if s is None else s.table() for s in self.splits]
        starts = np.cumsum([0, *map(len, tables)])[:-1]
        children = np.stack([self.right, self.left], axis=1)
        tree = column, children, starts, np.concatenate(tables), self.leaf
        reached_leaves(codes, tree, found)
        return found


class TreeBuilder:
    """A tree while it grows: `split` leaves one by one, then `finish`."""

    def __init__(self) -> None:
        self.splits: list[Split | None] = [None]
        self.children: list[tuple[int, int]] = [(-1, -1)]
        self.depth = [0]

    @property
    def n_leaves(self) -> int:
        """Number of leaves so far."""
        return self.splits.count(None)

    def split(self, node: int, split: Split) -> None:
        """Turn leaf `node` into an inner node; its children are the two newest nodes."""
        first = len(self.splits)
        self.splits[node] = split
        self.children[node] = (first, first + 1)
        self.splits += [None, None]
        self.children += [(-1, -1)] * 2
        self.depth += [self.depth[node] + 1] * 2

    def finish(self) -> CodeTree | None:
        """Freeze the tree and number its leaves from left to right; None if nothing was split."""
        if self.n_leaves == 1:
            return None
        numbers = np.full(len(self.splits), -1, dtype=np.int32)
        waiting, count = [0], 0
        while waiting:
            node = waiting.pop()
            if self.splits[node] is None:
                numbers[node] = count
                count += 1
            else:
                waiting += self.children[node][::-1]
        left, right = np.array(self.children, np.int32).T.copy()
        return CodeTree(tuple(self.splits), left, right, numbers)
