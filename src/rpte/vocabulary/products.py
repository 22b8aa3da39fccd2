"""Products and distances of two variables that explain what the score so far leaves unexplained.

A factor of a product is a hinge, a step, a level, a code or a 0/1 number, or the step of a number
that has two values: each can be zero, so that the product is read only where both are not. A
distance is |a - b| of two numbers whose spreads are comparable, as those of measurements in one
unit are. Many are much alike; each of those chosen adds most to the ones chosen before it.
Where numbers have ends, no part changes beyond them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from rpte.columns.kinds import Column, Hinge, Item, Pair, Pattern, Scale, Step, Value
from rpte.columns.limits import Permissions
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import TILE_ROWS
from rpte.kernels.screening import (
    distance_gradients,
    distance_moments,
    own_sums,
    product_gradients,
    rough_gradients,
)
from rpte.rows import scale
from rpte.rows.passes import add, search_blocks
from rpte.rows.threads import chunks, thread_map
from rpte.table.decimals import shortest_between
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index, Mask
from rpte.vocabulary.pursuit import pursue
from rpte.vocabulary.ramps import Limits, within
from rpte.vocabulary.screening import ranked
from rpte.vocabulary.shape_cache import standardise
from rpte.vocabulary.vocabulary import Vocabulary

Part = Value | Hinge | Item
Ends = Mapping[str, Limits]  # of numbers

CANDIDATES, MORE_CANDIDATES = 240, 480  # given to the final choice; more for numbers of few rows
MOST_PARTS, MORE_PARTS = 240, 1_000  # the same
MOST_OF_EACH = 40  # of each score at least, where a row has several
MOST_NUMBERS = 200
SHORT_LIST = 120  # distances whose gradient beside their numbers is computed
COMPARABLE = 3.0  # largest ratio of the standard deviations of two numbers that are subtracted
DISTANCE_ROWS = 10_000  # for distances, and for the final choice
FEWER_ROWS = 4_000  # for the first ranking of all distances
PEEK_ROWS = 64  # enough to show of most numbers that they have more than two values
AT_ONCE = 128  # products computed in double precision at a time
PER_TASK = 16  # of these
ROUNDING = 5e-7  # error of sums in single precision, several times the largest observed


def find_products(
    table: Table,
    vocabulary: Vocabulary,
    use: Floats,
    score: Floats,
    most: int,
    limits: Permissions,
    ends: Ends | None = None,
) -> tuple[Column, ...]:
    """Return the pairs with the largest gradient at `score`, their own parts projected out.

    The parts are one-source columns of the vocabulary, those of most `use` (V,): how much each
    column moves the score (n,) so far. Where a row has several scores, (K, n), each has candidates
    of its own, and what these gain for all of them decides. With `ends`, the numbers that may be
    read are those that have some, and no part changes beyond them.
    """
    if most == 0:
        return ()
    slopes = _Slopes.at(table, score)
    found = _of_all([_candidates(table, vocabulary, use, each, limits, ends) for each in slopes])
    if not found:
        return ()
    slopes, beside = [each.first(DISTANCE_ROWS) for each in slopes], np.flatnonzero(use)
    rows = len(slopes[0].residual)
    terms = np.empty((len(beside) + len(found), rows))
    for j, values in zip(beside, terms, strict=False):
        values[:] = vocabulary.z[j, :rows]
    list(thread_map(lambda c, values: c.fill(values), found, list(terms[len(beside) :])))
    residuals, curvatures = (
        np.array([getattr(each, name) for each in slopes]) for name in ("residual", "curvature")
    )
    chosen = pursue(terms, len(beside), residuals, curvatures, most)
    return tuple(found[j].column for j in chosen)


def _most_parts(table: Table) -> tuple[int, int]:
    """Return how many parts are multiplied, and how many products the final choice is among.

    Of numbers more, where rows are few: products of parts then cost no more than of many rows.
    """
    if not table.loss.leaves_little:
        return MOST_PARTS, CANDIDATES
    rows = min(table.n_rows, scale.SCREENED_ROWS)
    parts = min(MORE_PARTS, int(MOST_PARTS * np.sqrt(scale.SCREENED_ROWS / rows)))
    return parts, min(max(parts, CANDIDATES), MORE_CANDIDATES)


def _screened_rows(table: Table) -> int:
    """Return on how many rows products are screened: of numbers, as many as are enough.

    Never fewer than the final choice is made on, or all, because no distinct row is more than one
    effective row.
    """
    if not table.loss.leaves_little:
        return scale.SCREENED_ROWS
    enough = scale.SCREENED_EFFECTIVE_ROWS * table.n_rows / table.effective_rows
    return min(scale.SCREENED_ROWS, table.fair_rows(int(enough)))


def _of_all(found: list[list[_Candidate]]) -> list[_Candidate]:
    """Return the candidates of one score, or the strongest of each of several, none twice."""
    if len(found) == 1:
        return found[0]
    best: dict[Column, _Candidate] = {}
    for candidates in found:
        for candidate in candidates[: max(MOST_OF_EACH, CANDIDATES // len(found))]:
            known = best.get(candidate.column)
            if known is None or known.strength < candidate.strength:
                best[candidate.column] = candidate
    columns, strengths = list(best), [candidate.strength for candidate in best.values()]
    return [best[columns[j]] for j in ranked(columns, strengths)]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A column, its gradient beside its own parts, and the values of these, (n,) each."""

    strength: float
    column: Column
    left: Floats
    right: Floats
    unit: float | None = None  # of a distance

    def fill(self, values: Floats) -> None:
        """Write the column's values on the first rows."""
        left, right = self.left[: len(values)], self.right[: len(values)]
        if self.unit is None:
            np.multiply(left, right, out=values)
        else:
            np.abs(left / self.unit - right / self.unit, out=values)


