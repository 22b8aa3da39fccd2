"""The trade-off between conditions and validated deviance, as a model tells it, and its scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rpte.errors import InputError
from rpte.model.model import Model

WORTH_A_LOOK = 0.75  # share explained from which on a model sets the scale
SQUEEZED = 2.0  # times the scale that all models would need


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """One model of the frontier."""

    miu: int
    components: int
    deviance: float
    error: float
    chosen: bool

    @property
    def low(self) -> float:
        """One standard error less."""
        return self.deviance - self.error

    @property
    def high(self) -> float:
        """One standard error more."""
        return self.deviance + self.error


@dataclass(frozen=True, slots=True)
class Frontier:
    """The points by rising conditions, and what their shares and the choice are measured by.

    `explainable` is the deviance between the base rate and the best model found, `price` the share
    of it that one more condition must explain.
    """

    points: tuple[FrontierPoint, ...]
    null_deviance: float
    explainable: float
    price: float

    def scale(self) -> tuple[float, float]:
        """Return the range of deviance to draw, so that the models worth a look can be told apart.

        Models that explain little go off the scale where they would squeeze at least three others,
        the chosen one among these.
        """
        seen = [p for p in self.points if p.chosen or self.share(p.deviance) >= WORTH_A_LOOK]
        low, high = _range(self.points)
        if len(seen) >= 3:
            floor, top = _range(seen)
            low, high = (floor, top) if high - low > SQUEEZED * (top - floor) else (low, high)
        return (low, high) if high > low else (low, low + 1.0)

    def share(self, deviance: float) -> float:
        """Return the share of the explainable deviance that a validated deviance explains."""
        return (self.null_deviance - deviance) / self.explainable if self.explainable else 0.0


def _range(points: Sequence[FrontierPoint]) -> tuple[float, float]:
    return min(p.low for p in points), max(p.high for p in points)


def read_frontier(model: Model) -> Frontier:
    """Return the frontier that a model tells of.

    Raises
    ------
    InputError
        If it has none, with the reason and what to do.
    """
    selection = model.training["selection"]
    if selection is None or not selection["frontier"] or not selection["null_deviance"]:
        raise InputError(f"this model has no frontier: {_why_none(model)}")
    points = tuple(_point(at, selection["chosen"]) for at in selection["frontier"])
    null = selection["null_deviance"]
    explainable = max(null - min(p.deviance for p in points), 0.0)
    return Frontier(points, null, explainable, selection["price"])


def _point(at: Mapping[str, Any], chosen: Mapping[str, Any]) -> FrontierPoint:
    is_chosen = all(at[name] == value for name, value in chosen.items())
    return FrontierPoint(at["miu"], at["components"], at["deviance"], at["error"], is_chosen)


def _why_none(model: Model) -> str:
    settings = model.settings
    if not settings["reassign"]:
        return "reassign=False keeps the trees' own leaf values; fit without it, with l1='cv'"
    if settings["l1"] != "cv":
        return (
            f"its penalty was given, l1={settings['l1']!r}, so no other model was compared with "
            "it; fit with l1='cv', the default of RPTEClassifier (RPTEClassifier.paper takes it "
            "too)"
        )
    return "no rows of both classes could be held out, so nothing was validated; give more cases"


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most about so many round numbers from `low` to `high`.

    Examples
    --------
    >>> ticks(0.0, 35.0, 4)
    [0.0, 10.0, 20.0, 30.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def condition_ticks(frontier: Frontier, most: int) -> tuple[list[int], int]:
    """Return round numbers of conditions, and the number at which the axis ends."""
    last = max(1, *(p.miu for p in frontier.points))
    return sorted({round(at) for at in ticks(0, last, most)}), last


def decimals(marks: Sequence[float]) -> int:
    """Return the decimals that tell round numbers apart."""
    step = min((b - a for a, b in pairwise(marks)), default=0.01)
    return max(0, -math.floor(math.log10(step) + 1e-9))
