"""The search of inner validation: candidates are fitted along their penalty paths on every fold.

A candidate that is clearly worse than the best one is not tried with the next L1 ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from rpte.columns.units import active_terms
from rpte.estimation.approximate import ApproximateDesign, ApproximatePath
from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.classes import ClassesPath
from rpte.estimation.monotone import path_in_order
from rpte.estimation.terms import TermSet, choose_terms, make_design
from rpte.fit.coefficients import leaf_order
from rpte.fit.settings import Settings
from rpte.fit.structure_learner import Discovery, StructureLearner, WarmStart
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.selection.comparison import Comparison, Evaluation, Price
from rpte.selection.fold_state import CandidatePath, FoldPath, FoldState, extend_all, take_few
from rpte.utils.arrays import Floats
from rpte.utils.progress import Watch
from rpte.vocabulary.vocabulary import PAIR

T = TypeVar("T")
Evaluations = list[Evaluation]
# Weights of held-out blocks (b,), and by penalty the losses there, (b,).
BlockLosses = tuple[Floats, dict[CandidatePenalty, Floats]]


@dataclass(slots=True)
class Search:
    """The folds, and the evaluations so far.

    The lambdas, the counts of conditions and the model's structure come from the reference fold:
    the whole table, or the training rows of a sample.
    """

    learner: StructureLearner  # of the rows that are searched: the table, or a sample of it
    folds: list[FoldState]  # with held-out rows
    reference_fold: FoldState
    shrink: float  # factor on lambda from the rows searched to all rows
    independent: int  # held-out blocks that share no row
    price: Price
    watch: Watch
    # `evaluations`, `short`, `fits` and `terms` are as in `Comparison`.
    evaluations: Evaluations = field(default_factory=list)
    short: Evaluations = field(default_factory=list)
    # What was evaluated on all folds: losses by held-out block (b,), and paths by L1 ratio.
    losses: dict[CandidatePenalty, Floats] = field(default_factory=dict)
    paths: dict[tuple[Candidate, float], CandidatePath] = field(default_factory=dict)
    fits: dict[CandidatePenalty, Floats] = field(default_factory=dict)
    terms: dict[Candidate, TermSet] = field(default_factory=dict)
    first_rows: int | None = None  # on which paths are followed; None: all
    screened: Evaluations = field(default_factory=list)  # those that others replaced
    plan: Any = None  # of ladders
    base: CandidatePenalty | None = None  # Stage 2 starts from its fits, or from the base rate
    # Of each round of lengths: where it started from, and how many pairs there were.
    starts: list[CandidatePenalty] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    tree_lengths: tuple[int, ...] = ()  # conditions of models that may have leaves as terms
    # What chooses the terms of a candidate on a fold, once they are needed there.
    choosers: dict[Candidate, Callable[[FoldState], None]] = field(default_factory=dict)
    weights: Floats = field(init=False)  # of the held-out blocks, (b,)

    def __post_init__(self) -> None:
        self.weights = np.concatenate([np.zeros(0), *(fold.weights for fold in self.folds)])

    @property
    def settings(self) -> Settings:
        """The settings of the fit."""
        return self.learner.settings

    @property
    def lengths_alone(self) -> bool:
        """Whether models of given lengths replace penalty paths of products and trees."""
        table = self.learner.table
        cases, loss = table.loss.effective_cases(table.y, table.cases_of()), table.loss
        few = scale.LENGTHS_FROM_CASES if loss.leaves_little else scale.LENGTHS_ALONE_FROM_CASES
        return loss.n_scores > 1 or (cases >= few and not self.settings.rules)

    @property
    def l1_ratios(self) -> Sequence[float]:
        """The L1 ratios that are compared."""
        if self.settings.l1_ratio is not None:
            return (self.settings.l1_ratio,)
        ratios = scale.L1_RATIOS_OF_RULES if self.settings.rules else scale.L1_RATIOS
        return ratios[:1] if self.is_coarse else ratios

    @property
    def is_coarse(self) -> bool:
        """Whether paths are coarser: of many rows, and of numbers that lengths are compared for."""
        table = self.learner.table
        many = table.n_rows > scale.MANY_ROWS
        return many or (table.loss.leaves_little and self.lengths_alone)

    @property
    def enough_rows(self) -> int | None:
        """How many of the first rows paths are followed on; None for all.

        Of numbers, where there are several times as many rows: the model is fitted to all.
        """
        table = self.learner.table
        if not table.loss.leaves_little or table.effective_rows < 2 * scale.FIRST_ROWS:
            return None
        enough = math.ceil(scale.FIRST_ROWS * table.n_rows / table.effective_rows)
        return enough if table.fair_rows(enough) < table.n_rows else None

    @property
    def all_folds(self) -> list[FoldState]:
        """All folds, after the reference fold where that holds nothing out."""
        reference = self.reference_fold
        return self.folds if reference in self.folds else [reference, *self.folds]

    @property
    def complete(self) -> Evaluations:
        """The evaluations on all folds."""
        return [evaluation for evaluation in self.evaluations if evaluation.penalty in self.losses]

    @property
    def n_pairs(self) -> int:
        """Number of pairs in the vocabulary of the reference fold."""
        return int((self.reference_fold.structure.vocabulary.block == PAIR).sum())

    def compare_base_rate(self) -> None:
        """Evaluate the model without terms."""
        losses = np.vstack([fold.null_losses() for fold in self.folds])[:, 0]
        penalty = self.without_terms()
        self.evaluations.append(Evaluation(penalty, 0, *self.mean(losses)))
        self.losses[penalty] = losses

    def without_terms(self) -> CandidatePenalty:
        """Return a penalty so large that no term is active, of a candidate that is compared."""
        settings, l1_ratio = self.settings, self.settings.fixed_l1_ratio
        shaped = settings.vocabulary == "shapes" and settings.starts_from_terms
        plain = Candidate("steps" if settings.rules else "values")
        candidate = plain if shaped else Candidate("all", 0, None)
        grid = self._grid(self._path(self.reference_fold, candidate, l1_ratio), l1_ratio)
        return CandidatePenalty(candidate, l1_ratio, float(grid[0]) * self.shrink)

    def compare(
        self, candidate: Candidate, l1_ratio: float, smaller: Candidate | None = None
    ) -> bool:
        """Evaluate a candidate at descending lambdas, until its cost rises; tell if it may win.

        A candidate that adds to a `smaller` one starts from the fits of that one, a little above
        its best lambda, and is dropped if that one was. The path ends when the time is up.
        """
        may_win = False
        before = None if smaller is None else self.paths.get((smaller, l1_ratio))
        if not self.watch.is_over() and (smaller is None or before is not None):
            may_win = self._compare(candidate, l1_ratio, before)
        self.watch.step()
        return may_win

    def _compare(self, candidate: Candidate, l1_ratio: float, before: CandidatePath | None) -> bool:
        taken = candidate.max_conditions is not None
        paths = self._paths(self.all_folds, candidate, l1_ratio, before)
        reference = paths[self.all_folds.index(self.reference_fold)]
        grid = self._grid(reference, l1_ratio, taken) if taken or not before else before.grid
        if before is not None:
            grid = grid[max(0, len(grid) - len(before.grid) + before.warm_start) :]
        found, losses = self._follow(paths, reference, grid, candidate, l1_ratio)
        may_win = bool(found) and not self._is_beaten(found, losses)
        if found:
            self._keep(paths, grid, found, losses)
        return may_win

    def compare_again(self) -> None:
        """Compare the best candidate so far on enough rows, from its path on the first ones.

        What was evaluated on the first rows counts no more, but for the base rate.
        """
        self.first_rows = self.enough_rows
        null, best = self.evaluations[0], self.best(self.complete).penalty
        if self.watch.is_over() or best == null.penalty:
            return
        self.screened, self.evaluations = self.evaluations, [null]
        self.losses = {null.penalty: self.losses[null.penalty]}
        self.paths = {key: self.paths[key] for key in [(best.candidate, best.l1_ratio)]}
        self.compare(best.candidate, best.l1_ratio, best.candidate)

    def compare_forward(self, candidate: Candidate) -> None:
        """Evaluate a very short candidate, whose terms forward selection takes, on all folds."""
        if not self.watch.is_over():
            l1_ratio = self.settings.fixed_l1_ratio
            paths = self._paths(self.all_folds, candidate, l1_ratio)
            reference = paths[self.all_folds.index(self.reference_fold)]
            grid = self._grid(reference, l1_ratio)
            self.short += self._follow(paths, reference, grid, candidate, l1_ratio)[0]
        self.watch.step()

    def follow(
        self,
        other: Search,
        candidate: Candidate,
        l1_ratio: float,
        start: CandidatePenalty | None = None,
    ) -> None:
        """Fit a candidate at the lambdas at which another search did, from the path of a start."""
        known = other.paths[candidate, l1_ratio]
        grid = known.grid[: len(known.fits[0])]
        before = None if start is None else self.paths[start.candidate, start.l1_ratio]
        paths = self._paths(self.folds, candidate, l1_ratio, before)
        losses = np.vstack(extend_all(paths, grid))
        self._keep_path(paths, grid, losses, known.warm_start, candidate, l1_ratio)

    def _follow(
        self,
        paths: list[FoldPath],
        reference: FoldPath,
        grid: Floats,
        candidate: Candidate,
        l1_ratio: float,
    ) -> tuple[Evaluations, Floats]:
        """Evaluate at descending lambdas until the cost rises; return losses (b, f) too."""
        found: Evaluations = []
        columns: list[Floats] = []
        hasty = self.is_coarse or (reference.design.loss.n_scores > 1 and candidate.max_conditions)
        patience = scale.PATIENCE_OF_MANY_ROWS if hasty else scale.PATIENCE
        read = reference.terms.conditions(self.learner.table.schema)
        at_once = len(grid) if candidate.form is not None and candidate.max_conditions else 1
        for at, l1 in enumerate(grid.tolist()):
            if self.watch.is_over():
                break
            if at % at_once == 0:  # short paths are followed to their end
                some = np.vstack(extend_all(paths, grid[at : at + at_once]))
                columns += list(some.T[..., None])
            deviance, error = self.mean(columns[at][:, 0])
            penalty = CandidatePenalty(candidate, l1_ratio, l1 * self.shrink)
            fit = reference.fits[at]
            self.fits[penalty] = fit
            miu = int(active_terms(fit) @ read)
            found.append(Evaluation(penalty, miu, deviance, error))
            self._report((at + 1) / len(grid), found)
            if at_once == 1 and at - int(self.costs(found).argmin()) >= patience:
                break
        return found, np.hstack(columns[: len(found)]) if found else np.zeros((0, 0))

    def _is_beaten(self, found: Evaluations, losses: Floats) -> bool:
        """Tell whether a candidate is clearly worse than the best one.

        The first candidate never is, because Stage 2 may have to start from it.
        """
        if not self.paths:
            return False
        rival, costs = self.best(self.complete), self.costs(found)
        at = int(costs.argmin())
        apart = losses[:, at] - self.losses[rival.penalty][: len(losses)]
        return bool(costs[at] - self.costs([rival])[0] > scale.BEATEN * self.mean(apart)[1])

    def _keep(
        self, paths: list[FoldPath], grid: Floats, found: Evaluations, losses: Floats
    ) -> None:
        """Keep the evaluations of a candidate, and its path."""
        self.evaluations += found
        penalty = found[0].penalty
        ahead = scale.HEAD_START_OF_MANY_ROWS if self.is_coarse else scale.HEAD_START
        if penalty.candidate.max_conditions is not None:
            ahead = scale.HEAD_START_OF_LENGTHS
        least = 0 if self.learner.table.loss.n_scores == 1 else -1  # to a larger lambda again
        start = max(least, int(self.costs(found).argmin()) - ahead)
        self._keep_path(paths, grid, losses, start, penalty.candidate, penalty.l1_ratio)

    def _keep_path(
        self,
        paths: list[FoldPath],
        grid: Floats,
        losses: Floats,
        warm_start: int,
        candidate: Candidate,
        l1_ratio: float,
    ) -> None:
        """Keep the path of a candidate on all folds, and its losses (b, f)."""
        terms, fits = [path.terms for path in paths], [path.fits for path in paths]
        self.paths[candidate, l1_ratio] = CandidatePath(grid, terms, fits, warm_start)
        self.losses |= self.along(candidate, l1_ratio, losses.T)

    def along(
        self, candidate: Candidate, l1_ratio: float, found: Iterable[T]
    ) -> list[tuple[CandidatePenalty, T]]:
        """Return what was found along the path of a candidate, each with its penalty."""
        l1s = (self.paths[candidate, l1_ratio].grid * self.shrink).tolist()
        penalties = (CandidatePenalty(candidate, l1_ratio, l1) for l1 in l1s)
        return list(zip(penalties, found, strict=False))

    def _report(self, part: float, found: Evaluations) -> None:
        """Report how far the search is, and the best evaluation so far."""
        self.tell_best(found)
        self.watch.tell(min(1.0, part))

    def tell_best(self, found: Sequence[Evaluation] = ()) -> None:
        """Let whoever watches know the best evaluation, of those kept and of what was found."""
        if self.watch.callback is None:
            return
        short = bool(found) and found[0].penalty.candidate.max_conditions is not None
        evaluations = (*self.evaluations, *(() if short else found))
        forward = (*self.short, *(found if short else ()))
        compared = Comparison(evaluations, self.price, short=forward)
        best = compared.ranked(self.settings.most_conditions)[0]
        self.watch.best = best.deviance, best.miu

    def costs(self, evaluations: Sequence[Evaluation]) -> Floats:
        """Return the costs of some evaluations, compared with those so far."""
        compared = Comparison((*self.evaluations, *evaluations), self.price)
        return np.array(compared.costs(evaluations))

    def best(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        """Return the one of the least cost among some evaluations."""
        return evaluations[int(self.costs(evaluations).argmin())]

    def least_cost(self, evaluations: Sequence[Evaluation]) -> float:
        """Return the least cost of some evaluations; infinite if there are none."""
        return float(self.costs(evaluations).min(initial=np.inf))

    def start_stage2(self, base: CandidatePenalty | None) -> None:
        """Start Stage 2 from the fits at a penalty that was compared, or from the base rate."""
        self.base = base
        self._in_time(self._start_stage2, self.all_folds)

    def _in_time(self, learn: Callable[[FoldState], None], folds: list[FoldState]) -> None:
        """Learn on some folds, each if there is time when its turn comes."""
        for _ in thread_map(lambda f: None if self.watch.is_over() else learn(f), folds):
            self.watch.step()

    def _start_stage2(self, fold: FoldState) -> None:
        start = None if self.base is None else self.warm_start(self.base, fold)
        fold.learn(self.learner.grow(fold.train, fold.mined, start))

    def grow(self, n_trees: int) -> int:
        """Grow up to `n_trees` on all folds; return how many the reference fold has."""
        self._in_time(lambda fold: self._grow(fold, n_trees), self.all_folds)
        return len(self.reference_fold.structure.trees)

    def _grow(self, fold: FoldState, n_trees: int) -> None:
        assert fold.found is not None
        fold.learn(fold.found.with_trees(n_trees, self.settings))

    def look_for_products(self, penalty: CandidatePenalty) -> bool:
        """Look for more products on every fold, from the fits at a penalty that was compared.

        Tell whether the reference fold has more than before.
        """

        def look(fold: FoldState) -> None:
            assert fold.found is not None
            start = self.warm_start(penalty, fold)
            fold.learn(fold.found.with_products(start, self.settings))

        known = self.n_pairs
        if self.settings.makes_products:
            list(thread_map(look, self.all_folds))
        return self.n_pairs > known

    def warm_start(self, penalty: CandidatePenalty, fold: FoldState) -> WarmStart:
        """Return the fit at a penalty on a fold, for Stage 2 to start from."""
        terms, fit = self.fit_at(penalty, fold)
        score = self.design(fold, terms).scores(fit)
        coefficients = fit[..., 1 + len(terms.leaf_terms) :]
        return WarmStart.of(score, fold.structure.vocabulary, terms.direct, coefficients)

    def fit_at(self, penalty: CandidatePenalty, fold: FoldState) -> tuple[TermSet, Floats]:
        """Return terms and fit of a fold at a penalty that was compared on all folds."""
        path, number = self.paths[penalty.candidate, penalty.l1_ratio], self.all_folds.index(fold)
        at = int(np.argmin(np.abs(path.grid * self.shrink - penalty.l1)))
        return path.terms[number], path.fits[number][at]

    def result(self) -> tuple[Discovery, Comparison]:
        """Return the structure of the model, and the comparison.

        Of a sample the values of the terms are not needed any more.
        """
        fold = self.reference_fold
        found = fold.found or self.learner.without_trees(fold.train, fold.mined)
        if fold in self.folds:
            found = found.release().first_rows(scale.SAMPLE_ROWS_KEPT)
            found = replace(found, searched_rows=self.learner.table.n_rows)
        evaluations, short = tuple(self.evaluations), tuple(self.short)
        interactions = None if self.plan is None else self.plan.interactions.to_dict()
        promises = None if self.plan is None else self.plan.promises
        compared = self.fits, self.terms, interactions, short, len(self.screened)
        return found, Comparison(evaluations, self.price, *compared, promises=promises)

    def mean(self, losses: Floats) -> tuple[float, float]:
        """Return the weighted mean of the first or of all blocks, and its standard error."""
        weights = self.weights[: len(losses)]
        mean = float(np.average(losses, weights=weights))
        if self.independent < 2:
            return mean, 0.0
        variance = float(np.average((losses - mean) ** 2, weights=weights))
        return mean, float(np.sqrt(variance / (self.independent - 1)))

    def _grid(self, path: FoldPath, l1_ratio: float, taken: bool = False) -> Floats:
        """Return descending lambdas; at the first no term is active, unless the terms are `taken`.

        Those of a chosen length hardly need a penalty.
        """
        if not len(path.design.rows):
            return np.ones(1)
        if taken:
            of_ladder, several = path.terms.signs is not None, path.design.loss.n_scores > 1
            lambdas = scale.LADDER_LAMBDAS if of_ladder else scale.LENGTH_LAMBDAS
            lambdas = lambdas[::2] if of_ladder and several else lambdas
            return np.asarray(path.design.grid(l1_ratio, 1, 1.0) * lambdas)
        coarse = scale.PATH_LENGTHS_OF_MANY_ROWS[path.design.loss.n_scores > 1]
        length = coarse if self.is_coarse else scale.PATH_LENGTH
        numbers = self.learner.table.loss.leaves_little and self.lengths_alone
        least = scale.SMALLEST_LAMBDA_OF_NUMBERS if numbers else scale.SMALLEST_LAMBDA
        return path.design.grid(l1_ratio, length, least)

    def design(self, fold: FoldState, terms: TermSet) -> ApproximateDesign:
        """Return the design of some terms on the training rows of a fold."""
        return fold.design(terms, *terms.penalties(self.settings.limits))

    def path_design(self, fold: FoldState, terms: TermSet) -> ApproximateDesign:
        """Return the design of a path: of the first rows, while only these are looked at."""
        design = self.design(fold, terms)
        return design if self.first_rows is None else design.first_rows(self.first_rows)

    def _paths(
        self,
        folds: list[FoldState],
        candidate: Candidate,
        l1_ratio: float,
        before: CandidatePath | None = None,
    ) -> list[FoldPath]:
        """Return the paths of a candidate on some folds."""
        return list(thread_map(lambda f: self._path(f, candidate, l1_ratio, before), folds))

    def _path(
        self,
        fold: FoldState,
        candidate: Candidate,
        l1_ratio: float,
        before: CandidatePath | None = None,
    ) -> FoldPath:
        """Return the path of a candidate on a fold, warm-started from a smaller one, if any."""
        settings, terms = self.settings, self._terms(fold, candidate)
        if fold is self.reference_fold:
            self.terms[candidate] = terms
        design, order = self.path_design(fold, terms), leaf_order(terms.trees, settings)
        if any(order):
            exact = make_design(fold.train, fold.structure, terms, settings.limits)
            return FoldPath(fold, terms, design, path_in_order(exact, order, l1_ratio))
        start = None if before is None else before.start_for(self.all_folds.index(fold), terms)
        kind = ApproximatePath if design.loss.n_scores == 1 else ClassesPath
        return FoldPath(fold, terms, design, kind(design, l1_ratio, start).to)

    def _terms(self, fold: FoldState, candidate: Candidate) -> TermSet:
        """Return the terms of a candidate on a fold."""
        if candidate.form is not None:
            if candidate not in fold.ladder_terms:
                self.choosers[candidate](fold)
            return fold.ladder_terms[candidate]
        terms = choose_terms(fold.train, fold.structure, candidate, self.settings.admission())
        if candidate.max_conditions is None:
            return terms
        if candidate not in fold.subsets:
            few = partial(take_few, design=self.design(fold, terms), terms=terms)
            self.choosers.get(candidate, partial(few, candidate=candidate))(fold)
        leaves = fold.leaf_subsets[candidate] if candidate.n_trees else None
        return replace(terms, direct=fold.subsets[candidate], leaves=leaves)
