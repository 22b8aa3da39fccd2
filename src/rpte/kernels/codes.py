"""Numbering the values of a column, one by one or in bins, from the order of its rows.

Rows are put in order by sorting plain integers, several times faster than an order of positions:
the leading bits of a value, then the number of its row. Only the rows of different values that
share these bits, few if any, are put in order by the values themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import inner, kernel
from rpte.kernels.sorting import stable_order

__all__ = [
    "assign_bins",
    "key_range",
    "pack_rows",
    "quantile_starts",
    "unpack_rows",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

SIGN = np.uint64(2**63)
LAST = np.uint64(2**64 - 1)  # sorts behind every row that has a value


@kernel
def key_of(word: Any) -> Any:
    """Return an integer that grows with the float64 of these bits."""
    return word ^ (LAST if word >= SIGN else SIGN)


_key_of, _stable_order = inner(key_of), inner(stable_order)


@kernel
def key_range(x: Floats, words: Words) -> tuple[int, Any, Any]:
    """Return how many values there are, and the least and the largest key.

    Parameters
    ----------
    x : (n,)
        NaN where there is none, no -0.0.
    words : (n,)
        The bits of x.
    """
    count, least, most = 0, LAST, np.uint64(0)
    for i in range(x.size):
        if not np.isnan(x[i]):
            key = _key_of(words[i])
            least, most = min(least, key), max(most, key)
            count += 1
    return count, least, most


@kernel
def pack_rows(x: Floats, words: Words, least: Any, dropped: int, row_bits: int, out: Words) -> None:
    """Fill `out` (n,) with the leading bits of each value followed by its row; NaN goes last.

    Parameters
    ----------
    x, words : (n,)
        As in `key_range`.
    least : int
        The least key.
    dropped : int
        How many bits of a key's distance from it there is no room for.
    row_bits : int
        Room for the number of a row.
    """
    for i in range(x.size):
        if np.isnan(x[i]):
            out[i] = LAST
        else:
            lead = (_key_of(words[i]) - least) >> np.uint64(dropped)
            out[i] = (lead << np.uint64(row_bits)) | np.uint64(i)


@kernel
def part_values(
    x: Floats, order: Integers, begin: int, end: int, first: Integers, count: int
) -> int:
    """Put the rows of `order` from `begin` to `end` in order; return how many values differ so far.

    The value that begins there is counted among the `count` already; `first` gains the others.
    """
    own = order[begin:end].copy()
    sorted_places = _stable_order(x[own])
    for i in range(end - begin):
        order[begin + i] = own[sorted_places[i]]
    for i in range(begin + 1, end):
        if x[order[i]] != x[order[i - 1]]:
            first[count] = i
            count += 1
    return count


_part_values = inner(part_values)


@kernel
def unpack_rows(packed: Words, x: Floats, row_bits: int, order: Integers, first: Integers) -> int:
    """Read the order of rows from what was packed and sorted; return how many values differ.

    Parameters
    ----------
    packed : (values,)
        Those of rows with a value.
    x : (n,)
    row_bits : int
    order : (values,), overwritten
        The rows by value. It may be the memory of what was packed.
    first : (values,), overwritten
        Where each value begins in `order`, as far as there are values.
    """
    rows, shift = (np.uint64(1) << np.uint64(row_bits)) - np.uint64(1), np.uint64(row_bits)
    count, begin, mixed, last = 0, 0, False, LAST
    for i in range(packed.size):
        lead, row = packed[i] >> shift, np.int64(packed[i] & rows)
        order[i] = row
        if lead != last:
            if mixed:
                count = _part_values(x, order, begin, i, first, count)
            first[count] = i
            count += 1
            begin, mixed, last = i, False, lead
        elif x[row] != x[order[i - 1]]:
            mixed = True
    return _part_values(x, order, begin, packed.size, first, count) if mixed else count


@kernel
def quantile_starts(before: NDArray[Any], total: float, most: int, first: Integers) -> int:
    """Put neighbouring values into at most so many bins of like weight; return how many there are.

    Parameters
    ----------
    before : (values,)
        The weight of all smaller values: `first` itself where every row weighs one.
    total : float
        The weight of all.
    first : (values,)
        Where each value begins; overwritten with where each bin does, as far as there are bins.
    """
    bins, last = 0, -1.0
    for k in range(before.size):
        place = np.floor(before[k] / total * most)
        if place > last:
            first[bins] = first[k]
            bins += 1
            last = place
    return bins


@kernel
def assign_bins(order: Integers, first: Integers, out: NDArray[Any]) -> None:
    """Number the rows by bins, given the order of rows and where in it each bin begins.

    `out` (n,) is left as it is for rows that are not in the order.
    """
    for k in range(first.size):
        end = first[k + 1] if k + 1 < first.size else order.size
        for i in range(first[k], end):
            out[order[i]] = k
