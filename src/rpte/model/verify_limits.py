"""Checks of the user's limits, monotone directions above all: read from the file, not sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpte.columns.limits import column_effect
from rpte.model.certificate import (
    leaf_pairs,
    monotone_certificate,
    monotone_directions,
    readers_of,
)
from rpte.model.check import Check, checked
from rpte.model.ledger import monotone_claim
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.verify_structure import is_raw
from rpte.structure.order import is_orderable

if TYPE_CHECKING:
    from rpte.model.model import Model


def limit_checks(model: Model) -> list[Check]:
    """Return a check for each of the user's limits."""
    limits = model.settings.get("limits", {})
    checks = [monotone(model, name, sign) for name, sign in monotone_directions(model).items()]
    if checks or model.training.get("monotone"):
        checks.append(certificate(model))
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
        if names & set(part.sources) and not (isinstance(part, DirectTerm) and is_raw(part))
    ]


def _forbidden_company(model: Model, sets: list[set[str]]) -> list[str]:
    return [
        f"{c.name} joins {list(c.sources)}"
        for c in model.components
        if len(c.sources) > 1 and not any(set(c.sources) <= allowed for allowed in sets)
    ]


def certificate(model: Model) -> Check:
    """The stored certificates of monotone variables are those that the model itself gives."""
    stored = list(model.training.get("monotone", []))
    found = monotone_certificate(model)
    faults = [
        f"stored {old}, found {new}" for old, new in zip(stored, found, strict=False) if old != new
    ]
    if len(stored) != len(found):
        faults.append(f"{len(stored)} are stored, {len(found)} variables are to be monotone")
    return checked("monotone certificate", faults, f"{len(found)} as stored, found again")


def monotone(model: Model, source: str, sign: int) -> Check:
    """The score never moves against a direction when only one number changes; no sampling."""
    faults: list[str] = []
    pairs = terms = 0
    for _, part in readers_of(model, source):
        if isinstance(part, TreeTerms):
            pairs += len(leaf_pairs(part, source, sign))
            faults += _tree_order(part, source, sign)
        else:
            terms += 1
            faults += _term_order(part, source, sign)
    word = "increasing" if sign > 0 else "decreasing"
    evidence = (
        f"{pairs} pairs of leaves that agree elsewhere are ordered, {terms} direct terms have the "
        "right sign; missing and special codes are outside the claim"
    )
    return checked(monotone_claim(source, word), faults, evidence)


def _tree_order(tree: TreeTerms, source: str, sign: int) -> list[str]:
    if not is_orderable(tree.tree, source):
        return [f"{tree.name} reads {source} otherwise than by thresholds on its value"]
    return [
        f"{tree.leaf_name(a)} is above {tree.leaf_name(b)}"
        for a, b in leaf_pairs(tree, source, sign)
        if tree.leaves[a].coefficient > tree.leaves[b].coefficient
    ]


def _term_order(term: DirectTerm, source: str, sign: int) -> list[str]:
    effect = column_effect(term.column, source)
    if effect is None:
        return [f"{term.name} moves both ways with {source}"]
    return [f"{term.name} has the wrong sign"] if effect * sign * term.coefficient < 0 else []
