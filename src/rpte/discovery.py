"""Stages 1 and 2 on a table: its vocabulary, then trees and products for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.monotone import solve_in_order
from rpte.estimation.terms import Offer, Structure, choose_terms, make_design
from rpte.settings import Settings
from rpte.structure.boosting import Stage2, base_score, discover_trees
from rpte.structure.coding import code_columns
from rpte.structure.order import ordered_leaves
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.vocabulary.build import Vocabulary, build_vocabulary
from rpte.vocabulary.columns import Pair
from rpte.vocabulary.pairs import lookahead_roots
from rpte.vocabulary.products import find_products

Floats = NDArray[np.float64]

MOST_PRODUCTS = 60


@dataclass(frozen=True, slots=True)
class Discovery:
    """Stages 1 and 2 on a table, with the record of Stage 2."""

    structure: Structure
    stage2: Stage2


@dataclass(frozen=True, slots=True)
class Start:
    """Where Stage 2 sets out from.

    Parameters
    ----------
    score : (n,)
        Of the direct terms of single variables.
    use : (V,)
        How much each vocabulary column moves it.
    """

    score: Floats
    use: Floats


def discover(
    table: Table, settings: Settings, start_l1: float | None, pool: ThreadPoolExecutor | None
) -> Discovery:
    """Run Stages 1 and 2; Stage 2 sets out from the direct terms at `start_l1`, if there is one."""
    mined = mine(table, settings, pool)
    if start_l1 is None:
        return grow(table, mined, settings, None, pool)
    start = start_from(table, mined, Offer(), settings, start_l1, settings.share)
    return grow(table, mined, settings, start, pool)


def mine(table: Table, settings: Settings, pool: ThreadPoolExecutor | None) -> Structure:
    """Run Stage 1: a structure without trees."""
    vocabulary = build_vocabulary(table, settings.stage1(), pool)
    base = base_score(table.y, table.weight)
    nothing = np.zeros((0, table.n_rows), np.int32)
    return Structure(vocabulary, (), nothing, (), np.full((1, table.n_rows), base))


def start_from(
    table: Table, mined: Structure, offer: Offer, settings: Settings, l1: float, l1_ratio: float
) -> Start:
    """Return the score of the direct terms of an offer without trees."""
    terms = choose_terms(table, mined, offer, settings.admission())
    design = make_design(table, mined, terms, settings.limits)
    use = np.zeros(len(mined.vocabulary))
    if design.n_terms == 0:
        return Start(mined.scores[0], use)
    fit, _ = solve_in_order(design, [], l1, l1_ratio)
    use[terms.direct] = np.abs(fit.coefficients) * design.direct.std(axis=0)
    return Start(design.score(fit.intercept, fit.coefficients), use)


def grow(
    table: Table,
    mined: Structure,
    settings: Settings,
    start: Start | None,
    pool: ThreadPoolExecutor | None,
) -> Discovery:
    """Run Stage 2: trees, and under vocabulary "shapes" products, for what the start leaves."""
    vocabulary = mined.vocabulary
    if start is not None and settings.makes_products:
        most = min(settings.budget, MOST_PRODUCTS)
        pairs = find_products(table, vocabulary, start.use, start.score, most, settings.limits)
        vocabulary = vocabulary.with_pairs(table, pairs)
    roots = _roots(table, settings, vocabulary, pool)
    columns = code_columns(table, mined.vocabulary, settings.paper, roots, settings.limits)
    rules = settings.stage2(table.schema)
    first = None if start is None else start.score
    stage2 = discover_trees(columns.coded, table.y, table.weight, rules, pool, first)
    trees, codes = [], []
    scores = [mined.scores[0] if first is None else first]
    for accepted in (r for r in stage2.rounds if r.accepted):
        tree, numbers = columns.read(accepted.tree)
        reached = accepted.tree.apply(columns.coded.codes)
        scores.append(scores[-1] + accepted.step * accepted.leaf_values[reached])
        trees.append(tree)
        codes.append(np.argsort(numbers).astype(np.int32)[reached])
    leaf_codes = np.array(codes, np.int32).reshape(len(trees), table.n_rows)
    used = tuple(frozenset(columns.members(tree)) for tree in stage2.trees)
    structure = replace(
        mined,
        vocabulary=vocabulary,
        trees=tuple(trees),
        leaf_codes=leaf_codes,
        used=used,
        scores=np.array(scores),
    )
    return Discovery(structure, stage2)


def _roots(
    table: Table, settings: Settings, vocabulary: Vocabulary, pool: ThreadPoolExecutor | None
) -> tuple[Pair, ...]:
    """Return the pairs that only lookahead may use: what is left of the budget of K pairs."""
    if not settings.lookahead or settings.vocabulary == "original":
        return ()
    pairs = [column for column in vocabulary.columns if isinstance(column, Pair)]
    left = settings.budget - len(pairs)
    return lookahead_roots(table, pairs, left, settings.limits, pool)


def leaf_order(trees: Sequence[Tree], settings: Settings) -> list[list[tuple[int, int]]]:
    """Return for each tree the pairs of leaves that the user's limits put in order."""
    return [ordered_leaves(tree, settings.limits.directions) for tree in trees]
