"""Stage 3 solved again on a table, the structure of a model being what it is.

The terms are those that the model has: a coefficient of zero stays zero, others may become zero.
Penalty and limits are those of the model; monotone directions hold again in the result.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rpte.columns.kinds import RAW
from rpte.columns.limits import Permissions
from rpte.errors import InputError, warn
from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.design import Design
from rpte.estimation.held_rows import TermValues
from rpte.estimation.problem import AnyProblem
from rpte.estimation.softmax import ClassesProblem
from rpte.estimation.terms import TermSet, block_design, design_on
from rpte.fit.assemble import assemble
from rpte.fit.coefficients import ClassesEstimate, Estimate, estimate, estimate_classes
from rpte.fit.hazards import estimate_hazards
from rpte.fit.importance import measure_importances
from rpte.fit.learned import unconverged_text
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.model.certificate import monotone_directions
from rpte.model.class_limits import monotone_by_class
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel
from rpte.model.importance import RECORD as IMPORTANCES
from rpte.model.model import Model
from rpte.model.observed import Rows
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.verify_table import hashed, labelled
from rpte.model.versions import shape_family
from rpte.rows import scale
from rpte.rows.training_rows import MemoryRows
from rpte.table.numbers import named
from rpte.table.table import Table, row_hashes
from rpte.utils.arrays import Floats
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR, Vocabulary

FROZEN = 1e9  # factor on the penalty of a leaf whose coefficient is zero, so that it stays zero


def refit(
    model: AnyModel,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
) -> AnyModel:
    """Return the model with its coefficients estimated again on a table X with targets y.

    The class weights of the first fit are applied on top of `sample_weight`, and its units of
    numbers are kept, in which the penalty counts. Of times until an event baselines are estimated
    again, too. The result is named and ordered anew, as a fit would; the table is now its training
    table.
    """
    given = {"exposure": exposure, "offset": offset, "entry": entry, "strata": strata}
    if not model.settings["reassign"]:
        raise InputError("the leaf values are those of Stage 2 (reassign=false); fit it again")
    beside = {role: named(X, values) for role, values in given.items()}
    rows = labelled(model, model.read(X), y, sample_weight, **beside)
    table = _table(model, hashed(rows))
    training = Training.of(table, _settings(model), model.target, {}, rows.seen)
    penalty, factors = penalty_of(model, table), _factors(model.outline)
    estimated: Estimate | ClassesEstimate
    if isinstance(model, ClassesModel):
        problem = classes_problem(model, table)
        estimated = estimate_classes(problem, _class_terms(model), penalty, None)
        trained = estimated.trained(factors)
    else:
        terms = _terms(model)
        estimated = estimate_terms(training, terms, _frozen(model) * factors, penalty)
        trained = replace(estimated.trained(terms), penalty=factors)
    made = assemble(training, trained, record_of(model, penalty, estimated))
    (told,), _ = measure_importances((made,), training.counted)
    distinct = {"distinct_rows": training.data["distinct_rows"], IMPORTANCES: told}
    record = {**made.training, **distinct}
    made = replace(made, settings=model.settings, training=record, ledger=model.ledger)
    if (text := unconverged_text(made)) is not None:
        warn(text)
    return made


def estimate_terms(
    training: Training, terms: TermSet, factors: Floats, penalty: CandidatePenalty
) -> Estimate:
    """Solve Stage 3 over some terms on all rows; `factors` (q,) are on the penalty of each."""
    table, settings = training.rows.whole(), training.settings
    design: AnyProblem
    if table.n_rows > scale.LONG_ABOVE:
        sample = MemoryRows(table.sample(scale.SAMPLE_ROWS))
        blocks = block_design(training.rows, terms, settings.limits, sample)
        design = replace(blocks, penalty=factors)
    else:
        design = replace(design_on(table, terms, settings.limits), penalty=factors)

    def solve(design: AnyProblem, start: Floats | None) -> Estimate:
        return estimate(design, terms, table.schema, settings, penalty, start)

    if training.hazards is None:
        return solve(design, None)
    return estimate_hazards(training.hazards, design, solve, penalty.l1_ratio, None)


def classes_problem(model: ClassesModel, table: Table) -> ClassesProblem:
    """Return Stage 3 of several classes over the terms of a model on a table."""
    terms = _class_terms(model)
    kept = np.concatenate([terms.leaf_terms, sum(terms.leaf_counts) + terms.direct])
    factors, values = _factors(model.outline)[kept], TermValues.of(terms)(table).z
    _, signs = terms.penalties(_settings(model).limits)
    return ClassesProblem(values, table.y, table.weight, factors, signs, model.loss)


def _class_terms(model: ClassesModel) -> TermSet:
    """Return the terms of several classes: leaves that say something of some, direct terms."""
    terms = _terms(model.outline)
    leaves = [leaf.coefficient != 0 for tree in _parts(model.outline)[0] for leaf in tree.leaves]
    return replace(terms, leaves=np.flatnonzero(leaves))


def problem(model: Model, table: Table) -> tuple[TermSet, Settings, Design]:
    """Return the terms of a model, its settings, and Stage 3 of these terms on a table.

    Penalty factors are those of the file, where a leaf may stand for several.
    """
    terms, settings = _terms(model), _settings(model)
    design = design_on(table, terms, settings.limits)
    return terms, settings, replace(design, penalty=_factors(model))


def _factors(model: Model) -> Floats:
    return penalty_factors(*_parts(model))


def penalty_factors(trees: Sequence[TreeTerms], direct: Sequence[DirectTerm]) -> Floats:
    """Return the factor on the penalty of each leaf and direct term."""
    leaves = [leaf.penalty for tree in trees for leaf in tree.leaves]
    return np.array([*leaves, *(term.penalty for term in direct)], np.float64)


def freeze_zero_leaves(model: Model, design: Design) -> Design:
    """Return the problem in which leaves whose coefficient is zero keep it."""
    return replace(design, penalty=_frozen(model) * design.penalty)


def _frozen(model: Model) -> Floats:
    """Return a factor on the penalty of each term: a large one for leaves that are to stay 0."""
    trees, direct = _parts(model)
    silent = [leaf.coefficient == 0 for tree in trees for leaf in tree.leaves]
    return np.where([*silent, *(False for _ in direct)], FROZEN, 1.0)


def _parts(model: Model) -> tuple[list[TreeTerms], list[DirectTerm]]:
    """Return trees and direct terms, each in the order of the file."""
    parts = [part for _, part in model.parts()]
    trees = [part for part in parts if isinstance(part, TreeTerms)]
    return trees, [part for part in parts if isinstance(part, DirectTerm)]


def _table(model: AnyModel, rows: Rows) -> Table:
    """Return the rows in an order that their content decides, under the model's schema."""
    if not np.isfinite(rows.weight).all() or (rows.weight < 0).any():
        raise InputError("sample_weight must be finite and not negative")
    order = np.lexsort((rows.weight, rows.y, row_hashes(rows.inputs)))
    order = order[rows.weight[order] > 0]
    inputs, loss = rows.inputs.take(order), model.loss
    table = Table(inputs, rows.y[order], rows.weight[order], loss=loss)
    if not loss.varies(table.y):
        raise InputError("the table holds one class only, or one number; Stage 3 needs others too")
    if isinstance(model, ClassesModel):
        there = set(table.y.astype(np.intp).tolist())
        gone = [label for k, label in enumerate(model.classes) if k not in there]
        if gone:
            raise InputError(f"the table has no rows of the class {gone[0]!r}; Stage 3 needs some")
    return table


