"""Stages 1 and 2 on a table or on some of its rows: a vocabulary, then trees and products."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpte.columns.kinds import Pair
from rpte.errors import InputError
from rpte.fit.settings import Settings
from rpte.losses import BINOMIAL
from rpte.published.label_trees import LabelGrower
from rpte.published.pairs import lookahead_roots
from rpte.published.vocabulary import build_vocabulary
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.structure.boosting import Grower, NewtonGrower, Stage2, base_of, discover_trees
from rpte.structure.coding import Ranks, TreeColumns, code_columns
from rpte.structure.joint_trees import discover_joint_trees
from rpte.structure.structure import Structure
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index
from rpte.vocabulary.build import vocabulary_of_shapes
from rpte.vocabulary.products import Ends, find_products
from rpte.vocabulary.shape_cache import ShapeCache
from rpte.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class WarmStart:
    """A fit of direct terms that Stage 2 starts from: its score (n,), moved by columns, (V,)."""

    score: Floats
    use: Floats

    @classmethod
    def of(
        cls, score: Floats, vocabulary: Vocabulary, direct: Index, coefficients: Floats
    ) -> WarmStart:
        """Return the start from a score, of which some direct terms have coefficients (d,).

        Those of several scores are (K, d), and a column is of use for what it moves all of them by.
        """
        use = np.zeros(len(vocabulary))
        if coefficients.ndim > 1:
            coefficients = np.abs(coefficients).sum(axis=0)
        active = np.flatnonzero(coefficients)
        which = direct[active]
        spread = [*thread_map(lambda j: vocabulary.z[j].std(), which.tolist())]
        use[which] = np.abs(coefficients[active]) * np.array(spread, np.float64)
        return cls(score, use)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Stages 1 and 2 on a table, so far."""

    table: Table
    structure: Structure
    stage2: Stage2  # the record of the trees that were tried
    columns: TreeColumns | None = None  # what trees may split on; None: Stage 2 is over or left out
    grower: Grower | None = None
    searched_rows: int | None = None  # distinct rows of which the table is a fold; None: all rows

    def release(self) -> Discovery:
        """Return the same without what only further trees need."""
        return replace(self, columns=None, grower=None)

    def first_rows(self, rows: int) -> Discovery:
        """Return the same, whose vocabulary holds its first rows alone."""
        vocabulary = self.structure.vocabulary.first_rows(rows)
        return replace(self, structure=replace(self.structure, vocabulary=vocabulary))

    def with_products(
        self, start: WarmStart, settings: Settings, ends: Ends | None = None
    ) -> Discovery:
        """Add products for what a start leaves, whose parts do not change beyond the ends."""
        more = _with_products(self.table, self.structure.vocabulary, start, settings, ends)
        return replace(self, structure=replace(self.structure, vocabulary=more))

    def with_trees(self, most: int, settings: Settings) -> Discovery:
        """Go on until there are `most` trees, or no more can be found."""
        table, columns = self.table, self.columns
        assert columns is not None
        rules = replace(settings.stage2(table.schema), max_trees=min(most, settings.max_trees))
        stage2 = self.stage2
        if not settings.grows_jointly and table.loss.n_scores == 1:
            stage2 = discover_trees(
                columns.coded, table.y, table.weight, rules, self.grower, stage2, table.loss
            )
        elif not stage2.rounds:  # all of them at once
            rules = settings.stage2(table.schema)
            stage2 = discover_joint_trees(columns.coded, table.y, table.weight, rules, table.loss)
        trees, codes = list(self.structure.trees), list(self.structure.leaf_codes)
        steps = list(self.structure.steps)
        for accepted in [r for r in stage2.rounds if r.accepted][len(trees) :]:
            tree, numbers = columns.read(accepted.tree)
            steps.append(accepted.step * accepted.leaf_values[..., numbers])
            trees.append(tree)
            codes.append(np.argsort(numbers).astype(np.int32)[accepted.leaf])
        structure = replace(
            self.structure,
            trees=tuple(trees),
            leaf_codes=np.array(codes, np.int32).reshape(len(trees), table.n_rows),
            used=tuple(frozenset(columns.members(tree)) for tree in stage2.trees),
            steps=tuple(steps),
        )
        return replace(self, structure=structure, stage2=stage2)


