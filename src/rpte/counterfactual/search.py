"""The cheapest sum of one point per component that gains enough: best first, with a bound.

Components share no variable, so costs and gains add up. For a price lambda of gain, the least of
``cost - lambda * gain`` over each component, added up, bounds every answer from below (Lagrange);
the best of some prices is used. The number of changed variables is counted exactly in the bound,
and the last two points of an answer are found by looking them up, not by search.

Several inequalities may have to hold at once. Gains, needs and prices then are rows of m numbers,
one for each; what all of them ask for together, each at its price, bounds every answer as well.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from rpte.utils.arrays import Array, Floats, Index, Mask

PRICES = 24
STEPS = (4.0, 2.0, 1.4, 1.15)  # factors by which prices of several inequalities are moved
TOGETHER = 2**22  # comparisons of points that are held in memory
TOLERANCE = 1e-9  # answers whose costs differ by less are equally good


@dataclass(frozen=True, slots=True)
class Points:
    """Points that help, of all components, in order of component; arrays of shape (n,)."""

    component: Index
    cost: Floats  # positive, as is the gain
    gain: Floats  # of several inequalities (n, m), positive in one at least
    changes: Index  # how many variables change
    place: Index  # where the caller keeps the point

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, chosen: Mask | Index) -> Points:
        """Return some of the points."""
        return Points(*(column[chosen] for column in self.columns()))

    def columns(self) -> tuple[Array, ...]:
        """Return the arrays in their order."""
        return self.component, self.cost, self.gain, self.changes, self.place

    def of(self, component: int) -> Points:
        """Return the points of one component."""
        return self.take(self.component == component)

    def undominated(self) -> Points:
        """Drop points that another of the component beats in cost, gain and changes."""
        if self.gain.ndim > 1:
            return self._undominated_in_all()
        order = np.lexsort((self.changes, -self.gain, self.cost, self.component))
        p = self.take(order)
        keep = np.zeros(len(p), bool)
        for component in np.unique(p.component):
            inside = np.flatnonzero((p.component == component) & (p.gain > 0))
            for most in np.unique(p.changes[inside]):
                rows = inside[p.changes[inside] <= most]
                best = np.maximum.accumulate(p.gain[rows])
                better = np.concatenate([[True], p.gain[rows][1:] > best[:-1]])
                keep[rows[better & (p.changes[rows] == most)]] = True
        return p.take(keep)

    def _undominated_in_all(self) -> Points:
        """Drop points that another is at least as good as, in every inequality."""
        useful = self.take(np.flatnonzero((self.gain > 0).any(axis=1)))
        totals = useful.gain.sum(axis=1)
        p = useful.take(np.lexsort((useful.changes, -totals, useful.cost, useful.component)))
        found = [_first_of(p.of(component)) for component in np.unique(p.component)]
        return Points(*(np.concatenate(same) for same in zip(*found, strict=True))) if found else p

    def toward(self, weights: Floats) -> Points:
        """Return the points with one gain each: that of all inequalities, by weights (m,)."""
        return replace(self, gain=self.gain @ weights)


def _first_of(p: Points) -> tuple[Array, ...]:
    """Return the columns of points, by rising cost, that none before them is as good as."""
    kept = np.zeros(0, np.intp)
    start = 0
    while start < len(p):
        size = max(1, TOGETHER // (p.gain.shape[1] * (len(kept) + 256)))
        block = np.arange(start, min(start + min(size, 256), len(p)))
        beaten = _as_good(p, kept, block).any(axis=0)
        beaten |= np.triu(_as_good(p, block, block), 1).any(axis=0)
        kept, start = np.concatenate([kept, block[~beaten]]), int(block[-1]) + 1
    return p.take(kept).columns()


def _as_good(p: Points, these: Index, those: Index) -> Mask:
    """Tell which of these points gain as much with as few changes as each of those."""
    gains = (p.gain[these][:, None] >= p.gain[those][None]).all(axis=2)
    return np.asarray(gains & (p.changes[these][:, None] <= p.changes[those][None]))


NO_POINTS = Points(*(np.zeros(0, kind) for kind in (np.intp, float, float, np.intp, np.intp)))


def joined(each: Sequence[Points]) -> Points:
    """Return the points of several components in one, their places counted through."""
    every = [p for p in each if p.gain.ndim > 1] or [NO_POINTS, *each]
    columns = (np.concatenate(same) for same in zip(*(p.columns() for p in every), strict=True))
    return replace(Points(*columns), place=np.arange(sum(map(len, each))))


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: places of points (None if no sum is wanted), cost and bound."""

    places: tuple[int, ...] | None
    cost: float
    bound: float


