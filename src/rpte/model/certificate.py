"""What a fit writes down so that others can check it: the order of leaves, and the tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.limits import column_effect
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.order import is_orderable, ordered_leaves

if TYPE_CHECKING:
    from rpte.model.model import Model

SIGNS = {"increasing": 1, "decreasing": -1}


def stage3_tolerance(lambda_max: float, l1: float) -> float:
    """Return the largest residual of the optimality conditions that a fit may end with."""
    return max(min(1e-6 * lambda_max, 1e-3 * l1), 1e-12)


def monotone_directions(model: Model) -> dict[str, int]:
    """Return the variables that the model claims to be monotone in, +1 for increasing."""
    claimed: Mapping[str, str] = model.settings.get("limits", {}).get("monotone", {})
    return {name: SIGNS[text] for name, text in claimed.items()}


def monotone_certificate(model: Model) -> list[dict[str, Any]]:
    """Return, for each monotone variable, what the proof of its direction rests on.

    The component that reads it, how many pairs of leaves are ordered, and which way each direct
    term moves the score when the variable rises (0: it does not order the variable, such as a
    missing flag).
    """
    return [_certificate(model, name, sign) for name, sign in monotone_directions(model).items()]


def _certificate(model: Model, source: str, sign: int) -> dict[str, Any]:
    readers = list(readers_of(model, source))
    trees = [part for _, part in readers if isinstance(part, TreeTerms)]
    terms = [part for _, part in readers if isinstance(part, DirectTerm)]
    return {
        "variable": source,
        "direction": "increasing" if sign > 0 else "decreasing",
        "component": readers[0][0] if readers else None,
        "leaf_pairs": sum(len(leaf_pairs(tree, source, sign)) for tree in trees),
        "direct": [{"term": term.name, "sign": term_sign(term, source)} for term in terms],
    }


def readers_of(model: Model, source: str) -> Iterator[tuple[str, TreeTerms | DirectTerm]]:
    """Yield the trees and direct terms that read a variable, with their component's name."""
    for component, part in model.parts():
        if source in part.sources:
            yield component.name, part


def leaf_pairs(tree: TreeTerms, source: str, sign: int) -> list[tuple[int, int]]:
    """Return the pairs (a, b) of leaves of which a must not lie above b."""
    return ordered_leaves(tree.tree, {source: sign}) if is_orderable(tree.tree, source) else []


def term_sign(term: DirectTerm, source: str) -> int:
    """Return which way a direct term moves the score when a variable rises."""
    effect = column_effect(term.column, source) or 0
    return effect * int(np.sign(term.coefficient))