def _terms(model: Model) -> TermSet:
    """Return the model's terms, in the order of a design: trees, then direct terms."""
    return term_set(*_parts(model))


def term_set(trees: Sequence[TreeTerms], direct: Sequence[DirectTerm]) -> TermSet:
    """Return parts of models as the terms of Stage 3; no cells are held."""
    columns = tuple(term.column for term in direct)
    block = np.array([ORIGINAL if isinstance(c, RAW) else PAIR for c in columns], np.intp)
    location = np.array([(term.centre, term.scale) for term in direct], np.float64)
    centre, scale = location.reshape(-1, 2).T.copy()
    vocabulary = Vocabulary(columns, block, np.zeros((len(columns), 0)), centre, scale)
    return TermSet(vocabulary, tuple(t.tree for t in trees), np.arange(len(columns)))


def penalty_of(model: AnyModel, table: Table) -> CandidatePenalty:
    """Return the penalty of a model, on another table."""
    chosen = model.training["selection"]["chosen"]
    candidate = Candidate(shape_family(chosen), chosen["n_trees"], chosen["n_pairs"])
    l1 = 4.0 / table.total_weight if model.settings["l1"] == "4/n" else float(chosen["l1"])
    return CandidatePenalty(candidate, float(chosen["l1_ratio"]), l1)


def _settings(model: AnyModel) -> Settings:
    limits = model.settings["limits"]
    together = limits["interactions"]
    allowed = Permissions(
        {} if isinstance(model, ClassesModel) else monotone_directions(model),
        frozenset(limits["exclude"]),
        frozenset(limits["linear_only"]),
        None if together is None else tuple(frozenset(names) for names in together),
        limits["penalty"],
        *(_by_class(model) if isinstance(model, ClassesModel) else ()),
    )
    return Settings(**{**model.settings, "limits": allowed})


def _by_class(model: ClassesModel) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    directions = monotone_by_class(model)
    return directions, tuple(map(str, model.classes)) if directions else ()


def record_of(
    model: AnyModel, penalty: CandidatePenalty, estimated: Estimate | ClassesEstimate
) -> dict[str, Any]:
    """Return what the file keeps of the fit; how trees and penalty were found stays history."""
    kept = ("class_factors", "validation", "vocabulary_size", "rounds")
    selection = {**model.training["selection"], "chosen": penalty.to_dict()}
    history = {key: model.training[key] for key in kept if key in model.training}
    return {**history, "objective": estimated.objective(), "selection": selection}
