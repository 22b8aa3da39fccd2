"""The claims of a model of several classes: those of one structure, and of a score for each class.

Structure, limits and sums are checked as for two classes; what depends on the target is checked
here for all classes together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.limits import ZERO
from rpte.errors import InputError
from rpte.model.certificate import limit_checks
from rpte.model.check import Check, Checks, checked
from rpte.model.class_limits import class_limit_checks, signs_by_term
from rpte.model.ledger import OPTIMALITY, ledger_checks
from rpte.model.observed import Rows
from rpte.model.parts import DirectTerm
from rpte.model.verify import NEEDS_ROWS, needs_training, not_checked
from rpte.model.verify_derived import derived_checks
from rpte.model.verify_structure import SUMS, adds_up, structure_checks
from rpte.model.verify_table import (
    TABLE,
    TOLERANCE,
    VALUE_TOLERANCE,
    alike,
    contributions_sum,
    counts_alone,
    largest_lambda,
    merged,
    near,
    stored_importances,
    supports,
)
from rpte.table.fingerprint import fingerprint
from rpte.table.inputs import Inputs
from rpte.table.table import Table, read_weights, repetitions
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel, ClassTerm

STRUCTURE = "one structure for all classes"

MOST_SAID = 6  # classes whose cases are told


def verify_classes(
    model: ClassesModel, X: Any = None, y: Any = None, sample_weight: Any = None
) -> Checks:
    """Check the claims of a model of several classes, as `verify` does."""
    outline = model.outline
    checks = [_sums(model) if c.name == SUMS else c for c in structure_checks(outline)]
    checks += [*limit_checks(outline), *class_limit_checks(model), *ledger_checks(model)]
    checks += [_one_structure(model), _class_sums(model), _canonical(model)]
    if X is None:
        return Checks([*checks, not_checked(*NEEDS_ROWS, *needs_training(outline))])
    inputs = model.read(X)
    sums = [contributions_sum(each, inputs) for each in model.models]
    failed = [check for check in sums if not check.holds]
    checks.append(failed[0] if failed else sums[0])
    if y is None:
        return Checks([*checks, not_checked(*needs_training(outline))])
    return Checks([*checks, *_training_checks(model, inputs, y, sample_weight)])


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


def _sums(model: ClassesModel) -> Check:
    """Stored means follow from the supports, in every class."""
    each = zip(model.classes, map(adds_up, model.models), strict=True)
    faults = [f"{label!r}: {check.evidence}" for label, check in each if not check.holds]
    cases = zip(model.classes, model.target.totals, strict=True)
    told = [f"{total:g} of {label!r}" for label, total in cases]
    more = [f"{len(told) - MOST_SAID} more classes"] if len(told) > MOST_SAID else []
    said = ", ".join([*told[:MOST_SAID], *more])
    return checked(SUMS, faults, f"{model.training['rows']:g} cases, {said}")


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


def labelled_classes(model: ClassesModel, inputs: Inputs, y: Any, sample_weight: Any) -> Rows:
    """Return the training rows as the fit saw them: y is the number of a row's class."""
    given = read_weights(sample_weight, inputs.n_rows)
    codes = model.target.read(y, inputs.n_rows)
    factors = np.array(model.training["class_factors"])
    return Rows(inputs, codes, given * factors[codes.astype(np.intp)], repetitions(given))


def _training_checks(
    model: ClassesModel, inputs: Inputs, y: Any, sample_weight: Any
) -> list[Check]:
    rows = labelled_classes(model, inputs, y, sample_weight)
    codes, weight, cases = rows.y, rows.weight, rows.cases
    try:
        table = merged(rows, model.loss)
    except InputError as error:
        return [Check(TABLE, False, str(error))]
    of_class = [
        Rows(inputs, (codes == k).astype(np.float64), weight, cases)
        for k in range(len(model.classes))
    ]
    counts = [supports(m, r) for m, r in zip(model.models, of_class, strict=True)]
    failed = [check for check in counts if not check.holds]
    return [
        *same_classes_table(model, table),
        failed[0] if failed else counts[0],
        *derived_checks(model.outline, table),
        _mean_contributions(model, rows),
        *stored_importances(model, rows),
        *_optimal(model, rows),
    ]


def same_classes_table(model: ClassesModel, table: Table) -> list[Check]:
    """The table is the one that the model was fitted on: counts and hash."""
    asked, stored = model.settings["profile"], model.data
    labels = model.target.hashed_labels
    found = fingerprint(table.inputs, table.y, table.weight, labels, asked, table.hashes)
    totals = np.bincount(table.y.astype(np.intp), table.weight, len(model.classes)).tolist()
    of_classes = zip(model.classes, model.target.totals, totals, strict=True)
    pairs = {
        "rows": (stored["rows"], found["rows"]),
        "distinct rows": (stored["distinct_rows"], found["distinct_rows"]),
        **{f"weight of the class {label!r}": (a, b) for label, a, b in of_classes},
        "sha256": (stored["sha256"], found["sha256"]),
        "profile": (stored["profile"] or [], alike(stored, found)),
    }
    if stored["sha256"] is None:
        return counts_alone(pairs)
    faults = [f"{k}: stored {a}, found {b}" for k, (a, b) in pairs.items() if not near(a, b)]
    return [checked(TABLE, faults, f"sha256 {found['sha256']}, as stored")]


