"""Calibration of prediction intervals: how far numbers lie from their means on rows held out.

`rpte.model.intervals` says what the scores are, and what intervals they give.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rpte.errors import InputError
from rpte.model.intervals import RECORD, number_of
from rpte.model.model import Model
from rpte.model.target import NumberTarget
from rpte.model.verify_table import labelled
from rpte.table.fingerprint import table_hash
from rpte.table.inputs import as_array
from rpte.table.numbers import named
from rpte.table.table import check_weight, read_weights
from rpte.utils.arrays import Floats

MOST = 1000  # scores that a file keeps; of more rows, every so many-th
DIGITS = 9  # of sums of weights


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
    mean = target.mean(model.score(inputs), *given)
    with np.errstate(invalid="ignore"):  # a mean beyond all numbers is refused below
        scores = np.abs(target.read(y, inputs.n_rows) - mean) / target.loss.spread(mean)
    if not np.isfinite(scores[counted]).all():
        row = int(np.flatnonzero(counted & ~np.isfinite(scores))[0])
        raise InputError(f"the mean of row {row} is {mean[row]:g}, which no interval has; drop it")
    weight = read_weights(sample_weight, inputs.n_rows)
    if groups is not None:
        weight = shared_weights(weight, groups)
    by = "rows" if groups is None else "groups"
    record = {"by": by, **_kept(scores[counted], weight[counted]), "table": table}
    return replace(model, training={**model.training, RECORD: record})


class Distances(NamedTuple):
    """Of rows that inner validation held out: how far targets lie from means, in units of the fit.

    Divided by `Loss.spread`. `weight` is that of a case as the fit saw it, `cases` how many a row
    stands for; each (n,).
    """

    distance: Floats
    weight: Floats
    cases: Floats


def with_held_out(model: Model, found: Distances, by: str) -> Model:
    """Return a model that keeps how far numbers lie from means on rows that its fit held out."""
    target = model.target
    assert isinstance(target, NumberTarget)
    scores = target.units.scale * found.distance
    if not target.is_linear:
        power: float = target.loss.power  # type: ignore[attr-defined]
        scores = target.units.scale ** (1.0 - 0.5 * power) * found.distance
        if target.has_exposure:
            scores *= np.sqrt(found.weight * target.units.weight)
    record = {"by": by, **_kept(scores, found.cases), "table": None}
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


def _kept(scores: Floats, weight: Floats) -> dict[str, Any]:
    """Return the scores in order with the weight up to each; of many, the larger of every few.

    So a quantile that is not kept is replaced by the next larger one, and intervals stay safe.
    """
    found, place = np.unique(scores, return_inverse=True)
    # Rounded, so that neither row order nor thirds of a group show.
    up_to = np.round(np.cumsum(np.bincount(place.reshape(-1), weight)), DIGITS)
    kept = np.arange(len(found))
    if len(found) > MOST:
        wanted = up_to[-1] * np.arange(1, MOST + 1) / MOST
        kept = np.unique(np.minimum(np.searchsorted(up_to, wanted), len(found) - 1))
    total = float(up_to[-1])
    return {"total": total, "scores": found[kept].tolist(), "up_to": up_to[kept].tolist()}
