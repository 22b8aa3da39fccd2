"""Products and distances of two variables that the score so far leaves unexplained.

A part of a product is a hinge, a step, a level, a code or a 0/1 number, or the step of a number
that has two values: each is zero where it says nothing, so that the product is read only where both
parts speak. A distance is |a - b| of two numbers whose spreads are comparable, as those of
measurements in one unit are. Many are much alike; of the most promising each one is chosen for what
it says beside those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.moments import distance_moments
from rpte.limits import Permissions
from rpte.table.decimals import shortest_between
from rpte.table.table import Table
from rpte.vocabulary.build import Vocabulary
from rpte.vocabulary.columns import Column, Hinge, Item, Pair, Pattern, Step, Value
from rpte.vocabulary.pursuit import pursue
from rpte.vocabulary.screening import SAMPLE_ROWS

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Part = Value | Hinge | Item

CANDIDATES = 240  # among which is chosen
MOST_PARTS = 240
MOST_NUMBERS = 200
SHORT_LIST = 120  # distances that are looked at beside their numbers
COMPARABLE = 3.0  # ratio of the standard deviations of two numbers that may be subtracted
DISTANCE_ROWS = 10_000  # on which the choice is made, too
FEWER_ROWS = 4_000  # for the first look at all distances
LEAST_CURVATURE = 1e-6  # share of the rows' curvature that a product must have of its own
DEPENDENT = 1e-9  # share of their variances below which two parts say the same


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
    found = _candidates(table, vocabulary, use, slopes, limits)
    if not found:
        return ()
    slopes = slopes.first(DISTANCE_ROWS)
    rows = len(slopes.residual)
    terms = np.array([candidate.values[:rows] for candidate in found])
    beside = vocabulary.z[np.flatnonzero(use), :rows]
    chosen = pursue(terms, beside, slopes.residual, slopes.curvature, most)
    return tuple(found[j].column for j in chosen)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A column, its gradient beside its own parts, and its values on the first rows."""

    strength: float
    column: Column
    values: Floats


def _candidates(
    table: Table, vocabulary: Vocabulary, use: Floats, slopes: _Slopes, limits: Permissions
) -> list[_Candidate]:
    """Return the products and distances of the largest gradients."""
    found = [
        *_first(_products(table, vocabulary, use, slopes.first(SAMPLE_ROWS)), limits),
        *_first(_distances(vocabulary, use, slopes.first(DISTANCE_ROWS), limits), limits),
    ]
    return sorted(found, key=lambda c: (-c.strength, c.column.text))[:CANDIDATES]


def _first(found: Iterable[_Candidate], limits: Permissions) -> list[_Candidate]:
    """Return the first of those that the limits admit, so that forbidden ones take no places."""
    return list(islice((c for c in found if limits.admits(c.column)), CANDIDATES))


