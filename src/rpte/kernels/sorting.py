"""Sorting inside kernels: one short merge sort, where numpy's would take seconds to compile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

__all__ = ["stable_order"]


@kernel
def stable_order(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the places (n,) of `values` from the smallest to the largest; equal ones stay."""
    n = values.size
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for at in range(low, high):
                if left < middle and (right >= high or values[order[left]] <= values[order[right]]):
                    merged[at] = order[left]
                    left += 1
                else:
                    merged[at] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
