"""Checks that need rows, and those that need the training table with its labels and weights.

The number of scores is an axis. What is claimed of a score is checked of each; the target of one of
several classes is then 1.0 in its rows, 0.0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.limits import ZERO
from rpte.errors import InputError
from rpte.losses import Loss
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.model.check import NOT_CHECKED, Check, checked
from rpte.model.class_limits import signs_by_term
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel, check_no_beside
from rpte.model.importance import RECORD as IMPORTANCES
from rpte.model.importance import measured_importances
from rpte.model.ledger import BALANCE, BASELINE, OPTIMALITY, UNMET_MISSING, withdrawn
from rpte.model.observed import Rows, exposed_first, observed
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.survival import SurvivalTarget, longest_times, steps_of
from rpte.model.target import NumberTarget
from rpte.model.verify_derived import derived_checks
from rpte.table.fingerprint import fingerprint
from rpte.table.inputs import Inputs
from rpte.table.numbers import require_given
from rpte.table.table import Table, check_weight, merge_rows, read_weights, repetitions
from rpte.utils.arrays import Floats, Mask

if TYPE_CHECKING:
    from rpte.model.explain import Explanation
    from rpte.model.file import AnyModel
    from rpte.model.model import Model

TABLE = "training table"
TOLERANCE = 1e-9
VALUE_TOLERANCE = 1e-6
EXPLAINED_ROWS = 200
LEAST_SHARE = 1e-3  # of L1 in lambda_max
TRIALS = 6  # steps of the line search of Stage 2
ROUNDED_VARIANCE = 1.1  # a rounded centre in the place of missing cells moves it a little


def labelled(
    model: AnyModel,
    inputs: Inputs,
    y: Any,
    sample_weight: Any,
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
) -> Rows:
    """Return the training rows as Stage 3 saw them; those with times as people count them.

    Of several classes y is the number of a row's class.
    """
    target, given = model.target, read_weights(sample_weight, inputs.n_rows)
    if isinstance(target, ClassesTarget):
        beside = {"exposure": exposure, "offset": offset, "entry": entry, "strata": strata}
        check_no_beside(beside)
        codes = target.read(y, inputs.n_rows)
        own = np.array(model.training["class_factors"])[codes.astype(np.intp)]
        return Rows(inputs, codes, given * own, repetitions(given))
    if isinstance(target, SurvivalTarget):
        require_given("exposure", None, exposure)
        require_given("offset", None, offset)
        return observed(target, inputs, y, given, repetitions(given), entry, strata)
    require_given("entry", None, entry)
    require_given("strata", None, strata)
    found, cases = target.read(y, inputs.n_rows), repetitions(given)
    if isinstance(target, NumberTarget):
        require_given("exposure", target.exposure, exposure)
        require_given("offset", target.offset, offset)
        scaled = target.scaled(target.plain(found, given, exposure, offset))
        return Rows(inputs, scaled.y, scaled.weight, cases)
    factors = model.training["class_factors"]
    own = np.where(found == 1.0, factors[target.positive], factors[1 - target.positive])
    return Rows(inputs, found, given * own, cases)


def training_checks(model: AnyModel, rows: Rows) -> list[Check]:
    """Return the checks that need the training table."""
    try:
        table = merged(rows, model.loss)
    except InputError as error:
        return [Check(TABLE, False, str(error))]
    one = None if isinstance(model, ClassesModel) else model
    if one is not None and rows.seen is not None:
        return _survival_checks(one, rows, rows.seen)
    return [
        *same_table(model, rows),
        supports(model, rows),
        *derived_checks(model.outline, table),
        *(() if one is None else stage2_checks(one, table)),
        mean_contributions(model, rows),
        *stored_importances(model, rows),
        *optimal(model, rows),
        *(() if one is None else [*balanced(one, rows), *least_target(one, rows)]),
    ]


def least_target(model: Model, rows: Rows) -> list[Check]:
    """No training target is below the number that prediction intervals end at."""
    target = model.target
    if not isinstance(target, NumberTarget) or target.least is None:
        return []
    units = target.units
    lowest = units.centre + units.scale * float(rows.y[rows.weight > 0.0].min())
    low = lowest < target.least - TOLERANCE * (abs(units.centre) + units.scale)
    faults = [f"a target is {lowest:g}"] if low else []
    return [checked("no target below 0", faults, f"the lowest is {max(lowest, 0.0):g}")]


def _by_score(model: AnyModel, rows: Rows) -> list[tuple[Model, Rows]]:
    """Return the model of each score, with the rows as it sees them."""
    if not isinstance(model, ClassesModel):
        return [(model, rows)]
    labels = ((rows.y == k).astype(np.float64) for k in range(len(model.classes)))
    return [(one, replace(rows, y=y)) for one, y in zip(model.models, labels, strict=True)]


def _first_that_fails(checks: Iterable[Check]) -> Check:
    """Return the first check that fails, or, where all hold, the first."""
    found = list(checks)
    return next((check for check in found if not check.holds), found[0])


def _survival_checks(model: Model, rows: Rows, seen: FollowUp) -> list[Check]:
    """Return the checks of a model of times until an event.

    Terms were found beside the baseline of the model without terms; the optimality conditions are
    those of the likelihood.
    """
    target, score = model.target, model.score(rows.inputs)
    assert isinstance(target, SurvivalTarget)
    risk = RiskSets.of(seen, rows.weight, target.ties)
    first = exposed_first(seen, risk, rows.weight)
    searched = replace(rows, y=first.y, weight=first.weight)
    hazard, events = risk.hazards(score)
    slopes = 2.0 * rows.weight * (hazard - events) / rows.weight.sum()
    deviance = -2.0 * risk.log_likelihood(score) / float(rows.weight.sum())
    return [
        *same_table(model, rows),
        supports(model, rows),
        *leaf_exposures(model, searched),
        *derived_checks(model, merged(searched, model.loss)),
        mean_contributions(model, rows),
        *stored_importances(model, rows),
        *optimal(model, rows, (slopes, deviance, searched)),
        *baseline_is(model, rows, seen, risk),
    ]


def leaf_exposures(model: Model, searched: Rows) -> list[Check]:
    """Each leaf of a model of hazards was exposed as much as was asked for.

    Rows count by their exposure beside the baseline without terms, which is 1 on average. A sample
    that the trees were found on has another one.
    """
    elsewhere = "learned_from_rows" in model.training["validation"]
    if elsewhere or UNMET_MISSING in withdrawn(model) or not model.trees:
        return []
    least = float(model.settings["min_samples_leaf"]) * (1 - TOLERANCE)
    faults = []
    for tree in model.trees:
        reached = tree.tree.apply(searched.inputs)
        held = np.bincount(reached, searched.weight, len(tree.leaves))
        small = np.flatnonzero(held < least).tolist()
        faults += [f"{tree.leaf_name(k)} has the exposure {held[k]:g}" for k in small]
    evidence = f"leaves of {len(model.trees)} trees, of {least:g} rows of mean exposure at least"
    return [checked("exposure of leaves", faults, evidence)]


def baseline_is(model: Model, rows: Rows, seen: FollowUp, risk: RiskSets) -> list[Check]:
    """The stored baseline is that of the scores of the training rows, whose mean is 0.

    Nothing is claimed of that of a model that was edited by hand, until it is refitted.
    """
    if BASELINE in withdrawn(model):
        return []
    target, score = model.target, model.score(rows.inputs)
    assert isinstance(target, SurvivalTarget)
    mean = float(np.average(score, weights=rows.weight))
    size = float(np.abs(score).max(initial=1.0))
    faults = [] if abs(mean) <= TOLERANCE * size else [f"scores have the mean {mean:g}, not 0"]
    ends = longest_times(seen, rows.weight)
    found = steps_of(risk, score, ends)
    if len(found) != len(target.baseline):
        faults.append(f"{len(target.baseline)} strata, the rows have {len(found)}")
    for number, (new, old) in enumerate(zip(found, target.baseline, strict=False), 1):
        if not near(new.to_dict(), old.to_dict()):
            faults.append(f"that of stratum {number} is another one")
    steps = sum(len(steps.times) for steps in target.baseline)
    return [checked(BASELINE, faults, f"{steps} steps, of {target.total:g} events")]


def hashed(rows: Rows) -> Rows:
    """Return rows with the targets that the hash of their table has: of times, all of them."""
    return rows if rows.seen is None else replace(rows, y=rows.seen.keys())


def merged(rows: Rows, loss: Loss) -> Table:
    """Return the rows that count as the fit saw them: equal ones merged, in order of content."""
    check_weight(rows.weight)
    counted = np.flatnonzero(rows.weight > 0)
    inputs = rows.inputs if len(counted) == len(rows.y) else rows.inputs.take(counted)
    y, weight, cases = rows.y[counted], rows.weight[counted], rows.cases[counted]
    return merge_rows(inputs, y, weight, cases=cases, loss=loss)


def one_leaf_per_tree(model: Model, inputs: Inputs) -> Check:
    """Each row satisfies the conditions of exactly one leaf per tree."""
    faults = []
    for tree in model.trees:
        hits = np.zeros(inputs.n_rows, np.int64)
        for path in tree.tree.paths():
            inside = [c.split.holds(inputs) == c.holds for c in path]
            hits += np.all(inside, axis=0)
        if (hits != 1).any():
            row = int(np.flatnonzero(hits != 1)[0])
            faults.append(f"row {row} is in {hits[row]} leaves of {tree.name}")
    evidence = f"{inputs.n_rows} rows, {len(model.trees)} trees"
    return checked("each row in one leaf per tree", faults, evidence)


def contributions_sum(model: AnyModel, inputs: Inputs) -> Check:
    """Adding each row's contributions in order gives its score exactly.

    All rows are added up as arrays, the first ones again from `explain` with plain floats.
    """
    return _first_that_fails(_contributions_sum(one, inputs) for one in model.models)


def _contributions_sum(model: Model, inputs: Inputs) -> Check:
    score = model.score(inputs)
    total = np.full(inputs.n_rows, model.intercept)
    for component in model.components:
        total = total + component.subtotal(inputs)
    total[:EXPLAINED_ROWS] = [_added(e) for e in model.explain(inputs.take(slice(EXPLAINED_ROWS)))]
    faults = [
        f"row {row}: contributions add to {total[row]!r}, the score is {score[row]!r}"
        for row in np.flatnonzero(total != score)[:1]
    ]
    evidence = f"{inputs.n_rows} rows, equal to the last bit"
    return checked("contributions sum to the score", faults, evidence)


def _added(explanation: Explanation) -> float:
    subtotals = (
        reduce(add, (contribution.value for contribution in component.contributions), 0.0)
        for component in explanation.components
    )
    return reduce(add, subtotals, explanation.intercept)


def same_table(model: AnyModel, rows: Rows) -> list[Check]:
    """The table is the one that the model was fitted on: counts, hash, and profile."""
    table = merged(hashed(rows), model.loss)
    labels, asked = model.target.hashed_labels, model.settings["profile"]
    found = fingerprint(table.inputs, table.y, table.weight, labels, asked, table.hashes)
    training, stored = model.training, model.data
    several = isinstance(model, ClassesModel)
    pairs = {
        "rows": (stored["rows"], found["rows"]),
        "distinct rows": (stored["distinct_rows"], found["distinct_rows"]),
        **({} if several else {"rows in training": (training["rows"], found["rows"])}),
        **_totals(model, rows, table),
        "sha256": (stored["sha256"], found["sha256"]),
    }
    if stored["sha256"] is None:
        return counts_alone(pairs)
    if several:
        pairs["profile"] = stored["profile"] or [], alike(stored, found)
    elif training["validation"]["by"] == "content":  # else equal rows of two groups stay apart
        pairs["distinct rows in training"] = (training["distinct_rows"], found["distinct_rows"])
    faults = [f"{k}: stored {a}, found {b}" for k, (a, b) in pairs.items() if not near(a, b)]
    checks = [checked(TABLE, faults, f"sha256 {found['sha256']}, as stored")]
    if several or stored["profile"] is None:
        return checks
    columns = zip(stored["profile"], alike(stored, found), strict=True)
    faults = [f"{old['name']} is described otherwise" for old, new in columns if not near(old, new)]
    return [*checks, checked("column profile", faults, f"{len(found['profile'])} columns")]


def _totals(model: AnyModel, rows: Rows, table: Table) -> dict[str, tuple[Any, Any]]:
    """Return the sum of the target, or the weights of several classes: stored and found."""
    if isinstance(model, ClassesModel):
        found = np.bincount(table.y.astype(np.intp), table.weight, len(model.classes)).tolist()
        totals = zip(model.classes, model.target.totals, found, strict=True)
        return {f"weight of the class {label!r}": (a, b) for label, a, b in totals}
    events = table.weight * table.y if rows.seen is None else rows.weight * rows.y
    total = model.target.total_of(float(events.sum()), table.total_weight)
    if _same_sum(model, model.target.total, total, table.total_weight):
        total = model.target.total  # but for the rounding of numbers that cancel
    return {"sum of the target": (model.target.total, total)}


def counts_alone(pairs: dict[str, tuple[Any, Any]]) -> list[Check]:
    """Compare what the file of a model has whose rows were on a cluster."""
    held = {name: pair for name, pair in pairs.items() if pair[0] is not None}
    faults = [f"{k}: stored {a}, found {b}" for k, (a, b) in held.items() if not near(a, b)]
    told = ", ".join(f"{_in_short(pair[0])} {name}" for name, pair in held.items())
    unknown = "the model was fitted on a cluster, so its file has no hash of the training table"
    return [checked(TABLE, faults, f"{told}, as stored"), Check(NOT_CHECKED, True, unknown)]


def _in_short(value: Any) -> str:
    """Return a number, or those of several classes."""
    return ", ".join(f"{each:g}" for each in np.atleast_1d(value))


def alike(stored: Mapping[str, Any], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the profile found, without what an older file does not tell of a column."""
    pairs = zip(stored["profile"] or (), found["profile"] or (), strict=True)
    return [{key: new[key] for key in new if key in old} for old, new in pairs]


