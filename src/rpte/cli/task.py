"""Which kind of model `rpte fit` makes: of two classes, or of a number under one of the losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.cli.in_batches import in_batches
from rpte.cli.terminal import say
from rpte.errors import InputError, did_you_mean
from rpte.losses import GAMMA, POISSON, SQUARED, TWEEDIE
from rpte.model.target import LOSSES_OF_NUMBERS
from rpte.table.target import guessed_task, target_numbers
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

    from rpte.cli.fit import FitRequest

AUTO, BINARY, AMOUNT = "auto", "binary", "amount"
LOSS_OF = {"regression": SQUARED.name, "count": POISSON.name}  # of amounts, their values decide
TASKS = (AUTO, BINARY, *LOSS_OF, AMOUNT)
OF_NUMBERS = ("loss", "power", "exposure", "offset")  # options that only a model of numbers has
OF_CLASSES = ("positive", "balanced", "paper", "scheduler")


def check_task(request: FitRequest) -> None:
    """Refuse options that contradict each other, before the table is read."""
    if request.task not in TASKS:
        hint = did_you_mean(request.task, TASKS)
        raise InputError(f"--task {request.task}: it is one of {', '.join(TASKS)}{hint}")
    if request.loss is not None and request.loss not in LOSSES_OF_NUMBERS:
        hint = did_you_mean(request.loss, LOSSES_OF_NUMBERS)
        raise InputError(
            f"--loss {request.loss}: it is one of {', '.join(LOSSES_OF_NUMBERS)}{hint}"
        )
    numbers, classes = _named(request, OF_NUMBERS), _named(request, OF_CLASSES)
    if request.task == BINARY:
        classes = ["--task binary", *classes]
    elif request.task != AUTO:
        numbers = [f"--task {request.task}", *numbers]
    if numbers and classes:
        raise InputError(
            f"{numbers[0]} is for a number to predict, {classes[0]} for two classes; leave one out"
        )
    if request.power is not None and _loss_without_values(request) not in (None, TWEEDIE.name):
        raise InputError(
            f"--power {request.power:g} is of the Tweedie loss; say --loss tweedie, or leave it out"
        )
    if numbers and in_batches(request.table):
        raise InputError(
            f"{numbers[0]}: a model of a number is fitted in memory, {request.table[0]} is read in "
            "batches; give one file of at most 200 MB, such as a sample of the rows"
        )


def _named(request: FitRequest, names: tuple[str, ...]) -> list[str]:
    """Return the options that were given, of some."""
    return [f"--{name}" for name in names if getattr(request, name)]


def _loss_without_values(request: FitRequest) -> str | None:
    """Return the loss that the options say, None where the values of the target decide."""
    if request.loss is not None:
        return request.loss
    return LOSS_OF.get(request.task)


def loss_for(request: FitRequest, frame: pd.DataFrame) -> str | None:
    """Return the loss of a model of a number, or None for two classes; say what was guessed."""
    if request.task == BINARY or _named(request, OF_CLASSES):
        return None
    said = _loss_without_values(request)
    if said is not None or request.task == AMOUNT or request.power is not None:
        return said or _amount_loss(request, target_numbers(frame, request.target))
    guess = guessed_task(frame, request.target, counts=bool(_named(request, OF_NUMBERS)))
    if guess is None:
        return None
    task, why = guess
    if task != "count" and request.exposure is not None:  # it multiplies a mean
        task = AMOUNT
    taken = f"taken as --task {task}; say another if that is wrong"
    say(f"note: the target '{request.target}' holds {why}: {taken}")
    return LOSS_OF.get(task) or _amount_loss(request, target_numbers(frame, request.target))


def _amount_loss(request: FitRequest, y: Floats) -> str:
    """Return gamma for positive amounts; Tweedie where some are 0, or its power is given."""
    return GAMMA.name if request.power is None and bool(np.all(y > 0.0)) else TWEEDIE.name


def regressor(power: float | None, **asked: Any) -> Any:
    """Return the unfitted estimator of a number."""
    from rpte.estimators.regressor import RPTERegressor

    if power is not None:
        asked["power"] = power
    return RPTERegressor(**asked)
