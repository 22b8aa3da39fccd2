"""The paper's Algorithm 1: vocabulary, trees, terms, fit, model; selection runs it per fold."""

from rpte.estimation.candidate import CandidatePenalty
from rpte.estimation.problem import AnyProblem
from rpte.estimation.terms import TermSet, choose_terms
from rpte.fit.assemble import assemble
from rpte.fit.assemble_classes import assemble_classes
from rpte.fit.coefficients import Estimate, estimate, estimate_classes
from rpte.fit.hazards import estimate_hazards
from rpte.fit.structure_learner import Discovery, StructureLearner
from rpte.fit.training import NOT_COMPARED, Record, Training
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.rows import scale
from rpte.utils.arrays import Floats
from rpte.utils.progress import ESTIMATING, GROWING, MINING, Watch


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
        return assemble_classes(training, of_classes, record)
    terms, start, design = training.problem(found, terms, start)

    def solve(design: AnyProblem, start: Floats | None) -> Estimate:
        return estimate(design, terms, training.rows.schema, training.settings, penalty, start)

    if training.hazards is None:
        estimated = solve(design, start)
    else:
        estimated = estimate_hazards(training.hazards, design, solve, penalty.l1_ratio, start)
    record = training.record(found, estimated, penalty, compared)
    return assemble(training, estimated.trained(terms), record)
