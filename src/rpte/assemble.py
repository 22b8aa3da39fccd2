"""From estimated terms to the frozen model: drop what is zero, prune, name, order, bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.bound import audit_bound
from rpte.audit.counting import is_active
from rpte.estimation.ownership import components
from rpte.estimation.terms import TermSet
from rpte.model.model import Label, Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.settings import Settings
from rpte.table.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainedTerms:
    """Terms with their coefficients, in the order of `Design`."""

    terms: TermSet
    leaf_codes: NDArray[np.int32]
    intercept: float
    coefficients: Floats


def assemble(
    table: Table,
    trained: TrainedTerms,
    settings: Settings,
    classes: tuple[Label, Label],
    positive: int,
    record: dict[str, Any],
) -> Model:
    """Build the model that is stored: active terms only, in components that share no source."""
    parts: list[TreeTerms | DirectTerm] = [*_trees(table, trained), *_direct(table, trained)]
    groups = components([part.sources for part in parts])
    spread = [_spread(table, [parts[i] for i in group]) for group in groups]
    order = sorted(range(len(groups)), key=lambda g: (-spread[g], parts[groups[g][0]].sources))
    named = _named([[parts[i] for i in groups[g]] for g in order])
    return Model(
        schema=table.schema,
        classes=classes,
        positive=positive,
        intercept=float(trained.intercept),
        components=named,
        ownership=settings.ownership,
        settings=settings.to_dict(),
        bound=audit_bound(
            table.schema,
            trees=settings.max_trees,
            leaves=settings.max_leaves,
            depth=settings.max_depth,
            budget=0 if settings.vocabulary == "original" else settings.budget,
        ),
        training={
            "rows": table.total_weight,
            "distinct_rows": table.n_rows,
            "events": float((table.weight * table.y).sum()),
            "mean_contributions": _mean_contributions(table, named),
            **record,
        },
    )


def _trees(table: Table, trained: TrainedTerms) -> list[TreeTerms]:
    """Return the trees that say something, subtrees without an active leaf drawn together."""
    found, start = [], 0
    for tree, codes in zip(trained.terms.trees, trained.leaf_codes, strict=True):
        coefficients = trained.coefficients[start : start + tree.n_leaves]
        start += tree.n_leaves
        idle = ~is_active(coefficients)
        pruned, members = tree.merge_leaves(lambda leaf, idle=idle: bool(idle[leaf]))  # type: ignore[misc]
        if pruned is None:
            continue
        leaves = tuple(_leaf(table, codes, coefficients, old) for old in members)
        found.append(TreeTerms("", pruned, leaves))
    return found


def _leaf(table: Table, codes: NDArray[np.int32], coefficients: Floats, old: list[int]) -> Leaf:
    rows = np.isin(codes, old)
    coefficient = float(coefficients[old[0]]) if is_active(coefficients[old[0]]) else 0.0
    return Leaf(coefficient, *_counts(table, rows))


def _direct(table: Table, trained: TrainedTerms) -> list[DirectTerm]:
    """Return the active direct terms, their coefficients in the user's units."""
    vocabulary, start = trained.terms.vocabulary, sum(trained.terms.leaf_counts)
    found = []
    for coefficient, j in zip(trained.coefficients[start:], trained.terms.direct, strict=True):
        if not is_active(coefficient):
            continue
        column, values = vocabulary.columns[j], vocabulary.values[:, j]
        rows = values > 0 if column.binary else ~np.isnan(values)
        scale = float(vocabulary.scale[j])
        slope = float(coefficient) / scale
        centre = float(vocabulary.centre[j])
        found.append(DirectTerm("", column, slope, centre, scale, *_counts(table, rows)))
    return found


def _counts(table: Table, rows: NDArray[np.bool_]) -> tuple[float, float]:
    weight = table.weight[rows]
    return float(weight.sum()), float((weight * table.y[rows]).sum())


def _spread(table: Table, parts: list[TreeTerms | DirectTerm]) -> float:
    """Return how far a component moves scores apart; components stand in this order."""
    total = np.zeros(table.n_rows)
    for part in parts:
        total += part.contribution(table.inputs)
    mean = np.average(total, weights=table.weight)
    return float(np.round(np.sqrt(np.average((total - mean) ** 2, weights=table.weight)), 9))


def _named(groups: list[list[TreeTerms | DirectTerm]]) -> tuple[Component, ...]:
    """Number components, trees and direct terms through the whole model."""
    out, n_trees, n_direct = [], 0, 0
    for number, group in enumerate(groups, 1):
        trees, direct = [], []
        for part in group:
            if isinstance(part, TreeTerms):
                n_trees += 1
                trees.append(TreeTerms(f"T{n_trees}", part.tree, part.leaves))
            else:
                n_direct += 1
                direct.append(_with_name(part, f"D{n_direct}"))
        out.append(Component(f"C{number}", tuple(trees), tuple(direct)))
    return tuple(out)


def _with_name(term: DirectTerm, name: str) -> DirectTerm:
    return DirectTerm(
        name,
        term.column,
        term.coefficient,
        term.centre,
        term.scale,
        term.support,
        term.events,
    )


def _mean_contributions(table: Table, named: tuple[Component, ...]) -> dict[str, float]:
    return {
        part.name: float(np.average(part.contribution(table.inputs), weights=table.weight))
        for component in named
        for part in component.parts
    }
