"""A model of a time until an event, asked at one time: the probability of no event until then.

At a horizon, and with the baseline of a stratum, survival falls where the score rises: a survival
is a score, and what is proved of scores is proved of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rpte.errors import InputError
from rpte.model.labels import Label
from rpte.model.survival import SurvivalTarget
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.target import AnyTarget


@dataclass(frozen=True, slots=True)
class HorizonTarget(SurvivalTarget):
    """What `SurvivalTarget` predicts, with the survival until a horizon as its response."""

    response_name: ClassVar[str] = "survival"
    response_range: ClassVar[str] = "a probability between 0 and 1"
    falls: ClassVar[bool] = True
    horizon: float = 0.0

    @property
    def score_text(self) -> str:
        """What a score is, in words."""
        return f"logarithm of the {self.hazard_text}"

    @property
    def response_text(self) -> str:
        """What a score stands for, in words."""
        return f"survival at {self.when(self.horizon)}"

    def shown(self, response: float) -> str:
        """Return a probability as people read it."""
        return f"{response:.4f}"

    def mean(
        self, score: Floats, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> Floats:
        """Return the survival until the horizon from scores (n,)."""
        self.refuse(exposure, offset)
        return self.survival_at(score, np.array([self.horizon]), strata)[:, 0]

    def score_for(
        self, response: float, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> float:
        """Return the score at which a case has some survival until the horizon."""
        return self.score_at(response, self.horizon, strata)

    def is_response(self, value: float) -> bool:
        """Tell whether a value is a probability that a score stands for."""
        return 0.0 < value < 1.0

    def against(self, response: Floats, sign: float) -> Floats:
        """Return survival so that more of it counts against cases."""
        return -sign * response

    def limit(self, threshold: float, sign: float) -> float:
        """Return a threshold as `against` has it."""
        return -sign * threshold


def at_horizon(target: AnyTarget, horizon: float) -> HorizonTarget:
    """Return a target asked at one time; refuse one that is of no times, or a time never seen."""
    known = survival_target(target, "horizon")
    (time,) = known.check_times(horizon).tolist()
    record = {each.name: getattr(known, each.name) for each in fields(SurvivalTarget)}
    return HorizonTarget(**record, horizon=time)


def survival_target(target: Any, asked: str) -> SurvivalTarget:
    """Return the target of a model of a time; refuse another one, by what was asked of it."""
    if isinstance(target, SurvivalTarget):
        return target
    raise InputError(
        f"{asked}= is for models of a time until an event; this one is of the task '{target.task}'"
    )


@dataclass(frozen=True, slots=True)
class Survival:
    """The survival of one case until some times, and the stratum that its baseline is of."""

    times: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    stratum: Label | None = None

    @property
    def pairs(self) -> Sequence[tuple[float, float]]:
        """Each time with the survival until then."""
        return list(zip(self.times, self.values, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values, empty where no time was asked for."""
        if not self.times:
            return {}
        told = [{"horizon": time, "survival": value} for time, value in self.pairs]
        of = {} if self.stratum is None else {"stratum": self.stratum}
        return {**of, "survival": told}


NO_SURVIVAL = Survival()


def survivals(target: Any, score: Floats, horizons: Any, strata: Any) -> list[Survival]:
    """Return the survival of cases with some scores (n,) until some times."""
    if horizons is None:
        return [NO_SURVIVAL] * len(score)
    known = survival_target(target, "horizons")
    times = known.check_times(horizons)
    found = known.survival_at(score, times, strata).tolist()
    labels = known.labels_of(strata, len(score))
    told = tuple(times.tolist())
    return [Survival(told, tuple(row), label) for row, label in zip(found, labels, strict=True)]
