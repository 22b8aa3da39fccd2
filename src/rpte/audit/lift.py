"""Observed and predicted numbers in bands of rows: calibration, lift, residuals and double lift.

A band counts the exposure of its rows (1 where there is none) times their weight. Its observed
mean is the sum of y over that, its predicted one the sum of the predictions; so bands of one table
add up to the table.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from rpte.audit.metrics import equal_bounds
from rpte.audit.number_metrics import RankedNumbers, predicted_anew, rate_ends
from rpte.errors import InputError
from rpte.table.numbers import read_numbers
from rpte.utils.arrays import Floats, Index

Record = dict[str, Any]
BANDS = 10
LEAST = 10  # rows of a band, on average
WIDE = 1.959964  # standard errors either side of a 95% interval


def prediction_bands(rows: RankedNumbers) -> list[Index]:
    """Return the rows of bands of about equal exposure, lowest predicted rates first.

    There are ten, or fewer where few rows would be in each; rows of equal rates are in one.
    """
    return _bands(rows.order, rows.ends, rows.amount)


def _bands(order: Index, ends: Index, amount: Floats) -> list[Index]:
    """Cut rows that stand in order; runs, of which the last places are given, are never split."""
    bands = min(BANDS, max(1, int((amount > 0.0).sum()) // LEAST))
    bounds = equal_bounds(amount[order], ends, bands)
    return [order[start:stop] for start, stop in pairwise(bounds)]


def band(rows: RankedNumbers, inside: Index) -> Record:
    """Return what some rows add up to, for one unit of exposure, with a 95% interval.

    The interval of the observed mean is that of a ratio of sums over independent rows, a whole
    weight standing for repeated ones; None where the rows do not spread.
    """
    weight, y, mean, exposure, amount = (
        values[inside] for values in (rows.weight, rows.y, rows.mean, rows.exposure, rows.amount)
    )
    base, held = float(amount.sum()), int((weight > 0.0).sum())
    if not base > 0.0:
        return {"rows": 0, "exposure": 0.0}
    observed, predicted = (float((weight * of).sum()) / base for of in (y, mean))
    error = float(np.sqrt((weight * (y - observed * exposure) ** 2).sum())) / base
    ends = (observed - WIDE * error, observed + WIDE * error) if error > 0.0 else (None, None)
    if ends[0] is not None and rows.target.multiplies:
        ends = max(ends[0], 0.0), ends[1]
    return {
        "rows": held,
        "exposure": base,
        "observed": observed,
        "predicted": predicted,
        "low": ends[0],
        "high": ends[1],
        "residual": observed - predicted,
        "ratio": predicted / observed if observed != 0.0 else None,
    }


def as_predicted(rows: RankedNumbers, name: str, mean: Any) -> RankedNumbers:
    """Return the same rows as another model predicts them, for their exposure and offset."""
    found = read_numbers(mean, len(rows.y), name)
    if rows.target.multiplies:
        low = np.flatnonzero(found <= 0.0)
        if len(low):
            raise InputError(
                f"{name} predicts {found[low[0]]:g} in row {low[0] + 1}; the mean of "
                f"{rows.target.outcome} is above 0 under the loss {rows.target.loss.name}: give "
                "predictions that are, or leave them out"
            )
        score = np.log(found) - np.log(rows.mean) + rows.score
    else:
        score = found - rows.mean + rows.score
    return predicted_anew(rows, score, found)


def double_lift(rows: RankedNumbers, other: RankedNumbers) -> Record:
    """Return two predictions of the same rows where they differ, and how far each is off.

    Rows are put in order of one prediction over the other (of squared error, of their difference)
    and cut into bands of about equal exposure. The `gap` of a model is the mean distance of its
    predicted from the observed mean of a band, weighted by exposure.
    """
    against = rows.mean / other.mean if rows.target.multiplies else rows.mean - other.mean
    order = np.argsort(against, kind="stable")
    found = []
    for inside in _bands(order, rate_ends(against[order]), rows.amount):
        theirs = band(other, inside)
        found.append({**band(rows, inside), "other": theirs.get("predicted")})
    known = [each for each in found if each["exposure"] > 0.0]
    return {
        "bands": known,
        "gap": _gap(known, "predicted"),
        "other_gap": _gap(known, "other"),
    }


def _gap(bands: list[Record], key: str) -> float:
    weight = np.array([each["exposure"] for each in bands])
    apart = np.array([abs(each[key] - each["observed"]) for each in bands])
    return float((weight * apart).sum() / weight.sum())
