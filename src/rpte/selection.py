"""Honest inner validation: which terms are offered, and the penalty, chosen together.

Everything learned from y (shapes, patterns, products, trees) is learned again in each fold. First
the direct terms of single variables are compared; from the best of them Stage 2 sets out, and what
it adds is compared with them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.counting import is_active
from rpte.discovery import Discovery, grow, leaf_order, mine, start_from
from rpte.errors import RPTEWarning
from rpte.estimation.monotone import walk_in_order
from rpte.estimation.path import lambda_grid
from rpte.estimation.solver import Fit
from rpte.estimation.terms import MENUS, Offer, Structure, TermSet, choose_terms, make_design
from rpte.folds import Fold, Validation
from rpte.settings import Settings
from rpte.structure.boosting import base_score, deviance
from rpte.table.table import Table
from rpte.vocabulary.build import PAIR

Floats = NDArray[np.float64]

GRID = 41
LOWEST = 1e-4  # of lambda_max
STRIDE = 6  # lambdas between two looks at whether the least deviance is passed
BLOCKS = 10  # of the held-out rows, for the standard error where there is one fold
TREE_COUNTS = (0, 1, 2, 3, 5, 8)
MORE_TREES = ((1, 0), (3, 0), (8, 0))  # numbers of trees and pairs that are offered in turn
MORE_PAIRS = ((0, 20), (0, 60))
BOTH = ((1, 20), (3, 60))
SHARES = (1.0, 0.15)
RIDGE_ROWS = 5_000  # with more rows a ridge share gains nothing worth its cost
ENOUGH_ROWS = 1_000  # from here on the price of a condition falls with the root of n
MANY_CASES = 40
FRONTIER = 12  # models kept beside the chosen one


@dataclass(frozen=True, slots=True)
class Aim:
    """What Stage 3 is to solve: the terms offered and the penalty."""

    offer: Offer
    l1_ratio: float
    l1: float

    def to_dict(self) -> dict[str, Any]:
        """Return the aim as plain JSON values."""
        return {**asdict(self.offer), "l1_ratio": self.l1_ratio, "l1": self.l1}


@dataclass(frozen=True, slots=True)
class Point:
    """Validated loss of one aim.

    `miu` are the conditions of its active terms on the training rows, `deviance` the weighted mean
    over the folds (or over blocks of the held-out rows where there is one fold) and `error` its
    standard error.
    """

    aim: Aim
    miu: int
    deviance: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain JSON values."""
        validated = {"miu": self.miu, "deviance": self.deviance, "error": self.error}
        return {**self.aim.to_dict(), **validated}


@dataclass(frozen=True, slots=True)
class Comparison:
    """All points that were compared, the first of them without terms.

    Parameters
    ----------
    points : tuple of Point
    price : float
        Share of the deviance that can be explained which one more condition must explain.
    """

    points: tuple[Point, ...] = ()
    price: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what the file keeps of the comparison, the frontier left to who makes models."""
        null = self.points[0].deviance if self.points else None
        return {
            "price": self.price,
            "compared": len(self.points),
            "null_deviance": null,
            "frontier": [],
        }

    def cost(self, point: Point) -> float:
        """Return the validated deviance and the price of a point's conditions."""
        explained = self.points[0].deviance - min(p.deviance for p in self.points)
        return point.deviance + self.price * max(explained, 0.0) * point.miu

    def ranked(self, most: int | None) -> list[Point]:
        """Return the points with at most so many conditions, the best first; ties to the simple."""
        fit = [p for p in self.points if most is None or p.miu <= most]
        costs = {id(p): round(self.cost(p), 12) for p in fit}
        return sorted(fit, key=lambda p: (costs[id(p)], p.miu, p.aim.offer.n_trees, -p.aim.l1))

    def frontier(self, most: int) -> list[Point]:
        """Return points that no other beats in both conditions and deviance, at most so many."""
        best: list[Point] = []

        def key(p: Point) -> tuple[int, float, int, float]:
            return p.miu, round(p.deviance, 12), p.aim.offer.n_trees, -p.aim.l1

        for point in sorted(self.points, key=key):
            if not best or key(point)[1] < key(best[-1])[1]:
                best.append(point)
        if len(best) <= most:
            return best
        steps = np.linspace(0, len(best) - 1, most).round().astype(int)
        return [best[i] for i in steps]


@dataclass(frozen=True, slots=True)
class _Trail:
    """The way of one offer down the lambdas, on some training rows."""

    terms: TermSet
    to: Callable[[float], Fit]


@dataclass(slots=True)
class _Part:
    """The training rows of a fold with what was learned from them, and blocks of held-out rows."""

    train: Table
    valid: list[Table]
    structure: Structure


