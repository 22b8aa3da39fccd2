"""Checks that need rows, and those that need the training table with its labels and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.model.check import Check, checked
from rpte.model.ledger import OPTIMALITY, UNMET_MISSING, withdrawn
from rpte.model.model import as_labels, probability
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.verify_structure import trees_of
from rpte.structure.tree import Branch, Split
from rpte.table.fingerprint import fingerprint
from rpte.table.inputs import Inputs, as_array
from rpte.table.weights import read_weights

if TYPE_CHECKING:
    from rpte.model.explain import Explanation
    from rpte.model.model import Model

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
TOLERANCE = 1e-9
VALUE_TOLERANCE = 1e-6
EXPLAINED_ROWS = 200


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with their labels (1.0 for positive) and weights, class factors included."""

    inputs: Inputs
    y: Floats
    weight: Floats


def labelled(model: Model, inputs: Inputs, y: Any, sample_weight: Any) -> Rows:
    """Return the training rows as Stage 3 saw them."""
    positive = _labels(model, y, inputs.n_rows)
    factors = model.training["class_factors"]
    own = np.where(positive == 1.0, factors[model.positive], factors[1 - model.positive])
    return Rows(inputs, positive, read_weights(sample_weight, inputs.n_rows) * own)


def _labels(model: Model, y: Any, n_rows: int) -> Floats:
    labels = as_array(y)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}, X has {n_rows} rows; give one label per row")
    strange = ~np.isin(labels, as_labels(model.classes))
    if strange.any():
        raise InputError(
            f"y holds {labels[strange].tolist()[0]!r}; the model's classes are {model.classes}"
        )
    return np.asarray(labels == model.classes[model.positive], np.float64)


def row_checks(model: Model, inputs: Inputs) -> list[Check]:
    """Return the checks that any rows allow."""
    return [one_leaf_per_tree(model, inputs), contributions_sum(model, inputs)]


def training_checks(model: Model, rows: Rows) -> list[Check]:
    """Return the checks that need the training table."""
    return [
        *same_table(model, rows),
        supports(model, rows),
        *unseen_missing(model, rows),
        mean_contributions(model, rows),
        *optimal(model, rows),
    ]


def one_leaf_per_tree(model: Model, inputs: Inputs) -> Check:
    """Each row satisfies the conditions of exactly one leaf per tree."""
    faults = []
    for tree in trees_of(model):
        hits = np.zeros(inputs.n_rows, np.int64)
        for path in tree.tree.paths():
            inside = [c.split.holds(inputs) == c.holds for c in path]
            hits += np.all(inside, axis=0)
        if (hits != 1).any():
            row = int(np.flatnonzero(hits != 1)[0])
            faults.append(f"row {row} is in {hits[row]} leaves of {tree.name}")
    evidence = f"{inputs.n_rows} rows, {len(trees_of(model))} trees"
    return checked("each row in one leaf per tree", faults, evidence)


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
    total[:EXPLAINED_ROWS] = [_added(e) for e in model.explain(inputs.take(slice(EXPLAINED_ROWS)))]
    faults = [
        f"row {row}: contributions add to {total[row]!r}, the score is {score[row]!r}"
        for row in np.flatnonzero(total != score)[:1]
    ]
    evidence = f"{inputs.n_rows} rows, equal to the last bit"
    return checked("contributions sum to the score", faults, evidence)


def _added(explanation: Explanation) -> float:
    total = explanation.intercept
    for component in explanation.components:
        subtotal = 0.0
        for contribution in component.contributions:
            subtotal = subtotal + contribution.value
        total = total + subtotal
    return total


def same_table(model: Model, rows: Rows) -> list[Check]:
    """The table is the one that the model was fitted on: counts, hash, and profile."""
    labels = model.classes[1 - model.positive], model.classes[model.positive]
    asked = model.settings["profile"]
    found = fingerprint(rows.inputs, rows.y, rows.weight, labels, asked)
    training, stored = model.training, model.data
    events = float((rows.weight * rows.y).sum())
    pairs = {
        "rows": (stored["rows"], found["rows"]),
        "distinct rows": (stored["distinct_rows"], found["distinct_rows"]),
        "rows in training": (training["rows"], found["rows"]),
        "events": (training["events"], events),
        "sha256": (stored["sha256"], found["sha256"]),
    }
    if training["validation"]["by"] == "content":  # else equal rows of two groups stay apart
        pairs["distinct rows in training"] = (training["distinct_rows"], found["distinct_rows"])
    faults = [f"{k}: stored {a}, found {b}" for k, (a, b) in pairs.items() if not near(a, b)]
    checks = [checked("training table", faults, f"sha256 {found['sha256']}, as stored")]
    if stored["profile"] is None:
        return checks
    columns = zip(stored["profile"], found["profile"], strict=True)
    faults = [f"{old['name']} is described otherwise" for old, new in columns if not near(old, new)]
    return [*checks, checked("column profile", faults, f"{len(found['profile'])} columns")]


