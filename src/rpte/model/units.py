"""How numeric targets and their weights are scaled for a fit (numpy only)."""

from __future__ import annotations

from typing import NamedTuple

from rpte.utils.arrays import Floats


class TargetUnits(NamedTuple):
    """How numbers were scaled for the fit, so that a penalty means the same in any units.

    The fit saw (y - centre) / scale, and weights divided by `weight`.
    """

    centre: float = 0.0
    scale: float = 1.0
    weight: float = 1.0


AS_THEY_ARE = TargetUnits()


FRACTION = 2.0**-30  # weights by exposure are multiples of it, so that sums of many are exact


class Scaled(NamedTuple):
    """Targets and weights as a fit sees them, (n,) each."""

    y: Floats
    weight: Floats


class Plain(NamedTuple):
    """Targets without exposure and offset, the weights given, and what exposure makes of them."""

    y: Floats
    given: Floats
    factor: Floats  # (n,) each

    @property
    def weight(self) -> Floats:
        """Weights that make up for the exposure, (n,)."""
        return self.given * self.factor


class Moments(NamedTuple):
    """What the units of a target follow from: sums over rows, to which those of others add."""

    given: float  # weight that users gave
    weight: float  # the same, exposure made up for
    total: float  # of the targets, by `weight`
    spread: float  # weighted squares about their mean

    @classmethod
    def of(cls, plain: Plain) -> Moments:
        """Return the moments of some rows."""
        weight = plain.weight
        total = float((weight * plain.y).sum())
        found = cls(float(plain.given.sum()), float(weight.sum()), total, 0.0)
        return found._replace(spread=float((weight * (plain.y - found.mean) ** 2).sum()))

    @property
    def mean(self) -> float:
        """The mean of the targets."""
        return self.total / self.weight if self.weight > 0.0 else 0.0

    def plus(self, more: Moments) -> Moments:
        """Return the moments of these rows and of others."""
        weight, total = self.weight + more.weight, self.total + more.total
        apart = (more.mean - self.mean) ** 2 * self.weight * more.weight
        between = apart / weight if weight > 0.0 else 0.0
        spread = self.spread + more.spread + between
        return Moments(self.given + more.given, weight, total, spread)


def short(number: float) -> float:
    """Return a number to six digits."""
    return float(f"{number:.6g}")
