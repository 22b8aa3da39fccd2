"""The best candidates on rows that the search has not seen.

Where rows are many the search sees one or two folds. What came out best there is validated on the
other folds: the steps that led to it are taken again, and all that is learned from y is learned
anew. Of a sample it is validated on several times as many rows outside of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rpte.columns.kinds import Column
from rpte.estimation.candidate import Candidate
from rpte.estimation.terms import TermSet
from rpte.rows import scale
from rpte.rows.folds import Fold
from rpte.rows.passes import add
from rpte.rows.threads import thread_map
from rpte.rows.training_rows import TrainingRows
from rpte.selection.comparison import Comparison, Evaluation
from rpte.selection.fold_state import keep_columns, mine_fold
from rpte.selection.ladder import follow_plan
from rpte.selection.lengths import choose_lengths, offer_leaves
from rpte.selection.search import BlockLosses, Search
from rpte.structure.tree import Tree
from rpte.table.inputs import Inputs
from rpte.table.table import Table, places, row_hashes
from rpte.utils.arrays import Floats
from rpte.utils.progress import Watch
from rpte.vocabulary.shape_cache import standardise

Finalist = tuple[Candidate, float]  # with its L1 ratio


def validate_finalists(search: Search, folds: list[Fold]) -> None:
    """Validate the best candidates on folds that were not searched, if there are several."""
    finalists = best_candidates(search) if folds else []
    if len(finalists) < 2:
        return
    search.watch.begin("validating the best", 0.92, len(folds))
    found = []
    for losses in thread_map(lambda fold: _losses(search, fold, finalists), folds):
        found.append(losses)
        search.watch.step()
    take_in(search, found)


def validate_outside(search: Search, rows: TrainingRows) -> None:
    """Validate the best candidates on rows outside the sample that was searched, by content."""
    finalists = set(best_candidates(search))
    if len(finalists) < 2:
        return
    search.watch.begin("validating the best", 0.92)
    searched = search.learner.table.n_rows
    # Rows that do not recur are in the sample below this place, but for chance.
    limit = searched / rows.n_rows * (1.0 + 5.0 / math.sqrt(searched))
    found = [
        (penalty, _Scorer.of(path.terms[0], fit))
        for (candidate, l1_ratio), path in search.paths.items()
        if (candidate, l1_ratio) in finalists
        for penalty, fit in search.along(candidate, l1_ratio, path.fits[0])
    ]
    weights, losses = add(_OutsideLosses(limit, tuple(scorer for _, scorer in found)), rows)
    there = weights > 0.0
    if there.sum() > 1:
        means = losses[:, there] / weights[there]
        penalties = [penalty for penalty, _ in found]
        take_in(search, [(weights[there], dict(zip(penalties, means, strict=True)))])


@dataclass(frozen=True, slots=True)
class _Scorer:
    """A fit without the rows that it comes from, so that it can go to other rows."""

    intercept: Floats  # (scores,)
    trees: tuple[
        tuple[Tree, Floats], ...
    ]  # with the coefficients of their leaves, (scores, leaves)
    # With centre, scale, and coefficients (scores,)
    direct: tuple[tuple[Column, float, float, Floats], ...]

    @classmethod
    def of(cls, terms: TermSet, fit: Floats) -> _Scorer:
        """Return the fit of some terms, (q + 1,) or (K, q + 1)."""
        fit, first = np.atleast_2d(fit), 1 + len(terms.leaf_terms)
        leaves = terms.by_leaf(fit)
        about, own = terms.vocabulary, zip(terms.direct.tolist(), fit[:, first:].T, strict=True)
        direct = [
            (about.columns[j], float(about.centre[j]), float(about.scale[j]), coefficients)
            for j, coefficients in own
            if coefficients.any()
        ]
        trees = tuple(zip(terms.trees, leaves, strict=True))
        return cls(fit[:, 0], trees, tuple(direct))

    def score(self, inputs: Inputs, known: dict[Column, Floats]) -> Floats:
        """Return the score of some rows, (n,) or (K, n); `known` holds the values of columns."""
        score = np.repeat(self.intercept[:, None], inputs.n_rows, axis=1)
        for tree, values in self.trees:
            score += values[:, tree.apply(inputs)]
        for column, centre, unit, coefficients in self.direct:
            if column not in known:
                known[column] = standardise(column.evaluate(inputs), centre, unit)
            score += coefficients[:, None] * known[column]
        return score if len(score) > 1 else score[0]


@dataclass(frozen=True, slots=True)
class _OutsideLosses:
    """The weight, and the deviance of some fits, of the rows of a block outside the sample.

    By parts that content decides, (b,) and (f, b).
    """

    limit: float  # the sample is below this place
    scorers: tuple[_Scorer, ...]

    def __call__(self, block: Table) -> tuple[Floats, Floats]:
        hashes = row_hashes(block.inputs) if block.hashes is None else block.hashes
        place, parts = places(hashes), scale.HELD_OUT_BLOCKS
        chosen = np.flatnonzero((place >= self.limit) & (place < scale.OUTSIDE * self.limit))
        inputs, weight, y = block.inputs.take(chosen), block.weight[chosen], block.y[chosen]
        part = (hashes[chosen] % np.uint64(parts)).astype(np.intp)
        sums, known = np.zeros((1 + len(self.scorers), parts)), dict[Column, Floats]()
        sums[0] = np.bincount(part, weight, parts)
        for out, scorer in zip(sums[1:], self.scorers, strict=True):
            deviance = block.loss.unit_deviance(scorer.score(inputs, known), y)
            out[:] = np.bincount(part, deviance * weight, parts)
        return sums[0], sums[1:]


def take_in(search: Search, found: Sequence[BlockLosses]) -> None:
    """Let a search know the losses of some candidates on more held-out blocks.

    What was evaluated on the others alone is shifted to the level of all blocks.
    """
    known, best = len(search.weights), search.best(search.complete).penalty
    search.weights = np.concatenate([search.weights, *(weights for weights, _ in found)])
    search.independent = len(search.weights)
    more = {p: np.concatenate([losses[p] for _, losses in found]) for p in found[0][1]}
    for penalty in more.keys() & search.losses.keys():
        search.losses[penalty] = np.concatenate([search.losses[penalty], more[penalty]])
    shift = search.mean(search.losses[best])[0] - search.mean(search.losses[best][:known])[0]
    for evaluations in (search.evaluations, search.short):
        for at, e in enumerate(evaluations):
            if e.penalty in more:
                mean = search.mean(search.losses[e.penalty])
                evaluations[at] = Evaluation(e.penalty, e.miu, *mean)
            else:
                evaluations[at] = replace(e, deviance=e.deviance + shift)
    search.tell_best()


def best_candidates(search: Search) -> list[Finalist]:
    """Return the best candidate, then those that chance alone may have put behind it.

    Only where it matters: where they may explain more by a material part of what is explained.
    """
    evaluations = search.complete
    costs = search.costs(evaluations)
    best = evaluations[int(costs.argmin())].penalty
    material = scale.MATERIAL * Comparison(tuple(search.evaluations)).explained()
    found: dict[Finalist, None] = {}
    for at in np.argsort(np.round(costs, 12), kind="stable"):
        penalty = evaluations[at].penalty
        if (penalty.candidate, penalty.l1_ratio) not in search.paths:  # the base rate
            continue
        error = search.mean(search.losses[penalty] - search.losses[best])[1]
        chance = scale.BEATEN * error - (costs[at] - costs.min())
        if penalty == best or chance >= material:
            found[penalty.candidate, penalty.l1_ratio] = None
    return list(found)[: scale.FINALISTS]


def _losses(search: Search, fold: Fold, finalists: list[Finalist]) -> BlockLosses:
    blocks = len(search.folds) == 1
    state = mine_fold(search.learner, fold, Watch(), blocks)
    again = Search(search.learner, [state], state, search.shrink, 1, search.price, Watch())
    again.first_rows = search.first_rows
    steps = _Steps(search, again)
    for candidate, l1_ratio in finalists:
        steps.fit(candidate, l1_ratio)
    keep_columns(search.learner, search.all_folds)
    return again.weights, again.losses


@dataclass(slots=True)
class _Steps:
    """The steps of a search, taken again on one fold, as far as they are needed."""

    search: Search
    again: Search
    round: int = -1  # of lengths, the last that was reached

    def fit(self, candidate: Candidate, l1_ratio: float) -> None:
        """Fit a candidate at the lambdas of the search, after what it stands on."""
        if (candidate, l1_ratio) in self.again.paths:
            return
        start = None
        if candidate.form is not None:
            self._choose_shapes(candidate.form)
        elif candidate.max_conditions is not None and candidate.n_pairs is not None:
            number = self.search.rounds.index(candidate.n_pairs)
            self._reach(number)
            start = self.search.starts[number]
            if candidate.n_trees:
                self.again.grow(candidate.n_trees)
                self.again.tree_lengths = self.search.tree_lengths
                offer_leaves(self.again, candidate.n_pairs, candidate.n_trees)
        elif candidate.n_trees or candidate.n_pairs:
            self._start_stage2()
            self.again.grow(candidate.n_trees)
            start = self.search.base
        self.again.follow(self.search, candidate, l1_ratio, start)

    def _choose_shapes(self, number: int) -> None:
        """Choose shapes, trees and lengths by the plan of the search, up to a form of it."""
        plan = self.search.plan
        if self.again.plan is None:
            self.fit(plan.base.candidate, plan.base.l1_ratio)
            follow_plan(self.search, self.again, plan)
        for start in plan.starts[1 : plan.forms[number].rounds]:
            self.fit(start.candidate, start.l1_ratio)

    def _start_stage2(self) -> None:
        base = self.search.base
        if self.again.reference_fold.found is None:
            if base is not None:
                self.fit(base.candidate, base.l1_ratio)
            self.again.start_stage2(base)

    def _reach(self, number: int) -> None:
        """Choose the terms of all lengths, round by round."""
        while self.round < number:
            start = self.search.starts[self.round + 1]
            self.fit(start.candidate, start.l1_ratio)
            self._start_stage2()
            self.round += 1
            if self.round:
                self.again.look_for_products(start)
            choose_lengths(self.again, start, self.search.rounds[self.round])
