"""Products and distances of two variables that the score so far leaves unexplained.

A part of a product is a hinge, a step, a level or a 0/1 number: each is zero where it says nothing,
so that the product is read only where both parts speak. A distance is |a - b| of two numbers whose
spreads are comparable, as those of measurements in one unit are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rpte.limits import Permissions
from rpte.table.table import Table
from rpte.vocabulary.build import Vocabulary
from rpte.vocabulary.columns import Column, Hinge, Level, Pair, Pattern, Step, Value
from rpte.vocabulary.screening import SAMPLE_ROWS

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Part = Value | Hinge | Step | Level

MOST_PARTS = 120
SHORT_LIST = 400
MOST_NUMBERS = 200
COMPARABLE = 3.0  # ratio of the standard deviations of two numbers that may be subtracted
DISTANCE_ROWS = 10_000
LEAST_CURVATURE = 1e-6  # share of the rows' curvature that a product must have of its own


def find_products(
    table: Table,
    vocabulary: Vocabulary,
    use: Floats,
    score: Floats,
    most: int,
    limits: Permissions,
) -> tuple[Column, ...]:
    """Return the pairs with the largest gradient at `score`, their own parts projected out.

    Parameters
    ----------
    table : Table
    vocabulary : Vocabulary
        Its one-source columns are the parts.
    use : (V,)
        How much each column moves the score so far; the parts are the columns of most use.
    score : (n,)
    most : int
    limits : Permissions
    """
    if most == 0:
        return ()
    p = 1.0 / (1.0 + np.exp(-np.clip(score, -35.0, 35.0)))
    curvature = table.weight * np.maximum(p * (1.0 - p), 1e-9)
    slopes = _Slopes(table.weight * (table.y - p), curvature, table.weight)
    found = [
        *_products(vocabulary, use, slopes.first(SAMPLE_ROWS), limits),
        *_distances(vocabulary, use, slopes.first(DISTANCE_ROWS), limits),
    ]
    found.sort(key=lambda entry: (-round(entry[0], 9), entry[1].text))
    return tuple(column for _, column in found[:most])


@dataclass(frozen=True, slots=True)
class _Slopes:
    """First and second derivative of the loss by row, with the rows' weights."""

    residual: Floats
    curvature: Floats
    weight: Floats

    def first(self, rows: int) -> _Slopes:
        """Return those of the first rows."""
        return _Slopes(self.residual[:rows], self.curvature[:rows], self.weight[:rows])

    def beside(self, term: Floats, a: Floats, b: Floats) -> float:
        """Return the standardised gradient of a term beside the intercept, a and b.

        Per root of the weight of the rows, so that samples of different size compare.
        """
        columns = np.stack([np.ones_like(a), a, b], axis=1)
        weighted = columns * self.curvature[:, None]
        share = np.linalg.lstsq(columns.T @ weighted, weighted.T @ term, rcond=None)[0]
        rest = term - columns @ share
        size = float(self.curvature @ (rest * rest))
        whole = float(self.curvature @ (term * term))
        if size <= LEAST_CURVATURE * whole:
            return 0.0
        gradient = abs(float(self.residual @ rest)) / np.sqrt(size)
        return float(gradient / np.sqrt(self.weight.sum()))


def _products(
    vocabulary: Vocabulary, use: Floats, slopes: _Slopes, limits: Permissions
) -> list[tuple[float, Column]]:
    """Return the most promising products, each with its gradient."""
    parts = _parts(vocabulary, use)
    z = _scaled(vocabulary, parts, len(slopes.residual))
    columns = [c for j in parts if isinstance(c := vocabulary.columns[j], Part)]
    return [
        (slopes.beside(z[:, i] * z[:, k], z[:, i], z[:, k]), _product(columns[i], columns[k]))
        for i, k in _short_list(z, slopes, columns, limits)
    ]


