"""Prediction intervals of numbers: split conformal prediction, calibrated on rows held out.

A row's score is how far y lies from its predicted mean, divided by what the standard deviation of y
goes with under the loss: one for squared error, a power of the mean for the others. The interval
of a new row is its mean plus and minus a quantile of these scores, times that of its own mean.

Of n calibration rows the quantile is the ceil((n + 1)(1 - alpha))-th smallest score. If they and a
new row are exchangeable, and none was seen by the fit, the interval of the new row holds its y with
a probability of 1 - alpha at least: over calibration tables and new rows, not for every kind of row
(Lei and others, Distribution-free predictive inference for regression, 2018). Rows of a group are
weighted to one together, and n is the number of groups: the statement is then of a row of a new
group (Lee, Barber and Willett, Distribution-free inference with hierarchical data, 2023).

A fit that chooses its penalty holds rows out itself, and intervals rest on these until somebody
calibrates them on others. Each such row was predicted by a fit that had not seen it, but the same
rows chose the penalty and the number of terms, and that fit had fewer rows: coverage is then close
to 1 - alpha, and not guaranteed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.model.target import NumberTarget
from rpte.table.numbers import named
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.model import Model

RECORD = "calibration"  # the field of the training record
ROUNDING = 1e-9


def predict_interval(
    model: Model, X: Any, alpha: float, exposure: Any, offset: Any, allow_unknown: bool
) -> Floats:
    """Return the lower and the upper end for each row, (n_rows, 2)."""
    factor, target = interval_factor(model, alpha), number_of(model).target
    assert isinstance(target, NumberTarget)
    score = model.score(X, allow_unknown=allow_unknown)
    mean = target.mean(score, named(X, exposure), named(X, offset))
    reach, least = factor * target.loss.spread(mean), target.loss.least_target
    finite = np.isfinite(mean)
    low = np.where(finite, np.maximum(np.where(finite, mean, 0.0) - reach, least), least)
    return np.stack([low, mean + reach], axis=1)


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
    """Say what prediction intervals rest on."""
    said = f"prediction intervals: calibrated on {record['total']:,.10g} {record['by']} held out"
    return said if record["table"] is not None else f"{said} by inner validation"