def _mean_contributions(model: ClassesModel, rows: Rows) -> Check:
    """The stored mean contributions are those of the table, in every class."""
    faults, stored = [], model.training["mean_contributions"]
    for k, each in enumerate(model.models):
        for _, part in each.parts():
            values = part.contribution(rows.inputs)
            found = float(np.average(values, weights=rows.weight))
            if abs(found - stored[part.name][k]) > TOLERANCE * (1.0 + np.abs(values).max()):
                faults.append(f"{part.name}: stored {stored[part.name][k]}, found {found:g}")
    evidence = f"{len(stored)} trees and direct terms in every class"
    return checked("mean contributions", faults, evidence)


def _optimal(model: ClassesModel, rows: Rows) -> list[Check]:
    """All coefficients of the terms satisfy the optimality conditions of the recorded problem."""
    objective = model.training.get("objective")
    if objective is None:
        return []
    score = model.score(rows.inputs).T
    pulls = -2.0 * model.loss.residuals(score, rows.y, rows.weight).gradient / rows.weight.sum()
    worst, where, cost = float(np.abs(pulls.sum(axis=1)).max()), "intercepts", 0.0
    share, strength = objective["l1_ratio"], objective["l1"]
    limited, free = signs_by_term(model), (0,) * len(model.classes)
    columns = _columns(model, rows.inputs)
    for term in _said(model):
        z, factor = columns[term.name], term.terms[0].penalty
        sizes = np.array(term.coefficients) * term.scale
        cost += (
            strength
            * factor
            * float(share * np.abs(sizes).sum() + 0.5 * (1.0 - share) * sizes @ sizes)
        )
        slope = pulls @ z + strength * factor * (1.0 - share) * sizes
        bound = strength * factor * share
        violated = np.where(
            sizes != 0.0,
            np.abs(slope + bound * np.sign(sizes)),
            np.maximum(_force(limited.get(term.name, free), slope) - bound, 0.0),
        )
        if not violated.max() / factor <= worst:
            worst, where = float(violated.max() / factor), term.name
    value = model.loss.deviance(score, rows.y, rows.weight) + cost
    evidence = (
        f"largest residual {worst:.2e} at {where}, at most {objective['tolerance']:.2e} allowed "
        f"(lambda {strength:g}); objective {value:.6g}, stored {objective['value']:.6g}; terms "
        "that were dropped cannot be checked from the file"
    )
    same = bool(np.isclose(value, objective["value"], rtol=VALUE_TOLERANCE))
    holds, top = bool(worst <= objective["tolerance"]) and same, _largest_lambda(model, rows)
    if objective["lambda_max"] > top:
        holds, evidence = False, f"lambda_max is {objective['lambda_max']:g}, at most {top:g}"
    return [Check(OPTIMALITY, holds, evidence)]


def _force(signs: tuple[int, ...], slope: Floats) -> Floats:
    """Return how strongly slopes pull coefficients from zero, to a sign that they may have."""
    sign = np.array(signs)
    force = np.where(sign == 0, np.abs(slope), -sign * slope)
    return np.where(sign == ZERO, 0.0, force)


def _largest_lambda(model: ClassesModel, rows: Rows) -> float:
    """Return what lambda_max cannot exceed, of any class."""
    labels = ((rows.y == k).astype(np.float64) for k in range(len(model.classes)))
    each = zip(model.models, labels, strict=True)
    return max(largest_lambda(one, replace(rows, y=y)) for one, y in each)


def _columns(model: ClassesModel, inputs: Inputs) -> dict[str, Floats]:
    """Return leaves and direct terms as the penalty saw them, by name."""
    found = {term.name: _standardised(term, inputs) for term in model.outline.direct}
    for tree in model.outline.trees:
        reached = tree.tree.apply(inputs)
        for number in range(len(tree.leaves)):
            found[tree.leaf_name(number)] = (reached == number).astype(np.float64)
    return found


def _standardised(term: DirectTerm, inputs: Inputs) -> Floats:
    """Return the values of a term as the penalty saw them, 0 where missing."""
    values = term.column.evaluate(inputs)
    if term.column.binary:
        return np.asarray(values, np.float64)
    z = (values - term.centre) / term.scale
    return np.where(np.isnan(z), 0.0, z)
