"""The values of some terms on all rows, brought into memory block by block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rpte.columns.kinds import Column
from rpte.errors import InputError
from rpte.estimation.terms import TermSet
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Int32s, Mask
from rpte.vocabulary.shape_cache import standardise

MOST_CELLS = 500_000_000  # values of terms that are held: 4 GB


class HeldRows(NamedTuple):
    """Terms as the penalty sees them (q, n), targets (n,) and weights (n,) of some rows."""

    z: Floats
    y: Floats
    weight: Floats

    @classmethod
    def together(cls, blocks: Iterable[HeldRows]) -> HeldRows:
        """Return the rows of all blocks, in their order."""
        z, y, weight = zip(*blocks, strict=True)
        return cls(np.concatenate(z, axis=1), np.concatenate(y), np.concatenate(weight))


@dataclass(frozen=True, slots=True)
class TermValues:
    """Makes the values of some terms of a block; it goes to other machines, so it has no rows."""

    terms: TermSet  # trees alone
    columns: tuple[Column, ...]
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, terms: TermSet) -> TermValues:
        """Return what makes the leaves and columns of some terms."""
        vocabulary, which, none = terms.vocabulary, terms.direct, np.zeros(0, np.intp)
        columns = tuple(vocabulary.columns[j] for j in which)
        direct = columns, vocabulary.centre[which], vocabulary.scale[which]
        return cls(replace(terms, vocabulary=vocabulary.keep(none), direct=none), *direct)

    def __call__(self, block: Table) -> HeldRows:
        """Return the values of a block."""
        reached = [tree.apply(block.inputs) for tree in self.terms.trees]
        leaves = leaf_values(self.terms, reached, block.n_rows)
        z = np.empty((len(leaves) + len(self.columns), block.n_rows))
        z[: len(leaves)] = leaves
        units = self.centre.tolist(), self.scale.tolist()
        for line, column, centre, scale in zip(z[len(leaves) :], self.columns, *units, strict=True):
            line[:] = standardise(column.evaluate(block.inputs), centre, scale)
        return HeldRows(z, np.asarray(block.y), np.asarray(block.weight))


def leaf_values(terms: TermSet, reached: Iterable[Int32s], n_rows: int) -> Mask:
    """Return which rows reach each leaf that is a term, (leaves, n), from the leaf of each row."""
    pairs = zip(terms.leaf_counts, reached, strict=True)
    inside = [np.arange(count)[:, None] == codes for count, codes in pairs]
    return np.concatenate([np.zeros((0, n_rows), np.bool_), *inside])[terms.leaf_terms]


def refuse_many(terms: int, rows: int) -> None:
    """Refuse more values than are held in memory."""
    if terms * rows > MOST_CELLS:
        raise InputError(
            f"Stage 3 of several classes holds the values of its {terms} terms on all rows in "
            f"memory, and {rows:,} rows are too many for {8 * MOST_CELLS / 1e9:g} GB; allow fewer "
            "conditions (max_inspection_units=...), or fit a sample of the rows"
        )
