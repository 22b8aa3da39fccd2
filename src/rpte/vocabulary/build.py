"""Stage 1 as a whole: from a table to its vocabulary (the paper's ConstructVocabulary)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpte.limits import FREE, Permissions
from rpte.table.decimals import short_centre
from rpte.table.table import Table
from rpte.vocabulary.columns import Column, Level, Missing, Value
from rpte.vocabulary.frequent import mine_frequent
from rpte.vocabulary.gain import SortedColumn
from rpte.vocabulary.hug import mine_hug
from rpte.vocabulary.items import make_items
from rpte.vocabulary.mining import item_book
from rpte.vocabulary.pairs import mine_pairs
from rpte.vocabulary.redundancy import keep_distinct, keep_independent
from rpte.vocabulary.screening import SAMPLE_ROWS, promising, sample, strongest
from rpte.vocabulary.shapes import shape_columns

Floats = NDArray[np.float64]
Miner = Literal["shapes", "hug", "frequent", "original"]
Middle = Literal["zero", "mean", "median"]

ORIGINAL, PATTERN, PAIR = 0, 1, 2  # shapes are in the budget of patterns, products in that of pairs
ORIGINAL_SCORE_BINS = 16
ALL_RIVALS = 1000  # with more columns than this, only sources compete with what is made of them


@dataclass(frozen=True, slots=True)
class VocabularySettings:
    """What Stage 1 may do.

    Parameters
    ----------
    miner : {"shapes", "hug", "frequent", "original"}
    pattern_order : {1, 2}
        L: items per pattern; pairs are made only for 2.
    budget : int
        K: at most so many patterns (or shapes), and at most so many pairs.
    min_gain : float
        G: gain in nats that a pattern must exceed.
    paper : bool
        Follow the published configuration where it is arbitrary.
    least : float
        Weight on either side of a shape's knot.
    lookahead : bool
        Stage 2 will look ahead, and needs pairs of its own.
    limits : Permissions
        What the user forbids.
    """

    miner: Miner
    pattern_order: int
    budget: int
    min_gain: float
    paper: bool
    least: float = 5.0
    lookahead: bool = False
    limits: Permissions = FREE

    @property
    def pair_budget(self) -> int:
        """How many pairs are mined: lookahead keeps half of the budget for its own roots."""
        return self.budget // 2 if self.lookahead else self.budget


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The columns of Stage 1 with what the other stages need to use them.

    Parameters
    ----------
    columns : tuple of Column
        Raw variables, then patterns or shapes, then pairs; each block in its ranking.
    block : (V,)
        0 raw variable, 1 pattern or shape, 2 pair.
    values : (n, V) Fortran order
        Training values, NaN where missing.
    centre, scale : (V,)
        Numeric columns enter Stage 3 as (value - centre) / scale, missing as 0; binary ones as
        they are.
    """

    columns: tuple[Column, ...]
    block: NDArray[np.intp]
    values: Floats
    centre: Floats
    scale: Floats

    def __len__(self) -> int:
        return len(self.columns)

    def standardised(self, which: NDArray[np.intp], rows: int | None = None) -> Floats:
        """Return columns in penalty units, shape (n, k) Fortran order, missing as 0.

        With `rows`, only the first rows.
        """
        scaled = self.values[:rows, which] - self.centre[which]
        scaled /= self.scale[which]
        scaled[np.isnan(scaled)] = 0.0
        return np.asfortranarray(scaled)

    def keep(self, which: NDArray[np.intp]) -> Vocabulary:
        """Return the vocabulary of some columns."""
        return Vocabulary(
            tuple(self.columns[j] for j in which),
            self.block[which],
            np.asfortranarray(self.values[:, which]),
            self.centre[which],
            self.scale[which],
        )

    def with_pairs(self, table: Table, pairs: tuple[Column, ...]) -> Vocabulary:
        """Return the vocabulary with some more columns of two sources, those that repeat left out.

        `table` is the one that this vocabulary was evaluated on.
        """
        more = evaluate_columns(table, (), (), pairs, paper=False)
        both = Vocabulary(
            (*self.columns, *more.columns),
            np.concatenate([self.block, more.block]),
            np.asfortranarray(np.hstack([self.values, more.values])),
            np.concatenate([self.centre, more.centre]),
            np.concatenate([self.scale, more.scale]),
        )
        return both.keep(keep_distinct(both.values, _indicators(both)))


def build_vocabulary(
    table: Table, settings: VocabularySettings, pool: ThreadPoolExecutor | None = None
) -> Vocabulary:
    """Mine the vocabulary of a table: at most p0 + 2K columns, a raw variable counted once."""
    limits = settings.limits
    originals = original_columns(table, settings.paper, limits)
    patterns: tuple[Column, ...] = ()
    pairs: tuple[Column, ...] = ()
    if settings.miner == "shapes":
        shapes = shape_columns(table, promising(table, limits), settings.least, limits)
        patterns = strongest(sample(table), shapes, settings.budget)
    elif settings.miner != "original":
        among = promising(table, limits)
        book = item_book(table, make_items(table, not settings.paper, among), limits)
        order, budget = settings.pattern_order, settings.budget
        if settings.miner == "hug":
            patterns = mine_hug(book, order, budget, settings.min_gain, pool)
        else:
            patterns = mine_frequent(book, order, budget, pool)
        if order > 1:
            pairs = mine_pairs(sample(table), settings.pair_budget, among, limits, pool)
    vocabulary = evaluate_columns(table, originals, patterns, pairs, settings.paper)
    if settings.paper:
        vocabulary = _cap_originals(table, vocabulary, settings.budget)
    vocabulary = vocabulary.keep(keep_distinct(vocabulary.values, _indicators(vocabulary)))
    return vocabulary if settings.miner == "shapes" else _independent(table, vocabulary)


