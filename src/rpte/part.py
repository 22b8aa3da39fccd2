"""A part of a table: training rows with what is learned from them, and rows held out.

Everything learned from y is learned again in each part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.discovery import Discovery, Quarry
from rpte.estimation.terms import TermSet
from rpte.folds import Cases, Fold, deal
from rpte.kernels.term_rows import deviances
from rpte.progress import Watch
from rpte.structure.boosting import base_score
from rpte.structure.structure import Structure
from rpte.table.table import Table

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Index = NDArray[np.intp]

ROOM = 400  # more rows, when terms outgrow their matrix; costs no memory before it is used
BLOCKS = 10  # of the held-out rows, for the standard error where there is one fold


class TermRows:
    """Terms as rows of memory in single precision, with room for more.

    Parameters
    ----------
    n : int
        Length of a row.
    """

    def __init__(self, n: int) -> None:
        self.z: Singles = np.empty((0, n), np.float32)
        self._count = 0

    def add(self, rows: NDArray[Any]) -> int:
        """Take rows in; return where the first one is."""
        first, self._count = self._count, self._count + len(rows)
        if self._count > len(self.z):
            wider = np.empty((self._count + ROOM, self.z.shape[1]), np.float32)
            wider[:first] = self.z[:first]
            self.z = wider
        self.z[first : self._count] = rows
        return first


@dataclass(slots=True, eq=False)
class Part:
    """Some training rows with what was learned from them, and held-out rows.

    Parameters
    ----------
    train : Table
    valid : Table or None
        Held-out rows, block after block; None for all rows of the table.
    blocks : (b + 1,)
        Where the blocks of `valid` begin, and the end of the last.
    mined : Structure
        Of Stage 1.
    found : Discovery or None
        Of Stage 2, once it has begun.
    own, held : TermRows
        The vocabulary and the leaves on the training and on the held-out rows, as they came.
    columns, trees : list of int
        The row of each column of the vocabulary, and of each tree's first leaf.
    forward : list of int or None
        The direct terms of single variables that forward selection takes first, once they are
        known.
    """

    train: Table
    valid: Table | None
    blocks: Index
    mined: Structure
    found: Discovery | None = None
    own: TermRows = field(init=False)
    held: TermRows = field(init=False)
    columns: list[int] = field(default_factory=list)
    trees: list[int] = field(default_factory=list)
    forward: list[int] | None = None

    def __post_init__(self) -> None:
        self.own = TermRows(self.train.n_rows)
        self.held = TermRows(0 if self.valid is None else self.valid.n_rows)
        self.evaluate()

    @property
    def structure(self) -> Structure:
        """What was learned so far."""
        return self.mined if self.found is None else self.found.structure

    @property
    def weights(self) -> Floats:
        """The weight of each held-out block, (b,)."""
        assert self.valid is not None
        return np.add.reduceat(self.valid.weight, self.blocks[:-1])

    def evaluate(self) -> None:
        """Take in the columns and trees that are new since the last time."""
        vocabulary, known = self.structure.vocabulary, len(self.columns)
        first = self.own.add(vocabulary.z[known:])
        self.columns += range(first, first + len(vocabulary) - known)
        if self.valid is not None:
            self.held.add(vocabulary.on(self.valid.inputs, known, np.float32))
        for m in range(len(self.trees), len(self.structure.trees)):
            tree = self.structure.trees[m]
            leaf = np.arange(tree.n_leaves)[:, None]
            self.trees.append(self.own.add(leaf == self.structure.leaf_codes[m]))
            if self.valid is not None:
                self.held.add(leaf == tree.apply(self.valid.inputs))

    def rows_of(self, terms: TermSet) -> Index:
        """Return where some terms are among the rows of `own` and `held`, (q,)."""
        leaves = [
            first + np.arange(tree.n_leaves)
            for first, tree in zip(self.trees, terms.trees, strict=False)
        ]
        return np.concatenate([*leaves, np.array(self.columns, np.intp)[terms.direct]])

    def base_losses(self) -> Floats:
        """Return the deviance of the base rate on each block of held-out rows, (b, 1)."""
        base = np.array([[base_score(self.train.y, self.train.weight)]])
        return self.losses(np.zeros(0, np.intp), base)

    def losses(self, rows: Index, fits: Floats) -> Floats:
        """Return the deviance of some fits (f, q + 1) on each block of held-out rows, (b, f)."""
        valid = self.valid
        assert valid is not None
        out = np.empty((len(self.blocks) - 1, len(fits)))
        deviances(self.held.z, rows, valid.y, valid.weight, self.blocks, fits, out)
        return out


def mine_part(quarry: Quarry, fold: Fold, count: int, watch: Watch, last: bool = False) -> Part:
    """Mine the training rows of a fold; where it is the only one, hold its rows out in blocks.

    After the `last` part, or all rows, nothing is mined.
    """
    table = quarry.table
    train, held = fold.train.on(table), in_blocks(table.y, fold.test, 1 if count > 1 else BLOCKS)
    test = Cases(*(np.concatenate([getattr(b, name) for b in held]) for name in ("rows", "number")))
    blocks = np.concatenate([[0], np.cumsum([len(b.rows) for b in held])]).astype(np.intp)
    mined = mine_rows(quarry, train, fold.train.rows, watch, last)
    return Part(train, test.on(table), blocks, mined)


def in_blocks(y: Floats, test: Cases, count: int) -> list[Cases]:
    """Divide held-out cases over so many blocks; a row may be in several."""
    if count == 1:
        return [test]
    dealt = [Cases.of(number) for number in deal(y[test.rows], test.number, count)]
    return [Cases(test.rows[b.rows], b.number) for b in dealt if len(b.rows)]


def mine_whole(quarry: Quarry, watch: Watch) -> Part:
    """Mine all rows, nothing held out."""
    table = quarry.table
    mined = mine_rows(quarry, table, np.arange(table.n_rows), watch, last=True)
    return Part(table, None, np.zeros(1, np.intp), mined)


def mine_rows(quarry: Quarry, part: Table, rows: Index, watch: Watch, last: bool) -> Structure:
    """Run Stage 1 on some rows; when the time is up there is nothing to learn it for."""
    mined = quarry.leave(part) if watch.is_over() else quarry.mine(part, rows, last=last)
    watch.step()
    return mined