def near(a: Any, b: Any) -> bool:
    """Compare JSON values; numbers may differ by the rounding of sums."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def supports(model: AnyModel, rows: Rows) -> Check:
    """Stored supports and sums of the target are those of the table."""
    return _first_that_fails(_supports(*score) for score in _by_score(model, rows))


def _supports(model: Model, rows: Rows) -> Check:
    faults, target = [], model.target
    whole = target.units.weight * float(rows.weight.sum())
    for name, inside, support, total in _stored_counts(model, rows.inputs):
        weight, y = rows.weight[inside], rows.y[inside]
        mass = float(weight.sum())
        found = target.units.weight * mass, target.total_of(float((weight * y).sum()), mass)
        same = abs(support - found[0]) <= TOLERANCE * whole
        if not (same and _same_sum(model, total, found[1], mass)):
            faults.append(f"{name}: stored {support:g}/{total:g}, found {found[0]:g}/{found[1]:g}")
    evidence = f"every leaf and direct term, {whole:g} cases"
    return checked(f"supports and {target.mean_name}s", faults, evidence)


def _same_sum(model: Model, stored: float, found: float, weight: float) -> bool:
    """Compare sums of the target over rows of some weight, as the fit saw it."""
    size = model.target.sum_size(model.target.units.weight * weight)
    return abs(stored - found) <= TOLERANCE * size


def _stored_counts(model: Model, inputs: Inputs) -> Iterator[tuple[str, Mask, float, float]]:
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            inside = values > 0 if part.column.binary else ~np.isnan(values)
            yield part.name, inside, part.support, part.target_total
            continue
        reached = part.tree.apply(inputs)
        for number, leaf in enumerate(part.leaves):
            yield part.leaf_name(number), reached == number, leaf.support, leaf.target_total


def mean_contributions(model: AnyModel, rows: Rows) -> Check:
    """The stored mean contributions, which `explain(reference="mean")` shows, are the table's."""
    faults, factor = [], model.target.factor
    for one in model.models:
        stored = one.training["mean_contributions"]
        for _, part in one.parts():
            values = part.contribution(rows.inputs)
            found = float(np.average(values, weights=rows.weight))
            size = float(np.abs(values).max(initial=0.0))
            if abs(found - stored.get(part.name, np.inf)) > TOLERANCE * (factor + size):
                faults.append(f"{part.name}: stored {stored.get(part.name)}, found {found:g}")
    where = " in every class" if isinstance(model, ClassesModel) else ""
    count = len(model.training["mean_contributions"])
    return checked("mean contributions", faults, f"{count} trees and direct terms{where}")


