"""Where thresholds on arithmetic of two numbers may lie, whatever precision the numbers come in.

What single precision (float32) does to a sum or a difference depends on the size of its parts, so
the rule of `rpte.table.decimals` for single numbers is not enough. Results that differ by less than
the rounding of their parts, such as 0.1 + 0.2 and 0.3, are one value to a tree.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from rpte.columns.kinds import Pair
from rpte.table.decimals import EXACT_WHOLE
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Array, Floats, Ints, Mask

Gap = tuple[float, float]

ALL_COMPARED_ROWS = 20_000  # in more, only values that recur this often are compared:
RECURRING = 4


def separable(pair: Pair, inputs: Inputs, x: Floats, order: Ints, first: Ints) -> Ints:
    """Return where values of a pair begin that no copy of the rows confuses with smaller ones.

    `x` are the values of all rows, `order` the rows by value (without missing ones), `first` where
    in it each distinct value begins.
    """
    many = len(x) > ALL_COMPARED_ROWS and len(first) * RECURRING > len(order)
    copies = [] if many else _copies(pair, inputs)
    if len(copies) < 2 or not len(first):
        return first
    highest = np.maximum.accumulate(np.fmax.reduce([x, *copies])[order])
    lowest = np.minimum.accumulate(np.fmin.reduce([x, *copies])[order[::-1]])[::-1]
    apart = highest[first[1:] - 1] < lowest[first[1:]]
    kept: Ints = first[np.append(True, apart)]
    return kept


def pair_gap(pair: Pair, inputs: Inputs, sides: tuple[Mask, Mask], ends: Gap) -> Gap:
    """Return the gap between values of a pair in which a threshold separates copies as well.

    `sides` are the rows (masks) at or below the lower of the `ends` and at or above the upper one;
    the ends are returned where copies leave no gap.
    """
    copies = _copies(pair, inputs)
    below = max(_largest(x[sides[0]], ends[0]) for x in copies)
    above = min(-_largest(-x[sides[1]], -ends[1]) for x in copies)
    return (below, above) if below < above else ends


def largest_copy(pair: Pair, inputs: Inputs, largest: float) -> float:
    """Return the largest value of a pair in any copy of the training rows."""
    return max(_largest(x, largest) for x in _copies(pair, inputs))


def _copies(pair: Pair, inputs: Inputs) -> list[Floats]:
    """Return the extreme values that a pair may have in copies of the rows; itself if no other."""
    own = inputs.only(pair.sources)
    with np.errstate(over="ignore", invalid="ignore"):
        corners = product(*(_extremes(column) for column in own.columns))
        return [pair.evaluate(replace(own, columns=corner)) for corner in corners]


def _extremes(column: Array) -> Sequence[Array]:
    """Return the least and the largest number that single precision cannot tell from each cell.

    Codes, and whole numbers that are exact in single precision, are themselves.
    """
    if column.dtype.kind != "f":
        return (column,)
    present = column[~np.isnan(column)]
    if (np.abs(present) < EXACT_WHOLE).all() and (present == np.rint(present)).all():
        return (column,)
    single = column.astype(np.float32)
    half_step = np.abs(np.spacing(single)).astype(np.float64) / 2
    return single - half_step, single + half_step


def _largest(x: Floats, least: float) -> float:
    return float(np.fmax.reduce(x, initial=least)) + 0.0
