"""How often codes of two columns meet, with the target: what patterns and pairs are screened by."""

from collections.abc import Sequence

import numpy as np

from rpte.kernels.growth import joint_counts
from rpte.kernels.published import joint_bits
from rpte.losses import BINOMIAL
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Ints, Mask, Words

MOST_BITS = 3  # weights with more bits, or fractions, are added up row by row


class JointCounts:
    """Joint counts of the codes of any two columns of a table.

    The rows of a code are kept as bits, so that 64 rows are counted at once; whole weights are sums
    of their bits. Targets that are numbers are added up row by row. `codes` (columns, n) count from
    0; those from `sizes` on, by column, are left out.
    """

    def __init__(self, table: Table, codes: Array, sizes: Sequence[int]) -> None:
        self._sizes = np.array(sizes, np.int64)
        self._planes = _planes(table)
        if self._planes is None:
            self._codes = np.minimum(codes, self._sizes.astype(codes.dtype)[:, None])
            self._weight, self._events = table.weight, table.weight * table.y
        else:
            self._starts = np.concatenate([[0], np.cumsum(self._sizes)])
            self._sets = _sets(codes, self._sizes)

    def beside(self, first: int, others: Ints) -> Floats:
        """Return weight, and weight times target, by other column and codes: (k, a, b, 2).

        `a` counts the codes of the first column, `b` the most codes of another; 0 where one has
        fewer.
        """
        a, b = int(self._sizes[first]), int(self._sizes[others].max())
        if self._planes is not None:
            out = np.zeros((len(others), a, b, 2))
            joint_bits(self._sets, self._starts, self._planes, first, others, out)
            return out
        out = np.zeros((len(others), a + 1, b + 1, 2))
        joint_counts(self._codes, first, others, self._weight, self._events, out)
        for cells, size in zip(out, self._sizes[others], strict=True):
            cells[:, size:] = 0.0
        return out[:, :-1, :-1]


def _planes(table: Table) -> Words | None:
    """Return the rows whose weight has each bit, all and positive ones.

    None for other weights, and for numbers.
    """
    weight = table.weight
    if (
        table.loss is not BINOMIAL
        or not (weight == np.rint(weight)).all()
        or weight.max(initial=0.0) >= 2**MOST_BITS
    ):
        return None
    whole = weight.astype(np.int64)
    bits = [(whole >> bit) & 1 == 1 for bit in range(int(whole.max(initial=1)).bit_length())]
    return np.array([_packed(np.array([rows, rows & (table.y > 0)])) for rows in bits])


def _sets(codes: Array, sizes: Ints) -> Words:
    """Return the rows that hold each code of each column, as bits."""
    width = -(-codes.shape[1] // 64)
    sets = np.zeros((int(sizes.sum()), width), np.uint64)
    at = 0
    for column, size in zip(codes, sizes.tolist(), strict=True):
        sets[at : at + size] = _packed(column == np.arange(size, dtype=codes.dtype)[:, None])
        at += size
    return sets


def _packed(rows: Mask) -> Words:
    """Return sets of rows (m, n) as 64-bit words."""
    packed = np.packbits(rows, axis=1)
    padded = np.zeros((len(rows), -(-rows.shape[1] // 64) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