@dataclass(frozen=True, slots=True)
class StructureLearner:
    """Learns structures from all rows of a table or from some; what these need is made once.

    Shapes and the codes of numbers come from cells alone.
    """

    table: Table
    settings: Settings
    cache: ShapeCache
    ranks: Ranks

    @classmethod
    def of(cls, table: Table, settings: Settings) -> StructureLearner:
        """Return the learner of a table; raise where the settings search for two classes only."""
        if settings.two_classes_only and table.loss is not BINOMIAL:
            raise InputError(
                f"the target has the loss '{table.loss.name}'; criterion='label' and lookahead "
                "tell two classes apart: give criterion='newton' and lookahead=False"
            )
        least, limits = settings.min_samples_leaf, settings.limits
        cache = ShapeCache(table, least, limits, settings.rules, settings.lookahead)
        return cls(table, settings, cache, Ranks(table))

    def mine(
        self, part: Table, rows: Index | None = None, held: int | None = None, last: bool = False
    ) -> Structure:
        """Run Stage 1 on some rows of the table, all if None: a structure without trees.

        Patterns and pairs hold the cells of the first `held` rows, of all if None. After the `last`
        time the cache holds no shapes.
        """
        settings = self.settings
        if settings.vocabulary == "shapes":
            budget, paper = _most_shapes(part, settings), settings.paper
            rows = np.arange(part.n_rows) if rows is None else rows
            return _treeless(
                part, vocabulary_of_shapes(self.cache, part, rows, budget, paper, last)
            )
        return _treeless(part, build_vocabulary(part, settings.stage1(), held))

    def empty_vocabulary(self, part: Table) -> Structure:
        """Leave Stage 1 out: a structure without any columns."""
        none = np.zeros(0)
        empty = Vocabulary((), np.zeros(0, np.intp), np.zeros((0, part.n_rows)), none, none)
        return _treeless(part, empty)

    def without_trees(self, part: Table, mined: Structure) -> Discovery:
        """Leave Stage 2 out."""
        return Discovery(part, mined, _no_trees(part, mined.start))

    def grow(self, part: Table, mined: Structure, start: WarmStart | None) -> Discovery:
        """Begin Stage 2: products for what the start leaves, no trees yet."""
        settings, vocabulary = self.settings, mined.vocabulary
        if start is not None and settings.makes_products:
            vocabulary = _with_products(part, vocabulary, start, settings)
        roots = _roots(part, settings, vocabulary)
        limits, paper = settings.limits, settings.paper
        columns = code_columns(part, mined.vocabulary, paper, roots, limits, self.ranks)
        score = mined.start if start is None else start.score
        structure = replace(mined, vocabulary=vocabulary, start=score)
        kind = LabelGrower if settings.criterion == "label" else NewtonGrower
        grower = kind(columns.coded, part.y, part.weight, settings.stage2(part.schema))
        return Discovery(part, structure, _no_trees(part, score), columns, grower)


def _most_shapes(part: Table, settings: Settings) -> int:
    """Return how many shapes there may be: within the budget, of numbers fewer of many rows."""
    if not part.loss.leaves_little:
        return settings.budget
    few = max(scale.SHAPES_OF_MANY_ROWS, scale.SHAPE_CELLS // max(part.n_rows, 1))
    return min(settings.budget, few)


def _treeless(part: Table, vocabulary: Vocabulary) -> Structure:
    nothing = np.zeros((0, part.n_rows), np.int32)
    start = part.loss.null_rows(part.y, part.weight)
    return Structure(vocabulary, (), nothing, (), start)


def _no_trees(part: Table, score: Floats) -> Stage2:
    base = base_of(part.loss, part.y, part.weight)
    return Stage2((), (), score, base, "no tree was asked for")


def _with_products(
    table: Table,
    vocabulary: Vocabulary,
    start: WarmStart,
    settings: Settings,
    ends: Ends | None = None,
) -> Vocabulary:
    """Return a vocabulary with products for what a start leaves; none is there twice."""
    most = min(settings.budget, scale.MOST_PRODUCTS)
    found = find_products(table, vocabulary, start.use, start.score, most, settings.limits, ends)
    known = set(vocabulary.columns)
    return vocabulary.with_pairs(table, tuple(pair for pair in found if pair not in known))


def _roots(table: Table, settings: Settings, vocabulary: Vocabulary) -> tuple[Pair, ...]:
    """Return the pairs that only lookahead may use: what is left of the budget of K pairs."""
    if not settings.lookahead or settings.vocabulary == "original":
        return ()
    pairs = [column for column in vocabulary.columns if isinstance(column, Pair)]
    return lookahead_roots(table, pairs, settings.budget - len(pairs), settings.limits)
