"""Bounds on the search for derived columns: the most promising variables, a sample of rows.

Both are content-chosen, so neither the order of rows nor that of columns matters.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def strongest(table: Table, columns: Sequence[Column], most: int) -> tuple[Column, ...]:
    """Return at most so many columns: each variable's best first, then each one's second best.

    The best go most with the label by squared correlation, ties by name.
    """
    if len(columns) <= most:
        return tuple(columns)
    scores = [round(_correlation(column.evaluate(table.inputs), table), 12) for column in columns]
    ranking = sorted(range(len(columns)), key=lambda j: (-scores[j], columns[j].text))
    seen: dict[str, int] = {}
    turn = [0] * len(columns)
    for j in ranking:
        turn[j] = seen[columns[j].sources[0]] = seen.get(columns[j].sources[0], -1) + 1
    kept = sorted(ranking, key=lambda j: turn[j])[:most]
    return tuple(columns[j] for j in sorted(kept))


def sample(table: Table) -> Table:
    """Return at most 50,000 rows: the first, which content has put in a random order."""
    return table if table.n_rows <= SAMPLE_ROWS else table.take(np.arange(SAMPLE_ROWS))
