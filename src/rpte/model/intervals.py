"""Prediction intervals of numbers: split conformal prediction, calibrated on rows held out.

The width of a case is the typical error of predictions like its own: a broken line over the mean,
with at most `BANDS` corners, each the mean prediction and the mean distance of y from it in a band
of rows that inner validation held out. Beyond the last corner it goes on with the power of the mean
that the standard deviation of y goes with under the loss; below the first, of a loss of positive
means, it falls to 0 with the mean. A row's score is how far y lies from its mean in these widths.
The interval of a new row is its mean plus and minus a quantile of the scores, times its own width.

Under a logarithm the width below the mean is at most the mean: where the typical error is larger,
all of [0, mean] is within one width, so that rare counts do not lose their zeros one by one. An
interval ends at 0 where targets cannot be negative, or none was in training.

A fit that held out too few rows has no typical errors, nor has a file of an earlier version: its
widths go with the loss alone.

Of n calibration rows the quantile is the ceil((n + 1)(1 - alpha))-th smallest score. If they and a
new row are exchangeable, and none was seen by the fit, the interval of the new row holds its y with
a probability of 1 - alpha at least: over calibration tables and new rows, not for every kind of row
(Lei and others, Distribution-free predictive inference for regression, 2018). Rows of a group are
weighted to one together, and n is the number of groups: the statement is then of a row of a new
group (Lee, Barber and Willett, Distribution-free inference with hierarchical data, 2023).

A fit that chooses its penalty holds rows out itself, and intervals rest on these until somebody
calibrates them on others. Each such row was predicted by a fit that had not seen it, and its width
comes from the rows of the other folds, but the same rows chose the penalty and the number of terms,
and that fit had fewer rows: coverage is then close to 1 - alpha, and not guaranteed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.losses.numbers import LEAST_MEAN
from rpte.model.check import Check, checked
from rpte.model.target import NumberTarget
from rpte.model.units import short
from rpte.table.fingerprint import table_hash
from rpte.table.inputs import Inputs
from rpte.table.numbers import named, warn_of_forgotten
from rpte.table.table import read_weights
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.model import Model
    from rpte.model.observed import Rows

RECORD = "calibration"  # the field of the training record
ROUNDING = 1e-9
Errors = list[dict[str, float]]  # a prediction and the typical error of such, ascending
MOST = 1000  # scores that a file keeps; of more rows, every so many-th
DIGITS = 9  # of sums of weights
BANDS, LEAST_CASES = 5, 50  # of predictions with a typical error each, and cases in one
LEAST_ERROR = 0.1  # of a band, relative to that of all rows: widths stay apart from 0
CHECK = "prediction intervals"


def predict_interval(
    model: Model, X: Any, alpha: float, exposure: Any, offset: Any, allow_unknown: bool
) -> Floats:
    """Return the lower and the upper end for each row, (n_rows, 2)."""
    factor, target = interval_factor(model, alpha), number_of(model).target
    assert isinstance(target, NumberTarget)
    warn_of_forgotten(target, exposure, offset)
    score = model.score(X, allow_unknown=allow_unknown)
    mean = target.mean(score, named(X, exposure), named(X, offset))
    (below, above), least = widths(model, score, mean), target.least_number
    finite = np.isfinite(mean)
    low = np.where(finite, mean, 0.0) - factor * below
    low = np.where(finite, np.maximum(low, least), least)
    return np.stack([low, np.maximum(mean + factor * above, least)], axis=1)


def widths(model: Model, score: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the widths below and above the mean of each row, (n,) each, in units of y.

    From scores, and means with exposure and offset.
    """
    target, record = model.target, model.training.get(RECORD) or {}
    assert isinstance(target, NumberTarget)
    if "errors" not in record:
        spread = target.loss.spread(mean)
        return spread, spread
    # What the fit knew of held-out rows: no offset of a number, no exposure of a gamma loss.
    known = mean if follows_exposure(target) else target.loss.response(score)
    times = target.loss.spread(mean) / target.loss.spread(known)
    below, above = widths_at(record["errors"], known, target)
    return times * below, times * above


def follows_exposure(target: NumberTarget) -> bool:
    """Tell whether the weights of a fit have told it the exposure of each row."""
    return not target.is_linear and target.loss.name != "gamma"


def widths_at(errors: Errors, mean: Floats, target: NumberTarget) -> tuple[Floats, Floats]:
    """Return the widths below and above some means (n,)."""
    at = np.array([each["prediction"] for each in errors])
    error = np.array([each["error"] for each in errors])
    if target.is_linear:
        width = np.interp(mean, at, error)
        return width, width
    spread = target.loss.spread
    width = np.interp(mean, np.append(0.0, at), np.append(0.0, error))
    width = np.where(mean > at[-1], error[-1] * spread(mean) / spread(at[-1:]), width)
    width = np.maximum(width, LEAST_MEAN)
    return np.minimum(width, np.maximum(mean, LEAST_MEAN)), width


def scores_of(residual: Floats, below: Floats, above: Floats) -> Floats:
    """Return how many widths y lies from its mean, (n,); residuals are y less the mean."""
    return np.where(residual < 0.0, -residual / below, residual / above)


