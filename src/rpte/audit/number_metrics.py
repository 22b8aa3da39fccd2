"""How well a model foretells a number: weighted measures, with numpy alone.

Rows are sorted by what is predicted once (`rank_numbers`), as `metrics.rank` does for an outcome.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.audit.metrics import CLOSE, Measures, recalibrated, total
from rpte.losses import Loss
from rpte.model.target import NumberTarget
from rpte.utils.arrays import Floats, Index


@dataclass(frozen=True, slots=True)
class RankedNumbers:
    """Rows of numbers with what is predicted of them, and their order; arrays are (n,)."""

    target: NumberTarget
    y: Floats
    weight: Floats
    exposure: Floats  # 1.0 where there is none
    plain: Floats  # y without exposure and offset, and the weight that makes up for the former
    factor: Floats
    deviance: Floats  # of each row, without exposure and offset
    order: Index  # by rising predicted rate
    ends: Index  # the last place in the order of each run of equal rates
    score: Floats  # without exposure and offset
    mean: Floats  # predicted for the exposure and the offset of each row

    @property
    def rate(self) -> Floats:
        """The predicted means for one unit of exposure."""
        return self.mean / self.exposure

    @property
    def amount(self) -> Floats:
        """What each row counts: its exposure times its weight."""
        return self.weight * self.exposure

    def over(self, values: Floats) -> float:
        """Return the weighted mean of one value per row."""
        return total(self.weight, values) / float(self.weight.sum())


def rank_numbers(
    target: NumberTarget,
    score: Floats,
    y: Floats,
    weight: Floats,
    exposure: Any = None,
    offset: Any = None,
) -> RankedNumbers:
    """Put rows of numbers in order of what a model of them predicts."""
    plain = target.plain(y, weight, exposure, offset)
    mean, n = target.mean(score, exposure, offset), len(y)
    times = np.ones(n) if exposure is None else target.read_exposure(exposure, n)
    given = target, y, weight, times, plain.y, plain.factor
    return RankedNumbers(*given, *_ranked(target, score, mean / times, plain.y), score, mean)


def predicted_anew(rows: RankedNumbers, score: Floats, mean: Floats) -> RankedNumbers:
    """Return the same rows as another model predicts them."""
    deviance, order, ends = _ranked(rows.target, score, mean / rows.exposure, rows.plain)
    return replace(rows, deviance=deviance, order=order, ends=ends, score=score, mean=mean)


def _ranked(
    target: NumberTarget, score: Floats, rate: Floats, plain: Floats
) -> tuple[Floats, Index, Index]:
    order = np.argsort(rate, kind="stable")
    return target.loss.unit_deviance(score, plain), order, rate_ends(rate[order])


def number_measures(
    target: NumberTarget,
    score: Floats,
    y: Floats,
    weight: Floats,
    exposure: Any = None,
    offset: Any = None,
) -> Measures:
    """Return how well the scores of a model foretell numbers, (n,) each; see `measured_numbers`."""
    return measured_numbers(rank_numbers(target, score, y, weight, exposure, offset))


def measured_numbers(rows: RankedNumbers, keys: Iterable[str] | None = None) -> Measures:
    """Return measures of numbers by the names that every caller uses, all if none are named.

    Errors are those of the mean for the exposure of each row, in units of y; observed and expected
    means are for one unit of exposure. The calibration ratio is the sum predicted over the sum
    observed, 1 where they agree. None marks what rows do not define, such as a share of a deviance
    of zero.
    """
    names = NUMBER_MEASURES if keys is None else keys
    return {name: NUMBER_MEASURES[name](rows) for name in names}


def _explained(rows: RankedNumbers) -> float | None:
    return _share(rows.target.loss, _deviance(rows), rows.plain, rows.weight * rows.factor)


def _deviance(rows: RankedNumbers) -> float:
    counted = rows.weight * rows.factor
    return total(counted, rows.deviance) / float(counted.sum())


def _r2(rows: RankedNumbers) -> float | None:
    spread = total(rows.weight, (rows.y - rows.over(rows.y)) ** 2)
    return 1.0 - total(rows.weight, (rows.y - rows.mean) ** 2) / spread if spread > 0.0 else None


def _mae(rows: RankedNumbers) -> float:
    return rows.over(np.abs(rows.y - rows.mean))


def _rmse(rows: RankedNumbers) -> float:
    return float(np.sqrt(rows.over((rows.y - rows.mean) ** 2)))


def _per_exposure(rows: RankedNumbers, values: Floats) -> float:
    return total(rows.weight, values) / total(rows.weight, rows.exposure)


def _calibration_ratio(rows: RankedNumbers) -> float | None:
    observed = total(rows.weight, rows.y)
    return total(rows.weight, rows.mean) / observed if observed != 0.0 else None


def _ordered_gini(rows: RankedNumbers) -> float | None:
    return _area_above(*_shares(rows.order, rows.ends, rows.weight * rows.y, rows.amount))


def _normalised_gini(rows: RankedNumbers) -> float | None:
    found, own = _ordered_gini(rows), rows.y / rows.exposure
    order = np.argsort(own, kind="stable")
    best = _area_above(*_shares(order, rate_ends(own[order]), rows.weight * rows.y, rows.amount))
    return found / best if found is not None and best else None


def deviance_explained(loss: Loss, score: Floats, y: Floats, weight: Floats) -> float | None:
    """Return the share of the deviance that scores explain; of squared error this is R2.

    One is a perfect fit, zero no better than the mean of `y`. `None` where all of `y` are equal.
    """
    return _share(loss, loss.deviance(score, y, weight), y, weight)


def _share(loss: Loss, deviance: float, y: Floats, weight: Floats) -> float | None:
    if not loss.varies(y[weight > 0.0]):
        return None
    null = loss.deviance(np.full(len(y), loss.null_score(y, weight)), y, weight)
    return 1.0 - deviance / null if null > 0.0 else None


def number_slope(rows: RankedNumbers) -> float | None:
    """Return the slope of a fit of the targets on the score alone, under the loss of the model.

    One where the score is as far spread as the targets follow it, below one where predictions are
    too extreme; None where the score does not vary.
    """
    target, counted = rows.target, rows.weight * rows.factor
    # In the units of the fit, in which steps and limits of the search have a meaning.
    y = (rows.plain - target.units.centre) / target.units.scale

    def derivatives(score: Floats) -> tuple[Floats, Floats]:
        found = target.loss.residuals(score, y, counted)
        return found.gradient, found.hessian

    both = recalibrated(derivatives, target.fit_score(rows.score), slope_too=True)
    return None if both is None else both[1]


def gini(rate: Floats, y: Floats, weight: Floats, exposure: Floats) -> float | None:
    """Return the Gini index of numbers against predicted rates, (n,) each.

    Rows are put in order of their rate; the Lorenz curve is the share of `y` in the rows up to
    each, over their share of the exposure. Zero for rates that tell nothing apart, at most the
    index of `y` in its own order. Rows of equal rate are one step, in whatever order they stand.
    `None` where a number is negative or all are 0.
    """
    order = np.argsort(rate, kind="stable")
    return _area_above(*_shares(order, rate_ends(rate[order]), weight * y, exposure))


def lorenz(rows: RankedNumbers, at: Floats) -> Floats | None:
    """Return the share of y that the rows of the lowest predictions hold.

    They hold the shares `at` of the exposure. None where the `gini` of the rows is.
    """
    steps, heights = _shares(rows.order, rows.ends, rows.weight * rows.y, rows.amount)
    return None if steps is None or heights is None else np.interp(at, steps, heights)


def _shares(
    order: Index, ends: Index, amount: Floats, base: Floats
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return the Lorenz curve of amounts over their base; runs of equal rates are one step."""
    amounts, bases = (np.cumsum(each[order])[ends] for each in (amount, base))
    if (amount < 0.0).any() or not (amounts[-1] > 0.0 and bases[-1] > 0.0):
        return None, None
    return np.append(0.0, bases / bases[-1]), np.append(0.0, amounts / amounts[-1])


def _area_above(steps: Floats | None, heights: Floats | None) -> float | None:
    if steps is None or heights is None:
        return None
    return 1.0 - float(((heights[1:] + heights[:-1]) * np.diff(steps)).sum())


def rate_ends(rates: Floats) -> Index:
    """Return the last place of each run of rates, in order, that differ by rounding at most.

    A rate that is multiplied by an exposure and divided by it again need not be the same.
    """
    apart = np.diff(rates) > CLOSE * np.abs(rates[1:])
    return np.flatnonzero(np.append(apart, True)[: len(rates)])


NUMBER_MEASURES: dict[str, Callable[[RankedNumbers], float | None]] = {
    "deviance_explained": _explained,
    "r2": _r2,
    "deviance": _deviance,
    "mae": _mae,
    "rmse": _rmse,
    "observed": lambda rows: _per_exposure(rows, rows.y),
    "expected": lambda rows: _per_exposure(rows, rows.mean),
    "calibration_ratio": _calibration_ratio,
    "calibration_slope": number_slope,
    "gini": _ordered_gini,
    "gini_normalised": _normalised_gini,
}
