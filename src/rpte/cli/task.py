"""Which kind of model `rpte fit` makes: of classes, of a number under a loss, or of a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rpte.cli.survival import SURVIVAL
from rpte.cli.terminal import say
from rpte.errors import InputError, did_you_mean
from rpte.losses import GAMMA, POISSON, SQUARED, TWEEDIE
from rpte.model.class_target import ClassesTarget
from rpte.model.survival import LOSSES_OF_TIMES
from rpte.model.target import LOSSES_OF_NUMBERS
from rpte.table.target import TargetValues, guessed_task

if TYPE_CHECKING:
    from rpte.cli.fit import FitRequest

AUTO, BINARY, MULTICLASS, AMOUNT = "auto", "binary", ClassesTarget.task, "amount"
LOSS_OF = {"regression": SQUARED.name, "count": POISSON.name}  # of amounts, their values decide
TASKS = (AUTO, BINARY, MULTICLASS, *LOSS_OF, AMOUNT, SURVIVAL)
OF_NUMBERS = ("loss", "power", "exposure", "offset")  # options that only a model of numbers has
OF_CLASSES = ("positive", "balanced")


def check_task(request: FitRequest) -> None:
    """Refuse options that contradict each other, before the table is read."""
    if request.task not in TASKS:
        hint = did_you_mean(request.task, TASKS)
        raise InputError(f"--task {request.task}: it is one of {', '.join(TASKS)}{hint}")
    if request.is_survival:
        _check_survival(request)
        return
    if request.columns.given:
        raise InputError(f"{request.columns.given[0]} is for --task survival; leave one out")
    if not request.target:
        raise InputError(
            "--target: say which column holds the outcome; of a time until an event it is --time "
            "and --event"
        )
    if request.loss is not None and request.loss not in LOSSES_OF_NUMBERS:
        hint = did_you_mean(request.loss, LOSSES_OF_NUMBERS)
        raise InputError(
            f"--loss {request.loss}: it is one of {', '.join(LOSSES_OF_NUMBERS)}{hint}"
        )
    numbers, classes = _named(request, OF_NUMBERS), _named(request, OF_CLASSES)
    if request.task in (BINARY, MULTICLASS):
        classes = [f"--task {request.task}", *classes]
    elif request.task != AUTO:
        numbers = [f"--task {request.task}", *numbers]
    if numbers and classes:
        few = "several" if request.task == MULTICLASS else "two"
        text = f"{numbers[0]} is for a number to predict, {classes[0]} for {few} classes"
        raise InputError(f"{text}; leave one out")
    if request.task == MULTICLASS and request.positive is not None:
        raise InputError(
            f"--positive {request.positive} is for two classes; of several each has a score: leave "
            "it out"
        )
    if request.power is not None and _loss_without_values(request) not in (None, TWEEDIE.name):
        raise InputError(
            f"--power {request.power:g} is of the Tweedie loss; say --loss tweedie, or leave it out"
        )


def _check_survival(request: FitRequest) -> None:
    """Refuse options that are not for times until an event."""
    for name in ("time", "event"):
        if getattr(request, name) is None:
            what = "the time until the event" if name == "time" else "whether it was seen"
            raise InputError(f"--{name}: --task survival needs the column that says {what}")
    others = ["--target"] * bool(request.target) + _named(request, (*OF_CLASSES, "power"))
    others += _named(request, ("exposure", "offset", "paper", "scheduler"))
    if others:
        raise InputError(f"{others[0]} is not for --task survival; leave it out")
    if request.loss is not None and request.loss not in LOSSES_OF_TIMES:
        hint = did_you_mean(request.loss, LOSSES_OF_TIMES)
        known = " or ".join(LOSSES_OF_TIMES)
        raise InputError(f"--loss {request.loss}: of a time until an event it is {known}{hint}")


def _named(request: FitRequest, names: tuple[str, ...]) -> list[str]:
    """Return the options that were given, of some."""
    return [f"--{name}" for name in names if getattr(request, name)]


def _loss_without_values(request: FitRequest) -> str | None:
    """Return the loss that the options say, None where the values of the target decide."""
    if request.loss is not None:
        return request.loss
    return LOSS_OF.get(request.task)


def loss_for(
    request: FitRequest, values: Callable[[], TargetValues], others: Sequence[str]
) -> str | None:
    """Return the loss of a model of a number, or None for classes; say what was guessed.

    The values of the target are asked for where they decide; `others` are the other columns.
    """
    if request.task in (BINARY, MULTICLASS) or _named(request, OF_CLASSES):
        return None
    said = _loss_without_values(request)
    if said is not None:
        return said
    held = values()
    if request.task == AMOUNT or request.power is not None:
        return _amount_loss(request, held)
    guess = guessed_task(held, request.target, others, counts=bool(_named(request, OF_NUMBERS)))
    if guess is None:
        return None
    task, why = guess
    if task != "count" and request.exposure is not None:  # it multiplies a mean
        task = AMOUNT
    taken = f"taken as --task {task}; say another if that is wrong"
    say(f"note: the target '{request.target}' holds {why}: {taken}")
    return LOSS_OF.get(task) or _amount_loss(request, held)


def several_for(request: FitRequest) -> Callable[[Sequence[Any]], bool]:
    """Return what tells whether more than two different labels are classes; it says a guess.

    Texts are, and numbers where an option speaks of classes; other numbers only by name of the
    task.
    """

    def several(cells: Sequence[Any]) -> bool:
        if request.task != AUTO:
            return request.task == MULTICLASS
        named = [f"--{name}" for name in OF_CLASSES if getattr(request, name)]
        texts = sum(isinstance(cell, str) for cell in cells)
        if not texts and not named:
            return False
        why = f"{len(cells)} different {'texts' if texts == len(cells) else 'values'}"
        why += "" if texts else f", and {named[0]} is for classes"
        taken = f"taken as --task {MULTICLASS}; say another if that is wrong"
        say(f"note: the target '{request.target}' holds {why}: {taken}")
        return True

    return several


def _amount_loss(request: FitRequest, values: TargetValues) -> str:
    """Return gamma for positive amounts; Tweedie where some are 0, or its power is given."""
    positive = values.require_numbers(request.target).low > 0.0
    return GAMMA.name if request.power is None and positive else TWEEDIE.name
