"""Checks that need no table: partition, ownership, audit load, objective, counts that add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.kinds import (
    RAW,
    Column,
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Scale,
    Step,
    Value,
    goes_on,
    one_source,
)
from rpte.columns.units import MOST_CONDITIONS, bound_under
from rpte.model.certificate import monotone_directions, stage3_tolerance
from rpte.model.check import Check, checked
from rpte.model.classes import ClassesModel
from rpte.model.ledger import OPTIMALITY, UNMET_MISSING, withdrawn
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms, joined
from rpte.model.survival import SurvivalTarget
from rpte.structure.tree import Condition, Tree, leaf_numbers
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.file import AnyModel
    from rpte.model.model import Model

Owner = Component | TreeTerms | DirectTerm
ROUNDING = 1e-9  # sums of weights are rounded
SUMS = "supports and means add up"
MOST_SAID = 6  # classes whose cases are told


def structure_checks(model: AnyModel) -> list[Check]:
    """Return the checks of this file."""
    outline = model.outline
    one_each = (partition, ownership, component_size, load_within_bound)
    checks = (
        [check(outline) for check in one_each]
        + yes_or_no(outline)
        + one_shape(outline)
        + no_extrapolation(outline)
        + recorded_objective(outline)
    )
    return [*checks, adds_up(model), as_asked_for(outline)]


def partition(model: Model) -> Check:
    """Leaves of a tree partition the space, and each of them can hold a case.

    Every split sends every input to exactly one side; the conditions of each leaf can be true
    together, which is tried on every case that they can tell apart, not on a sample.
    """
    faults = []
    for tree in model.trees:
        reached = leaf_numbers(tree.tree.root)
        if reached != list(range(len(tree.leaves))):
            faults.append(f"{tree.name} reaches leaves {reached}")
        for split in tree.tree.splits:
            if split.column.binary != (split.threshold is None):
                faults.append(f"{tree.name} tests {split.column.text} with {split.threshold}")
            if split.threshold is not None and not math.isfinite(split.threshold):
                faults.append(f"{tree.name} has the threshold {split.threshold}")
        empty = impossible_leaves(tree.tree, model.schema)
        faults += [f"no case can reach {tree.leaf_name(number)}" for number in empty]
    leaves = sum(len(tree.leaves) for tree in model.trees)
    evidence = (
        f"{leaves} leaves in {len(model.trees)} trees; each split has two sides that exclude "
        "each other and cover all values, missing included; each leaf can be reached"
    )
    return checked("leaves partition the inputs", faults, evidence)


def ownership(model: Model) -> Check:
    """Sources are disjoint as the stated policy demands."""
    if model.ownership not in _POLICIES:
        return Check("ownership", False, f"unknown policy '{model.ownership}'")
    rule, text = _POLICIES[model.ownership]
    apart = [c.name for c in model.components if len(joined(p.sources for p in c.parts)) > 1]
    faults = [
        *_shared(combinations(model.trees, 2)),
        *_shared(combinations(model.components, 2)),
        *(f"{name} falls apart" for name in apart),
        *rule(model),
    ]
    return checked(f"ownership '{model.ownership}'", faults, text)


def _shared(pairs: Iterable[tuple[Owner, Owner]]) -> list[str]:
    both = [(a.name, b.name, sorted(set(a.sources) & set(b.sources))) for a, b in pairs]
    return [f"{a} and {b} share {sources}" for a, b, sources in both if sources]


def _one_tree_each(model: Model) -> list[str]:
    return [f"{c.name} holds {len(c.trees)} trees" for c in model.components if len(c.trees) > 1]


def _separate(model: Model) -> list[str]:
    return _shared((tree, term) for term in model.direct for tree in model.trees)


def _strict(model: Model) -> list[str]:
    pairs = [
        (a, b)
        for a, b in combinations(model.direct, 2)
        if not (a.sources == b.sources and all(isinstance(d.column, RAW) for d in (a, b)))
    ]
    return [*_separate(model), *_shared(pairs)]


_POLICIES: dict[str, tuple[Callable[[Any], list[str]], str]] = {
    "paper": (lambda model: [], "trees share no source"),
    "separate": (_separate, "trees share no source with each other or with a direct term"),
    "strict": (
        _strict,
        "no source appears in two trees, in a tree and a direct term, or in two direct terms other "
        "than the raw columns of one variable",
    ),
    "component": (_one_tree_each, "components share no source and hold at most one tree each"),
}


def component_size(model: Model) -> Check:
    """The largest component, against the limit where the policy sets one."""
    sizes = [len(component.sources) for component in model.components]
    largest = max(sizes, default=0)
    limit = model.settings["max_component_sources"] if model.ownership == "component" else None
    allowed = "; the policy sets no limit" if limit is None else f", at most {limit} allowed"
    evidence = f"the largest of {len(sizes)} components reads {largest} variables{allowed}"
    return Check("component size", limit is None or largest <= limit, evidence)


def yes_or_no(model: Model) -> list[Check]:
    """Every term is a yes/no statement, where the parameters ask for rules.

    A direct term is one if its column is 0 or 1; a leaf, if its tree tests such columns and
    compares single numbers with thresholds.
    """
    if model.settings.get("form") != "rules":
        return []
    faults = [
        f"{d.name} is the number {d.column.text}" for d in model.direct if not d.column.binary
    ]
    for tree in model.trees:
        tested = [split.column for split in tree.tree.splits]
        numbers = [column for column in tested if not isinstance(column, Value)]
        faults += [f"{tree.name} compares {c.text}" for c in numbers if not c.binary]
    leaves = sum(len(tree.leaves) for tree in model.trees)
    evidence = f"{len(model.direct)} direct terms and {leaves} leaves: each holds or does not hold"
    return [checked("every term is a yes/no statement", faults, evidence)]


MOST_TERMS = 3  # of one variable outside of trees and products


def one_shape(model: Model) -> list[Check]:
    """Every variable has one shape, where the parameters ask for it.

    A number has one line or log, at most three steps or pieces; sets of levels do not overlap.
    """
    if model.settings.get("shapes") != "one":
        return []
    by_source: dict[str, list[DirectTerm]] = {}
    for term in model.direct:
        if len(set(term.sources)) == 1 and not is_flag(term.column, model.schema):
            by_source.setdefault(term.sources[0], []).append(term)
    faults = [f for name, terms in by_source.items() for f in _shape_faults(name, terms)]
    evidence = f"{len(by_source)} variables with terms of their own, each of one kind"
    return [checked("one shape per variable", faults, evidence)]


def is_flag(column: Column, schema: Schema) -> bool:
    """Tell whether a column may stand beside any shape: missing, or a special code."""
    if isinstance(column, Level):
        return schema[column.source].kind == "number"
    return isinstance(column, Missing)


def _shape_faults(name: str, terms: list[DirectTerm]) -> Iterator[str]:
    columns = [term.column for term in terms]
    kinds = {column.kind for column in columns}
    levels = [level for c in columns if isinstance(c, Level) for level in c.levels]
    if len(kinds) > 1:
        yield f"{name} has terms of the kinds {sorted(kinds)}"
    if len(columns) > MOST_TERMS:
        yield f"{name} has {len(columns)} terms, more than {MOST_TERMS}"
    if len(levels) > len(set(levels)):
        yield f"{name} has sets of levels that overlap"


def no_extrapolation(model: Model) -> list[Check]:
    """No effect of a number changes beyond limits, where every variable has one shape.

    The limits are inside the range of the training values, if the profile tells it. Numbers that
    the user made `linear_only` have a slope without an end.
    """
    if model.settings.get("shapes") != "one":
        return []
    linear = set(model.settings["limits"]["linear_only"])
    known = {} if UNMET_MISSING in withdrawn(model) else _extremes(model)
    faults, numbers = [], set[str]()
    for name, column in _numeric(model):
        numbers |= {*column.sources} - linear
        if goes_on(column) and not linear.issuperset(column.sources):
            faults.append(f"{name} has an effect that does not end inside the data")
        for part in one_source(column):
            least, most = known.get(part.source) or (-math.inf, math.inf)
            ends = [end for end in part.limits if math.isfinite(end) and not least <= end <= most]
            faults += [f"{name} ends at {number_text(end)}, outside of the data" for end in ends]
    evidence = (
        f"numbers read: {len(numbers)}; each adds the same beyond printed limits inside the data"
    )
    return [checked("no extrapolation", faults, evidence)]


def _extremes(model: Model) -> dict[str, tuple[float, float] | None]:
    """Return the range of the training values of each number that the profile tells."""
    return {each["name"]: each.get("extremes") for each in model.data.get("profile") or ()}


def _numeric(model: Model) -> Iterator[tuple[str, Column]]:
    """Yield the numbers that direct terms add, and those made of others that trees test."""
    yield from ((term.name, term.column) for term in model.direct if not term.column.binary)
    for tree in model.trees:
        for split in tree.tree.splits:
            if isinstance(split.column, Pair) and split.threshold is not None:
                yield tree.name, split.column


def load_within_bound(model: Model) -> Check:
    """MIU is within the bound known before training, which is computed again and not believed."""
    load, bound = model.audit(), bound_under(model.schema, model.settings)
    evidence = f"{load.miu} conditions in {load.mu} terms; bound before training {bound}"
    if bound != model.bound:
        evidence += f", not {model.bound} as the model says"
    holds = load.miu <= model.bound == bound
    return Check("audit load within its bound", holds, evidence)


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
    faults = [*_penalty_faults(model, objective), *_limit_faults(model)]
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
    chosen = model.training["selection"]["chosen"]
    wanted = {"cv": chosen["l1"], "4/n": 4.0 / model.training["rows"]}.get(asked, asked)
    if found != chosen["l1"] or not np.isclose(found, wanted, rtol=1e-12, atol=0.0):
        yield f"lambda {found:g} was solved, {chosen['l1']:g} chosen, {asked} asked for"
    share = model.settings["l1_ratio"]
    wanted = chosen["l1_ratio"] if share is None and asked == "cv" else share or 1.0
    if not objective["l1_ratio"] == chosen["l1_ratio"] == wanted:
        yield f"L1 share {objective['l1_ratio']:g} solved, {wanted:g} chosen or asked for"


def _limit_faults(model: Model) -> Iterator[str]:
    """Penalty factors of direct terms are the user's; only monotone variables tie leaves."""
    factors = model.settings.get("limits", {}).get("penalty", {})
    for term in model.direct:
        wanted = max(factors.get(source, 1.0) for source in term.sources)
        if term.penalty != wanted:
            yield f"{term.name} has the penalty factor {term.penalty:g}, not {wanted:g}"
    ordered = set(monotone_directions(model))
    free = {tree.name for tree in model.trees if not ordered & set(tree.sources)}
    for names in model.training["ties"]:
        if names[0].split(".")[0] in free:
            yield f"{' and '.join(names)} are tied without a monotone variable"


