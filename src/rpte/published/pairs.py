"""Augmented pairs: arithmetic of two numbers, chosen by interaction information.

As in the published implementation: ten sources that interact most, four operations on each two,
ranked by the best information gain over 2 to 12 quantile bins.
"""

from collections.abc import Collection, Container
from itertools import combinations, islice
from typing import get_args

import numpy as np

from rpte.columns.kinds import Operation, Pair, Value
from rpte.columns.limits import Permissions
from rpte.losses import Loss
from rpte.published.items import bins_of
from rpte.published.joint import JointCounts
from rpte.rows.threads import thread_map
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Int8s
from rpte.vocabulary.gain import BITS, SortedColumn, information_gain
from rpte.vocabulary.screening import promising

PAIR_SOURCES = 10
COARSE_BINS = 4
SCORE_BINS = 12
FEWEST_ROWS = 3
# Row b cuts into b + 2 bins of equal count; its other fractions lie beyond the last value.
QUANTILES = np.array(
    [
        [k / bins if k < bins else 2.0 for k in range(1, SCORE_BINS)]
        for bins in range(2, SCORE_BINS + 1)
    ]
)


def mine_pairs(
    table: Table, budget: int, among: Container[str], limits: Permissions
) -> tuple[Pair, ...]:
    """Return at most `budget` pair columns of the variables `among`, best first, ties by name."""
    ranked = rank_sources(table, among)
    every = (
        Pair(operation, Value(a), Value(b))
        for a, b in combinations(ranked, 2)
        for operation in get_args(Operation)
    )
    candidates = [pair for pair in every if limits.admits(pair)]
    scores = list(thread_map(lambda pair: pair_score(table, pair), candidates))
    ranking = sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].name))
    return tuple(candidates[i] for i in ranking[:budget] if scores[i] > -np.inf)


def lookahead_roots(
    table: Table, known: Collection[Pair], budget: int, limits: Permissions
) -> tuple[Pair, ...]:
    """Return |a - b| of the most interacting numbers, as roots for the lookahead search.

    At most `budget` columns that are not among the `known` pairs; sources in the order of
    `rank_sources`, all of them and not only the first ten.
    """
    ranked = rank_sources(table, promising(table, limits), len(table.schema))
    pairs = (
        Pair("absolute difference", Value(ranked[i]), Value(ranked[k]))
        for k in range(len(ranked))
        for i in range(k)
    )
    taken = {frozenset((p.left, p.right)) for p in known if p.operation == "absolute difference"}
    fresh = (p for p in pairs if {p.left, p.right} not in taken and limits.admits(p))
    return tuple(islice(fresh, budget))


def rank_sources(table: Table, among: Container[str], most: int = PAIR_SOURCES) -> tuple[str, ...]:
    """Return the numbers that interact most with another, by (interaction, own gain, name)."""
    variables = table.schema.variables
    numbers = [
        i
        for i in table.schema.canonical()
        if variables[i].kind == "number" and variables[i].name in among
    ]
    if len(numbers) < 2:
        return ()
    codes = np.array([_coarse(table, i) for i in numbers])
    counts = JointCounts(table, codes, [COARSE_BINS] * len(numbers))
    rows = list(
        thread_map(
            lambda c: _interactions(counts, c, len(numbers), table.loss), range(len(numbers) - 1)
        )
    )
    best = np.zeros(len(numbers))
    for c, row in enumerate(rows):
        best[c] = max(best[c], row.max(initial=0.0))
        best[c + 1 :] = np.maximum(best[c + 1 :], row)
    own = np.array([_own_gain(table, code) for code in codes])
    ranking = np.lexsort((np.arange(len(numbers)), -np.round(own, 12), -np.round(best, 12)))
    names = table.schema.names
    return tuple(names[numbers[i]] for i in ranking[:most])


def _coarse(table: Table, position: int) -> Int8s:
    """Code a number into four quantile bins; missing has the code after the last."""
    x = table.inputs.columns[position]
    column = SortedColumn(x, table.y, table.weight, table.loss)
    values = _distinct(column.values)
    if len(values) > COARSE_BINS:
        edges = np.unique(column.quantiles(np.arange(1, COARSE_BINS) / COARSE_BINS))
    else:
        edges = values[1:]
    codes = bins_of(x, edges)
    codes[codes < 0] = COARSE_BINS
    return codes


def _interactions(counts: JointCounts, c: int, n_columns: int, loss: Loss) -> Floats:
    """Return the interaction information (nats) of column `c` with each later column."""
    cells = counts.beside(c, np.arange(c + 1, n_columns))
    total, events = cells[..., 0], cells[..., 1]
    joint = information_gain(total, events, (1, 2), loss)
    parts = [information_gain(total.sum(axis), events.sum(axis), -1, loss) for axis in (1, 2)]
    return joint - parts[0] - parts[1]


def _own_gain(table: Table, codes: Int8s) -> float:
    weight = np.where(codes < COARSE_BINS, table.weight, 0.0)
    total = np.bincount(codes, weight, COARSE_BINS + 1)
    events = np.bincount(codes, weight * table.y, COARSE_BINS + 1)
    return float(information_gain(total, events, loss=table.loss))


def pair_score(table: Table, pair: Pair) -> float:
    """Return the best gain (bits) of a pair over 2 to 12 quantile bins of its distinct values."""
    column = SortedColumn(pair.evaluate(table.inputs), table.y, table.weight, table.loss)
    if column.total < FEWEST_ROWS:
        return -np.inf
    values = _distinct(column.values)
    most = min(SCORE_BINS, len(values))
    if most < 2:
        return 0.0
    gains = column.gains(_quantiles(values, QUANTILES[: most - 1]))
    return float(round(float(gains.max()) * BITS, 12))


def _distinct(ordered: Floats) -> Floats:
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def _quantiles(ordered: Floats, fractions: Floats) -> Floats:
    """Return the interpolated quantiles of sorted values, bit for bit those of `np.quantile`.

    Fractions beyond the last value give infinity.
    """
    position = (len(ordered) - 1) * fractions
    beyond = fractions > 1.0
    below = np.where(beyond, 0.0, np.floor(position))
    index = below.astype(np.intp)
    fraction = position - below
    low, high = ordered[index], ordered[np.minimum(index + 1, len(ordered) - 1)]
    gap = high - low
    found = np.where(fraction >= 0.5, high - gap * (1.0 - fraction), low + gap * fraction)
    found[beyond] = np.inf
    return found
