"""The multinomial loss: several classes as y = 0, 1, ..., K - 1; each row has a score per class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.losses.binomial import LEAST_CURVATURE, LEAST_MEAN
from rpte.losses.loss import Loss, Residuals
from rpte.utils.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Multinomial(Loss):
    """Several classes, whose probabilities are proportional to exp(score).

    Scores and derivatives are (K, n). Where all scores but one are held, that one is a binomial
    score beside an offset: kernels know the binomial loss alone.
    """

    n_scores: int = 3  # type: ignore[misc]
    name, link, code = "multinomial", "softmax", 0
    curvature_bound = 0.25
    effect_name = "odds ratio"
    leaves_little = False
    price_of_rest = 0.5

    def check(self, y: Floats) -> None:
        """Raise unless y holds the numbers of classes, and more than one of them."""
        if not np.isin(y, np.arange(self.n_scores)).all() or not self.varies(y):
            raise InputError(
                f"y must hold whole numbers from 0 to {self.n_scores - 1}, and several of them; "
                "give rows of several classes"
            )

    def is_class(self, y: Floats) -> Floats:
        """Return 1.0 where a row is of a class, (K, n)."""
        return np.asarray(y == np.arange(self.n_scores)[:, None], np.float64)

    def rates(self, y: Floats, weight: Floats) -> Floats:
        """Return the share of the weight in each class, (K,)."""
        totals = np.bincount(self.strata(y), weight, self.n_scores)
        return np.asarray(np.clip(totals / totals.sum(), LEAST_MEAN, 1.0 - LEAST_MEAN))

    def score_of(self, mean: float) -> float:
        """Raise: there is a score for every class, see `null_scores`."""
        raise NotImplementedError("several classes have several scores")

    def null_scores(self, y: Floats, weight: Floats) -> Floats:
        """Return the logarithms of the shares of the classes, which add up to 0."""
        logs = np.log(self.rates(y, weight))
        return np.asarray(logs - logs.mean())

    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return w (y_k - p_k) and w p_k (1 - p_k) of every class, (K, n)."""
        p = self.response(score)
        bend = np.maximum(p * (1.0 - p), LEAST_CURVATURE)
        return Residuals(weight * (self.is_class(y) - p), weight * bend)

    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return twice the negative log-likelihood of each row."""
        own = np.take_along_axis(score, self.strata(y)[None], axis=0)[0]
        return np.asarray(2.0 * (log_sum(score) - own))

    def response(self, score: Floats) -> Floats:
        """Return the probabilities of the classes, (K, n), without overflow."""
        odds = np.exp(score - score.max(axis=0))
        return np.asarray(odds / odds.sum(axis=0))

    def effect(self, coefficient: float) -> float:
        """Return the odds ratio, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return float(np.exp(coefficient))

    def spread(self, mean: Floats) -> Floats:
        """Return the root of p (1 - p)."""
        return np.asarray(np.sqrt(mean * (1.0 - mean)))

    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Raise: the published vocabulary, which goes by it, has one score."""
        raise NotImplementedError("several classes have several scores")

    def strata(self, y: Floats) -> Ints:
        """Return the classes."""
        return y.astype(np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return Multinomial, (self.n_scores,)

    def effective_cases(self, y: Floats, weight: NDArray[np.generic]) -> float:
        """Return the weight of all classes but the largest."""
        totals = np.bincount(self.strata(y), weight.astype(np.float64), self.n_scores)
        return float(totals.sum() - totals.max())


def log_sum(score: Floats) -> Floats:
    """Return the logarithm of the sum over classes of exp(score), (n,) of (K, n)."""
    largest = score.max(axis=0)
    return np.asarray(largest + np.log(np.exp(score - largest).sum(axis=0)))
