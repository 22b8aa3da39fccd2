"""A component cut into boxes, and what each box can reach at best.

A *block* is a run of positions of one variable (see `Choices`) between two neighbouring thresholds,
knots or levels; one on which nothing moves is cut down to its cheapest value. A *box* has one block
per variable: in it every test is settled and every slope a straight line. Tests and terms are
evaluated by the model's own columns.

Inside a box costs are linear and values, hinges, clipped values and distances are linear in their
variable; so a sum of terms, products of two included, is linear in each variable by itself, and
each point of the box is a mixture of its corners with the same weights for cost and gain. Where
that fails (logarithms, square roots, absolute differences that change sign, a tree that tests a
two-source number) the *slack* says by how much at most; it vanishes as boxes shrink to points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np

from rpte.columns.kinds import Column, Pair, Scale
from rpte.counterfactual.choices import Choices
from rpte.counterfactual.search import Points
from rpte.model.grid import bends, columns_on, rows_of
from rpte.model.parts import Component, TreeTerms
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats, Index, Mask

Block = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Grid:
    """A component with the choices for its variables."""

    component: Component
    choices: tuple[Choices, ...]  # in the order of the component's sources
    sign: int  # +1 if the score shall rise, -1 if it shall fall
    unit: float = 1.0  # of the score, in which gains are told
    others: tuple[Component, ...] = ()  # the same terms in further inequalities

    @property
    def inequalities(self) -> tuple[Component, ...]:
        """The component as each of the inequalities has it."""
        return (self.component, *self.others)

    def inputs(self, positions: Index) -> Inputs:
        """Return rows with the cells at some positions, shape (n, sources)."""
        columns = [c.column(positions[:, v]) for v, c in enumerate(self.choices)]
        codes = [c.codes[positions[:, v]] for v, c in enumerate(self.choices)]
        return rows_of([c.variable for c in self.choices], columns, codes)

    def gain(self, positions: Index) -> Floats:
        """Return how much further the component moves the score than it does now, shape (n,).

        Of several inequalities (n, m).
        """
        inputs = self.inputs(np.vstack([np.zeros((1, len(self.choices)), np.intp), positions]))
        subtotals = [component.subtotal(inputs) for component in self.inequalities]
        return _each([self.sign * (s[1:] - s[0]) / self.unit for s in subtotals])

    def cost(self, positions: Index) -> Floats:
        """Return what changing to some positions costs, shape (n,)."""
        each = (c.costs[positions[:, v]] for v, c in enumerate(self.choices))
        return sum(each, np.zeros(len(positions)))

    def points(self, number: int, positions: Index) -> Points:
        """Return some positions as points of the component of this number."""
        changes, place = (positions > 0).sum(axis=1), np.arange(len(positions))
        numbers = np.full(len(positions), number)
        return Points(numbers, self.cost(positions), self.gain(positions), changes, place)


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of positions, from `low` to `high` inclusive, both of shape (n, sources)."""

    low: Index
    high: Index

    def __len__(self) -> int:
        return len(self.low)

    def take(self, chosen: Mask | Index) -> Boxes:
        """Return some of the boxes."""
        return Boxes(self.low[chosen], self.high[chosen])

    def joined(self, more: Boxes) -> Boxes:
        """Return these boxes and others."""
        return Boxes(np.vstack([self.low, more.low]), np.vstack([self.high, more.high]))

    @property
    def points(self) -> Floats:
        """How many points each box holds."""
        return np.asarray(np.prod((self.high - self.low + 1.0), axis=1))

    def halves(self) -> Boxes:
        """Return every box cut in two across its longest side."""
        rows = np.arange(len(self))
        side = np.argmax(self.high - self.low, axis=1)
        middle = (self.low[rows, side] + self.high[rows, side]) // 2
        low, high = self.low.copy(), self.high.copy()
        high[rows, side], low[rows, side] = middle, middle + 1
        return Boxes(np.vstack([self.low, low]), np.vstack([high, self.high]))

    def corners(self) -> tuple[Index, Index]:
        """Return the corners of all boxes, shape (n, sources), and the box of each."""
        corners, box = self.low, np.arange(len(self))
        for v in range(self.low.shape[1]):
            wide = self.high[box, v] > self.low[box, v]
            other = corners[wide]
            other[:, v] = self.high[box[wide], v]
            corners, box = np.vstack([corners, other]), np.concatenate([box, box[wide]])
        return corners, box

    def all_points(self) -> Index:
        """Return every point of every box."""
        single = (self.low == self.high).all(axis=1)
        found = [self.low[single]]
        for low, high in zip(self.low[~single].tolist(), self.high[~single].tolist(), strict=True):
            axes = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
            found.append(np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes)))
        return np.vstack(found)


