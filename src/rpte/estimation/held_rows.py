"""The values of some terms on all rows, brought into memory block by block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rpte.columns.kinds import Column
from rpte.errors import InputError
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index
from rpte.vocabulary.shape_cache import standardise
from rpte.vocabulary.vocabulary import Vocabulary

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

    columns: tuple[Column, ...]
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, vocabulary: Vocabulary, which: Index) -> TermValues:
        """Return what makes some columns of a vocabulary."""
        columns = tuple(vocabulary.columns[j] for j in which)
        return cls(columns, vocabulary.centre[which], vocabulary.scale[which])

    def __call__(self, block: Table) -> HeldRows:
        """Return the values of a block."""
        z = np.empty((len(self.columns), block.n_rows))
        for line, column, centre, scale in zip(
            z, self.columns, self.centre.tolist(), self.scale.tolist(), strict=True
        ):
            line[:] = standardise(column.evaluate(block.inputs), centre, scale)
        return HeldRows(z, np.asarray(block.y), np.asarray(block.weight))


def refuse_many(terms: int, rows: int) -> None:
    """Refuse more values than are held in memory."""
    if terms * rows > MOST_CELLS:
        raise InputError(
            f"Stage 3 of several classes holds the values of its {terms} terms on all rows in "
            f"memory, and {rows:,} rows are too many for {8 * MOST_CELLS / 1e9:g} GB; allow fewer "
            "conditions (max_inspection_units=...), or fit a sample of the rows"
        )