def stored_importances(model: Model | ClassesModel, rows: Rows) -> list[Check]:
    """The stored importances are those of the table; nothing is claimed where there are none."""
    stored = model.training.get(IMPORTANCES)
    if stored is None:
        return []
    found, faults = measured_importances(model, rows.inputs, rows.weight), []
    scale = model.target.factor + max(found.values(), default=0.0)
    for source, value in found.items():
        if abs(value - stored.get(source, np.inf)) > TOLERANCE * scale:
            faults.append(f"{source}: stored {stored.get(source)}, found {value:g}")
    return [checked("importances", faults, f"of {len(stored)} variables")]


def optimal(
    model: AnyModel, rows: Rows, hazards: tuple[Floats, float, Rows] | None = None
) -> list[Check]:
    """Coefficients satisfy the optimality conditions of the recorded Stage 3 objective.

    Of `hazards` the derivative of the deviance by each score, the deviance and the rows beside the
    first baseline are given.
    """
    objective = model.training.get("objective")
    if objective is None:
        return []
    scores = np.array([one.score(rows.inputs) for one in model.models])  # (K, n)
    if isinstance(model, ClassesModel):
        score, unit, limited = scores, 1.0, signs_by_term(model)
    else:
        score, unit, limited = model.target.fit_score(scores[0]), model.target.factor, {}
    if hazards is None:
        pulls = model.loss.residuals(score, rows.y, rows.weight).gradient
        residual = np.atleast_2d(-2.0 * pulls / rows.weight.sum())
        deviance = model.loss.deviance(score, rows.y, rows.weight)
    else:
        residual, deviance = hazards[0][None], hazards[1]
    several = len(scores) > 1
    worst, where = (
        float(np.abs(residual.sum(axis=1)).max()),
        "intercepts" if several else "intercept",
    )
    cost, share = 0.0, objective["l1_ratio"]
    for name, column, scaled, factor in _penalised(model, rows.inputs):
        sizes, strength = scaled / unit, objective["l1"] * factor
        pull = strength * (share * np.sign(sizes) + (1.0 - share) * sizes)
        cost += strength * float(share * np.abs(sizes).sum() + 0.5 * (1.0 - share) * sizes @ sizes)
        slope = (residual * column).sum(axis=1) + pull
        idle = np.maximum(
            _force(limited.get(name, (0,) * len(sizes)), slope) - strength * share, 0.0
        )
        violation = float(np.where(sizes != 0.0, np.abs(slope), idle).max()) / factor
        if not violation <= worst:
            worst, where = violation, name
    limit, value = objective["tolerance"], deviance + cost
    evidence = (
        f"largest residual {worst:.2e} at {where}, at most {limit:.2e} allowed (lambda "
        f"{objective['l1']:g}); objective {value:.6g}, stored {objective['value']:.6g}; terms that "
        "were dropped cannot be checked from the file"
    )
    same = bool(np.isclose(value, objective["value"], rtol=VALUE_TOLERANCE))
    holds = bool(worst <= limit) and same
    top = largest_lambda(model, rows if hazards is None else hazards[2])
    if objective["lambda_max"] > top:
        holds, evidence = False, f"lambda_max is {objective['lambda_max']:g}, at most {top:g}"
    return [Check(OPTIMALITY, holds, evidence)]


