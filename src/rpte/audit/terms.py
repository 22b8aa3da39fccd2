"""The common form every family is read into before it is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.columns.units import is_active

NOT_CONSULTED = -1


@dataclass(frozen=True, slots=True)
class Terms:
    """The active terms of a model, the conditions on each, and which of them each row consults.

    Parameters
    ----------
    conditions : ndarray of int, shape (n_terms,)
        Conditions of each active term as it stands in the whole model.
    reached : ndarray of int, shape (n_rows, n_slots), optional
        The terms each row consults, as positions in `conditions`, -1 for none. A slot is whatever
        gives at most one term per row: a tree, a rule, a direct term.
    reading : ndarray of int, shape (n_terms,), optional
        Conditions read when a row consults the term, where this differs from `conditions`: a shape
        function of many cells is read in one cell.
    bound : int, optional
        A bound on the audit load that held before training, where the family has one.
    """

    conditions: NDArray[np.int64]
    reached: NDArray[np.int64] | None = None
    reading: NDArray[np.int64] | None = None
    bound: int | None = None

    def per_row(self) -> NDArray[np.int64] | None:
        """Count the conditions each row reads, shape (n_rows,); None without rows."""
        if self.reached is None:
            return None
        reading = self.conditions if self.reading is None else self.reading
        lookup = np.append(reading, 0)  # NOT_CONSULTED picks the zero at the end
        units = np.zeros(len(self.reached), dtype=np.int64)
        for slot in self.reached.T:  # slot by slot: a forest would double the memory otherwise
            units += lookup[slot]
        return units


def consulted_where(consulted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Write a mask "row consults term", shape (n_rows, n_terms), as `Terms.reached`."""
    return np.where(consulted, np.arange(consulted.shape[1], dtype=np.int64), NOT_CONSULTED)


def direct_terms_consulted(
    values: NDArray[np.float64], slope: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Say which direct terms each row consults: a slope always, any other where it is not zero.

    `values` and the result, for `Terms.reached`, have the shape (n_rows, n_terms).
    """
    return consulted_where(is_active(values) | slope[None, :])