@dataclass(slots=True)
class _Search:
    """The parts and the whole table, and the points compared so far."""

    table: Table
    settings: Settings
    whole: Structure
    parts: list[_Part]
    sampled: bool
    independent: int  # held-out blocks that share no row
    points: list[Point] = field(default_factory=list)

    @property
    def shrink(self) -> float:
        """Factor on lambda from the rows of a sample to all: it shrinks with the root of n."""
        share = self.parts[0].train.n_rows / self.table.n_rows
        return float(np.sqrt(share)) if self.sampled else 1.0

    @property
    def seen(self) -> tuple[Table, Structure]:
        """The rows that decide on grids and conditions: all, or the training rows of a sample."""
        if self.sampled:
            return self.parts[0].train, self.parts[0].structure
        return self.table, self.whole

    def compare_base_rate(self) -> None:
        """Validate the model without terms."""
        losses, weights = [], []
        for part in self.parts:
            score = base_score(part.train.y, part.train.weight)
            for valid in part.valid:
                losses.append([deviance(valid.y, valid.weight, np.full(valid.n_rows, score))])
                weights.append(valid.total_weight)
        mean = float(np.average(losses, axis=0, weights=weights)[0])
        error = float(self._error(np.array(losses), np.array(weights))[0])
        aim = _without_terms(self.table, self.whole, self.settings)
        self.points.append(Point(aim, 0, mean, error))

    def compare(self, offer: Offer, l1_ratio: float) -> None:
        """Validate an offer at one lambda after the other, until the deviance is past its least."""
        grid = _grid(*self.seen, offer, l1_ratio, self.settings)
        trails = [self._trail(p.train, p.structure, offer, l1_ratio) for p in self.parts]
        seen = trails[0] if self.sampled else self._trail(self.table, self.whole, offer, l1_ratio)
        weights = np.array([valid.total_weight for p in self.parts for valid in p.valid])
        conditions = seen.terms.conditions(self.table.schema)
        best = np.inf, 0
        for start in range(0, len(grid), STRIDE):
            lambdas = grid[start : start + STRIDE]
            fitted = [[trail.to(float(l1)) for l1 in lambdas] for trail in trails]
            losses = np.array(
                [
                    _deviance(valid, trail.terms, fits)
                    for part, trail, fits in zip(self.parts, trails, fitted, strict=True)
                    for valid in part.valid
                ]
            )
            mean, error = np.average(losses, axis=0, weights=weights), self._error(losses, weights)
            fits = fitted[0] if self.sampled else [seen.to(float(l1)) for l1 in lambdas]
            for at, fit in enumerate(fits):
                aim = Aim(offer, l1_ratio, float(lambdas[at] * self.shrink))
                miu = int(is_active(fit.coefficients) @ conditions)
                self.points.append(Point(aim, miu, float(mean[at]), float(error[at])))
            best = min(best, (float(mean.min()), start + int(mean.argmin())))
            if best[1] < start:
                return

    def _error(self, losses: Floats, weights: Floats) -> Floats:
        """Return the standard error of the mean; repeats of the folds do not add to the rows."""
        if self.independent < 2:
            return np.zeros(losses.shape[1:])
        mean = np.average(losses, axis=0, weights=weights)
        variance = np.average((losses - mean) ** 2, axis=0, weights=weights)
        return np.sqrt(variance / (self.independent - 1))

    def _trail(self, train: Table, structure: Structure, offer: Offer, l1_ratio: float) -> _Trail:
        terms = choose_terms(train, structure, offer, self.settings.admission())
        design = make_design(train, structure, terms, self.settings.limits)
        order = leaf_order(terms.trees, self.settings)
        return _Trail(terms, walk_in_order(design, order, l1_ratio))


def select(
    table: Table, settings: Settings, validation: Validation, pool: ThreadPoolExecutor | None
) -> tuple[Discovery, Comparison]:
    """Compare offers and penalties by cross-validated deviance.

    Returns
    -------
    found : Discovery
        Stages 1 and 2 on the whole table, for the offers of the points.
    compared : Comparison
    """
    folds = validation.folds(table)
    whole = mine(table, settings, pool)
    price = settings.audit_price * min(1.0, float(np.sqrt(ENOUGH_ROWS / table.n_rows)))
    if not folds:
        _warn_of_nothing_to_validate(table)
        point = Point(_without_terms(table, whole, settings), 0, 0.0, 0.0)
        return grow(table, whole, settings, None, pool), Comparison((point,), price)
    parts = [_part(table, fold, len(folds), settings, pool) for fold in folds]
    blocks = len(parts[0].valid) if len(parts) == 1 else min(len(parts), validation.count)
    search = _Search(table, settings, whole, parts, _sampled(table, folds), blocks)
    search.compare_base_rate()
    if not settings.starts_from_terms:
        found = grow(table, whole, settings, None, pool)
        search.whole = found.structure
        for part in parts:
            part.structure = grow(part.train, part.structure, settings, None, pool).structure
        counts = tree_counts(len(found.structure.trees))
        for m in counts:
            search.compare(Offer("all", m, None), settings.share)
        return found, Comparison(tuple(search.points), price)
    shares = _shares(table, settings)
    _compare_first(search, shares)
    base = Comparison(tuple(search.points), price).ranked(None)[0].aim

    def again(rows: Table, mined: Structure, shrunk: float) -> Discovery:
        start = start_from(rows, mined, base.offer, settings, base.l1 / shrunk, base.l1_ratio)
        return grow(rows, mined, settings, start, pool)

    found = again(table, whole, 1.0)
    search.whole = found.structure
    for part in parts:
        part.structure = again(part.train, part.structure, search.shrink).structure
    if _many_cases(table):
        _compare_further(search, base.offer, found, shares)
    return found, Comparison(tuple(search.points), price)


