"""Several causes of events: one structure of the terms that were found for any of them.

Each cause is searched by itself, beside the baseline of an event of any cause, so that the numbers
in its terms (knots, centres, thresholds) are those that the other causes would have. The terms of
all causes together are then admitted under the ownership policy, and Stage 3 is solved for each
cause over all of them, at the penalty that its own validation has chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

import numpy as np

from rpte.columns.kinds import RAW, Column, Scale
from rpte.columns.units import is_active
from rpte.estimation.ownership import admit
from rpte.fit.assemble import assemble, with_baseline
from rpte.fit.refit import estimate_terms, penalty_factors, penalty_of, record_of, term_set
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.model.causes import CausesModel
from rpte.model.certificate import monotone_certificate
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms, joined, sum_of
from rpte.model.verify_structure import conditions_allowed, is_flag
from rpte.structure.tree import Tree, path_conditions
from rpte.table.decimals import number_text
from rpte.table.schema import Schema
from rpte.table.table import Table
from rpte.utils.arrays import Index
from rpte.vocabulary.redundancy import Registry

Part = TreeTerms | DirectTerm
P = TypeVar("P", TreeTerms, DirectTerm)
Key = Column | Tree


@dataclass(slots=True)
class _Found:
    """A part that was found for some causes, with what it gains in all of them."""

    part: Part
    conditions: int
    gain: float = 0.0


def join_causes(trainings: Sequence[Training], models: Sequence[Model]) -> CausesModel:
    """Fit all causes over one structure, made of the terms of models that were found for each."""
    settings = trainings[0].settings
    trees, direct = _admitted(list(_ranked(trainings, models)), _table(trainings[0]), settings)
    kept = _of_one_shape(trainings, models, direct)
    said = np.zeros(sum(len(tree.leaves) for tree in trees) + len(direct), np.bool_)
    leaves = np.arange(len(said) - len(direct))
    fitted = []
    for training, model, own in zip(trainings, models, kept, strict=True):
        some = [direct[j] for j in own]
        terms, factors = term_set(trees, some), penalty_factors(trees, some)
        penalty = penalty_of(model, training.rows.whole())
        estimated = estimate_terms(training, terms, factors, penalty)
        record = record_of(model, penalty, estimated)
        record["selection"] = {**record["selection"], "frontier": []}
        trained = estimated.trained(terms)
        places = np.concatenate([leaves, len(leaves) + own])
        said[places] |= is_active(trained.coefficients[0])
        fitted.append((training, trained, record, places))
    made = [
        assemble(training, replace(trained, said=said[places]), record)
        for training, trained, record, places in fitted
    ]
    one_each = [model for model in made if isinstance(model, Model)]
    return CausesModel(tuple(_named_alike(trainings, one_each)))


def _of_one_shape(
    trainings: Sequence[Training], models: Sequence[Model], direct: Sequence[DirectTerm]
) -> list[Index]:
    """Return the direct terms that each cause may have, by their places.

    Where a variable has one shape, that is the shape found for the cause, or, where none was found
    for it, the one that gains most for another cause.
    """
    every = np.arange(len(direct))
    if trainings[0].settings.shapes == "free":
        return [every] * len(models)
    shapes: dict[str, dict[int, list[Part]]] = {}
    for number, model in enumerate(models):
        for term in model.direct:
            if (name := _shape_of(term, model.schema)) is not None:
                shapes.setdefault(name, {}).setdefault(number, []).append(term)
    found = []
    for number in range(len(models)):
        own: dict[str, set[Key]] = {}
        for name, by_cause in shapes.items():
            gains = {k: _gain(trainings[k], parts) for k, parts in by_cause.items()}
            best = number if number in by_cause else max(gains, key=lambda k: (gains[k], -k))
            own[name] = {_key(part) for part in by_cause[best]}
        names = [_shape_of(term, models[0].schema) for term in direct]
        may = [n is None or term.column in own[n] for n, term in zip(names, direct, strict=True)]
        found.append(every[np.array(may, np.bool_)])
    return found


def _shape_of(term: DirectTerm, schema: Schema) -> str | None:
    """Return the variable of whose shape a term is; None for other terms."""
    alone = len(set(term.sources)) == 1 and not is_flag(term.column, schema)
    return term.sources[0] if alone else None


def _table(training: Training) -> Table:
    """Return the rows as people count them."""
    assert training.hazards is not None
    return training.hazards.table


def _key(part: Part) -> Key:
    return part.column if isinstance(part, DirectTerm) else part.tree


def _name(part: Part) -> str:
    """Return what ties between parts are broken by, which stays as it is."""
    if not isinstance(part, DirectTerm):
        return str(part.tree.to_dict())
    name, centre = part.column.name, number_text(part.centre)
    if part.column.binary:
        return name
    if not part.column.centred:
        return f"per unit of {name} (missing adds 0)"
    operand = f"({name})" if isinstance(part.column, Scale) else name
    return f"slope of {operand} from {centre} (missing counts as {centre})"


def _ranked(trainings: Sequence[Training], models: Sequence[Model]) -> Iterable[_Found]:
    """Return the parts of all models, those first that gain most."""
    found: dict[Key, _Found] = {}
    for training, model in zip(trainings, models, strict=True):
        for _, part in model.parts():
            if _key(part) not in found:
                found[_key(part)] = _Found(part, _conditions(model, part))
            found[_key(part)].gain += _gain(training, [part])
    return sorted(found.values(), key=lambda each: (-round(each.gain, 9), _name(each.part)))


def _gain(training: Training, parts: Sequence[Part]) -> float:
    """Return what parts gain: about their variance for each event, in the log-likelihood."""
    return round(training.counted.target_total * _variance(_table(training), parts), 9)


def _conditions(model: Model, part: Part) -> int:
    if isinstance(part, DirectTerm):
        return part.column.conditions(model.schema)
    return sum(path_conditions(path, model.schema) for path in part.tree.paths())


def _variance(table: Table, parts: Sequence[Part]) -> float:
    """Return the variance of what some parts add to the score."""
    values = sum_of(parts, table.inputs)
    mean = np.average(values, weights=table.weight)
    return float(np.average((values - mean) ** 2, weights=table.weight))


def _admitted(
    ranked: list[_Found], table: Table, settings: Settings
) -> tuple[list[TreeTerms], list[DirectTerm]]:
    """Return the trees and direct terms that the policy allows together, within the budget.

    The better of two trees that read a variable in common stays, and of columns that are equal or
    complementary the better one.
    """
    most, load = conditions_allowed(settings.to_dict()), 0
    trees: list[TreeTerms] = []
    direct: list[DirectTerm] = []
    columns = Registry()
    for each in ranked:
        if most is not None and load + each.conditions > most:
            continue
        if isinstance(each.part, TreeTerms):
            taken = {source for tree in trees for source in tree.sources}
            if taken.intersection(each.part.sources) or len(trees) == settings.max_trees:
                continue
            trees.append(each.part)
        else:
            known = columns.count
            columns.number(np.asarray(each.part.column.evaluate(table.inputs), np.float64))
            if columns.count == known:
                continue
            direct.append(each.part)
        load += each.conditions
    admission = settings.admission()
    raw = np.array([isinstance(term.column, RAW) for term in direct], np.bool_)
    sources, owned = [term.sources for term in direct], [tree.sources for tree in trees]
    ranking = np.arange(len(direct))
    chosen = admit(admission.policy, sources, raw, owned, ranking, admission.rule)
    return trees, [direct[j] for j in chosen]


def _named_alike(trainings: Sequence[Training], models: Sequence[Model]) -> Iterable[Model]:
    """Yield the models with common names: a term has one name, and a component that of all causes.

    Components stand in the order of how far they move the scores of all causes apart. Where one
    falls apart for a cause, its first part keeps the name and others get new ones.
    """
    parts = {_key(part): part for model in models for _, part in model.parts()}
    groups = joined(part.sources for part in parts.values())

    def spread(group: frozenset[str]) -> float:
        inside = ([part for _, part in model.parts() if _in(part, group)] for model in models)
        return sum(_variance(_table(t), p) for t, p in zip(trainings, inside, strict=True))

    ordered = sorted(groups, key=lambda group: (-round(spread(group), 9), sorted(group)))
    names: dict[Key, str] = {}
    trees, direct = count(1), count(1)
    for group in ordered:
        inside = sorted((p for p in parts.values() if _in(p, group)), key=_name)
        for part in inside:
            tree = isinstance(part, TreeTerms)
            names[_key(part)] = f"T{next(trees)}" if tree else f"D{next(direct)}"
    for training, model in zip(trainings, models, strict=True):
        yield _renamed(training, model, names, ordered)


def _in(part: Part, group: frozenset[str]) -> bool:
    return set(part.sources) <= group


def _renamed(
    training: Training, model: Model, names: dict[Key, str], groups: Sequence[frozenset[str]]
) -> Model:
    """Return a model whose terms have some names, in the order of these."""
    fresh, found = count(len(groups) + 1), []
    for number, group in enumerate(groups, 1):
        own = [c for c in model.components if _in(c.parts[0], group)]
        renamed = [_with_names(component, names) for component in own]
        renamed.sort(key=lambda c: min(int(part.name[1:]) for part in c.parts))
        for place, component in enumerate(renamed):
            name = f"C{number if place == 0 else next(fresh)}"
            found.append(replace(component, name=name))
    new = {part.name: names[_key(part)] for _, part in model.parts()}
    kept = model.training
    means = {new[name]: mean for name, mean in kept["mean_contributions"].items()}
    order = [part.name for component in found for part in component.parts]
    record = {
        **kept,
        "mean_contributions": {name: means[name] for name in order},
        "ties": [[_leaf(name, new) for name in tied] for tied in kept["ties"]],
    }
    assert training.hazards is not None
    made = replace(model, components=tuple(found), training=record)
    made = with_baseline(made, training.hazards)
    return replace(made, training={**record, "monotone": monotone_certificate(made)})


def _with_names(component: Component, names: dict[Key, str]) -> Component:
    """Return a component whose terms have some names, in the order of these."""

    def named(parts: Iterable[P]) -> tuple[P, ...]:
        found = [replace(part, name=names[_key(part)]) for part in parts]
        return tuple(sorted(found, key=lambda part: int(part.name[1:])))

    return replace(component, trees=named(component.trees), direct=named(component.direct))


def _leaf(name: str, new: dict[str, str]) -> str:
    """Return the name of a leaf of a tree that has another name now."""
    tree, _, leaf = name.partition(".")
    return f"{new[tree]}.{leaf}"
