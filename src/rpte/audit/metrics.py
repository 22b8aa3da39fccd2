"""How well a model foretells a 0/1 outcome, or a number: weighted measures, with numpy alone.

Rows of a 0/1 outcome are sorted by score once (`rank`), rows of numbers by what is predicted
(`rank_numbers`); a resample is the same rows with other weights, so that a bootstrap sorts nothing
again. Tests compare every measure with scikit-learn's, or with its definition.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np

from rpte.losses import BINOMIAL, Loss
from rpte.model.target import NumberTarget
from rpte.utils.arrays import Floats, Index

Measures = dict[str, float | None]

GRID = np.linspace(0.0, 1.0, 201)
STEEPEST = 50.0  # a calibration slope beyond it means that the score separates the classes
CLOSE = 1e-12  # as parts of a rate: differences that are rounding
SEED = 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows by falling score."""

    y: Floats  # 1.0 for the positive class
    score: Floats  # log odds
    weight: Floats
    ends: Index  # the last row of each run of equal scores

    @property
    def probability(self) -> Floats:
        """The probabilities of the positive class."""
        return BINOMIAL.response(self.score)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of one value per row."""
        return float((self.weight * values).sum() / self.weight.sum())

    def counts(self) -> tuple[Floats, Floats]:
        """Return true and false positives if all scores down to each distinct one are flagged."""
        true = np.cumsum(self.weight * self.y)[self.ends]
        false = np.cumsum(self.weight * (1.0 - self.y))[self.ends]
        return np.concatenate([[0.0], true]), np.concatenate([[0.0], false])


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


Rows = TypeVar("Rows", bound=Any)  # a dataclass with y and weight, such as `Ranked`


def total(weight: Floats, values: Floats) -> float:
    """Return a weighted sum; threads of a linear algebra library would be slower on short rows."""
    return float((weight * values).sum())


def rank(y: Floats, score: Floats, weight: Floats) -> Ranked:
    """Sort rows by falling score; rows of weight zero go."""
    kept = np.flatnonzero(weight > 0)
    order = kept[np.argsort(-score[kept], kind="stable")]
    return Ranked(y[order], score[order], weight[order], run_ends(score[order]))


def auc(rows: Ranked) -> float | None:
    """Return the area under the ROC curve; None with one class only."""
    true, false = rows.counts()
    if not (true[-1] > 0 and false[-1] > 0):
        return None
    heights = (true[1:] + true[:-1]) / 2.0
    return float((np.diff(false) * heights).sum() / (true[-1] * false[-1]))


def average_precision(rows: Ranked) -> float | None:
    """Return the mean precision over recall, without interpolation; None without events."""
    true, false = rows.counts()
    if not true[-1] > 0:
        return None
    flagged = true[1:] + false[1:]
    precision = np.divide(true[1:], flagged, out=np.zeros_like(flagged), where=flagged > 0)
    return float((np.diff(true) * precision).sum() / true[-1])


def log_loss(rows: Ranked) -> float:
    """Return the mean negative log-likelihood, in nats."""
    return rows.mean(BINOMIAL.unit_deviance(rows.score, rows.y) / 2.0)


def brier(rows: Ranked) -> float:
    """Return the mean squared error of the probability."""
    return rows.mean((rows.probability - rows.y) ** 2)


def expected(rows: Ranked) -> float:
    """Return the mean probability."""
    return rows.mean(rows.probability)


def calibration(rows: Ranked) -> tuple[float | None, float | None]:
    """Return the calibration intercept (slope held at 1) and the calibration slope.

    Both are 0 and 1 for perfect calibration; None where the outcome has one class, or the score
    does not vary or separates the classes.
    """
    events = float((rows.weight * rows.y).sum())
    if not 0.0 < events < float(rows.weight.sum()):
        return None, None
    level = _logistic(rows, slope_too=False)
    both = _logistic(rows, slope_too=True) if len(rows.ends) > 1 else None
    return None if level is None else level[0], None if both is None else both[1]


def _logistic(rows: Ranked, slope_too: bool) -> tuple[float, float] | None:
    """Fit outcome ~ level + slope * score; None if it diverges."""

    def derivatives(score: Floats) -> tuple[Floats, Floats]:
        p = BINOMIAL.response(score)
        return rows.weight * (rows.y - p), rows.weight * p * (1.0 - p)

    return _recalibrated(derivatives, rows.score, slope_too)


def _recalibrated(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], score: Floats, slope_too: bool
) -> tuple[float, float] | None:
    """Fit level + slope * score by Newton's method from (0, 1); None if it diverges.

    The derivatives of a new score are the residual and the curvature of each row.
    """
    level, slope = 0.0, 1.0
    for _ in range(60):
        residual, w = derivatives(level + slope * score)
        g0, h00 = float(residual.sum()), float(w.sum())
        g1, h01, h11 = 0.0, 0.0, h00 or 1.0
        if slope_too:
            weighed = w * score
            g1, h01 = total(residual, score), float(weighed.sum())
            h11 = total(weighed, score)
        determinant = h00 * h11 - h01 * h01
        if not determinant > 1e-12 * h00 * h11:
            return None
        step = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant)
        level += min(max(step[0], -5.0), 5.0)
        slope += min(max(step[1], -5.0), 5.0)
        if max(abs(level), abs(slope)) > STEEPEST:
            return None
        if max(map(abs, step)) < 1e-9:
            return level, slope
    return None


def measures(rows: Ranked) -> Measures:
    """Return all single numbers, by the names that the report uses."""
    intercept, slope = calibration(rows)
    return {
        "auc": auc(rows),
        "average_precision": average_precision(rows),
        "log_loss": log_loss(rows),
        "brier": brier(rows),
        "observed": rows.mean(rows.y),
        "expected": expected(rows),
        "calibration_intercept": intercept,
        "calibration_slope": slope,
    }


def roc_on_grid(rows: Ranked) -> Floats:
    """Return the share of events caught at each share of false alarms of `GRID`."""
    true, false = rows.counts()
    corner = np.maximum.accumulate(true / true[-1])
    return np.interp(GRID, false / false[-1], corner)


def precision_on_grid(rows: Ranked) -> Floats:
    """Return the precision at which each share of events of `GRID` is first caught."""
    true, false = rows.counts()
    flagged = true + false
    precision = np.divide(true, flagged, out=np.ones_like(true), where=flagged > 0)
    places = np.searchsorted(true, GRID * true[-1] * (1.0 - 1e-12))
    places = np.maximum(places, min(1, len(true) - 1))
    found: Floats = precision[np.minimum(places, len(true) - 1)]
    return found


def confusion(rows: Ranked, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return true and false positives where p >= threshold is flagged, per threshold."""
    true, false = rows.counts()
    p = rows.probability[rows.ends]
    # p falls with place: as many groups are flagged as have p at or above the threshold.
    flagged = np.searchsorted(-p, -thresholds, side="right")
    return true[flagged], false[flagged]


