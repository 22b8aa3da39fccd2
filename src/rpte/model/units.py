"""How numeric targets and their weights are scaled for a fit (numpy only)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rpte.errors import InputError, bad_cell
from rpte.utils.arrays import Floats

LARGEST_TARGET = 1e100  # of y and of offsets in its units: squares times weights stay finite
LARGEST_FACTOR = 1e30  # of exposures, and exponentials of offsets; the smallest is its inverse
# How far targets may lie from zero, in standard deviations. A prediction is a sum of numbers in
# double precision, and the deviance under a logarithm a difference of numbers of the size of y.
FARTHEST, FARTHEST_LOG = 1e8, 1e3


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
    low: float  # the least and the largest target
    high: float

    @classmethod
    def of(cls, plain: Plain) -> Moments:
        """Return the moments of some rows."""
        weight = plain.weight
        total = float((weight * plain.y).sum())
        sums = float(plain.given.sum()), float(weight.sum()), total
        counted = plain.y[plain.given > 0.0]
        ends = float(counted.min(initial=math.inf)), float(counted.max(initial=-math.inf))
        found = cls(*sums, 0.0, *ends)
        return found._replace(spread=float((weight * (plain.y - found.mean) ** 2).sum()))

    @property
    def mean(self) -> float:
        """The mean of the targets."""
        return self.total / self.weight if self.weight > 0.0 else 0.0

    @property
    def count_unit(self) -> float:
        """The unit of targets that are multiples of counts: near 1 for counts themselves.

        A count has its mean as variance, so u times a count has u times its mean. With exposure
        this is in units of the rates, as it is for rates that are weighted by their exposure.
        """
        return self.spread / self.total if self.total > 0.0 else 0.0

    def plus(self, more: Moments) -> Moments:
        """Return the moments of these rows and of others."""
        weight, total = self.weight + more.weight, self.total + more.total
        apart = (more.mean - self.mean) ** 2 * self.weight * more.weight
        between = apart / weight if weight > 0.0 else 0.0
        spread = self.spread + more.spread + between
        ends = min(self.low, more.low), max(self.high, more.high)
        return Moments(self.given + more.given, weight, total, spread, *ends)

    def check(self, linear: bool) -> None:
        """Refuse targets that double precision has no digits for."""
        largest, apart = max(-self.low, self.high), math.sqrt(self.spread / self.weight)
        if 0.0 < largest < 1.0 / LARGEST_TARGET:
            raise InputError(
                f"y reaches {largest:g}; targets below {1.0 / LARGEST_TARGET:g} vanish when they "
                "are squared: multiply y by a power of ten"
            )
        farthest = FARTHEST if linear else FARTHEST_LOG
        if self.low < self.high and abs(self.mean) > farthest * apart:
            remedy = (
                "subtract a constant from y, or give it as offset="
                if linear
                else ("take loss='squared_error' of y less a constant")
            )
            raise InputError(
                f"y lies within about {apart:g} of {self.mean:.9g}: a mean may be at most "
                f"{farthest:g} standard deviations from 0, or rounding hides what differs; {remedy}"
            )


def check_size(values: Floats, name: str) -> Floats:
    """Return targets, or offsets in their units; refuse those whose squares would overflow."""
    large = np.flatnonzero(np.abs(values) > LARGEST_TARGET)
    if len(large):
        rule = f"numbers up to {LARGEST_TARGET:g} can be fitted: divide by a power of ten"
        what = f"is {float(values[large[0]])!r}"
        raise bad_cell(name, int(large[0]), what, f"{rule}, or drop {{rows}}", len(large))
    return values


def check_factors(factor: Floats, given: Floats, name: str) -> Floats:
    """Return what means are multiplied by, as `given` by an exposure or an offset (n,) each."""
    least = 1.0 / LARGEST_FACTOR
    bad = np.flatnonzero(~((factor >= least) & (factor <= LARGEST_FACTOR)))
    if len(bad):
        said = "exposure" if name == "exposure" else "exp(offset), times the exposure if any,"
        rule = f"{said} must lie between {least:g} and {LARGEST_FACTOR:g}: change the unit"
        what = f"is {float(given[bad[0]])!r}"
        raise bad_cell(name, int(bad[0]), what, f"{rule}, or correct or drop {{rows}}", len(bad))
    return factor


def weight_factors(plain: Plain, unit: float) -> Floats:
    """Return what exposure makes of weights, in a unit, (n,): multiples of `FRACTION`, no zeros."""
    factor = plain.factor / unit
    counts = (plain.given > 0.0) & (plain.y != 0.0)
    lost = np.flatnonzero(counts & (factor < 0.5 * FRACTION))
    if len(lost):  # its weight would be larger than that, and so would be what it adds to sums
        rule = "below a billionth of the mean a weight is lost: correct or drop {rows}"
        what = f"is {factor[lost[0]]:.3g} times the mean, with a target that is not 0"
        raise bad_cell("weight by exposure", int(lost[0]), what, rule, len(lost))
    # An exposure next to nothing beside the others keeps its row, with the least weight.
    return np.maximum(np.rint(factor / FRACTION) * FRACTION, FRACTION)


def short(number: float, spread: float | None = None) -> float:
    """Return a number to six digits, or to as many as a spread about it needs.

    Examples
    --------
    >>> short(1234567.8), short(1234567.8, 0.5)
    (1234570.0, 1234567.8)
    """
    digits = 6
    if spread and number:
        digits = max(digits, 3 + math.ceil(math.log10(abs(number) / spread)))
    return float(f"{number:.{digits}g}")
