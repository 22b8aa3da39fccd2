"""Learning a model: the paper's Algorithm 1 on a training table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.assemble import TrainedTerms, assemble
from rpte.estimation.canonical import canonical
from rpte.estimation.design import Design
from rpte.estimation.monotone import Ties, solve_in_order
from rpte.estimation.solver import Fit, lambda_max
from rpte.estimation.terms import Structure, TermSet, choose_terms, make_design
from rpte.folds import Validation
from rpte.model.certificate import stage3_tolerance
from rpte.model.model import Label, Model
from rpte.model.parts import path_conditions
from rpte.selection import Choice, select
from rpte.settings import Settings
from rpte.structure.boosting import Stage2, discover_trees
from rpte.structure.coding import code_columns
from rpte.structure.order import ordered_leaves
from rpte.table.table import Table
from rpte.vocabulary.build import ORIGINAL, Vocabulary, build_vocabulary
from rpte.vocabulary.columns import Level, Missing, Pair
from rpte.vocabulary.pairs import lookahead_roots

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Discovery:
    """Stages 1 and 2 on a table, with the record of Stage 2."""

    structure: Structure
    stage2: Stage2


@dataclass(frozen=True, slots=True)
class Estimate:
    """Stage 3 on a table: the fit, the problem that it solves, and the leaves tied in it."""

    fit: Fit
    design: Design
    ties: Ties


def learn(
    table: Table,
    settings: Settings,
    classes: tuple[Label, Label],
    positive: int,
    validation: Validation | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> Model:
    """Learn a model from a table.

    Stage 1 mines the vocabulary, Stage 2 discovers source-disjoint trees, Stage 3 estimates one
    coefficient per leaf and direct term; how many trees and which penalty is chosen by inner
    validation when ``l1="cv"``.
    """
    validation = validation or Validation()
    found = discover(table, settings, pool)
    if not settings.reassign:
        record = {"objective": None, "selection": None, **_history(found, validation)}
        return assemble(table, _boosted(found), settings, classes, positive, record)
    choice = _choose(table, settings, found.structure, validation, pool)
    terms = choose_terms(table, found.structure, choice.n_trees, settings.admission())
    design = make_design(table, found.structure, terms, settings.limits)
    estimated = estimate(design, terms, table, settings, choice.l1)
    trained = TrainedTerms(
        terms,
        design.leaf_codes,
        estimated.fit.intercept,
        estimated.fit.coefficients,
        design.penalty,
        estimated.ties,
    )
    record = {**_solved(choice, estimated), **_history(found, validation)}
    return assemble(table, trained, settings, classes, positive, record)


def discover(table: Table, settings: Settings, pool: ThreadPoolExecutor | None) -> Discovery:
    """Run Stages 1 and 2."""
    vocabulary = build_vocabulary(table, settings.stage1(), pool)
    roots = _roots(table, settings, vocabulary, pool)
    columns = code_columns(table, vocabulary, settings.paper, roots, settings.limits)
    rules = settings.stage2(table.schema)
    stage2 = discover_trees(columns.coded, table.y, table.weight, rules, pool)
    trees, codes, scores = [], [], [np.full(table.n_rows, stage2.base)]
    for accepted in (r for r in stage2.rounds if r.accepted):
        tree, numbers = columns.read(accepted.tree)
        reached = accepted.tree.apply(columns.coded.codes)
        scores.append(scores[-1] + accepted.step * accepted.leaf_values[reached])
        trees.append(tree)
        codes.append(np.argsort(numbers).astype(np.int32)[reached])
    leaf_codes = np.array(codes, np.int32).reshape(len(trees), table.n_rows)
    used = tuple(frozenset(columns.members(tree)) for tree in stage2.trees)
    structure = Structure(vocabulary, tuple(trees), leaf_codes, used, np.array(scores))
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


def _choose(
    table: Table,
    settings: Settings,
    structure: Structure,
    validation: Validation,
    pool: ThreadPoolExecutor | None,
) -> Choice:
    """Return the number of trees and the penalty: as told, or by inner validation."""
    if settings.l1 == "cv":

        def again(part: Table) -> Structure:
            return discover(part, settings, pool).structure

        return select(table, structure, settings, validation, again)
    l1 = 4.0 / table.total_weight if settings.l1 == "4/n" else float(settings.l1)
    return Choice(len(structure.trees), l1, ())


def estimate(
    design: Design, terms: TermSet, table: Table, settings: Settings, l1: float
) -> Estimate:
    """Solve equation (5) under the user's limits; of equally good solutions the canonical one."""
    paths = [path for tree in terms.trees for path in tree.paths()]
    in_leaves = np.array([path_conditions(path, table.schema) for path in paths], np.int64)
    columns = [terms.vocabulary.columns[j] for j in terms.direct]
    in_direct = np.array([column.conditions(table.schema) for column in columns], np.int64)
    groups = _level_groups(design, terms)
    order = [ordered_leaves(tree, settings.limits.directions) for tree in terms.trees]

    def finish(tied: Design, fit: Fit, ties: Ties) -> Fit:
        in_groups = np.bincount(ties.members, in_leaves, tied.n_leaves).astype(np.int64)
        conditions = np.concatenate([in_groups, in_direct])
        return canonical(tied, fit, conditions, [tied.n_leaves + g for g in groups])

    fit, ties = solve_in_order(design, order, l1, settings.l1_ratio, finish)
    return Estimate(fit, design, ties)


