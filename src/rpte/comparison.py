"""What was compared in validation: aims, their losses, and the price of reading a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.terms import Offer

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

ENOUGH_CASES = 1_000  # from here on a price falls with the root of the cases
MANY = 20  # conditions for every 1,000 rows, and on smaller tables


@dataclass(frozen=True, slots=True)
class Aim:
    """What Stage 3 is to solve: the terms offered and the penalty."""

    offer: Offer
    l1_ratio: float
    l1: float

    def to_dict(self) -> dict[str, Any]:
        """Return the aim as plain JSON values."""
        return {**self.offer.to_dict(), "l1_ratio": self.l1_ratio, "l1": self.l1}


@dataclass(frozen=True, slots=True)
class Point:
    """Validated loss of one aim.

    `miu` are the conditions of its active terms on the training rows, `deviance` the weighted mean
    over the folds (or over blocks of the held-out rows where there is one fold) and `error` its
    standard error.
    """

    aim: Aim
    miu: int
    deviance: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain JSON values."""
        validated = {"miu": self.miu, "deviance": self.deviance, "error": self.error}
        return {**self.aim.to_dict(), **validated}


@dataclass(frozen=True, slots=True)
class Price:
    """What a model must explain for being read.

    Parameters
    ----------
    each : float
        Share of the deviance that can be explained which one more condition must explain.
    many : float
        Number of conditions beyond which the price of all of them goes by their logarithm.
    """

    each: float = 0.0
    many: float = MANY

    @classmethod
    def at(cls, each: float, n_cases: int) -> Price:
        """Return the price at so many cases, where `each` is the price on a small table."""
        less = min(1.0, math.sqrt(ENOUGH_CASES / n_cases))
        return cls(each * less, MANY / less**2)

    def of(self, conditions: int) -> float:
        """Return the share that a model of so many conditions must explain."""
        if conditions <= self.many:
            return self.each * conditions
        return self.each * self.many * (1.0 + math.log(conditions / self.many))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All points that were compared, the first of them without terms.

    Parameters
    ----------
    points : tuple of Point
    price : Price
    fits : mapping from Aim to (q + 1,)
        Rough fits on the rows that the model's structure comes from: intercept, coefficients.
    direct : mapping from Offer to (d,)
        The vocabulary columns that were direct terms of an offer there.
    short : tuple of Point
        Of very short models made by forward selection.
    """

    points: tuple[Point, ...] = ()
    price: Price = Price()
    fits: Mapping[Aim, Floats] = field(default_factory=dict)
    direct: Mapping[Offer, Index] = field(default_factory=dict)
    short: tuple[Point, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what the file keeps of the comparison, the frontier left to who makes models."""
        null = self.points[0].deviance if self.points else None
        return {
            "price": self.price.each,
            "many": self.price.many,
            "compared": len(self.points) + len(self.short),
            "null_deviance": null,
            "frontier": [],
        }

    def explained(self) -> float:
        """Return the deviance that the best point explains of that without terms."""
        return max(self.points[0].deviance - min(p.deviance for p in self.points), 0.0)

    def cost(self, point: Point, explained: float) -> float:
        """Return the validated deviance and the price of a point's conditions."""
        return point.deviance + explained * self.price.of(point.miu)

    def ranked(self, most: int | None) -> list[Point]:
        """Return the points with at most so many conditions, the best first; ties to the simple.

        Where the best of all has more, the very short models compete as well: chosen by validation
        among many for their shortness, they would win too often where nobody asked for it.
        """
        best = self._sorted(self.points)
        if most is None or best[0].miu <= most:
            return [p for p in best if most is None or p.miu <= most]
        return self._sorted([p for p in (*self.points, *self.short) if p.miu <= most])

    def _sorted(self, points: Sequence[Point]) -> list[Point]:
        explained = self.explained()
        costs = {id(p): round(self.cost(p, explained), 12) for p in points}
        return sorted(points, key=lambda p: (costs[id(p)], p.miu, p.aim.offer.n_trees, -p.aim.l1))

    def frontier(
        self, loads: Sequence[int], chosen: Point | None = None, longer: bool = True
    ) -> list[Point]:
        """Return the best points within some numbers of conditions, each better than those before.

        Parameters
        ----------
        loads : sequence of numbers of conditions
        chosen : Point, optional
            Very short models that validation finds better still are left out: so many were tried
            that one of them may be so by chance.
        longer : bool
            Whether to return points of more conditions than the chosen one.
        """
        least = -math.inf if chosen is None else chosen.deviance
        most = math.inf if longer or chosen is None else chosen.miu
        short = [p for p in self.short if p.deviance > least]
        best: list[Point] = []

        def key(p: Point) -> tuple[int, float, int, float]:
            return p.miu, round(p.deviance, 12), p.aim.offer.n_trees, -p.aim.l1

        for point in sorted((p for p in (*self.points, *short) if p.miu <= most), key=key):
            if not best or key(point)[1] < key(best[-1])[1]:
                best.append(point)
        ends = np.searchsorted([p.miu for p in best], [*loads, math.inf], side="right")
        return [best[i - 1] for i in np.unique(ends) if i]
