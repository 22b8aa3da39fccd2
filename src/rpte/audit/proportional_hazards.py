"""Whether hazard ratios stay the same over time: Schoenfeld residuals by term (numpy only).

At each event, a residual is the value of a term in the row with the event, less its mean over the
rows at risk. Scaled by the variance of the coefficients and added to the coefficient it shows what
the coefficient would be at that time (Grambsch and Therneau, 1994). The test is the score test of a
coefficient that changes with the rank of time, beside all coefficients as they are (as in version 3
of R's survival): rare terms whose rows are gone early need the variance at each time. All of this
is at the coefficients that the rows give the same terms without a penalty, so that shrinkage does
not count as change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpte.audit.kaplan_meier import Z, chi2_tail
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.model.model import Model
from rpte.model.parts import DirectTerm
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats

POINTS, SPAN = 25, 0.75  # of a smooth line: where it is drawn, and the share of events behind each
MOST_STEPS, HALVINGS, CLOSE = 25, 12, 1e-9  # of Newton's method
SINGULAR = 1e-9  # parts of a variance that are rounding: leaves of a tree add up to one


@dataclass(frozen=True, slots=True, eq=False)
class Schoenfeld:
    """Scaled residuals at the events, earliest first, of d events and k terms."""

    times: Floats  # (d,)
    ranks: Floats  # share of events before each, and half of those at its time, (d,)
    weight: Floats  # (d,)
    scaled: Floats  # (d, k), the estimates added
    coefficients: Floats  # of the model, (k,)
    estimates: Floats  # without a penalty, (k,)
    variance: Floats  # of the estimates, (k,)
    statistic: Floats  # of the test, (k,); NaN where a term or the time does not vary


def terms_of(model: Model, inputs: Inputs) -> tuple[list[str], list[str], Floats, Floats]:
    """Return names, texts, values (n, k) and coefficients (k,) of all active terms.

    The values are such that the sum of all times their coefficients is the score, less a constant.
    """
    names, texts, columns, sizes = [], [], [], []
    for rule in model.rules():
        names.append(rule.term)
        texts.append(rule.conditions)
        sizes.append(rule.coefficient)
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            columns.append(part.contribution(inputs) / part.coefficient)
            continue
        leaf = part.tree.apply(inputs)
        active = [k for k, each in enumerate(part.leaves) if each.coefficient != 0]
        columns += [(leaf == k).astype(np.float64) for k in active]
    values = np.array(columns).reshape(len(names), inputs.n_rows).T
    return names, texts, values, np.array(sizes)


def schoenfeld(
    seen: FollowUp, weight: Floats, ties: str, values: Floats, coefficients: Floats
) -> Schoenfeld:
    """Return the scaled residuals of terms with some values (n, k) and coefficients (k,)."""
    risk = RiskSets.of(seen, weight, ties)
    size = np.sqrt(np.average(values**2, axis=0, weights=weight)) if len(values) else 1.0
    size = np.where(size > 0.0, size, 1.0)
    x = values / size  # so that what is singular does not depend on units
    estimates = _estimates(risk, x, coefficients * size)
    score = _centred(risk, x @ estimates)
    rows = np.flatnonzero(risk.event)
    rows = rows[np.argsort(seen.time[rows], kind="stable")]
    apart = x[rows] - risk.means(x, score)[risk.until[rows] - 1]
    ranks = _ranks(risk)
    information = [_information(risk, x, score, ranks**power) for power in range(3)]
    inverse = _inverse(information[0])
    over, counted = ranks[risk.until[rows] - 1], weight[rows]
    scaled = float(counted.sum()) * (apart @ inverse) / size + estimates / size
    statistic = _score_test(apart, counted, over, information, inverse)
    variance = np.diag(inverse) / size**2
    told = coefficients, estimates / size, variance, statistic
    return Schoenfeld(seen.time[rows], over, counted, scaled, *told)


def _centred(risk: RiskSets, score: Floats) -> Floats:
    return score - np.average(score, weights=risk.weight)


def _inverse(information: Floats) -> Floats:
    found = np.linalg.pinv(information, rcond=SINGULAR, hermitian=True)
    return np.asarray(found, np.float64)


def _estimates(risk: RiskSets, x: Floats, start: Floats) -> Floats:
    """Return the coefficients of terms without a penalty, by Newton's method.

    Where rows separate, it ends when there is next to nothing to gain.
    """
    beta, best = start, risk.log_likelihood(_centred(risk, x @ start))
    for _ in range(MOST_STEPS):
        score = _centred(risk, x @ beta)
        exposed = np.exp(score) * risk.exposures(score)
        gradient = (risk.weight * (risk.event - exposed)) @ x
        ones = np.ones(len(risk.times))
        step = _inverse(_information(risk, x, score, ones)) @ gradient
        for _ in range(HALVINGS):
            found = risk.log_likelihood(_centred(risk, x @ (beta + step)))
            if found >= best:
                break
            step = 0.5 * step
        if not found > best + CLOSE * abs(best):
            break
        beta, best = beta + step, found
    return beta


def _ranks(risk: RiskSets) -> Floats:
    """Return the share of events before each time, and half of those at it, over all strata."""
    known, place = np.unique(risk.times, return_inverse=True)
    each = np.bincount(place.reshape(-1), risk.deaths, len(known))
    return np.asarray(((np.cumsum(each) - 0.5 * each) / each.sum())[place.reshape(-1)])


def _information(risk: RiskSets, x: Floats, score: Floats, over: Floats) -> Floats:
    """Return the sum over events of a function of time and the variance among rows at risk."""
    exposed = risk.weight * np.exp(score) * risk.exposures(score, over)
    squares, means = (x * exposed[:, None]).T @ x, risk.means(x, score)
    found = squares - (means * (risk.deaths * over)[:, None]).T @ means
    varies = np.diag(found) > SINGULAR * np.diag(squares)
    return np.asarray(np.where(np.outer(varies, varies), found, 0.0), np.float64)


def _score_test(
    apart: Floats, weight: Floats, over: Floats, information: list[Floats], inverse: Floats
) -> Floats:
    """Return the chi-squared statistic of each term, of residuals (d, k) and ranks (d,)."""
    _, first, second = information
    gradient = (weight * over) @ apart - first @ inverse @ (weight @ apart)
    variance = np.diag(second - first @ inverse @ first)
    known = variance > SINGULAR * np.maximum(np.diag(second), 1e-300)
    shares = np.divide(gradient**2, variance, out=np.full(len(known), np.nan), where=known)
    return np.asarray(shares, np.float64)


def proportional(found: Schoenfeld, number: int) -> dict[str, float] | None:
    """Return the test of a term: whether its coefficient changes with the rank of time.

    None where a term or the time does not vary.
    """
    statistic, weight = float(found.statistic[number]), found.weight
    if not np.isfinite(statistic):
        return None
    values = found.scaled[:, number]
    time, value = (v - np.average(v, weights=weight) for v in (found.ranks, values))
    size = float(np.sqrt((weight @ time**2) * (weight @ value**2)))
    return {
        "correlation": float((weight * time) @ value) / size if size > 0.0 else 0.0,
        "statistic": statistic,
        "p_value": chi2_tail(statistic, 1),
    }


def smooth(found: Schoenfeld, number: int) -> dict[str, list[float]]:
    """Return a smooth line through the scaled residuals of a term, with a 95% band.

    Local lines over the ranks of times, each by three quarters of the events, near ones most.
    """
    ranks, values, weight = found.ranks, found.scaled[:, number], found.weight
    spread = float(weight.sum()) * float(found.variance[number])
    times, line, half = [], [], []
    for at in np.linspace(ranks[0], ranks[-1], POINTS):
        away = np.abs(ranks - at)
        width = float(np.quantile(away, SPAN)) or 1.0
        near = weight * np.clip(1.0 - (away / width) ** 3, 0.0, 1.0) ** 3
        x = ranks - at
        s0, s1, s2 = (float((near * x**power).sum()) for power in range(3))
        across = s0 * s2 - s1 * s1
        each = near * (s2 - s1 * x) / across if across > 1e-12 * s0 * s2 else near / s0
        times.append(float(np.interp(at, ranks, found.times)))
        line.append(float(each @ values))
        kept = np.divide(each**2, weight, out=np.zeros(len(each)), where=weight > 0.0)
        half.append(Z * float(np.sqrt(kept.sum() * spread)))
    low, high = (np.array(line) + side * np.array(half) for side in (-1.0, 1.0))
    return {"time": times, "value": line, "low": low.tolist(), "high": high.tolist()}
