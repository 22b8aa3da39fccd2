"""Squared error: numbers on the scale of the score."""

import numpy as np
from numpy.typing import NDArray

from rpte.losses.loss import Loss, Residuals
from rpte.losses.numbers import all_weight, cell_means, refuse_unless, value_strata
from rpte.utils.arrays import Floats, Ints


class Squared(Loss):
    """Numbers whose mean is the score; half the deviance of a row is half its squared error."""

    name, link, code = "squared_error", "identity", 1
    curvature_bound = 1.0
    effect_name = "effect"
    explained_name = "R2"
    balanced = True
    least_target = -np.inf

    def check(self, y: Floats) -> None:
        """Raise unless y holds finite numbers that differ."""
        refuse_unless(np.isfinite(y), y, "finite numbers")

    def score_of(self, mean: float) -> float:
        """Return the mean itself."""
        return mean

    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return w (y - score) and w."""
        return Residuals(weight * (y - score), weight.astype(np.float64))

    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return the squared error of each row."""
        return np.asarray((y - score) ** 2)

    def response(self, score: Floats) -> Floats:
        """Return the score itself."""
        return np.asarray(score, np.float64)

    def effect(self, coefficient: float) -> float:
        """Return the coefficient: it is in units of y."""
        return coefficient

    def dispersion(self, score: Floats, y: Floats, weight: Floats) -> float:
        """Return the mean squared error."""
        return self.deviance(score, y, weight)

    def spread(self, mean: Floats) -> Floats:
        """Return one: the variance is the same everywhere."""
        return np.ones(len(mean))

    def strata(self, y: Floats) -> Ints:
        """Return the fifth of the sorted targets that each row is in."""
        return value_strata(y)

    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Return minus half the weight times the squared mean."""
        return -0.5 * total * cell_means(weight, total)

    def effective_cases(self, y: Floats, weight: NDArray[np.generic]) -> float:
        """Return the weight of all rows."""
        return all_weight(weight)


SQUARED = Squared()
