"""The values of columns on some rows of a table, without a copy of them for every set of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.table.inputs import Inputs, Picked
from rpte.utils.arrays import Floats, Index


@dataclass(frozen=True, slots=True, eq=False)
class SharedCells:
    """A matrix (V, n) whose rows are columns of a table, taken from all of its rows when asked for.

    The columns after the `shared` ones are its own. It is indexed as an array is, by columns or by
    columns and rows, and gives copies.
    """

    table: Inputs
    shared: tuple[Floats, ...]  # of all rows of the table
    rows: Index  # of the table, (n,)
    own: tuple[Floats, ...] = ()  # (n,) each

    @property
    def shape(self) -> tuple[int, int]:
        """Number of columns, number of rows."""
        return len(self.shared) + len(self.own), len(self.rows)

    def __getitem__(self, key: Any) -> Floats:
        columns, rows = key if isinstance(key, tuple) else (key, slice(None))
        which, places, known = np.arange(self.shape[0])[columns], self.rows[rows], len(self.shared)
        cells = np.empty((np.size(which), len(places)))
        for line, j in zip(cells, np.ravel(which).tolist(), strict=True):
            if j < known:
                self.shared[j].take(places, out=line, mode="clip")  # any other mode makes a copy
            else:
                line[:] = self.own[j - known][rows]
        return cells if np.ndim(which) else np.asarray(cells[0])

    def with_shared(self, cells: tuple[Floats, ...]) -> SharedCells:
        """Return the matrix with more columns of all rows of the table; it has none of its own."""
        return replace(self, shared=(*self.shared, *cells))

    def with_own(self, z: Floats) -> SharedCells:
        """Return the matrix with more columns, (k, n)."""
        return replace(self, own=(*self.own, *z))

    def column_on(self, inputs: Inputs, j: int) -> Floats | None:
        """Return a shared column on other rows; None where these are not of the same table."""
        columns = inputs.columns
        if not isinstance(columns, Picked) or columns.columns is not self.table.columns:
            return None
        return np.asarray(self.shared[j][columns.rows]) if j < len(self.shared) else None
