"""How well a model tells several classes apart: weighted measures, beside those of `metrics`.

A class against all others is an outcome of 0 and 1, whose score is the log odds of that class: what
`metrics` measures of two classes it measures of each. Tests compare with scikit-learn.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rpte.audit.metrics import CLOSE, Measures, Ranked, auc, calibration
from rpte.losses import Multinomial
from rpte.losses.multinomial import log_sum
from rpte.utils.arrays import Floats, Index


@dataclass(frozen=True, slots=True)
class RankedClasses:
    """Rows of several classes with what is predicted of them; arrays are (n,) where not said."""

    y: Floats  # the number of each row's class
    weight: Floats
    log_loss: Floats  # of each row, in nats
    brier: Floats  # of each row: squared errors of the probabilities, summed over classes
    chosen: Index  # the class of the largest score, the first of several
    probability: Floats  # (n, K)
    log_odds: Floats  # of each class against all others, (K, n), rows in falling order
    orders: Index  # the rows in that order, (K, n)
    ends: tuple[Index, ...]  # of each class, the last row of each run of equal log odds

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.ends)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of one value per row."""
        return float((self.weight * values).sum() / self.weight.sum())

    def against_rest(self, k: int) -> Ranked:
        """Return the rows as those of one class, 1.0, and all others, by falling log odds."""
        order = self.orders[k]
        own = (self.y[order] == k).astype(np.float64)
        return Ranked(own, self.log_odds[k], self.weight[order], self.ends[k])

    def confusion(self) -> Floats:
        """Return the weight of rows by their class (down) and the class predicted, (K, K)."""
        k = self.n_classes
        place = self.y.astype(np.intp) * k + self.chosen
        return np.asarray(np.bincount(place, self.weight, k * k), np.float64).reshape(k, k)


def rank_classes(score: Floats, y: Floats, weight: Floats) -> RankedClasses:
    """Put rows of several classes in order of the log odds of each; rows of weight zero go.

    Parameters
    ----------
    score : (n, K)
    y : (n,)
        The numbers of the rows' classes.
    weight : (n,)
    """
    kept = weight > 0
    scores, y, weight = score[kept].T, y[kept], weight[kept]
    loss = Multinomial(len(scores))
    p = loss.response(scores)
    others = [log_sum(np.delete(scores, k, axis=0)) for k in range(len(scores))]
    log_odds = scores - np.array(others)
    orders = np.argsort(-log_odds, axis=1, kind="stable")
    ranked = np.take_along_axis(log_odds, orders, axis=1)
    return RankedClasses(
        y=y,
        weight=weight,
        log_loss=loss.unit_deviance(scores, y) / 2.0,
        brier=((p - loss.is_class(y)) ** 2).sum(axis=0),
        chosen=scores.argmax(axis=0),
        probability=np.ascontiguousarray(p.T),
        log_odds=ranked,
        orders=orders,
        ends=tuple(_run_ends(each) for each in ranked),
    )


def _run_ends(log_odds: Floats) -> Index:
    """Return the last place of each run of log odds, falling, that differ by rounding at most.

    The scores of other classes are summed up, and equal sums in another order may be rounded apart.
    """
    apart = -np.diff(log_odds) > CLOSE * np.maximum(np.abs(log_odds[1:]), 1.0)
    return np.flatnonzero(np.append(apart, True)[: len(log_odds)])


def class_measures(score: Floats, y: Floats, weight: Floats) -> Measures:
    """Return how well scores, (n, K), tell classes, by number (n,), apart; see `measured_classes`.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> found = class_measures(score, np.array([0.0, 1.0, 2.0, 0.0]), np.ones(4))
    >>> found["accuracy"], found["base_accuracy"], found["auc"]
    (0.75, 0.5, 0.9444444444444445)
    """
    return measured_classes(rank_classes(score, y, weight))


def measured_classes(rows: RankedClasses, keys: Iterable[str] | None = None) -> Measures:
    """Return measures of several classes by the names that every caller uses, all if none named.

    The AUC is the mean over classes, each against the rest; balanced accuracy is the mean of the
    shares of each class that are found; classes that do not occur are left out of both. The Brier
    score sums over classes. The base accuracy is that of always saying the most frequent class.
    """
    names = CLASS_MEASURES if keys is None else keys
    return {name: CLASS_MEASURES[name](rows) for name in names}


def _mean_auc(rows: RankedClasses) -> float | None:
    found = [auc(rows.against_rest(k)) for k in range(rows.n_classes)]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None


def _accuracy(rows: RankedClasses) -> float:
    return rows.mean(rows.chosen == rows.y)


def _balanced_accuracy(rows: RankedClasses) -> float:
    table = rows.confusion()
    occurs = table.sum(axis=1) > 0
    return float((np.diag(table)[occurs] / table[occurs].sum(axis=1)).mean())


def _base_accuracy(rows: RankedClasses) -> float:
    return float(np.bincount(rows.y.astype(np.intp), rows.weight).max() / rows.weight.sum())


def measured_class(rows: RankedClasses, k: int) -> Measures:
    """Return how well one class is told from all others.

    Recall is the share of its rows that are given the class, precision the share of the rows given
    the class that are of it; calibration as in `metrics.calibration`, of its log odds. None marks
    what rows do not define.
    """
    own, table = rows.against_rest(k), rows.confusion()
    intercept, slope = calibration(own)
    return {
        "observed": own.mean(own.y),
        "expected": rows.mean(rows.probability[:, k]),
        "recall": _share(table[k, k], table[k].sum()),
        "precision": _share(table[k, k], table[:, k].sum()),
        "auc": auc(own),
        "calibration_intercept": intercept,
        "calibration_slope": slope,
    }


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None


def _row_mean(name: str, rows: RankedClasses) -> float:
    return rows.mean(getattr(rows, name))


CLASS_MEASURES: dict[str, Any] = {
    "log_loss": partial(_row_mean, "log_loss"),
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "base_accuracy": _base_accuracy,
    "auc": _mean_auc,
    "brier": partial(_row_mean, "brier"),
}
