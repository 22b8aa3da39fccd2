"""The user's limits: the certificates that a fit writes of them, and their checks.

All is read from the file, nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.kinds import RAW
from rpte.columns.limits import column_effect
from rpte.model.check import MONOTONE, Check, checked, monotone_text
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
    component = next((c for c in model.components if source in c.sources), None)
    trees, terms = _readers(model, source)
    effects = [column_effect(term.column, source) or 0 for term in terms]
    signs = [effect * int(np.sign(t.coefficient)) for effect, t in zip(effects, terms, strict=True)]
    return {
        "variable": source,
        "direction": "increasing" if sign > 0 else "decreasing",
        "component": None if component is None else component.name,
        "leaf_pairs": sum(len(_leaf_pairs(tree, source, sign)) for tree in trees),
        "direct": [{"term": t.name, "sign": s} for t, s in zip(terms, signs, strict=True)],
    }


def _readers(model: Model, source: str) -> tuple[list[TreeTerms], list[DirectTerm]]:
    """Return the trees and the direct terms that read a variable."""
    trees = [tree for tree in model.trees if source in tree.sources]
    return trees, [term for term in model.direct if source in term.sources]


def _leaf_pairs(tree: TreeTerms, source: str, sign: int) -> list[tuple[int, int]]:
    """Return the pairs (a, b) of leaves of which a must not lie above b."""
    return ordered_leaves(tree.tree, {source: sign}) if is_orderable(tree.tree, source) else []


def limit_checks(model: Model) -> list[Check]:
    """Return a check for each of the user's limits."""
    limits = model.settings.get("limits", {})
    checks = [_monotone(model, name, sign) for name, sign in monotone_directions(model).items()]
    if checks or model.training.get("monotone"):
        checks.append(_stored_certificate(model))
    if limits.get("exclude"):
        faults = [f"uses '{name}'" for name in model.sources if name in limits["exclude"]]
        checks.append(checked("excluded variables", faults, f"none of {limits['exclude']} is read"))
    if limits.get("linear_only"):
        faults = _not_linear(model, set(limits["linear_only"]))
        checks.append(checked("linear only", faults, f"{limits['linear_only']} have slopes alone"))
    if limits.get("interactions") is not None:
        faults = _forbidden_company(model, [set(names) for names in limits["interactions"]])
        evidence = "every component lies inside an allowed set"
        checks.append(checked("interactions", faults, evidence))
    return checks


def _not_linear(model: Model, names: set[str]) -> list[str]:
    return [
        f"{part.name} reads {sorted(names & set(part.sources))}"
        for _, part in model.parts()
        if names & set(part.sources)
        and not (isinstance(part, DirectTerm) and isinstance(part.column, RAW))
    ]


def _forbidden_company(model: Model, sets: list[set[str]]) -> list[str]:
    return [
        f"{c.name} joins {list(c.sources)}"
        for c in model.components
        if len(c.sources) > 1 and not any(set(c.sources) <= allowed for allowed in sets)
    ]


def _stored_certificate(model: Model) -> Check:
    """The stored certificates of monotone variables are those that the model itself gives."""
    stored = list(model.training.get("monotone", []))
    found = monotone_certificate(model)
    faults = [
        f"stored {old}, found {new}" for old, new in zip(stored, found, strict=False) if old != new
    ]
    if len(stored) != len(found):
        faults.append(f"{len(stored)} are stored, {len(found)} variables are to be monotone")
    return checked("monotone certificate", faults, f"{len(found)} as stored, found again")


def _monotone(model: Model, source: str, sign: int) -> Check:
    """The score never moves against a direction when only one number changes."""
    trees, terms = _readers(model, source)
    faults = [fault for tree in trees for fault in _tree_order(tree, source, sign)]
    faults += [fault for term in terms for fault in _term_order(term, source, sign)]
    pairs = sum(len(_leaf_pairs(tree, source, sign)) for tree in trees)
    evidence = (
        f"{pairs} pairs of leaves that agree elsewhere are ordered, {len(terms)} direct terms have "
        "the right sign; missing and special codes are outside the claim"
    )
    word = "increasing" if sign > 0 else "decreasing"
    return checked(MONOTONE + monotone_text(source, word), faults, evidence)


def _tree_order(tree: TreeTerms, source: str, sign: int) -> list[str]:
    if not is_orderable(tree.tree, source):
        return [f"{tree.name} reads {source} otherwise than by thresholds on its value"]
    return [
        f"{tree.leaf_name(a)} is above {tree.leaf_name(b)}"
        for a, b in _leaf_pairs(tree, source, sign)
        if tree.leaves[a].coefficient > tree.leaves[b].coefficient
    ]


def _term_order(term: DirectTerm, source: str, sign: int) -> list[str]:
    effect = column_effect(term.column, source)
    if effect is None:
        return [f"{term.name} moves both ways with {source}"]
    return [f"{term.name} has the wrong sign"] if effect * sign * term.coefficient < 0 else []