def worth(gain: Floats, price: Floats) -> Floats:
    """Return what gains are worth at a price, or at one price for each inequality, (n,)."""
    return np.asarray(price * gain if gain.ndim == 1 else gain @ price)


def reaches(gain: Floats, need: Floats | float) -> Mask:
    """Tell which gains are enough, in every inequality."""
    return np.asarray(gain >= need if gain.ndim == 1 else (gain >= need).all(axis=1))


def least(lambdas: Floats, points: Points, most: int) -> Floats:
    """Return the least of cost - lambda * gain over points of one component, (most + 1, prices).

    Row q holds that of the points with q changes, infinity where there are none; no change is 0.
    """
    table = np.full((most + 1, len(lambdas)), np.inf)
    table[0] = 0.0
    for q in range(1, most + 1):
        own = points.changes == q
        cost, gain = points.cost[own], points.gain[own]
        for i, price in enumerate(lambdas if len(cost) else ()):
            table[q, i] = (cost - worth(gain, price)).min()
    return table


def together(tables: Sequence[Floats], most: int) -> list[Floats]:
    """Return sums over the components from each one on, with at most 0, 1, ..., most changes."""
    width = tables[0].shape[1] if tables else 1
    sums = [np.zeros((most + 1, width))]
    for table in reversed(tables):
        sums.append(combined(table, sums[-1]))
    return sums[::-1]


def without_each(lambdas: Floats, each: Sequence[Points], most: int) -> list[Floats]:
    """Return, for each component, the sum of the `least` of all others, by changes."""
    tables = [least(lambdas, points, most) for points in each]
    after, before = together(tables, most), together(tables[::-1], most)[::-1]
    return [combined(before[i], after[i + 1]) for i in range(len(tables))]


def combined(a: Floats, b: Floats) -> Floats:
    """Return the least sums of two tables by changes; in the result "at most" so many."""
    total = np.full(a.shape, np.inf)
    for p in range(len(a)):
        for q in range(len(a) - p):
            total[p + q] = np.minimum(total[p + q], a[p] + b[q])
    return np.minimum.accumulate(total, axis=0)


def prices(points: Points, need: Floats | float, most: int) -> Floats:
    """Return the prices of gain at which bounds are computed: wide apart, and near the best.

    Of several inequalities (prices, m).
    """
    if isinstance(need, np.ndarray):
        return _prices_of_several(points, need, most)
    if not len(points):
        return np.zeros(1)
    ratio = points.cost / points.gain
    wide = np.geomspace(max(ratio.min(), 1e-12) / 2, max(ratio.max(), 1e-12) * 4, PRICES)
    own = [points.of(c) for c in np.unique(points.component)]
    sums = together([least(wide, p, most) for p in own], most)
    best = int(np.argmax(wide * need + sums[0][-1]))
    ends = wide[max(best - 1, 0)], wide[min(best + 1, PRICES - 1)]
    return np.concatenate([[0.0], wide, np.geomspace(*ends, PRICES)])


def _prices_of_several(points: Points, need: Floats, most: int) -> Floats:
    """Return prices of each inequality alone, of all alike, and near the best found of all."""
    m = len(need)
    found = [np.zeros((1, m))]
    for weights in np.vstack([np.eye(m), np.ones((1, m))]):
        one = points.toward(weights)
        one = one.take(one.gain > 0)
        found.append(prices(one, float(need @ weights), most)[:, None] * weights)
    tried, own = np.vstack(found), [points.of(c) for c in np.unique(points.component)]

    def bound(lambdas: Floats) -> Floats:
        sums = together([least(lambdas, p, most) for p in own], most)
        return np.asarray(lambdas @ need + sums[0][-1])

    best = tried[np.argmax(bound(tried))]
    for factor in STEPS:
        scales = np.vstack([np.ones((1, m)), np.diag(np.full(m, factor - 1.0)) + 1.0])
        unit = max(best.max(), 1e-12) / 64.0  # a price of zero has to be left, too
        near = np.vstack([best * scales, best / scales, best + unit * np.eye(m)])
        best = near[np.argmax(bound(near))]
        tried = np.vstack([tried, near])
    return tried


def most_gain(points: Points, most: int) -> tuple[float, tuple[int, ...]]:
    """Return the largest gain with at most `most` changes, and the places of its points."""
    gains = [0.0] * (most + 1)
    places: list[tuple[int, ...]] = [()] * (most + 1)
    for component in np.unique(points.component):
        own = points.of(component)
        before, chosen = gains[:], places[:]
        for changes in np.unique(own.changes[own.changes <= most]).tolist():
            rows = np.flatnonzero(own.changes == changes)
            best = rows[np.argmax(own.gain[rows])]
            for n in range(changes, most + 1):
                if before[n - changes] + own.gain[best] > gains[n]:
                    gains[n] = before[n - changes] + float(own.gain[best])
                    places[n] = (*chosen[n - changes], int(own.place[best]))
    return gains[-1], places[-1]


