"""Losses: all that depends on the kind of target, one file each (numpy only).

Every room may import this one; it imports `errors` and `utils` alone. Kernels get the integer
`code` of a loss (`rpte.kernels.losses`), never the object. CONTRIBUTING.md says how to add one.
"""

from collections.abc import Mapping
from typing import Any

from rpte.losses.binomial import BINOMIAL
from rpte.losses.cox import COX, DISCRETE, Hazard
from rpte.losses.gamma import GAMMA
from rpte.losses.loss import Loss, Residuals
from rpte.losses.multinomial import Multinomial
from rpte.losses.poisson import POISSON
from rpte.losses.squared import SQUARED
from rpte.losses.tweedie import TWEEDIE, Tweedie

__all__ = [
    "BINOMIAL",
    "COX",
    "DISCRETE",
    "GAMMA",
    "LOSSES",
    "OF_NUMBERS",
    "POISSON",
    "SQUARED",
    "TWEEDIE",
    "Hazard",
    "Loss",
    "Multinomial",
    "Residuals",
    "loss_from_dict",
]

OF_NUMBERS = SQUARED, POISSON, GAMMA, TWEEDIE
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (BINOMIAL, *OF_NUMBERS, COX, DISCRETE)}


def loss_from_dict(record: Mapping[str, Any]) -> Loss:
    """Return the loss that a model file names.

    Examples
    --------
    >>> loss_from_dict({"name": "tweedie", "link": "log", "power": 1.7}).power
    1.7
    """
    if record["name"] == TWEEDIE.name:
        return Tweedie(float(record["power"]))
    return LOSSES[record["name"]]