@dataclass(frozen=True, slots=True)
class _Slopes:
    """First and second derivative of the loss by row, with the rows' weights."""

    residual: Floats
    curvature: Floats
    weight: Floats

    def first(self, rows: int) -> _Slopes:
        """Return those of the first rows."""
        return _Slopes(self.residual[:rows], self.curvature[:rows], self.weight[:rows])

    def moments(self, a: Floats, b: Floats, t: Floats) -> _Moments:
        """Return the moments of terms t and their parts a and b, each (k, n)."""
        c, r = self.curvature, self.residual
        ca, cb, ct = a * c, b * c, t * c
        return _Moments(
            total=c.sum(),
            r=r.sum(),
            c_a=a @ c,
            c_b=b @ c,
            c_t=t @ c,
            r_a=a @ r,
            r_b=b @ r,
            r_t=t @ r,
            c_aa=(ca * a).sum(axis=1),
            c_bb=(cb * b).sum(axis=1),
            c_ab=(ca * b).sum(axis=1),
            c_at=(ca * t).sum(axis=1),
            c_bt=(cb * t).sum(axis=1),
            c_tt=(ct * t).sum(axis=1),
        )


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums over rows of the derivatives times terms t and their parts a and b; arrays alike."""

    total: float
    r: float
    c_a: Floats
    c_b: Floats
    c_t: Floats
    r_a: Floats
    r_b: Floats
    r_t: Floats
    c_aa: Floats
    c_bb: Floats
    c_ab: Floats
    c_at: Floats
    c_bt: Floats
    c_tt: Floats

    def gradient(self, weight: float) -> Floats:
        """Return the standardised gradient of each term beside the intercept, a and b.

        Per root of the weight of the rows, so that samples of different size compare.
        """
        mean_a, mean_b, mean_t = self.c_a / self.total, self.c_b / self.total, self.c_t / self.total
        aa, bb = self.c_aa - mean_a * self.c_a, self.c_bb - mean_b * self.c_b
        ab = self.c_ab - mean_a * self.c_b
        at, bt = self.c_at - mean_a * self.c_t, self.c_bt - mean_b * self.c_t
        determinant = aa * bb - ab * ab
        varies_a, varies_b = aa > DEPENDENT * self.c_aa, bb > DEPENDENT * self.c_bb
        both = varies_a & varies_b & (determinant > DEPENDENT * aa * bb)
        safe = np.where(both, determinant, 1.0)
        # Where the parts say the same a stands for both, where one is constant the other does.
        a, b = ~both & varies_a, ~both & ~varies_a & varies_b
        on_a = np.where(both, (at * bb - bt * ab) / safe, a * at / np.where(a, aa, 1.0))
        on_b = np.where(both, (bt * aa - at * ab) / safe, b * bt / np.where(b, bb, 1.0))
        size = self.c_tt - mean_t * self.c_t - on_a * at - on_b * bt
        slope = self.r_t - mean_t * self.r
        slope -= on_a * (self.r_a - mean_a * self.r) + on_b * (self.r_b - mean_b * self.r)
        usable = size > LEAST_CURVATURE * self.c_tt
        strength = np.abs(slope) / np.sqrt(np.where(usable, size, 1.0) * weight)
        return np.asarray(np.round(np.where(usable, strength, 0.0), 9), np.float64)


def _products(
    table: Table, vocabulary: Vocabulary, use: Floats, slopes: _Slopes
) -> Iterator[_Candidate]:
    """Yield the products of parts of different variables, the largest gradient first."""
    columns, z = _parts(table, vocabulary, use, len(slopes.residual))
    sources = np.array([column.source for column in columns])
    i, k = np.nonzero(np.triu(sources[:, None] != sources[None, :], 1))
    strength = _product_moments(z, slopes, i, k).gradient(slopes.weight.sum())
    for place in np.lexsort((k, i, -strength)):
        a, b = i[place], k[place]
        yield _Candidate(float(strength[place]), _product(columns[a], columns[b]), z[a] * z[b])


def _product_moments(z: Floats, slopes: _Slopes, i: Rows, k: Rows) -> _Moments:
    """Return the moments of all products z[i] z[k], from products of matrices."""
    c, r = slopes.curvature, slopes.residual
    weighted, square = z * np.sqrt(c), z * z * np.sqrt(c)
    c_zz, r_zz = weighted @ weighted.T, (z * r) @ z.T
    c_zzz, c_zzzz = square @ weighted.T, square @ square.T
    c_z, r_z, own = z @ c, z @ r, np.diag(c_zz)
    return _Moments(
        total=c.sum(),
        r=r.sum(),
        c_a=c_z[i],
        c_b=c_z[k],
        c_t=c_zz[i, k],
        r_a=r_z[i],
        r_b=r_z[k],
        r_t=r_zz[i, k],
        c_aa=own[i],
        c_bb=own[k],
        c_ab=c_zz[i, k],
        c_at=c_zzz[i, k],
        c_bt=c_zzz[k, i],
        c_tt=c_zzzz[i, k],
    )


def _distances(
    vocabulary: Vocabulary, use: Floats, slopes: _Slopes, limits: Permissions
) -> Iterator[_Candidate]:
    """Yield the most promising distances of two numbers, the largest gradient first."""
    numbers = _numbers(vocabulary, use)
    values = [c for j in numbers if isinstance(c := vocabulary.columns[j], Value)]
    spread = vocabulary.scale[numbers]
    rows = len(slopes.residual)
    x = vocabulary.z[numbers, :rows] * spread[:, None] + vocabulary.centre[numbers][:, None]
    i, k = _near(x[:, :FEWER_ROWS], spread, slopes.first(FEWER_ROWS))
    pairs = [Pair("absolute difference", values[a], values[b]) for a, b in zip(i, k, strict=True)]
    kept = np.array([j for j, pair in enumerate(pairs) if limits.admits(pair)][:SHORT_LIST], int)
    if not len(kept):
        return
    unit = spread[i[kept]][:, None]
    a, b = x[i[kept]] / unit, x[k[kept]] / unit
    distance = np.abs(a - b)
    a -= a.mean(axis=1, keepdims=True)  # squares of numbers far from zero would drown the rest
    b -= b.mean(axis=1, keepdims=True)
    strength = slopes.moments(a, b, distance).gradient(slopes.weight.sum())
    for place in np.argsort(-strength, kind="stable"):
        yield _Candidate(float(strength[place]), pairs[kept[place]], distance[place])


def _near(x: Floats, spread: Floats, slopes: _Slopes) -> tuple[Rows, Rows]:
    """Return the pairs of comparable numbers (rows of x), those that promise most first."""
    total, found = slopes.curvature.sum(), []
    for i in range(len(spread) - 1):
        ratio = spread[i + 1 :] / spread[i]
        near = i + 1 + np.flatnonzero((ratio < COMPARABLE) & (ratio > 1 / COMPARABLE))
        sums = np.empty((len(near), 3))
        distance_moments(x, i, near, spread[i], slopes.curvature, slopes.residual, sums)
        size = sums[:, 1] - sums[:, 0] ** 2 / total
        strength = np.abs(sums[:, 2]) / np.sqrt(np.maximum(size, 1e-300))
        found.append((np.full(len(near), i), near, np.round(strength, 9)))
    if not found:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    first, second, strength = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((second, first, -strength))
    return first[order], second[order]


def _numbers(vocabulary: Vocabulary, use: Floats) -> Rows:
    """Return the numbers that may be subtracted: of variables of most use, by name."""
    fit = [
        j
        for j, column in enumerate(vocabulary.columns)
        if isinstance(column, Value) and not _is_indicator(vocabulary, j)
    ]
    by_source = _use_by_source(vocabulary, use)
    names = [column.sources[0] for column in vocabulary.columns]
    ranking = sorted(fit, key=lambda j: (-round(by_source[names[j]], 12), names[j]))
    return np.array(sorted(ranking[:MOST_NUMBERS]), np.intp)


def _parts(
    table: Table, vocabulary: Vocabulary, use: Floats, rows: int
) -> tuple[list[Part], Floats]:
    """Return the parts and their values on the first rows, (k, rows), each in its own unit.

    They are the columns of most use, then those of variables of most use, by name.
    """
    fit = [j for j, column in enumerate(vocabulary.columns) if _may_be_part(vocabulary, j)]
    by_source = _use_by_source(vocabulary, use)

    def rank(j: int) -> tuple[float, float, str]:
        column = vocabulary.columns[j]
        return -round(use[j], 12), -round(by_source[column.sources[0]], 12), column.text

    chosen = np.array(sorted(sorted(fit, key=rank)[:MOST_PARTS]), np.intp)
    z = vocabulary.z[chosen, :rows]
    z += (vocabulary.centre[chosen] / vocabulary.scale[chosen])[:, None]
    parts = [c for j in chosen if isinstance(c := vocabulary.columns[j], Part)]
    for place, j in enumerate(chosen):
        if isinstance(parts[place], Value) and not _is_indicator(vocabulary, j):
            parts[place] = step = _upper_of_two(table, parts[place].source)
            z[place] = step.evaluate(table.inputs)[:rows]
    return parts, z


def _upper_of_two(table: Table, name: str) -> Step:
    """Return the step between the values of a number that has two."""
    x = table.inputs[name]
    return Step(name, shortest_between(float(np.nanmin(x)), float(np.nanmax(x))))


def _use_by_source(vocabulary: Vocabulary, use: Floats) -> dict[str, float]:
    found: dict[str, float] = {}
    for column, amount in zip(vocabulary.columns, use, strict=True):
        source = column.sources[0]
        found[source] = found.get(source, 0.0) + float(amount)
    return found


def _may_be_part(vocabulary: Vocabulary, j: int) -> bool:
    column = vocabulary.columns[j]
    if isinstance(column, Value):
        z = vocabulary.z[j]
        return bool(((z == z.min()) | (z == z.max())).all())
    return isinstance(column, Part)


def _is_indicator(vocabulary: Vocabulary, j: int) -> bool:
    """Tell whether a number holds only 0 and 1 (or is missing, where the centre is one of them)."""
    z, centre, scale = vocabulary.z[j], vocabulary.centre[j], vocabulary.scale[j]
    return bool(((z == (0.0 - centre) / scale) | (z == (1.0 - centre) / scale)).all())


def _product(a: Part, b: Part) -> Column:
    """Return both conditions at once, or the number where the condition holds."""
    if isinstance(a, Item) and isinstance(b, Item):
        return Pattern(a, b)
    if isinstance(a, Item):
        a, b = b, a
    return Pair("product", a, b)
