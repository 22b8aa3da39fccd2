"""Shapes of single numbers: steps, codes, hinges and scales, beyond a slope.

Knots and centres are weighted quantiles, as short decimals.
"""

import numpy as np

from rpte.columns.kinds import Column, Hinge, Interval, Scale, Step
from rpte.table.decimals import EXACT_WHOLE, short_centre, shortest_between
from rpte.table.table import Table
from rpte.utils.arrays import Floats
from rpte.vocabulary.gain import SortedColumn

KNOTS, MORE_KNOTS = 6, 12  # more of them from this weight on:
MUCH = 2_000.0
FEWEST_FOR_CURVES = 4  # distinct values; for fewer, steps are enough
FEWEST_FOR_LOG = 6
MOST_CODES = 6  # distinct whole numbers
SKEWED = 1.0


def shapes_of(table: Table, name: str, least: float) -> list[Column]:
    """Return the shapes of a number: log, distance, hinges, codes, steps.

    `least` is the weight that must lie on either side of a knot. Labels are not looked at.
    """
    column = SortedColumn(table.inputs[name], table.y, table.weight)
    first = np.flatnonzero(np.diff(column.values, prepend=np.nan))  # where a new value begins
    values = column.values[first]
    if len(values) < 3:
        return []
    below = np.append(column.weight[first[1:]], column.total)  # weight up to each value
    knots = _knots(values, below, least)
    weight = np.diff(below, prepend=0.0)
    steps: list[Column] = [*_codes(name, values, weight, least)]
    steps += [Step(name, knot) for knot in knots]
    if len(values) < FEWEST_FOR_CURVES:
        return steps
    hinges = [Hinge(name, knot, side) for knot in knots for side in ("above", "below")]
    return [*_scales(name, values, weight, below), *hinges, *steps]


def _knots(values: Floats, below: Floats, least: float) -> list[float]:
    """Return short decimals between neighbouring values, near the inner quantiles."""
    most = KNOTS if below[-1] < MUCH else MORE_KNOTS
    if len(values) > most + 2:
        wanted = below[-1] * np.arange(1, most + 1) / (most + 1)
        gaps = np.unique(np.searchsorted(below, wanted * (1 - 1e-12)))
    else:
        gaps = np.arange(len(values) - 1)
    gaps = gaps[(gaps < len(values) - 1)]
    inside = (below[gaps] >= least) & (below[-1] - below[gaps] >= least)
    return [shortest_between(float(values[g]), float(values[g + 1])) for g in gaps[inside]]


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