def _candidates(
    table: Table,
    vocabulary: Vocabulary,
    use: Floats,
    slopes: _Slopes,
    limits: Permissions,
    ends: Ends | None = None,
) -> list[_Candidate]:
    """Return the admitted products and distances of the largest gradients."""
    parts, most = _most_parts(table)
    known = _Known.of(vocabulary, use, parts, ends)
    found: list[_Candidate] = []
    for candidates in (
        _products(table, known, slopes.first(_screened_rows(table))),
        _distances(known, slopes.first(DISTANCE_ROWS), limits),
    ):
        found += islice((c for c in candidates if limits.admits(c.column)), most)
    order = ranked([c.column for c in found], [c.strength for c in found])
    return [found[j] for j in order[:most]]


@dataclass(frozen=True, slots=True)
class _Slopes:
    """First and second derivative of the loss by row, with the rows' weights."""

    residual: Floats
    curvature: Floats
    weight: Floats

    @classmethod
    def at(cls, table: Table, score: Floats) -> list[_Slopes]:
        """Return those at a score, one for each score of a row."""
        at = table.loss.residuals(score, table.y, table.weight)
        both = zip(np.atleast_2d(at.gradient), np.atleast_2d(at.hessian), strict=True)
        return [cls(gradient, hessian, table.weight) for gradient, hessian in both]

    def first(self, rows: int) -> _Slopes:
        """Return the derivatives of the first rows."""
        return _Slopes(self.residual[:rows], self.curvature[:rows], self.weight[:rows])

    def strength(self, gradient: Floats) -> Floats:
        """Return gradients per root of the weight, so that samples of different size compare."""
        return np.asarray(np.round(gradient / np.sqrt(self.weight.sum()), 9), np.float64)

    def of_products(self, z: Floats, own: Floats, i: Index, k: Index) -> Floats:
        """Return the strength of the products z[i] z[k] beside their parts."""
        found = np.empty(len(i))

        def fill(at: slice) -> None:
            product_gradients(z, i[at], k[at], self.curvature, self.residual, own, found[at])

        list(thread_map(fill, chunks(len(i), PER_TASK)))
        return self.strength(found)

    def of_distances(self, x: Floats, unit: Floats, i: Index, k: Index) -> Floats:
        """Return the strength of the distances of x[i] and x[k] beside these."""
        found = np.empty(len(i))

        def fill(at: slice) -> None:
            given = i[at], k[at], unit[at], self.curvature, self.residual
            distance_gradients(x, *given, found[at])

        list(thread_map(fill, chunks(len(i), PER_TASK)))
        return self.strength(found)


def _products(table: Table, known: _Known, slopes: _Slopes) -> Iterator[_Candidate]:
    """Yield the products of parts of different variables, the largest gradient first.

    Single precision bounds each gradient; only those that may come next are computed exactly.
    """
    columns, z = _parts(table, known, len(slopes.residual))
    names = {column.source: place for place, column in enumerate(columns)}
    source = np.array([names[column.source] for column in columns], np.intp)
    i, k = np.array(np.nonzero(np.triu(source[:, None] != source[None, :], 1)))
    own = np.empty((len(z), 3))

    def fill(j: int) -> None:
        own_sums(z[j : j + 1], slopes.curvature, slopes.residual, own[j : j + 1])

    list(thread_map(fill, range(len(z))))
    at_most = _at_most(z, np.array([c.binary for c in columns], np.bool_), own, slopes, i, k)
    order = np.argsort(-at_most)
    limit = np.append(at_most[order], -1.0)
    waiting: list[tuple[float, int, int]] = []
    for at in range(0, len(order), AT_ONCE):
        a, b = i[order[at : at + AT_ONCE]], k[order[at : at + AT_ONCE]]
        strength = slopes.of_products(z, own, a, b)
        for found in zip((-strength).tolist(), a.tolist(), b.tolist(), strict=True):
            heappush(waiting, found)
        while waiting and -waiting[0][0] > limit[min(at + AT_ONCE, len(order))]:
            minus, one, two = heappop(waiting)
            column = _product(columns[one], columns[two])
            yield _Candidate(-minus, column, z[one], z[two])


