"""One fold of inner validation: what is learned from its training rows, and its penalty paths."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rpte.columns.kinds import Column, Level
from rpte.estimation.approximate import ApproximateDesign, Codes
from rpte.estimation.candidate import Candidate
from rpte.estimation.forward import forward_order
from rpte.estimation.terms import TermSet
from rpte.fit.structure_learner import Discovery, StructureLearner
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.term_products import FEW, deviances
from rpte.rows import scale
from rpte.rows.folds import Cases, Fold, copies_of, deal
from rpte.rows.passes import UnevenBlocks, each_block
from rpte.rows.threads import thread_map
from rpte.selection.fold_shapes import FoldShapes
from rpte.structure.structure import Structure
from rpte.table.column import MISSING, UNSEEN
from rpte.table.inputs import Inputs
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Int8s, Ints
from rpte.utils.growable import GrowableMatrix
from rpte.utils.progress import Watch

MOST_CODES = 512  # of a group: a table of two has a cell for every two of their codes


class _Groups:
    """Rows of a matrix of terms that exclude each other, as codes: levels, leaves of a tree."""

    def __init__(self, n_rows: int) -> None:
        self.codes = GrowableMatrix(n_rows, np.uint16)
        self.widths: list[int] = []
        self.place = np.zeros((0, 2), np.intp)  # group, -1 for none, and code of rows of the matrix

    def add(self, codes: Ints, rows: Sequence[int]) -> None:
        """Add a group: the place in `rows` of the one that is 1 in each column, -1 for none."""
        if FEW <= len(rows) < MOST_CODES:
            group = self.codes.add((codes + 1)[None])
            self.widths.append(len(rows) + 1)
            self._extend(max(rows) + 1)
            self.place[rows, 0], self.place[rows, 1] = group, np.arange(1, len(rows) + 1)

    def _extend(self, count: int) -> None:
        more = max(0, count - len(self.place))
        self.place = np.vstack([self.place, np.tile(np.array([-1, 0], np.intp), (more, 1))])

    def add_levels(self, columns: Sequence[Column], first: int, inputs: Inputs) -> None:
        """Add the categories of which some columns, which begin at a row, are single levels."""
        levels: dict[str, dict[str, int]] = {}
        for row, column in enumerate(columns, first):
            if isinstance(column, Level) and len(column.levels) == 1:
                levels.setdefault(column.source, {})[column.levels[0]] = row
        for name, rows in levels.items():
            known = inputs.schema[name].levels
            # Cells that are missing or of no known level count from the end.
            place = np.full(len(known) - min(MISSING, UNSEEN), -1)
            place[[known.index(level) for level in rows]] = np.arange(len(rows))
            self.add(place[inputs.codes(name)], [*rows.values()])

    def of(self, rows: Index) -> Codes:
        """Return the codes for terms in some rows of the matrix."""
        self._extend(int(rows.max(initial=-1)) + 1)
        group, level = self.place[rows].T.copy()
        return Codes(self.codes.memory, np.array(self.widths, np.int64), group, level)


@dataclass(slots=True, eq=False)
class FoldState:
    """The training rows of a fold with what was learned from them so far, and its held-out rows."""

    train: Table
    valid: Table | None  # held-out rows, block after block; None where `train` is the whole table
    blocks: Index  # where the blocks of `valid` begin, and the end of the last, (b + 1,)
    mined: Structure  # result of Stage 1
    test: Cases | None = None  # what `valid` has of the table's rows
    found: Discovery | None = None  # result of Stage 2, once it has begun
    # Values of vocabulary columns and leaves, one row each, in single precision.
    train_terms: GrowableMatrix = field(init=False)
    valid_terms: GrowableMatrix = field(init=False)
    columns: list[int] = field(default_factory=list)  # the row there of each vocabulary column
    trees: list[int] = field(default_factory=list)  # and of each tree's first leaf
    groups: _Groups = field(init=False)  # which rows there exclude each other
    # Of given lengths: direct terms, and leaves by their numbers through all trees.
    subsets: dict[Candidate, Index] = field(default_factory=dict)
    leaf_subsets: dict[Candidate, Index] = field(default_factory=dict)
    # Of ladders: their terms, and what their shapes are chosen from.
    ladder_terms: dict[Candidate, TermSet] = field(default_factory=dict)
    shapes_found: FoldShapes | None = None

    def __post_init__(self) -> None:
        self.train_terms = GrowableMatrix(self.train.n_rows, np.float32)
        self.valid_terms = GrowableMatrix(self.test_rows, np.float32)
        self.groups = _Groups(self.train.n_rows)
        self.evaluate()

    @property
    def structure(self) -> Structure:
        """The vocabulary and trees learned so far."""
        return self.mined if self.found is None else self.found.structure

    @property
    def shapes(self) -> FoldShapes:
        """What the base fit asks of the variables, once there is one."""
        assert self.shapes_found is not None
        return self.shapes_found

    @property
    def weights(self) -> Floats:
        """The weight of each held-out block, (b,)."""
        assert self.valid is not None
        return np.add.reduceat(self.valid.weight, self.blocks[:-1])

    def learn(self, found: Discovery) -> None:
        """Take over a newer result of Stage 2."""
        self.found = found
        self.evaluate()

    def evaluate(self) -> None:
        """Evaluate the columns and trees that are new since the last time."""
        vocabulary, known = self.structure.vocabulary, len(self.columns)
        new = range(known, len(vocabulary))
        first = self.train_terms.extend(len(new))
        self.columns += range(first, first + len(new))
        if self.valid is not None:
            self.valid_terms.extend(len(new))

        def fill(j: int) -> None:
            at = first + j - known
            self.train_terms.memory[at] = vocabulary.z[j]
            if self.valid is not None:
                self.valid_terms.memory[at] = vocabulary.column_on(self.valid.inputs, j)

        list(thread_map(fill, new))
        self.groups.add_levels(vocabulary.columns[known:], first, self.train.inputs)
        for m in range(len(self.trees), len(self.structure.trees)):
            tree = self.structure.trees[m]
            leaf = np.arange(tree.n_leaves)[:, None]
            codes = self.structure.leaf_codes[m]
            self.trees.append(self.train_terms.add(leaf == codes))
            self.groups.add(codes, range(self.trees[-1], self.trees[-1] + tree.n_leaves))
            if self.valid is not None:
                self.valid_terms.add(leaf == tree.apply(self.valid.inputs))

    def design(self, terms: TermSet, penalty: Floats, sign: Int8s) -> ApproximateDesign:
        """Return the design matrix of some terms on the training rows."""
        places = [
            self.trees[number] + np.arange(tree.n_leaves)
            for number, tree in zip(terms.tree_numbers, terms.trees, strict=True)
        ]
        leaves = np.concatenate([np.zeros(0, np.intp), *places])[terms.leaf_terms]
        rows = np.concatenate([leaves, np.array(self.columns, np.intp)[terms.direct]])
        train = self.train
        return ApproximateDesign(
            self.train_terms.memory,
            rows,
            train.y,
            train.weight,
            penalty,
            sign,
            train.loss,
            self.groups.of(rows),
        )

    def null_losses(self) -> Floats:
        """Return the deviance of the base rate on each block of held-out rows, (b, 1)."""
        train, none = self.train, np.zeros(0, np.intp)
        null = train.loss.null_scores(train.y, train.weight)
        return self.losses(none, null[None, :, None] if len(null) > 1 else null[None])

    def held_out_score(self, rows: Index, fit: Floats) -> Floats:
        """Return the score of the held-out rows under a fit, (n,) or (K, n), as `losses` has it."""
        z = self.valid_terms.memory[rows][:, : self.test_rows]
        score = fit[..., 1:] @ z + fit[..., :1]
        return np.asarray(score, np.float64)

    @property
    def test_rows(self) -> int:
        """Number of held-out rows."""
        return 0 if self.valid is None else self.valid.n_rows

    def losses(self, rows: Index, fits: Floats) -> Floats:
        """Return the deviance of fits (f, q + 1) on each block of held-out rows, (b, f).

        `rows` (q,) are those of the terms, as in `design`; of several scores, fits are
        (f, K, q + 1).
        """
        valid, z = self.valid, self.valid_terms.memory
        assert valid is not None
        if valid.loss.n_scores > 1:
            return _losses_of_scores(valid, self.blocks, z[rows, : valid.n_rows], fits)

        def block(at: slice) -> Floats:
            out = np.empty(len(fits))
            data = valid.loss.code, np.inf, valid.y[at], valid.weight[at]
            deviances(z, rows, data, at.start, fits, out)
            return out

        return np.array(list(each_block(block, UnevenBlocks(self.blocks))))


def take_few(
    fold: FoldState, design: ApproximateDesign, terms: TermSet, candidate: Candidate
) -> None:
    """Choose the terms of the very short models of a fold, by forward selection."""
    read = terms.conditions(fold.train.schema)
    names = [terms.vocabulary.columns[j].name for j in terms.direct]
    some = design.first_rows(fold.train.fair_rows(scale.FIRST_ROWS))
    order = forward_order(some, read, names, max(scale.FEW_CONDITIONS))
    for few in scale.FEW_CONDITIONS:
        within = np.array(order, np.intp)[np.cumsum(read[order]) <= few]
        fold.subsets[replace(candidate, max_conditions=few)] = np.sort(terms.direct[within])


def _losses_of_scores(valid: Table, blocks: Index, z: Array, fits: Floats) -> Floats:
    """Return the deviance of fits (f, K, q + 1) of the terms z (q, n), by block, (b, f)."""
    found = []
    for fit in fits:
        score = fit[:, 1:] @ z + fit[:, :1]
        unit = valid.weight * valid.loss.unit_deviance(score, valid.y)
        found.append(np.add.reduceat(unit, blocks[:-1]))
    return np.array(found).T / np.add.reduceat(valid.weight, blocks[:-1])[:, None]


def mine_folds(
    learner: StructureLearner, folds: list[Fold], watch: Watch, alone: bool
) -> list[FoldState]:
    """Run Stage 1 on the training rows of every fold; `alone` if not on the whole table before."""

    def mine(fold: Fold) -> FoldState:
        return mine_fold(learner, fold, watch, len(folds) == 1, alone)

    states = []
    for state in thread_map(mine, folds):
        states.append(state)
        watch.step()
    keep_columns(learner, states)
    return states


def keep_columns(learner: StructureLearner, folds: Iterable[FoldState]) -> None:
    """Release the columns that no vocabulary of some folds holds; more folds share the others.

    Of many rows, of which each column takes memory, all are released.
    """
    few = learner.table.n_rows <= scale.LONG_ABOVE
    kept = {c for fold in folds for c in fold.structure.vocabulary.columns} if few else set()
    learner.cache.keep(kept)


def mine_fold(
    learner: StructureLearner, fold: Fold, watch: Watch, blocks: bool, last: bool = False
) -> FoldState:
    """Run Stage 1 on the training rows of a fold.

    Held-out rows come in `blocks`, where one fold is searched. Nothing is mined after the `last`.
    """
    table = learner.table
    train, held = fold.train.on(table), [fold.test]
    if blocks:
        held = in_blocks(table, fold.test)
    test = Cases(*(np.concatenate([getattr(b, name) for b in held]) for name in ("rows", "number")))
    starts = np.concatenate([[0], np.cumsum([len(b.rows) for b in held])]).astype(np.intp)
    mined = mine_rows(learner, train, fold.train.rows, watch, last)
    return FoldState(train, test.on(table), starts, mined, test)


def in_blocks(table: Table, test: Cases) -> list[Cases]:
    """Divide held-out cases into blocks for a standard error; a row may be in several."""
    strata, whole = table.loss.strata(table.y)[test.rows], copies_of(table)[test.rows]
    dealt = deal(strata, test.number, scale.HELD_OUT_BLOCKS, whole)
    blocks = [Cases.of(number) for number in dealt]
    return [Cases(test.rows[b.rows], b.number) for b in blocks if len(b.rows)]


def mine_all_rows(learner: StructureLearner, watch: Watch) -> FoldState:
    """Run Stage 1 on the whole table, nothing held out."""
    table = learner.table
    mined = mine_rows(learner, table, None, watch)
    watch.step()
    return FoldState(table, None, np.zeros(1, np.intp), mined)


def mine_rows(
    learner: StructureLearner, part: Table, rows: Index | None, watch: Watch, last: bool = False
) -> Structure:
    """Run Stage 1 on some rows; once the time is up, return an empty vocabulary."""
    over = watch.is_over()
    return learner.empty_vocabulary(part) if over else learner.mine(part, rows, last=last)


@dataclass(slots=True, eq=False)
class FoldPath:
    """The fits of one candidate on one fold so far, from a large to a small lambda.

    `solve` maps lambdas (f,) below those so far to fits (f, q + 1).
    """

    fold: FoldState
    terms: TermSet
    design: ApproximateDesign
    solve: Callable[[Floats], Floats]
    fits: list[Floats] = field(default_factory=list)

    def extend(self, l1s: Floats) -> Floats | None:
        """Solve for more lambdas; return the losses on held-out rows (b, f), if there are any."""
        fits = self.solve(l1s)
        self.fits.extend(fits)
        return None if self.fold.valid is None else self.fold.losses(self.design.rows, fits)


@dataclass(frozen=True, slots=True)
class CandidatePath:
    """The fits of one candidate on all folds."""

    grid: Floats  # lambdas, descending, (f,); the path may end before the last
    terms: list[TermSet]  # by fold
    fits: list[list[Floats]]  # by fold, then by lambda, (q + 1,)
    warm_start: int  # index of the lambda at which a larger candidate starts its path

    def start_for(self, fold: int, larger: TermSet) -> Floats:
        """Return the fit from which the path of more terms starts on a fold, (q + 1,)."""
        return larger.carry(self.fits[fold][max(0, self.warm_start)], self.terms[fold])


def extend_all(paths: list[FoldPath], l1s: Floats) -> list[Floats]:
    """Extend the paths of all folds, in threads if there are any; return the losses."""
    with one_blas_thread():
        losses = list(thread_map(lambda path: path.extend(l1s), paths))
    return [found for found in losses if found is not None]