def _part(
    table: Table, fold: Fold, count: int, settings: Settings, pool: ThreadPoolExecutor | None
) -> _Part:
    train, test = fold
    blocks = np.array_split(test, 1 if count > 1 else BLOCKS)
    valid = [table.take(rows) for rows in blocks if len(rows)]
    rows = table.take(train)
    return _Part(rows, valid, mine(rows, settings, pool))


def _sampled(table: Table, folds: list[Fold]) -> bool:
    """Tell whether validation saw a sample only; the penalty then shrinks with the root of n."""
    return len(folds[0][0]) + len(folds[0][1]) < table.n_rows and len(folds) == 1


def _shares(table: Table, settings: Settings) -> Sequence[float]:
    """Return the L1 shares that are compared."""
    if settings.l1_ratio is not None:
        return (settings.l1_ratio,)
    return SHARES if table.n_rows <= RIDGE_ROWS else SHARES[:1]


def _compare_first(search: _Search, shares: Sequence[float]) -> None:
    """Compare the direct terms of single variables by menu, those that hold the same once."""
    settings, table = search.settings, search.table
    menus = MENUS if _many_cases(table) else MENUS[:2]
    shaped = settings.vocabulary == "shapes"
    seen: set[tuple[int, ...]] = set()
    for offer in [Offer(menu) for menu in menus] if shaped else [Offer("all", 0, None)]:
        terms = choose_terms(*search.seen, offer, settings.admission())
        if tuple(terms.direct) not in seen:
            seen.add(tuple(terms.direct))
            for share in shares:
                search.compare(offer, share)


def _compare_further(
    search: _Search, base: Offer, found: Discovery, shares: Sequence[float]
) -> None:
    """Compare offers with trees, with products and with both: more only while more helps."""
    trees = len(found.structure.trees)
    if not search.settings.makes_products:
        for m in tree_counts(trees)[1:]:
            for share in shares:
                search.compare(replace(base, n_trees=m), share)
        return
    pairs = int((found.structure.vocabulary.block == PAIR).sum())
    helped: list[bool] = []
    for wanted in (MORE_TREES, MORE_PAIRS, BOTH):
        if wanted is BOTH and not all(helped):
            return
        offers = dict.fromkeys((min(m, trees), min(k, pairs)) for m, k in wanted)
        least, helps = min(p.deviance for p in search.points), False
        for m, k in offers:
            for share in shares if m or k else ():
                search.compare(replace(base, n_trees=m, n_pairs=k), share)
            now = min(p.deviance for p in search.points)
            if now >= least:
                break
            least, helps = now, True
        helped.append(helps)


def _without_terms(table: Table, whole: Structure, settings: Settings) -> Aim:
    """Return an aim whose penalty no term survives."""
    offer = Offer("values") if settings.vocabulary == "shapes" else Offer("all", 0, None)
    top = float(_grid(table, whole, offer, settings.share, settings)[0])
    return Aim(offer, settings.share, top)


def _many_cases(table: Table) -> bool:
    """Tell whether the smaller class can bear more than slopes, logs and levels."""
    positive = float(table.weight @ table.y)
    return min(positive, table.total_weight - positive) >= MANY_CASES


def tree_counts(accepted: int) -> list[int]:
    """Return the numbers of trees that are compared."""
    return sorted({min(m, accepted) for m in (*TREE_COUNTS, accepted)})


def _warn_of_nothing_to_validate(table: Table) -> None:
    """Admit no term where nothing can be held out: the model is the base rate."""
    smaller = int(min((table.y == 1).sum(), (table.y == 0).sum()))
    warnings.warn(
        f"l1='cv' finds no splits that train and test on both classes ({smaller} distinct row(s) "
        "in the smaller class): the model is the base rate alone; give more cases or groups, or "
        "set l1='4/n' or a number",
        RPTEWarning,
        stacklevel=2,
    )


def _grid(
    table: Table, structure: Structure, offer: Offer, share: float, settings: Settings
) -> Floats:
    """Return descending lambdas, the first without terms."""
    terms = choose_terms(table, structure, offer, settings.admission())
    design = make_design(table, structure, terms, settings.limits)
    return lambda_grid(design, share, GRID, LOWEST) if design.n_terms else np.ones(1)


def _deviance(valid: Table, terms: TermSet, fits: list[Fit]) -> Floats:
    """Return the deviance on held-out rows at each lambda."""
    intercepts = np.array([fit.intercept for fit in fits])
    coefficients = np.array([fit.coefficients for fit in fits])
    score = terms.score(valid.inputs, intercepts, coefficients)
    loss = np.logaddexp(0.0, score) - valid.y[:, None] * score
    return np.asarray(2.0 * (valid.weight @ loss) / valid.total_weight)