def _at_most(z: Floats, binary: Mask, own: Floats, slopes: _Slopes, i: Index, k: Index) -> Floats:
    """Return bounds on the strength of the products of the parts i and k, from matrix products.

    The parts are the rows of `z` (p, n); the `binary` ones (p,) are their own squares; `own` is
    (p, 3).
    """
    c, r = slopes.curvature, slopes.residual
    square = np.where(binary, np.arange(len(z)), len(z) + np.cumsum(~binary) - 1)
    found = np.empty((len(i), 2))
    seconds, firsts = _cross_products(z, ~binary, slopes)
    rough_gradients(i, k, c.sum(), r.sum(), own, square, seconds, firsts, found)
    gradient, condition = found.T
    with np.errstate(invalid="ignore"):
        slack = ROUNDING * condition * (gradient + np.sqrt((r * r / c).sum()))
    bound = (gradient + slack) / np.sqrt(slopes.weight.sum())
    return np.where(np.isnan(bound), np.inf, bound)


def _cross_products(z: Floats, squared: Mask, slopes: _Slopes) -> tuple[Floats, Floats]:
    """Return sums over rows of products of two parts, in single precision by blocks of rows.

    Under the curvature, of all parts and the squares of some; under the residual, of all parts.
    """
    p, q = len(z), len(z) + int(squared.sum())
    root, r = np.sqrt(slopes.curvature).astype(np.float32), slopes.residual.astype(np.float32)

    def products(block: slice) -> tuple[Floats, Floats]:
        seconds, firsts = np.zeros((q, q)), np.zeros((p, p))
        memory = np.empty((2 * p + q, TILE_ROWS), np.float32)
        for rows in chunks(block.stop, TILE_ROWS, block.start):
            part, signed, both = np.split(memory[:, : len(r[rows])], (p, 2 * p))
            part[:] = z[:, rows]
            np.multiply(part, r[rows], out=signed)
            np.multiply(part, root[rows], out=both[:p])
            np.multiply(part[squared], both[:p][squared], out=both[p:])
            seconds += both @ both.T
            firsts += signed @ part.T
        return seconds, firsts

    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return add(products, search_blocks(z.shape[1]))


def _distances(known: _Known, slopes: _Slopes, limits: Permissions) -> Iterator[_Candidate]:
    """Yield the most promising distances of two numbers, the largest gradient first."""
    vocabulary, numbers = known.vocabulary, known.numbers()
    within_ends = (known.within(vocabulary.columns[j]) for j in numbers)
    values = [column for column in within_ends if isinstance(column, (Value, Scale))]
    spread = vocabulary.scale[numbers]
    rows = len(slopes.residual)
    x = vocabulary.z[numbers, :rows] * spread[:, None] + vocabulary.centre[numbers][:, None]
    if known.ends is not None:
        low, high = np.array([value.limits for value in values]).reshape(-1, 2).T
        x = np.clip(x, low[:, None], high[:, None])
    near = zip(*_near(x[:, :FEWER_ROWS], spread, slopes.first(FEWER_ROWS)), strict=True)
    pairs = ((a, b, Pair("absolute difference", values[a], values[b])) for a, b in near)
    kept = list(islice((found for found in pairs if limits.admits(found[2])), SHORT_LIST))
    i, k = np.array([found[:2] for found in kept], np.intp).reshape(-1, 2).T.copy()
    strength = slopes.of_distances(x, spread[i], i, k)
    for place in np.argsort(-strength, kind="stable"):
        a, b, pair = kept[place]
        yield _Candidate(float(strength[place]), pair, x[a], x[b], spread[a])


def _near(x: Floats, spread: Floats, slopes: _Slopes) -> tuple[Index, Index]:
    """Return the pairs of comparable numbers (rows of x), those that promise most first."""
    with np.errstate(over="ignore"):  # beyond all comparison
        ratio = spread[None, :] / spread[:, None]
    near = np.triu((ratio < COMPARABLE) & (ratio > 1 / COMPARABLE), 1)
    first, second = np.array(np.nonzero(near))
    sums = np.empty((len(first), 3))
    x = np.ascontiguousarray(x)

    def fill(at: slice) -> None:
        given = first[at], second[at], spread, slopes.curvature, slopes.residual
        distance_moments(x, *given, sums[at])

    list(thread_map(fill, chunks(len(first), PER_TASK)))
    size = sums[:, 1] - sums[:, 0] ** 2 / slopes.curvature.sum()
    strength = np.round(np.abs(sums[:, 2]) / np.sqrt(np.maximum(size, 1e-300)), 9)
    order = np.argsort(-strength, kind="stable")
    return first[order], second[order]


