"""Rows of columns: all of them, or some that are taken only when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Picked(Sequence[Array]):
    """Some rows of columns, each taken from them when it is asked for.

    A table of many rows in another order takes no memory that way. A -0.0 is 0.0 once it is taken.

    Parameters
    ----------
    columns : sequence of arrays, each of shape (n,)
    rows : (n_rows,)
        Positions in the columns.
    """

    __slots__ = ("columns", "rows")

    def __init__(self, columns: Sequence[Array], rows: NDArray[np.intp]) -> None:
        self.columns, self.rows = columns, rows

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, position: int) -> Array: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Array]: ...
    def __getitem__(self, position: int | slice) -> Array | Sequence[Array]:
        if isinstance(position, slice):
            return Picked(self.columns[position], self.rows)
        return _taken(self.columns[position], self.rows)

    @property
    def n_rows(self) -> int:
        """How many rows are picked."""
        return len(self.rows)

    def source(self, position: int) -> tuple[Array, NDArray[np.intp]]:
        """Return a column in its own order, zeros with signs, and the place there of each row."""
        return self.columns[position], self.rows

    def only(self, positions: Sequence[int]) -> Sequence[Array]:
        """Return some columns."""
        return Picked([self.columns[i] for i in positions], self.rows)

    def take(self, rows: Array | slice) -> Sequence[Array]:
        """Return some rows of all columns, taken at once."""
        some = self.rows[rows]
        return tuple(_taken(column, some) for column in self.columns)


def _taken(column: Array, rows: NDArray[np.intp]) -> Array:
    cells = column[rows]
    if cells.dtype.kind == "f":
        cells += 0.0
    return cells


class Whole:
    """Columns with all their rows, read as `Picked` is.

    Parameters
    ----------
    columns : sequence of arrays, each of shape (n_rows,)
    """

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Array]) -> None:
        self.columns = columns

    @property
    def n_rows(self) -> int:
        """How many rows there are; none without columns."""
        return len(self.columns[0]) if self.columns else 0

    def source(self, position: int) -> tuple[Array, NDArray[np.intp]]:
        """Return a column, and the place of each row: its own."""
        return self.columns[position], np.arange(self.n_rows)

    def only(self, positions: Sequence[int]) -> Sequence[Array]:
        """Return some columns."""
        return tuple(self.columns[i] for i in positions)

    def take(self, rows: Array | slice) -> Sequence[Array]:
        """Return some rows of all columns."""
        return tuple(column[rows] for column in self.columns)


def rows_of(columns: Sequence[Array]) -> Picked | Whole:
    """Return what tells of the rows of columns, and gives some of them."""
    return columns if isinstance(columns, Picked) else Whole(columns)
