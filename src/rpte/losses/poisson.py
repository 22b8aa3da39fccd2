"""The Poisson loss: counts, or rates where exposure is given; scores are logarithms of means."""

import numpy as np

from rpte.losses.loss import Residuals
from rpte.losses.numbers import LEAST_CURVATURE, LogLink, cell_means, refuse_unless
from rpte.utils.arrays import Floats


class Poisson(LogLink):
    """Counts."""

    name, code = "poisson", 2
    power = 1.0
    balanced = True

    def check(self, y: Floats) -> None:
        """Raise unless y holds numbers that are not negative."""
        refuse_unless(np.isfinite(y) & (y >= 0.0), y, "counts, which are not negative")

    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return w (y - mean) and w mean."""
        mean = np.exp(self.limited(score))
        return Residuals(weight * (y - mean), weight * np.maximum(mean, LEAST_CURVATURE))

    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Return minus total times the logarithm of the mean."""
        mean = cell_means(weight, total)
        return -total * np.log(np.where(mean > 0.0, mean, 1.0))

    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return 2 (y log(y / mean) - y + mean) of each row."""
        score = self.limited(score)
        own = y * np.log(np.where(y > 0.0, y, 1.0)) - y
        return np.asarray(2.0 * np.maximum(own - y * score + np.exp(score), 0.0))


POISSON = Poisson()
