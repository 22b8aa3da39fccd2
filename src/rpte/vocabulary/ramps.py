"""Columns of a number that are flat outside of printed limits inside the training data.

What an effect does beyond the data nobody has seen, and a line goes on for ever. A ramp is a number
kept between two limits: below the first and above the second nothing changes. The widest one of a
variable is its line, and sums of others are piecewise lines. All of them rise, so that a sum of
ramps with coefficients of one sign is monotone. Logarithms, distances and the hinges of products
have the same limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from rpte.columns.kinds import Column, Hinge, Scale, Value
from rpte.table.decimals import shortest_between
from rpte.table.table import Table

MARGINS = (0.0, 0.01, 0.025)  # of the weight that lies outside of the limits at either end
FEWEST_VALUES = 12  # distinct; numbers of fewer have their limits at the ends
MOST_KNOTS = 6  # between which ramps begin and end
DIGITS = 4  # of a value that is a limit as it is; others end at a shorter number inside

Limits = tuple[float, float]


def inner_limits(table: Table, name: str, margin: float) -> Limits | None:
    """Return between which numbers the effect of a variable may change; None if it is no curve.

    Short decimals that lie inside the training data, `margin` of the weight beyond either of them.
    """
    x = table.inputs[name]
    there = ~np.isnan(x)
    values, place = np.unique(x[there], return_inverse=True)
    if len(values) < 3:
        return None
    if len(values) < FEWEST_VALUES:
        return float(values[0]) + 0.0, float(values[-1]) + 0.0
    below = np.cumsum(np.bincount(place, table.weight[there]))
    first = int(np.searchsorted(below, margin * below[-1]))
    last = int(np.searchsorted(below, (1.0 - margin) * below[-1] * (1.0 - 1e-12)))
    first, last = min(first, len(values) // 2 - 1), max(last, len(values) // 2 + 1)
    return (
        _short(float(values[first]), float(values[first + 1])),
        _short(float(values[last]), float(values[last - 1])),
    )


def _short(value: float, next_inside: float) -> float:
    """Return a value that can be read, or a short decimal just inside of it."""
    if float(f"{value:.{DIGITS}g}") == value:
        return value + 0.0
    return shortest_between(min(value, next_inside), max(value, next_inside))


def ramp(name: str, limits: Limits) -> Scale:
    """Return a variable kept between two limits."""
    return Scale(name, "clip", limits)


def within(column: Column, limits: Limits) -> Column | None:
    """Return a column of a number as it is between two limits, flat beyond; None if it has none."""
    low, high = limits
    match column:
        case Value():
            return ramp(column.source, limits)
        case Hinge(knot=knot, side="above"):
            return replace(column, end=high) if low <= knot < high else None
        case Hinge(knot=knot):
            return replace(column, end=low) if low < knot <= high else None
        case Scale(formula="distance", numbers=(centre, *_)):
            kept = low < centre < high
            return replace(column, numbers=(centre, low, high)) if kept else None
        case Scale(formula="log" | "sqrt", numbers=(floor, *_)):
            floor = max(floor, low)
            return replace(column, numbers=(floor, high)) if floor < high else None
    return column


def ramps(
    name: str, limits: Limits, knots: Sequence[float], most: int | None = None
) -> list[Scale]:
    """Return ramps between the limits and inner knots, and between some of the knots.

    Of `most` ramps, those between the limits and fewer knots.
    """
    low, high = limits
    inner = sorted(knot for knot in set(knots) if low < knot < high)
    if most is not None:
        few = inner[:: -(-len(inner) // max(1, most // 2)) or 1]
        return [ramp(name, each) for k in few for each in ((low, k), (k, high))]
    some = inner[:: -(-len(inner) // MOST_KNOTS) or 1]
    ends = [*((low, k) for k in inner), *((k, high) for k in inner), *combinations(some, 2)]
    return [ramp(name, each) for each in ends]