def boxes_of(
    grid: Grid,
    blocks: Sequence[Sequence[Block]],
    counts: Iterable[int],
    below: float = np.inf,
    limit: float = np.inf,
) -> Boxes | None:
    """Return boxes with so many changes that cost less than `below`; None if beyond `limit`."""
    lists = [np.array(b, np.intp).reshape(-1, 2) for b in blocks]
    costs = [c.costs[b].min(axis=1) for c, b in zip(grid.choices, lists, strict=True)]
    found, total = [np.zeros((0, len(blocks), 2), np.intp)], 0
    for changed in (c for count in counts for c in combinations(range(len(blocks)), count)):
        sums = np.zeros((1,) * len(changed))
        for axis, v in enumerate(changed):
            sums = sums + costs[v].reshape([-1 if k == axis else 1 for k in range(len(changed))])
        places = np.nonzero(sums < below) if changed else ()
        boxes = np.zeros((len(places[0]) if places else 1, len(blocks), 2), np.intp)
        for v, place in zip(changed, places, strict=True):
            boxes[:, v] = lists[v][place]
        found.append(boxes)
        total += len(boxes)
        if total > limit:
            return None
    both = np.concatenate(found)
    return Boxes(both[:, :, 0], both[:, :, 1])


def affordable(blocks: Sequence[Sequence[Block]], most: int, limit: int) -> int:
    """Return how many variables may change at once so that there are at most `limit` boxes."""
    sizes, total = [len(b) for b in blocks], 1
    for count in range(1, min(most, len(blocks)) + 1):
        for changed in combinations(sizes, count):
            total += prod(changed)
            if total > limit:
                return max(count - 1, 1)
    return min(most, len(blocks))


def blocks_of(grid: Grid, place: int) -> list[Block]:
    """Return the blocks of one variable, that of no change left out."""
    choices = grid.choices[place]
    rest = [(p, p) for p in range(1 + choices.numbers, len(choices.values))]
    if not choices.numbers:
        return rest
    rows = np.arange(1, 1 + choices.numbers)
    positions = np.zeros((len(rows), len(grid.choices)), np.intp)
    positions[:, place] = rows
    inputs = grid.inputs(positions)
    tests = [choices.values[rows] > choices.origin, *_tests(grid.component, choices, inputs)]
    new = np.any([t[1:] != t[:-1] for t in tests], axis=0)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1]) + 1
    ends = np.concatenate([starts[1:] - 1, [choices.numbers]])
    # Numeric columns whose value itself counts, not only a test on it.
    read = columns_on([grid.component], choices.variable.name)
    slopes = [c.evaluate(inputs) for c, test in read if test is None and not c.binary]
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        flat = all(slope[start - 1] == slope[end - 1] for slope in slopes)
        cheapest = start + int(np.argmin(choices.costs[start : end + 1]))
        found.append((cheapest, cheapest) if flat else (start, end))
    return found + rest


def _tests(component: Component, choices: Choices, inputs: Inputs) -> Iterator[Mask]:
    """Yield what changes where a number passes a threshold, a knot or the end of a formula."""
    x = inputs[choices.variable.name]
    for column, threshold in columns_on([component], choices.variable.name):
        if column.binary:
            yield column.evaluate(inputs) > 0
        yield from (x > number for number in bends(column))
        if threshold is not None:
            yield column.evaluate(inputs) <= threshold


def corners_of(grid: Grid, boxes: Boxes, number: int = 0) -> tuple[Index, Points]:
    """Return the corners of boxes as positions and points, each with the slack of its box."""
    at, box = boxes.corners()
    points = grid.points(number, at)
    return at, replace(points, gain=points.gain + slack(grid, boxes)[box], place=box)


def slack(grid: Grid, boxes: Boxes) -> Floats:
    """Return how far a gain inside each box may exceed the mixture of its corners, shape (n,).

    Of several inequalities (n, m).
    """
    totals = [np.zeros(len(boxes)) for _ in grid.inequalities]
    for terms in zip(*(component.direct for component in grid.inequalities), strict=True):
        bend = _column_range(grid, boxes, terms[0].column).bend
        for total, term in zip(totals, terms, strict=True):
            total += abs(term.coefficient) * bend
    for trees in zip(*(component.trees for component in grid.inequalities), strict=True):
        for total, tree in zip(totals, trees, strict=True):
            total += _tree_slack(grid, boxes, tree)
    return _each([total / grid.unit for total in totals])


def _each(columns: Sequence[Floats]) -> Floats:
    """Return what one inequality has, (n,), or several, (n, m)."""
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


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
    low, high = column.limits
    wide = (b > a) & (a > low) & (a < high)
    rise, run = np.where(wide, fb - fa, 1.0), np.where(wide, b - a, 1.0)
    slope = rise / run
    # Where the tangent has the slope of the line: 1 / x for a logarithm, 1 / (2 root x) for a root.
    if column.formula == "log":
        gap = np.log(1.0 / slope) - (fa + slope * (1.0 / slope - a))
    else:
        gap = 0.5 / slope - (fa + slope * (0.25 / slope**2 - a))
    return np.where(wide, np.maximum(gap, 0.0) * (1 + 1e-9) + 1e-12, 0.0)
