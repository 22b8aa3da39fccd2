"""Every claim of a model as a check with evidence; some need the training table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.model.model import probability
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.tree import Branch
from rpte.table.inputs import Inputs

if TYPE_CHECKING:
    from rpte.model.explain import Explanation
    from rpte.model.model import Model

Floats = NDArray[np.float64]
SUPPORT_TOLERANCE = 1e-9
EXPLAINED_ROWS = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One claim: its name, whether it holds, and what was looked at."""

    name: str
    holds: bool
    evidence: str


def verify(model: Model, X: Any = None, y: Any = None, sample_weight: Any = None) -> list[Check]:
    """Check a model's claims.

    Parameters
    ----------
    model : Model
    X : table, optional
        Rows on which contributions are added up again; the training table proves more.
    y : labels, optional
        With the training X: supports, event rates and the optimality of Stage 3.
    sample_weight : weights of the training rows, optional
    """
    checks = [partition(model), ownership(model), component_size(model), load_within_bound(model)]
    if X is None:
        return checks
    inputs = model.read(X)
    checks += [one_leaf_per_tree(model, inputs), contributions_sum(model, inputs)]
    if y is None:
        return checks
    positive = _labels(model, y, inputs.n_rows)
    given = np.ones(inputs.n_rows) if sample_weight is None else sample_weight
    weight = np.asarray(given, np.float64)
    return [
        *checks,
        supports(model, inputs, positive, weight),
        *optimal(model, inputs, positive, weight),
    ]


def _labels(model: Model, y: Any, n_rows: int) -> Floats:
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}, X has {n_rows} rows; give one label per row")
    strange = ~np.isin(labels, np.array(model.classes))
    if strange.any():
        raise InputError(
            f"y holds {labels[strange].tolist()[0]!r}; the model's classes are {model.classes}"
        )
    return np.asarray(labels == model.classes[model.positive], np.float64)


def _trees(model: Model) -> list[TreeTerms]:
    return [part for _, part in model.parts() if isinstance(part, TreeTerms)]


def partition(model: Model) -> Check:
    """Leaves of a tree partition the space: every split sends every input to exactly one side."""
    faults = []
    for tree in _trees(model):
        reached = list(_reachable(tree.tree.root))
        if reached != list(range(len(tree.leaves))):
            faults.append(f"{tree.name} reaches leaves {reached}")
        for split in tree.tree.splits:
            if split.column.binary != (split.threshold is None):
                faults.append(f"{tree.name} tests {split.column.text} with {split.threshold}")
            if split.threshold is not None and not np.isfinite(split.threshold):
                faults.append(f"{tree.name} has the threshold {split.threshold}")
    leaves = sum(len(tree.leaves) for tree in _trees(model))
    evidence = "; ".join(faults) or (
        f"{leaves} leaves in {len(_trees(model))} trees; each split has two sides that exclude "
        "each other and cover all values, missing included"
    )
    return Check("leaves partition the inputs", not faults, evidence)


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
        *_shared([(t.name, t.sources) for t in _trees(model)]),
        *_between(model),
        *rule(model),
    ]
    text = {
        "paper": "trees share no source",
        "separate": "trees share no source with each other or with a direct term",
        "strict": "no source appears in two trees, in a tree and a direct term, or in two direct "
        "terms other than the raw columns of one variable",
        "component": "components share no source and hold at most one tree each",
    }[model.ownership]
    return Check(f"ownership '{model.ownership}'", not faults, "; ".join(faults) or text)


def _shared(parts: list[tuple[str, tuple[str, ...]]]) -> list[str]:
    return [
        f"{a} and {b} share {sorted(set(s) & set(t))}"
        for (a, s), (b, t) in combinations(parts, 2)
        if set(s) & set(t)
    ]


def _between(model: Model) -> list[str]:
    return _shared([(c.name, c.sources) for c in model.components])


def _one_tree_each(model: Model) -> list[str]:
    return [f"{c.name} holds {len(c.trees)} trees" for c in model.components if len(c.trees) > 1]


def _separate(model: Model) -> list[str]:
    owned = [(t.name, t.sources) for t in _trees(model)]
    direct = [(d.name, d.sources) for _, d in model.parts() if isinstance(d, DirectTerm)]
    return [fault for d in direct for t in owned for fault in _shared([t, d])]


def _strict(model: Model) -> list[str]:
    direct = [d for _, d in model.parts() if isinstance(d, DirectTerm)]
    faults = [
        fault
        for a, b in combinations(direct, 2)
        if not (_is_raw(a) and _is_raw(b) and a.sources == b.sources)
        for fault in _shared([(a.name, a.sources), (b.name, b.sources)])
    ]
    return [*_separate(model), *faults]


