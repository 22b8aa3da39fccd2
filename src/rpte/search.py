"""The search behind inner validation: offers that walk down the lambdas in every part of a table.

An offer that does clearly worse than the best one on the first folds is not tried on their repeats,
and what only it needs is not learned there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from rpte.columns.units import is_active
from rpte.comparison import Aim, Comparison, Point, Price
from rpte.discovery import Discovery, Quarry, Start, leaf_order, use_of
from rpte.estimation.forward import forward_order
from rpte.estimation.monotone import walk_in_order
from rpte.estimation.rough import RoughDesign, RoughWalk
from rpte.estimation.terms import Offer, TermSet, choose_terms, make_design
from rpte.folds import MIDDLING
from rpte.kernels.blas import one_blas_thread
from rpte.part import Part
from rpte.progress import Watch
from rpte.settings import Settings
from rpte.structure.boosting import base_score
from rpte.vocabulary.build import PAIR

Floats = NDArray[np.float64]

GRID = 25
COARSE_GRID = 21  # with more than 5,000 rows
LOWEST = 1e-4  # of lambda_max
PATIENCE = 4  # lambdas after the least cost, before a walk ends
LITTLE_PATIENCE = 1  # with more than 5,000 rows
HEAD_START = 4  # lambdas before the best of an offer, where an offer that adds to it sets out
SMALL_START = 2  # with more than 5,000 rows
SHOWN_ROWS = 256  # of a sample, once it is searched
FEW_CONDITIONS = (1, 2, 3)  # of the models that forward selection makes
BEATEN = 1.0  # standard errors of the difference on the first folds at which an offer is left


@dataclass(slots=True, eq=False)
class Trail:
    """The way of one offer down the lambdas, on the rows of one part.

    Parameters
    ----------
    part : Part
    terms : TermSet
    design : RoughDesign
    to : callable
        From lambdas (f,) to fits (f, q + 1).
    fits : list of (q + 1,)
        Those so far.
    """

    part: Part
    terms: TermSet
    design: RoughDesign
    to: Callable[[Floats], Floats]
    fits: list[Floats] = field(default_factory=list)

    def go(self, l1s: Floats) -> Floats | None:
        """Go on to some lambdas; return the losses on held-out rows (b, f), if there are any."""
        fits = self.to(l1s)
        self.fits.extend(fits)
        return None if self.part.valid is None else self.part.losses(self.design.rows, fits)


@dataclass(slots=True)
class Path:
    """One offer down the lambdas.

    Parameters
    ----------
    grid : (f,)
        Descending; the walk may have ended before the last.
    terms : list of TermSet
        By part.
    fits : list of lists of (q + 1,)
        By part, then by lambda.
    place : int
        Where on the grid an offer that adds to this one sets out.
    """

    grid: Floats
    terms: list[TermSet]
    fits: list[list[Floats]]
    place: int = 0


@dataclass(slots=True)
class Search:
    """The parts and the points compared so far.

    Parameters
    ----------
    quarry : Quarry
        The rows that are searched: the table, or a sample of it.
    parts : list of Part
        With held-out rows; repeats of the folds come after these.
    seen : Part
        The rows that decide on grids and conditions, and from which the model's structure comes:
        all, or the training rows of a sample.
    shrink : float
        Factor on lambda from the rows searched to all rows.
    independent : int
        Held-out blocks that share no row.
    price : Price
    watch : Watch
    points : list of Point
        The first is the base rate.
    short : list of Point
        Of very short models made by forward selection; they compete where a budget binds.
    losses : dict from Aim to (b,)
        By held-out block, of the points that were validated on all parts.
    paths : dict from offer and L1 share to Path
        Those that were walked in all parts.
    fits : dict from Aim to (q + 1,)
        On the rows of `seen`.
    direct : dict from Offer to (d,)
        The vocabulary columns that are direct terms of an offer there.
    base : Aim or None
        From whose fits Stage 2 sets out; from the base rate if None.
    """

    quarry: Quarry
    parts: list[Part]
    seen: Part
    shrink: float
    independent: int
    price: Price
    watch: Watch
    points: list[Point] = field(default_factory=list)
    short: list[Point] = field(default_factory=list)
    losses: dict[Aim, Floats] = field(default_factory=dict)
    paths: dict[tuple[Offer, float], Path] = field(default_factory=dict)
    fits: dict[Aim, Floats] = field(default_factory=dict)
    direct: dict[Offer, NDArray[np.intp]] = field(default_factory=dict)
    base: Aim | None = None

    @property
    def settings(self) -> Settings:
        """The settings of the fit."""
        return self.quarry.settings

    @property
    def has_many_rows(self) -> bool:
        """Whether rows are so many that each lambda counts, and rare products can be found."""
        return self.quarry.table.n_rows > MIDDLING

    @property
    def everyone(self) -> list[Part]:
        """All parts, the one that decides on conditions first if it holds nothing out."""
        return self.parts if self.seen in self.parts else [self.seen, *self.parts]

    @property
    def repeats(self) -> list[Part]:
        """The parts that deal the folds out anew: only offers that may win come to them."""
        return self.parts[self.independent :]

    @property
    def first(self) -> list[Part]:
        """The parts that every offer comes to."""
        everyone = self.everyone
        return everyone[: len(everyone) - len(self.repeats)]

    @property
    def complete(self) -> list[Point]:
        """The points that were validated on all parts."""
        return [point for point in self.points if point.aim in self.losses]

    def compare_base_rate(self) -> None:
        """Validate the model without terms."""
        losses = np.vstack([part.base_losses() for part in self.parts])[:, 0]
        aim = self.without_terms()
        self.points.append(Point(aim, 0, *self._mean(losses)))
        self.losses[aim] = losses

    def null_spread(self) -> float:
        """Return the standard deviation of a case's deviance under the base rate."""
        table = self.quarry.table
        odds = base_score(table.y, table.weight)
        rate = 1.0 / (1.0 + math.exp(-odds))
        return 2.0 * abs(odds) * math.sqrt(rate * (1.0 - rate))

    def without_terms(self) -> Aim:
        """Return an aim whose penalty no term survives, of an offer that is compared."""
        shaped = self.settings.vocabulary == "shapes" and self.settings.starts_from_terms
        offer, share = Offer("values") if shaped else Offer("all", 0, None), self.settings.share
        top = float(self._grid(self._trail(self.seen, offer, share), share)[0])
        return Aim(offer, share, top * self.shrink)

    def compare(self, offer: Offer, l1_ratio: float, base: Offer | None = None) -> bool:
        """Validate an offer at one lambda after the other, until the cost is past its least.

        With a `base` that it adds to, the walk sets out from the base's fits, a little above the
        lambda where the base was best; where the base was left, so is the offer. When the time is
        up the walk ends. Return whether the offer may win.
        """
        may_win = False
        before = None if base is None else self.paths.get((base, l1_ratio))
        if not self.watch.is_over() and (base is None or before is not None):
            trails = [self._trail(part, offer, l1_ratio, before) for part in self.first]
            seen = trails[self.first.index(self.seen)]
            grid = self._grid(seen, l1_ratio) if before is None else before.grid[before.place :]
            points, losses = self._walk(trails, seen, grid, offer, l1_ratio)
            may_win = bool(points) and not self._is_beaten(points, losses)
            if points and (may_win or not self.repeats):
                if self.repeats and not self.watch.is_over():
                    self._catch_up(offer.n_trees)
                    more = [self._trail(part, offer, l1_ratio, before) for part in self.repeats]
                    trails, points, losses = self._repeated(trails, more, grid, points, losses)
                self._keep(trails, grid, points, losses)
        self.watch.step()
        return may_win

    def compare_short(self, offer: Offer) -> None:
        """Validate the few terms that forward selection takes, in all parts."""
        if not self.watch.is_over():
            share = self.settings.share
            trails = [self._trail(part, offer, share) for part in self.everyone]
            seen = trails[self.everyone.index(self.seen)]
            self.short += self._walk(trails, seen, self._grid(seen, share), offer, share)[0]
        self.watch.step()

    def _walk(
        self, trails: list[Trail], seen: Trail, grid: Floats, offer: Offer, l1_ratio: float
    ) -> tuple[list[Point], Floats]:
        """Go down the lambdas until the cost is past its least; return points and losses (b, f).

        What the folds differ from all parts is taken to be that of the best point so far.
        """
        conditions = seen.terms.conditions(self.quarry.table.schema)
        points: list[Point] = []
        columns: list[Floats] = []
        patience = LITTLE_PATIENCE if self.has_many_rows else PATIENCE
        shift = self._shift(sum(len(t.part.blocks) - 1 for t in trails if t.part.valid is not None))
        for at, l1 in enumerate(grid.tolist()):
            if self.watch.is_over():
                break
            losses = self._go(trails, grid[at : at + 1])
            columns.append(np.vstack(losses))
            mean, error = self._mean(columns[-1][:, 0])
            aim = Aim(offer, l1_ratio, l1 * self.shrink)
            self.fits[aim] = seen.fits[-1]
            points.append(Point(aim, _miu(seen.fits[-1], conditions), mean + shift, error))
            self._tell((at + 1) / len(grid), points)
            if at - int(self._costs(points).argmin()) >= patience:
                break
        return points, np.hstack(columns) if columns else np.zeros((0, 0))

    def _go(self, trails: list[Trail], l1s: Floats) -> list[Floats]:
        """Go on to some lambdas on all trails, in threads if there are any; return the losses."""
        pool = self.quarry.pool
        with one_blas_thread():
            over = map if pool is None else pool.map
            gone = over(Trail.go, trails, repeat(l1s))
            return [losses for losses in gone if losses is not None]

    def _shift(self, blocks: int) -> float:
        """Return by how much all held-out blocks differ from the first ones at the best point."""
        if not self.losses:
            return 0.0
        losses = self.losses[self._best(self.complete).aim]
        return self._mean(losses)[0] - self._mean(losses[:blocks])[0]

    def _is_beaten(self, points: list[Point], losses: Floats) -> bool:
        """Tell whether an offer is clearly worse on the first folds than the best point.

        The first offer never is: Stage 2 may have to set out from it.
        """
        if not self.paths:
            return False
        rival, costs = self._best(self.complete), self._costs(points)
        at = int(costs.argmin())
        apart = losses[:, at] - self.losses[rival.aim][: len(losses)]
        return bool(costs[at] - self._costs([rival])[0] > BEATEN * self._mean(apart)[1])

    def _repeated(
        self,
        trails: list[Trail],
        more: list[Trail],
        grid: Floats,
        points: list[Point],
        losses: Floats,
    ) -> tuple[list[Trail], list[Point], Floats]:
        """Walk the same lambdas in the repeats of the folds."""
        losses = np.vstack([losses, *self._go(more, grid[: len(points)])])
        whole = [
            Point(point.aim, point.miu, *self._mean(losses[:, at]))
            for at, point in enumerate(points)
        ]
        return [*trails, *more], whole, losses

    def _keep(self, trails: list[Trail], grid: Floats, points: list[Point], losses: Floats) -> None:
        """Keep the points of an offer; if they are of all parts, the way there too."""
        self.points += points
        if len(trails) == len(self.everyone):
            self.losses |= {point.aim: losses[:, at] for at, point in enumerate(points)}
            terms, fits = [trail.terms for trail in trails], [trail.fits for trail in trails]
            ahead = SMALL_START if self.has_many_rows else HEAD_START
            place = max(0, int(self._costs(points).argmin()) - ahead)
            path = Path(grid, terms, fits, place)
            self.paths[points[0].aim.offer, points[0].aim.l1_ratio] = path

    def _tell(self, part: float, points: list[Point]) -> None:
        """Say how far the search is, and what is best so far."""
        if self.watch.callback is not None:
            short = points[0].aim.offer.max_conditions is not None
            whole = (*self.points, *(() if short else points))
            compared = Comparison(
                whole, self.price, short=(*self.short, *(points if short else ()))
            )
            best = compared.ranked(self.settings.most_conditions)[0]
            self.watch.best = best.deviance, best.miu
        self.watch.tell(min(1.0, part))

    def _costs(self, points: Sequence[Point]) -> Floats:
        """Return the costs of some points, as far as is known what can be explained."""
        compared = Comparison((*self.points, *points), self.price)
        explained = compared.explained()
        return np.array([compared.cost(point, explained) for point in points])

    def _best(self, points: Sequence[Point]) -> Point:
        """Return the point of the least cost."""
        return points[int(self._costs(points).argmin())]

    def least_cost(self, points: Sequence[Point]) -> float:
        """Return the least cost of some points; infinite if there are none."""
        return float(self._costs(points).min(initial=np.inf))

    def start(self, aim: Aim | None) -> None:
        """Begin Stage 2, from the fits at an aim that was compared or from the base rate."""
        self.base = aim
        for part in self.first:
            if self.watch.is_over():
                return
            self._begin(part)
            self.watch.step()

    def _begin(self, part: Part) -> None:
        """Begin Stage 2 in a part."""
        left = None if self.base is None else self._left(self.base, part)
        part.found = self.quarry.grow(part.train, part.mined, left)
        part.evaluate()

    def _grow(self, part: Part, n_trees: int) -> None:
        """Let a part have so many trees, if it can."""
        assert part.found is not None
        part.found = part.found.with_trees(n_trees, self.settings, self.quarry.pool)
        part.evaluate()

    def _catch_up(self, n_trees: int) -> None:
        """Bring Stage 2 of the repeats to where an offer of so many trees needs it."""
        if self.seen.found is not None:
            for part in self.repeats:
                if part.found is None:
                    self._begin(part)
                if n_trees:
                    self._grow(part, n_trees)

    def look_for_products(self, aim: Aim) -> None:
        """Look for more products in every part, from the fit at an aim that was compared."""
        for part in self.everyone:
            assert part.found is not None
            part.found = part.found.with_products(self._left(aim, part), self.settings)
            part.evaluate()

    def _left(self, aim: Aim, part: Part) -> Start:
        """Return what the fit at an aim leaves to be explained in a part."""
        path, place = self.paths[aim.offer, aim.l1_ratio], self.everyone.index(part)
        at = int(np.argmin(np.abs(path.grid * self.shrink - aim.l1)))
        terms, fit = path.terms[place], path.fits[place][at]
        design = self._design(part, terms)
        leaves = sum(terms.leaf_counts)
        use = use_of(part.structure.vocabulary, terms.direct, fit[1 + leaves :])
        return Start(design.score(float(fit[0]), fit[1:]), use)

    @property
    def n_pairs(self) -> int:
        """How many pairs the model can have."""
        return int((self.seen.structure.vocabulary.block == PAIR).sum())

    def grow(self, n_trees: int) -> int:
        """Let the first parts have so many trees, if they can; return how many the model can."""
        for part in self.first:
            if self.watch.is_over():
                break
            self.watch.tell()
            self._grow(part, n_trees)
        return len(self.seen.structure.trees)

    def result(self) -> tuple[Discovery, Comparison]:
        """Return what the model's structure is, and the comparison.

        From a sample only which terms there are is still needed.
        """
        found = self.seen.found or self.quarry.stop(self.seen.train, self.seen.mined)
        if self.seen in self.parts:
            found = found.over().head(SHOWN_ROWS)
        return found, Comparison(
            tuple(self.points), self.price, self.fits, self.direct, tuple(self.short)
        )

    def _mean(self, losses: Floats) -> tuple[float, float]:
        """Return the mean of the first or of all blocks and its standard error.

        Repeats do not add to the rows.
        """
        weights = np.concatenate([part.weights for part in self.parts])[: len(losses)]
        mean = float(np.average(losses, weights=weights))
        if self.independent < 2:
            return mean, 0.0
        variance = float(np.average((losses - mean) ** 2, weights=weights))
        return mean, float(np.sqrt(variance / (self.independent - 1)))

    def _grid(self, trail: Trail, share: float) -> Floats:
        """Return descending lambdas, the first without terms."""
        if not len(trail.design.rows):
            return np.ones(1)
        length = COARSE_GRID if self.has_many_rows else GRID
        return trail.design.grid(share, length, LOWEST)

    def _design(self, part: Part, terms: TermSet) -> RoughDesign:
        penalty, sign = terms.penalties(self.settings.limits)
        rows = part.rows_of(terms)
        return RoughDesign(part.own.z, rows, part.train.y, part.train.weight, penalty, sign)

    def _trail(
        self, part: Part, offer: Offer, l1_ratio: float, before: Path | None = None
    ) -> Trail:
        """Return where an offer sets out in a part: from its base's fit there, if it has one."""
        settings, structure = self.settings, part.structure
        terms = self._terms(part, offer)
        if part is self.seen:
            self.direct[offer] = terms.direct
        design, order = self._design(part, terms), leaf_order(terms.trees, settings)
        if any(order):
            exact = make_design(part.train, structure, terms, settings.limits)
            return Trail(part, terms, design, walk_in_order(exact, order, l1_ratio))
        start = None
        if before is not None:
            place = self.everyone.index(part)
            start = terms.carry(before.fits[place][before.place], before.terms[place])
        return Trail(part, terms, design, RoughWalk(design, l1_ratio, start).to)

    def _terms(self, part: Part, offer: Offer) -> TermSet:
        """Return the terms of an offer in a part."""
        terms = choose_terms(part.train, part.structure, offer, self.settings.admission())
        if offer.max_conditions is None:
            return terms
        read = terms.conditions(part.train.schema)
        if part.forward is None:
            names = [terms.vocabulary.columns[j].text for j in terms.direct]
            part.forward = forward_order(
                self._design(part, terms), read, names, max(FEW_CONDITIONS)
            )
        within = np.cumsum(read[part.forward]) <= offer.max_conditions
        taken = np.array(part.forward, np.intp)[within]
        return replace(terms, direct=np.sort(terms.direct[taken]))


def _miu(fit: Floats, conditions: NDArray[np.int64]) -> int:
    """Return the conditions of the active terms of a fit (q + 1,)."""
    return int(is_active(fit[1:]) @ conditions)
