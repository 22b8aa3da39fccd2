"""Checks of the counts in a file: that they add up, and stay within what the user asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rpte.columns.kinds import RAW, Column, Interval
from rpte.columns.units import MOST_CONDITIONS
from rpte.model.check import Check, checked
from rpte.model.ledger import UNMET_MISSING, withdrawn
from rpte.model.verify_structure import direct_of, trees_of

if TYPE_CHECKING:
    from rpte.model.model import Model

ROUNDING = 1e-9  # sums of weights are rounded


def count_checks(model: Model) -> list[Check]:
    """Return the checks of this file."""
    return [adds_up(model), as_asked_for(model)]


def adds_up(model: Model) -> Check:
    """Each tree holds every training case once, and stored means follow from the supports."""
    rows, events = model.training["rows"], model.training["events"]
    stored, faults = model.training["mean_contributions"], []
    means = {part.name: stored.get(part.name, math.inf) for _, part in model.parts()}
    for tree in trees_of(model):
        sums = math.fsum(v.support for v in tree.leaves), math.fsum(v.events for v in tree.leaves)
        if not (_near(sums[0], rows, rows) and _near(sums[1], events, rows)):
            faults.append(f"the leaves of {tree.name} hold {sums[0]:g} cases, {sums[1]:g} events")
        mean = math.fsum(v.coefficient * v.support for v in tree.leaves) / rows
        size = max(abs(v.coefficient) for v in tree.leaves)
        if not _near(mean, means[tree.name], 1.0 + size):
            faults.append(f"the mean of {tree.name} is {mean:g}, not {means[tree.name]:g}")
    for term in direct_of(model):
        mean = term.coefficient * term.support / rows
        if term.column.binary and not _near(mean, means[term.name], 1.0 + abs(term.coefficient)):
            faults.append(f"the mean of {term.name} is {mean:g}, not {means[term.name]:g}")
    return checked("supports and means add up", faults, f"{rows:g} cases, {events:g} events")


def _near(a: float, b: float, size: float) -> bool:
    return abs(a - b) <= ROUNDING * size


def as_asked_for(model: Model) -> Check:
    """The model is no larger than its parameters allow."""
    limit, load = conditions_allowed(model), model.audit().miu
    allowed = "any number" if limit is None else f"at most {limit}"
    evidence = f"{load} conditions, {allowed} asked for; trees, columns and leaves within theirs"
    return checked("size as asked for", list(_excess(model, limit, load)), evidence)


def conditions_allowed(model: Model) -> int | None:
    """Return how many conditions the parameters allow; None for any number."""
    settings = model.settings
    limit: int | None = settings["max_inspection_units"]
    chosen = settings["l1"] == "cv" and settings["reassign"]
    return MOST_CONDITIONS if limit is None and chosen else limit


def _excess(model: Model, limit: int | None, load: int) -> Iterator[str]:
    settings, trees = model.settings, trees_of(model)
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
    least = settings["min_samples_leaf"] * (1 - ROUNDING)
    for tree in trees:
        for number, leaf in enumerate(tree.leaves):
            if leaf.support < least:
                yield f"{tree.leaf_name(number)} holds {leaf.support:g} cases, {least:g} asked for"


def _derived(model: Model) -> Iterator[Column]:
    """Yield the columns that are neither a variable nor the presence of one."""
    tested = [split.column for tree in trees_of(model) for split in tree.tree.splits]
    for column in [*tested, *(term.column for term in direct_of(model))]:
        if not isinstance(column, RAW) and not (isinstance(column, Interval) and column.unbounded):
            yield column
