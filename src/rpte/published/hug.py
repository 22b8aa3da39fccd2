"""High utility gain patterns: information gain is the gate, utility the ranking.

An item's utility is how strongly its variable is associated with the target, a pattern's its
cover times the sum of its items' utilities. Ties are broken by the canonical order of items, never
by the order of the table's columns. Of numbers, gain is the fall of half the deviance.
"""

import numpy as np

from rpte.columns.kinds import Column
from rpte.losses import BINOMIAL
from rpte.losses.binomial import weighted_entropy
from rpte.published.mining import (
    Candidates,
    ItemIndex,
    Worth,
    distinct_covers,
    pair_candidates,
    select,
)
from rpte.table.table import Table
from rpte.utils.arrays import Floats
from rpte.vocabulary.gain import in_or_out_gain

# Factor on the utility of a level associated with the negative class, or with a lower mean.
NEGATIVE_LEVEL = 0.05


def mine_hug(index: ItemIndex, order: int, budget: int, min_gain: float) -> tuple[Column, ...]:
    """Return at most `budget` (K) patterns of at most `order` items, best first.

    Every pattern, and each part of a pair, gains more than `min_gain` (G, in nats).
    """
    if not index.items or budget == 0:
        return ()
    utility = item_utilities(index)
    singles = index.singles.keep((utility > 0) & index.permitted(index.singles))
    if not len(singles):
        return ()
    # No pattern is worth less than the K-th item.
    ranked = np.sort(singles.cover * utility[singles.first])[::-1]
    floor = float(ranked[min(budget, len(ranked)) - 1])
    candidates = _admissible(index, singles, order, min_gain, Worth(utility, floor))
    second = np.where(candidates.second >= 0, utility[candidates.second], 0.0)
    worth = candidates.cover * (utility[candidates.first] + second)
    candidates, worth = candidates.keep(worth >= floor), worth[worth >= floor]
    ranking = np.lexsort((candidates.second, candidates.first, -worth))
    taken = select(index, candidates, ranking, budget)
    if order > 1:
        ranking = np.lexsort((np.arange(len(taken)), -worth[taken], -candidates.gain[taken]))
        taken = distinct_covers(index, candidates, taken[ranking], budget)
    return index.columns_of(candidates.keep(taken))


def _admissible(
    index: ItemIndex, singles: Candidates, order: int, min_gain: float, worth: Worth
) -> Candidates:
    """Return the items that pass the gain gate, and the pairs of worth that do."""
    gated = singles.keep((singles.gain > min_gain) & (singles.cover < index.table.total_weight))
    if order < 2 or not len(gated):
        return gated
    allowed = np.zeros(len(index.items), bool)
    allowed[gated.first] = True
    pairs = [p.keep(p.gain > min_gain) for p in pair_candidates(index, allowed, worth)]
    return gated.join(pairs)


def item_utilities(index: ItemIndex) -> Floats:
    """Return each item's utility in [0, 1], the best item having 1."""
    parts = [
        _interval_utilities(index, c) if column.is_number else _level_utilities(index, c)
        for c, column in enumerate(index.columns)
    ]
    raw = np.concatenate(parts).round(12)  # a correlation of 1e-17 is none
    return np.round(raw / raw.max(), 6) if raw.max() > 0 else raw


def _interval_utilities(index: ItemIndex, c: int) -> Floats:
    """Absolute correlation of the bin number with the target, divided by the number of bins."""
    rows, total = index.owner == c, index.table.total_weight
    cover, events = index.singles.cover[rows], index.singles.events[rows]
    cover[0] += total - cover.sum()  # missing counts as the first bin
    events[0] += index.positive - events.sum()
    found = abs(_correlation(cover, events, target_squares(index.table)))
    return np.full(len(cover), found / len(cover))


def _level_utilities(index: ItemIndex, c: int) -> Floats:
    """Normalised mutual information of each level with the target, less for a negative one.

    Of numbers, the gain in half the deviance over the geometric mean of what may be gained at most
    and the entropy of the level.
    """
    table, rows = index.table, index.owner == c
    total, positive = table.total_weight, index.positive
    cover, events = index.singles.cover[rows], index.singles.events[rows]
    mutual = in_or_out_gain(cover, events, total, positive, table.loss)
    entropies = table.loss.explainable(table.y, table.weight) * weighted_entropy(total, cover)
    norm = np.sqrt(np.maximum(entropies, 0.0)) / total
    utility = np.where(norm > 0, mutual / np.where(norm > 0, norm, 1.0), 0.0)
    is_positive = events * total > cover * positive
    return np.clip(utility, 0.0, 1.0) * np.where(is_positive, 1.0, NEGATIVE_LEVEL)


def target_squares(table: Table) -> float | None:
    """Return the weighted squares of targets about their mean; of two classes, counts tell them."""
    if table.loss is BINOMIAL:
        return None
    mean = np.average(table.y, weights=table.weight)
    return float((table.weight * (table.y - mean) ** 2).sum())


def _correlation(cover: Floats, events: Floats, squares: float | None = None) -> float:
    """Return the correlation of the bin number with the target, from the weights of the bins."""
    total, positive = cover.sum(), events.sum()
    squares = positive * (total - positive) / total if squares is None else squares
    number = np.arange(len(cover)) - (np.arange(len(cover)) @ cover) / total
    scale = np.sqrt((cover @ (number * number)) * squares)
    return float((number @ (events - cover * (positive / total))) / scale) if scale > 0 else 0.0