def adds_up(model: AnyModel) -> Check:
    """Each tree holds every training case once, and stored means follow from the supports."""
    each = [_adds_up(one) for one in model.models]
    if not isinstance(model, ClassesModel):
        return each[0]
    of_classes = zip(model.classes, each, strict=True)
    faults = [f"{label!r}: {check.evidence}" for label, check in of_classes if not check.holds]
    cases = zip(model.classes, model.target.totals, strict=True)
    told = [f"{total:g} of {label!r}" for label, total in cases]
    more = [f"{len(told) - MOST_SAID} more classes"] if len(told) > MOST_SAID else []
    said = ", ".join([*told[:MOST_SAID], *more])
    return checked(SUMS, faults, f"{model.training['rows']:g} cases, {said}")


def _adds_up(model: Model) -> Check:
    target, stored, faults = model.target, model.training["mean_contributions"], []
    weight, total = target.units.weight * model.training["rows"], target.total
    size = target.sum_size(weight)
    for tree in model.trees:
        totals = [v.target_total for v in tree.leaves]
        sums = sum(v.support for v in tree.leaves), sum(totals)
        if not (_near(sums[0], weight, weight) and _near(sums[1], total, size)):
            held = f"{sums[0]:g} cases, {target.total_text(sums[1])}"
            faults.append(f"the leaves of {tree.name} hold {held}")
    terms: list[tuple[str, Sequence[Leaf | DirectTerm]]] = [(t.name, t.leaves) for t in model.trees]
    terms += [(term.name, [term]) for term in model.direct if term.column.binary]
    for name, counted in terms:
        mean = sum(v.coefficient * v.support for v in counted) / weight
        largest = max(abs(v.coefficient) for v in counted)
        if not _near(mean, stored.get(name, math.inf), target.factor + largest):
            faults.append(f"the mean of {name} is {mean:g}, not {stored.get(name, math.inf):g}")
    evidence = f"{weight:g} cases, {target.total_text(total)}"
    return checked(SUMS, faults, evidence)


