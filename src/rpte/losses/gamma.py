"""The gamma loss: positive amounts whose spread grows with their mean; scores are logarithms."""

import numpy as np
from numpy.typing import NDArray

from rpte.losses.loss import Residuals
from rpte.losses.numbers import LEAST_CURVATURE, LogLink, all_weight, cell_means, refuse_unless
from rpte.utils.arrays import Floats


class Gamma(LogLink):
    """Positive amounts."""

    name, code = "gamma", 3
    power = 2.0

    def check(self, y: Floats) -> None:
        """Raise unless y holds positive numbers."""
        refuse_unless(np.isfinite(y) & (y > 0.0), y, "amounts above 0")

    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return w (y / mean - 1) and w y / mean."""
        ratio = y * np.exp(-self.limited(score))
        return Residuals(weight * (ratio - 1.0), weight * np.maximum(ratio, LEAST_CURVATURE))

    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Return weight times the logarithm of the mean."""
        mean = cell_means(weight, total)
        return weight * np.log(np.where(mean > 0.0, mean, 1.0))

    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return 2 (log(mean / y) + y / mean - 1) of each row."""
        score = self.limited(score)
        return np.asarray(2.0 * np.maximum(score - np.log(y) + y * np.exp(-score) - 1.0, 0.0))

    def effective_cases(self, y: Floats, weight: NDArray[np.generic]) -> float:
        """Return the weight of all rows."""
        return all_weight(weight)


GAMMA = Gamma()
