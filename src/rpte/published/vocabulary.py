"""Stage 1 as published: patterns of items and pairs (the paper's ConstructVocabulary)."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rpte.columns.kinds import Column
from rpte.columns.limits import FREE, Permissions
from rpte.published.hug import mine_hug
from rpte.published.items import make_items
from rpte.published.mining import item_index, mine_frequent
from rpte.published.pairs import mine_pairs
from rpte.rows import scale
from rpte.table.table import Table
from rpte.utils.arrays import Index
from rpte.vocabulary.gain import SortedColumn, in_or_out_gain
from rpte.vocabulary.redundancy import keep_independent
from rpte.vocabulary.screening import promising
from rpte.vocabulary.shape_cache import original_columns
from rpte.vocabulary.vocabulary import ORIGINAL, Vocabulary, evaluate_columns

ORIGINAL_SCORE_BINS = 16
ALL_RIVALS = 1000  # with more columns than this, only sources compete with what is made of them
Miner = Literal["shapes", "hug", "frequent", "original"]


@dataclass(frozen=True, slots=True)
class VocabularySettings:
    """What Stage 1 may do; shapes are made by `rpte.vocabulary.build`."""

    miner: Miner
    pattern_order: int  # L, the items per pattern; pairs are made only for 2
    budget: int  # K, the most patterns and the most pairs
    min_gain: float  # G, in nats, what a pattern must exceed
    paper: bool
    least: float = 5.0  # weight on either side of the knot of a shape
    lookahead: bool = False  # asks for pairs of its own
    limits: Permissions = FREE

    @property
    def pair_budget(self) -> int:
        """How many pairs are mined: lookahead keeps half of the budget for its own roots."""
        return self.budget // 2 if self.lookahead else self.budget


def build_vocabulary(
    table: Table, settings: VocabularySettings, rows: int | None = None
) -> Vocabulary:
    """Mine the vocabulary of a table: at most p0 + 2K columns, a raw variable counted once.

    Its z is of the first `rows`, of all if None.
    """
    if settings.miner == "shapes":
        raise ValueError("miner='shapes'; vocabulary_of_shapes makes that vocabulary")
    limits = settings.limits
    originals = original_columns(table, settings.paper, limits)
    patterns: tuple[Column, ...] = ()
    pairs: tuple[Column, ...] = ()
    if settings.miner != "original":
        among = promising(table, limits)
        index = item_index(table, make_items(table, not settings.paper, among), limits)
        order, budget = settings.pattern_order, settings.budget
        if settings.miner == "hug":
            patterns = mine_hug(index, order, budget, settings.min_gain)
        else:
            patterns = mine_frequent(index, order, budget)
        if order > 1:
            sample = table.sample(scale.SCREENED_ROWS)
            pairs = mine_pairs(sample, settings.pair_budget, among, limits)
    if settings.paper:
        originals = _cap_originals(table, originals, settings.budget)
    evaluated = None if rows is None else max(rows, scale.SCREENED_ROWS)
    found = evaluate_columns(table, originals, patterns, pairs, settings.paper, rows=evaluated)
    return _independent(table, found, rows)


def _cap_originals(table: Table, originals: tuple[Column, ...], budget: int) -> tuple[Column, ...]:
    """Keep the K raw columns of highest gain in 16 quantile bins (paper configuration)."""
    if len(originals) <= budget:
        return originals
    gains = np.array([_coarse_gain(table, column) for column in originals])
    ranking = np.argsort(-np.round(gains, 12), kind="stable")
    return tuple(originals[j] for j in np.sort(ranking[:budget]))


def _coarse_gain(table: Table, original: Column) -> float:
    x, weight = original.evaluate(table.inputs), table.weight
    if original.binary:
        events = weight * table.y
        sums = weight @ x, events @ x, float(weight.sum()), float(events.sum())
        return float(in_or_out_gain(*sums, table.loss))
    column = SortedColumn(x, table.y, weight, table.loss)
    if not len(column.values):
        return 0.0
    fractions = np.arange(1, ORIGINAL_SCORE_BINS) / ORIGINAL_SCORE_BINS
    return float(column.gains(np.unique(column.quantiles(fractions))))


def _independent(table: Table, vocabulary: Vocabulary, rows: int | None) -> Vocabulary:
    """Drop the patterns and pairs that another column nearly repeats; keep the first `rows`.

    Where all rows stay, the columns that stay move up in the memory of `vocabulary`, which is
    overwritten: a copy of them would take as much again.
    """
    rivals, z = _rivals(vocabulary), vocabulary.z
    assert isinstance(z, np.ndarray)
    n = min(table.n_rows, scale.SCREENED_ROWS)
    some = z[:, :n] if len(rivals) == len(vocabulary) else z[rivals, :n]
    kept = keep_independent(some, table.weight[:n], vocabulary.block[rivals])
    dropped = np.setdiff1d(rivals, rivals[kept])
    which = np.setdiff1d(np.arange(len(vocabulary)), dropped)
    if rows is not None:
        return replace(vocabulary, z=z[:, :rows]).keep(which)
    for place, j in enumerate(which):
        if place < j:
            z[place] = z[j]
    return vocabulary.keep(which, z[: len(which)])


def _rivals(vocabulary: Vocabulary) -> Index:
    """Return the derived columns and the raw columns of their sources: what may be redundant."""
    derived = vocabulary.block != ORIGINAL
    read = {s for j in np.flatnonzero(derived) for s in vocabulary.columns[j].sources}
    if len(vocabulary) <= ALL_RIVALS:
        return np.arange(len(vocabulary))
    related = [derived[j] or c.sources[0] in read for j, c in enumerate(vocabulary.columns)]
    return np.flatnonzero(related)