@dataclass(frozen=True, slots=True)
class _Known:
    """A vocabulary, and what decides which of its columns are parts; arrays (V,)."""

    vocabulary: Vocabulary
    use: Floats  # how much each column moves the score
    by_source: Floats  # how much all columns of its variable do
    is_value: Mask  # a number
    two: Mask  # of at most two values
    indicator: Mask  # of 0 and 1 only (or missing, where the centre is one of them)
    most: int  # parts
    ends: Ends | None  # beyond which nothing changes

    @classmethod
    def of(cls, vocabulary: Vocabulary, use: Floats, most: int, ends: Ends | None = None) -> _Known:
        """Look at a vocabulary and the use of its columns."""
        seen: dict[str, int] = {}
        source = [seen.setdefault(c.sources[0], len(seen)) for c in vocabulary.columns]
        by_source: Floats = np.asarray(np.bincount(source, use)[source], np.float64)
        is_value = np.array([isinstance(c, Value) for c in vocabulary.columns], np.bool_)
        two, indicator = _few_valued(vocabulary, np.flatnonzero(is_value))
        by_source = np.round(by_source, 12)
        return cls(vocabulary, np.round(use, 12), by_source, is_value, two, indicator, most, ends)

    def within(self, column: Column) -> Column | None:
        """Return a column as it may be a part, flat beyond the ends; None if it may not."""
        if self.ends is None or column.binary:
            return column
        ends = self.ends.get(column.sources[0])
        return None if ends is None else within(column, ends)

    def numbers(self) -> Index:
        """Return the numbers that may be subtracted: of variables of most use, by name."""
        fit = np.flatnonzero(self.is_value & ~self.indicator)
        fit = fit[[self.within(self.vocabulary.columns[j]) is not None for j in fit]]
        columns = [self.vocabulary.columns[j] for j in fit]
        return np.sort(fit[ranked(columns, self.by_source[fit])[:MOST_NUMBERS]])

    def parts(self) -> Index:
        """Return the columns of most use, then those of variables of most use, by name."""
        known = zip(self.vocabulary.columns, self.is_value, self.two, strict=True)
        may = [
            isinstance(c, Part) and (two or not number) and self.within(c) is not None
            for c, number, two in known
        ]
        fit = np.flatnonzero(may)
        columns = [self.vocabulary.columns[j] for j in fit]
        return np.sort(fit[ranked(columns, self.use[fit], self.by_source[fit])[: self.most]])


def _few_valued(vocabulary: Vocabulary, values: Index) -> tuple[Mask, Mask]:
    """Tell which columns among some have at most two values, and which only 0 and 1; (V,) each."""
    two, indicator = np.zeros((2, len(vocabulary)), np.bool_)
    first = vocabulary.z[values, :PEEK_ROWS]
    low, high = first.min(axis=1, keepdims=True), first.max(axis=1, keepdims=True)
    for j in values[((first == low) | (first == high)).all(axis=1)]:
        z, centre, scale = vocabulary.z[j], vocabulary.centre[j], vocabulary.scale[j]
        two[j] = ((z == z.min()) | (z == z.max())).all()
        indicator[j] = ((z == (0.0 - centre) / scale) | (z == (1.0 - centre) / scale)).all()
    return two, indicator


def _parts(table: Table, known: _Known, rows: int) -> tuple[list[Part], Floats]:
    """Return the parts, and a matrix with their first rows."""
    vocabulary, chosen = known.vocabulary, known.parts()
    parts = [c for j in chosen if isinstance(c := vocabulary.columns[j], Part)]
    z = vocabulary.z[chosen, :rows]
    for place in np.flatnonzero(known.is_value[chosen]):
        j = chosen[place]
        if known.indicator[j] and known.ends is None:
            z[place] += vocabulary.centre[j] / vocabulary.scale[j]
        else:
            x = table.inputs[name := parts[place].source]
            between = shortest_between(float(np.nanmin(x)), float(np.nanmax(x)))
            parts[place] = step = Step(name, between)
            z[place] = step.evaluate(table.inputs)[:rows]
    for at, (part, j) in enumerate(zip(parts, chosen, strict=True)):
        if isinstance(limited := known.within(part), Hinge) and limited is not part:
            parts[at] = limited
            z[at] = standardise(limited.evaluate(table.inputs)[:rows], 0.0, vocabulary.scale[j])
    return parts, z


def _product(a: Part, b: Part) -> Column:
    """Return both conditions at once, or the number where the condition holds."""
    if isinstance(a, Item) and isinstance(b, Item):
        return Pattern(a, b)
    if isinstance(a, Item):
        a, b = b, a
    return Pair("product", a, b)
