"""Numbering the values of a column, one by one or in bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel


@kernel
def number_values(
    x: NDArray[np.float64],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    number: NDArray[np.int32],
) -> int:
    """Number the different values of a column from 0 in their order, and return how many there are.

    Parameters
    ----------
    x : (n,)
    order : (n,)
        The rows by value.
    first : (n,), overwritten
        Where each value begins in `order`, as far as there are values.
    number : (n,), overwritten
        The number of each row's value.
    """
    count, last = 0, 0.0
    for i in range(order.size):
        row = order[i]
        if i == 0 or x[row] != last:
            first[count] = i
            count += 1
            last = x[row]
        number[row] = count - 1
    return count


@kernel
def quantile_bins(
    before: NDArray[np.float64],
    total: float,
    most: int,
    number: NDArray[np.int32],
    first: NDArray[np.int64],
    codes: NDArray[np.uint16],
) -> int:
    """Put neighbouring values into at most so many bins of like weight; return how many there are.

    Parameters
    ----------
    before : (values,)
        The weight of all smaller values.
    total : float
        The weight of all.
    number : (n,)
        The number of each row's value.
    first : (values,)
        As in `number_values`; overwritten with where each bin begins, as far as there are bins.
    codes : (n,), overwritten
        The bin of each row.
    """
    bins, last = 0, -1.0
    bin_of = np.empty(before.size, np.uint16)
    for k in range(before.size):
        place = np.floor(before[k] / total * most)
        if place > last:
            first[bins] = first[k]
            bins += 1
            last = place
        bin_of[k] = bins - 1
    for i in range(number.size):
        codes[i] = bin_of[number[i]]
    return bins
