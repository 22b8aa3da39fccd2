"""A component cut into boxes: in each, every test is settled and every slope a straight line.

A *block* is a run of positions of one variable (see `Choices`) between two neighbouring thresholds,
knots or levels; one on which nothing moves is cut down to its cheapest value. A *box* has one block
per variable. Tests and terms are evaluated by the model's own columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Column, Hinge, Pair, Scale
from rpte.counterfactual.choices import Choices
from rpte.counterfactual.parts import one_source, parts_on
from rpte.model.parts import Component
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
Block = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Grid:
    """A component with the choices for its variables.

    Parameters
    ----------
    component : Component
    choices : tuple of Choices
        In the order of the component's sources.
    sign : int
        +1 if the score shall rise, -1 if it shall fall.
    """

    component: Component
    choices: tuple[Choices, ...]
    sign: int

    def inputs(self, positions: Positions) -> Inputs:
        """Return rows with the cells at some positions, shape (n, sources)."""
        variables = tuple(c.variable for c in self.choices)
        columns = tuple(c.column(positions[:, v]) for v, c in enumerate(self.choices))
        specials = {
            v: c.codes[positions[:, v]]
            for v, c in enumerate(self.choices)
            if c.variable.kind == "number" and c.variable.levels
        }
        return Inputs(Schema(variables, named=True), columns, specials)

    def gain(self, positions: Positions) -> Floats:
        """Return how much further the component moves the score than it does now, shape (n,)."""
        asked = np.vstack([np.zeros((1, len(self.choices)), np.intp), positions])
        subtotal = self.component.subtotal(self.inputs(asked))
        return np.asarray(self.sign * (subtotal[1:] - subtotal[0]))

    def cost(self, positions: Positions) -> Floats:
        """Return what changing to some positions costs, shape (n,)."""
        total = np.zeros(len(positions))
        for v, c in enumerate(self.choices):
            total = total + c.costs[positions[:, v]]
        return total


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of positions, from `low` to `high` inclusive, both of shape (n, sources)."""

    low: Positions
    high: Positions

    def __len__(self) -> int:
        return len(self.low)

    def take(self, chosen: NDArray[np.bool_] | Positions) -> Boxes:
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

    def corners(self) -> Iterator[tuple[Positions, Positions]]:
        """Yield places of boxes with equal long sides, and the corners of each, (2^k, n, s)."""
        wide = self.high > self.low
        for pattern in np.unique(wide, axis=0):
            places = np.flatnonzero((wide == pattern).all(axis=1))
            sides = np.flatnonzero(pattern)
            corners = np.repeat(self.low[None, places], 2 ** len(sides), axis=0)
            for bit, side in enumerate(sides):
                upper = (np.arange(len(corners)) >> bit) & 1 == 1
                corners[upper, :, side] = self.high[places, side]
            yield places, corners

    def all_points(self) -> Positions:
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
    """Return the boxes in which so many variables change, and which cost less than `below`.

    None if there are more than `limit`.
    """
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
    inputs = _alone(grid, place, rows)
    tests = [choices.values[rows] > choices.origin, *_tests(grid.component, choices, inputs)]
    new = np.any([t[1:] != t[:-1] for t in tests], axis=0)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1]) + 1
    ends = np.concatenate([starts[1:] - 1, [choices.numbers]])
    slopes = [part.evaluate(inputs) for part in _slopes(grid.component, choices.variable.name)]
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        flat = all(slope[start - 1] == slope[end - 1] for slope in slopes)
        cheapest = start + int(np.argmin(choices.costs[start : end + 1]))
        found.append((cheapest, cheapest) if flat else (start, end))
    return found + rest


def _alone(grid: Grid, place: int, rows: Positions) -> Inputs:
    positions = np.zeros((len(rows), len(grid.choices)), np.intp)
    positions[:, place] = rows
    return grid.inputs(positions)


def _tests(component: Component, choices: Choices, inputs: Inputs) -> Iterator[NDArray[np.bool_]]:
    """Yield what changes where a number passes a threshold, a knot or the end of a formula."""
    x = inputs[choices.variable.name]
    for part, threshold in parts_on([component], choices.variable.name):
        if part.binary:
            yield part.evaluate(inputs) > 0
        elif isinstance(part, Hinge):
            yield x > part.knot
        elif isinstance(part, Scale):
            yield from (x > number for number in part.numbers)
        if threshold is not None:
            yield part.evaluate(inputs) <= threshold


def _slopes(component: Component, source: str) -> list[Column]:
    """Return the numeric columns of a variable whose value itself counts, not only a test on it."""
    terms = [term.column for term in component.direct]
    splits = [split.column for tree in component.trees for split in tree.tree.splits]
    read = [*terms, *(column for column in splits if isinstance(column, Pair))]
    parts = [part for column in read for part in one_source(column)]
    return [part for part in parts if part.sources == (source,) and not part.binary]
