"""Stages 1 and 2 on a table: its vocabulary, then trees and products for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Pair
from rpte.estimation.monotone import solve_in_order
from rpte.estimation.terms import Offer, choose_terms, make_design
from rpte.folds import LARGE
from rpte.progress import Watch
from rpte.settings import Settings
from rpte.structure.boosting import Stage2, base_score, discover_trees
from rpte.structure.coding import TreeColumns, code_columns
from rpte.structure.order import ordered_leaves
from rpte.structure.structure import Structure
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.vocabulary.book import ShapeBook
from rpte.vocabulary.build import Vocabulary, build_vocabulary, read_book
from rpte.vocabulary.pairs import lookahead_roots
from rpte.vocabulary.products import find_products

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

MOST_PRODUCTS = 60
HELD_ROWS = 2_048  # of a long table, in the published configuration
MINING, GROWING = "mining the vocabulary", "growing trees"


@dataclass(frozen=True, slots=True)
class Start:
    """Where Stage 2 sets out from.

    Parameters
    ----------
    score : (n,)
        Of the direct terms of single variables.
    use : (V,)
        How much each vocabulary column moves it.
    """

    score: Floats
    use: Floats


@dataclass(frozen=True, slots=True)
class Discovery:
    """Stages 1 and 2 on a table, so far.

    Parameters
    ----------
    table : Table
    structure : Structure
    columns : TreeColumns or None
        What trees may split on; None where Stage 2 has not begun, or is over.
    stage2 : Stage2
        The record of the trees that were tried.
    """

    table: Table
    structure: Structure
    columns: TreeColumns | None
    stage2: Stage2

    def over(self) -> Discovery:
        """Return what is left of it when no trees are to come."""
        return replace(self, columns=None, stage2=replace(self.stage2, counts=None))

    def head(self, rows: int) -> Discovery:
        """Return the same, whose vocabulary holds its first rows alone."""
        vocabulary = self.structure.vocabulary.head(rows)
        return replace(self, structure=replace(self.structure, vocabulary=vocabulary))

    def with_products(self, start: Start, settings: Settings) -> Discovery:
        """Add products for what a start leaves."""
        more = _with_products(self.table, self.structure.vocabulary, start, settings)
        return replace(self, structure=replace(self.structure, vocabulary=more))

    def with_trees(
        self, most: int, settings: Settings, pool: ThreadPoolExecutor | None
    ) -> Discovery:
        """Go on until there are so many trees, or no more is to be had."""
        table, columns = self.table, self.columns
        assert columns is not None
        rules = replace(settings.stage2(table.schema), max_trees=min(most, settings.max_trees))
        stage2 = discover_trees(columns.coded, table.y, table.weight, rules, pool, self.stage2)
        trees, codes = list(self.structure.trees), list(self.structure.leaf_codes)
        steps = list(self.structure.steps)
        for accepted in [r for r in stage2.rounds if r.accepted][len(trees) :]:
            tree, numbers = columns.read(accepted.tree)
            steps.append(accepted.step * accepted.leaf_values[numbers])
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
class Quarry:
    """A table to learn structures from, on all of its rows or on some, and what these share.

    Shapes and the codes of numbers come from cells alone; they are made once.
    """

    table: Table
    settings: Settings
    pool: ThreadPoolExecutor | None
    book: ShapeBook

    @classmethod
    def of(cls, table: Table, settings: Settings, pool: ThreadPoolExecutor | None) -> Quarry:
        """Return the quarry of a table."""
        book = ShapeBook(table, settings.min_samples_leaf, settings.limits)
        return cls(table, settings, pool, book)

    def mine(
        self, part: Table, rows: Rows, held: int | None = None, last: bool = False
    ) -> Structure:
        """Run Stage 1 on some rows of the table: a structure without trees.

        Patterns and pairs hold the cells of the first `held` rows, of all if None. After the `last`
        time the quarry holds no shapes.
        """
        if self.settings.vocabulary == "shapes":
            vocabulary = read_book(self.book, part, rows, self.settings.stage1(), last)
        else:
            vocabulary = build_vocabulary(part, self.settings.stage1(), self.pool, held)
        return _without_trees(part, vocabulary)

    def leave(self, part: Table) -> Structure:
        """Leave Stage 1 out: a structure without any columns."""
        none = np.zeros(0)
        empty = Vocabulary((), np.zeros(0, np.intp), np.zeros((0, part.n_rows)), none, none)
        return _without_trees(part, empty)

    def stop(self, part: Table, mined: Structure) -> Discovery:
        """Leave Stage 2 out."""
        return Discovery(part, mined, None, _no_tree(part, mined.start))

    def grow(self, part: Table, mined: Structure, start: Start | None) -> Discovery:
        """Begin Stage 2: products for what the start leaves, no trees yet."""
        settings, vocabulary = self.settings, mined.vocabulary
        if start is not None and settings.makes_products:
            vocabulary = _with_products(part, vocabulary, start, settings)
        roots = _roots(part, settings, vocabulary, self.pool)
        columns = code_columns(part, mined.vocabulary, settings.paper, roots, settings.limits)
        score = mined.start if start is None else start.score
        structure = replace(mined, vocabulary=vocabulary, start=score)
        return Discovery(part, structure, columns, _no_tree(part, score))


def _without_trees(part: Table, vocabulary: Vocabulary) -> Structure:
    base = base_score(part.y, part.weight)
    nothing = np.zeros((0, part.n_rows), np.int32)
    return Structure(vocabulary, (), nothing, (), np.full(part.n_rows, base))


def _no_tree(part: Table, score: Floats) -> Stage2:
    return Stage2((), (), score, base_score(part.y, part.weight), "no tree was asked for")


def discover(
    table: Table,
    settings: Settings,
    start_l1: float | None,
    pool: ThreadPoolExecutor | None,
    watch: Watch | None = None,
) -> Discovery:
    """Run Stages 1 and 2; Stage 2 sets out from the direct terms at `start_l1`, if there is one.

    When the time is up no more trees are grown.
    """
    watch = watch or Watch()
    quarry = Quarry.of(table, settings, pool)
    watch.begin(MINING, 0.3)
    held = HELD_ROWS if settings.paper and table.n_rows > LARGE else None
    mined = quarry.mine(table, np.arange(table.n_rows), held, last=True)
    watch.begin(GROWING, 0.7, 1 + settings.max_trees)
    if watch.is_over():
        return quarry.stop(table, mined)
    start = None
    if start_l1 is not None:
        start = _start_from(table, mined, settings, start_l1)
    found = quarry.grow(table, mined, start)
    for most in range(1, settings.max_trees + 1):
        watch.step()
        if watch.is_over():
            break
        found = found.with_trees(most, settings, pool)
        if len(found.structure.trees) < most:
            break
    return found.over()


def _start_from(table: Table, mined: Structure, settings: Settings, l1: float) -> Start | None:
    """Return the score of all direct terms of single variables."""
    terms = choose_terms(table, mined, Offer(), settings.admission())
    design = make_design(table, mined, terms, settings.limits)
    if design.n_terms == 0:
        return Start(mined.start, np.zeros(len(mined.vocabulary)))
    fit, _ = solve_in_order(design, [], l1, settings.share)
    return Start(
        design.score(fit.intercept, fit.coefficients),
        use_of(mined.vocabulary, terms.direct, fit.coefficients),
    )


def use_of(vocabulary: Vocabulary, direct: Rows, coefficients: Floats) -> Floats:
    """Return how much each column moves the score of some direct terms, (V,)."""
    use = np.zeros(len(vocabulary))
    active = np.flatnonzero(coefficients)
    which = direct[active]
    use[which] = np.abs(coefficients[active]) * vocabulary.z[which].std(axis=1)
    return use


def _with_products(
    table: Table, vocabulary: Vocabulary, start: Start, settings: Settings
) -> Vocabulary:
    """Return a vocabulary with products for what a start leaves; none is there twice."""
    most = min(settings.budget, MOST_PRODUCTS)
    found = find_products(table, vocabulary, start.use, start.score, most, settings.limits)
    known = set(vocabulary.columns)
    return vocabulary.with_pairs(table, tuple(pair for pair in found if pair not in known))


def _roots(
    table: Table, settings: Settings, vocabulary: Vocabulary, pool: ThreadPoolExecutor | None
) -> tuple[Pair, ...]:
    """Return the pairs that only lookahead may use: what is left of the budget of K pairs."""
    if not settings.lookahead or settings.vocabulary == "original":
        return ()
    pairs = [column for column in vocabulary.columns if isinstance(column, Pair)]
    left = settings.budget - len(pairs)
    return lookahead_roots(table, pairs, left, settings.limits, pool)


def leaf_order(trees: Sequence[Tree], settings: Settings) -> list[list[tuple[int, int]]]:
    """Return for each tree the pairs of leaves that the user's limits put in order."""
    return [ordered_leaves(tree, settings.limits.directions) for tree in trees]
