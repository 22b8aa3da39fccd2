"""Kaplan-Meier curves of events and of ends of observation, and the log-rank test (numpy only).

A weight counts as so many rows; rows with an entry time are at risk from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpte.losses.risk_sets import FollowUp
from rpte.utils.arrays import Floats, Index

Z = 1.959964


@dataclass(frozen=True, slots=True, eq=False)
class KaplanMeier:
    """A curve that is 1 at first and falls at `times`; arrays are (m,)."""

    times: Floats
    at_risk: Floats  # weight of the rows under observation just before each time
    events: Floats
    values: Floats  # from each time on
    end: float  # the last time at which a row was under observation

    def at(self, times: Floats) -> Floats:
        """Return the values at some times, those after the end as at the end."""
        place = np.searchsorted(self.times, times, "right")
        return np.concatenate([[1.0], self.values])[place]

    def interval(self, time: float) -> tuple[float, float, float] | None:
        """Return the value at a time with its 95% interval, on the scale of log(-log).

        None where the curve has not come to 0 and nobody was under observation until then.
        """
        place = int(np.searchsorted(self.times, time, "right"))
        value = float(self.values[place - 1]) if place else 1.0
        if time > self.end and value > 0.0:
            return None
        if not 0.0 < value < 1.0:
            return value, value, value
        n, d = self.at_risk[:place], self.events[:place]
        error = np.sqrt(float((d / (n * (n - d))).sum())) / abs(np.log(value))
        return value, float(value ** np.exp(Z * error)), float(value ** np.exp(-Z * error))


def kaplan_meier(seen: FollowUp, weight: Floats) -> KaplanMeier:
    """Return the curve of no event until a time.

    Examples
    --------
    >>> import numpy as np
    >>> seen = FollowUp(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> kaplan_meier(seen, np.ones(3)).values.round(3).tolist()
    [0.667, 0.0]
    """
    counted = weight > 0.0
    times, events = _at_times(seen.time, np.where(seen.event & counted, weight, 0.0))
    n = np.maximum(under_observation(seen, weight, times), events)
    end = float(seen.time[counted].max(initial=0.0))
    return KaplanMeier(times, n, events, _product(events / n), end)


def censoring(seen: FollowUp, weight: Floats) -> KaplanMeier:
    """Return the curve of being still under observation, as scikit-survival has it.

    Of rows of one time those with an event go first, so that the others alone are at risk.
    """
    gone = np.where(~seen.event & (weight > 0.0), weight, 0.0)
    times, ends = _at_times(seen.time, gone)
    known, events = _at_times(seen.time, np.where(seen.event, weight, 0.0))
    n = under_observation(seen, weight, times)
    place = np.minimum(np.searchsorted(known, times), max(len(known) - 1, 0))
    if len(known):
        n = n - np.where(known[place] == times, events[place], 0.0)
    n = np.maximum(n, ends)
    last = float(seen.time[weight > 0.0].max(initial=0.0))
    return KaplanMeier(times, n, ends, _product(ends / n), last)


def _product(shares: Floats) -> Floats:
    """Return the share that is left after each of several shares has gone."""
    return np.asarray(np.cumprod(1.0 - shares), np.float64)


def under_observation(seen: FollowUp, weight: Floats, times: Floats) -> Floats:
    """Return the weight of the rows under observation just before some times (m,)."""
    found = _from(seen.time, weight, times)
    return found if seen.entry is None else found - _from(seen.entry, weight, times)


def _from(values: Floats, weight: Floats, times: Floats) -> Floats:
    """Return the weight of values that are not below some times."""
    order = np.argsort(values, kind="stable")
    above = np.concatenate([np.cumsum(weight[order][::-1])[::-1], [0.0]])
    return above[np.searchsorted(values[order], times, "left")]


def _at_times(time: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the different times of rows that count, and the weight at each."""
    rows = np.flatnonzero(weight > 0.0)
    times, place = np.unique(time[rows], return_inverse=True)
    return times, np.bincount(place.reshape(-1), weight[rows], len(times)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class LogRank:
    """Events seen in each group, and expected if all had one hazard, (g,); and the test."""

    observed: Floats
    expected: Floats
    statistic: float
    degrees: int
    p_value: float


def log_rank(seen: FollowUp, weight: Floats, groups: Sequence[Index]) -> LogRank:
    """Compare the hazards of groups of rows."""
    whole = kaplan_meier(seen, weight)
    times, n, d = whole.times, whole.at_risk, whole.events
    parts = [(seen.take(rows), weight[rows]) for rows in groups]
    shares = np.array([under_observation(*part, times) for part in parts]) / n
    observed = np.array([float(w[own.event].sum()) for own, w in parts])
    expected = shares @ d
    spread = np.where(n > 1.0, d * (n - d) / np.maximum(n - 1.0, 1e-300), 0.0)
    covariance = np.diag(shares @ spread) - (shares * spread) @ shares.T
    apart = (observed - expected)[:-1]
    statistic = float(apart @ np.linalg.pinv(covariance[:-1, :-1]) @ apart)
    degrees = len(groups) - 1
    return LogRank(observed, expected, statistic, degrees, chi2_tail(statistic, degrees))


def chi2_tail(statistic: float, degrees: int) -> float:
    """Return how likely a chi-squared variable is at least so large."""
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic)) if degrees else float("nan")
