"""Calibration of prediction intervals: how far numbers lie from their means on rows held out.

`rpte.model.intervals` says what the scores are, and what intervals they give.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rpte.errors import InputError
from rpte.model.intervals import (
    RECORD,
    Errors,
    follows_exposure,
    held_out_record,
    kept_scores,
    number_of,
    scores_of,
    typical_errors,
    widths_at,
)
from rpte.model.model import Model
from rpte.model.target import NumberTarget
from rpte.model.verify_table import labelled
from rpte.table.fingerprint import table_hash
from rpte.table.inputs import as_array
from rpte.table.numbers import named
from rpte.table.table import check_weight, read_weights
from rpte.utils.arrays import Floats


def calibrated(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    exposure: Any = None,
    offset: Any = None,
    groups: Any = None,
) -> Model:
    """Return a model that keeps how far numbers lie from their means on rows that it has not seen.

    Weights are repetitions, as in the fit. The training table is refused; that some of its rows are
    among these cannot be told.
    """
    target = number_of(model).target
    assert isinstance(target, NumberTarget)
    if model.ledger:
        raise InputError(
            "the model was edited after training, and its ledger seals it as it is: nothing can be "
            "added to it; fit again under the limits that you want, and calibrate that"
        )
    inputs, given = model.read(X), (named(X, exposure), named(X, offset))
    rows = labelled(model, inputs, y, sample_weight, *given)
    check_weight(rows.weight)
    counted = rows.weight > 0.0
    table = table_hash(
        inputs.take(counted), rows.y[counted], rows.weight[counted], target.hashed_labels
    )[1]
    if table == model.data["sha256"]:
        raise InputError(
            "this is the training table: the model has seen these rows, and lies closer to them "
            "than to new ones; calibrate on rows that were kept from fit"
        )
    weight = read_weights(sample_weight, inputs.n_rows)
    if groups is not None:
        weight = shared_weights(weight, groups)
    scores = held_out_record(model, inputs, y, weight, *given)
    # The typical errors stay those of the fit: the rows here are for nothing but the scores.
    errors = (model.training.get(RECORD) or {}).get("errors")
    return _with_record(model, "rows" if groups is None else "groups", scores, table, errors)


class HeldOut(NamedTuple):
    """Rows that inner validation held out, as the fit saw them.

    `mean` is what a fit without them predicts, `residual` the target less that, `weight` that of a
    case, `cases` how many a row stands for, `fold` the fold that held it out; each (n,).
    """

    mean: Floats
    residual: Floats
    weight: Floats
    cases: Floats
    fold: Floats


def with_held_out(model: Model, found: HeldOut, by: str) -> Model:
    """Return a model that keeps how far numbers lie from means on rows that its fit held out.

    The scores of a fold rest on the typical errors of the others, those of new rows on all.
    """
    target = model.target
    assert isinstance(target, NumberTarget)
    times = np.full(len(found.mean), target.units.scale)
    if follows_exposure(target) and target.has_exposure:
        power: float = target.loss.power  # type: ignore[attr-defined]
        times *= (found.weight * target.units.weight) ** (1.0 / (2.0 - power))
    mean, residual = target.units.centre + times * found.mean, times * found.residual
    errors = typical_errors(mean, np.abs(residual), found.cases)
    if errors is None:
        scores = np.abs(residual) / target.loss.spread(mean)
    else:
        scores = np.empty(len(mean))
        for number in np.unique(found.fold):
            own, rest = found.fold == number, found.fold != number
            others = typical_errors(mean[rest], np.abs(residual[rest]), found.cases[rest])
            scores[own] = scores_of(residual[own], *widths_at(others or errors, mean[own], target))
    return _with_record(model, by, kept_scores(scores, found.cases), None, errors)


def _with_record(
    model: Model, by: str, scores: dict[str, Any], table: str | None, errors: Errors | None
) -> Model:
    widths = {} if errors is None else {"errors": errors}
    record = {"by": by, **scores, "table": table, **widths}
    return replace(model, training={**model.training, RECORD: record})


def shared_weights(weight: Floats, groups: Any) -> Floats:
    """Return weights of rows that add up to one in every group."""
    labels = as_array(groups)
    if labels.shape != weight.shape:
        raise InputError(
            f"groups has shape {labels.shape}; give one group for each of {len(weight)} rows"
        )
    group = np.unique(labels.astype(str), return_inverse=True)[1].reshape(-1)
    sums = np.bincount(group, weight)
    return np.where(weight > 0.0, weight / np.where(sums > 0.0, sums, 1.0)[group], 0.0)
