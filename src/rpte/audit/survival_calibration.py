"""Whether survival that is told is what is seen: bands of risk, D-calibration, risk groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rpte.audit.kaplan_meier import Z, chi2_tail, kaplan_meier, log_rank
from rpte.audit.metrics import equal_bounds
from rpte.audit.survival_metrics import SurvivalRows
from rpte.losses.risk_sets import RiskSets
from rpte.utils.arrays import Floats, Index

MOST_STEPS, CLOSE, STEEPEST = 60, 1e-9, 50.0
QUANTILES = 10  # of D-calibration


def bands_of(rows: SurvivalRows, groups: int) -> list[Index]:
    """Return rows in groups of about equal weight by their score, lowest first."""
    bounds = equal_bounds(rows.weight[rows.order], rows.ends, groups)
    return [rows.order[start:stop] for start, stop in pairwise(bounds)][::-1]


def calibration_at(
    rows: SurvivalRows, risk: Floats, horizon: float, groups: int
) -> list[dict[str, Any]]:
    """Return the predicted risk (n,) of bands at a horizon beside what Kaplan-Meier says of them.

    The latter is None where no row of a band was under observation for so long.
    """
    found = []
    for inside in bands_of(rows, groups):
        weight = rows.weight[inside]
        expected = float((weight * risk[inside]).sum() / weight.sum())
        record = {"weight": float(weight.sum()), "expected": expected}
        found.append({**record, **_observed(rows, inside, horizon)})
    return found


def _observed(rows: SurvivalRows, inside: Index, horizon: float) -> dict[str, float | None]:
    """Return the risk at a horizon that Kaplan-Meier says of some rows, with its interval."""
    known = kaplan_meier(rows.seen.take(inside), rows.weight[inside]).interval(horizon)
    if known is None:
        return dict.fromkeys(("observed", "low", "high"))
    return {"observed": 1.0 - known[0], "low": 1.0 - known[2], "high": 1.0 - known[1]}


def calibration_slope(rows: SurvivalRows, ties: str) -> tuple[float, float, float] | None:
    """Return the coefficient of the score in a fit of hazards on it, with its 95% interval.

    1 is ideal; below 1 hazard ratios are too extreme. None where the score does not vary or
    separates the rows.
    """
    if len(rows.ends) < 2:
        return None
    risk, slope = RiskSets.of(rows.seen, rows.weight, ties), 1.0
    for _ in range(MOST_STEPS):
        gradient = _slope_gradient(rows, risk, slope)
        step = 1e-5 * max(1.0, abs(slope))
        low, high = (_slope_gradient(rows, risk, slope + side) for side in (-step, step))
        information = (low - high) / (2.0 * step)
        if not information > 0.0:
            return None
        change = min(max(gradient / information, -2.0), 2.0)
        slope += change
        if abs(slope) > STEEPEST:
            return None
        if abs(change) < CLOSE:
            half = Z / float(np.sqrt(information))
            return slope, slope - half, slope + half
    return None


def _slope_gradient(rows: SurvivalRows, risk: RiskSets, slope: float) -> float:
    """Return the derivative of the partial likelihood by the slope of the score."""
    score = slope * rows.score
    residual = rows.event - risk.exposures(score) * np.exp(score)
    return float((rows.weight * residual * rows.score).sum())


def d_calibration(rows: SurvivalRows, survival: Floats, entered: Floats) -> dict[str, Any]:
    """Compare the survival that is told for the time of each event with even shares.

    `survival` (n,) is that of each row at its own time, `entered` at its entry, 1 without one. If
    the curves are right their ratio is evenly spread over (0, 1); a row without an event is spread
    over what is left to it (Haider and others, 2020).

    Returns
    -------
    dict
        The share of each tenth of survival, lowest first, the statistic and its p value.
    """
    ratio = np.divide(survival, entered, out=np.zeros(len(survival)), where=entered > 0.0)
    ratio, event = np.clip(ratio, 0.0, 1.0), rows.seen.event
    place = np.minimum((ratio * QUANTILES).astype(int), QUANTILES - 1)
    counts = np.bincount(place[event], rows.weight[event], QUANTILES).astype(np.float64)
    left, where, weight = ratio[~event], place[~event], rows.weight[~event]
    share = np.divide(1.0 / QUANTILES, left, out=np.zeros(len(left)), where=left > 0.0)
    own = np.where(left > 0.0, 1.0 - where * share, 1.0)
    counts += np.bincount(where, weight * own, QUANTILES)
    # Every tenth below that of the row gets the same share of it.
    counts[:-1] += np.cumsum(np.bincount(where, weight * share, QUANTILES)[:0:-1])[::-1]
    total = float(rows.weight.sum())
    even = total / QUANTILES
    statistic = float(((counts - even) ** 2 / even).sum())
    p_value = chi2_tail(statistic, QUANTILES - 1)
    return {"shares": (counts / total).tolist(), "statistic": statistic, "p_value": p_value}


def risk_groups(rows: SurvivalRows, groups: Sequence[Index]) -> tuple[list[dict[str, Any]], Any]:
    """Return counts and a hazard ratio of each group beside the first, and the log-rank test.

    The hazard ratio is that of events seen / expected under one hazard for all (Pike).
    """
    test = log_rank(rows.seen, rows.weight, groups)
    quotient = np.divide(
        test.observed, test.expected, out=np.full(len(groups), np.nan), where=test.expected > 0.0
    )
    found = []
    for number, inside in enumerate(groups):
        ratio = quotient[number] / quotient[0] if quotient[0] > 0.0 else np.nan
        record = {
            "rows": len(inside),
            "weight": float(rows.weight[inside].sum()),
            "events": float(test.observed[number]),
            "expected": float(test.expected[number]),
            "hazard_ratio": float(ratio) if np.isfinite(ratio) else None,
        }
        found.append(record)
    return found, test