def net_benefit(rows: Ranked, thresholds: Floats) -> Floats:
    """Return the net benefit of flagging at each threshold (Vickers and Elkin)."""
    true, false = confusion(rows, thresholds)
    return (true - false * thresholds / (1.0 - thresholds)) / float(rows.weight.sum())


def at_threshold(rows: Ranked, threshold: float) -> dict[str, tuple[float | None, float]]:
    """Return what a decision at a threshold does: shares, and the weight each is a share of."""
    true, false = (float(count[0]) for count in confusion(rows, np.array([threshold])))
    events, total = float((rows.weight * rows.y).sum()), float(rows.weight.sum())
    others = total - events
    parts = {
        "flagged": (true + false, total),
        "sensitivity": (true, events),
        "specificity": (others - false, others),
        "ppv": (true, true + false),
        "npv": (others - false, total - true - false),
    }
    return {name: (part / of if of > 0 else None, of) for name, (part, of) in parts.items()}


def calibration_groups(rows: Ranked, groups: int = 10) -> list[dict[str, float]]:
    """Return groups of about equal weight, lowest scores first: mean, rate, 95% Wilson interval."""
    found = []
    for start, stop in pairwise(equal_bounds(rows.weight, rows.ends, groups)):
        y, score, weight = (c[start:stop] for c in (rows.y, rows.score, rows.weight))
        group = Ranked(y, score, weight, rows.ends[:0])
        total, observed = float(group.weight.sum()), group.mean(group.y)
        ends = dict(zip(("low", "high"), wilson(observed, total), strict=True))
        found.append({"weight": total, "expected": expected(group), "observed": observed, **ends})
    return found[::-1]


def equal_bounds(weight: Floats, ends: Index, groups: int) -> list[int]:
    """Return where groups of about equal weight begin, and where the last one ends.

    Rows stand in order; `ends` are the last rows of runs that are never split.
    """
    below = np.cumsum(weight)[ends]
    place = np.maximum(np.ceil(below / below[-1] * groups - 1e-9), 1.0)  # weights may begin with 0
    cut = np.append(place[1:] != place[:-1], True)
    return [0, *(ends[cut] + 1).tolist()]


def wilson(rate: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return the 95% Wilson score interval of a rate over n cases; it is never empty."""
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)))
    return max(0.0, centre - half), min(1.0, centre + half)


def resampled(y: Floats, weight: Floats) -> Iterator[Floats]:
    """Yield weights of rows drawn with replacement, without end; targets of each draw differ."""
    generator, n = np.random.default_rng(SEED), len(y)
    while True:
        drawn = weight * np.bincount(generator.integers(0, n, n), minlength=n)
        if BINOMIAL.varies(y[drawn > 0.0]):
            yield drawn


def bootstrap(
    rows: Rows, statistic: Callable[[Rows], Sequence[Any] | Floats], resamples: int
) -> tuple[Floats, Floats]:
    """Return the 2.5% and 97.5% points of a statistic over resamples of rows.

    A row that is drawn twice counts twice its weight. Resamples without both classes, or different
    numbers, are drawn again; NaN marks what a resample does not define, and NaN comes back where
    most did not.
    """
    drawn = islice(resampled(rows.y, rows.weight), resamples)
    found = (statistic(replace(rows, weight=weight)) for weight in drawn)
    table = np.array([[np.nan if v is None else v for v in values] for values in found], np.float64)
    undefined = np.isnan(table).mean(axis=0) > 0.5
    table[:, undefined] = 0.0
    low, high = np.nanquantile(table, [0.025, 0.975], axis=0)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


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

    both = _recalibrated(derivatives, target.fit_score(rows.score), slope_too=True)
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


def run_ends(values: Floats) -> Index:
    """Return the last place of each run of equal values, which stand in order."""
    return np.flatnonzero(np.append(values[1:] != values[:-1], True)[: len(values)])


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