def _is_raw(term: DirectTerm) -> bool:
    return term.column.kind in ("value", "level", "missing")


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
    """MIU is within the bound that was known before training."""
    load = model.audit()
    return Check(
        "audit load within its bound",
        load.miu <= model.bound,
        f"{load.miu} conditions in {load.mu} terms; bound before training {model.bound}",
    )


def one_leaf_per_tree(model: Model, inputs: Inputs) -> Check:
    """Each row satisfies the conditions of exactly one leaf per tree."""
    faults = []
    for tree in _trees(model):
        hits = np.zeros(inputs.n_rows, np.int64)
        for path in tree.tree.paths():
            inside = [c.split.holds(inputs) == c.holds for c in path]
            hits += np.all(inside, axis=0)
        if (hits != 1).any():
            row = int(np.flatnonzero(hits != 1)[0])
            faults.append(f"row {row} is in {hits[row]} leaves of {tree.name}")
    evidence = "; ".join(faults) or f"{inputs.n_rows} rows, {len(_trees(model))} trees"
    return Check("each row in one leaf per tree", not faults, evidence)


def contributions_sum(model: Model, inputs: Inputs) -> Check:
    """Adding each row's contributions in order gives its score exactly.

    All rows are added up as arrays, the first ones again from `explain` with plain floats.
    """
    score = model.score(inputs)
    total = np.full(inputs.n_rows, model.intercept)
    for component in model.components:
        subtotal = np.zeros(inputs.n_rows)
        for part in component.parts:
            subtotal = subtotal + part.contribution(inputs)
        total = total + subtotal
    total[:EXPLAINED_ROWS] = [_added(e) for e in model.explain(inputs.head(EXPLAINED_ROWS))]
    wrong = np.flatnonzero(total != score)
    evidence = f"{inputs.n_rows} rows, equal to the last bit"
    if len(wrong):
        row = wrong[0]
        evidence = f"row {row}: contributions add to {total[row]!r}, the score is {score[row]!r}"
    return Check("contributions sum to the score", not len(wrong), evidence)


def _added(explanation: Explanation) -> float:
    total = explanation.intercept
    for component in explanation.components:
        subtotal = 0.0
        for contribution in component.contributions:
            subtotal = subtotal + contribution.value
        total = total + subtotal
    return total


def supports(model: Model, inputs: Inputs, y: Floats, weight: Floats) -> Check:
    """Stored supports and events are those of the table."""
    faults = []
    for name, rows, support, events in _stored_counts(model, inputs):
        found = float(weight[rows].sum()), float((weight * y)[rows].sum())
        near = np.allclose(found, (support, events), rtol=SUPPORT_TOLERANCE, atol=1e-9)
        if not near:
            faults.append(f"{name}: stored {support:g}/{events:g}, found {found[0]:g}/{found[1]:g}")
    evidence = "; ".join(faults[:5]) or f"every leaf and direct term, {weight.sum():g} cases"
    return Check("supports and event rates", not faults, evidence)


def _stored_counts(
    model: Model, inputs: Inputs
) -> Iterator[tuple[str, NDArray[np.bool_], float, float]]:
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            rows = values > 0 if part.column.binary else ~np.isnan(values)
            yield part.name, rows, part.support, part.events
            continue
        reached = part.tree.apply(inputs)
        for number, leaf in enumerate(part.leaves):
            yield part.leaf_name(number), reached == number, leaf.support, leaf.events


def optimal(model: Model, inputs: Inputs, y: Floats, weight: Floats) -> list[Check]:
    """Active coefficients satisfy the optimality conditions of the recorded Stage 3 objective."""
    objective = model.training.get("objective")
    if objective is None:
        return []
    l1, share = objective["l1"], objective["l1_ratio"]
    residual = 2.0 * weight * (probability(model.score(inputs)) - y) / weight.sum()
    worst, where = abs(float(residual.sum())), "intercept"
    for name, column, coefficient in _penalised(model, inputs):
        gradient = float(residual @ column)
        pull = l1 * (share * np.sign(coefficient) + (1.0 - share) * coefficient)
        if abs(gradient + pull) > worst:
            worst, where = abs(gradient + pull), name
    limit = objective["tolerance"]
    evidence = (
        f"largest residual {worst:.2e} at {where}, at most {limit:.2e} allowed (lambda {l1:g}); "
        "terms that were dropped cannot be checked from the file"
    )
    return [Check("Stage 3 optimality of the active terms", bool(worst <= limit), evidence)]


def _penalised(model: Model, inputs: Inputs) -> Iterator[tuple[str, Floats, float]]:
    """Yield each active term's column and coefficient in the units of the penalty."""
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            scaled = np.where(np.isnan(values), 0.0, (values - part.centre) / part.scale)
            yield part.name, scaled, part.coefficient * part.scale
            continue
        reached = part.tree.apply(inputs)
        for number, leaf in enumerate(part.leaves):
            if leaf.coefficient != 0:
                column = (reached == number).astype(np.float64)
                yield part.leaf_name(number), column, leaf.coefficient
