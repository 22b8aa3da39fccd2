"""What a variable can be, in few representative values with their weights.

Numbers come first, in groups of about equal weight (smaller ones at the ends), cut also wherever
the model itself has a threshold, an end or a knot; then levels or special codes, missing, and for a
category a level that training did not have. Numbers are those of the rows; without rows they are
drawn from the equal parts, or the quantiles, that the model file holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rpte.columns.kinds import Column, Interval, Value
from rpte.errors import InputError
from rpte.model.grid import bends, columns_on, jumps, profile_of, rows_of
from rpte.model.model import Model
from rpte.scorecard.card import Axis
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import shortest_between
from rpte.table.fingerprint import QUANTILES
from rpte.table.inputs import Inputs
from rpte.table.schema import Variable
from rpte.utils.arrays import Floats, Index, Int32s

GROUPS = 200
TAILS = 0.5 ** np.arange(9, 16)  # shares of the outermost groups, so that no outlier hides in one
EDGES = np.unique(np.concatenate([np.arange(1, GROUPS) / GROUPS, TAILS, 1 - TAILS]))
FLOOR = 1e-9  # share of the weight for what no row has, so that every mean exists


@dataclass(frozen=True, slots=True)
class Values:
    """Representative values of a variable: n numbers, then m codes."""

    variable: Variable
    numbers: Floats  # ascending
    cuts: Floats  # between each number and the next; a cut belongs to the lower one
    codes: Int32s  # of levels or special codes, `MISSING`, and of a category `UNSEEN` if not pooled
    weights: Floats  # of numbers and codes; they sum to 1

    def __len__(self) -> int:
        return len(self.weights)

    def column(self) -> Floats | Int32s:
        """Return the values as a typed column, NaN or a code where there is no number."""
        if self.variable.kind == "category":
            return self.codes
        return np.concatenate([self.numbers, np.full(len(self.codes), np.nan)])

    def is_named(self, code: int) -> bool:
        """Tell whether a code is a level or special code by name, not missing or any other."""
        named = len(self.variable.levels) - self.variable.pooled
        return 0 <= code < named

    def grouped(self, groups: Index) -> Axis:
        """Return attributes, each of the values that belong to one group."""
        n = len(self.numbers)
        cuts = self.cuts[groups[1:n] != groups[: n - 1]].tolist() if n else None
        first = int(groups[n - 1]) + 1 if n else 0
        places = range(first, int(groups.max()) + 1)
        others = tuple(tuple(self.codes[groups[n:] == place].tolist()) for place in places)
        return Axis(self.variable.name, None if cuts is None else tuple(cuts), others)

    def specials(self) -> Int32s:
        """Return the special code of each value, `MISSING` where there is none."""
        return np.concatenate([np.full(len(self.numbers), MISSING, np.int32), self.codes])


def joint_weights(left: Values, right: Values, rows: Inputs | None) -> Floats:
    """Return how often values of two variables meet, half of it as if they were independent.

    Rows are few for so many pairs of values: alone they would not tell where to cut. Without rows
    nothing else is known.
    """
    apart = np.outer(left.weights, right.weights)
    if rows is None:
        return apart
    places = [axis.grouped(np.arange(len(axis))).places(rows) for axis in (left, right)]
    met = np.bincount(np.ravel_multi_index(places, apart.shape), minlength=apart.size)
    return (met.reshape(apart.shape) / max(rows.n_rows, 1) + apart) / 2


def inputs_of(*axes: Values) -> Inputs:
    """Return a row for every combination of the values of some variables, the last one fastest."""
    places = np.indices([len(axis) for axis in axes]).reshape(len(axes), -1)
    columns = [axis.column()[p] for axis, p in zip(axes, places, strict=True)]
    specials = [axis.specials()[p] for axis, p in zip(axes, places, strict=True)]
    return rows_of([axis.variable for axis in axes], columns, specials)


def values_of(model: Model, name: str, rows: Inputs | None) -> Values:
    """Return the values of a variable, from rows if there are any."""
    variable = model.schema[name]
    unseen = [UNSEEN] if variable.kind == "category" and not variable.pooled else []
    codes = np.array([*range(len(variable.levels)), MISSING, *unseen], np.int32)
    told = _told(model, variable, codes) if rows is None else _counted(rows, variable, codes)
    numbers, weights, shares = told
    if variable.kind == "category":
        return Values(variable, np.zeros(0), np.zeros(0), codes, _normed(shares))
    # What the tables of the variable are made of; trees of several variables keep their leaves.
    own = [
        replace(c, trees=tuple(tree for tree in c.trees if tree.sources == (name,)))
        for c in model.components
    ]
    read = list(columns_on(own, name))
    if not len(numbers) and any(
        not column.binary and (threshold is None or not isinstance(column, Value))
        for column, threshold in read
    ):
        lack = "the rows hold no number of it"
        if rows is None:
            lack = "the model file does not tell which values it takes"
        raise InputError(
            f"a scorecard cuts '{name}' into bins, and {lack}; give rows that do, such as the "
            "training table (X, or --check TABLE on the command line)"
        )
    numbers, cuts, weights = _grouped(numbers, weights, _marks(read, numbers))
    return Values(variable, numbers, cuts, codes, _normed(np.concatenate([weights, shares])))


def _normed(weights: Floats) -> Floats:
    total = float(weights.sum()) or 1.0
    floored = np.maximum(weights / total, FLOOR)
    return np.asarray(floored / floored.sum())


def _counted(rows: Inputs, variable: Variable, codes: Int32s) -> tuple[Floats, Floats, Floats]:
    """Return the distinct numbers of a variable and how often each, and each code, occurs."""
    name, is_category = variable.name, variable.kind == "category"
    found = rows.codes(name) if variable.levels or is_category else np.zeros(0)
    shares = [
        rows.is_missing(name).sum() if code == MISSING else (found == code).sum()
        for code in codes.tolist()
    ]
    x = np.zeros(0) if is_category else rows[name]
    numbers, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    return numbers, counts.astype(np.float64), np.array(shares, np.float64)


def _told(model: Model, variable: Variable, codes: Int32s) -> tuple[Floats, Floats, Floats]:
    """Return numbers between those in the file, their shares and those of codes (hidden: 0)."""
    profile, total = profile_of(model, variable.name), float(model.data.get("rows") or 1.0)
    counts = profile.get("levels") or {}
    told = {code: counts.get(level) for code, level in enumerate(variable.levels)}
    told[MISSING] = profile.get("missing")
    found = [told.get(code) for code in codes.tolist()]
    shown = np.array([v if isinstance(v, (int, float)) else 0.0 for v in found], np.float64)
    shares = np.where(codes >= 0, shown / total, shown)  # of missing the file has the share
    quantiles, extremes = profile.get("quantiles") or (), profile.get("extremes")
    if parts := profile.get("equal_parts"):
        places, known = np.linspace(0.0, 1.0, len(parts)).tolist(), list(parts)
    elif not quantiles or None in quantiles:
        return np.zeros(0), np.zeros(0), shares
    else:
        places, known = list(QUANTILES), list(quantiles)
        if extremes:
            places, known = [0.0, *places, 1.0], [extremes[0], *known, extremes[1]]
    drawn = np.interp((np.arange(GROUPS) + 0.5) / GROUPS, places, known)
    whole = all(value == round(value) for value in known)
    numbers, times = np.unique(np.rint(drawn) if whole else drawn, return_counts=True)
    return numbers, times / GROUPS, shares


def _marks(read: Iterable[tuple[Column, float | None]], numbers: Floats) -> Floats:
    """Return where the model changes its ways: thresholds, knots, and cuts just below ends."""
    marks: set[float] = set()
    for column, threshold in read:
        marks.update(bends(column))
        ends = isinstance(column, Interval)
        marks.update(_just_below(x, numbers) if ends else x for x in jumps(column, threshold))
    return np.array(sorted(marks), np.float64)


def _just_below(end: float, numbers: Floats) -> float:
    """Return a cut under which no known number lies on the wrong side of ``x >= end``."""
    below = numbers[numbers < end]
    return shortest_between(float(below[-1]) if len(below) else end - max(1.0, abs(end)), end)


def _grouped(numbers: Floats, weights: Floats, marks: Floats) -> tuple[Floats, Floats, Floats]:
    """Return representatives of groups, the cuts between them, and their weights.

    A cell ``marks[k - 1] < x <= marks[k]`` of which no row has a number gets one of weight 0.
    """
    middle = np.cumsum(weights) - weights / 2
    share = middle / max(float(weights.sum()), 1e-300)
    group = np.searchsorted(EDGES, share)
    cell = np.searchsorted(marks, numbers, side="left")
    beyond = np.nextafter(marks[-1:], np.inf) if len(marks) else np.zeros(1)
    found: list[tuple[int, float, float]] = []
    for k, inner in enumerate(np.concatenate([marks, beyond]).tolist()):
        inside = cell == k
        if not inside.any():
            found.append((k, inner, 0.0))
        for g in np.unique(group[inside]):
            chosen = inside & (group == g)
            below = np.cumsum(weights[chosen])
            median = float(numbers[chosen][np.searchsorted(below, below[-1] / 2)])
            found.append((k, median, weights[chosen].sum()))
    cuts = [
        float(marks[k]) if k != other else shortest_between(value, following)
        for (k, value, _), (other, following, _) in pairwise(found)
    ]
    _, values, totals = (np.array(column, np.float64) for column in zip(*found, strict=True))
    return values, np.array(cuts, np.float64), totals