def _force(signs: tuple[int, ...], slope: Floats) -> Floats:
    """Return how strongly slopes pull coefficients from zero, to a sign that they may have."""
    sign = np.array(signs)
    force = np.where(sign == 0, np.abs(slope), -sign * slope)
    return np.where(sign == ZERO, 0.0, force)


def balanced(model: Model, rows: Rows) -> list[Check]:
    """Predictions add up to the targets, where the recorded objective has a canonical link.

    Its intercept carries no penalty, so the residuals of the rows add up to zero. Sums are over
    weights, exposures and offsets: of what is predicted for the rows, not for a unit of exposure.
    """
    if model.training.get("objective") is None or not model.loss.balanced:
        return []
    target, weight = model.target, float(rows.weight.sum())
    mean = model.loss.response(target.fit_score(model.score(rows.inputs)))
    sums = [float((rows.weight * each).sum()) for each in (mean, rows.y)]
    predicted, given = (target.total_of(each, weight) for each in sums)
    evidence = f"predictions add up to {predicted:.9g}, the target to {given:.9g}"
    limit = VALUE_TOLERANCE * target.sum_size(target.units.weight * weight)
    return [Check(BALANCE, abs(predicted - given) <= limit, evidence)]


def largest_lambda(model: AnyModel, rows: Rows) -> float:
    """Return what lambda_max, on which the tolerance rests, cannot exceed, of any score."""
    return max(_largest_lambda(*score) for score in _by_score(model, rows))


