"""Stage 3 on a table: equation (5) under the user's limits, and what the file keeps of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.columns.kinds import Level, Missing
from rpte.estimation.candidate import CandidatePenalty
from rpte.estimation.canonical import canonical
from rpte.estimation.monotone import Ties, solve_in_order
from rpte.estimation.problem import AnyProblem
from rpte.estimation.softmax import ClassesFit, ClassesProblem, solve_classes
from rpte.estimation.solver import Fit, lambda_max
from rpte.estimation.terms import TermSet
from rpte.fit.settings import Settings
from rpte.model.certificate import stage3_tolerance
from rpte.structure.order import ordered_leaves
from rpte.structure.tree import Tree
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats, Index, Mask
from rpte.vocabulary.vocabulary import ORIGINAL


@dataclass(frozen=True, slots=True)
class TrainedTerms:
    """Terms with their coefficients in K scores: all leaves, then direct terms."""

    terms: TermSet
    intercepts: Floats  # (K,)
    coefficients: Floats  # (K, q)
    penalty: Floats | None = None  # factors on the penalty, ones if None
    ties: Ties | None = None  # leaves that have one coefficient
    # Of several causes, the terms that say something of any, (q,): trees are drawn alike for all.
    said: Mask | None = None

    def factors(self) -> Floats:
        """Return the penalty factor of every term."""
        return np.ones(self.coefficients.shape[1]) if self.penalty is None else self.penalty

    def groups(self, tree: int) -> Index:
        """Return the tie group of each leaf of a tree."""
        if self.ties is None:
            return np.arange(self.terms.leaf_counts[tree])
        return self.ties.group[tree]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The fit, the problem that it solves, and the leaves tied in it."""

    fit: Fit
    design: AnyProblem
    ties: Ties
    lambda_max: float | None = None  # the largest lambda with a term, where it is known

    def trained(self, terms: TermSet) -> TrainedTerms:
        """Return the terms of the problem with their coefficients."""
        fitted = np.array([self.fit.intercept]), self.fit.coefficients[None]
        return TrainedTerms(terms, *fitted, self.design.penalty, self.ties)

    def objective(self) -> dict[str, Any]:
        """Return what the file keeps of the problem and its solution."""
        fit, design = self.fit, self.design
        top = self.lambda_max
        if top is None:
            top = lambda_max(design, fit.l1_ratio) if design.n_terms else 0.0
        return _objective(fit, top, design.n_terms)


def _objective(fit: Fit | ClassesFit, top: float, offered: int) -> dict[str, Any]:
    """Return what the file keeps of a fit; `top` is the largest lambda with a term."""
    return {
        "l1": fit.l1,
        "l1_ratio": fit.l1_ratio,
        "value": fit.objective,
        "kkt_residual": fit.kkt,
        "tolerance": stage3_tolerance(top, fit.l1),
        "lambda_max": top,
        "terms_offered": offered,
        "converged": fit.converged,
    }


@dataclass(frozen=True, slots=True)
class ClassesEstimate:
    """The fit of several classes, and the problem that it solves."""

    fit: ClassesFit
    problem: ClassesProblem
    terms: TermSet

    def trained(self, penalty: Floats) -> TrainedTerms:
        """Return the terms with their coefficients, 0 in the leaves that are none of the problem.

        `penalty` (q,) are the factors on the penalty of all leaves and direct terms.
        """
        fit, terms = self.fit, self.terms
        leaves = terms.by_leaf(np.column_stack([fit.intercepts, fit.coefficients]))
        direct = fit.coefficients[:, len(terms.leaf_terms) :]
        return TrainedTerms(terms, fit.intercepts, np.hstack([*leaves, direct]), penalty)

    def objective(self) -> dict[str, Any]:
        """Return what the file keeps of the problem and its solution."""
        return _objective(self.fit, self.fit.lambda_max, self.problem.n_terms)


def estimate_classes(
    problem: ClassesProblem, terms: TermSet, penalty: CandidatePenalty, start: Floats | None
) -> ClassesEstimate:
    """Solve equation (5) of several classes, in its canonical form."""
    fit = solve_classes(problem, penalty.l1, penalty.l1_ratio, start)
    return ClassesEstimate(fit, problem, terms)


def estimate(
    design: AnyProblem,
    terms: TermSet,
    schema: Schema,
    settings: Settings,
    penalty: CandidatePenalty,
    start: Floats | None = None,
) -> Estimate:
    """Solve equation (5) under the user's limits; of equally good solutions the canonical one."""
    read = terms.conditions(schema)
    in_leaves, in_direct = read[: design.n_leaves], read[design.n_leaves :]
    groups = _level_groups(design, terms)

    def finish(tied: AnyProblem, fit: Fit, ties: Ties) -> Fit:
        in_groups = np.bincount(ties.members, in_leaves, tied.n_leaves).astype(np.int64)
        conditions = np.concatenate([in_groups, in_direct])
        return canonical(tied, fit, conditions, [tied.n_leaves + g for g in groups])

    order = leaf_order(terms.trees, settings)
    fit, ties = solve_in_order(design, order, penalty.l1, penalty.l1_ratio, finish, start=start)
    return Estimate(fit, design, ties)


def leaf_order(trees: Sequence[Tree], settings: Settings) -> list[list[tuple[int, int]]]:
    """Return for each tree the pairs of leaves that the user's limits put in order."""
    return [ordered_leaves(tree, settings.limits.directions) for tree in trees]


def _level_groups(design: AnyProblem, terms: TermSet) -> list[Index]:
    """Return the direct terms of each variable whose levels and missing flag sum to one."""
    by_source: dict[str, list[int]] = {}
    for d, j in enumerate(terms.direct):
        column = terms.vocabulary.columns[j]
        if isinstance(column, (Level, Missing)) and terms.vocabulary.block[j] == ORIGINAL:
            by_source.setdefault(column.source, []).append(d)
    groups = [np.array(members, np.intp) for members in by_source.values()]
    return [members for members in groups if len(members) > 1 and design.sum_to_one(members)]
