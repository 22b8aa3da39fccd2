"""Shapes of single numbers: steps, codes, hinges and scales, beyond a slope.

Knots and centres are weighted quantiles, as short decimals. Where rows are many there are finer
knots too, of which labels choose.
"""

from dataclasses import dataclass

import numpy as np

from rpte.columns.kinds import Column, Hinge, Interval, Scale, Step
from rpte.table.decimals import EXACT_WHOLE, short_centre, shortest_between
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index
from rpte.vocabulary.gain import SortedColumn

KNOTS, MORE_KNOTS = 6, 12  # more of them from this weight on:
MUCH = 2_000.0
FINE_KNOTS = 48  # of which labels choose a few, from this weight on:
FOR_FINE_KNOTS = 4_000.0
LESS = 4.0  # times as much weight is needed for two classes as for numbers, which tell more
# Where there are steps alone: as many as the weight bears.
WEIGHT_PER_STEP, FEWEST_STEPS, MOST_STEPS = 30.0, 8, 20
FEWEST_FOR_CURVES = 4  # distinct values; for fewer, steps are enough
FEWEST_FOR_LOG = 6
MOST_CODES = 6  # distinct whole numbers
SKEWED = 1.0
# Levels of a category that offers sets of them: fewer are read one by one, and a set of many would
# fit their labels by chance.
FEWEST_LEVELS, MOST_LEVELS = 4, 16


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of a number, and which of their knots are there for labels to choose from."""

    columns: list[Column]
    fine_knots: frozenset[float] = frozenset()


def shapes_of(table: Table, name: str, least: float, rules: bool = False) -> Shapes:
    """Return the shapes of a number: log, distance, hinges, codes, steps.

    `least` is the weight that must lie on either side of a knot. With `rules` there are codes and
    steps alone, as of a number that has few values; one that has two offers the step between them.
    Labels are not looked at.
    """
    column = SortedColumn(table.inputs[name], table.y, table.weight)
    first = np.flatnonzero(np.diff(column.values, prepend=np.nan))  # where a new value begins
    values = column.values[first]
    if len(values) < 2:
        return Shapes([])
    if len(values) == 2 and not rules:  # the step takes the place of the value, however rare
        least = 0.0
    below = np.append(column.weight[first[1:]], column.total)  # weight up to each value
    told = LESS if table.loss.leaves_little else 1.0
    coarse, fine = _gaps(values, below, least, rules, told)
    knots = _between(values, np.union1d(coarse, fine))
    chosen_from = frozenset(_between(values, np.setdiff1d(fine, coarse)))
    weight = np.diff(below, prepend=0.0)
    steps: list[Column] = [*_codes(name, values, weight, least)] if len(values) > 2 else []
    steps += [Step(name, knot) for knot in knots]
    if rules or len(values) < FEWEST_FOR_CURVES:
        return Shapes(steps, chosen_from)
    hinges = [Hinge(name, knot, side) for knot in knots for side in ("above", "below")]
    return Shapes([*_scales(name, values, weight, below), *hinges, *steps], chosen_from)


def _gaps(
    values: Floats, below: Floats, least: float, rules: bool, told: float
) -> tuple[Index, Index]:
    """Return after which values coarse and fine knots are: near the inner quantiles.

    A case tells `told` times as much as one of two classes does.
    """
    total, most = below[-1], KNOTS if told * below[-1] < MUCH else MORE_KNOTS
    if rules:
        most = int(min(max(total / WEIGHT_PER_STEP, FEWEST_STEPS), MOST_STEPS))
    if len(values) <= most + 2:
        coarse, fine = np.arange(len(values) - 1), np.zeros(0, np.intp)
    else:
        coarse, fine = _quantiles(below, most), np.zeros(0, np.intp)
        if told * total >= FOR_FINE_KNOTS:  # values that recur must not hide the others
            capped = np.minimum(np.diff(below, prepend=0.0), total / (FINE_KNOTS + 1))
            fine = _quantiles(np.cumsum(capped), FINE_KNOTS)
    inside = (below >= least) & (total - below >= least)
    inside[-1] = False
    return coarse[inside[coarse]], fine[inside[fine]]


def _quantiles(below: Floats, count: int) -> Index:
    """Return the places of inner quantiles, of the weight up to each value."""
    wanted = below[-1] * np.arange(1, count + 1) / (count + 1)
    return np.unique(np.searchsorted(below, wanted * (1 - 1e-12)))


def _between(values: Floats, gaps: Index) -> list[float]:
    """Return short decimals between neighbouring values, after some places."""
    return [shortest_between(float(values[g]), float(values[g + 1])) for g in gaps]


def _codes(name: str, values: Floats, weight: Floats, least: float) -> list[Interval]:
    """Return each value of a whole number that has few: it may be a code and not an amount."""
    if len(values) > MOST_CODES or (values != np.round(values)).any():
        return []
    if np.abs(values).max() >= EXACT_WHOLE:  # in single precision it may be another whole number
        return []
    return [
        Interval(name, float(value), float(value) + 1.0)
        for value, own in zip(values, weight, strict=True)
        if own >= least
    ]


def _scales(name: str, values: Floats, weight: Floats, below: Floats) -> list[Column]:
    """Return the log of a skewed number that is never negative, and the distance from its middle.

    Zeros count as a number just below the smallest positive one.
    """
    spread, skew = _spread_and_skew(values, weight)
    middle = values[np.searchsorted(below, below[-1] / 2)]
    found: list[Column] = [Scale(name, "distance", (short_centre(float(middle), spread),))]
    if values[0] >= 0 and len(values) >= FEWEST_FOR_LOG:
        smallest = float(values[values > 0][0])
        low = shortest_between(smallest / 2, smallest)
        _, left = _spread_and_skew(np.log(np.maximum(values, low)), weight)
        if skew > SKEWED and abs(left) < skew:
            found.insert(0, Scale(name, "log", (low,)))
    return found


def _spread_and_skew(values: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted standard deviation and skewness."""
    biggest = float(np.abs(values).max()) or 1.0  # keeps powers of values near 1e300 finite
    centred, fraction = values / biggest, weight / weight.sum()
    centred -= fraction @ centred
    spread = float(np.sqrt(fraction @ centred**2))
    if spread == 0.0:
        return 0.0, 0.0
    centred /= spread
    return spread * biggest, float(fraction @ (centred * centred * centred))