def _largest_lambda(model: Model, rows: Rows) -> float:
    """Return what lambda_max cannot exceed.

    At the base rate no term of variance one has a larger gradient than the residual's deviation. In
    units of a sample the variance on all rows may be anything, and the tolerance rests on l1 alone.
    """
    if "learned_from_rows" in model.training["validation"]:
        return np.inf
    null = np.full(len(rows.y), model.loss.null_score(rows.y, rows.weight))
    pulls = model.loss.residuals(null, rows.y, np.ones(len(rows.y))).gradient
    spread = float(np.sqrt(np.average(pulls**2, weights=rows.weight)))
    factor = min(1.0, *map(float, model.settings["limits"]["penalty"].values()), 1.0)
    share = max(float(model.training["objective"]["l1_ratio"]), LEAST_SHARE)
    return ROUNDED_VARIANCE * 2.0 * spread / (share * factor)


def _penalised(model: AnyModel, inputs: Inputs) -> Iterator[tuple[str, Floats, Floats, float]]:
    """Yield each term's column, coefficients (K,) and penalty factor in units of the penalty.

    Leaves that say nothing of any score are none.
    """
    parts = [[part for _, part in one.parts()] for one in model.models]
    for same in zip(*parts, strict=True):
        part = same[0]
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            scaled = np.where(np.isnan(values), 0.0, (values - part.centre) / part.scale)
            sizes = np.array([each.coefficient for each in same]) * part.scale
            yield part.name, scaled, sizes, part.penalty
            continue
        reached = part.tree.apply(inputs)
        leaves = [[leaf.coefficient for leaf in each.leaves] for each in same]
        for numbers in _tied(model, part, np.any(leaves, axis=0)):
            column = np.isin(reached, numbers).astype(np.float64)
            factor = sum(part.leaves[n].penalty for n in numbers)
            name = " and ".join(part.leaf_name(n) for n in numbers)
            yield name, column, np.array(leaves)[:, numbers[0]], factor


