"""Honest inner validation: which terms are offered, and the penalty, chosen together.

Everything learned from y (shapes, patterns, products, trees) is learned again in each fold. First
the direct terms of single variables are compared; from the best of them Stage 2 sets out, and what
it adds is compared with them. When the time is up, what was compared until then is the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rpte.audit.counting import is_active
from rpte.comparison import Aim, Comparison, Point, Price
from rpte.discovery import GROWING, MINING, Discovery, Quarry, Start, leaf_order, use_of
from rpte.errors import RPTEWarning
from rpte.estimation.design import Design
from rpte.estimation.monotone import walk_in_order
from rpte.estimation.path import lambda_grid
from rpte.estimation.terms import MENUS, Offer, Structure, TermSet, choose_terms, make_design
from rpte.folds import MIDDLING, Fold, Validation
from rpte.kernels.rough_path import deviances
from rpte.progress import Watch
from rpte.settings import Settings
from rpte.structure.boosting import base_score
from rpte.table.table import Table
from rpte.vocabulary.build import PAIR

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

GRID = 25
COARSE_GRID = 21  # for 5,000 rows and more
LOWEST = 1e-4  # of lambda_max
STRIDE = 3  # lambdas between two looks at whether the least deviance is passed
HEAD_START = 4  # lambdas before the best of an offer, where an offer that adds to it sets out
BLOCKS = 10  # of the held-out rows, for the standard error where there is one fold
TREE_COUNTS = (0, 1, 2, 3, 5, 8)
SHARES = (1.0, 0.15)
RIDGE_ROWS = 5_000  # with more rows a ridge share gains nothing worth its cost
MANY_CASES = 40
FRONTIER = 12  # models kept beside the chosen one
NOTHING = np.zeros((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class Addition:
    """What is added to an offer in turn.

    Parameters
    ----------
    stage : str
        For who is told how far the fit is.
    until : float
        Share of the fit that is done then.
    wanted : sequence of numbers of trees and of pairs
    """

    stage: str
    until: float
    wanted: Sequence[tuple[int, int]]


TREES = Addition("comparing trees", 0.7, ((1, 0), (3, 0), (8, 0)))
PRODUCTS = Addition("comparing products", 0.8, ((0, 20), (0, 60)))
BOTH = Addition("comparing trees with products", 0.85, ((1, 20), (3, 60)))


@dataclass(slots=True, eq=False)
class _Part:
    """Some training rows with what was learned from them, and held-out rows.

    Parameters
    ----------
    train : Table
    valid : Table or None
        Held-out rows, block after block; None for all rows of the table.
    blocks : (b + 1,)
        Where the blocks of `valid` begin, and the end of the last.
    mined : Structure
        Of Stage 1.
    held : (V, n_valid) float32
        The vocabulary on the held-out rows.
    found : Discovery or None
        Of Stage 2, once it has begun.
    """

    train: Table
    valid: Table | None
    blocks: NDArray[np.intp]
    mined: Structure
    held: Singles
    found: Discovery | None = None

    @property
    def structure(self) -> Structure:
        """What was learned so far."""
        return self.mined if self.found is None else self.found.structure


@dataclass(slots=True, eq=False)
class _Trail:
    """The way of one offer down the lambdas, on the rows of one part.

    Parameters
    ----------
    terms : TermSet
    design : Design
    to : callable
        From lambdas (f,) to fits (f, q + 1).
    held : (q, n_valid)
        The terms on held-out rows.
    fits : (f, q + 1)
        The last ones.
    """

    part: _Part
    terms: TermSet
    design: Design
    to: Callable[[Floats], Floats]
    held: Singles
    fits: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def go(self, l1s: Floats) -> None:
        """Go on to some lambdas."""
        self.fits = self.to(l1s)

    def losses(self) -> Floats:
        """Return the deviance of the last fits on each block of held-out rows, (b, f)."""
        valid = self.part.valid
        assert valid is not None
        out = np.empty((len(self.part.blocks) - 1, len(self.fits)))
        deviances(self.held, valid.y, valid.weight, self.part.blocks, self.fits, out)
        return out


@dataclass(slots=True)
class _Path:
    """One offer down the lambdas, in every part.

    Parameters
    ----------
    grid : (f,)
        Descending; the walk may have ended before the last.
    terms : list of TermSet
    fits : list of lists of arrays (q + 1,)
        By part, then by lambda.
    least : int
        Where on the grid the validated deviance is least.
    """

    grid: Floats
    terms: list[TermSet]
    fits: list[list[Floats]]
    least: int = 0


@dataclass(slots=True)
class _Search:
    """The parts and the points compared so far.

    Parameters
    ----------
    quarry : Quarry
        The rows that are searched: the table, or a sample of it.
    parts : list of _Part
        With held-out rows.
    seen : _Part
        The rows that decide on grids and conditions, and from which the model's structure comes:
        all, or the training rows of a sample.
    shrink : float
        Factor on lambda from the rows searched to all rows.
    independent : int
        Held-out blocks that share no row.
    price : Price
    watch : Watch
    """

    quarry: Quarry
    parts: list[_Part]
    seen: _Part
    shrink: float
    independent: int
    price: Price
    watch: Watch
    points: list[Point] = field(default_factory=list)
    paths: dict[tuple[Offer, float], _Path] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """The settings of the fit."""
        return self.quarry.settings

    @property
    def everyone(self) -> list[_Part]:
        """All parts, the one that decides on conditions last if it holds nothing out."""
        return self.parts if self.seen in self.parts else [*self.parts, self.seen]

    def compare_base_rate(self) -> None:
        """Validate the model without terms."""
        losses, weights = [], []
        for part in self.parts:
            valid = part.valid
            assert valid is not None
            out = np.empty((len(part.blocks) - 1, 1))
            base = np.array([[base_score(part.train.y, part.train.weight)]])
            deviances(NOTHING, valid.y, valid.weight, part.blocks, base, out)
            losses.append(out)
            weights.append(_weights(part))
        mean, error = self._mean(np.vstack(losses), np.concatenate(weights))
        self.points.append(Point(self.without_terms(), 0, float(mean[0]), float(error[0])))

    def without_terms(self) -> Aim:
        """Return an aim whose penalty no term survives, of an offer that is compared."""
        shaped = self.settings.vocabulary == "shapes" and self.settings.starts_from_terms
        offer, share = Offer("values") if shaped else Offer("all", 0, None), self.settings.share
        top = float(self._grid(self._trail(self.seen, offer, share), share)[0])
        return Aim(offer, share, top * self.shrink)

    def compare(self, offer: Offer, l1_ratio: float, base: Offer | None = None) -> None:
        """Validate an offer at one lambda after the other, until the cost is past its least.

        With a `base` that it adds to, the walk sets out from the base's fits, a little above the
        lambda where the base was best. When the time is up the walk ends.
        """
        if self.watch.is_over():
            return
        before = None if base is None else self.paths[base, l1_ratio]
        trails = [
            self._trail(part, offer, l1_ratio, _carried(before, p))
            for p, part in enumerate(self.everyone)
        ]
        seen = next(trail for trail in trails if trail.part is self.seen)
        grid = self._grid(seen, l1_ratio) if before is None else before.grid[_place(before) :]
        path = _Path(grid, [trail.terms for trail in trails], [[] for _ in trails])
        weights = np.concatenate([_weights(part) for part in self.parts])
        conditions = seen.terms.conditions(self.quarry.table.schema)
        best = np.inf, 0
        for start in range(0, len(grid), STRIDE):
            if self.watch.is_over():
                break
            lambdas = grid[start : start + STRIDE]
            for fits, trail in zip(path.fits, trails, strict=True):
                trail.go(lambdas)
                fits.extend(trail.fits)
            losses = np.vstack([trail.losses() for trail in trails if trail.part.valid is not None])
            mean, error = self._mean(losses, weights)
            for at, fit in enumerate(seen.fits):
                aim = Aim(offer, l1_ratio, float(lambdas[at] * self.shrink))
                self.points.append(
                    Point(aim, _miu(fit, conditions), float(mean[at]), float(error[at]))
                )
            costs = self._costs(self.points[-len(lambdas) :])
            best = min(best, (float(costs.min()), start + int(costs.argmin())))
            self._tell((start + STRIDE) / len(grid))
            if best[1] < start:
                break
        path.least = best[1]
        if path.fits[0]:
            self.paths[offer, l1_ratio] = path
        self.watch.step()

    def _tell(self, part: float) -> None:
        """Say how far the search is, and what is best so far."""
        if self.watch.callback is not None:
            compared = Comparison(tuple(self.points), self.price)
            best = compared.ranked(self.settings.most_conditions)[0]
            self.watch.best = best.deviance, best.miu
        self.watch.tell(min(1.0, part))

    def _costs(self, points: Sequence[Point]) -> Floats:
        """Return the costs of some points, as far as is known what can be explained."""
        compared = Comparison(tuple(self.points), self.price)
        explained = compared.explained()
        return np.array([compared.cost(point, explained) for point in points])

    def least_cost(self, points: Sequence[Point]) -> float:
        """Return the least cost of some points; infinite if there are none."""
        return float(self._costs(points).min(initial=np.inf))

    def fit_at(self, aim: Aim) -> list[Floats]:
        """Return the fits of every part at an aim that was compared."""
        path = self.paths[aim.offer, aim.l1_ratio]
        at = int(np.argmin(np.abs(path.grid * self.shrink - aim.l1)))
        return [fits[at] for fits in path.fits]

    def start(self, aim: Aim) -> None:
        """Begin Stage 2 in every part, from the fit at an aim that was compared."""
        self.watch.begin("finding products and splits", 0.6, len(self.everyone))
        for part, fit in zip(self.everyone, self.fit_at(aim), strict=True):
            if self.watch.is_over():
                return
            trail = self._trail(part, aim.offer, aim.l1_ratio)
            use = use_of(part.mined.vocabulary, trail.terms.direct, fit[1:])
            self._begin(part, Start(trail.design.score(float(fit[0]), fit[1:]), use))
            self.watch.step()

    def start_from_base_rate(self) -> None:
        """Begin Stage 2 in every part without any terms."""
        for part in self.everyone:
            if self.watch.is_over():
                return
            self._begin(part, None)

    def look_for_products(self, aim: Aim) -> None:
        """Look for more products in every part, from the fit at an aim that was compared."""
        for part, fit in zip(self.everyone, self.fit_at(aim), strict=True):
            assert part.found is not None
            trail = self._trail(part, aim.offer, aim.l1_ratio)
            known = part.structure.vocabulary
            use = use_of(known, trail.terms.direct, fit[1 + trail.design.n_leaves :])
            start = Start(trail.design.score(float(fit[0]), fit[1:]), use)
            part.found = part.found.with_products(start, self.settings)
            self._hold_out(part, len(known))

    @property
    def n_pairs(self) -> int:
        """How many pairs the model can have."""
        return int((self.seen.structure.vocabulary.block == PAIR).sum())

    def _hold_out(self, part: _Part, known: int) -> None:
        """Evaluate the vocabulary from some column on, on held-out rows."""
        if part.valid is not None:
            assert part.found is not None
            more = part.found.structure.vocabulary.on(part.valid.inputs, known, np.float32)
            part.held = np.vstack([part.held, more])

    def _begin(self, part: _Part, start: Start | None) -> None:
        part.found = self.quarry.grow(part.train, part.mined, start)
        self._hold_out(part, len(part.mined.vocabulary))

    def grow(self, n_trees: int) -> int:
        """Let every part have so many trees, if it can; return how many the model can have."""
        for part in self.everyone:
            if self.watch.is_over():
                break
            self.watch.tell()
            assert part.found is not None
            part.found = part.found.with_trees(n_trees, self.settings, self.quarry.pool)
        return len(self.seen.structure.trees)

    def result(self) -> tuple[Discovery, Comparison]:
        """Return what the model's structure is, and the comparison."""
        seen, place = self.seen, self.everyone.index(self.seen)
        found = seen.found or self.quarry.stop(seen.train, seen.mined)
        fits = {
            point.aim: self.fit_at(point.aim)[place]
            for point in self.points
            if (point.aim.offer, point.aim.l1_ratio) in self.paths
        }
        return found, Comparison(tuple(self.points), self.price, fits)

    def _mean(self, losses: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the mean over blocks and its standard error; repeats do not add to the rows."""
        mean = np.average(losses, axis=0, weights=weights)
        if self.independent < 2:
            return mean, np.zeros(losses.shape[1:])
        variance = np.average((losses - mean) ** 2, axis=0, weights=weights)
        return mean, np.sqrt(variance / (self.independent - 1))

    def _grid(self, trail: _Trail, share: float) -> Floats:
        """Return descending lambdas, the first without terms."""
        if not trail.design.n_terms:
            return np.ones(1)
        points = GRID if self.quarry.table.n_rows <= MIDDLING else COARSE_GRID
        return lambda_grid(trail.design, share, points, LOWEST)

    def _trail(
        self,
        part: _Part,
        offer: Offer,
        l1_ratio: float,
        carried: tuple[TermSet, Floats] | None = None,
    ) -> _Trail:
        structure = part.structure
        terms = choose_terms(part.train, structure, offer, self.settings.admission())
        design = make_design(part.train, structure, terms, self.settings.limits)
        order = leaf_order(terms.trees, self.settings)
        start = None if carried is None else terms.carry(carried[1], carried[0])
        held = NOTHING if part.valid is None else terms.on(part.valid.inputs, part.held)
        return _Trail(part, terms, design, walk_in_order(design, order, l1_ratio, start), held)


def _weights(part: _Part) -> Floats:
    """Return the weight of each held-out block."""
    assert part.valid is not None
    return np.add.reduceat(part.valid.weight, part.blocks[:-1])


def _miu(fit: Floats, conditions: NDArray[np.int64]) -> int:
    """Return the conditions of the active terms of a fit (q + 1,)."""
    return int(is_active(fit[1:]) @ conditions)


def _place(path: _Path) -> int:
    """Return where an offer that adds to a path sets out."""
    return max(0, path.least - HEAD_START)


def _carried(path: _Path | None, part: int) -> tuple[TermSet, Floats] | None:
    """Return the terms and the fit of a part from which an offer that adds to them sets out."""
    return None if path is None else (path.terms[part], path.fits[part][_place(path)])


def select(
    table: Table,
    settings: Settings,
    validation: Validation,
    pool: ThreadPoolExecutor | None,
    watch: Watch | None = None,
) -> tuple[Discovery, Comparison]:
    """Compare offers and penalties by cross-validated deviance.

    Returns
    -------
    found : Discovery
        Stages 1 and 2 on the whole table, or on a sample of it, for the offers of the points.
    compared : Comparison
    """
    watch = watch or Watch()
    folds = validation.folds(table)
    price = Price.at(settings.audit_price, table.n_rows)
    if not folds:
        return _nothing_to_validate(table, settings, pool, price)
    search = _search(table, settings, validation, folds, pool, price, watch)
    search.compare_base_rate()
    if not settings.starts_from_terms:
        watch.begin(GROWING, 0.4)
        search.start_from_base_rate()
        counts = tree_counts(search.grow(settings.max_trees))
        watch.begin("comparing numbers of trees", 0.9, len(counts))
        for m in counts:
            search.compare(Offer("all", m, None), settings.share)
        return search.result()
    shares = _shares(table, settings)
    _compare_first(search, shares)
    if watch.is_over():
        return search.result()
    each = replace(price, many=np.inf)  # what is added to them makes no condition of theirs cheaper
    base = Comparison(tuple(search.points), each).ranked(None)[0].aim
    search.start(base)
    if _many_cases(search.quarry.table):
        _compare_further(search, base.offer, shares)
    return search.result()


def _search(
    table: Table,
    settings: Settings,
    validation: Validation,
    folds: list[Fold],
    pool: ThreadPoolExecutor | None,
    price: Price,
    watch: Watch,
) -> _Search:
    """Mine every part: the folds, and all rows unless validation sees a sample only."""
    rows = np.sort(np.concatenate(folds[0]))
    sampled = validation.roles is None and len(rows) < table.n_rows
    searched = table.take(rows) if sampled else table
    if sampled:
        folds = [
            (np.searchsorted(rows, train), np.searchsorted(rows, test)) for train, test in folds
        ]
    quarry = Quarry.of(searched, settings, pool)
    watch.begin(MINING, 0.15, len(folds) + 1)
    parts = [_part(quarry, fold, len(folds), watch) for fold in folds]
    blocks = len(parts[0].blocks) - 1 if len(parts) == 1 else min(len(parts), validation.count)
    if sampled:
        shrink = float(np.sqrt(parts[0].train.n_rows / table.n_rows))
        return _Search(quarry, parts, parts[0], shrink, blocks, price, watch)
    everything = np.arange(table.n_rows)
    mined = _mined(quarry, table, everything, watch)
    whole = _Part(table, None, np.zeros(1, np.intp), mined, NOTHING)
    return _Search(quarry, parts, whole, 1.0, blocks, price, watch)


def _mined(quarry: Quarry, part: Table, rows: NDArray[np.intp], watch: Watch) -> Structure:
    """Run Stage 1 on some rows; when the time is up there is nothing to learn it for."""
    mined = quarry.leave(part) if watch.is_over() else quarry.mine(part, rows)
    watch.step()
    return mined


def _part(quarry: Quarry, fold: Fold, count: int, watch: Watch) -> _Part:
    """Mine the training rows of a fold; where it is the only one, hold its rows out in blocks."""
    train, test = fold
    sizes = [len(b) for b in np.array_split(test, 1 if count > 1 else BLOCKS) if len(b)]
    blocks = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    rows, valid = quarry.table.take(train), quarry.table.take(test)
    mined = _mined(quarry, rows, train, watch)
    return _Part(rows, valid, blocks, mined, mined.vocabulary.on(valid.inputs, 0, np.float32))


def _nothing_to_validate(
    table: Table, settings: Settings, pool: ThreadPoolExecutor | None, price: Price
) -> tuple[Discovery, Comparison]:
    """Admit no term: the model is the base rate."""
    _warn_of_nothing_to_validate(table)
    quarry = Quarry.of(table, settings, pool)
    rows = np.arange(table.n_rows)
    part = _Part(table, None, np.zeros(1, np.intp), quarry.mine(table, rows), NOTHING)
    search = _Search(quarry, [], part, 1.0, 0, price, Watch())
    point = Point(search.without_terms(), 0, 0.0, 0.0)
    found = quarry.grow(table, part.mined, None).with_trees(settings.max_trees, settings, pool)
    return found, Comparison((point,), price)


def _shares(table: Table, settings: Settings) -> Sequence[float]:
    """Return the L1 shares that are compared."""
    if settings.l1_ratio is not None:
        return (settings.l1_ratio,)
    return SHARES if table.n_rows <= RIDGE_ROWS else SHARES[:1]


def _compare_first(search: _Search, shares: Sequence[float]) -> None:
    """Compare the direct terms of single variables by menu, those that hold the same once."""
    settings = search.settings
    menus = MENUS if _many_cases(search.quarry.table) else MENUS[:2]
    shaped = settings.vocabulary == "shapes"
    known: set[tuple[int, ...]] = set()
    offers = [Offer(menu) for menu in menus] if shaped else [Offer("all", 0, None)]
    search.watch.begin("comparing single variables", 0.5, len(offers) * len(shares))
    for offer in offers:
        seen = search.seen
        terms = choose_terms(seen.train, seen.structure, offer, settings.admission())
        if tuple(terms.direct) not in known:
            known.add(tuple(terms.direct))
            for share in shares:
                search.compare(offer, share)


def _compare_further(search: _Search, base: Offer, shares: Sequence[float]) -> None:
    """Compare offers with trees, with products and with both; where rows are many, more products.

    The latter are looked for from the best offer so far.
    """
    if not search.settings.makes_products:
        search.watch.begin(TREES.stage, 0.9, len(TREE_COUNTS) * len(shares))
        for m in tree_counts(search.grow(search.settings.max_trees))[1:]:
            for share in shares:
                search.compare(replace(base, n_trees=m), share, base)
        return
    singles = list(search.points)
    trees = _compare_in_turn(search, base, shares, TREES, singles)
    products = _compare_in_turn(search, base, shares, PRODUCTS, singles)
    if trees and products:
        _compare_in_turn(search, base, shares, BOTH, search.points)
    best = Comparison(tuple(search.points), search.price).ranked(None)[0].aim
    rows = search.quarry.table.n_rows
    if best.offer.n_pairs and rows > MIDDLING and not search.watch.is_over():
        known = search.n_pairs
        search.look_for_products(best)
        wanted = [(best.offer.n_trees, known + more) for _, more in PRODUCTS.wanted]
        more = Addition("comparing more products", 0.9, wanted)
        _compare_in_turn(search, best.offer, shares, more, search.points)


def _compare_in_turn(
    search: _Search,
    base: Offer,
    shares: Sequence[float],
    more: Addition,
    rivals: Sequence[Point],
) -> bool:
    """Compare offers that add more and more to a base, while more helps; tell whether any did.

    The first one must beat the rivals.
    """
    search.watch.begin(more.stage, more.until, len(more.wanted) * len(shares))
    beaten, tried = list(rivals), {(base.n_trees, base.n_pairs)}
    for m, k in more.wanted:
        offered = min(m, search.grow(m)), min(k, search.n_pairs)
        if offered in tried:
            break
        tried.add(offered)
        known = len(search.points)
        for share in shares:
            search.compare(replace(base, n_trees=offered[0], n_pairs=offered[1]), share, base)
        new = search.points[known:]
        if search.least_cost(new) > search.least_cost(beaten):
            break
        beaten += new
    return len(beaten) > len(rivals)


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
