"""What a model predicts: the kind of target, and the loss that links a score to it (numpy only).

Everything in this room that depends on the task asks `Model.target` or `Model.loss`. `Target` is
two classes, `NumberTarget` a number, `SurvivalTarget` (`rpte.model.survival`) a time until an
event; a later task is one more record, with an entry in `TASKS`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rpte.errors import InputError, bad_cell
from rpte.losses import BINOMIAL, OF_NUMBERS, SQUARED, Loss, loss_from_dict
from rpte.model.labels import Label, as_labels, known_labels
from rpte.model.survival import SurvivalTarget
from rpte.model.units import (
    AS_THEY_ARE,
    Moments,
    Plain,
    Scaled,
    TargetUnits,
    check_factors,
    check_size,
    short,
    weight_factors,
)
from rpte.table.numbers import per_row, read_numbers
from rpte.utils.arrays import Array, Floats
from rpte.utils.exponential import exponential


def refuse_strata(strata: Any) -> None:
    """Refuse strata, of a model that has no baselines."""
    if strata is not None:
        raise InputError("strata are for models of a time until an event; this is none")


@dataclass(frozen=True, slots=True)
class Target:
    """Two classes, one of which the score speaks of.

    Parameters
    ----------
    classes : tuple of two labels, in order
    positive : int
        Which of them the score, the rules and the explanations speak of.
    total : float
        Sum of weight times target over the training rows: the weight of the positive class.
    name : str or None
        Of the target, where it has one.
    """

    task: ClassVar[str] = "binary"
    loss: ClassVar[Loss] = BINOMIAL
    mean_name: ClassVar[str] = "event rate"  # what the mean of the target is called
    response_name: ClassVar[str] = "probability"  # what a score stands for
    response_range: ClassVar[str] = "a probability between 0 and 1"
    outcome_name: ClassVar[str] = "positive"
    score_unit: ClassVar[str] = "log odds"
    multiplies: ClassVar[bool] = False  # whether contributions multiply what is predicted
    falls: ClassVar[bool] = False  # whether the response falls where the score rises
    factor: ClassVar[float] = 1.0  # what a coefficient of the fit is multiplied by in the model
    classes: tuple[Label, Label]
    positive: int
    total: float
    name: str | None = None

    @property
    def outcome(self) -> Label:
        """The positive class."""
        return self.classes[self.positive]

    @property
    def outcome_text(self) -> str:
        """The positive class with the name of the target: ``default = yes``, or just ``yes``."""
        return f"{self._prefix}{self.outcome}"

    @property
    def _prefix(self) -> str:
        if self.name is None:  # a number alone would be read as an amount
            return "" if isinstance(self.outcome, str) else "class "
        return f"{self.name} = "

    @property
    def other(self) -> Label:
        """The class that is not positive."""
        return self.classes[1 - self.positive]

    @property
    def score_text(self) -> str:
        """What a score is, in words."""
        return f"log odds of {self._prefix}{self.outcome!r} against {self.other!r}"

    @property
    def response_text(self) -> str:
        """What a score stands for, in words."""
        return f"probability of {self._prefix}{self.outcome!r}"

    @property
    def formula(self) -> str:
        """What the sum of all terms is, shortly."""
        return f"log odds of {self.outcome_text}"

    def caption(self, response: float) -> str:
        """Say a probability below a picture."""
        return f"probability of {self.outcome_text}: {response:.1%}"

    def shown(self, response: float) -> str:
        """Return a probability as people read it."""
        return f"{response:.4f}"

    def said(self, response: float) -> str:
        """Say a probability."""
        return f"{self.response_text} is {self.shown(response)}"

    @property
    def labels(self) -> Array:
        """The classes as an array."""
        return as_labels(self.classes)

    def read(self, y: Any, n_rows: int) -> Floats:
        """Return labels as 1.0 for the positive class and 0.0 for the other, (n_rows,)."""
        return np.asarray(known_labels(y, n_rows, self.classes) == self.outcome, np.float64)

    def with_total(self, total: float, weight: float) -> Target:
        """Return the target with its total, of training rows of some weight."""
        return replace(self, total=total)

    def total_of(self, total: float, weight: float) -> float:
        """Return a sum of weight times target as it is."""
        return total

    def sum_size(self, weight: float) -> float:
        """Return the size of sums of weight times target, which their rounding goes with."""
        return weight

    def total_text(self, total: float) -> str:
        """Return a sum of weight times target, in words."""
        return f"{total:g} events"

    def score_of(self, score: Any) -> Any:
        """Return scores as they are."""
        return score

    def fit_score(self, score: Floats) -> Floats:
        """Return scores as they are."""
        return score

    @property
    def hashed_labels(self) -> tuple[Label, ...]:
        """What the hash of a table calls y = 0 and y = 1."""
        return self.other, self.outcome

    @property
    def units(self) -> TargetUnits:
        """How targets were scaled for the fit: not at all."""
        return AS_THEY_ARE

    def mean(
        self, score: Floats, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> Floats:
        """Return the probabilities of the positive class from scores (n,)."""
        if exposure is not None or offset is not None:
            raise InputError("exposure and offset are for models of numbers; this tells classes")
        refuse_strata(strata)
        return self.loss.response(score)

    def response_with(self, exposure: float | None, offset: float | None) -> str:
        """Return `response_text`: of a probability there is neither."""
        return self.response_text

    def score_for(
        self, response: float, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> float:
        """Return the score at which a case has some probability."""
        return math.log(response) - math.log1p(-response)

    def is_response(self, value: float) -> bool:
        """Tell whether a value is a probability that a score stands for."""
        return 0.0 < value < 1.0

    @property
    def sides(self) -> tuple[Label, Label]:
        """What may count against a case; a higher score speaks for the first."""
        return self.outcome, self.other

    def against(self, response: Floats, sign: float) -> Floats:
        """Return probabilities of the class that counts against cases, as thresholds are given."""
        return response if sign > 0 else 1.0 - response

    def limit(self, threshold: float, sign: float) -> float:
        """Return a threshold as `against` has it."""
        return threshold

    @property
    def logged(self) -> dict[str, Any]:
        """What a log of decisions tells of the target."""
        return {"classes": list(self.classes), "positive": self.positive}

    def in_order(self, positive: Floats) -> tuple[Floats, Floats]:
        """Return probabilities of the positive class as those of the two classes."""
        return (1.0 - positive, positive) if self.positive == 1 else (positive, 1.0 - positive)

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values."""
        named = {} if self.name is None else {"name": self.name}
        told = {"classes": list(self.classes), "positive": self.positive, "total": self.total}
        return {**told, **named}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], loss: Mapping[str, Any]) -> Target:
        """Rebuild a target from `to_dict`, and what the file says of the loss."""
        first, second = record["classes"]
        return cls((first, second), record["positive"], record["total"], record.get("name"))


