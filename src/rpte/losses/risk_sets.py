"""Risk sets: who was under observation when an event was seen (numpy only).

The partial likelihood of hazards is the Poisson likelihood with the baseline that is best at the
scores. So its gradient by the score of a row is the events of the row minus its exposure times
exp(score), where the exposure is the baseline hazard cumulated over the time under observation, and
both are found here from sums over ranks of times. Rows are sorted once; every call is two passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rpte.utils.arrays import Floats, Index, Ints, Mask

TIES = ("efron", "breslow")
GROUPED = "grouped"  # times of a grid of intervals: events of one interval are in no order
STEPS, CLOSE = 100, 1e-13  # of Newton's method for the hazard of an interval
FREE_STEPS = 6  # from here on every second one halves what the hazard may be
LARGEST_HAZARD = 30.0  # of an interval that nobody survives, of a row of mean risk
LARGEST_EXPONENT = 700.0  # of a float
LARGEST_RANGE = 650.0  # of scores: further below, a hazard is no smaller
RARE = 1e-3  # part of the risk at a time that its events have, below which a series serves
SHIFTED = 8  # where the series of the logarithm of the gamma function begins


class FollowUp(NamedTuple):
    """When rows were under observation, (n,) each."""

    time: Floats
    event: Mask
    entry: Floats | None = None  # from when on; from the beginning if None
    stratum: Ints | None = None  # each has a baseline of its own; one for all if None
    # Of several causes the number of that of each row, 0 for none; the event is that of one cause.
    status: Ints | None = None

    def take(self, rows: Index) -> FollowUp:
        """Return that of some rows."""
        entry = None if self.entry is None else self.entry[rows]
        stratum = None if self.stratum is None else self.stratum[rows]
        status = None if self.status is None else self.status[rows]
        return FollowUp(self.time[rows], self.event[rows], entry, stratum, status)

    @property
    def of_any_cause(self) -> FollowUp:
        """The same, with the events of all causes."""
        return self if self.status is None else self._replace(event=self.status > 0)

    @property
    def strata(self) -> Ints:
        """The stratum of each row."""
        return np.zeros(len(self.time), np.int64) if self.stratum is None else self.stratum

    def keys(self) -> Floats:
        """Return a number for each row that is the same where all of this is the same."""
        mixed = np.zeros(len(self.time), np.uint64)
        event = self.event if self.status is None else self.status
        for part in (self.time, event, self.entry, self.stratum):
            if part is not None:
                bits = (np.asarray(part, np.float64) + 0.0).view(np.uint64)
                mixed = _mix(mixed ^ bits)
        return np.ldexp((mixed >> np.uint64(11)).astype(np.float64), -53)


def _mix(
    words: np.ndarray[tuple[int], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return 64-bit words with their bits mixed (the finalizer of splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class Part(NamedTuple):
    """A time group of each row, its risk, and its hazard from the beginning of the group."""

    group: Index
    risk: Floats
    mass: Floats


class Spans(NamedTuple):
    """Hazards of rows by groups of neighbouring times.

    A row has the hazard risk x `whole` in all groups before its last one, and its `mass` there. For
    rows that came late, a second part takes away what was before.
    """

    parts: tuple[Part, ...]
    whole: Floats  # what each group adds to the baseline, (g,)
    starts: Index  # where the strata begin there, and the end of the last

    def behind(self, sums: Floats) -> Floats:
        """Return sums (g, ...) over all later groups of the same stratum."""
        found = np.zeros_like(sums)
        for low, high in zip(self.starts[:-1], self.starts[1:], strict=True):
            found[low : high - 1] = np.cumsum(sums[low + 1 : high][::-1], axis=0)[::-1]
        return found

    def total(self, risk: Floats, mass: Floats) -> Floats:
        """Return the hazard of each group, (g, ...), from sums of risks and masses of rows."""
        whole = self.whole.reshape(-1, *[1] * (risk.ndim - 1))
        return np.asarray(whole * self.behind(risk) + mass)


@dataclass(frozen=True, slots=True, eq=False)
class RiskSets:
    """Rows by the ranks of their times among the times of events, stratum after stratum."""

    ties: str  # how events at one time are ordered: `TIES`, or `GROUPED`
    weight: Floats  # (n,)
    event: Mask  # (n,)
    times: Floats  # different times of events, ascending in every stratum, (t,)
    starts: Index  # where the strata begin there, and the end of the last
    since: Index  # the first event time at which a row is under observation, and the one behind
    until: Index  # the last, (n,) each
    first: Index  # where the stratum of a row begins, (n,)
    deaths: Floats  # weight of the events at each time, (t,)
    own: Index  # the time of the event of each row that has one
    empty: Mask  # times after which no row is left under observation, (t,)

    @classmethod
    def of(cls, rows: FollowUp, weight: Floats, ties: str) -> RiskSets:
        """Sort the times of some rows; the strata are numbered from 0."""
        stratum, event = rows.strata, rows.event & (weight > 0.0)
        count = int(stratum.max(initial=0)) + 1
        n = len(rows.time)
        since, until, first = (np.zeros(n, np.intp) for _ in range(3))
        times, starts = [], [0]
        for k in range(count):
            mine = np.flatnonzero(stratum == k)
            found = np.unique(rows.time[mine][event[mine]])
            first[mine] = since[mine] = starts[-1]
            until[mine] = starts[-1] + np.searchsorted(found, rows.time[mine], "right")
            if rows.entry is not None:
                since[mine] += np.searchsorted(found, rows.entry[mine], "right")
            times.append(found)
            starts.append(starts[-1] + len(found))
        total = starts[-1]
        deaths = np.bincount(until[event] - 1, weight[event], total).astype(np.float64)
        where, own = np.array(starts, np.intp), until[event] - 1
        ranks = np.concatenate(times), where, since, until, first
        made = cls(ties, weight, event, *ranks, deaths, own, np.zeros(total, np.bool_))
        return replace(made, empty=made._at_risk((weight > 0.0).astype(np.float64))[0] == 0.0)

    def _slices(self) -> Iterator[slice]:
        for low, high in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield slice(int(low), int(high))

    def _at_risk(self, risk: Floats) -> tuple[Floats, Floats]:
        """Return sums of values at each time, (t,): of rows that stay, and of those with events.

        Nothing is taken away from a sum but what came late, so that the risk of rows that stay is
        known however small it is beside that of the events.
        """
        size, seen = len(self.times), (self.until > self.since) & ~self.event
        dying = np.bincount(self.own, risk[self.event], size).astype(np.float64)
        left = np.bincount(self.until[seen] - 1, risk[seen], size)
        late = (self.until > self.since) & (self.since > self.first)
        come = np.bincount(self.since[late] - 1, risk[late], size)
        staying = np.empty(size)
        for at in self._slices():
            later = np.concatenate([dying[at][1:], [0.0]])
            staying[at] = np.cumsum((left[at] + later)[::-1])[::-1]
            staying[at] -= np.cumsum(come[at][::-1])[::-1]
        return staying, dying

    def _risks(self, score: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return exp(score - top), sums at each time of rows that stay and of events, and top."""
        top = float(score.max(initial=0.0))
        factor = _factors(score, top)
        staying, dying = self._at_risk(self.weight * factor)
        return factor, np.maximum(staying, 0.0), dying, top

    def _increments(self, score: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return what each time adds to the baseline, (t,), and to the exposure of its own events.

        The latter is one for each row with an event, and beside it how sure its event was to come,
        see `tangent`. Exposures are in units of exp(-top).
        """
        factor, staying, dying, top = self._risks(score)
        if self.ties == GROUPED:
            found, u = self._grouped(factor, staying, dying)
            kept = _kept(u)
            sure = 1.0 - kept * (np.minimum(u, LARGEST_EXPONENT) + kept)
            return found, (1.0 - kept) / factor[self.event], sure, top
        found = self.deaths / (staying + dying)
        own = found.copy()
        tied = (self.deaths > 1.0) if self.ties == "efron" else np.zeros(len(found), np.bool_)
        if tied.any():
            m, dead = self.deaths[tied], dying[tied]
            a = m + m * (staying[tied] / dead)
            span = _digamma_difference(a, m)
            found[tied] = m / dead * span
            own[tied] = _tied_part(a, m, span) / dead
        return found, own[self.own], np.zeros(len(self.own)), top

    def _grouped(self, factor: Floats, staying: Floats, dying: Floats) -> tuple[Floats, Floats]:
        """Return the hazard of each interval that is most likely, (t,), and u of rows with events.

        There the sum of u / (exp(u) - 1) over rows with an event is the sum of u over those that
        stay, where u is the hazard times exp(score). As 1 - u / 2 < u / (exp(u) - 1) < 1, it lies
        between two bounds. Where nobody stays u has no end; hazards do.
        """
        own, weight, mine, empty = self.own, self.weight[self.event], factor[self.event], self.empty
        staying = np.where(empty, 0.0, np.maximum(staying, np.finfo(np.float64).tiny))
        most = np.log(LARGEST_HAZARD * self.deaths / dying)
        low = np.where(empty, most, np.log(self.deaths / (staying + 0.5 * dying)))
        high = np.where(empty, most, np.log(self.deaths) - np.log(np.where(empty, 1.0, staying)))
        at = low.copy()  # logarithms
        for step in range(STEPS):
            hazard = np.exp(at)
            u = hazard[own] * mine
            kept = _kept(u)
            value = np.bincount(own, weight * kept, len(hazard)) - hazard * staying
            slope = np.bincount(own, weight * _kept_slope(u, kept), len(hazard)) - hazard * staying
            low, high = np.where(value >= 0.0, at, low), np.where(value <= 0.0, at, high)
            asked = at - value / np.minimum(slope, -1e-300)
            halved = (asked < low) | (asked > high) | (step > FREE_STEPS and step % 2 == 0)
            to = np.where(halved, 0.5 * (low + high), asked)
            change = np.where(empty, 0.0, to - at)
            at = at + change
            if (np.abs(change) / np.maximum(np.abs(at), 1.0)).max(initial=0.0) < CLOSE:
                break
        hazard = np.exp(at)
        return hazard, np.where(empty[own], np.inf, hazard[own] * mine)

    def _cumulated(self, found: Floats) -> Floats:
        total = np.empty(len(found))
        for at in self._slices():
            total[at] = np.cumsum(found[at])
        return total

    def exposures(self, score: Floats, over: Floats | None = None) -> Floats:
        """Return the baseline hazard that each row was exposed to, (n,), at some scores (n,).

        What each time adds may be multiplied by a function `over` (t,) of time.
        """
        found, own, _, top = self._increments(score)
        if over is not None:
            found, own = found * over, own * over[self.own]
        return self._summed(found, own) * math.exp(-top)

    def _summed(self, found: Floats, own: Floats) -> Floats:
        """Return the exposure of each row, (n,), from that of each time and of rows with events.

        A sum over times before its event has no part of the event's own time, which may be larger.
        """
        total = np.concatenate([self._cumulated(found), [0.0]])  # place -1 is nothing
        behind = self.until - self.event
        until = np.where(behind > self.first, behind - 1, -1)
        since = np.where(self.since > self.first, self.since - 1, -1)
        exposure = np.where(behind > self.since, total[until] - total[since], 0.0)
        exposure[self.event] += own
        return np.asarray(exposure)

    def tangent(self, score: Floats) -> tuple[Floats, Floats]:
        """Return exposures and events, (n,) each, of a Poisson loss that touches the likelihood.

        At the scores it has the gradient of the likelihood, and the curvature beside the baseline.
        An event that was sure to come within its interval says nothing of scores, and counts less
        than 1, with as much less exposure; others are events and exposures as they are.
        """
        exposure, events, top = self._tangent(score)
        return exposure * math.exp(-top), events

    def hazards(self, score: Floats) -> tuple[Floats, Floats]:
        """Return what `tangent` does, with hazards at the scores in place of exposures."""
        exposure, events, top = self._tangent(score)
        return exposure * _factors(score, top), events

    def _tangent(self, score: Floats) -> tuple[Floats, Floats, float]:
        found, own, sure, top = self._increments(score)
        events = self.event.astype(np.float64)
        events[self.event] -= sure
        own = own - sure / _factors(score[self.event], top)
        return self._summed(found, own), events, top

    def spans(self, score: Floats, most: int) -> Spans:
        """Return the hazards of `tangent` by time, or by neighbouring times if more than `most`."""
        found, own, sure, top = self._increments(score)
        factor = _factors(score, top)
        risk, total = self.weight * factor, self._cumulated(found)
        step = -(-len(found) // most)
        starts = [np.arange(at.start, at.stop, step) for at in self._slices()]
        begin = np.concatenate(starts)
        group = np.searchsorted(begin, np.arange(len(found)), "right") - 1
        earlier = np.concatenate([[0.0], total[:-1]])  # before each time
        earlier[self.starts[:-1]] = 0.0
        before = earlier[begin]
        seen = self.until > self.since

        def part(place: Index, to: Floats, sign: float) -> Part:
            """Return what rows had until a time `place`, up to where the baseline was `to`."""
            signed = np.where(seen & (place >= self.first), sign * risk, 0.0)
            at = group[np.maximum(place, 0)]
            return Part(at, signed, signed * (to - before[at]))

        last = self.until - 1
        until = part(last, np.where(self.event, earlier[last], total[last]), 1.0)
        until.mass[self.event] += self.weight[self.event] * (own * factor[self.event] - sure)
        late, came = bool((seen & (self.since > self.first)).any()), self.since - 1
        parts = (until, part(came, total[came], -1.0)) if late else (until,)
        ends = np.cumsum([0, *map(len, starts)])
        return Spans(parts, np.bincount(group, found).astype(np.float64), ends)

    def baseline(self, score: Floats) -> Floats:
        """Return the cumulated baseline hazard at each time of `times`, (t,)."""
        found, *_, top = self._increments(score)
        return self._cumulated(found) * math.exp(-top)

    def means(self, values: Floats, score: Floats) -> Floats:
        """Return the means of some values (n, k) over the rows at risk at each time, (t, k).

        Rows count by their hazard; of events at one time as the ties are taken.
        """
        found, own, _, top = self._increments(score)
        risk = self.weight * _factors(score, top)
        means = np.empty((len(self.times), values.shape[1]))
        for k, column in enumerate(values.T):
            each = risk * column
            told = np.bincount(self.own, each[self.event] * own, len(self.times))
            means[:, k] = (self._at_risk(each)[0] * found + told) / self.deaths
        return means

    def log_likelihood(self, score: Floats) -> float:
        """Return the logarithm of the partial likelihood; grouped times have a full one."""
        factor, staying, dying, top = self._risks(score)
        if self.ties == GROUPED:
            hazard, u = self._grouped(factor, staying, dying)
            came = float((self.weight[self.event] * np.log(-np.expm1(-u))).sum())
            return came - float((hazard * np.where(self.empty, 0.0, staying)).sum())
        logs = self.deaths * np.log(staying + dying)
        tied = (self.deaths > 1.0) if self.ties == "efron" else np.zeros(len(logs), np.bool_)
        if tied.any():
            m, dead = self.deaths[tied], dying[tied]
            logs[tied] = m * np.log(dead / m) + _log_gamma_difference(
                m + m * (staying[tied] / dead), m
            )
        own = self.weight[self.event] * (score[self.event] - top)
        return float((np.bincount(self.own, own, len(logs)) - logs).sum())


def _factors(score: Floats, top: float) -> Floats:
    """Return exp(score - top), of scores that are not too far apart for sums."""
    return np.exp(np.maximum(score - top, -LARGEST_RANGE))


def _kept(u: Floats) -> Floats:
    """Return u / (exp(u) - 1): 1 at 0, and 0 where u has no end."""
    u = np.minimum(u, LARGEST_EXPONENT)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(u < 1e-8, 1.0 - 0.5 * u, u / np.expm1(u)))


def _kept_slope(u: Floats, kept: Floats) -> Floats:
    """Return the derivative of `_kept` by log(u)."""
    return kept * (1.0 - kept - u)


def _digamma_difference(a: Floats, m: Floats) -> Floats:
    """Return the sum of 1 / (a - l) over l = 0, ..., m - 1, also where m is not whole."""
    found, x, y = np.zeros(len(a)), a + 1.0, a - m + 1.0
    for _ in range(SHIFTED):
        found += 1.0 / y - 1.0 / x
        x, y = x + 1.0, y + 1.0
    return np.asarray(found + np.log1p(m / y) + _digamma_tail(x) - _digamma_tail(y))


def _digamma_tail(x: Floats) -> Floats:
    """Return what the digamma function has beside log(x), for x from `SHIFTED` on."""
    z = (1.0 / x) ** 2
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return -0.5 / x - series


def _tied_part(a: Floats, m: Floats, span: Floats) -> Floats:
    """Return the sum of (1 - l / m) m / (a - l) over l = 0, ..., m - 1, also where m is not whole.

    It is m + (m - a) span, where `span` is the sum of 1 / (a - l); of a much larger than m that
    cancels, and sums of powers of l are added up in its place.
    """
    once, x = m * (m - 1.0), m / a
    powers = (
        once / 2.0,
        once * (2.0 * m - 1.0) / 6.0,
        (once / 2.0) ** 2,
        once * (2.0 * m - 1.0) * (3.0 * once - 1.0) / 30.0,
        once**2 * (2.0 * once - 1.0) / 12.0,
    )
    series = np.zeros(len(a))
    for total in reversed(powers):
        series = (series + total) / a
    return np.where(x < RARE, m * x - (1.0 - x) * series, m + (m - a) * span)


def _log_gamma_difference(a: Floats, m: Floats) -> Floats:
    """Return the sum of log(a - l) over l = 0, ..., m - 1, also where m is not whole."""
    found, x, y = np.zeros(len(a)), a + 1.0, a - m + 1.0
    for _ in range(SHIFTED):
        found += np.log1p(-m / x)
        x, y = x + 1.0, y + 1.0
    most = m * np.log(x) + ((y - 0.5) * np.log1p(m / y) - m)
    return np.asarray(found + most + _log_gamma_tail(x) - _log_gamma_tail(y))


def _log_gamma_tail(x: Floats) -> Floats:
    """Return what log(gamma(x)) has beside (x - 1/2) log(x) - x, but for a constant."""
    z = (1.0 / x) ** 2
    series = 1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188))))
    return np.asarray(series / x)
