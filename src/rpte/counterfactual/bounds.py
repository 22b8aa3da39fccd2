"""What a box can reach at best.

Inside a box costs are linear and values, hinges, clipped values and distances are linear in their
variable; so a sum of terms, products of two included, is linear in each variable by itself, and
each point of the box is a mixture of its corners with the same weights for cost and gain. Where
that fails (logarithms, square roots, absolute differences that change sign, a tree that tests a
two-source number) the *slack* says by how much at most; it vanishes as boxes shrink to points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Column, Pair, Scale
from rpte.counterfactual.cells import Boxes, Grid, Positions
from rpte.counterfactual.search import Points
from rpte.model.parts import TreeTerms

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a column over each box, and how far its middle can leave a straight line."""

    low: Floats
    high: Floats
    bend: Floats

    @property
    def size(self) -> Floats:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high)) + self.bend


@dataclass(frozen=True, slots=True)
class Corners:
    """Corners of boxes: which box, their positions, costs and gains with the box's slack."""

    box: Positions
    positions: Positions
    cost: Floats
    gain: Floats
    slack: Floats

    def optimistic(self, number: int) -> Points:
        """Return the corners as points of a component that gain the slack too."""
        count, changes = len(self.cost), (self.positions > 0).sum(axis=1)
        numbers = np.full(count, number)
        return Points(numbers, self.cost, self.gain + self.slack, changes, np.arange(count))


def corners_of(grid: Grid, boxes: Boxes) -> Corners:
    """Evaluate the corners of boxes."""
    box, positions = [np.zeros(0, np.intp)], [np.zeros((0, len(grid.choices)), np.intp)]
    for places, corners in boxes.corners():
        box.append(np.tile(places, len(corners)))
        positions.append(corners.reshape(-1, len(grid.choices)))
    where, at = np.concatenate(box), np.vstack(positions)
    return Corners(where, at, grid.cost(at), grid.gain(at), slack(grid, boxes)[where])


def slack(grid: Grid, boxes: Boxes) -> Floats:
    """Return how far a gain inside each box may exceed the mixture of its corners, shape (n,)."""
    total = np.zeros(len(boxes))
    for term in grid.component.direct:
        total = total + abs(term.coefficient) * _column_range(grid, boxes, term.column).bend
    for tree in grid.component.trees:
        total = total + _tree_slack(grid, boxes, tree)
    return total


def _tree_slack(grid: Grid, boxes: Boxes, tree: TreeTerms) -> Floats:
    """Return the spread of the leaves where a test on a two-source number is not settled."""
    open_test = np.zeros(len(boxes), bool)
    for split in tree.tree.splits:
        if isinstance(split.column, Pair) and split.threshold is not None:
            found = _column_range(grid, boxes, split.column)
            low, high = found.low - found.bend, found.high + found.bend
            open_test |= (low <= split.threshold) & (high > split.threshold)
    coefficients = [leaf.coefficient for leaf in tree.leaves]
    return np.where(open_test, max(coefficients) - min(coefficients), 0.0)


def _column_range(grid: Grid, boxes: Boxes, column: Column) -> Range:
    """Return the range of a column; zeros where it is missing, which is all over a box."""
    if not isinstance(column, Pair):
        return _one_source_range(grid, boxes, column)
    left = _one_source_range(grid, boxes, column.left)
    right = _one_source_range(grid, boxes, column.right)
    if column.operation == "product":
        ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        bend = left.bend * right.size + right.bend * left.size
        return Range(np.min(ends, axis=0), np.max(ends, axis=0), bend)
    bend = left.bend + right.bend
    if column.operation == "sum":
        return Range(left.low + right.low, left.high + right.high, bend)
    low, high = left.low - right.high, left.high - right.low
    if column.operation == "difference":
        return Range(low, high, bend)
    across = np.maximum(np.minimum(high, -low), 0.0)
    least = np.where(across > 0, 0.0, np.minimum(np.abs(low), np.abs(high)))
    return Range(least, np.maximum(np.abs(low), np.abs(high)), bend + 2.0 * across)


def _one_source_range(grid: Grid, boxes: Boxes, column: Column) -> Range:
    place = grid.component.sources.index(column.sources[0])
    ends = []
    for side in (boxes.low, boxes.high):
        values = column.evaluate(grid.inputs(side))
        ends.append(np.where(np.isnan(values), 0.0, values))
    bend = np.zeros(len(boxes))
    if isinstance(column, Scale) and column.formula in ("log", "sqrt"):
        x = [grid.choices[place].values[side[:, place]] for side in (boxes.low, boxes.high)]
        bend = _bend(column, x[0], x[1], ends[0], ends[1])
    return Range(np.minimum(*ends), np.maximum(*ends), bend)


def _bend(column: Scale, a: Floats, b: Floats, fa: Floats, fb: Floats) -> Floats:
    """Return how far a logarithm or root rises above the straight line from a to b."""
    wide = (b > a) & (a > column.numbers[0])
    rise, run = np.where(wide, fb - fa, 1.0), np.where(wide, b - a, 1.0)
    slope = rise / run
    # Where the tangent has the slope of the line: 1 / x for a logarithm, 1 / (2 root x) for a root.
    if column.formula == "log":
        gap = np.log(1.0 / slope) - (fa + slope * (1.0 / slope - a))
    else:
        gap = 0.5 / slope - (fa + slope * (0.25 / slope**2 - a))
    return np.where(wide, np.maximum(gap, 0.0) * (1 + 1e-9) + 1e-12, 0.0)