def _distances(
    vocabulary: Vocabulary, use: Floats, slopes: _Slopes, limits: Permissions
) -> list[tuple[float, Column]]:
    """Return the most promising distances of two numbers, each with its gradient."""
    numbers = _numbers(vocabulary, use)
    values = [c for j in numbers if isinstance(c := vocabulary.columns[j], Value)]
    spread = vocabulary.scale[numbers]
    x = vocabulary.values[: len(slopes.residual), numbers]
    x = np.where(np.isnan(x), vocabulary.centre[numbers], x)
    total = slopes.curvature.sum()
    ranked: list[tuple[float, int, int]] = []
    for i in range(len(numbers) - 1):
        ratio = spread[i + 1 :] / spread[i]
        near = i + 1 + np.flatnonzero((ratio < COMPARABLE) & (ratio > 1 / COMPARABLE))
        apart = np.abs(x[:, near] / spread[i] - x[:, [i]] / spread[i])
        mean = slopes.curvature @ apart
        size = slopes.curvature @ (apart * apart) - mean * mean / total
        strength = np.abs(slopes.residual @ apart) / np.sqrt(np.maximum(size, 1e-300))
        ranked += [(-round(s, 9), i, int(k)) for s, k in zip(strength, near, strict=True)]
    pairs = (
        (i, k, Pair("absolute difference", values[i], values[k])) for _, i, k in sorted(ranked)
    )
    admitted = islice((entry for entry in pairs if limits.admits(entry[2])), SHORT_LIST)
    found: list[tuple[float, Column]] = []
    for i, k, pair in admitted:
        a, b = x[:, i] / spread[i], x[:, k] / spread[i]
        found.append((slopes.beside(np.abs(a - b), a, b), pair))
    return found


def _scaled(vocabulary: Vocabulary, which: Rows, rows: int) -> Floats:
    return np.nan_to_num(vocabulary.values[:rows, which] / vocabulary.scale[which])


def _numbers(vocabulary: Vocabulary, use: Floats) -> Rows:
    """Return the numbers that may be subtracted: of variables of most use, by name."""
    fit = [
        j
        for j, column in enumerate(vocabulary.columns)
        if isinstance(column, Value) and not _is_indicator(vocabulary, j)
    ]
    by_source = _use_by_source(vocabulary, use)
    names = [vocabulary.columns[j].text for j in range(len(vocabulary))]
    ranking = sorted(fit, key=lambda j: (-round(by_source[names[j]], 12), names[j]))
    return np.array(sorted(ranking[:MOST_NUMBERS]), np.intp)


def _parts(vocabulary: Vocabulary, use: Floats) -> Rows:
    """Return the columns that may be parts: of most use, then of variables of most use, by name."""
    fit = [j for j in range(len(vocabulary)) if _may_be_part(vocabulary, j)]
    by_source = _use_by_source(vocabulary, use)

    def rank(j: int) -> tuple[float, float, str]:
        column = vocabulary.columns[j]
        return -round(use[j], 12), -round(by_source[column.sources[0]], 12), column.text

    ranking = sorted(fit, key=rank)
    return np.array(sorted(ranking[:MOST_PARTS]), np.intp)


def _use_by_source(vocabulary: Vocabulary, use: Floats) -> dict[str, float]:
    found: dict[str, float] = {}
    for column, amount in zip(vocabulary.columns, use, strict=True):
        source = column.sources[0]
        found[source] = found.get(source, 0.0) + float(amount)
    return found


def _may_be_part(vocabulary: Vocabulary, j: int) -> bool:
    column = vocabulary.columns[j]
    if isinstance(column, Value):
        return _is_indicator(vocabulary, j)
    return isinstance(column, Part)


def _is_indicator(vocabulary: Vocabulary, j: int) -> bool:
    return bool(np.isin(vocabulary.values[:, j], (0.0, 1.0)).all())


def _short_list(
    z: Floats, slopes: _Slopes, columns: Sequence[Part], limits: Permissions
) -> list[tuple[int, int]]:
    """Return the pairs of parts of different variables with the largest standardised gradient.

    Only pairs whose product the limits admit, so that forbidden ones take no places.
    """
    gradient = np.abs((z * slopes.residual[:, None]).T @ z)
    squares = z * z
    size = np.sqrt((squares * slopes.curvature[:, None]).T @ squares)
    strength = np.where(size > 0, gradient / np.where(size > 0, size, 1.0), 0.0)
    sources = np.array([column.source for column in columns])
    apart = np.triu(sources[:, None] != sources[None, :], 1)
    i, k = np.nonzero(apart)
    order = np.lexsort((k, i, -np.round(strength[i, k], 9)))
    pairs = zip(i[order].tolist(), k[order].tolist(), strict=True)
    admitted = ((a, b) for a, b in pairs if limits.admits(_product(columns[a], columns[b])))
    return list(islice(admitted, SHORT_LIST))


def _product(a: Part, b: Part) -> Column:
    """Return both conditions at once, or the number where the condition holds."""
    if isinstance(a, (Level, Step)) and isinstance(b, (Level, Step)):
        return Pattern(a, b)
    if isinstance(a, (Level, Step)):
        a, b = b, a
    return Pair("product", a, b)
