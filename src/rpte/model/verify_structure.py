"""Checks that need no table: the partition, ownership, the audit load, the recorded objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.kinds import RAW
from rpte.columns.units import bound_under
from rpte.model.certificate import monotone_directions, stage3_tolerance
from rpte.model.check import Check, checked
from rpte.model.ledger import OPTIMALITY, withdrawn
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.model.reachable import impossible_leaves
from rpte.structure.tree import Branch

if TYPE_CHECKING:
    from rpte.model.model import Model


def structure_checks(model: Model) -> list[Check]:
    """Return the checks of this file."""
    return [
        partition(model),
        ownership(model),
        component_size(model),
        load_within_bound(model),
        *recorded_objective(model),
    ]


def trees_of(model: Model) -> list[TreeTerms]:
    """Return the trees, in order."""
    return [part for _, part in model.parts() if isinstance(part, TreeTerms)]


def direct_of(model: Model) -> list[DirectTerm]:
    """Return the direct terms, in order."""
    return [part for _, part in model.parts() if isinstance(part, DirectTerm)]


def partition(model: Model) -> Check:
    """Leaves of a tree partition the space, and each of them can hold a case.

    Every split sends every input to exactly one side; the conditions of each leaf can be true
    together, which is tried on every case that they can tell apart, not on a sample.
    """
    faults = []
    for tree in trees_of(model):
        reached = list(_reachable(tree.tree.root))
        if reached != list(range(len(tree.leaves))):
            faults.append(f"{tree.name} reaches leaves {reached}")
        for split in tree.tree.splits:
            if split.column.binary != (split.threshold is None):
                faults.append(f"{tree.name} tests {split.column.text} with {split.threshold}")
            if split.threshold is not None and not math.isfinite(split.threshold):
                faults.append(f"{tree.name} has the threshold {split.threshold}")
        empty = impossible_leaves(tree.tree, model.schema)
        faults += [f"no case can reach {tree.leaf_name(number)}" for number in empty]
    leaves = sum(len(tree.leaves) for tree in trees_of(model))
    evidence = (
        f"{leaves} leaves in {len(trees_of(model))} trees; each split has two sides that exclude "
        "each other and cover all values, missing included; each leaf can be reached"
    )
    return checked("leaves partition the inputs", faults, evidence)


def _reachable(node: Branch | int) -> Iterator[int]:
    if isinstance(node, Branch):
        yield from _reachable(node.yes)
        yield from _reachable(node.no)
    else:
        yield node


def ownership(model: Model) -> Check:
    """Sources are disjoint as the stated policy demands."""
    rule = _POLICIES.get(model.ownership)
    if rule is None:
        return Check("ownership", False, f"unknown policy '{model.ownership}'")
    faults = [
        *_shared([(t.name, t.sources) for t in trees_of(model)]),
        *_shared([(c.name, c.sources) for c in model.components]),
        *(f"{c.name} falls apart" for c in model.components if not _connected(c)),
        *rule(model),
    ]
    text = {
        "paper": "trees share no source",
        "separate": "trees share no source with each other or with a direct term",
        "strict": "no source appears in two trees, in a tree and a direct term, or in two direct "
        "terms other than the raw columns of one variable",
        "component": "components share no source and hold at most one tree each",
    }[model.ownership]
    return checked(f"ownership '{model.ownership}'", faults, text)


def _shared(parts: list[tuple[str, tuple[str, ...]]]) -> list[str]:
    return [
        f"{a} and {b} share {sorted(set(s) & set(t))}"
        for (a, s), (b, t) in combinations(parts, 2)
        if set(s) & set(t)
    ]


def _connected(component: Component) -> bool:
    """Tell whether the parts of a component hang together by shared sources."""
    left = list(component.parts)
    reached = {source for part in left[:1] for source in part.sources}
    while linked := [part for part in left if reached & set(part.sources)]:
        reached = reached.union(*(part.sources for part in linked))
        left = [part for part in left if not set(part.sources) <= reached]
    return not left


def _one_tree_each(model: Model) -> list[str]:
    return [f"{c.name} holds {len(c.trees)} trees" for c in model.components if len(c.trees) > 1]


def _separate(model: Model) -> list[str]:
    owned = [(t.name, t.sources) for t in trees_of(model)]
    direct = [(d.name, d.sources) for d in direct_of(model)]
    return [fault for d in direct for t in owned for fault in _shared([t, d])]


def _strict(model: Model) -> list[str]:
    faults = [
        fault
        for a, b in combinations(direct_of(model), 2)
        if not (is_raw(a) and is_raw(b) and a.sources == b.sources)
        for fault in _shared([(a.name, a.sources), (b.name, b.sources)])
    ]
    return [*_separate(model), *faults]


def is_raw(term: DirectTerm) -> bool:
    """Tell whether a term is a variable's value, level or missing flag."""
    return isinstance(term.column, RAW)


