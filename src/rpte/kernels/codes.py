"""Numbering the values of a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel


@kernel
def number_values(
    ordered: NDArray[np.float64],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    number: NDArray[np.int32],
) -> int:
    """Number the different values of a column from 0 in their order, and return how many there are.

    Parameters
    ----------
    ordered : (n,), ascending
    order : (n,)
        The row of each.
    first : (n,), overwritten
        Where each value begins in `ordered`, as far as there are values.
    number : (n,), overwritten
        The number of each row's value.
    """
    count = 0
    for i in range(ordered.size):
        if i == 0 or ordered[i] != ordered[i - 1]:
            first[count] = i
            count += 1
        number[order[i]] = count - 1
    return count
