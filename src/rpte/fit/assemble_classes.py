"""From the coefficients of several classes to the model: one structure, counted for every class."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.columns.units import any_active, bound_under
from rpte.estimation.ownership import components
from rpte.fit.assemble import Measured, Part, measure, name_parts
from rpte.fit.coefficients import ClassesEstimate
from rpte.fit.training import Training
from rpte.model.classes import ClassesModel, ClassesTarget
from rpte.model.parts import DirectTerm
from rpte.rows.training_rows import TrainingRows
from rpte.table.table import Table


@dataclass(frozen=True, slots=True)
class _OfClass:
    """What a function returns for a block whose target is 1.0 in one class, 0.0 elsewhere."""

    function: Callable[[Table], Any]
    k: int

    def __call__(self, block: Table) -> Any:
        return self.function(replace(block, y=(block.y == self.k).astype(np.float64)))


def assemble_classes(
    training: Training, estimated: ClassesEstimate, record: dict[str, Any]
) -> ClassesModel:
    """Build the model that is stored: terms active in any class, in components.

    Components stand in the order of how far they move the scores of all classes apart.
    """
    rows, settings, fit = training.rows, training.settings, estimated.fit
    kept = np.flatnonzero(any_active(fit.coefficients.T))
    by_class = [_terms(estimated, k, kept) for k in range(len(fit.coefficients))]
    groups = components([term.sources for term in by_class[0]])

    def measured_in(k: int) -> list[Measured]:
        parts = [[by_class[k][i] for i in group] for group in groups]
        return measure(lambda function: rows.map(_OfClass(function, k)), [], parts)

    measured = [measured_in(k) for k in range(len(by_class))]
    spread = [sum(group.spread**2 for group in same) for same in zip(*measured, strict=True)]
    first = [group.parts[0].sources for group in measured[0]]
    order = sorted(range(len(groups)), key=lambda g: (-round(spread[g], 9), first[g]))
    named = tuple(name_parts([found[g].parts for g in order]) for found in measured)
    names = [part.name for component in named[0] for part in component.parts]
    means = np.array([[m for g in order for m in found[g].means] for found in measured])
    assert isinstance(training.predicts, ClassesTarget)
    return ClassesModel(
        schema=rows.schema,
        target=replace(training.predicts, totals=_totals(rows, len(named))),
        intercepts=tuple(fit.intercepts.tolist()),
        by_class=named,
        ownership=settings.ownership,
        settings=settings.to_dict(),
        bound=bound_under(rows.schema, settings.to_dict()),
        training={
            "rows": rows.total_weight,
            "distinct_rows": rows.n_rows,
            "ties": [],
            "mean_contributions": dict(zip(names, means.T.tolist(), strict=True)),
            "monotone": [],
            **record,
        },
        data=training.data,
    )


def _terms(estimated: ClassesEstimate, k: int, kept: Any) -> list[Part]:
    """Return the terms that are active in any class, with the coefficients of one."""
    vocabulary, direct = estimated.terms.vocabulary, estimated.terms.direct
    found: list[Part] = []
    for d in kept.tolist():
        j = direct[d]
        scale, centre = float(vocabulary.scale[j]), float(vocabulary.centre[j])
        size = float(estimated.fit.coefficients[k, d])
        factor, column = float(estimated.problem.penalty[d]), vocabulary.columns[j]
        found.append(DirectTerm("", column, size / scale + 0.0, centre, scale, 0.0, 0.0, factor))
    return found


def _totals(rows: TrainingRows, classes: int) -> tuple[float, ...]:
    """Return the weight of each class."""
    found = sum(rows.map(_ClassWeights(classes)))
    return tuple(np.asarray(found, np.float64).tolist())


@dataclass(frozen=True, slots=True)
class _ClassWeights:
    """The weight of each class in a block, (classes,)."""

    classes: int

    def __call__(self, block: Table) -> Any:
        return np.bincount(block.y.astype(np.intp), block.weight, self.classes)
