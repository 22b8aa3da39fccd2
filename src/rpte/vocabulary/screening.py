"""Bounds on the search for derived columns: the most promising variables, a sample of rows.

Both are content-chosen, so neither the order of rows nor that of columns matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Column
from rpte.columns.limits import Permissions
from rpte.kernels.screening import label_slope
from rpte.table.table import Table

Floats = NDArray[np.float64]

MOST_VARIABLES = 200
SAMPLE_ROWS = 50_000


def promising(table: Table, limits: Permissions) -> frozenset[str]:
    """Return the variables that derived columns are searched among.

    All that the limits allow, or, if there are more than 200, those that go most with the label by
    squared correlation (numbers) or correlation ratio (categories), ties by name.
    """
    variables = table.schema.variables
    allowed = [i for i in table.schema.canonical() if limits.derivable(variables[i].name)]
    if len(allowed) > MOST_VARIABLES:
        scores = np.round(_associations(table, allowed), 12)
        best = np.lexsort((np.arange(len(allowed)), -scores))[:MOST_VARIABLES]
        allowed = [allowed[i] for i in best]
    return frozenset(variables[i].name for i in allowed)


def _associations(table: Table, positions: Sequence[int]) -> list[float]:
    """Return the share of the label's variance that each variable explains by itself."""
    label = Label.of(table)
    found = []
    for position in positions:
        x = table.inputs.columns[position]
        if x.dtype.kind == "f":
            explained = label_slope(x, label.weight, label.residual)
        else:
            explained = _between(np.maximum(x, -1) + 1, label)
        found.append(explained / label.variance)
    return found


def _between(codes: NDArray[Any], label: Label) -> float:
    """Return the label's variance between the levels of a category."""
    mass = np.bincount(codes, label.weight)
    between = np.bincount(codes, label.residual) ** 2 / np.where(mass > 0, mass, 1.0)
    return float(between.sum())


@dataclass(frozen=True, slots=True)
class Label:
    """What correlations with the label need of the rows.

    Parameters
    ----------
    weight, residual : (n,)
        The residual is the weight times the label's distance from the base rate.
    variance : float
        Of the label, times the weight of all rows.
    """

    weight: Floats
    residual: Floats
    variance: float

    @classmethod
    def of(cls, table: Table) -> Label:
        """Return the label of a table."""
        total = table.weight.sum()
        rate = (table.weight @ table.y) / total
        return cls(table.weight, table.weight * (table.y - rate), rate * (1.0 - rate) * total)

    def beside(self, sums: Floats, knots: Floats) -> Floats:
        """Return the squared correlations of steps, hinges above and hinges below, (3, k, m).

        Parameters
        ----------
        sums : (k, m + 1, 5)
            Of w, wx, wxx, r, rx between the knots of k numbers.
        knots : (k, m)
            In the units of x.
        """
        total = sums.sum(axis=1, keepdims=True)
        below = np.cumsum(sums[:, :-1], axis=1)
        above = total - below
        step = above[..., 0], above[..., 0], above[..., 3]
        kinds = step, _hinge(above, knots), _hinge(below, knots)
        return np.array([self._squared(total, *kind) for kind in kinds])

    def alone(self, sums: Floats, total: Floats) -> Floats:
        """Return the squared correlations of columns that are 0 where missing, (k,).

        Parameters
        ----------
        sums : (k, 3)
            Of wz, wzz, rz.
        total : (k, 5)
            Of w, wx, wxx, r, rx where the variable is present.
        """
        return np.asarray(self._squared(total, *sums.T))

    def _squared(self, total: Floats, wz: Any, wzz: Any, rz: Any) -> Any:
        weight = np.maximum(total[..., 0], 1e-300)
        spread = wzz - wz * wz / weight
        gradient = rz - wz * (total[..., 3] / weight)
        usable = (spread > 1e-12 * np.abs(wzz)) & np.isfinite(spread) & np.isfinite(gradient**2)
        gradient = np.where(usable, gradient, 0.0)
        return np.where(usable, gradient**2 / np.where(usable, spread * self.variance, 1.0), 0.0)


def _hinge(sums: Floats, knots: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the sums of wz, wzz and rz for |x - knot| on one side; the sign does not matter."""
    w, wx, wxx, r, rx = np.moveaxis(sums, -1, 0)
    return wx - knots * w, wxx - 2.0 * knots * wx + knots * knots * w, rx - knots * r


def ranked(columns: Sequence[Column], *scores: Any) -> NDArray[np.intp]:
    """Return the places of columns, the highest score first, ties by the next one, then by name."""
    keys = -np.array(scores, np.float64)[::-1]
    order = np.lexsort(keys)
    same = (keys[:, order[1:]] == keys[:, order[:-1]]).all(axis=0)
    ends = np.flatnonzero(np.append(~same, True)) + 1
    for first, end in zip(np.append(0, ends), ends, strict=False):
        if end - first > 1:
            order[first:end] = sorted(order[first:end], key=lambda j: columns[j].text)
    return order


def strongest(columns: Sequence[Column], scores: Floats, most: int) -> list[int]:
    """Return the places of at most so many columns: each variable's best first, then the seconds.

    The best have the highest score, ties by name.
    """
    ranking = ranked(columns, np.round(scores, 12)).tolist()
    seen: dict[str, int] = {}
    turn = [0] * len(columns)
    for j in ranking:
        source = columns[j].sources[0]
        turn[j] = seen[source] = seen.get(source, -1) + 1
    return sorted(sorted(ranking, key=turn.__getitem__)[:most])


def sample(table: Table) -> Table:
    """Return at most 50,000 distinct rows."""
    return table.sample(SAMPLE_ROWS)