def original_columns(table: Table, paper: bool, limits: Permissions = FREE) -> tuple[Column, ...]:
    """Return values, levels (special codes too) and missing flags, by variable in order."""
    columns: list[Column] = []
    for position in table.schema.canonical():
        variable = table.schema.variables[position]
        if not limits.usable(variable.name):
            continue
        if variable.kind == "number":
            columns.append(Value(variable.name))
        columns.extend(Level(variable.name, (level,)) for level in variable.levels)
        if variable.has_missing and not (paper and variable.kind == "number"):
            columns.append(Missing(variable.name))
    return tuple(columns)


def evaluate_columns(
    table: Table,
    originals: tuple[Column, ...],
    patterns: tuple[Column, ...],
    pairs: tuple[Column, ...],
    paper: bool,
) -> Vocabulary:
    """Evaluate columns on the training rows and choose their centres and scales."""
    columns = (*originals, *patterns, *pairs)
    block = np.repeat([ORIGINAL, PATTERN, PAIR], [len(originals), len(patterns), len(pairs)])
    values = np.empty((table.n_rows, len(columns)), order="F")
    centre, scale = np.zeros(len(columns)), np.ones(len(columns))
    for j, column in enumerate(columns):
        values[:, j] = column.evaluate(table.inputs)
        if not column.binary:
            middle: Middle = "mean" if paper and block[j] == PAIR else "median"
            middle = middle if column.centred else "zero"
            centre[j], scale[j] = _location(values[:, j], table.weight, middle, exact=paper)
    return Vocabulary(columns, block, values, centre, scale)


def _location(x: Floats, weight: Floats, middle: Middle, exact: bool) -> tuple[float, float]:
    """Return the value that stands for missing, and the standard deviation with it filled in."""
    present = ~np.isnan(x)
    if not present.any():
        return 0.0, 1.0
    centre = 0.0
    if middle == "mean":
        centre = float(np.average(x[present], weights=weight[present]))
    elif middle == "median":
        centre = float(SortedColumn(x, weight, weight).quantiles(0.5))
    filled = np.where(present, x, centre)
    about = float(np.average(filled, weights=weight))
    biggest = float(np.abs(filled - about).max())
    if biggest == 0.0:
        return centre, 1.0
    # Dividing by the largest deviation first keeps the squares of values near 1e300 finite.
    scale = biggest * float(np.sqrt(np.average(((filled - about) / biggest) ** 2, weights=weight)))
    return (centre if exact else short_centre(centre, scale)), scale


def _cap_originals(table: Table, vocabulary: Vocabulary, budget: int) -> Vocabulary:
    """Keep the K raw columns of highest gain in 16 quantile bins (paper configuration)."""
    originals = np.flatnonzero(vocabulary.block == ORIGINAL)
    if len(originals) <= budget:
        return vocabulary
    gains = np.array([_coarse_gain(table, vocabulary, int(j)) for j in originals])
    ranking = np.lexsort((originals, -np.round(gains, 12)))
    kept = np.sort(originals[ranking[:budget]])
    others = np.flatnonzero(vocabulary.block != ORIGINAL)
    return vocabulary.keep(np.concatenate([kept, others]))


def _coarse_gain(table: Table, vocabulary: Vocabulary, j: int) -> float:
    column = SortedColumn(vocabulary.values[:, j], table.y, table.weight)
    if not len(column.values):
        return 0.0
    if vocabulary.columns[j].binary:
        return column.gain(np.array([0.5]))
    fractions = np.arange(1, ORIGINAL_SCORE_BINS) / ORIGINAL_SCORE_BINS
    return column.gain(np.unique(column.quantiles(fractions)))


def _independent(table: Table, vocabulary: Vocabulary) -> Vocabulary:
    """Drop the patterns and pairs that another column nearly repeats."""
    rivals = _rivals(vocabulary)
    rows = min(table.n_rows, SAMPLE_ROWS)
    filled = vocabulary.standardised(rivals, rows)
    kept = keep_independent(filled, table.weight[:rows], vocabulary.block[rivals])
    dropped = np.setdiff1d(rivals, rivals[kept])
    return vocabulary.keep(np.setdiff1d(np.arange(len(vocabulary)), dropped))


def _rivals(vocabulary: Vocabulary) -> NDArray[np.intp]:
    """Return the derived columns and the raw columns of their sources: what may be redundant."""
    derived = vocabulary.block != ORIGINAL
    read = {s for j in np.flatnonzero(derived) for s in vocabulary.columns[j].sources}
    if len(vocabulary) <= ALL_RIVALS:
        return np.arange(len(vocabulary))
    related = [derived[j] or c.sources[0] in read for j, c in enumerate(vocabulary.columns)]
    return np.flatnonzero(related)


def _indicators(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Tell which columns hold only 0 and 1, so that a complement can repeat them."""
    pairs = zip(vocabulary.columns, vocabulary.values.T, strict=True)
    return np.array([c.binary or bool(((x == 0) | (x == 1)).all()) for c, x in pairs], bool)
