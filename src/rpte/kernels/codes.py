"""The order of rows by value, and the values of a column numbered one by one or in bins.

Rows are put in order by sorting plain integers, several times faster than an order of positions:
the leading bits of a value, then the number of its row. Only the rows of different values that
share these bits, few if any, are put in order by the values themselves.
"""

from typing import Any

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Array, Floats, Index, Ints, Words

SIGN = np.uint64(2**63)
LAST = np.uint64(2**64 - 1)  # sorts behind every row that has a value


@kernel
def stable_order(values: Floats) -> Index:
    """Return the places (n,) of `values` from the smallest to the largest; equal ones stay.

    A merge sort, because numpy's would take seconds to compile.
    """
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


@jitable
def key_of(word: Any) -> Any:
    """Return an integer that grows with the float64 of these bits."""
    return word ^ (LAST if word >= SIGN else SIGN)


@kernel
def key_range(x: Floats, words: Words) -> tuple[int, Any, Any]:
    """Return how many values there are, and the least and the largest key.

    `x` (n,) is NaN where there is no value and never -0.0; `words` (n,) are its bits.
    """
    count, least, most = 0, LAST, np.uint64(0)
    for i in range(x.size):
        if not np.isnan(x[i]):
            key = key_of(words[i])
            least, most = min(least, key), max(most, key)
            count += 1
    return count, least, most


@kernel
def sort_words(words: Words, spare: Words) -> Words:
    """Sort the bits of float64, none of them NaN, as numbers; return `words` or `spare`, both (n,).

    By eight bits at a time from the last to the first, each pass in the order of the one before:
    two to three times as fast as numpy, which compares.
    """
    if words.size == 0:
        return words
    counts = np.zeros((8, 256), np.int64)
    for i in range(words.size):
        words[i] = key_of(words[i])
        for k in range(8):
            counts[k, (words[i] >> np.uint64(8 * k)) & np.uint64(255)] += 1
    for k in range(8):
        if counts[k, (words[0] >> np.uint64(8 * k)) & np.uint64(255)] < words.size:
            place = 0
            for digit in range(256):
                place, counts[k, digit] = place + counts[k, digit], place
            for i in range(words.size):
                digit = (words[i] >> np.uint64(8 * k)) & np.uint64(255)
                spare[counts[k, digit]] = words[i]
                counts[k, digit] += 1
            words, spare = spare, words
    for i in range(words.size):
        words[i] ^= SIGN if words[i] >= SIGN else LAST
    return words


def sorted_numbers(x: Floats) -> Floats:
    """Return numbers (n,), none missing, in ascending order; what is given is overwritten."""
    return np.asarray(sort_words(x.view(np.uint64), np.empty(len(x), np.uint64)).view(np.float64))


@kernel
def pack_rows(x: Floats, words: Words, least: Any, dropped: int, row_bits: int, out: Words) -> None:
    """Fill `out` (n,) with the leading bits of each value followed by its row; NaN goes last.

    Keys are counted from the `least`; their last bits are `dropped`, as many as there is no room
    for beside the `row_bits` of a row's number.
    """
    for i in range(x.size):
        if np.isnan(x[i]):
            out[i] = LAST
        else:
            lead = (key_of(words[i]) - least) >> np.uint64(dropped)
            out[i] = (lead << np.uint64(row_bits)) | np.uint64(i)


@jitable
def part_values(x: Floats, order: Ints, begin: int, end: int, first: Ints, count: int) -> int:
    """Put the rows of `order` from `begin` to `end` in order; return how many values differ so far.

    The value that begins there is counted among the `count` already; `first` gains the others.
    """
    own = order[begin:end].copy()
    sorted_places = stable_order(x[own])
    for i in range(end - begin):
        order[begin + i] = own[sorted_places[i]]
    for i in range(begin + 1, end):
        if x[order[i]] != x[order[i - 1]]:
            first[count] = i
            count += 1
    return count


@kernel
def unpack_rows(packed: Words, x: Floats, row_bits: int, order: Ints, first: Ints) -> int:
    """Read the order of rows from what was packed and sorted; return how many values differ.

    `packed`, `order` and `first` have one entry per row with a value. `order` becomes the rows by
    value and may be the memory of what was packed; `first` begins with the place of each value.
    """
    rows, shift = (np.uint64(1) << np.uint64(row_bits)) - np.uint64(1), np.uint64(row_bits)
    count, begin, mixed, last = 0, 0, False, LAST
    for i in range(packed.size):
        lead, row = packed[i] >> shift, np.int64(packed[i] & rows)
        order[i] = row
        if lead != last:
            if mixed:
                count = part_values(x, order, begin, i, first, count)
            first[count] = i
            count += 1
            begin, mixed, last = i, False, lead
        elif x[row] != x[order[i - 1]]:
            mixed = True
    return part_values(x, order, begin, packed.size, first, count) if mixed else count


@kernel
def quantile_starts(before: Array, total: float, most: int, first: Ints) -> int:
    """Put neighbouring values into at most `most` bins of like weight; return how many there are.

    `before` (values,) is the weight of all smaller values (`first` itself where every row weighs
    one), `total` that of all. `first` (values,), where each value begins, becomes where each bin
    does.
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
def assign_bins(order: Ints, first: Ints, out: Array) -> None:
    """Number the rows by bins, given the order of rows and where in it each bin begins.

    `out` (n,) is left as it is for rows that are not in the order.
    """
    for k in range(first.size):
        end = first[k + 1] if k + 1 < first.size else order.size
        for i in range(first[k], end):
            out[order[i]] = k


@kernel
def bins_of_ranks(
    ranks: Array,
    counts: Ints,
    which: Index,
    rows: Index,
    weight: Floats,
    most: int,
    place: Index,
    out: Array,
    n_bins: Ints,
) -> None:
    """Number some rows of columns by bins: one per value, or at most `most` of like weight.

    Column `which[k]` (of k,) has the ranks (p, n) of its cells among `counts` (p,) values, that of
    a missing cell behind them. Its codes and how many bins there are go to place[k] of `out`
    (columns, m) and `n_bins` (columns,); `rows` (m,) have a `weight` (m,) each.
    """
    for k in range(which.size):
        rank, values = ranks[which[k]], counts[which[k]]
        sums, code = np.zeros(values + 1), np.zeros(values + 1, np.int64)
        for i in range(rows.size):
            sums[rank[rows[i]]] += weight[i]
        seen, total = 0, 0.0
        for v in range(values):
            if sums[v] > 0.0:
                seen += 1
                total += sums[v]
        bins, last, before = 0, -1.0, 0.0
        for v in range(values):
            if sums[v] > 0.0:
                start = np.floor(before / total * most)
                if seen <= most or start > last:
                    bins += 1
                    last = start
                code[v] = bins - 1
                before += sums[v]
        code[values] = bins
        for i in range(rows.size):
            out[place[k], i] = code[rank[rows[i]]]
        n_bins[place[k]] = bins
