"""Joint counts of integer codes: row by row for any weights, or by bits for small whole ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rpte.kernels.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]


@kernel
def joint_counts(
    codes: NDArray[Any],
    first: int,
    others: Integers,
    weight: Floats,
    events: Floats,
    out: Floats,
) -> None:
    """Count weights and events of one column's codes jointly with those of other columns.

    Parameters
    ----------
    codes : (columns, n)
        Codes from 0; what is not to be counted has a code of its own.
    first : int
        The column that is paired with each of `others`.
    others : (k,)
    weight, events : (n,)
        The weight of each row, and its positive part.
    out : (k, a, b, 2), zero on entry
        Weight and positive weight by (other column, code of first, code of other).
    """
    for k in range(others.size):
        other = others[k]
        for i in range(codes.shape[1]):
            a, b = codes[first, i], codes[other, i]
            out[k, a, b, 0] += weight[i]
            out[k, a, b, 1] += events[i]


def popcount(word: Any) -> Any:
    """Return the number of ones among 64 bits."""
    return int(word).bit_count()


@overload(popcount)  # type: ignore[untyped-decorator]
def _compiled_popcount(word: Any) -> Callable[[Any], Any]:
    """Spell it out in the form that compilers know and turn into one instruction."""

    def count(word: Any) -> Any:
        word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
        pairs = np.uint64(0x3333333333333333)
        word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)

    return count


@kernel
def joint_bits(
    sets: Words, starts: Integers, planes: Words, first: int, others: Integers, out: Floats
) -> None:
    """Count weights and events of one column's codes jointly with those of other columns, by bits.

    Parameters
    ----------
    sets : (codes of all columns, words)
        The rows that hold each code, as bits.
    starts : (columns + 1,)
        Where the codes of each column begin in `sets`.
    planes : (bits, 2, words)
        The rows whose weight has each bit, and the positive ones among them.
    first, others, out
        As in `joint_counts`.
    """
    here, positive = np.empty_like(sets[0]), np.empty_like(sets[0])
    for a in range(starts[first + 1] - starts[first]):
        own = sets[starts[first] + a]
        for bit in range(planes.shape[0]):
            for i in range(own.size):
                here[i] = own[i] & planes[bit, 0, i]
                positive[i] = own[i] & planes[bit, 1, i]
            for k in range(others.size):
                start = starts[others[k]]
                for b in range(starts[others[k] + 1] - start):
                    rows = sets[start + b]
                    weight, events = np.uint64(0), np.uint64(0)
                    for i in range(rows.size):
                        weight += popcount(here[i] & rows[i])
                        events += popcount(positive[i] & rows[i])
                    out[k, a, b, 0] += np.float64(weight) * 2.0**bit
                    out[k, a, b, 1] += np.float64(events) * 2.0**bit
