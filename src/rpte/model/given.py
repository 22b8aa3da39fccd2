"""What people give as a model: a model of any task, or a fitted estimator that has one."""

from __future__ import annotations

from typing import Any

from rpte.errors import InputError
from rpte.model.causes import CausesModel, one_event
from rpte.model.classes import ClassesModel, one_score
from rpte.model.model import Model

AnyModel = Model | ClassesModel


def model_of(given: Any, what: str) -> AnyModel | CausesModel:
    """Return a model, or that of a fitted estimator; `what` asks for it."""
    found = getattr(given, "model_", given)
    if isinstance(found, Model | ClassesModel | CausesModel):
        return found
    if hasattr(given, "fit"):
        raise InputError(f"{what}: the {type(given).__name__} is not fitted yet; call fit first")
    raise InputError(
        f"{what} is given a {type(given).__name__}; give a model (rpte.load reads one from a file) "
        "or a fitted estimator"
    )


def scored_model(given: Any, what: str) -> Any:
    """Return a model of one score or of several classes; refuse one of several causes."""
    return one_event(model_of(given, what), what)


def one_score_model(given: Any, what: str, instead: str | None = None) -> Model:
    """Return a model of one score; `instead` is what there is for several classes."""
    return one_score(scored_model(given, what), what, instead)


def classes_model(given: Any, what: str, instead: str | None = None) -> ClassesModel:
    """Return a model of several classes; `instead` is what there is for one score, if anything."""
    found = scored_model(given, what)
    if not isinstance(found, ClassesModel):
        remedy = "" if instead is None else f"; use {instead}"
        raise InputError(
            f"{what} is for models of several classes, and this one is of the task "
            f"'{found.task}'{remedy}"
        )
    return found
