"""Bounds on the search for derived columns: the most promising variables, a sample of rows.

Both are content-chosen, so neither the order of rows nor that of columns matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.limits import Permissions
from rpte.table.table import Table
from rpte.vocabulary.columns import Column

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
        scores = np.round([_association(table, i) for i in allowed], 12)
        best = np.lexsort((np.arange(len(allowed)), -scores))[:MOST_VARIABLES]
        allowed = [allowed[i] for i in best]
    return frozenset(variables[i].name for i in allowed)


def _association(table: Table, position: int) -> float:
    """Return the share of the label's variance that a variable explains by itself."""
    x, weight = table.inputs.columns[position], table.weight
    rate = (weight @ table.y) / weight.sum()
    residual = weight * (table.y - rate)
    spread = rate * (1.0 - rate) * weight.sum()
    if x.dtype.kind != "f":
        codes = np.maximum(x, -1) + 1
        mass = np.bincount(codes, weight)
        between = np.bincount(codes, residual) ** 2 / np.where(mass > 0, mass, 1.0)
        return float(between.sum() / spread)
    return _correlation(x, table)


def _correlation(x: Floats, table: Table) -> float:
    """Return the squared correlation with the label where `x` is present."""
    rate = (table.weight @ table.y) / table.weight.sum()
    present = ~np.isnan(x)
    if not present.any():
        return 0.0
    weight = table.weight[present]
    biggest = np.abs(x[present]).max() or 1.0  # keeps the squares of values near 1e300 finite
    centred = x[present] / biggest - np.average(x[present] / biggest, weights=weight)
    variance = (weight @ centred**2) * rate * (1.0 - rate) * table.weight.sum()
    residual = weight * (table.y[present] - rate)
    return float((residual @ centred) ** 2 / variance) if variance > 0 else 0.0


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

    def beside(self, sums: Floats, knots: Floats) -> dict[str, Floats]:
        """Return the squared correlations of the steps and hinges at knots, each (m,).

        Parameters
        ----------
        sums : (m + 1, 5)
            Of w, wx, wxx, r, rx between the knots.
        knots : (m,)
            In the units of x.
        """
        total = sums.sum(axis=0)
        below = np.cumsum(sums[:-1], axis=0)
        above = total - below
        step = above[:, 0], above[:, 0], above[:, 3]
        return {
            "step": self._squared(*step, total),
            "above": self._squared(*_hinge(above, knots), total),
            "below": self._squared(*_hinge(below, knots), total),
        }

    def alone(self, z: Floats, total: Floats) -> float:
        """Return the squared correlation of a column that is 0 where missing; `total` is (5,)."""
        weighted = self.weight * z
        return float(self._squared(weighted.sum(), weighted @ z, self.residual @ z, total))

    def _squared(self, wz: Any, wzz: Any, rz: Any, total: Floats) -> Any:
        spread = wzz - wz * wz / max(total[0], 1e-300)
        gradient = rz - wz * (total[3] / max(total[0], 1e-300))
        usable = (spread > 1e-12 * np.abs(wzz)) & np.isfinite(spread) & np.isfinite(gradient**2)
        gradient = np.where(usable, gradient, 0.0)
        return np.where(usable, gradient**2 / np.where(usable, spread * self.variance, 1.0), 0.0)


def _hinge(sums: Floats, knots: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the sums of wz, wzz and rz for |x - knot| on one side; the sign does not matter."""
    w, wx, wxx, r, rx = sums.T
    return wx - knots * w, wxx - 2.0 * knots * wx + knots * knots * w, rx - knots * r


def strongest(
    columns: Sequence[Column], texts: Sequence[str], scores: Floats, most: int
) -> list[int]:
    """Return the places of at most so many columns: each variable's best first, then the seconds.

    The best have the highest score, ties by name.
    """
    keys = list(zip((-np.round(scores, 12)).tolist(), texts, strict=True))
    ranking = sorted(range(len(columns)), key=keys.__getitem__)
    seen: dict[str, int] = {}
    turn = [0] * len(columns)
    for j in ranking:
        turn[j] = seen[columns[j].sources[0]] = seen.get(columns[j].sources[0], -1) + 1
    return sorted(sorted(ranking, key=lambda j: turn[j])[:most])


def sample(table: Table) -> Table:
    """Return at most 50,000 rows: the first, which content has put in a random order."""
    return table if table.n_rows <= SAMPLE_ROWS else table.take(np.arange(SAMPLE_ROWS))