def near(a: Any, b: Any) -> bool:
    """Compare JSON values; numbers may differ by the rounding of sums."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def supports(model: Model, rows: Rows) -> Check:
    """Stored supports and events are those of the table."""
    faults = []
    for name, inside, support, events in _stored_counts(model, rows.inputs):
        weight, y = rows.weight[inside], rows.y[inside]
        found = float(weight.sum()), float((weight * y).sum())
        if not near([support, events], list(found)):
            faults.append(f"{name}: stored {support:g}/{events:g}, found {found[0]:g}/{found[1]:g}")
    evidence = f"every leaf and direct term, {rows.weight.sum():g} cases"
    return checked("supports and event rates", faults, evidence)


def _stored_counts(
    model: Model, inputs: Inputs
) -> Iterator[tuple[str, NDArray[np.bool_], float, float]]:
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            inside = values > 0 if part.column.binary else ~np.isnan(values)
            yield part.name, inside, part.support, part.events
            continue
        reached = part.tree.apply(inputs)
        for number, leaf in enumerate(part.leaves):
            yield part.leaf_name(number), reached == number, leaf.support, leaf.events


def unseen_missing(model: Model, rows: Rows) -> list[Check]:
    """Return the check that a test which met no missing value sends missing to the heavier side.

    The published configuration fills in a median instead, which the file does not hold; a model
    refitted on another table keeps the sides that its first table gave.
    """
    if model.settings["conventions"] == "paper" or UNMET_MISSING in withdrawn(model):
        return []
    faults: list[str] = []
    tests = 0
    for tree in trees_of(model):
        for split, yes, no in _sides(tree, rows):
            tests += 1
            excess = float(rows.weight[yes].sum() - rows.weight[no].sum())
            if (excess < 0) == split.missing_holds and not near(excess, 0.0):
                faults.append(f"{tree.name} sends missing {split.column.text} to the lighter side")
    evidence = f"{tests} tests met none and send it to the heavier side"
    return [checked(UNMET_MISSING, faults, evidence)]


def _sides(tree: TreeTerms, rows: Rows) -> Iterator[tuple[Split, Places, Places]]:
    """Yield the tests with a threshold that met no missing value, and the rows on both sides."""
    counted = np.flatnonzero(rows.weight > 0)
    stack: list[tuple[Branch | int, Places]] = [(tree.tree.root, counted)]
    while stack:
        node, inside = stack.pop()
        if not isinstance(node, Branch):
            continue
        holds = node.split.holds(rows.inputs)[inside]
        yes, no = inside[holds], inside[~holds]
        stack += [(node.yes, yes), (node.no, no)]
        missing = np.isnan(node.split.column.evaluate(rows.inputs)[inside]).any()
        if node.split.threshold is not None and not missing:
            yield node.split, yes, no


def mean_contributions(model: Model, rows: Rows) -> Check:
    """The stored mean contributions, which `explain(reference="mean")` shows, are the table's."""
    faults, stored = [], model.training["mean_contributions"]
    for _, part in model.parts():
        values = part.contribution(rows.inputs)
        found = float(np.average(values, weights=rows.weight))
        size = float(np.abs(values).max(initial=0.0))
        if abs(found - stored.get(part.name, np.inf)) > TOLERANCE * (1.0 + size):
            faults.append(f"{part.name}: stored {stored.get(part.name)}, found {found:g}")
    return checked("mean contributions", faults, f"{len(stored)} trees and direct terms")


def optimal(model: Model, rows: Rows) -> list[Check]:
    """Active coefficients satisfy the optimality conditions of the recorded Stage 3 objective."""
    objective = model.training.get("objective")
    if objective is None:
        return []
    score = model.score(rows.inputs)
    residual = 2.0 * rows.weight * (probability(score) - rows.y) / rows.weight.sum()
    worst, where = abs(float(residual.sum())), "intercept"
    cost = 0.0
    for name, column, coefficient, factor in _penalised(model, rows.inputs):
        share, strength = objective["l1_ratio"], objective["l1"] * factor
        pull = strength * (share * np.sign(coefficient) + (1.0 - share) * coefficient)
        cost += strength * (share * abs(coefficient) + 0.5 * (1.0 - share) * coefficient**2)
        violation = abs(float((residual * column).sum()) + pull) / factor
        if not violation <= worst:
            worst, where = violation, name
    limit, value = objective["tolerance"], _deviance(rows, score) + cost
    evidence = (
        f"largest residual {worst:.2e} at {where}, at most {limit:.2e} allowed (lambda "
        f"{objective['l1']:g}); objective {value:.6g}, stored {objective['value']:.6g}; terms that "
        "were dropped cannot be checked from the file"
    )
    same = bool(np.isclose(value, objective["value"], rtol=VALUE_TOLERANCE))
    holds = bool(worst <= limit) and same
    return [Check(OPTIMALITY, holds, evidence)]


def _deviance(rows: Rows, score: Floats) -> float:
    loss = np.logaddexp(0.0, score) - rows.y * score
    return 2.0 * float((rows.weight * loss).sum() / rows.weight.sum())


def _penalised(model: Model, inputs: Inputs) -> Iterator[tuple[str, Floats, float, float]]:
    """Yield each active term's column, coefficient and penalty factor in units of the penalty."""
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            scaled = np.where(np.isnan(values), 0.0, (values - part.centre) / part.scale)
            yield part.name, scaled, part.coefficient * part.scale, part.penalty
            continue
        reached = part.tree.apply(inputs)
        for numbers in _tied(model, part):
            column = np.isin(reached, numbers).astype(np.float64)
            factor = sum(part.leaves[n].penalty for n in numbers)
            name = " and ".join(part.leaf_name(n) for n in numbers)
            yield name, column, part.leaves[numbers[0]].coefficient, factor


def _tied(model: Model, tree: TreeTerms) -> list[list[int]]:
    """Return the active leaves; those that a monotone limit has tied come together."""
    group = {name: i for i, names in enumerate(model.training["ties"]) for name in names}
    groups: dict[object, list[int]] = {}
    for number, leaf in enumerate(tree.leaves):
        if leaf.coefficient != 0:
            name = tree.leaf_name(number)
            groups.setdefault(group.get(name, name), []).append(number)
    return list(groups.values())