def _level_groups(design: Design, terms: TermSet) -> list[NDArray[np.intp]]:
    """Return the direct terms of each variable whose levels and missing flag sum to one."""
    by_source: dict[str, list[int]] = {}
    for d, j in enumerate(terms.direct):
        column = terms.vocabulary.columns[j]
        if isinstance(column, (Level, Missing)) and terms.vocabulary.block[j] == ORIGINAL:
            by_source.setdefault(column.source, []).append(d)
    groups = [np.array(members, np.intp) for members in by_source.values()]
    return [
        members
        for members in groups
        if len(members) > 1 and (design.direct[:, members].sum(axis=1) == 1.0).all()
    ]


def _boosted(found: Discovery) -> TrainedTerms:
    """Keep the Stage 2 leaf values instead of Stage 3 (the paper's ablation): no direct terms."""
    structure = found.structure
    terms = TermSet(structure.vocabulary, structure.trees, np.zeros(0, np.intp))
    accepted = [r for r in found.stage2.rounds if r.accepted]
    values = [np.zeros(len(r.leaf_values)) for r in accepted]
    for value, codes, previous, after in zip(
        values, structure.leaf_codes, structure.scores, structure.scores[1:], strict=False
    ):
        value[codes] = after - previous
    coefficients = np.concatenate([np.zeros(0), *values])
    return TrainedTerms(terms, structure.leaf_codes, found.stage2.base, coefficients)


def _solved(choice: Choice, estimated: Estimate) -> dict[str, Any]:
    """Return what the file keeps of Stage 3: the problem, its solution, how it was chosen."""
    fit, design = estimated.fit, estimated.design
    top = lambda_max(design, fit.l1_ratio) if design.n_terms else 0.0
    return {
        "objective": {
            "l1": fit.l1,
            "l1_ratio": fit.l1_ratio,
            "value": fit.objective,
            "kkt_residual": fit.kkt,
            "tolerance": stage3_tolerance(top, fit.l1),
            "lambda_max": top,
            "terms_offered": design.n_terms,
            "converged": fit.converged,
        },
        "selection": choice.to_dict(),
    }


def _history(found: Discovery, validation: Validation) -> dict[str, Any]:
    """Return what the file keeps of Stages 1 and 2: how rows were split, and trees tried."""
    return {
        "validation": {"folds": validation.count, "by": validation.by},
        "vocabulary_size": len(found.structure.vocabulary),
        "rounds": _rounds(found.stage2),
    }


def _rounds(stage2: Stage2) -> list[dict[str, Any]]:
    return [
        {
            "accepted": r.accepted,
            "leaves": r.tree.n_leaves,
            "step": r.step,
            "deviance_before": r.deviance_before,
            "deviance_after": r.deviance_after,
            "reason": r.reason,
        }
        for r in stage2.rounds
    ]
