"""Learning a model: the paper's Algorithm 1 on a training table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.assemble import TrainedTerms, assemble, labels
from rpte.columns.kinds import Level, Missing
from rpte.comparison import Aim, Comparison, Point
from rpte.discovery import Discovery, discover, leaf_order
from rpte.estimation.canonical import canonical
from rpte.estimation.design import Design
from rpte.estimation.evaluated import Shelf
from rpte.estimation.monotone import Ties, solve_in_order
from rpte.estimation.solver import Fit, lambda_max
from rpte.estimation.terms import Offer, TermSet, choose_terms, design_on, make_design
from rpte.folds import LARGE, Validation
from rpte.model.certificate import stage3_tolerance
from rpte.model.model import Label, Model
from rpte.model.verify_counts import conditions_allowed
from rpte.progress import Watch
from rpte.selection import select
from rpte.settings import Settings
from rpte.structure.boosting import Stage2
from rpte.table.fingerprint import fingerprint
from rpte.table.table import Table
from rpte.vocabulary.build import ORIGINAL

Floats = NDArray[np.float64]
ESTIMATING = "estimating the models"
FRONTIER = (0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300)  # conditions of the models kept
FEW = (0, 1, 2, 3, 8, 25)  # on large tables


@dataclass(frozen=True, slots=True)
class Estimate:
    """Stage 3 on a table: the fit, the problem that it solves, and the leaves tied in it."""

    fit: Fit
    design: Design
    ties: Ties

    def objective(self) -> dict[str, Any]:
        """Return what the file keeps of the problem and its solution."""
        fit, design = self.fit, self.design
        top = lambda_max(design, fit.l1_ratio) if design.n_terms else 0.0
        return {
            "l1": fit.l1,
            "l1_ratio": fit.l1_ratio,
            "value": fit.objective,
            "kkt_residual": fit.kkt,
            "tolerance": stage3_tolerance(top, fit.l1),
            "lambda_max": top,
            "terms_offered": design.n_terms,
            "converged": fit.converged,
        }


@dataclass(frozen=True, slots=True)
class Learned:
    """The model, and the models along the frontier of conditions and validated deviance."""

    model: Model
    frontier: tuple[Model, ...] = ()

    def with_training(self, told: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Learned:
        """Return the same with another record of the training in each model."""

        def change(model: Model) -> Model:
            return replace(model, training=told(model.training))

        return Learned(change(self.model), tuple(change(model) for model in self.frontier))


def learn(
    table: Table,
    settings: Settings,
    classes: tuple[Label, Label],
    positive: int,
    validation: Validation | None = None,
    pool: ThreadPoolExecutor | None = None,
    watch: Watch | None = None,
) -> Learned:
    """Learn a model from a table.

    Stage 1 mines the vocabulary, Stage 2 discovers source-disjoint trees, Stage 3 estimates one
    coefficient per leaf and direct term. Which columns and how many trees are offered, and which
    penalty, is chosen by inner validation when ``l1="cv"``. When the time of the `watch` is up the
    model is the best so far, and says so.
    """
    validation, watch = validation or Validation(), watch or Watch()
    named = labels(classes, positive)
    data = fingerprint(table.inputs, table.y, table.weight, named, settings.profile, table.hashes)
    make = _Maker(table, settings, classes, positive, data, Shelf(table.inputs))
    if not settings.reassign:
        found = discover(table, settings, None, pool, watch)
        record = {"objective": None, "selection": None, **_history(found, validation, table)}
        learned = Learned(make.model(_boosted(found), record))
    elif settings.l1 != "cv":
        l1 = 4.0 / table.total_weight if settings.l1 == "4/n" else float(settings.l1)
        found = discover(table, settings, l1 if settings.starts_from_terms else None, pool, watch)
        aim = Aim(Offer("all", len(found.structure.trees), None), settings.share, l1)
        watch.begin(ESTIMATING, 1.0)
        learned = Learned(make.at(aim, found, Comparison(), _history(found, validation, table)))
    else:
        found, compared = select(table, settings, validation, pool, watch)
        history = _history(found, validation, table)
        learned = _chosen(make, found, compared, history, watch)
    return _said_stopped(learned, watch)


def _chosen(
    make: _Maker, found: Discovery, compared: Comparison, history: dict[str, Any], watch: Watch
) -> Learned:
    """Estimate the best model within the budget; then, while there is time, those beside it."""
    known: dict[Aim, Model] = {}

    def made(point: Point) -> tuple[Point, Model]:
        if point.aim not in known:
            known[point.aim] = make.at(point.aim, found, compared, history)
        return point, known[point.aim]

    large, most = make.table.n_rows > LARGE, make.settings.most_conditions
    # Where each model takes long to estimate, few are kept, and none that is harder to read.
    loads = FEW if large else FRONTIER
    watch.begin(ESTIMATING, 1.0, 2 + len(loads))
    # A sample may promise fewer conditions than the whole table needs; the base rate needs none.
    tried = map(made, compared.ranked(most))
    chosen = next((p, m) for p, m in tried if m.audit().miu <= most)
    watch.step()
    beside = compared.frontier(loads, chosen[0], longer=not large)
    kept = []
    for point in beside:
        if point.aim not in known and watch.is_over():
            break
        kept.append(made(point))
        watch.step()
    return _with_frontier([*kept, chosen])


def _said_stopped(learned: Learned, watch: Watch) -> Learned:
    """Let every model say that the clock has stopped the search, if it has."""
    watch.end()
    if watch.stopped is None:
        return learned

    def told(training: Mapping[str, Any]) -> dict[str, Any]:
        return {**training, "validation": {**training["validation"], **watch.record()}}

    return learned.with_training(told)


@dataclass(frozen=True, slots=True)
class _Maker:
    """What all models of one fit share."""

    table: Table
    settings: Settings
    classes: tuple[Label, Label]
    positive: int
    data: Mapping[str, Any]
    shelf: Shelf

    def at(
        self, aim: Aim, found: Discovery, compared: Comparison, history: dict[str, Any]
    ) -> Model:
        """Estimate and assemble one model."""
        settings, structure = self.settings, found.structure
        start = compared.fits.get(aim)
        if aim.offer in compared.direct:
            trees = structure.trees[: aim.offer.n_trees]
            terms = TermSet(structure.vocabulary, trees, compared.direct[aim.offer])
        else:
            terms = choose_terms(found.table, structure, aim.offer, settings.admission())
        if found.table is self.table:
            design = make_design(self.table, structure, terms, settings.limits, self.shelf)
        else:
            none = np.zeros(1 + sum(terms.leaf_counts) + len(terms.direct))
            terms, start = terms.active(compared.fits.get(aim, none))
            terms = self._settled(terms)
            design = design_on(self.table, terms, settings.limits, self.shelf)
        estimated = estimate(design, terms, self.table, settings, aim, start)
        trained = TrainedTerms(
            terms,
            design.leaf_codes,
            estimated.fit.intercept,
            estimated.fit.coefficients,
            design.penalty,
            estimated.ties,
        )
        return self.model(trained, {**_solved(aim, compared, estimated), **history})

    def _settled(self, terms: TermSet) -> TermSet:
        """Return terms of a sample whose trees send missing cells as all rows have it."""
        if self.settings.paper:
            return terms
        weight, cells = self.table.weight, self.shelf.in_order
        trees = [tree.with_heavier_sides(cells(tree.sources), weight) for tree in terms.trees]
        return replace(terms, trees=tuple(trees))

    def model(self, trained: TrainedTerms, record: dict[str, Any]) -> Model:
        """Assemble a model."""
        return assemble(
            self.table, trained, self.settings, self.classes, self.positive, self.data, record
        )


def _with_frontier(made: list[tuple[Point, Model]]) -> Learned:
    """Let every model tell of the whole frontier; the last one is the model that was chosen.

    The frontier goes by the load that each model really has, which may be less than its terms'.
    """
    shown: list[dict[str, Any]] = []
    kept: list[Model] = []
    loads = [model.audit().miu for _, model in made]
    deviances = [round(point.deviance, 12) for point, _ in made]
    for i in sorted(range(len(made)), key=lambda i: (loads[i], deviances[i], -i)):
        point, model = made[i]
        if not shown or deviances[i] < round(shown[-1]["deviance"], 12):
            shown.append({**point.to_dict(), "miu": loads[i], "components": len(model.components)})
            kept.append(model)

    def told(model: Model) -> Model:
        selection = {**model.training["selection"], "frontier": shown}
        return replace(_sized(model), training={**model.training, "selection": selection})

    return Learned(told(made[-1][1]), tuple(told(model) for model in kept))


def _sized(model: Model) -> Model:
    """Let a model that is larger than was asked for, kept beside the chosen one, say its size."""
    load = model.audit().miu
    limit = conditions_allowed(model)
    if limit is None or load <= limit:
        return model
    return replace(model, settings={**model.settings, "max_inspection_units": load})


def estimate(
    design: Design,
    terms: TermSet,
    table: Table,
    settings: Settings,
    aim: Aim,
    start: Floats | None = None,
) -> Estimate:
    """Solve equation (5) under the user's limits; of equally good solutions the canonical one."""
    read = terms.conditions(table.schema)
    in_leaves, in_direct = read[: design.n_leaves], read[design.n_leaves :]
    groups = _level_groups(design, terms)
    order = leaf_order(terms.trees, settings)

    def finish(tied: Design, fit: Fit, ties: Ties) -> Fit:
        in_groups = np.bincount(ties.members, in_leaves, tied.n_leaves).astype(np.int64)
        conditions = np.concatenate([in_groups, in_direct])
        return canonical(tied, fit, conditions, [tied.n_leaves + g for g in groups])

    fit, ties = solve_in_order(design, order, aim.l1, aim.l1_ratio, finish, start=start)
    return Estimate(fit, design, ties)


