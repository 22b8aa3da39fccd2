"""One fold of inner validation: what is learned from its training rows, and held-out rows.

Everything learned from y is learned again in each fold.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.terms import TermSet
from rpte.fit.structure_learner import Discovery, StructureLearner
from rpte.kernels.approximate_path import deviances
from rpte.rows import scale
from rpte.rows.folds import Cases, Fold, deal
from rpte.rows.passes import UnevenBlocks, each_block
from rpte.structure.structure import Structure
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index, Int8s, Ints
from rpte.utils.growable import GrowableMatrix
from rpte.utils.progress import Watch


@dataclass(slots=True, eq=False)
class FoldState:
    """Training rows with what was learned from them so far, and held-out rows.

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
    train_terms, valid_terms : GrowableMatrix
        The vocabulary and the leaves as rows, in single precision, in the order they came.
    columns, trees : list of int
        The row of each column of the vocabulary, and of each tree's first leaf.
    forward : list of int or None
        The direct terms of single variables that forward selection takes first, once known.
    """

    train: Table
    valid: Table | None
    blocks: Index
    mined: Structure
    found: Discovery | None = None
    train_terms: GrowableMatrix = field(init=False)
    valid_terms: GrowableMatrix = field(init=False)
    columns: list[int] = field(default_factory=list)
    trees: list[int] = field(default_factory=list)
    forward: list[int] | None = None

    def __post_init__(self) -> None:
        held_out = 0 if self.valid is None else self.valid.n_rows
        self.train_terms = GrowableMatrix(self.train.n_rows, np.float32)
        self.valid_terms = GrowableMatrix(held_out, np.float32)
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

    def learn(self, found: Discovery) -> None:
        """Take over a later state of Stage 2."""
        self.found = found
        self.evaluate()

    def evaluate(self) -> None:
        """Evaluate the columns and trees that are new since the last time."""
        vocabulary, known = self.structure.vocabulary, len(self.columns)
        first = self.train_terms.add(vocabulary.z[known:])
        self.columns += range(first, first + len(vocabulary) - known)
        if self.valid is not None:
            self.valid_terms.add(vocabulary.on(self.valid.inputs, known, np.float32))
        for m in range(len(self.trees), len(self.structure.trees)):
            tree = self.structure.trees[m]
            leaf = np.arange(tree.n_leaves)[:, None]
            self.trees.append(self.train_terms.add(leaf == self.structure.leaf_codes[m]))
            if self.valid is not None:
                self.valid_terms.add(leaf == tree.apply(self.valid.inputs))

    def design(self, terms: TermSet, penalty: Floats, sign: Int8s) -> ApproximateDesign:
        """Return Stage 3 of some terms on the training rows."""
        leaves = [
            first + np.arange(tree.n_leaves)
            for first, tree in zip(self.trees, terms.trees, strict=False)
        ]
        rows = np.concatenate([*leaves, np.array(self.columns, np.intp)[terms.direct]])
        train = self.train
        return ApproximateDesign(
            self.train_terms.memory, rows, train.y, train.weight, penalty, sign, train.loss
        )

    def null_losses(self) -> Floats:
        """Return the deviance of the base rate on each block of held-out rows, (b, 1)."""
        null = np.array([[self.train.null_score]])
        return self.losses(np.zeros(0, np.intp), null)

    def losses(self, rows: Index, fits: Floats) -> Floats:
        """Return the deviance of some fits (f, q + 1) on each block of held-out rows, (b, f).

        `rows` are those of the terms, as in `design`.
        """
        valid, z = self.valid, self.valid_terms.memory
        assert valid is not None

        def block(at: slice) -> Floats:
            out = np.empty(len(fits))
            held = valid.y[at], valid.weight[at]
            deviances(valid.loss.code, z, rows, *held, at.start, fits, out)
            return out

        return np.array(list(each_block(block, UnevenBlocks(self.blocks))))


def mine_fold(
    learner: StructureLearner, fold: Fold, count: int, watch: Watch, last: bool = False
) -> FoldState:
    """Mine the training rows of a fold; where it is the only one, hold its rows out in blocks.

    After the `last` fold, or all rows, nothing is mined.
    """
    table = learner.table
    blocks = 1 if count > 1 else scale.HELD_OUT_BLOCKS
    train, held = fold.train.on(table), in_blocks(table.loss.strata(table.y), fold.test, blocks)
    test = Cases(*(np.concatenate([getattr(b, name) for b in held]) for name in ("rows", "number")))
    starts = np.concatenate([[0], np.cumsum([len(b.rows) for b in held])]).astype(np.intp)
    mined = mine_rows(learner, train, fold.train.rows, watch, last)
    return FoldState(train, test.on(table), starts, mined)


def in_blocks(strata: Ints, test: Cases, count: int) -> list[Cases]:
    """Divide held-out cases over so many blocks; a row may be in several."""
    if count == 1:
        return [test]
    dealt = [Cases.of(number) for number in deal(strata[test.rows], test.number, count)]
    return [Cases(test.rows[b.rows], b.number) for b in dealt if len(b.rows)]


def mine_all_rows(learner: StructureLearner, watch: Watch) -> FoldState:
    """Mine all rows, nothing held out."""
    table = learner.table
    mined = mine_rows(learner, table, None, watch, last=True)
    return FoldState(table, None, np.zeros(1, np.intp), mined)


def mine_rows(
    learner: StructureLearner, part: Table, rows: Index | None, watch: Watch, last: bool
) -> Structure:
    """Run Stage 1 on some rows; when the time is up there is nothing to learn it for."""
    if watch.is_over():
        mined = learner.empty_vocabulary(part)
    else:
        mined = learner.mine(part, rows, last=last)
    watch.step()
    return mined
