"""Stage 3 solved again on a table, the structure of a model being what it is.

The terms are those that the model has: a coefficient of zero stays zero, others may become zero.
Penalty and limits are those of the model; monotone directions hold again in the result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rpte.assemble import TrainedTerms, assemble, labels
from rpte.columns.kinds import RAW
from rpte.columns.limits import Permissions
from rpte.comparison import Aim
from rpte.errors import InputError
from rpte.estimation.design import Design
from rpte.estimation.terms import Offer, TermSet, design_on
from rpte.learn import Estimate, estimate
from rpte.model.certificate import monotone_directions
from rpte.model.model import Model
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.verify_table import labelled
from rpte.settings import Settings
from rpte.table.fingerprint import fingerprint
from rpte.table.table import Table, row_hashes
from rpte.vocabulary.build import ORIGINAL, PAIR, Vocabulary

HELD = 1e9  # factor on the penalty of a leaf that says nothing, so that it stays silent


def refit(model: Model, X: Any, y: Any, sample_weight: Any = None) -> Model:
    """Return the model with its coefficients estimated again.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    y : labels of shape (n_rows,)
    sample_weight : (n_rows,), optional
        The class weights of the first fit are applied on top.

    Returns
    -------
    Model
        Named and ordered anew, as a fit would; the table is now its training table.
    """
    if not model.settings["reassign"]:
        raise InputError("the leaf values are those of Stage 2 (reassign=false); fit it again")
    table, aim = _table(model, X, y, sample_weight), _aim(model)
    if model.settings["l1"] == "4/n":
        aim = replace(aim, l1=4.0 / table.total_weight)
    terms, settings, design = problem(model, table)
    estimated = estimate(held(model, design), terms, table, settings, aim)
    fit = estimated.fit
    trained = TrainedTerms(
        terms, design.leaf_codes, fit.intercept, fit.coefficients, design.penalty, estimated.ties
    )
    return _assembled(model, table, trained, settings, _record(model, aim, estimated))


def problem(model: Model, table: Table) -> tuple[TermSet, Settings, Design]:
    """Return the terms of a model, its settings, and Stage 3 of these terms on a table.

    Penalty factors are those of the file, where a leaf may stand for several.
    """
    terms, settings = _terms(model), _settings(model)
    trees, direct = _parts(model)
    leaves = [leaf.penalty for tree in trees for leaf in tree.leaves]
    factors = np.array([*leaves, *(term.penalty for term in direct)], np.float64)
    return terms, settings, replace(design_on(table, terms, settings.limits), penalty=factors)


def held(model: Model, design: Design) -> Design:
    """Return the problem in which leaves that say nothing stay silent."""
    silent = [leaf.coefficient == 0 for tree in _parts(model)[0] for leaf in tree.leaves]
    silent += [False] * (design.n_terms - len(silent))
    return replace(design, penalty=np.where(silent, HELD, 1.0) * design.penalty)


def _parts(model: Model) -> tuple[list[TreeTerms], list[DirectTerm]]:
    """Return trees and direct terms, each in the order of the file."""
    parts = [part for _, part in model.parts()]
    trees = [part for part in parts if isinstance(part, TreeTerms)]
    return trees, [part for part in parts if isinstance(part, DirectTerm)]


def _table(model: Model, X: Any, y: Any, sample_weight: Any) -> Table:
    """Return the rows in an order that their content decides, under the model's schema."""
    rows = labelled(model, model.read(X), y, sample_weight)
    if not np.isfinite(rows.weight).all() or (rows.weight < 0).any():
        raise InputError("sample_weight must be finite and not negative")
    order = np.lexsort((rows.weight, rows.y, row_hashes(rows.inputs)))
    order = order[rows.weight[order] > 0]
    table = Table(rows.inputs.take(order), rows.y[order], rows.weight[order])
    if len(np.unique(table.y)) < 2:
        raise InputError("the table holds one class only; Stage 3 needs rows of both")
    return table


def _terms(model: Model) -> TermSet:
    """Return the model's terms, in the order of a design: trees, then direct terms."""
    trees, direct = _parts(model)
    columns = tuple(term.column for term in direct)
    vocabulary = Vocabulary(
        columns,
        np.array([ORIGINAL if isinstance(c, RAW) else PAIR for c in columns], np.intp),
        np.zeros((len(columns), 0)),
        np.array([term.centre for term in direct], np.float64),
        np.array([term.scale for term in direct], np.float64),
    )
    return TermSet(vocabulary, tuple(t.tree for t in trees), np.arange(len(columns)))


def _aim(model: Model) -> Aim:
    chosen = model.training["selection"]["chosen"]
    offer = Offer(chosen["menu"], chosen["n_trees"], chosen["n_pairs"])
    return Aim(offer, float(chosen["l1_ratio"]), float(chosen["l1"]))


def _settings(model: Model) -> Settings:
    limits = model.settings["limits"]
    together = limits["interactions"]
    allowed = Permissions(
        monotone_directions(model),
        frozenset(limits["exclude"]),
        frozenset(limits["linear_only"]),
        None if together is None else tuple(frozenset(names) for names in together),
        limits["penalty"],
    )
    return Settings(**{**model.settings, "limits": allowed})


def _record(model: Model, aim: Aim, estimated: Estimate) -> dict[str, Any]:
    """Return what the file keeps of the fit; how trees and penalty were found stays history."""
    kept = ("class_factors", "validation", "vocabulary_size", "rounds")
    selection = {**model.training["selection"], "chosen": aim.to_dict()}
    history = {key: model.training[key] for key in kept}
    return {**history, "objective": estimated.objective(), "selection": selection}


def _assembled(
    model: Model, table: Table, trained: TrainedTerms, settings: Settings, record: dict[str, Any]
) -> Model:
    named = labels(model.classes, model.positive)
    data = fingerprint(table.inputs, table.y, table.weight, named, settings.profile)
    made = assemble(table, trained, settings, model.classes, model.positive, data, record)
    distinct = {**made.training, "distinct_rows": data["distinct_rows"]}
    return replace(made, settings=model.settings, training=distinct, ledger=model.ledger)
