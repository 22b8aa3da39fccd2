"""From the coefficients of several classes to the model: one structure, counted for every class."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.columns.units import any_active, bound_under
from rpte.estimation.ownership import components
from rpte.fit.assemble import Drawn, Measured, Part, made_leaf, measure, name_parts
from rpte.fit.coefficients import ClassesEstimate
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.model.class_limits import class_certificate
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.rows.training_rows import TrainingRows
from rpte.table.table import Table
from rpte.utils.arrays import Mask


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
    drawn = _trees(estimated, settings)
    direct = _direct(estimated)
    groups = components(
        [*(tree.terms.sources for tree in drawn[0]), *(term.sources for term in direct[0])]
    )

    def measured_in(k: int) -> list[Measured]:
        parts: list[Part] = [*(tree.terms for tree in drawn[k]), *direct[k]]
        in_groups = [[parts[i] for i in group] for group in groups]
        return measure(lambda function: rows.map(_OfClass(function, k)), drawn[k], in_groups)

    measured = [measured_in(k) for k in range(len(fit.coefficients))]
    spread = [sum(group.spread**2 for group in same) for same in zip(*measured, strict=True)]
    first = [group.parts[0].sources for group in measured[0]]
    order = sorted(range(len(groups)), key=lambda g: (-round(spread[g], 9), first[g]))
    named = tuple(name_parts([found[g].parts for g in order]) for found in measured)
    names = [part.name for component in named[0] for part in component.parts]
    means = np.array([[m for g in order for m in found[g].means] for found in measured])
    assert isinstance(training.predicts, ClassesTarget)
    model = ClassesModel(
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
    return replace(model, training={**model.training, "monotone": class_certificate(model)})


def _trees(estimated: ClassesEstimate, settings: Settings) -> list[list[Drawn]]:
    """Return for each class the trees that say something of any, with its coefficients.

    Subtrees that say nothing of any class are drawn as one leaf.
    """
    terms, fit = estimated.terms, estimated.fit
    sizes = terms.by_leaf(np.column_stack([fit.intercepts, fit.coefficients]))
    factors = replace(terms, leaves=None).penalties(settings.limits)[0]
    found: list[list[Drawn]] = [[] for _ in fit.coefficients]
    first = 0
    for tree, size in zip(terms.trees, sizes, strict=True):
        own = factors[first : first + tree.n_leaves]
        first += tree.n_leaves
        active = any_active(size.T)

        def idle(some: list[int], active: Mask = active) -> bool:
            return not active[some].any()

        pruned, members = tree.merge_leaves(idle)
        if pruned is None:
            continue
        for drawn, coefficients in zip(found, size, strict=True):
            leaves = tuple(made_leaf(coefficients, own, old) for old in members)
            drawn.append(Drawn(TreeTerms("", pruned, leaves), tree, members, []))
    return found


def _direct(estimated: ClassesEstimate) -> list[list[DirectTerm]]:
    """Return for each class the direct terms that are active in any, with its coefficients."""
    vocabulary, direct = estimated.terms.vocabulary, estimated.terms.direct
    first, sizes = len(estimated.terms.leaf_terms), estimated.fit.coefficients
    kept = np.flatnonzero(any_active(sizes[:, first:].T)).tolist()

    def term(k: int, d: int) -> DirectTerm:
        j, size = direct[d], float(sizes[k, first + d])
        scale, centre = float(vocabulary.scale[j]), float(vocabulary.centre[j])
        factor, column = float(estimated.problem.penalty[first + d]), vocabulary.columns[j]
        return DirectTerm("", column, size / scale + 0.0, centre, scale, 0.0, 0.0, factor)

    return [[term(k, d) for d in kept] for k in range(len(sizes))]


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
