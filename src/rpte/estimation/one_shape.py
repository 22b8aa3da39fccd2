"""One shape per variable: of which kind, and of which columns.

A good additive fit says how each variable moves the score. Beside what the others say, a variable
asks for t = f + g / h per row: its own effect so far and the Newton step of the score, with the
weight h. A shape is a few columns of one kind that explain t: a line, a line in the logarithm, at
most three steps, at most three pieces of a piecewise line, a distance from a centre, single values,
or sets of levels. Pieces share no part of the range, so that each says how steep the effect is
there. All that counts of the rows are second moments of the columns, those of training rows to fit,
and those of held-out rows to say what a shape is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from rpte.columns.kinds import Column, Hinge, Interval, Level, Scale, Step, Value, goes_on
from rpte.kernels.shape_search import best_columns
from rpte.utils.arrays import Floats, Index, Mask

MOST_TERMS = 3  # of one variable
RIDGE = 1e-3  # on each column, of its own curvature
LEFT = 1e-3  # fraction of its curvature that a column must have beside those chosen
SWAPS = 2  # rounds in which a chosen column may be replaced by a better one

LINE, LOG, DISTANCE, STEPS, PIECES, VALUES, SETS = range(7)
FREE, RISING, FALLING = 0, 1, -1
DISJOINT = (SETS, PIECES)  # families whose columns share no level, and no part of a range
TURNING = ((DISTANCE, FREE), (STEPS, FREE), (PIECES, FREE), (VALUES, FREE))


@dataclass(frozen=True, slots=True)
class Kind:
    """What a shape is made of, and the direction that all its columns must have."""

    family: int
    direction: int = FREE

    @property
    def turns(self) -> bool:
        """Whether the effect may change its direction."""
        return (self.family, self.direction) in TURNING


KINDS = (
    *(Kind(family) for family in (LINE, LOG, SETS)),
    *(Kind(family, sign) for family in (STEPS, PIECES) for sign in (RISING, FALLING)),
    *(Kind(family) for family in (DISTANCE, STEPS, PIECES, VALUES)),
)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Second moments of the columns of a variable, and with what it asks for.

    Those of K scores, one or several: `gram` (K, q, q), `slope` (K, q). A shape has the same
    columns for all scores, and gains what it gains for all of them.
    """

    gram: Floats
    slope: Floats

    def of(self, places: Index) -> Moments:
        """Return the moments of some columns."""
        return Moments(self.gram[:, places[:, None], places], self.slope[:, places])

    def fit(self) -> Floats:
        """Return the coefficients that explain most under a small ridge, (K, q)."""
        return np.asarray(np.linalg.solve(_with_ridge(self.gram), self.slope[..., None])[..., 0])

    def gain(self, places: Index, fit: Floats) -> float:
        """Return by how much coefficients (K, size) lower half the deviance, to second order."""
        own = self.of(places)
        bent = np.einsum("ki,kij,kj->", fit, own.gram, fit)
        return float((fit * own.slope).sum() - 0.5 * bent)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Some columns of a variable by their places, with what they gain on training rows."""

    places: Index
    fit: Floats  # (K, size)
    gain: float


def families_of(columns: Sequence[Column]) -> list[int | None]:
    """Return the families of the columns of one variable; None for one that is in no shape.

    Where there are ramps, which are flat beyond their limits, the widest is the line and the others
    are pieces, and nothing that goes on for ever is in a shape.
    """
    found = [_family(column) for column in columns]
    spans = [c.numbers[1] - c.numbers[0] if _is_ramp(c) else -1.0 for c in columns]  # type: ignore[attr-defined]
    if max(spans, default=-1.0) >= 0.0:
        found = [None if goes_on(c) else f for c, f in zip(columns, found, strict=True)]
        found[int(np.argmax(spans))] = LINE
    return found


def _family(column: Column) -> int | None:
    if isinstance(column, Scale):
        return {"log": LOG, "distance": DISTANCE, "clip": PIECES}.get(column.formula)
    families = ((Value, LINE), (Step, STEPS), (Hinge, PIECES), (Interval, VALUES), (Level, SETS))
    return next((family for kind, family in families if isinstance(column, kind)), None)


def _is_ramp(column: Column) -> bool:
    return isinstance(column, Scale) and column.formula == "clip"


def direction_of(column: Column) -> int:
    """Return how a step or a hinge moves with its variable."""
    return FALLING if isinstance(column, Hinge) and column.side == "below" else RISING


def shapes_of_kinds(
    columns: Sequence[Column], moments: Moments, kinds: Iterable[Kind]
) -> Iterator[list[Shape]]:
    """Yield for each kind its best shapes of one, two and three columns, as far as they help."""
    families = np.array([-1 if f is None else f for f in families_of(columns)], np.intp)
    directions = np.array([direction_of(column) for column in columns], np.float64)
    never, clashes = np.zeros((len(columns), len(columns)), np.bool_), _clashes(columns)
    both = moments.gram, moments.slope
    for kind in kinds:
        own = np.flatnonzero(families == kind.family)
        if not len(own) or (kind.direction and len(moments.slope) > 1):  # scores need not agree
            yield []
            continue
        most = MOST_TERMS if kind.family in (STEPS, PIECES, VALUES, SETS) else 1
        limits = kind.direction * directions, clashes if kind.family in DISJOINT else never
        found = np.empty((most, most), np.intp)
        count = best_columns(both, own, limits, (RIDGE, LEFT, SWAPS), found)
        yield [_fitted(moments, found[at, : at + 1]) for at in range(count)]


def _clashes(columns: Sequence[Column]) -> Mask:
    """Tell which sets of levels share a level, and which ramps a part of their range, (q, q)."""
    sets = [set(c.levels) if isinstance(c, Level) else set[str]() for c in columns]
    ends = np.array([c.numbers[:2] if _is_ramp(c) else (0.0, 0.0) for c in columns])  # type: ignore[attr-defined]
    low, high = ends.reshape(-1, 2).T
    found: Mask = np.maximum.outer(low, low) < np.minimum.outer(high, high)
    if any(sets):
        found |= np.array([[bool(a & b) for b in sets] for a in sets], np.bool_)
    return found


def _fitted(moments: Moments, places: Index) -> Shape:
    own = moments.of(places)
    fit = own.fit()
    return Shape(places, fit, 0.5 * float((fit * own.slope).sum()))


def _with_ridge(gram: Floats) -> Floats:
    """Return Gram matrices (K, q, q) with a ridge on each column, of its own curvature."""
    own = RIDGE * np.einsum("kjj->kj", gram) + 1e-300
    return np.asarray(gram + own[..., None] * np.eye(gram.shape[-1]))


def merged_levels(
    levels: Sequence[str], moments: Moments, singles: Index, mass: Floats
) -> Iterator[tuple[str, ...]]:
    """Yield sets of levels of like effect: the best partitions into two, three and four parts.

    `singles` are the places of the single levels and `mass` their curvature. The heaviest part of a
    partition is what the others are compared with, and has no set. A level that has no column of
    its own belongs to it.
    """
    own = moments.of(singles)
    effects = Moments(own.gram + np.eye(len(singles)), own.slope).fit()
    effect = effects[0]
    if len(effects) > 1:  # along the direction in which levels differ most
        effect = np.linalg.svd(effects - np.average(effects, axis=1, weights=mass)[:, None])[2][0]
    order = np.lexsort((np.arange(len(effect)), np.round(effect, 9)))
    for parts in range(2, MOST_TERMS + 2):
        if parts > len(order):
            return
        cuts = _best_cuts(effect[order], mass[order], parts)
        groups = np.split(order, cuts)
        heaviest = max(range(parts), key=lambda i: (round(float(mass[groups[i]].sum()), 9), -i))
        for i, group in enumerate(groups):
            if i != heaviest:
                yield tuple(sorted(levels[k] for k in group))


def _best_cuts(values: Floats, mass: Floats, parts: int) -> list[int]:
    """Return where to cut sorted values into parts so that they differ least inside them."""
    one, two = np.cumsum(np.append(0.0, mass * values)), np.cumsum(np.append(0.0, mass))

    def between(cuts: Iterable[int]) -> float:
        ends = [0, *cuts, len(values)]
        sums = [(one[b] - one[a]) ** 2 / max(two[b] - two[a], 1e-300) for a, b in pairwise(ends)]
        return round(float(sum(sums)), 9)

    if len(values) <= 14:
        return list(max(combinations(range(1, len(values)), parts - 1), key=between))
    cuts: tuple[int, ...] = ()
    for _ in range(parts - 1):  # of many levels, one cut after the other
        more = [tuple(sorted((*cuts, c))) for c in range(1, len(values)) if c not in cuts]
        cuts = max(more, key=between)
    return list(cuts)