@dataclass(frozen=True, slots=True)
class NumberTarget:
    """A number: a mean in units of y, or a positive mean whose logarithm is the score.

    Exposure multiplies the mean, an offset is added to the score; neither belongs to the model. So
    the fit sees y less the offset, or y for each unit of exposure with a weight that makes up for
    it: the likelihood is the same.

    Parameters
    ----------
    loss : Loss
    total : float
        Sum of weight times target over the training rows; of y for each unit of exposure, if any.
    name : str or None
        Of the target, where it has one.
    exposure, offset : str or None
        What they were called in training; None where there was none.
    units : TargetUnits
    """

    task: ClassVar[str] = "regression"
    mean_name: ClassVar[str] = "mean"
    response_name: ClassVar[str] = "mean"
    outcome_name: ClassVar[str] = "target"
    falls: ClassVar[bool] = False
    loss: Loss
    total: float
    name: str | None = None
    exposure: str | None = None
    offset: str | None = None
    units: TargetUnits = AS_THEY_ARE
    least: float | None = None

    @property
    def least_number(self) -> float:
        """What no target is below, minus infinity where there is no such number."""
        return self.loss.least_target if self.least is None else self.least

    @property
    def outcome(self) -> str:
        """What is predicted, by its name."""
        return self.name or "y"

    @property
    def mean_text(self) -> str:
        """What a prediction is, in words."""
        return f"mean of {self.outcome}" + ("" if self.exposure is None else f" per {self._per}")

    @property
    def _per(self) -> str:
        return "unit of exposure" if self.exposure == "exposure" else f"unit of {self.exposure}"

    @property
    def score_text(self) -> str:
        """What a score is, in words."""
        return self.mean_text if self.is_linear else f"logarithm of the {self.mean_text}"

    @property
    def response_text(self) -> str:
        """What a score stands for, in words."""
        return self.mean_text

    @property
    def formula(self) -> str:
        """What the sum of all terms is, shortly."""
        return self.score_text

    @property
    def score_unit(self) -> str:
        """What a score is measured in."""
        return f"units of {self.outcome}" if self.is_linear else "logarithm"

    def caption(self, response: float) -> str:
        """Say a mean below a picture."""
        return f"{self.mean_text}: {self.shown(response)}"

    def shown(self, response: float) -> str:
        """Return a mean as people read it."""
        return f"{response:.6g}"

    def said(self, response: float) -> str:
        """Say a mean."""
        return f"{self.response_text} is {self.shown(response)}"

    @property
    def multiplies(self) -> bool:
        """Whether contributions multiply the mean."""
        return not self.is_linear

    @property
    def has_exposure(self) -> bool:
        """Whether rows have an exposure, or an offset, which multiplies a mean as that does."""
        return (self.exposure, self.offset) != (None, None)

    @property
    def is_linear(self) -> bool:
        """Whether the score is the mean itself."""
        return self.loss is SQUARED

    @property
    def hashed_labels(self) -> tuple[Label, ...]:
        """The hash of a table holds numbers as they are."""
        return ()

    @property
    def factor(self) -> float:
        """What a coefficient of the fit is multiplied by in the model."""
        return self.units.scale if self.is_linear else 1.0

    def with_total(self, total: float, weight: float) -> NumberTarget:
        """Return the target with its total, from the sums over rows that a fit has seen."""
        return replace(self, total=self.total_of(total, weight))

    def total_of(self, total: float, weight: float) -> float:
        """Return a sum of weight times target in units of y, from the sums that a fit has seen."""
        return self.units.weight * (self.units.centre * weight + self.units.scale * total)

    def sum_size(self, weight: float) -> float:
        """Return the size of sums of weight times target, which their rounding goes with.

        A sum may be small because numbers of either sign cancel.
        """
        return weight * (abs(self.units.centre) + self.units.scale) + abs(self.total)

    def total_text(self, total: float) -> str:
        """Return a sum of weight times target, in words."""
        return f"{self.outcome} adds up to {total:g}"

    def score_of(self, score: Any) -> Any:
        """Return scores of the model from scores of the fit."""
        if self.is_linear:
            return self.units.centre + self.units.scale * score
        return score + np.log(self.units.scale)

    def fit_score(self, score: Floats) -> Floats:
        """Return scores of the fit from scores of the model."""
        if self.is_linear:
            return (score - self.units.centre) / self.units.scale
        return np.asarray(score - np.log(self.units.scale))

    def read(self, y: Any, n_rows: int) -> Floats:
        """Return targets as numbers that the loss has a meaning for, (n_rows,)."""
        numbers = read_numbers(y, n_rows, "y")
        self.loss.check(numbers)
        return check_size(numbers, "y")

    def read_exposure(self, exposure: Any, n_rows: int) -> Floats:
        """Return exposures, positive and one per row; refuse them where they mean nothing."""
        if self.is_linear:
            raise InputError(
                "exposure multiplies a mean, which loss='squared_error' has no logarithm of: give "
                "sample_weight=, or loss='poisson', 'gamma' or 'tweedie'"
            )
        found = per_row(exposure, n_rows, "exposure")
        bad = np.flatnonzero(~(np.isfinite(found) & (found > 0.0)))
        if len(bad):
            rule = "exposures must be finite and above 0: correct or drop {rows}"
            what = f"is {float(found[bad[0]])!r}"
            raise bad_cell("exposure", int(bad[0]), what, rule, len(bad))
        return found

    def read_offset(self, offset: Any, n_rows: int) -> Floats:
        """Return offsets, finite and one per row."""
        found = per_row(offset, n_rows, "offset")
        bad = np.flatnonzero(~np.isfinite(found))
        if len(bad):
            rule = "offsets must be finite: correct or drop {rows}"
            what = f"is {float(found[bad[0]])!r}"
            raise bad_cell("offset", int(bad[0]), what, rule, len(bad))
        return found

    def mean(
        self, score: Floats, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> Floats:
        """Return means from scores (n,), for exposures and offsets if there are any."""
        refuse_strata(strata)
        if offset is not None:
            score = score + self.read_offset(offset, len(score))
        mean = self.loss.response(score)
        return mean if exposure is None else mean * self.read_exposure(exposure, len(score))

    def response_with(self, exposure: float | None, offset: float | None) -> str:
        """Return what is predicted for a case that has an exposure or an offset, in words."""
        given = {self.exposure or "exposure": exposure, self.offset or "offset": offset}
        said = [f"{name} = {value:g}" for name, value in given.items() if value is not None]
        text = self.mean_text if exposure is None else f"mean of {self.outcome}"
        return f"{text} with {', '.join(said)}" if said else text

    def score_for(
        self, response: float, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> float:
        """Return the score at which a case has some mean: the inverse of `mean`."""
        shift = 0.0 if offset is None else float(offset)
        if self.is_linear:
            return response - shift
        return math.log(response) - math.log(1.0 if exposure is None else exposure) - shift

    def is_response(self, value: float) -> bool:
        """Tell whether a value is a mean that a score stands for."""
        return math.isfinite(value) and (self.is_linear or value > 0.0)

    @property
    def response_range(self) -> str:
        """What a mean may be."""
        return "a finite number" if self.is_linear else "a mean above 0"

    @property
    def sides(self) -> tuple[Label, Label]:
        """What may count against a case: a high mean, or a low one."""
        return "high", "low"

    def against(self, response: Floats, sign: float) -> Floats:
        """Return means, turned where a low one counts against cases."""
        return sign * response

    def limit(self, threshold: float, sign: float) -> float:
        """Return a threshold as `against` has it."""
        return sign * threshold

    @property
    def logged(self) -> dict[str, Any]:
        """What a log of decisions tells of the target."""
        return {"predicts": self.mean_text, "link": self.loss.link}

    def plain(self, y: Floats, weight: Floats, exposure: Any, offset: Any) -> Plain:
        """Return targets without exposure and offset, and weights that make up for the former."""
        n_rows, one = len(y), np.ones(len(y))
        shift = np.zeros(n_rows) if offset is None else self.read_offset(offset, n_rows)
        times = one if exposure is None else self.read_exposure(exposure, n_rows)
        if self.is_linear:
            return Plain(y - check_size(shift, "offset"), weight, one)
        if exposure is None and offset is None:
            return Plain(y, weight, one)
        if exposure is not None:
            check_factors(times, times, "exposure")
        if offset is not None:
            with np.errstate(over="ignore"):
                times = check_factors(times * exponential(shift), shift, "offset")
        power: float = self.loss.power  # type: ignore[attr-defined]
        return Plain(y / times, weight, times ** (2.0 - power))

    def scaled(self, plain: Plain) -> Scaled:
        """Return targets and weights as the fit sees them."""
        y = (plain.y - self.units.centre) / self.units.scale
        return Scaled(y, plain.given * weight_factors(plain, self.units.weight))

    def with_units(self, rows: Moments) -> NumberTarget:
        """Return the target with units that some rows suggest.

        They are short decimals, so that neither row order nor repetition moves them.
        """
        if not rows.given > 0.0:
            return self
        rows.check(self.is_linear)
        if self.is_linear:
            centre = short(rows.mean, math.sqrt(rows.spread / rows.weight))
            scale = short(np.sqrt(rows.spread / rows.weight + (rows.mean - centre) ** 2))
            least = 0.0 if rows.low >= 0.0 and self.offset is None else None
            return replace(self, units=TargetUnits(centre, scale or 1.0), least=least)
        per = short(rows.weight / rows.given) or 1.0
        scale = rows.count_unit if self.loss.name == "poisson" else rows.mean
        return replace(self, units=TargetUnits(0.0, short(scale) or 1.0, per))

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values."""
        record = {name: getattr(self, name) for name in ("name", "exposure", "offset", "total")}
        least = {} if self.least is None else {"least": 0}
        return {**record, "units": self.units._asdict(), **least}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], loss: Mapping[str, Any]) -> NumberTarget:
        """Rebuild a target from `to_dict`, and what the file says of the loss."""
        units = TargetUnits(**{name: float(value) for name, value in record["units"].items()})
        return cls(loss_from_dict(loss), **{**record, "units": units})


AnyTarget = Target | NumberTarget | SurvivalTarget
TASKS: dict[str, type[Target] | type[NumberTarget] | type[SurvivalTarget]] = {
    kind.task: kind for kind in (Target, NumberTarget, SurvivalTarget)
}  # what a model file may hold
LOSSES_OF_NUMBERS = tuple(loss.name for loss in OF_NUMBERS)
