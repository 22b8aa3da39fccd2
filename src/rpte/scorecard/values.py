"""What a variable can be, in few representative values with their weights.

Numbers come first, in groups of about equal weight (smaller ones at the ends), cut also wherever
the model itself has a threshold, an end or a knot; then levels or special codes, missing, and for a
category a level that training did not have. Numbers are those of the rows; without rows they are
drawn from the quantiles that the model file holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rpte.audit.grid import bends, columns_on, jumps, profile_of, rows_of
from rpte.columns.kinds import Column, Interval, Value
from rpte.errors import InputError
from rpte.model.model import Model
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.scorecard.card import Axis
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import shortest_between
from rpte.table.fingerprint import QUANTILES
from rpte.table.inputs import Inputs
from rpte.table.schema import Variable

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Part = TreeTerms | DirectTerm
GROUPS = 200
TAILS = 0.5 ** np.arange(9, 16)  # shares of the outermost groups, so that no outlier hides in one
EDGES = np.unique(np.concatenate([np.arange(1, GROUPS) / GROUPS, TAILS, 1 - TAILS]))
FLOOR = 1e-9  # share of the weight for what no row has, so that every mean exists


@dataclass(frozen=True, slots=True)
class Values:
    """Representative values of a variable: n numbers, then m codes.

    The codes are levels or special codes, `MISSING`, and for a category `UNSEEN` unless rare levels
    are pooled.
    """

    variable: Variable
    numbers: Floats  # ascending
    cuts: Floats  # between each number and the next; a cut belongs to the lower one
    codes: Codes
    weights: Floats  # of numbers and codes; they sum to 1

    def __len__(self) -> int:
        return len(self.weights)

    def column(self) -> Floats | Codes:
        """Return the values as a typed column, NaN or a code where there is no number."""
        if self.variable.kind == "category":
            return self.codes
        return np.concatenate([self.numbers, np.full(len(self.codes), np.nan)])

    def is_named(self, code: int) -> bool:
        """Tell whether a code is a level or special code by name, not missing or any other."""
        named = len(self.variable.levels) - self.variable.pooled
        return 0 <= code < named

    def grouped(self, groups: NDArray[np.intp]) -> Axis:
        """Return attributes, each of the values that belong to one group."""
        n = len(self.numbers)
        cuts = self.cuts[groups[1:n] != groups[: n - 1]].tolist() if n else None
        first = int(groups[n - 1]) + 1 if n else 0
        places = range(first, int(groups.max()) + 1)
        others = tuple(tuple(self.codes[groups[n:] == place].tolist()) for place in places)
        return Axis(self.variable.name, None if cuts is None else tuple(cuts), others)

    def specials(self) -> Codes:
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
    codes = _codes(variable)
    if rows is None:
        shares, (numbers, weights) = _told_codes(model, variable, codes), _told(model, name)
    else:
        shares, (numbers, weights) = _counted_codes(rows, name, codes), _counted(rows, name)
    if variable.kind == "category":
        return Values(variable, np.zeros(0), np.zeros(0), codes, _normed(shares))
    read = list(_columns_in_tables(model, name))
    if not len(numbers) and any(_needs_numbers(*test) for test in read):
        lack = "the rows hold no number of it"
        if rows is None:
            lack = "the model file does not tell which values it takes"
        raise InputError(
            f"a scorecard cuts '{name}' into bins, and {lack}; give rows that do, such as the "
            "training table (X, or --check TABLE on the command line)"
        )
    numbers, cuts, weights = _grouped(numbers, weights, _marks(read, numbers))
    return Values(variable, numbers, cuts, codes, _normed(np.concatenate([weights, shares])))


def _codes(variable: Variable) -> Codes:
    levels = np.arange(len(variable.levels), dtype=np.int32)
    unseen = [UNSEEN] if variable.kind == "category" and not variable.pooled else []
    return np.concatenate([levels, [MISSING], unseen]).astype(np.int32)


def _normed(weights: Floats) -> Floats:
    total = float(weights.sum()) or 1.0
    floored = np.maximum(weights / total, FLOOR)
    return np.asarray(floored / floored.sum())


def _counted(rows: Inputs, name: str) -> tuple[Floats, Floats]:
    """Return the distinct numbers of a variable and how often each occurs."""
    if rows.schema[name].kind == "category":
        return np.zeros(0), np.zeros(0)
    x = rows[name]
    numbers, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    return numbers, counts.astype(np.float64)


def _counted_codes(rows: Inputs, name: str, codes: Codes) -> Floats:
    variable, absent = rows.schema[name], rows.is_missing(name)
    found = rows.codes(name) if variable.levels or variable.kind == "category" else None
    counts = [
        absent.sum() if code == MISSING or found is None else (found == code).sum()
        for code in codes.tolist()
    ]
    return np.array(counts, np.float64)


def _told(model: Model, name: str) -> tuple[Floats, Floats]:
    """Return numbers drawn from the quantiles that the file tells of; none if it tells of none."""
    profile = profile_of(model, name)
    quantiles, extremes = profile.get("quantiles") or (), profile.get("extremes")
    if not quantiles or None in quantiles:
        return np.zeros(0), np.zeros(0)
    shares, known = list(QUANTILES), list(quantiles)
    if extremes:
        shares, known = [0.0, *shares, 1.0], [extremes[0], *known, extremes[1]]
    drawn = np.interp((np.arange(GROUPS) + 0.5) / GROUPS, shares, known)
    whole = all(value == round(value) for value in known)
    numbers, counts = np.unique(np.rint(drawn) if whole else drawn, return_counts=True)
    return numbers, counts / GROUPS


def _told_codes(model: Model, variable: Variable, codes: Codes) -> Floats:
    """Return the share of each code; what the file hides counts as nothing."""
    profile, total = profile_of(model, variable.name), float(model.data.get("rows") or 1.0)
    counts = profile.get("levels") or {}
    told = {code: counts.get(level) for code, level in enumerate(variable.levels)}
    told[MISSING] = profile.get("missing")
    found = [told.get(code) for code in codes.tolist()]
    shown = np.array([v if isinstance(v, (int, float)) else 0.0 for v in found], np.float64)
    return np.where(codes >= 0, shown / total, shown)  # of missing the file has the share


def _columns_in_tables(model: Model, name: str) -> Iterator[tuple[Column, float | None]]:
    """Yield the columns that the tables of a variable are made of, with thresholds of splits."""
    for component in model.components:
        alone = tuple(tree for tree in component.trees if tree.sources == (name,))
        yield from columns_on([replace(component, trees=alone)], name)


def _needs_numbers(column: Column, threshold: float | None) -> bool:
    """Tell whether a table depends on how the numbers of a variable are spread."""
    return not column.binary and (threshold is None or not isinstance(column, Value))


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
    """Return representatives of groups, the cuts between them, and their weights."""
    middle = np.cumsum(weights) - weights / 2
    share = middle / max(float(weights.sum()), 1e-300)
    group = np.searchsorted(EDGES, share)
    cell = np.searchsorted(marks, numbers, side="left")
    found: list[tuple[int, float, float]] = []
    for k in range(len(marks) + 1):
        inside = cell == k
        if not inside.any():
            found.append((k, _in_cell(k, marks, numbers), 0.0))
        for g in np.unique(group[inside]):
            chosen = inside & (group == g)
            found.append((k, _median(numbers[chosen], weights[chosen]), weights[chosen].sum()))
    cuts = [
        float(marks[k]) if k != other else shortest_between(value, following)
        for (k, value, _), (other, following, _) in pairwise(found)
    ]
    return (
        np.array([value for _, value, _ in found], np.float64),
        np.array(cuts, np.float64),
        np.array([weight for _, _, weight in found], np.float64),
    )


def _in_cell(k: int, marks: Floats, numbers: Floats) -> float:
    """Return a number of a cell ``marks[k - 1] < x <= marks[k]`` that no row has."""
    if k < len(marks):
        return float(marks[k])
    return float(np.nextafter(marks[-1], np.inf)) if len(marks) else 0.0


def _median(numbers: Floats, weights: Floats) -> float:
    below = np.cumsum(weights)
    return float(numbers[np.searchsorted(below, below[-1] / 2)])