_POLICIES: dict[str, Callable[[Any], list[str]]] = {
    "paper": lambda model: [],
    "separate": _separate,
    "strict": _strict,
    "component": _one_tree_each,
}


def component_size(model: Model) -> Check:
    """The largest component, against the limit where the policy sets one."""
    sizes = [len(component.sources) for component in model.components]
    largest = max(sizes, default=0)
    limit = model.settings["max_component_sources"] if model.ownership == "component" else None
    evidence = f"the largest of {len(sizes)} components reads {largest} variables"
    if limit is None:
        return Check("component size", True, f"{evidence}; the policy sets no limit")
    return Check("component size", largest <= limit, f"{evidence}, at most {limit} allowed")


def load_within_bound(model: Model) -> Check:
    """MIU is within the bound known before training, which is computed again and not believed."""
    load, bound = model.audit(), bound_under(model.schema, model.settings)
    evidence = f"{load.miu} conditions in {load.mu} terms; bound before training {bound}"
    if bound != model.bound:
        evidence += f", not {model.bound} as the model says"
    return Check(
        "audit load within its bound", load.miu <= model.bound and bound == model.bound, evidence
    )


def recorded_objective(model: Model) -> list[Check]:
    """The problem that Stage 3 is said to have solved is the one that the parameters ask for.

    Nothing is said of a model whose optimality was withdrawn by an edit.
    """
    name, objective = "recorded objective", model.training.get("objective")
    if objective is None and OPTIMALITY in withdrawn(model):
        return []
    if objective is None:
        stage2 = not model.settings["reassign"]
        return [Check(name, stage2, "none: leaf values are those of Stage 2")]
    faults = [*_penalty_faults(model, objective), *_factor_faults(model), *_tie_faults(model)]
    if objective["tolerance"] != stage3_tolerance(objective["lambda_max"], objective["l1"]):
        faults.append(f"tolerance {objective['tolerance']:g} does not follow from the penalty")
    if objective["converged"] and objective["kkt_residual"] > objective["tolerance"]:
        faults.append(f"residual {objective['kkt_residual']:g} is said to be within tolerance")
    evidence = (
        f"lambda {objective['l1']:g}, L1 share {objective['l1_ratio']:g}, penalty factors, "
        f"{len(model.training['ties'])} ties and tolerance are those that the parameters ask for"
    )
    return [checked(name, faults, evidence)]


def _penalty_faults(model: Model, objective: Mapping[str, Any]) -> Iterator[str]:
    asked, found = model.settings["l1"], objective["l1"]
    aim = model.training["selection"]["chosen"]
    chosen = aim["l1"]
    wanted = {"cv": chosen, "4/n": 4.0 / model.training["rows"]}.get(asked, asked)
    if found != chosen or not np.isclose(found, wanted, rtol=1e-12, atol=0.0):
        yield f"lambda {found:g} was solved, {chosen:g} chosen, {asked} asked for"
    share = model.settings["l1_ratio"]
    wanted = aim["l1_ratio"] if share is None and asked == "cv" else share or 1.0
    if not objective["l1_ratio"] == aim["l1_ratio"] == wanted:
        yield f"L1 share {objective['l1_ratio']:g} solved, {wanted:g} chosen or asked for"


def _factor_faults(model: Model) -> Iterator[str]:
    """Compare the penalty factors of direct terms with the user's; leaves may be several in one."""
    factors = model.settings.get("limits", {}).get("penalty", {})
    for term in direct_of(model):
        wanted = max(factors.get(source, 1.0) for source in term.sources)
        if term.penalty != wanted:
            yield f"{term.name} has the penalty factor {term.penalty:g}, not {wanted:g}"


def _tie_faults(model: Model) -> Iterator[str]:
    """Only leaves of a tree that reads a monotone variable may have been tied."""
    ordered = set(monotone_directions(model))
    free = {tree.name for tree in trees_of(model) if not ordered & set(tree.sources)}
    for names in model.training["ties"]:
        if names[0].split(".")[0] in free:
            yield f"{' and '.join(names)} are tied without a monotone variable"
