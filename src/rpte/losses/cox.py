"""Hazards: times until an event, of which some are seen and others are longer than was seen.

A score is the logarithm of a hazard ratio. Beside a baseline that is known, whether a row has its
event is a count whose exposure is the cumulated baseline hazard of the time under observation: the
Poisson loss. `RiskSets` gives these exposures, and the baseline, at the scores of all rows.
"""

import numpy as np

from rpte.losses.poisson import Poisson
from rpte.utils.arrays import Floats, Ints


class Hazard(Poisson):
    """Events beside a baseline; kernels know the Poisson loss alone.

    The target of a row is 1 / exposure where its event was seen and 0 elsewhere, its weight has the
    exposure as a factor.
    """

    effect_name = "hazard ratio"
    leaves_little = False
    price_of_rest = 0.0

    def strata(self, y: Floats) -> Ints:
        """Return 0 for rows without an event, and the half of the rates for those with one."""
        middle = np.median(y[y > 0.0]) if (y > 0.0).any() else 0.0
        return np.where(y > 0.0, 1 + (y > middle), 0).astype(np.int64)

    def dispersion(self, score: Floats, y: Floats, weight: Floats) -> float:
        """Return one: a row has its event once, so that nothing is left to spread."""
        return 1.0


class Cox(Hazard):
    """Hazards with the baseline of Cox's partial likelihood."""

    name = "cox"


class Discrete(Hazard):
    """Hazards of which one knows the interval that an event fell into."""

    name = "discrete"


COX, DISCRETE = Cox(), Discrete()
