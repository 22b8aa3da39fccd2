"""Which levels of a category stand for themselves, and which are pooled as rare."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.table.inputs import Inputs
from rpte.table.schema import OTHER, Schema, Variable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PoolingRule:
    """A level keeps its name if it weighs enough and is among the heaviest.

    Parameters
    ----------
    least_weight : float
        Rows (weight) that a level needs.
    most_levels : int
        At most so many levels keep their name; ties by name.
    """

    least_weight: float
    most_levels: int


KEEP_ALL = PoolingRule(0.0, 2**62)
# Sums of weights such as 0.1 fall short by rounding alone, differently in each order of rows.
WEIGHT_SLACK = 1e-9


def settle_schema(inputs: Inputs, weight: Floats, rule: PoolingRule) -> Inputs:
    """Return the inputs with a schema learned from the rows that count.

    Levels without a row are forgotten, rare ones are pooled under ``OTHER``, and `has_missing`
    tells of these rows alone. Special codes stay as they were declared, seen or not.
    """
    variables, columns = [], []
    for position, variable in enumerate(inputs.schema.variables):
        column = inputs.columns[position]
        missing = bool(inputs.is_missing(variable.name).any())
        if variable.kind == "category":
            variable, column = _pool(variable, column, weight, rule)
        variables.append(
            Variable(variable.name, variable.kind, variable.levels, missing, variable.pooled)
        )
        columns.append(column)
    schema = Schema(tuple(variables), inputs.schema.named)
    return Inputs(schema, tuple(columns), inputs.specials)


def pooled_name(levels: Collection[str]) -> str:
    """Return what rare levels are called beside some that keep their names."""
    name = OTHER
    while name in levels:
        name = f"({name})"
    return name


def _pool(
    variable: Variable, codes: NDArray[np.int32], weight: Floats, rule: PoolingRule
) -> tuple[Variable, NDArray[np.int32]]:
    present = codes >= 0
    weights = np.bincount(codes[present], weight[present], minlength=len(variable.levels))
    heavy = np.lexsort((np.arange(len(weights)), -np.round(weights, 9)))[: rule.most_levels]
    least = rule.least_weight * (1 - WEIGHT_SLACK)
    kept = np.sort(heavy[(weights[heavy] >= least) & (weights[heavy] > 0)])
    pooled = bool((weights > 0).sum() > len(kept))
    recode = np.full(len(weights) + 1, len(kept), np.int32)
    recode[kept] = np.arange(len(kept))
    recode[-1] = -1  # code -1, a missing cell, stays
    levels = tuple(variable.levels[i] for i in kept)
    named = (*levels, pooled_name(levels)) if pooled else levels
    return Variable(variable.name, "category", named, False, pooled), recode[codes]
