"""The binomial loss: two classes as y = 0 and 1, scores are log odds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.losses.loss import Loss, Residuals
from rpte.utils.arrays import Floats, Ints

LEAST_MEAN = 1e-15  # a base rate of zero would have no log odds
LEAST_CURVATURE = 1e-6  # of a row of weight one: saturated rows must count


def weighted_entropy(total: Any, events: Any) -> Floats:
    """Return total weight times the entropy of the label (nats) in each cell."""
    total, events = np.asarray(total, np.float64), np.asarray(events, np.float64)
    others = total - events
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = np.where(events > 0, events * np.log(events / total), 0.0)
        negative = np.where(others > 0, others * np.log(others / total), 0.0)
    return -(positive + negative)


class Binomial(Loss):
    """Two classes."""

    name, link, code = "binomial", "logit", 0
    curvature_bound = 0.25
    effect_name = "odds ratio"
    leaves_little = False
    price_of_rest = 0.0

    def check(self, y: Floats) -> None:
        """Raise unless y holds 0 and 1, and both of them."""
        if not np.isin(y, (0.0, 1.0)).all() or not self.varies(y):
            raise InputError("y must hold 0 and 1, and both of them; give rows of both classes")

    def score_of(self, mean: float) -> float:
        """Return the log odds of the base rate."""
        rate = float(np.clip(mean, LEAST_MEAN, 1 - LEAST_MEAN))
        return float(np.log(rate / (1 - rate)))

    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return w (y - p) and w p (1 - p)."""
        p = self.response(score)
        return Residuals(weight * (y - p), weight * np.maximum(p * (1 - p), LEAST_CURVATURE))

    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return twice the negative log-likelihood of each row."""
        loss = np.maximum(score, 0.0) + np.log1p(np.exp(-np.abs(score))) - y * score
        return np.asarray(2.0 * loss)

    def response(self, score: Floats) -> Floats:
        """Return the probability of y = 1, 1 / (1 + exp(-score)), without overflow."""
        small = np.exp(-np.abs(score))
        return np.where(score >= 0, 1.0 / (1.0 + small), small / (1.0 + small))

    def effect(self, coefficient: float) -> float:
        """Return the odds ratio, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return float(np.exp(coefficient))

    def spread(self, mean: Floats) -> Floats:
        """Return the root of p (1 - p)."""
        return np.asarray(np.sqrt(mean * (1.0 - mean)))

    def strata(self, y: Floats) -> Ints:
        """Return the classes."""
        return y.astype(np.int64)

    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Return weight times the entropy of the label (nats)."""
        return weighted_entropy(weight, total)

    def explainable(self, y: Floats, weight: Floats) -> float:
        """Return weight times the entropy of the label."""
        return float(weighted_entropy(weight.sum(), (weight * y).sum()))

    def effective_cases(self, y: Floats, weight: NDArray[np.generic]) -> float:
        """Return the weight of the smaller class."""
        classes: Any = np.bincount(self.strata(y), weight.astype(np.float64), minlength=2)
        return float(classes.min())


BINOMIAL = Binomial()
