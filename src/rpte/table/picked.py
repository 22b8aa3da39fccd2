"""Rows of columns that are taken from them only when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Picked(Sequence[Array]):
    """Some rows of columns, each taken from them when it is asked for.

    A table of many rows in another order takes no memory that way.

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
        return self.columns[position][self.rows]
