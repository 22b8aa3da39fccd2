"""How far an effect moves when the rows are drawn again: a band from the bootstrap.

An effect is linear in the coefficients of its terms. So each term's effect for a coefficient of one
is taken once, and every resample of the coefficients is a weighted sum of these. A number that is
added to the whole curve goes with the intercept and says nothing of the variable, so that every
resample is moved to the mean over the rows that the curve itself has. The band covers the estimates
of the coefficients given the terms, as `rpte.bootstrap` does, not the choice of terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.figures.subject import Subject
from rpte.model.classes import ClassesModel
from rpte.model.effect import Background, Cells, effect
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats

LEVEL = 0.95


def check_bootstrap(subject: Subject, bootstrap: Any) -> None:
    """Refuse what is no bootstrap of the model."""
    model, drawn = subject.model, getattr(bootstrap, "model", None)
    if drawn is None or not hasattr(bootstrap, "coefficients"):
        raise InputError(f"bootstrap={bootstrap!r}; give what rpte.bootstrap(model, X, y) returns")
    if _terms(drawn) != _terms(model):
        raise InputError(
            "bootstrap is of another model; give rpte.bootstrap(model, X, y) of this one"
        )


def _terms(model: Model | ClassesModel) -> Any:
    return [each.components for each in model.models]


def effect_band(
    subject: Subject, source: str, cells: Sequence[Cells], bootstrap: Any
) -> tuple[Floats, Floats]:
    """Return the ends of the band of a variable's effect, each (scores, cells).

    Of several classes, each resample is also moved by what leaves all probabilities as they are, so
    that its mean over the classes is that of the model.
    """
    check_bootstrap(subject, bootstrap)
    component, schema = subject.components(source)[0], subject.outline.schema
    rows = subject.rows
    if rows is None:
        raise InputError("the band of an effect is centred over rows; give a table: X=X")
    units = [_units(component, schema, source, some, rows) for some in cells]
    names = [name for name, _ in units[0]]
    matrix = np.hstack([np.array([values for _, values in each]) for each in units])
    places = [bootstrap.names.index(name) for name in names]
    drawn = bootstrap.coefficients
    drawn = (drawn[:, None, :] if drawn.ndim == 2 else drawn)[:, :, places]
    fitted = _coefficients(subject, source, names)
    means = _mean_units(component, source, rows)
    found = drawn @ matrix - ((drawn - fitted) @ means)[:, :, None]
    if found.shape[1] > 1:
        centre = (fitted @ matrix).mean(axis=0)
        found = found - found.mean(axis=1, keepdims=True) + centre
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def _coefficients(subject: Subject, source: str, names: Sequence[str]) -> Floats:
    """Return the model's own coefficients of some terms, (scores, terms)."""
    found = []
    for component in subject.components(source):
        own: dict[str, float] = {term.name: term.coefficient for term in component.direct}
        for tree in component.trees:
            own |= {tree.leaf_name(n): leaf.coefficient for n, leaf in enumerate(tree.leaves)}
        found.append([own[name] for name in names])
    return np.array(found)


def _mean_units(component: Component, source: str, rows: Background) -> Floats:
    """Return the mean over rows of a variable's own terms at coefficient one, 0 of shared ones."""
    return np.array(
        [
            float(rows.mean(part.contribution(rows.inputs))) if len(set(part.sources)) == 1 else 0.0
            for _, part in _of_one(component)
            if source in part.sources
        ]
    )


def _units(
    component: Component, schema: Schema, source: str, cells: Cells, rows: Background
) -> list[tuple[str, Floats]]:
    """Return the effect of each leaf and direct term that reads a variable, at coefficient one."""
    found = []
    for name, part in _of_one(component):
        if source not in part.sources:
            continue
        tree = isinstance(part, TreeTerms)
        alone = Component("", (part,) if tree else (), () if tree else (part,))  # type: ignore[arg-type]
        values = effect(alone, schema, source, cells, rows).whole
        assert values is not None
        found.append((name, values))
    return found


def _of_one(component: Component) -> Iterator[tuple[str, TreeTerms | DirectTerm]]:
    """Yield each leaf, alone in its tree, and each direct term with a coefficient of one."""
    for tree in component.trees:
        for number in range(len(tree.leaves)):
            leaves = tuple(
                replace(leaf, coefficient=float(place == number))
                for place, leaf in enumerate(tree.leaves)
            )
            yield tree.leaf_name(number), replace(tree, leaves=leaves)
    for term in component.direct:
        yield term.name, replace(term, coefficient=1.0)
