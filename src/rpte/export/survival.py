"""Survival in a form: the probability of no event until some horizons, from the hazard ratio.

Below the score and the ``hazard_ratio`` stands one line for each horizon (``survival_365``); of a
model with several strata one for each horizon and stratum (``survival_365_clinic_A``), since each
has a baseline of its own, or those of the one that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.export.classes import class_keys
from rpte.export.form import Constant, Definition, Horizon, Line, Node, apply
from rpte.model.survival import SurvivalTarget
from rpte.table.decimals import number_text
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

OPTIONS: dict[str, Any] = {"horizons": (), "stratum": None}  # of every target
MOST = 200  # lines of survival
# A cumulated hazard beyond which survival is 0 to 300 decimals, and one at which it is 1 to the
# last bit; some targets refuse the exponentials and products beyond.
LARGEST_HAZARD, SMALLEST_HAZARD = 700.0, 1e-20


def survival_options(model: Model | ClassesModel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that every target has for this model, of those given, as plain values."""
    target = model.target
    if not isinstance(target, SurvivalTarget):
        asked = [name for name in OPTIONS if given.get(name) not in (None, (), [])]
        if asked:
            raise InputError(
                f"{asked[0]}={given[asked[0]]!r} is about times until an event, and the task of "
                f"the model is '{model.task}'; leave it out"
            )
        return {}
    times = _times(given.get("horizons", ()))
    if times:
        target.check_times(times)
    stratum = given.get("stratum")
    return {"horizons": times, "stratum": None if stratum is None else _label(target, stratum)}


def _times(given: Any) -> list[float]:
    """Read times: one, several, or a text of several with commas between them."""
    texts = given.split(",") if isinstance(given, str) else given
    try:
        found = [float(time) for time in np.atleast_1d(np.asarray(texts, object)).tolist()]
    except (TypeError, ValueError):
        raise InputError(f"horizons={given!r}; give times, such as 365 or [365, 730]") from None
    return list(dict.fromkeys(found))


def _label(target: SurvivalTarget, given: Any) -> Any:
    """Return a stratum by its label, or by what a text says of it."""
    found = [label for label in target.strata if given == label or given == str(label)]
    if not found:
        known = f"those of the model are {list(target.strata)}" if target.strata else "it has none"
        raise InputError(f"stratum={given!r} is no stratum of the model; {known}")
    return found[0]


def horizons_of(model: Model | ClassesModel, options: Mapping[str, Any]) -> tuple[Horizon, ...]:
    """Return the horizons of an export with their lines' names and the baselines there."""
    target = model.target
    if not isinstance(target, SurvivalTarget) or not options.get("horizons"):
        return ()
    times, one = options["horizons"], options.get("stratum")
    strata: list[Any] = list(target.strata or (None,)) if one is None else [one]
    if len(times) * len(strata) > MOST:
        raise InputError(
            f"{len(times)} horizons of {len(strata)} strata are more than the {MOST} columns of "
            "survival that an export has; give fewer, or a stratum"
        )
    keys = class_keys(map(number_text, times))
    ends = [""] if len(strata) == 1 else [f"_{key}" for key in class_keys(strata, "stratum")]
    found = []
    for key, time in zip(keys, times, strict=True):
        for end, stratum in zip(ends, strata, strict=True):
            hazard = float(target.steps(stratum).at(np.array([time]))[0])
            found.append(Horizon(f"survival_{key}{end}", time, stratum, hazard))
    return tuple(found)


def survival_lines(
    model: Model, horizons: Sequence[Horizon], sources: tuple[str, ...]
) -> Iterator[Definition]:
    """Yield the line of each horizon; the score and the hazard ratio stand above."""
    for at in horizons:
        yield Definition(at.name, "survival", _survival(at.hazard), sources, said(model, at))


def said(model: Model, at: Horizon) -> str:
    """Say what a line of survival is."""
    target = model.target
    assert isinstance(target, SurvivalTarget)
    where = f" in the stratum {at.stratum}" if at.stratum is not None else ""
    text = f"probability of {target.none_text} until {target.time_name} {number_text(at.time)}"
    return text + where


def _survival(hazard: float) -> Node:
    """Return exp(-hazard * hazard ratio), the same to 300 decimals without over- and underflow."""
    if hazard == 0.0:
        return Constant(1.0)
    score, zero, one = Line("score"), Constant(0.0), Constant(1.0)
    most, least = (math.log(end / hazard) for end in (LARGEST_HAZARD, SMALLEST_HAZARD))
    cumulated = apply("*", Constant(hazard), Line("hazard_ratio"))
    curve = apply("exp", apply("-", zero, cumulated))
    at_most = apply("if", apply("<", score, Constant(least)), one, curve)
    return apply("if", apply(">", score, Constant(most)), zero, at_most)


def expected_survival(
    model: Model, score: Floats, horizons: Sequence[Horizon]
) -> dict[str, Floats]:
    """Return what the model itself says of some scores (n,), by the names of the lines."""
    target = model.target
    if not isinstance(target, SurvivalTarget):
        return {}
    found = {}
    with np.errstate(over="ignore"):
        for at in horizons:
            strata = None if at.stratum is None else [at.stratum] * len(score)
            found[at.name] = target.survival_at(score, np.array([at.time]), strata)[:, 0]
    return found
