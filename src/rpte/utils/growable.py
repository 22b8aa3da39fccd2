"""A matrix that rows are added to."""

from typing import Any

import numpy as np

from rpte.utils.arrays import Array

SPARE_ROWS = 400  # allocated ahead, at least; memory that is never written to costs nothing


class GrowableMatrix:
    """Rows of one length in C order, with memory for more, so that adding some copies nothing.

    `capacity` rows are allocated at first; then a quarter more than needed, so that few are copied.
    """

    def __init__(self, width: int, dtype: Any = np.float64, capacity: int = 0) -> None:
        self.memory: Array = np.empty((capacity, width), dtype)
        self.count = 0

    @property
    def rows(self) -> Array:
        """The rows so far, (count, width)."""
        return self.memory[: self.count]

    def add(self, rows: Array) -> int:
        """Add rows; return the index of the first."""
        first = self.extend(len(rows))
        self.memory[first : self.count] = rows
        return first

    def extend(self, count: int) -> int:
        """Add `count` rows without content; return the index of the first."""
        first, self.count = self.count, self.count + count
        if self.count > len(self.memory):
            capacity = self.count + max(SPARE_ROWS, self.count // 4)
            larger = np.empty((capacity, self.memory.shape[1]), self.memory.dtype)
            larger[:first] = self.memory[:first]
            self.memory = larger
        return first
