"""The cheapest change of one row: boxes refined until none can beat the best answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rpte.counterfactual import search
from rpte.counterfactual.boxes import (
    Block,
    Boxes,
    Grid,
    affordable,
    blocks_of,
    boxes_of,
    corners_of,
)
from rpte.utils.arrays import Floats, Index

MOST_BOXES = 100_000  # of one component
MOST_POINTS = 1_000_000  # looked at in all
MOST_ON_LINES = 50_000  # boxes with one long side are looked at whole up to so many points
SMALL = 512.0  # points of a box that are looked at one by one
ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Solution:
    """Positions by component or None, their cost, a bound on any, the largest gain found."""

    positions: tuple[Index, ...] | None
    cost: float
    bound: float
    reach: float


def solve(
    grids: Sequence[Grid], need: Floats | float, most: int, below: float = np.inf
) -> Solution:
    """Find the cheapest positions below a cost that gain `need` with at most `most` changes.

    Of several inequalities `need` is (m,), and `Solution.reach` is not told.
    """
    if np.all(need <= 0):
        unchanged = tuple(np.zeros(len(grid.choices), np.intp) for grid in grids)
        return Solution(unchanged, 0.0, 0.0, 0.0)
    return _Refinement(grids, need, most).run(below)


@dataclass(frozen=True, slots=True)
class _Later:
    """Boxes of a component that are put off: so many variables change, at such a cost at least."""

    blocks: Sequence[Sequence[Block]]
    counts: range
    floor: float


class _Refinement:
    """The points worth keeping so far, and the boxes that are still open, by component."""

    def __init__(self, grids: Sequence[Grid], need: Floats | float, most: int) -> None:
        self.grids, self.need, self.most = grids, need, most
        self.seen = 0
        self.kept = [np.zeros((0, len(grid.choices)), np.intp) for grid in grids]
        self.later: dict[int, _Later] = {}
        self.first = [self._divide(n, self._first_boxes(n, grid)) for n, grid in enumerate(grids)]
        self.open = list(self.first)

    def _first_boxes(self, number: int, grid: Grid) -> Boxes:
        """Return the boxes; where there are too many, those with fewer changes first."""
        blocks = [blocks_of(grid, v) for v in range(len(grid.choices))]
        most = min(self.most, sum(bool(b) for b in blocks))
        count = affordable(blocks, most, MOST_BOXES)
        if count < most:
            cheapest = sorted(c.costs[1:].min() for c in grid.choices if len(c.costs) > 1)
            floor = float(sum(cheapest[: count + 1]))
            self.later[number] = _Later(blocks, range(count + 1, most + 1), floor)
        found = boxes_of(grid, blocks, range(count + 1))
        assert found is not None
        return found

    def _more_boxes(self, below: float) -> float:
        """Open boxes with more changes that cost less than `below`; return their least cost."""
        # Boxes that were dropped may be worth it together with these: all are opened again.
        floor, self.open = np.inf, list(self.first)
        for number, later in list(self.later.items()):
            grid = self.grids[number]
            found = boxes_of(grid, later.blocks, later.counts, below - search.TOLERANCE, MOST_BOXES)
            if found is not None:
                del self.later[number]
                more = self._divide(number, found)
                self.open[number] = self.open[number].joined(more)
                floor = min(floor, later.floor)
        return floor

    def _divide(self, number: int, boxes: Boxes) -> Boxes:
        """Look at all points of small boxes, and of lines if they are few; return the others."""
        few, line = boxes.points <= SMALL, (boxes.high > boxes.low).sum(axis=1) <= 1
        if boxes.points[line].sum() <= MOST_ON_LINES:
            few |= line
        self._look(number, boxes.take(few).all_points())
        return boxes.take(~few)

    def _look(self, number: int, positions: Index) -> None:
        """Keep those of some points, and of the ones kept before, that no other beats."""
        self.seen += len(positions)
        every = np.vstack([self.kept[number], positions])
        self.kept[number] = every[self.grids[number].points(number, every).undominated().place]

    def run(self, below: float) -> Solution:
        """Refine boxes until none is left that could hold a better answer."""
        best = Solution(None, below, below, 0.0)
        for _ in range(ROUNDS):
            corners = []
            for number, grid in enumerate(self.grids):
                positions, own = corners_of(grid, self.open[number], number)
                self._look(number, positions)
                corners.append(own)
            kept = zip(self.grids, self.kept, strict=True)
            points = search.joined([g.points(n, at) for n, (g, at) in enumerate(kept)])
            found = search.search(points, self.need, self.most, best.cost)
            best = best if found.places is None else self._solution(found)
            bounds = self._bounds(points, corners)
            worth = [bound < best.cost - search.TOLERANCE for bound in bounds]
            open_bounds = [b[w] for b, w in zip(bounds, worth, strict=True)]
            left = float(np.concatenate([[np.inf], *open_bounds]).min())
            self.open = [boxes.take(w) for boxes, w in zip(self.open, worth, strict=True)]
            done = not any(map(len, self.open))
            if self.seen > MOST_POINTS or (done and not self.later):
                break
            for number, boxes in enumerate(self.open):
                self.open[number] = self._divide(number, boxes.halves())
            if done:
                left = self._more_boxes(best.cost)
                if left == np.inf:
                    break
        floor = min((later.floor for later in self.later.values()), default=np.inf)
        bound = min(best.cost, max(0.0, min(found.bound, left, floor)))
        several = isinstance(self.need, np.ndarray)
        reach = 0.0 if several else search.most_gain(points, self.most)[0]
        return replace(best, bound=bound, reach=reach)

    def _bounds(self, points: search.Points, corners: list[search.Points]) -> list[Floats]:
        """Return least costs of answers in each open box; infinity where it gains too little."""
        lambdas = search.prices(points, self.need, self.most)
        every = [search.joined([points.of(number), c]) for number, c in enumerate(corners)]
        others = search.without_each(lambdas, every, self.most)
        free = [replace(p, cost=np.zeros(len(p))) for p in every]
        if isinstance(self.need, np.ndarray):
            tables = search.without_each(np.eye(len(self.need)), free, self.most)
            gains = [-table for table in tables]
        else:
            gains = [-table[:, 0] for table in search.without_each(np.ones(1), free, self.most)]
        return [
            self._box_bounds(lambdas, others[number], gains[number], c, self.open[number])
            for number, c in enumerate(corners)
        ]

    def _box_bounds(
        self, lambdas: Floats, others: Floats, gains: Floats, c: search.Points, boxes: Boxes
    ) -> Floats:
        bound = np.full(len(boxes), -np.inf)
        reach = np.full((len(boxes), *c.gain.shape[1:]), -np.inf)
        left = self.most - (boxes.low > 0).sum(axis=1)
        for i, price in enumerate(lambdas):
            own = np.full(len(boxes), np.inf)
            np.minimum.at(own, c.place, c.cost - search.worth(c.gain, price))
            np.maximum(bound, own + np.dot(price, self.need) + others[left, i], out=bound)
        np.maximum.at(reach, c.place, c.gain)
        short = reach + gains[left] < self.need - search.TOLERANCE
        return np.where(short if short.ndim == 1 else short.any(axis=1), np.inf, bound)

    def _solution(self, found: search.Found) -> Solution:
        chosen = [np.zeros(len(grid.choices), np.intp) for grid in self.grids]
        starts = np.cumsum([0, *map(len, self.kept)])
        for place in found.places or ():
            number = int(np.searchsorted(starts, place, side="right")) - 1
            chosen[number] = self.kept[number][place - starts[number]]
        return Solution(tuple(chosen), found.cost, found.bound, 0.0)
