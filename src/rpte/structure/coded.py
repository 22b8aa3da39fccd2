"""Columns and trees in code space: bins and levels as small integers, no thresholds yet.

Stage 2 sees nothing else. A `CodeTree` says between which two bins of its node a split lies;
`rpte.structure.tree` turns that into a threshold that a person can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.growth import IS_MISSING, LEVELS, ORDERED, reached_leaves

Codes = NDArray[np.uint8] | NDArray[np.uint16]

__all__ = ["IS_MISSING", "LEVELS", "ORDERED", "CodeTree", "CodedColumns", "Split", "TreeBuilder"]


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """The vocabulary as codes; its order is canonical and breaks ties.

    Parameters
    ----------
    codes : (V, n) uint8 or uint16, C-contiguous
        Ordinary codes are 0 .. n_bins[j] - 1; missing rows carry n_bins[j].
    n_bins : (V,) int64
    is_category : (V,) bool
        The codes are unordered levels.
    sources : V tuples of one or two source numbers
    root_only : (V,) bool
        The column may only be the root of a lookahead microtree.
    """

    codes: Codes
    n_bins: NDArray[np.int64]
    is_category: NDArray[np.bool_]
    sources: tuple[tuple[int, ...], ...]
    root_only: NDArray[np.bool_]

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
    """One test of a node: which codes of one column go left.

    `bin` and `next_bin` are the neighbouring non-empty bins of an ordered test; `left_levels` and
    `right_levels` the levels the node saw. `missing_code` is the column's number of bins.
    """

    column: int
    test: int
    missing_code: int
    missing_left: bool
    gain: float
    bin: int = -1
    next_bin: int = -1
    left_levels: tuple[int, ...] = ()
    right_levels: tuple[int, ...] = ()

    def table(self) -> NDArray[np.bool_]:
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
    """A partition of the rows, its nodes as arrays; node 0 is the root, children follow parents.

    Parameters
    ----------
    column : int32, -1 for a leaf
    test : int8
        0 ordered: left iff code <= bin; 1 levels: left iff code in `left_levels`; 2 left iff
        missing.
    bin, next_bin : int32
        Ordered tests: the last non-empty bin on the left and the first on the right, in this node.
    missing_code : int32
        Number of bins of the column, which is the code of a missing value; -1 for a leaf.
    left_levels, right_levels : tuple of levels per node, empty unless test 1
        The levels seen in the node; all others follow missing.
    missing_left : bool
    left, right : int32, -1 for a leaf
    weight : sum of weights in the node
    gain : gain of the node's split, 0 for a leaf
    order : int32, the step at which the node was split, -1 for a leaf
    depth : int32, 0 for the root
    leaf : int32, number of the leaf counted from left to right, -1 for an inner node
    """

    column: NDArray[np.int32]
    test: NDArray[np.int8]
    bin: NDArray[np.int32]
    next_bin: NDArray[np.int32]
    missing_code: NDArray[np.int32]
    left_levels: tuple[tuple[int, ...], ...]
    right_levels: tuple[tuple[int, ...], ...]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    weight: NDArray[np.float64]
    gain: NDArray[np.float64]
    order: NDArray[np.int32]
    depth: NDArray[np.int32]
    leaf: NDArray[np.int32]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.column < 0))

    @property
    def used_columns(self) -> tuple[int, ...]:
        """The columns that some node tests, ascending."""
        return tuple(int(j) for j in np.unique(self.column[self.column >= 0]))

    def split(self, node: int) -> Split:
        """Return the test of an inner node."""
        return Split(
            column=int(self.column[node]),
            test=int(self.test[node]),
            missing_code=int(self.missing_code[node]),
            missing_left=bool(self.missing_left[node]),
            gain=float(self.gain[node]),
            bin=int(self.bin[node]),
            next_bin=int(self.next_bin[node]),
            left_levels=self.left_levels[node],
            right_levels=self.right_levels[node],
        )

    def apply(self, codes: Codes) -> NDArray[np.int32]:
        """Return the leaf number of every row: (V, n) codes -> (n,) int32."""
        found = np.empty(codes.shape[1], dtype=np.int32)
        inner = np.flatnonzero(self.column >= 0)
        answers = [self.split(node).table() for node in inner.tolist()]
        starts = np.zeros(len(self.column), np.int64)
        starts[inner] = np.cumsum([0, *map(len, answers)])[:-1]
        goes_left = np.concatenate([np.zeros(0, np.bool_), *answers])
        children = np.stack([self.right, self.left], axis=1)
        reached_leaves(codes, self.column, children, starts, goes_left, self.leaf, found)
        return found


class TreeBuilder:
    """A tree while it grows: `split` leaves one by one, then `finish`."""

    def __init__(self, weight: float) -> None:
        self.splits: list[Split | None] = [None]
        self.children: list[tuple[int, int]] = [(-1, -1)]
        self.weight = [weight]
        self.depth = [0]
        self.order = [-1]
        self.n_splits = 0

    @property
    def n_leaves(self) -> int:
        """Number of leaves so far."""
        return self.n_splits + 1

    def split(self, node: int, split: Split, left_weight: float, right_weight: float) -> None:
        """Turn leaf `node` into an inner node; its children are the two newest nodes."""
        first = len(self.splits)
        self.splits[node] = split
        self.children[node] = (first, first + 1)
        self.order[node] = self.n_splits
        self.n_splits += 1
        for weight in (left_weight, right_weight):
            self.splits.append(None)
            self.children.append((-1, -1))
            self.weight.append(weight)
            self.depth.append(self.depth[node] + 1)
            self.order.append(-1)

    def finish(self) -> CodeTree:
        """Freeze the tree and number its leaves from left to right."""
        return CodeTree(
            column=self._field("column", -1, np.int32),
            test=self._field("test", ORDERED, np.int8),
            bin=self._field("bin", -1, np.int32),
            next_bin=self._field("next_bin", -1, np.int32),
            missing_code=self._field("missing_code", -1, np.int32),
            left_levels=tuple(() if s is None else s.left_levels for s in self.splits),
            right_levels=tuple(() if s is None else s.right_levels for s in self.splits),
            missing_left=self._field("missing_left", False, np.bool_),
            left=np.array([left for left, _ in self.children], dtype=np.int32),
            right=np.array([right for _, right in self.children], dtype=np.int32),
            weight=np.array(self.weight),
            gain=self._field("gain", 0.0, np.float64),
            order=np.array(self.order, dtype=np.int32),
            depth=np.array(self.depth, dtype=np.int32),
            leaf=self._leaf_numbers(),
        )

    def _field(self, name: str, at_leaf: float, dtype: Any) -> NDArray[Any]:
        return np.array([at_leaf if s is None else getattr(s, name) for s in self.splits], dtype)

    def _leaf_numbers(self) -> NDArray[np.int32]:
        numbers = np.full(len(self.splits), -1, dtype=np.int32)
        waiting, count = [0], 0
        while waiting:
            node = waiting.pop()
            if self.splits[node] is None:
                numbers[node] = count
                count += 1
            else:
                left, right = self.children[node]
                waiting += [right, left]
        return numbers
