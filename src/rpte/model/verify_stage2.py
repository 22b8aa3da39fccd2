"""The leaf values of a model that Stage 3 did not estimate (reassign=False), found again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpte.model.check import Check, checked
from rpte.model.model import probability
from rpte.model.parts import TreeTerms
from rpte.model.verify_structure import trees_of
from rpte.table.table import Table

if TYPE_CHECKING:
    from rpte.model.model import Model

Floats = NDArray[np.float64]
STAGE2 = "leaf values of Stage 2"
TRIALS = 6  # steps of the line search
LEAST_MEAN = LEAST_HESSIAN = 1e-6
CLIP = 35.0
ROUNDING = 1e-9


def stage2_checks(model: Model, table: Table) -> list[Check]:
    """Return the check that the intercept and the leaves are those of Stage 2, unless edited.

    Trees are not in the order in which they were grown: after each step the one comes next whose
    values are the Newton step from there.
    """
    if model.settings["reassign"] or model.ledger:
        return []
    base = _base(table)
    faults = [] if abs(model.intercept - base) <= ROUNDING else [f"the intercept is {base!r}"]
    score, left = np.full(table.n_rows, base), trees_of(model)
    while left:
        follows = [tree for tree in left if _is_step(tree, table, score, model.settings)]
        if not follows:
            faults += [f"{tree.name} has other values" for tree in left]
            break
        score = score + follows[0].contribution(table.inputs)
        left = [tree for tree in left if tree is not follows[0]]
    return [checked(STAGE2, faults, f"{len(trees_of(model))} trees, from the base rate on")]


def _base(table: Table) -> float:
    mean = (table.weight * table.y).sum() / table.total_weight
    mean = float(np.clip(mean, LEAST_MEAN, 1 - LEAST_MEAN))
    return float(np.log(mean / (1 - mean)))


def _is_step(tree: TreeTerms, table: Table, score: Floats, settings: Mapping[str, Any]) -> bool:
    """Tell whether a tree's coefficients are the step from a score: equation (4) and its search."""
    leaf, stored = tree.tree.apply(table.inputs), np.array([v.coefficient for v in tree.leaves])
    p = probability(np.clip(score, -CLIP, CLIP))
    curvature = table.weight * np.maximum(p * (1 - p), LEAST_HESSIAN)
    gradient = np.bincount(leaf, table.weight * (table.y - p), len(stored))
    values = gradient / (np.bincount(leaf, curvature, len(stored)) + settings["leaf_ridge"])
    step, before = float(settings["learning_rate"]), _deviance(table, score)
    for _ in range(TRIALS):
        if _deviance(table, score + step * values[leaf]) < before:
            break
        step /= 2
    return bool(np.allclose(stored, step * values, rtol=ROUNDING, atol=ROUNDING))


def _deviance(table: Table, score: Floats) -> float:
    loss = np.logaddexp(0.0, score) - table.y * score
    return 2.0 * float((table.weight * loss).sum() / table.total_weight)
