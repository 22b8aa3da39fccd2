"""The model of the best penalty, and the models beside it on the frontier."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rpte.estimation.terms import TermSet, choose_terms
from rpte.fit.algorithm import fit_model
from rpte.fit.calibration import with_held_out
from rpte.fit.learned import Learned
from rpte.fit.structure_learner import Discovery
from rpte.fit.training import Training
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.verify_structure import conditions_allowed
from rpte.rows import scale
from rpte.rows.folds import Validation
from rpte.rows.threads import thread_map
from rpte.selection.comparison import Comparison, Evaluation
from rpte.selection.select import select
from rpte.utils.progress import ESTIMATING, Watch

AnyModel = Model | ClassesModel
Fitted = tuple[Evaluation, AnyModel]


def select_models(training: Training, validation: Validation, watch: Watch) -> Learned:
    """Choose terms and penalty by inner validation, and fit the models that it recommends.

    The best model within the budget is fitted first; then, while there is time, the frontier.
    """
    rows, settings = training.rows, training.settings
    found, compared = select(rows, settings, validation, watch)
    long, most = rows.n_rows > scale.LONG_TABLE_ABOVE, settings.most_conditions
    models: dict[Any, AnyModel] = {}

    def fitted(evaluation: Evaluation) -> Fitted:
        if evaluation.penalty not in models:
            models[evaluation.penalty] = _fit(training, found, compared, evaluation)
        return evaluation, models[evaluation.penalty]

    def in_time(evaluation: Evaluation) -> Fitted | None:
        over = evaluation.penalty not in models and watch.is_over()
        return None if over else fitted(evaluation)

    # On long tables models take long to estimate: few are kept, and none longer than the best.
    loads = scale.FRONTIER if rows.n_rows <= scale.MANY_ROWS else scale.FRONTIER_OF_MANY_ROWS
    loads = scale.FRONTIER_OF_LONG_TABLES if long else loads
    watch.begin(ESTIMATING, 1.0, 2 + len(loads))
    # A model of the whole table may have more conditions than validation on a sample has counted.
    tried = map(fitted, compared.ranked(most))
    chosen = next((e, model) for e, model in tried if model.audit().miu <= most)
    watch.step()
    binds = compared.exceeds(most) and not long
    best = compared.ranked(None)[0] if binds else chosen[0]  # the frontier is that of no budget
    wanted, beside = compared.frontier(loads, best, longer=not long), []
    for one in (map if long else thread_map)(in_time, wanted):  # in turn where each needs memory
        if one is None:
            break
        beside.append(one)
        watch.step()
    if binds:  # a model may have fewer conditions than validation has counted
        within = [one for one in beside if one[1].audit().miu <= most]
        chosen = min([chosen, *within], key=lambda one: round(one[0].deviance, 12))
    return _with_frontier([*beside, chosen])


def _fit(
    training: Training, found: Discovery, compared: Comparison, evaluation: Evaluation
) -> AnyModel:
    """Fit the model of one evaluation, with the same terms."""
    penalty, structure = evaluation.penalty, found.structure
    candidate, start = penalty.candidate, compared.fits.get(penalty)
    if candidate in compared.terms:
        terms = replace(compared.terms[candidate], vocabulary=structure.vocabulary)
    else:
        terms = choose_terms(found.table, structure, candidate, training.settings.admission())
    model = fit_model(training, found, terms, penalty, compared.to_dict(), start)
    if not evaluation.miu and model.audit().miu:  # ties of times let a term in where none was
        none = TermSet(structure.vocabulary, (), np.zeros(0, np.intp))
        model = fit_model(training, found, none, penalty, compared.to_dict())
    if training.settings.shapes == "one" and candidate.form is None:  # the time was up before
        model = replace(model, settings={**model.settings, "shapes": "free"})
    held_out = compared.held_out.get(penalty)
    if held_out is None or not training.whole_weights or isinstance(model, ClassesModel):
        return model
    by = "groups" if training.validation["by"] == "groups" else "rows"
    return with_held_out(model, held_out, by)


def _with_frontier(fitted: list[Fitted]) -> Learned:
    """Record the whole frontier in every model; the last of `fitted` is the one chosen.

    A model's own load counts, which may be less than that of its terms.
    """
    shown: list[dict[str, Any]] = []
    kept: list[AnyModel] = []
    loads = [model.audit().miu for _, model in fitted]
    deviances = [round(evaluation.deviance, 12) for evaluation, _ in fitted]
    for i in sorted(range(len(fitted)), key=lambda i: (loads[i], deviances[i], -i)):
        evaluation, model = fitted[i]
        if not shown or deviances[i] < round(shown[-1]["deviance"], 12):
            counted = {"miu": loads[i], "components": len(model.components)}
            shown.append({**evaluation.to_dict(), **counted})
            kept.append(model)

    def told(training: Mapping[str, Any]) -> dict[str, Any]:
        return {**training, "selection": {**training["selection"], "frontier": shown}}

    sized = Learned(_sized(fitted[-1][1]), tuple(map(_sized, kept)))
    return sized.with_training(told)


def _sized(model: AnyModel) -> AnyModel:
    """Record its own size as the limit of a frontier model that is longr than was asked for."""
    load = model.audit().miu
    limit = conditions_allowed(model.settings)
    if limit is None or load <= limit:
        return model
    return replace(model, settings={**model.settings, "max_inspection_units": load})
