"""The Tweedie loss: amounts of which many are 0, such as the yearly claims of a policy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.losses.loss import Residuals
from rpte.losses.numbers import LEAST_CURVATURE, LogLink, cell_means, refuse_unless
from rpte.utils.arrays import Floats

CODE = 4
CODES = 8  # a code modulo this is the loss in kernels, and the rest its power in millionths
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Tweedie(LogLink):
    """Amounts that may be 0; their variance goes with a power of the mean between 1 and 2."""

    power: float = 1.5
    name = "tweedie"

    def __post_init__(self) -> None:
        inside = isinstance(self.power, (int, float)) and 1.0 < self.power < 2.0
        if not inside or self.power != round(self.power, 6):
            raise InputError(
                f"power={self.power!r}; that of the Tweedie loss must be a number between 1 and 2 "
                "of at most six decimals: loss='poisson' is power 1, loss='gamma' is power 2"
            )

    @property
    def code(self) -> int:  # type: ignore[override]
        """The loss and its power, as kernels read them."""
        return CODE + CODES * round(self.power * MILLION)

    def check(self, y: Floats) -> None:
        """Raise unless y holds numbers that are not negative."""
        refuse_unless(np.isfinite(y) & (y >= 0.0), y, "amounts, which are not negative")

    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return w (y m^(1 - p) - m^(2 - p)) of a mean m, and minus its derivative."""
        p = self.power
        claims = y * np.exp((1.0 - p) * self.limited(score))
        costs = np.exp((2.0 - p) * self.limited(score))
        bend = np.maximum((p - 1.0) * claims + (2.0 - p) * costs, LEAST_CURVATURE)
        return Residuals(weight * (claims - costs), weight * bend)

    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Return w m^(2 - p) / ((p - 1) (2 - p)) of a mean m."""
        p, mean = self.power, np.maximum(cell_means(weight, total), 0.0)
        return np.asarray(weight * mean ** (2.0 - p) / ((p - 1.0) * (2.0 - p)))

    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return the deviance of each row; 0 where the mean is y."""
        p, score = self.power, self.limited(score)
        own = y ** (2.0 - p) / ((1.0 - p) * (2.0 - p))
        claims = y * np.exp((1.0 - p) * score) / (1.0 - p)
        costs = np.exp((2.0 - p) * score) / (2.0 - p)
        return np.asarray(2.0 * np.maximum(own - claims + costs, 0.0))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tweedie, (self.power,)

    def to_dict(self) -> dict[str, str | float]:
        """Return what a model file says of the loss."""
        return {**LogLink.to_dict(self), "power": self.power}


TWEEDIE = Tweedie()