def _near(a: float, b: float, size: float) -> bool:
    return abs(a - b) <= ROUNDING * size


def as_asked_for(model: Model) -> Check:
    """The model is no larger than its parameters allow."""
    limit, load = conditions_allowed(model.settings), model.audit().miu
    allowed = "any number" if limit is None else f"at most {limit}"
    evidence = f"{load} conditions, {allowed} asked for; trees, columns and leaves within theirs"
    return checked("size as asked for", list(_excess(model, limit, load)), evidence)


def conditions_allowed(settings: Mapping[str, Any]) -> int | None:
    """Return how many conditions the parameters of a fit allow; None for any number."""
    limit: int | None = settings["max_inspection_units"]
    chosen = settings["l1"] == "cv" and settings["reassign"]
    return MOST_CONDITIONS if limit is None and chosen else limit


def _excess(model: Model, limit: int | None, load: int) -> Iterator[str]:
    settings, trees = model.settings, model.trees
    if limit is not None and load > limit:
        yield f"{load} conditions, at most {limit} were asked for"
    if len(trees) > settings["max_trees"]:
        yield f"{len(trees)} trees, at most {settings['max_trees']} were asked for"
    budget = 0 if settings["vocabulary"] == "original" else 2 * settings["budget"]
    made = len(set(_derived(model)))
    if made > budget:
        yield f"{made} derived columns, at most {budget} were asked for"
    if UNMET_MISSING in withdrawn(model):  # estimated again on another table
        return
    if isinstance(model.target, SurvivalTarget):  # rows count by exposure, see `verify_table`
        return
    least = model.target.units.weight * settings["min_samples_leaf"] * (1 - ROUNDING)
    for tree in trees:
        for number, leaf in enumerate(tree.leaves):
            if leaf.support < least:
                yield f"{tree.leaf_name(number)} holds {leaf.support:g} cases, {least:g} asked for"


