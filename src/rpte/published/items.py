"""Items: the bins and levels that patterns are made of (supervised adaptive binning)."""

import math
from collections.abc import Container
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rpte.columns.kinds import Interval, Item, Level
from rpte.table.decimals import edge_between, gap_between, shortest_within
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Int8s
from rpte.vocabulary.gain import BITS, SortedColumn

BIN_COUNTS = (2, 3, 5, 7, 10, 15)
# A row per bin count: the fractions of the rows at which bins end, then 1.
PLACES = np.array([[min(k / bins, 1.0) for k in range(1, 15)] for bins in BIN_COUNTS])
MANY_ITEMS = 127
FEW_VALUES = 10  # below this many values the bin count is not searched
FEW_VALUES_BINS = 7
ELBOW = 0.02  # a further bin count must raise the gain by this fraction


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """One variable cut into items."""

    position: int  # in the schema
    items: tuple[Item, ...]
    codes: Array  # the item of each row, -1 where missing, (n,); int8 where that is enough

    @property
    def is_number(self) -> bool:
        """Whether the items are intervals of a number."""
        return bool(self.items) and isinstance(self.items[0], Interval)


def make_items(
    table: Table, printed: bool, among: Container[str] | None = None
) -> tuple[ItemColumn, ...]:
    """Cut variables (all if `among` is None) into items, in canonical order.

    If `printed`, each edge is the shortest decimal between the neighbouring training values; else
    the interpolated percentile (the paper configuration), or the nearest number that separates the
    same values in single precision too.
    """
    columns = []
    for position in table.schema.canonical():
        variable, values = table.schema.variables[position], table.inputs.columns[position]
        if among is not None and variable.name not in among:
            continue
        items: tuple[Item, ...]
        if variable.kind == "category":
            items = tuple(Level(variable.name, (level,)) for level in variable.levels)
            kind = np.int8 if len(items) < MANY_ITEMS else np.int32
            codes = np.maximum(values, -1).astype(kind)
        else:
            edges = inner_edges(SortedColumn(values, table.y, table.weight, table.loss), printed)
            ends = pairwise([-math.inf, *edges.tolist(), math.inf])
            items = tuple(Interval(variable.name, a, b) for a, b in ends)
            codes = bins_of(values, edges)
        columns.append(ItemColumn(position, items, codes))
    return tuple(column for column in columns if len(column.items) > 1)


def bins_of(x: Floats, edges: Floats) -> Int8s:
    """Return the number of edges (few, ascending) at or below each value, -1 where missing."""
    codes = np.zeros(len(x), np.int8)
    for edge in edges:
        codes += x >= edge
    codes[np.isnan(x)] = -1
    return codes


def inner_edges(column: SortedColumn, printed: bool) -> Floats:
    """Return the inner bin edges of a numeric column, their number chosen with the target."""
    if not len(column.values) or column.values[0] == column.values[-1]:
        return np.zeros(0)
    bins = _bin_count(column)
    edges = np.unique(column.quantiles(np.arange(bins + 1) / bins))[1:-1]
    if not printed:
        return _exact(column.values, edges)
    if not len(edges):  # a 0/1 number, say: its quantiles are its ends; cut above the lowest value
        edges = column.values[np.searchsorted(column.values, column.values[0], "right")][None]
    return _printed(column.values, edges)


def _bin_count(column: SortedColumn) -> int:
    """Elbow over the candidate counts: stop at the first that hardly raises the gain."""
    if column.total < FEW_VALUES:
        return FEW_VALUES_BINS
    edges = column.at(np.rint(PLACES * (column.total - 1)))
    edges[edges >= column.values[-1]] = np.inf
    # Rounded, because the last bit of a gain of nothing must not count as a gain.
    gains = [round(gain * BITS, 12) for gain in column.gains(edges).tolist()]
    chosen, previous = BIN_COUNTS[0], 0.0
    for bins, gain in zip(BIN_COUNTS, gains, strict=True):
        if previous > 0 and (gain - previous) / (previous + 1e-9) < ELBOW:
            break
        chosen, previous = bins, gain
    return chosen


def _exact(values: Floats, edges: Floats) -> Floats:
    """Leave each edge where it is, or move it as little as copies in another precision ask for."""
    cuts = np.searchsorted(values, edges, side="left")
    moved = [
        edge_between(float(edge), float(values[c - 1]), float(values[c]))
        for edge, c in zip(edges, cuts, strict=True)
    ]
    return np.unique(np.array(moved, np.float64))


def _printed(values: Floats, edges: Floats) -> Floats:
    """Move each edge to the shortest decimal between the values that it separates."""
    cuts = np.searchsorted(values, edges, side="left")
    cuts = np.unique(cuts[(cuts > 0) & (cuts < len(values))])
    return np.array([_edge(values[c - 1], values[c]) for c in cuts], np.float64)


def _edge(low: float, high: float) -> float:
    """Return the shortest edge with `low` on its left; an edge's own value goes right."""
    below, above = gap_between(float(low), float(high))
    edge = shortest_within(below, above)
    return above if edge == below else edge
