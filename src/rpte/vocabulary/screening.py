"""Bounds on the search for derived columns: the most promising variables, a sample of rows.

Both are content-chosen, so neither the order of rows nor that of columns matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.columns.kinds import Column
from rpte.columns.limits import Permissions
from rpte.kernels.screening import label_slope
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index

MOST_VARIABLES = 200


def promising(table: Table, limits: Permissions) -> frozenset[str]:
    """Return the variables that derived columns are searched among.

    All that the limits allow, or, if there are more than 200, those of the highest scores, ties by
    name.
    """
    variables = table.schema.variables
    allowed = [i for i in table.schema.canonical() if limits.derivable(variables[i].name)]
    if len(allowed) > MOST_VARIABLES:
        scores = np.round(_associations(table, allowed), 12)
        best = np.lexsort((np.arange(len(allowed)), -scores))[:MOST_VARIABLES]
        allowed = [allowed[i] for i in best]
    return frozenset(variables[i].name for i in allowed)


def _associations(table: Table, positions: Sequence[int]) -> list[float]:
    nulls = NullModel.of(table)
    columns = table.inputs.columns
    return [sum(null.association(columns[position]) for null in nulls) for position in positions]


@dataclass(frozen=True, slots=True)
class NullModel:
    """The model without terms, in which columns are screened: second-order gain per weight.

    For two classes this is the squared correlation of a column with the label. `gradient` and
    `curvature` are (n,). A loss with several scores has one for each; their gains are added.
    """

    gradient: Floats
    curvature: Floats
    total_weight: float

    @classmethod
    def of(cls, table: Table) -> list[NullModel]:
        """Return those of a table, one for each score of a row."""
        score = table.loss.null_rows(table.y, table.weight)
        at = table.loss.residuals(score, table.y, table.weight)
        both = zip(np.atleast_2d(at.gradient), np.atleast_2d(at.hessian), strict=True)
        return [cls(gradient, hessian, float(table.weight.sum())) for gradient, hessian in both]

    def association(self, x: Array) -> float:
        """Return the gain of a number's slope, or of a category's levels together."""
        if x.dtype.kind == "f":
            gain = label_slope(x, self.curvature, self.gradient)
        else:
            codes = np.maximum(x, -1) + 1
            mass = np.bincount(codes, self.curvature)
            slope = np.bincount(codes, self.gradient)
            gain = float((slope**2 / np.where(mass > 0, mass, 1.0)).sum())
        return gain / self.total_weight

    def knot_scores(self, sums: Floats, knots: Floats) -> Floats:
        """Return the scores of steps, hinges above and hinges below, (3, k, m).

        `sums` (k, m + 1, 5) are those of c, cx, cxx, g, gx (curvature and gradient) between the
        `knots` (k, m) of k numbers, which are in the units of x.
        """
        total = sums.sum(axis=1, keepdims=True)
        below = np.cumsum(sums[:, :-1], axis=1)
        above = total - below
        step = above[..., 0], above[..., 0], above[..., 3]
        kinds = step, _hinge(above, knots), _hinge(below, knots)
        return np.array([self.scores(total, *kind) for kind in kinds])

    def scores(self, total: Floats, cz: Floats, czz: Floats, gz: Floats) -> Floats:
        """Return the scores of columns z that are 0 where their variable is missing.

        `total` (..., 5) has sums of c, cx, cxx, g, gx where the variable is present; cz, czz, gz
        are sums over the rows.
        """
        curvature = np.maximum(total[..., 0], 1e-300)
        spread = czz - cz * cz / curvature
        gradient = gz - cz * (total[..., 3] / curvature)
        usable = (spread > 1e-12 * np.abs(czz)) & np.isfinite(spread) & np.isfinite(gradient**2)
        gradient = np.where(usable, gradient, 0.0)
        size = np.where(usable, spread * self.total_weight, 1.0)
        return np.where(usable, gradient**2 / size, 0.0)


def _hinge(sums: Floats, knots: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the sums of cz, czz and gz for |x - knot| on one side; the sign does not matter."""
    c, cx, cxx, g, gx = np.moveaxis(sums, -1, 0)
    return cx - knots * c, cxx - 2.0 * knots * cx + knots * knots * c, gx - knots * g


def ranked(columns: Sequence[Column], *scores: Any) -> Index:
    """Return the places of columns, the highest score first, ties by the next one, then by name."""
    keys = -np.array(scores, np.float64)[::-1]
    order = np.lexsort(keys)
    same = (keys[:, order[1:]] == keys[:, order[:-1]]).all(axis=0)
    ends = np.flatnonzero(np.append(~same, True)) + 1
    for first, end in zip(np.append(0, ends), ends, strict=False):
        if end - first > 1:
            order[first:end] = sorted(order[first:end], key=lambda j: columns[j].name)
    return order


def strongest(columns: Sequence[Column], scores: Floats, most: int) -> list[int]:
    """Return the places of at most `most` columns: each variable's best, then the seconds."""
    ranking = ranked(columns, np.round(scores, 12)).tolist()
    seen: dict[str, int] = {}
    turn = [0] * len(columns)
    for j in ranking:
        source = columns[j].sources[0]
        turn[j] = seen[source] = seen.get(source, -1) + 1
    return sorted(sorted(ranking, key=turn.__getitem__)[:most])
