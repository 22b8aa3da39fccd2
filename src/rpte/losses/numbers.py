"""What losses of numeric targets share: checks, strata and the log link."""

import math

import numpy as np
from numpy.typing import NDArray

from rpte.errors import bad_cell
from rpte.losses.loss import Loss
from rpte.utils.arrays import Floats, Ints, Mask

SCORE_OF_ZERO = math.log(1e-9)  # of targets that are all 0, in units of the fit
LEAST_MEAN = 1e-150  # below any mean of targets; a spread of zero would divide nothing
LEAST_CURVATURE = 1e-9  # of a row of weight one: a row whose mean is next to zero must count
STRATA = 5
LARGEST_EXPONENT = 700.0  # of a mean that is told, about 1e304: no engine meets infinity
LARGEST_SCORE = 500.0  # of a step that is tried: exp of it, times any number, is still finite


def refuse_unless(allowed: Mask, y: Floats, rule: str) -> None:
    """Raise `InputError` on the first target that is not allowed, or where there is but one."""
    if not allowed.all():
        row = int(np.flatnonzero(~allowed)[0])
        needed = f"the loss needs {rule}: correct or drop {{rows}}, or choose another loss"
        raise bad_cell("y", row, f"is {float(y[row])!r}", needed, int((~allowed).sum()))


def value_strata(y: Floats) -> Ints:
    """Return the part, of equally many rows, of the sorted targets that each row is in.

    Equal targets are in one part. Targets that many rows share, such as a count of 0, may leave
    fewer parts.

    Examples
    --------
    >>> import numpy as np
    >>> value_strata(np.array([5.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0])).tolist()
    [2, 1, 0, 0, 0, 0, 1]
    """
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    part = np.minimum((middle * STRATA / max(len(y), 1)).astype(np.int64), STRATA - 1)
    _, part = np.unique(part, return_inverse=True)
    return np.asarray(part.reshape(-1)[place.reshape(-1)], np.int64)


def cell_means(weight: Floats, total: Floats) -> Floats:
    """Return the mean of the targets in each cell, 0 in one without rows."""
    return np.asarray(total / np.where(weight > 0.0, weight, 1.0) * (weight > 0.0))


def all_weight(weight: NDArray[np.generic]) -> float:
    """Return the weight of all rows."""
    return float(weight.astype(np.float64).sum())


class LogLink(Loss):
    """A positive mean whose logarithm is the score, so that contributions multiply it."""

    link = "log"
    curvature_bound = None
    effect_name = "rate ratio"
    power: float  # of the mean, which the variance goes with

    def score_of(self, mean: float) -> float:
        """Return the logarithm of the mean, whatever its unit."""
        return math.log(mean) if mean > 0.0 else SCORE_OF_ZERO

    def response(self, score: Floats) -> Floats:
        """Return exp(score), of a score limited to +-700 as in every export."""
        return np.asarray(np.exp(np.clip(score, -LARGEST_EXPONENT, LARGEST_EXPONENT)))

    def effect(self, coefficient: float) -> float:
        """Return the rate ratio, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return float(np.exp(coefficient))

    def spread(self, mean: Floats) -> Floats:
        """Return the mean to half the power that the variance goes with.

        With an exposure e the rate y / e has the variance (mean / e)^p / e^(2 - p), so that of y is
        mean^p again.
        """
        return np.asarray(np.maximum(mean, LEAST_MEAN) ** (0.5 * self.power))

    def strata(self, y: Floats) -> Ints:
        """Return the fifth of the sorted targets that each row is in."""
        return value_strata(y)

    def effective_cases(self, y: Floats, weight: NDArray[np.generic]) -> float:
        """Return the weight of the rows with a positive target."""
        return all_weight(weight[y > 0.0])

    def dispersion(self, score: Floats, y: Floats, weight: Floats) -> float:
        """Return Pearson's estimate for a good fit, the mean of (y - mean)^2 / variance, up to one.

        Not the mean deviance: that is small where events are rare, however they come about.
        """
        mean = self.response(score)
        return min(1.0, float(np.average(((y - mean) / self.spread(mean)) ** 2, weights=weight)))

    def limited(self, score: Floats) -> Floats:
        """Return scores whose exponentials are finite."""
        return np.clip(score, -LARGEST_SCORE, LARGEST_SCORE)
