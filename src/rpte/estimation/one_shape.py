"""One shape per variable: of which kind, and of which columns.

A good additive fit says how each variable moves the score. Beside what the others say, a variable
asks for t = f + g / h per row: its own effect so far and the Newton step of the score, with the
weight h. A shape is a few columns of one kind that explain t: a line, a line in the logarithm, at
most three steps, a piecewise line of at most three hinges, a distance from a centre, single values,
or sets of levels. All that counts of the rows are second moments of the columns, those of training
rows to fit, and those of held-out rows to say what a shape is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from rpte.columns.kinds import Column, Hinge, Interval, Level, Scale, Step, Value
from rpte.utils.arrays import Floats, Index, Mask

MOST_TERMS = 3  # of one variable
RIDGE = 1e-3  # on each column, of its own curvature
LEFT = 1e-3  # fraction of its curvature that a column must have beside those chosen
SWAPS = 2  # rounds in which a chosen column may be replaced by a better one

LINE, LOG, DISTANCE, STEPS, PIECES, VALUES, SETS = range(7)
FREE, RISING, FALLING = 0, 1, -1
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
    """Second moments of the columns of a variable, (q, q), and with what it asks for, (q,)."""

    gram: Floats
    slope: Floats

    def gain(self, places: Index, fit: Floats) -> float:
        """Return by how much coefficients lower half the deviance, to second order, in nats."""
        gram = self.gram[np.ix_(places, places)]
        return float(fit @ self.slope[places] - 0.5 * fit @ gram @ fit)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Some columns of a variable by their places, with what they gain on training rows."""

    places: Index
    fit: Floats
    gain: float


def families_of(columns: Sequence[Column]) -> list[int | None]:
    """Return the families of the columns of one variable; None for one that is in no shape.

    Where there are ramps, which are flat beyond their limits, the widest is the line and the others
    are pieces, and nothing that goes on for ever is in a shape.
    """
    found = [_family(column) for column in columns]
    spans = [c.numbers[1] - c.numbers[0] if _is_ramp(c) else -1.0 for c in columns]  # type: ignore[attr-defined]
    if max(spans, default=-1.0) >= 0.0:
        found = [
            None if isinstance(c, (Value, Hinge)) else f
            for c, f in zip(columns, found, strict=True)
        ]
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


def shapes_by_size(columns: Sequence[Column], moments: Moments, kind: Kind) -> list[Shape]:
    """Return the best shape of a kind of one column, of two, and of three, as far as they help."""
    own = [j for j, family in enumerate(families_of(columns)) if family == kind.family]
    if not own:
        return []
    signs = np.zeros(len(columns))
    if kind.direction:
        signs[own] = [kind.direction * direction_of(columns[j]) for j in own]
    clashes = _clashes(columns) if kind.family == SETS else None
    most = MOST_TERMS if kind.family in (STEPS, PIECES, VALUES, SETS) else 1
    found: list[Shape] = []
    shape = Shape(np.zeros(0, np.intp), np.zeros(0), 0.0)
    for _ in range(most):
        longer = _best_addition(moments, shape.places, own, signs, clashes)
        if longer is None:
            break
        shape = _swapped(moments, longer, own, signs, clashes)
        found.append(shape)
    return found


def _clashes(columns: Sequence[Column]) -> Mask:
    """Tell which sets of levels share a level, (q, q)."""
    sets = [set(c.levels) if isinstance(c, Level) else set[str]() for c in columns]
    return np.array([[bool(a & b) for b in sets] for a in sets], np.bool_)


def _best_addition(
    moments: Moments, places: Index, own: Sequence[int], signs: Floats, clashes: Mask | None
) -> Shape | None:
    """Return the shape of one more column that gains most; None if none may be added."""
    gram, slope = moments.gram, moments.slope
    free = np.array([j for j in own if j not in places], np.intp)
    if clashes is not None and len(places):
        free = free[~clashes[np.ix_(free, places)].any(axis=1)]
    if not len(free):
        return None
    own_size = gram[free, free]
    if len(places):
        inner = _with_ridge(gram[np.ix_(places, places)])
        cross = np.linalg.solve(inner, gram[np.ix_(places, free)])
        left = own_size - (gram[np.ix_(places, free)] * cross).sum(axis=0)
        pull = slope[free] - slope[places] @ cross
    else:
        left, pull = own_size, slope[free]
    usable = (left > LEFT * own_size) & (left > 0) & (signs[free] * pull >= 0)
    gains = np.where(usable, pull**2 / np.where(usable, (1 + RIDGE) * left, 1.0), 0.0)
    for at in np.argsort(-np.round(gains, 9), kind="stable"):
        if gains[at] <= 0:
            return None
        shape = _fitted(moments, np.sort(np.append(places, free[at])))
        if (signs[shape.places] * shape.fit >= 0).all():
            return shape
    return None


def _swapped(
    moments: Moments, shape: Shape, own: Sequence[int], signs: Floats, clashes: Mask | None
) -> Shape:
    """Return the shape after columns were replaced one by one while that gains."""
    if len(shape.places) < 2:
        return shape
    for _ in range(SWAPS):
        best = shape
        for place in shape.places:
            others = shape.places[shape.places != place]
            other = _best_addition(moments, others, own, signs, clashes)
            if other is not None and other.gain > best.gain * (1 + 1e-9):
                best = other
        if best is shape:
            break
        shape = best
    return shape


def _fitted(moments: Moments, places: Index) -> Shape:
    gram = _with_ridge(moments.gram[np.ix_(places, places)])
    fit = np.linalg.solve(gram, moments.slope[places]).astype(np.float64)
    return Shape(places, fit, 0.5 * float(fit @ moments.slope[places]))


def _with_ridge(gram: Floats) -> Floats:
    return np.asarray(gram + RIDGE * np.diag(np.diag(gram)) + 1e-300 * np.eye(len(gram)))


def merged_levels(
    levels: Sequence[str], moments: Moments, singles: Index, mass: Floats
) -> Iterator[tuple[str, ...]]:
    """Yield sets of levels of like effect: the best partitions into two, three and four parts.

    `singles` are the places of the single levels and `mass` their curvature. The heaviest part of a
    partition is what the others are compared with, and has no set. A level that has no column of
    its own belongs to it.
    """
    gram = _with_ridge(moments.gram[np.ix_(singles, singles)])
    ridge = np.diag(np.full(len(singles), 1.0))
    effect = np.linalg.solve(gram + ridge, moments.slope[singles]).astype(np.float64)
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