def start_of_several(points: Points, need: Floats, most: int) -> tuple[int, ...] | None:
    """Return places of points that gain enough in every inequality, () if none was found.

    None if one of them is out of reach by itself.
    """
    m = len(need)
    where = {int(place): i for i, place in enumerate(points.place)}
    found: tuple[int, ...] = ()
    for weights in np.vstack([np.eye(m), np.ones((1, m)), 1.0 + 3.0 * np.eye(m)]):
        gain, places = most_gain(points.toward(weights), most)
        if gain < need @ weights:
            return None
        total = points.gain[[where[place] for place in places]].sum(axis=0)
        if not found and (total >= need).all():
            found = places
    return found


def search(
    points: Points, need: Floats | float, most: int, below: float = np.inf, limit: int = 5_000
) -> Found:
    """Find the cheapest points, one per component at most, that together gain `need`.

    Of several inequalities `need` is (m,), and what is gained has to be enough in each. At most
    `most` variables may change. Only an answer that costs less than `below` is wanted.
    After `limit` steps the search stops with what it has; `Found.bound` then lies below its cost.
    """
    if isinstance(need, np.ndarray):
        points = points.undominated()
        start = start_of_several(points, need, most)
        if start is None:
            return Found(None, below, below)
        best_first = _BestFirst(points, need, most, below)
        if start:
            best_first.start(start)
        return best_first.run(limit)
    gain, places = most_gain(points, most)
    if gain < need:
        return Found(None, below, below)
    best_first = _BestFirst(points.undominated(), need, most, below)
    best_first.start(places)
    return best_first.run(limit)


