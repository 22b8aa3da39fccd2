"""Checks of what `fit` is given, and warnings about what it found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError, warn
from rpte.fit.learned import unconverged_text
from rpte.model.causes import CausesModel
from rpte.model.summary import missed_text
from rpte.table.inputs import Inputs
from rpte.table.read import read_training
from rpte.table.table import read_weights, repetitions

if TYPE_CHECKING:
    from rpte.fit.learned import Learned
    from rpte.fit.settings import Settings
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model


def refuse_sparse(X: Any, reason: str = "") -> None:
    """Raise `TypeError` on a sparse matrix."""
    if hasattr(X, "tocsr"):
        raise TypeError(f"Sparse data was passed, but dense data is required{reason}")


def read_table(
    X: Any, special_values: Mapping[str, Any] | None, sample_weight: Any = None
) -> Inputs:
    """Return a training table as typed columns, of two cases and one column at least.

    One row of weight 2 is two cases.
    """
    refuse_sparse(X, ": a readable model needs named columns; pass X.toarray() or a data frame")
    inputs = read_training(X, special_values)
    if not len(inputs.schema):
        n_rows = int(getattr(X, "shape", (0,))[0])
        raise InputError(
            f"0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required. Pass a "
            "table with columns"
        )
    weight = read_weights(sample_weight, inputs.n_rows) if inputs.n_rows < 2 else np.ones(2)
    if repetitions(weight).sum() < 2:
        raise InputError(
            f"Found array with {inputs.n_rows} sample(s) while a minimum of 2 is required; "
            "give more rows, with targets that differ"
        )
    return inputs


def warn_of_idle_groups(groups: Any, settings: Settings) -> None:
    """Warn of groups where nothing is validated."""
    if groups is None or (settings.l1 == "cv" and settings.reassign):
        return
    cause = f"l1={settings.l1!r}" if settings.reassign else "reassign=False"
    warn(
        f"groups are kept together by inner validation, which {cause} leaves out: they have no "
        "effect on the model; fit with l1='cv' and reassign=True, or without groups"
    )


def warn_of_result(learned: Learned) -> None:
    """Warn of models that are no optimum, and of a search that ran out of time.

    If it did not, warn of a model without terms, with the reason.
    """
    model, others = learned.model, [m for m in learned.frontier if unconverged_text(m) is not None]
    if (text := unconverged_text(model)) is not None:
        warn(text)
    elif others:
        text = (
            f"{len(others)} of {len(learned.frontier)} models in frontier_models_ did not "
            "converge (converged=False in their training['objective']); model_ did. Use that one"
        )
        warn(text)
    for each in model.models if isinstance(model, CausesModel) else (model,):
        if (missed := missed_text(each)) is not None:
            limits = each.settings["limits"]
            limited = any(limits[name] for name in ("monotone", "linear_only", "penalty"))
            fewer = "fewer limits, " if limited or limits["interactions"] is not None else ""
            text = (
                f"{missed}. Give what they say together as a column (a product, a ratio, a "
                f"distance), or allow the model more: {fewer}audit_price=0, "
                "max_component_sources, shapes='free'"
            )
            warn(text)
    stopped = model.training["validation"].get("stopped")
    if stopped is not None:
        message = (
            f"max_fit_seconds={stopped['max_fit_seconds']:g} was used up while {stopped['stage']}: "
            "the model is the best found until then, and the same data may give another in the "
            "next run; allow more time"
        )
    elif model.components or (reason := _why_empty(model)) is None:
        return
    else:
        message = f"the model is empty: it gives every row the base rate, because {reason}"
    warn(message)


def _why_empty(model: Model | ClassesModel | CausesModel) -> str | None:
    """Return why a model has no terms; None where another warning has said that."""
    objective, selection = model.training["objective"], model.training["selection"]
    if objective is None:
        return "Stage 2 accepted no tree; with reassign=True single variables may speak as well"
    if not model.training["vocabulary_size"] or objective["lambda_max"] == 0.0:
        return "no column that varies goes with the labels; look at the columns and at the limits"
    if not selection["compared"]:
        return (
            f"the penalty l1={objective['l1']:g} is above the largest at which a term survives "
            f"({objective['lambda_max']:g}); give a smaller one"
        )
    if model.settings["max_inspection_units"] == 0:
        return "max_inspection_units=0 allows no condition; allow at least one"
    if selection["compared"] == 1:
        return None
    return (
        "no model predicted rows held out by validation so much better that its conditions were "
        f"worth reading (deviance of the base rate {selection['null_deviance']:.4g}); give more "
        "rows or other columns, or set audit_price=0 or l1= to see what there is"
    )
