"""Honest inner validation: which terms are offered, and the penalty, chosen together.

Everything learned from y (shapes, patterns, products, trees) is learned again in each fold. First
the direct terms of single variables are compared; from the best of them Stage 2 sets out, and what
it adds is compared with them. When the time is up, what was compared until then is the result.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from rpte.comparison import Comparison, Point, Price
from rpte.discovery import GROWING, MINING, Discovery, Quarry
from rpte.errors import RPTEWarning
from rpte.estimation.terms import MENUS, Menu, Offer, choose_terms
from rpte.folds import Fold, Validation
from rpte.part import mine_part, mine_whole
from rpte.progress import Watch
from rpte.search import FEW_CONDITIONS, Search
from rpte.settings import Settings
from rpte.table.table import Table

TREE_COUNTS = (0, 1, 2, 3, 5, 8)
SHARES = (1.0, 0.15)
RIDGE_ROWS = 5_000  # with more rows a ridge share gains nothing worth its cost
MANY_CASES = 40
CASES_PER_CONDITION = 10  # of the smaller class, below which a model may fit them by chance
UNLIKE = 4.0  # times the error that a path began with, and that its cases explain


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
    searched = validation.sample(table)
    folds = validation.folds(searched, searched is not table)
    price = Price.at(settings.audit_price, table.n_cases)
    if not folds:
        return _nothing_to_validate(table, settings, pool, price)
    quarry = Quarry.of(searched, settings, pool)
    search = _search(table, quarry, validation, folds, price, watch)
    _compare_all(search)
    _warn_of_unlike_folds(search)
    return search.result()


def _compare_all(search: Search) -> None:
    """Compare the base rate, single variables, then what Stage 2 adds, while there is time."""
    settings, watch = search.settings, search.watch
    search.compare_base_rate()
    if not settings.starts_from_terms:
        _compare_few(search, "all", None, 0.2)
        watch.begin(GROWING, 0.4)
        search.start(None)
        counts = tree_counts(search.grow(settings.max_trees))
        watch.begin("comparing numbers of trees", 0.9, len(counts))
        for m in counts:
            search.compare(Offer("all", m, None), settings.share)
        return
    shares = _shares(search.quarry.table, settings)
    _compare_first(search, shares)
    if watch.is_over():
        return
    # What is added to the base makes none of its conditions cheaper.
    each = replace(search.price, many=np.inf)
    base = Comparison(tuple(search.complete), each).ranked(None)[0].aim
    watch.begin("finding products and splits", 0.6, len(search.first))
    search.start(base)
    if _many_cases(search.quarry.table):
        _compare_further(search, base.offer, shares)


def _search(
    table: Table,
    quarry: Quarry,
    validation: Validation,
    folds: list[Fold],
    price: Price,
    watch: Watch,
) -> Search:
    """Mine every part: the folds, and all rows unless validation sees a sample only."""
    sampled = quarry.table is not table
    watch.begin(MINING, 0.15, len(folds) + 1)
    # A sample has one fold, and nothing else of it is mined.
    parts = [mine_part(quarry, fold, len(folds), watch, sampled) for fold in folds]
    blocks = len(parts[0].blocks) - 1 if len(parts) == 1 else min(len(parts), validation.count)
    if sampled:
        shrink = math.sqrt(parts[0].train.n_cases / table.n_cases)
        return Search(quarry, parts, parts[0], shrink, blocks, price, watch)
    return Search(quarry, parts, mine_whole(quarry, watch), 1.0, blocks, price, watch)


def _nothing_to_validate(
    table: Table, settings: Settings, pool: ThreadPoolExecutor | None, price: Price
) -> tuple[Discovery, Comparison]:
    """Admit no term: the model is the base rate."""
    _warn_of_nothing_to_validate(table)
    quarry, watch = Quarry.of(table, settings, pool), Watch()
    part = mine_whole(quarry, watch)
    search = Search(quarry, [], part, 1.0, 0, price, watch)
    point = Point(search.without_terms(), 0, 0.0, 0.0)
    found = quarry.grow(table, part.mined, None).with_trees(settings.max_trees, settings, pool)
    return found, Comparison((point,), price, direct=search.direct)


def _shares(table: Table, settings: Settings) -> Sequence[float]:
    """Return the L1 shares that are compared."""
    if settings.l1_ratio is not None:
        return (settings.l1_ratio,)
    return SHARES if table.n_rows <= RIDGE_ROWS else SHARES[:1]


def _compare_first(search: Search, shares: Sequence[float]) -> None:
    """Compare the direct terms of single variables by menu, those that hold the same once.

    A menu that cannot win with one L1 share is not tried with the next.
    """
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
                if not search.compare(offer, share):
                    break
    if shaped:
        _compare_few(search, "all" if menus == MENUS else "levels", 0, 0.52)
    else:
        _compare_few(search, "all", None, 0.52)


def _compare_few(search: Search, menu: Menu, n_pairs: int | None, until: float) -> None:
    """Compare the very short models of forward selection, up to a share `until` of the fit."""
    search.watch.begin("comparing single conditions", until, len(FEW_CONDITIONS))
    for conditions in FEW_CONDITIONS:
        search.compare_short(Offer(menu, 0, n_pairs, conditions))


def _compare_further(search: Search, base: Offer, shares: Sequence[float]) -> None:
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
    best = Comparison(tuple(search.complete), search.price).ranked(None)[0].aim
    if best.offer.n_pairs and search.has_many_rows and not search.watch.is_over():
        known = search.n_pairs
        search.look_for_products(best)
        wanted = [(best.offer.n_trees, known + more) for _, more in PRODUCTS.wanted]
        more = Addition("comparing more products", 0.9, wanted)
        _compare_in_turn(search, best.offer, shares, more, search.points)


def _compare_in_turn(
    search: Search,
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


def _warn_of_unlike_folds(search: Search) -> None:
    """Warn where a fold's held-out rows are so unlike the training rows that nothing can be judged.

    Along the path of an offer the standard error of the validated deviance then grows far beyond
    what the number of held-out cases explains, though the terms are few for the training cases.
    """
    null = search.points[0].deviance
    cases = sum(part.valid.n_cases for part in search.parts if part.valid is not None)
    repeats = max(1, len(search.parts) // max(1, search.independent))
    expected = max(null, search.null_spread()) / math.sqrt(cases / repeats)
    paths: dict[Offer, list[float]] = {}
    smaller = min(
        np.bincount(search.quarry.table.y.astype(np.intp), search.quarry.table.cases_of())
    )
    for point in (*search.points, *search.short):
        if 0 < point.miu <= smaller / CASES_PER_CONDITION:
            paths.setdefault(point.aim.offer, []).append(point.error)
    for offer, errors in paths.items():
        worst = max(errors)
        if worst > UNLIKE * errors[0] and worst > UNLIKE * expected:
            warnings.warn(
                "some held-out rows are unlike all rows that train: along the penalties of "
                f"{offer.menu!r} terms the standard error of the validated deviance grows from "
                f"{errors[0]:.3g} to {worst:.3g}, so larger models cannot be judged and the model "
                "may be too small; look for a group unlike the others, or for rows that a code "
                "fills (special_values=...), or give splits that mix them (cv=...)",
                RPTEWarning,
                stacklevel=2,
            )
            return


def _many_cases(table: Table) -> bool:
    """Tell whether the smaller class can bear more than slopes, logs and levels."""
    positive = float(table.weight @ table.y)
    return min(positive, table.total_weight - positive) >= MANY_CASES


def tree_counts(accepted: int) -> list[int]:
    """Return the numbers of trees that are compared."""
    return sorted({min(m, accepted) for m in (*TREE_COUNTS, accepted)})


def _warn_of_nothing_to_validate(table: Table) -> None:
    """Admit no term where nothing can be held out: the model is the base rate."""
    smaller = int(np.bincount(table.y.astype(np.intp), table.cases_of(), minlength=2).min())
    warnings.warn(
        f"l1='cv' finds no splits that train and test on both classes ({smaller} row(s) "
        "in the smaller class): the model is the base rate alone; give more cases or groups, or "
        "set l1='4/n' or a number",
        RPTEWarning,
        stacklevel=2,
    )