def _derived(model: Model) -> Iterator[Column]:
    """Yield the columns that are neither a variable nor the presence of one."""
    tested = [split.column for tree in model.trees for split in tree.tree.splits]
    for column in [*tested, *(term.column for term in model.direct)]:
        if not isinstance(column, RAW) and not (isinstance(column, Interval) and column.unbounded):
            yield column


def impossible_leaves(tree: Tree, schema: Schema) -> list[int]:
    """Return the numbers of the leaves that no case can reach, proved on the conditions.

    Conditions on one variable can tell apart only finitely many cases: missing, each level or
    special code, and the ranges between the numbers that they name. A leaf is impossible if no such
    case meets all its conditions on some variable. Conditions on two variables, on a hinge or on a
    scale are compared with others on the same column only, so what is called impossible is
    impossible; the other way round is not claimed.
    """
    return [number for number, path in enumerate(tree.paths()) if not _possible(path, schema)]


def _possible(path: Iterable[Condition], schema: Schema) -> bool:
    groups: dict[str | Column, list[Condition]] = {}
    for condition in path:
        column = condition.split.column
        alone = len(column.sources) > 1 or isinstance(column, (Hinge, Scale))
        key: str | Column = column if alone else column.sources[0]
        groups.setdefault(key, []).append(condition)
    return all(
        _one_column(group)
        if not isinstance(key, str)
        else _meets(group, _cases(schema[key], _numbers(group)))
        for key, group in groups.items()
    )


def _meets(conditions: list[Condition], cases: Inputs) -> bool:
    """Tell whether one of some cases meets all conditions."""
    return bool(np.all([c.split.holds(cases) == c.holds for c in conditions], axis=0).any())


def _one_column(conditions: list[Condition]) -> bool:
    """Try conditions on one column: on its values, or on true and false."""
    if conditions[0].split.column.binary:
        return len({c.holds for c in conditions}) == 1
    values = np.append(_around(_numbers(conditions)), np.nan)
    sides = [
        np.where(np.isnan(values), c.split.missing_holds, values <= (c.split.threshold or 0.0))
        == c.holds
        for c in conditions
    ]
    return bool(np.all(sides, axis=0).any())


def _numbers(conditions: list[Condition]) -> list[float]:
    """Return the numbers that conditions compare with."""
    ends = [c.split.threshold for c in conditions if c.split.threshold is not None]
    for condition in conditions:
        column = condition.split.column
        if isinstance(column, Interval):
            ends += [column.low, column.high]
        elif isinstance(column, Step):
            ends.append(column.threshold)
    return [end for end in ends if np.isfinite(end)]


def _around(numbers: list[float]) -> Floats:
    """Return every number with its two neighbours: a point of each range between them."""
    points = np.array(numbers or [0.0])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


def _cases(variable: Variable, numbers: list[float]) -> Inputs:
    """Return one row for each case of a variable that conditions can tell apart."""
    schema = Schema((variable,), named=True)
    codes = np.arange(len(variable.levels), dtype=np.int32)
    if variable.kind == "category":
        unseen = [] if variable.pooled else [UNSEEN]
        return Inputs(schema, (np.concatenate([codes, [MISSING], unseen]).astype(np.int32),))
    points = _around(numbers)
    empty = np.full(len(codes) + 1, np.nan)
    values = np.concatenate([points, empty])
    special = np.concatenate([np.full(len(points) + 1, MISSING), codes]).astype(np.int32)
    return Inputs(schema, (values,), {0: special} if variable.levels else {})