def _level_groups(design: Design, terms: TermSet) -> list[NDArray[np.intp]]:
    """Return the direct terms of each variable whose levels and missing flag sum to one."""
    by_source: dict[str, list[int]] = {}
    for d, j in enumerate(terms.direct):
        column = terms.vocabulary.columns[j]
        if isinstance(column, (Level, Missing)) and terms.vocabulary.block[j] == ORIGINAL:
            by_source.setdefault(column.source, []).append(d)
    groups = [np.array(members, np.intp) for members in by_source.values()]
    return [members for members in groups if len(members) > 1 and design.sum_to_one(members)]


def _boosted(found: Discovery) -> TrainedTerms:
    """Keep the Stage 2 leaf values instead of Stage 3 (the paper's ablation): no direct terms."""
    structure = found.structure
    terms = TermSet(structure.vocabulary, structure.trees, np.zeros(0, np.intp))
    coefficients = np.concatenate([np.zeros(0), *structure.steps])
    return TrainedTerms(terms, structure.leaf_codes, found.stage2.base, coefficients)


def _solved(aim: Aim, compared: Comparison, estimated: Estimate) -> dict[str, Any]:
    """Return what the file keeps of Stage 3: the problem, its solution, how it was chosen."""
    return {
        "objective": estimated.objective(),
        "selection": {**compared.to_dict(), "chosen": aim.to_dict()},
    }


def _history(found: Discovery, validation: Validation, table: Table) -> dict[str, Any]:
    """Return what the file keeps of Stages 1 and 2: how rows were split, and trees tried.

    Where the terms were found on a sample, the file says on how many distinct rows.
    """
    sample = {} if found.table is table else {"learned_from_rows": found.table.n_rows}
    return {
        "validation": {"folds": validation.count, "by": validation.by, **sample},
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
