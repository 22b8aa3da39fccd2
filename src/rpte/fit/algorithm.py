"""The paper's Algorithm 1: vocabulary, trees, terms, fit, model; selection runs it per fold."""

import logging
from dataclasses import replace

from rpte.estimation.candidate import CandidatePenalty
from rpte.estimation.problem import AnyProblem
from rpte.estimation.terms import TermSet, choose_terms
from rpte.fit.assemble import assemble
from rpte.fit.coefficients import Estimate, estimate, estimate_classes
from rpte.fit.hazards import estimate_hazards, is_out_of_range
from rpte.fit.structure_learner import Discovery, StructureLearner
from rpte.fit.training import NOT_COMPARED, Record, Training
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.rows import scale
from rpte.utils.arrays import Floats
from rpte.utils.progress import ESTIMATING, GROWING, MINING, Watch

logger = logging.getLogger("rpte")
RAISED = 2.0  # times a penalty that leaves hazards out of range


def learn(training: Training, watch: Watch) -> Model | ClassesModel:
    """Learn a model at a fixed penalty, or with the leaf values of Stage 2 (`reassign=False`)."""
    found, settings = learn_structure(training, watch), training.settings
    if not settings.reassign:
        return assemble(training, training.boosted(found), training.record(found))
    penalty = training.fixed_penalty(found)
    terms = choose_terms(found.table, found.structure, penalty.candidate, settings.admission())
    watch.begin(ESTIMATING, 1.0)
    return fit_model(training, found, terms, penalty, NOT_COMPARED)


def learn_structure(training: Training, watch: Watch) -> Discovery:
    """Run Stages 1 and 2; when the time is up no more trees are grown."""
    table, settings = training.rows.whole(), training.settings
    learner = StructureLearner.of(table, settings)
    watch.begin(MINING, 0.3)
    held = scale.HELD_ROWS if settings.paper and table.n_rows > scale.LONG_ABOVE else None
    mined = learner.mine(table, held=held, last=True)
    watch.begin(GROWING, 0.7, 1 + settings.max_trees)
    if watch.is_over():
        return learner.without_trees(table, mined)
    found = learner.grow(table, mined, training.warm_start(mined))
    for most in range(1, settings.max_trees + 1):
        if watch.is_over() or len(found.structure.trees) < most - 1:
            break
        found = found.with_trees(most, settings)
        watch.step()
    return found.release()


def fit_model(
    training: Training,
    found: Discovery,
    terms: TermSet,
    penalty: CandidatePenalty,
    compared: Record,
    start: Floats | None = None,
) -> Model | ClassesModel:
    """Solve equation (5) over some terms (Stage 3), and assemble the model."""
    if training.rows.loss.n_scores > 1:
        terms, start, problem = training.classes_problem(found, terms, start)
        of_classes = estimate_classes(problem, terms, penalty, start)
        record = training.record(found, of_classes, penalty, compared)
        factors, _ = replace(terms, leaves=None).penalties(training.settings.limits)
        return assemble(training, of_classes.trained(factors), record)
    terms, start, design = training.problem(found, terms, start)
    estimated, penalty = _estimate(training, design, terms, penalty, start)
    record = training.record(found, estimated, penalty, compared)
    return assemble(training, estimated.trained(terms), record)


def _estimate(
    training: Training,
    design: AnyProblem,
    terms: TermSet,
    penalty: CandidatePenalty,
    start: Floats | None,
) -> tuple[Estimate, CandidatePenalty]:
    """Solve equation (5) of one score; return the penalty too.

    Where terms tell the order of times exactly, the likelihood has no optimum but for the penalty,
    and that of a small one may be out of range. Validation compares penalties beside the first
    baseline and does not see this; the penalty that it chose is then raised.
    """
    schema, settings = training.rows.schema, training.settings

    def solve(design: AnyProblem, start: Floats | None) -> Estimate:
        return estimate(design, terms, schema, settings, penalty, start)

    if training.hazards is None:
        return solve(design, start), penalty
    while True:
        found = estimate_hazards(training.hazards, design, solve, penalty.l1_ratio, start)
        if settings.l1 != "cv" or not is_out_of_range(found):
            return found, penalty
        logger.warning(
            "at lambda=%.3g scores differ by more than a baseline can be stored for: a variable "
            "gives the order of times away; the penalty is raised to %.3g",
            penalty.l1,
            RAISED * penalty.l1,
        )
        penalty = replace(penalty, l1=RAISED * penalty.l1)
