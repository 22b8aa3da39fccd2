"""How well a model foretells a 0/1 outcome, or a number: weighted measures, with numpy alone.

Rows of a 0/1 outcome are sorted by score once (`rank`); a resample is the same rows with other
weights, so that a bootstrap sorts nothing again. `number_measures` is for numbers. Tests compare
every measure with scikit-learn's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np

from rpte.losses import BINOMIAL, Loss
from rpte.model.target import NumberTarget
from rpte.utils.arrays import Floats, Index

Measures = dict[str, float | None]

GRID = np.linspace(0.0, 1.0, 201)
STEEPEST = 50.0  # a calibration slope beyond it means that the score separates the classes
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


def rank(y: Floats, score: Floats, weight: Floats) -> Ranked:
    """Sort rows by falling score; rows of weight zero go."""
    kept = np.flatnonzero(weight > 0)
    order = kept[np.argsort(-score[kept], kind="stable")]
    sorted_score = score[order]
    last = np.append(sorted_score[1:] != sorted_score[:-1], True)[: len(order)]
    return Ranked(y[order], sorted_score, weight[order], np.flatnonzero(last))


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
    """Fit outcome ~ level + slope * score by Newton's method from (0, 1); None if it diverges."""
    level, slope, score = 0.0, 1.0, rows.score
    for _ in range(60):
        p = BINOMIAL.response(level + slope * score)
        residual, w = rows.weight * (rows.y - p), rows.weight * p * (1.0 - p)
        g0, h00 = float(residual.sum()), float(w.sum())
        g1, h01, h11 = 0.0, 0.0, h00 or 1.0
        if slope_too:
            weighed = w * score
            g1, h01 = float(residual @ score), float(weighed.sum())
            h11 = float(weighed @ score)
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
    below = np.cumsum(rows.weight)[rows.ends]
    place = np.ceil(below / below[-1] * groups - 1e-9).astype(int)
    cut = np.append(place[1:] != place[:-1], True)
    bounds = [0, *(rows.ends[cut] + 1).tolist()]
    found = []
    for start, stop in pairwise(bounds):
        y, score, weight = (c[start:stop] for c in (rows.y, rows.score, rows.weight))
        group = Ranked(y, score, weight, rows.ends[:0])
        total, observed = float(group.weight.sum()), group.mean(group.y)
        ends = dict(zip(("low", "high"), wilson(observed, total), strict=True))
        found.append({"weight": total, "expected": expected(group), "observed": observed, **ends})
    return found[::-1]


def wilson(rate: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return the 95% Wilson score interval of a rate over n cases; it is never empty."""
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)))
    return max(0.0, centre - half), min(1.0, centre + half)


def resampled(y: Floats, weight: Floats) -> Iterator[Floats]:
    """Yield weights of rows drawn with replacement, without end; each draw has both classes."""
    generator, n = np.random.default_rng(SEED), len(y)
    while True:
        drawn = weight * np.bincount(generator.integers(0, n, n), minlength=n)
        if 0.0 < float((drawn * y).sum()) < float(drawn.sum()):
            yield drawn


def bootstrap(
    rows: Ranked, statistic: Callable[[Ranked], Sequence[Any] | Floats], resamples: int
) -> tuple[Floats, Floats]:
    """Return the 2.5% and 97.5% points of a statistic over resamples of rows.

    A row that is drawn twice counts twice its weight. Resamples without both classes are drawn
    again; NaN marks what a resample does not define, and NaN comes back where most did not.
    """
    drawn = islice(resampled(rows.y, rows.weight), resamples)
    found = (statistic(replace(rows, weight=weight)) for weight in drawn)
    table = np.array([[np.nan if v is None else v for v in values] for values in found], np.float64)
    undefined = np.isnan(table).mean(axis=0) > 0.5
    table[:, undefined] = 0.0
    low, high = np.nanquantile(table, [0.025, 0.975], axis=0)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def number_measures(
    target: NumberTarget,
    score: Floats,
    y: Floats,
    weight: Floats,
    exposure: Floats | None = None,
    offset: Floats | None = None,
) -> Measures:
    """Return how well the scores of a model foretell numbers, (n,) each.

    Errors are those of the mean for the exposure of each row, in units of y. The calibration ratio
    is the sum predicted over the sum observed, 1 where they agree. None marks what rows do not
    define, such as a share of a deviance of zero.
    """
    plain = target.plain(y, weight, exposure, offset)
    mean = target.mean(score, exposure, offset)
    whole, observed = float(weight.sum()), float((weight * y).sum())
    errors = y - mean
    squared = float((weight * errors**2).sum())
    spread = float((weight * (y - observed / whole) ** 2).sum())
    times = np.ones(len(y)) if exposure is None else exposure
    return {
        "deviance_explained": deviance_explained(target.loss, score, plain.y, plain.weight),
        "r2": 1.0 - squared / spread if spread > 0.0 else None,
        "mae": float((weight * np.abs(errors)).sum()) / whole,
        "rmse": float(np.sqrt(squared / whole)),
        "calibration_ratio": float((weight * mean).sum()) / observed if observed != 0.0 else None,
        "gini": gini(mean / times, y, weight, weight * times),
    }


def deviance_explained(loss: Loss, score: Floats, y: Floats, weight: Floats) -> float | None:
    """Return the share of the deviance that scores explain; of squared error this is R2.

    One is a perfect fit, zero no better than the mean of `y`. `None` where all of `y` are equal.
    """
    null = loss.deviance(np.full(len(y), loss.null_score(y, weight)), y, weight)
    return 1.0 - loss.deviance(score, y, weight) / null if null > 0.0 else None


def gini(rate: Floats, y: Floats, weight: Floats, exposure: Floats) -> float | None:
    """Return the Gini index of numbers against predicted rates, (n,) each.

    Rows are put in order of their rate; the Lorenz curve is the share of `y` in the rows up to
    each, over their share of the exposure. Zero for rates that tell nothing apart, at most the
    index of `y` in its own order. Rows of equal rate are one step, in whatever order they stand.
    `None` where a number is negative or all are 0.
    """
    order = np.argsort(rate, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(rate[order]) != 0.0, True)[: len(order)])
    amount, base = (np.cumsum(each[order])[ends] for each in (weight * y, exposure))
    if (y < 0.0).any() or not (amount[-1] > 0.0 and base[-1] > 0.0):
        return None
    heights, steps = np.append(0.0, amount / amount[-1]), np.append(0.0, base / base[-1])
    return 1.0 - float(((heights[1:] + heights[:-1]) * np.diff(steps)).sum())
