"""Which leaves of a tree no case can reach, proved on the conditions (numpy only).

Conditions on one variable can tell apart only finitely many cases: missing, each level or special
code, and the ranges between the numbers that they name. A leaf is impossible if no such case meets
all its conditions on some variable. Conditions on two variables, on a hinge or on a scale are
compared with others on the same column only, so what is called impossible is impossible; the other
way round is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Column, Hinge, Interval, Scale, Step
from rpte.structure.tree import Condition, Tree
from rpte.table.column import MISSING, UNSEEN
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable

Floats = NDArray[np.float64]


def impossible_leaves(tree: Tree, schema: Schema) -> list[int]:
    """Return the numbers of the leaves that no case can reach."""
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