def typical_errors(mean: Floats, distance: Floats, weight: Floats) -> Errors | None:
    """Return the mean prediction and the mean distance from it, of bands of rows.

    Rows have means, distances from them and weights, (n,) each; equal means are in one band. None
    where rows are too few for two bands, or all are predicted without an error.
    """
    values, place = np.unique(mean, return_inverse=True)
    place = place.reshape(-1)
    total = np.bincount(place, weight)
    bands = min(BANDS, int(total.sum() / LEAST_CASES + ROUNDING))
    if bands < 2:
        return None
    middle = np.cumsum(total) - 0.5 * total
    band = np.minimum((bands * middle / total.sum()).astype(np.int64), bands - 1)
    band = np.unique(band, return_inverse=True)[1].reshape(-1)  # a frequent value takes up several
    held = np.bincount(band, total)
    means = np.bincount(band, total * values) / held
    error = np.bincount(band[place], weight * distance) / held
    at = [short(each, float(np.ptp(means))) for each in means.tolist()]
    overall = float(np.average(distance, weights=weight))
    if not 0.0 < overall < np.inf or len(at) < 2 or any(not a < b for a, b in pairwise(at)):
        return None
    least = [short(max(each, LEAST_ERROR * overall)) for each in error.tolist()]
    return [{"prediction": x, "error": each} for x, each in zip(at, least, strict=True)]


def interval_factor(model: Model, alpha: float) -> float:
    """Return what half the width of an interval is, of `Loss.spread`; refuse what has none."""
    record = number_of(model).training.get(RECORD)
    if record is None:
        raise InputError(
            "the model has no prediction intervals: its fit kept nothing of rows held out (its "
            "penalty was given, it has no or very few terms, its sample weights are fractions "
            "beside an exposure), or it was edited; keep rows from the fit, and give them to "
            "calibrate (RPTERegressor.calibrate(X, y), or rpte calibrate)"
        )
    return quantile(record, alpha)


def quantile(record: Mapping[str, Any], alpha: float) -> float:
    """Return the score that so many of the calibration rows, and a new one, do not exceed."""
    if not isinstance(alpha, (int, float)) or isinstance(alpha, bool) or not 0.0 < alpha < 1.0:
        raise InputError(f"alpha={alpha!r}; it must lie between 0 and 1: 0.1 for 90% intervals")
    total = float(record["total"])
    needed = (1.0 - alpha) * (total + 1.0)
    if needed > total * (1.0 + ROUNDING):
        least = math.ceil(1e6 / (total + 1.0)) / 1e6
        raise InputError(
            f"alpha={alpha:g} is too small for {total:g} calibration {record['by']}: the smallest "
            f"possible is {least:g}; give that, or calibrate on {math.ceil(1.0 / alpha) - 1} "
            f"{record['by']} or more"
        )
    place = int(np.searchsorted(record["up_to"], needed * (1.0 - ROUNDING)))
    return float(record["scores"][place])


def number_of(model: Model) -> Model:
    """Return a model of a number; refuse one of classes."""
    if isinstance(model.target, NumberTarget):
        return model
    raise InputError(
        "prediction intervals are for models of numbers; of two classes predict_proba says how "
        "sure a prediction is, of times until an event survival_at"
    )


def calibration_text(record: Mapping[str, Any]) -> str:
    """Say what prediction intervals rest on, and how their widths follow the case."""
    said = f"prediction intervals: calibrated on {record['total']:,.10g} {record['by']} held out"
    said += "" if record["table"] is not None else " by inner validation"
    errors = record.get("errors", ())
    pairs = [f"{_digits(e['error'], 3)} at {_digits(e['prediction'], 4)}" for e in errors]
    return f"{said}; typical error by prediction: {', '.join(pairs)}" if pairs else said


def _digits(number: float, digits: int) -> str:
    """Return a number to so many digits, thousands in full.

    Examples
    --------
    >>> _digits(1034.2, 3), _digits(0.05551, 3)
    ('1030', '0.0555')
    """
    return f"{float(f'{number:.{digits}g}'):g}"


def held_out_record(
    model: Model, inputs: Inputs, y: Any, weight: Floats, exposure: Any, offset: Any
) -> dict[str, Any]:
    """Return the scores of rows that the fit has not seen, as the file keeps them."""
    target = model.target
    assert isinstance(target, NumberTarget)
    score = model.score(inputs)
    mean, counted = target.mean(score, exposure, offset), weight > 0.0
    with np.errstate(invalid="ignore"):  # a mean beyond all numbers is refused below
        residual = target.read(y, inputs.n_rows) - mean
        scores = scores_of(residual, *widths(model, score, mean))
    if not np.isfinite(scores[counted]).all():
        row = int(np.flatnonzero(counted & ~np.isfinite(scores))[0])
        raise InputError(f"the mean of row {row} is {mean[row]:g}, which no interval has; drop it")
    return kept_scores(scores[counted], weight[counted])


def calibration_check(
    model: Model, rows: Rows, y: Any, sample_weight: Any, exposure: Any, offset: Any
) -> Check | None:
    """Derive the scores again from the rows that intervals were calibrated on; None of others.

    Which of the rows were a group is not known: of groups the scores have to be there, once each.
    """
    record, target = model.training.get(RECORD) or {}, model.target
    if not isinstance(target, NumberTarget) or record.get("table") is None:
        return None
    counted = rows.weight > 0.0
    inputs = rows.inputs.take(counted)
    if table_hash(inputs, rows.y[counted], rows.weight[counted], ())[1] != record["table"]:
        return None
    weight = read_weights(sample_weight, rows.inputs.n_rows)
    found = held_out_record(model, rows.inputs, y, weight, exposure, offset)
    same = all(found[key] == record[key] for key in found)
    if record["by"] == "groups":
        same = set(record["scores"]) <= set(found["scores"])
    faults = [] if same else ["the scores of these rows are others than the file has"]
    evidence = f"{record['total']:g} {record['by']} held out, whose scores were derived again"
    return checked(CHECK, faults, evidence)


def kept_scores(scores: Floats, weight: Floats) -> dict[str, Any]:
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
