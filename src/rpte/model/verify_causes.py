"""The claims of a model of competing risks: those of one structure, and of the model of each cause.

What each cause claims is checked as for one event, and told for all causes together; what they
claim together is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.model.check import Check, Checks, checked
from rpte.model.curves import joint_parts
from rpte.model.parts import DirectTerm
from rpte.model.verify_structure import (
    as_asked_for,
    component_size,
    load_within_bound,
    ownership,
)
from rpte.table.numbers import named

if TYPE_CHECKING:
    from rpte.model.causes import CausesModel
    from rpte.model.model import Model

STRUCTURE = "one structure for all causes"
SUM = "incidences and survival add up to 1"
TOGETHER = (ownership, component_size, load_within_bound, as_asked_for)
ROUNDING = 1e-9
ROWS = 200  # whose curves are added up


def verify_causes(
    model: CausesModel, X: Any = None, y: Any = None, sample_weight: Any = None, **given: Any
) -> Checks:
    """Check the claims of a model of several causes, as `verify` does."""
    own = [one.verify(X, y, sample_weight, **given) for one in model.models]
    together = {check.name: check for check in (rule(model.outline) for rule in TOGETHER)}
    found = [_one_structure(model), *together.values()]
    names = dict.fromkeys(check.name for checks in own for check in checks)
    found += [_of_all(model, own, name) for name in names if name not in together]
    return Checks(found if X is None else [*found, _sums(model, X, given.get("strata"))])


def _of_all(model: CausesModel, own: list[Checks], name: str) -> Check:
    """Return a check that holds where it holds for every cause that has it."""
    told = [
        (label, check)
        for label, checks in zip(model.causes, own, strict=True)
        for check in checks
        if check.name == name
    ]
    if len({check.evidence for _, check in told}) == 1:
        return replace(told[0][1], holds=all(check.holds for _, check in told))
    evidence = "; ".join(f"{label!r}: {check.evidence}" for label, check in told)
    claims = tuple(dict.fromkeys(claim for _, check in told for claim in check.claims))
    return Check(name, all(check.holds for _, check in told), evidence, claims)


def _one_structure(model: CausesModel) -> Check:
    """A term is the same for all causes that have it, on the same table and by the same rules."""
    faults = [fault for one in model.models[1:] for fault in _differences(model.models[0], one)]
    known: dict[str, Any] = {}
    for label, one in zip(model.causes, model.models, strict=True):
        for _, part in one.parts():
            if known.setdefault(part.name, _fixed(part)) != _fixed(part):
                faults.append(f"{part.name} of {label!r} is another term than that of other causes")
    counts = zip(model.causes, (len(one.rules()) for one in model.models), strict=True)
    said = ", ".join(f"{count} of {label!r}" for label, count in counts)
    evidence = f"{len(model.rules())} terms, {said}"
    return checked(STRUCTURE, faults, evidence)


def _fixed(part: Any) -> Any:
    """Return what a part has in common for all causes."""
    if isinstance(part, DirectTerm):
        return replace(part, coefficient=0.0, target_total=0.0)
    leaves = tuple(replace(leaf, coefficient=0.0, target_total=0.0) for leaf in part.leaves)
    return replace(part, leaves=leaves)


def _differences(first: Model, other: Model) -> Iterator[str]:
    """Yield what two causes do not have in common, although they should."""
    for name in ("schema", "ownership", "settings", "bound", "data"):
        if getattr(first, name) != getattr(other, name):
            yield f"the causes do not have the same {name}"


def _sums(model: CausesModel, X: Any, strata: Any) -> Check:
    """At every time, the incidences of all causes and survival add up to 1."""
    inputs = model.read(X).take(slice(ROWS))
    labels = None if strata is None else np.asarray(named(X, strata))[:ROWS]
    times = model.unique_times
    parts = joint_parts(model.targets, model.score(inputs), times, labels)
    worst = float(np.abs(parts.sum(axis=0) - 1.0).max(initial=0.0))
    falls = bool((np.diff(parts[1:], axis=2) < 0.0).any())
    faults = [f"they are {worst:.2g} from it"] if worst > ROUNDING else []
    faults += ["an incidence falls"] if falls else []
    evidence = f"{inputs.n_rows} rows at {len(times)} times, at most {worst:.1g} from 1"
    return checked(SUM, faults, evidence)
