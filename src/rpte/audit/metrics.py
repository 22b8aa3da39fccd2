"""How well a model foretells a 0/1 outcome: weighted measures, with numpy alone.

Rows are sorted by score once (`rank`); a resample is the same rows with other weights, so that a
bootstrap sorts nothing again. Tests compare every measure with scikit-learn's, or with its
definition. `number_metrics` and `class_metrics` have those of numbers and of several classes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np

from rpte.losses import BINOMIAL
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

    return recalibrated(derivatives, rows.score, slope_too)


def recalibrated(
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


def run_ends(values: Floats) -> Index:
    """Return the last place of each run of equal values, which stand in order."""
    return np.flatnonzero(np.append(values[1:] != values[:-1], True)[: len(values)])
