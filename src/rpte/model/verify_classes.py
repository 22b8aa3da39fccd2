"""What the scores of several classes claim together: one structure, sums, canonical form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rpte.model.check import Check, checked
from rpte.model.class_limits import signs_by_term
from rpte.model.parts import DirectTerm

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel, ClassTerm

STRUCTURE = "one structure for all classes"
TOLERANCE = 1e-9  # of sums of weights, whose order differs


def class_checks(model: ClassesModel) -> list[Check]:
    """Return the checks of what the scores of several classes have in common."""
    return [_one_structure(model), _class_sums(model), _canonical(model)]


def _one_structure(model: ClassesModel) -> Check:
    """All classes have the same terms, and each speaks of some class."""

    def told(k: int) -> list[tuple[Any, ...]]:
        trees = [
            (c.name, t.name, t.tree, [(leaf.support, leaf.penalty) for leaf in t.leaves])
            for c in model.by_class[k]
            for t in c.trees
        ]
        direct = [
            (c.name, t.name, t.column, t.centre, t.scale, t.support, t.penalty)
            for c in model.by_class[k]
            for t in c.direct
        ]
        return [*trees, *direct]

    first, terms = told(0), list(_said(model))
    faults = [
        f"the terms of {label!r} are not those of {model.classes[0]!r}"
        for k, label in enumerate(model.classes)
        if told(k) != first
    ]
    if faults:
        return checked(STRUCTURE, faults, "")
    faults = [f"{t.name} is 0 in every class" for t in model.outline.direct if not t.coefficient]
    faults += [
        f"{t.name} is 0 in every leaf and class"
        for t in model.outline.trees
        if not any(leaf.coefficient for leaf in t.leaves)
    ]
    sizes = [size for term in terms for size in term.coefficients]
    evidence = (
        f"{len(terms)} terms for {len(model.classes)} classes, {sizes.count(0.0)} of "
        f"{len(sizes)} coefficients are 0"
    )
    return checked(STRUCTURE, faults, evidence)


def _said(model: ClassesModel) -> Iterator[ClassTerm]:
    """Yield the leaves that say something of some class, and the direct terms."""
    return (
        t for _, t in model.terms() if any(t.coefficients) or isinstance(t.terms[0], DirectTerm)
    )


def _class_sums(model: ClassesModel) -> Check:
    """The cases of the classes are those of the training, and of every term."""
    rows, totals = model.training["rows"], model.target.totals
    sums = {"training": (math.fsum(totals), rows)}
    for _, each in model.terms():
        sums[each.name] = math.fsum(t.target_total for t in each.terms), each.terms[0].support
    faults = [
        f"the classes have {found:g} of the {cases:g} cases of {name}"
        for name, (found, cases) in sums.items()
        if abs(found - cases) > TOLERANCE * rows
    ]
    return checked("classes add up", faults, f"{rows:g} cases in {len(totals)} classes")


def _canonical(model: ClassesModel) -> Check:
    """Scores are in canonical form: the middle coefficient of every term is zero.

    With a ridge the penalty decides, and the coefficients of a term may be anything. Where a
    monotone limit gives a term signs, some coefficient is zero.
    """
    faults, limited = [], signs_by_term(model)
    objective = model.training.get("objective")
    if objective is not None and objective["l1_ratio"] == 1.0:
        for term in _said(model):
            sizes = term.coefficients
            above, below = sum(s > 0 for s in sizes), sum(s < 0 for s in sizes)
            most = 0 if term.name in limited else 2 * max(above, below)
            if most > len(sizes) or 0.0 not in sizes:
                faults.append(f"{term.name}: {above} coefficients above 0, {below} below")
    total, size = sum(model.intercepts), max(map(abs, model.intercepts))
    if abs(total) > TOLERANCE * (1.0 + size):
        faults.append(f"the intercepts add up to {total:g}, not to 0")
    evidence = "intercepts add up to 0, and half of a term's coefficients at most are of one sign"
    return checked("canonical scores", faults, evidence)