def _tied(model: AnyModel, tree: TreeTerms, said: Mask) -> list[list[int]]:
    """Return the leaves that say something; those that a monotone limit has tied come together."""
    group = {name: i for i, names in enumerate(model.training["ties"]) for name in names}
    groups: dict[object, list[int]] = {}
    for number in np.flatnonzero(said).tolist():
        name = tree.leaf_name(number)
        groups.setdefault(group.get(name, name), []).append(number)
    return list(groups.values())


def stage2_checks(model: Model, table: Table) -> list[Check]:
    """Return the check that the intercept and the leaves are those of Stage 2, unless edited.

    Trees are not in the order in which they were grown: after each step the one comes next whose
    values are the Newton step from there.
    """
    if model.settings["reassign"] or model.ledger:
        return []
    base = float(model.target.score_of(table.null_score))
    size = max(abs(base), model.target.factor)
    faults = [] if abs(model.intercept - base) <= TOLERANCE * size else [f"it begins at {base!r}"]
    score, left = np.full(table.n_rows, table.null_score), model.trees
    while left:
        follows = [tree for tree in left if _is_step(tree, table, score, model)]
        if not follows:
            faults += [f"{tree.name} has other values" for tree in left]
            break
        score = score + follows[0].contribution(table.inputs) / model.target.factor
        left = [tree for tree in left if tree is not follows[0]]
    evidence = f"{len(model.trees)} trees, from the base rate on"
    return [checked("leaf values of Stage 2", faults, evidence)]


def _is_step(tree: TreeTerms, table: Table, score: Floats, model: Model) -> bool:
    """Tell whether a tree's coefficients are the step from a score: equation (4) and its search."""
    leaf, settings = tree.tree.apply(table.inputs), model.settings
    stored = np.array([v.coefficient for v in tree.leaves]) / model.target.factor
    loss, y, weight = table.loss, table.y, table.weight
    rows = loss.residuals(score, y, weight)
    gradient, curvature = (np.bincount(leaf, v, len(stored)) for v in (rows.gradient, rows.hessian))
    values = gradient / (curvature + settings["leaf_ridge"])
    step, before = float(settings["learning_rate"]), loss.deviance(score, y, weight)
    for _ in range(TRIALS):
        if loss.deviance(score + step * values[leaf], y, weight) < before:
            break
        step /= 2
    return bool(np.allclose(stored, step * values, rtol=TOLERANCE, atol=TOLERANCE))
