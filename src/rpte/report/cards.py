"""The whole model as plain values: each component a card with its trees, terms and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.losses import BINOMIAL
from rpte.model.effect import Background, background
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms, path_text
from rpte.report.curves import shapes, surfaces
from rpte.structure.tree import Branch, Condition
from rpte.table.inputs import Inputs


def cards(
    model: Model, inputs: Inputs | None, weight: NDArray[np.float64] | None = None
) -> list[dict[str, Any]]:
    """Return every component, in the order in which they are summed.

    `inputs` are rows over which curves and ranges are shown and shared terms are averaged.
    """
    rows = None if inputs is None else background(inputs, model.sources, weight)
    return [_card(model, component, inputs, rows) for component in model.components]


def _card(
    model: Model, component: Component, inputs: Inputs | None, rows: Background | None
) -> dict[str, Any]:
    rules = [rule for rule in model.rules() if rule.component == component.name]
    total = None if inputs is None or not inputs.n_rows else component.subtotal(inputs)
    ends = None if total is None else [float(f(total)) for f in (np.min, np.median, np.max)]
    return {
        "name": component.name,
        "sources": list(component.sources),
        "mu": len(rules),
        "miu": sum(rule.inspection_units for rule in rules),
        "range": ends,
        "trees": [tree_card(model, tree) for tree in component.trees],
        "direct": [_term(term) for term in component.direct],
        "shapes": shapes(model, component, rows),
        "surfaces": surfaces(model, component, rows),
    }


def tree_card(model: Model, tree: TreeTerms) -> dict[str, Any]:
    """Return a tree as nested nodes, and its leaves as rows."""
    leaves = [
        {"name": tree.leaf_name(n), **_counts(leaf), "conditions": path_text(path, model.schema)}
        for n, path, leaf in tree.rules()
    ]
    return {
        "name": tree.name,
        "sources": list(tree.sources),
        "support": sum(leaf.support for leaf in tree.leaves),
        "leaves": leaves,
        "root": _node(model, tree, tree.tree.root),
    }


def _counts(term: Leaf | DirectTerm) -> dict[str, Any]:
    return {
        "support": term.support,
        "events": term.events,
        "rate": term.events / term.support if term.support else None,
        "coefficient": term.coefficient,
        "odds_ratio": finite(BINOMIAL.effect(term.coefficient)),
    }


def _node(model: Model, tree: TreeTerms, node: Branch | int) -> dict[str, Any]:
    """Return the two ways out of a node; a way ends in a leaf's number or in another node."""
    if not isinstance(node, Branch):
        return {"leaf": node, "support": tree.leaves[node].support}
    ways = []
    for holds, child in ((True, node.yes), (False, node.no)):
        below = _node(model, tree, child)
        ways.append({"condition": Condition(node.split, holds).text(model.schema), **below})
    return {"ways": ways, "support": sum(way["support"] for way in ways)}


def _term(term: DirectTerm) -> dict[str, Any]:
    return {
        "name": term.name,
        "text": term.text,
        "kind": term.column.kind,
        "binary": term.column.binary,
        "sources": list(term.sources),
        **_counts(term),
        "unit": term.scale,
        "per_unit": finite(BINOMIAL.effect(term.coefficient * term.scale)),
        "centre": term.centre,
    }


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, None for what it cannot."""
    return float(value) if np.isfinite(value) else None