class _BestFirst:
    """Best-first search over points, components in order."""

    def __init__(self, points: Points, need: Floats | float, most: int, below: float) -> None:
        self.points, self.need, self.most, self.cost = points, need, most, below
        components, self.rank = np.unique(points.component, return_inverse=True)
        self.lambdas = prices(points, need, most)
        own = [points.take(self.rank == r) for r in range(len(components))]
        self.later = np.array(together([least(self.lambdas, p, most) for p in own], most))
        self.reach: Floats | None = None  # that later components gain at most, by inequality
        if isinstance(need, np.ndarray):
            free = [replace(p, cost=np.zeros(len(p))) for p in own]
            each = [least(np.eye(len(need)), p, most) for p in free]
            self.reach = -np.array(together(each, most)).reshape(-1, most + 1, len(need))
        self.first = np.searchsorted(self.rank, np.arange(len(components) + 1))
        self.single: dict[tuple[int, int], tuple[Floats, Floats, Index]] = {}
        self.best: tuple[int, ...] | None = None

    def start(self, places: tuple[int, ...]) -> None:
        """Take an answer that gains enough as the first, each point made as cheap as it may be."""
        where = {int(place): i for i, place in enumerate(self.points.place)}
        chosen = [where[place] for place in places]
        for i in range(len(chosen)):
            others = sum(self.points.gain[j] for j in chosen if j != chosen[i])
            same = self.rank == self.rank[chosen[i]]
            fits = same & (self.points.changes <= self.points.changes[chosen[i]])
            fits &= reaches(self.points.gain, self.need - others)
            fits[chosen[i]] = True  # whatever a sum in another order is rounded to
            enough = np.flatnonzero(fits)
            chosen[i] = int(enough[np.argmin(self.points.cost[enough])])
        self._take(tuple(chosen), float(self.points.cost[chosen].sum()))

    def _take(self, chosen: tuple[int, ...], cost: float) -> None:
        if cost < self.cost:
            self.best, self.cost = chosen, cost

    def run(self, limit: int) -> Found:
        """Search until every open node costs at least as much as the best answer."""
        order, p = count(), self.points
        heap: list[tuple[float, int, float, Any, int, int, tuple[int, ...]]] = []
        heap.append((0.0, next(order), 0.0, self.need, self.most, 0, ()))
        while heap and heap[0][0] < self.cost - TOLERANCE and limit > 0:
            limit -= 1
            _, _, cost, need, left, first, chain = heapq.heappop(heap)
            for bound, i in self._expand(cost, need, left, first, chain):
                node = float(cost + p.cost[i]), need - p.gain[i], left - int(p.changes[i])
                after = int(self.first[self.rank[i] + 1])
                heapq.heappush(heap, (bound, next(order), *node, after, (*chain, i)))
        bound = min(self.cost, heap[0][0]) if heap else self.cost
        places = None if self.best is None else tuple(p.place[list(self.best)].tolist())
        return Found(places, self.cost, bound)

    def _expand(
        self, cost: float, need: Any, left: int, first: int, chain: tuple[int, ...]
    ) -> list[tuple[float, int]]:
        """Settle answers with one or two more points; return points that two more must follow."""
        p = self.points
        rows = np.arange(first, len(p))
        rows = rows[(p.changes[rows] <= left) & (cost + p.cost[rows] < self.cost - TOLERANCE)]
        enough = rows[reaches(p.gain[rows], need)]
        if len(enough):
            best = int(enough[np.argmin(p.cost[enough])])
            self._take((*chain, best), float(cost + p.cost[best]))
        rows = rows[~reaches(p.gain[rows], need) & (p.changes[rows] < left)]
        bounds = self._bounds(cost, need, left, rows)
        rows, bounds = rows[bounds < self.cost - TOLERANCE], bounds[bounds < self.cost - TOLERANCE]
        self._pairs(cost, need, left, rows, chain)
        kept = (bounds < self.cost - TOLERANCE) & (p.changes[rows] + 2 <= left)
        return list(zip(bounds[kept].tolist(), rows[kept].tolist(), strict=True))

    def _bounds(self, cost: float, need: Any, left: int, rows: Index) -> Floats:
        p = self.points
        bounds = np.full(len(rows), -np.inf)
        after, changes = self.rank[rows] + 1, left - p.changes[rows]
        for i, price in enumerate(self.lambdas):
            lagrange = worth(need - p.gain[rows], price) + self.later[after, changes, i]
            np.maximum(bounds, lagrange, out=bounds)
        if self.reach is not None:
            short = need - p.gain[rows] > self.reach[after, changes] + TOLERANCE
            bounds[short.any(axis=1)] = np.inf
        return bounds + (cost + p.cost[rows])

    def _pairs(
        self, cost: float, need: Any, left: int, rows: Index, chain: tuple[int, ...]
    ) -> None:
        """Complete each of some points by the cheapest single point of a later component."""
        p = self.points
        if self.reach is not None:
            self._pairs_of_several(cost, need, left, rows, chain)
            return
        keys = self.rank[rows] * (self.most + 1) + left - p.changes[rows]
        for key in np.unique(keys).tolist():
            own = rows[keys == key]
            gains, costs, which = self._singles(key // (self.most + 1) + 1, key % (self.most + 1))
            at = np.searchsorted(gains, need - p.gain[own])
            total = cost + p.cost[own] + costs[at]
            best = int(np.argmin(total))
            if total[best] < self.cost:
                self._take((*chain, int(own[best]), int(which[at[best]])), float(total[best]))

    def _pairs_of_several(
        self, cost: float, need: Floats, left: int, rows: Index, chain: tuple[int, ...]
    ) -> None:
        """Do the same where no order of gains says which point is enough: look at all."""
        p = self.points
        by_cost = np.argsort(p.cost, kind="stable")
        for i in rows[np.argsort(p.cost[rows], kind="stable")].tolist():
            room = self.cost - cost - p.cost[i]
            later = by_cost[: np.searchsorted(p.cost[by_cost], room)]
            later = later[(self.rank[later] > self.rank[i])]
            later = later[p.changes[later] <= left - p.changes[i]]
            enough = np.flatnonzero(reaches(p.gain[later], need - p.gain[i]))
            if len(enough):
                j = int(later[enough[0]])
                self._take((*chain, i, j), float(cost + p.cost[i] + p.cost[j]))

    def _singles(self, rank: int, changes: int) -> tuple[Floats, Floats, Index]:
        """Return gains, ascending, and the cheapest later point that gains as much, and which."""
        if (rank, changes) not in self.single:
            p = self.points
            rows = np.arange(self.first[rank], len(p))
            rows = rows[p.changes[rows] <= changes]
            rows = rows[np.lexsort((-p.cost[rows], p.gain[rows]))]
            backwards = p.cost[rows][::-1]
            lowest = np.minimum.accumulate(backwards)
            new = np.concatenate([[True], lowest[1:] < lowest[:-1]])[: len(rows)]
            seen = np.maximum.accumulate(np.where(new, np.arange(len(rows)), 0))
            costs = np.concatenate([lowest[::-1], [np.inf]])
            which = np.concatenate([rows[::-1][seen][::-1], [-1]])
            self.single[rank, changes] = p.gain[rows], costs, which
        return self.single[rank, changes]
