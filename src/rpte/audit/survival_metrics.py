"""How good hazards are on rows with known outcomes: order of risk and errors of curves.

Rows whose end is unknown are made up for by weighting the others with 1 / (probability of being
still under observation), as scikit-survival does. Everything that depends on the order of rows
alone is found once: a resample is the same rows with other weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rpte.audit.kaplan_meier import KaplanMeier, censoring, kaplan_meier
from rpte.audit.metrics import run_ends
from rpte.losses.risk_sets import FollowUp
from rpte.utils.arrays import Floats, Index, Ints, Mask


def concordance(event: Mask, time: Floats, score: Floats, weight: Floats | None = None) -> float:
    """Return Harrell's concordance; NaN where no two rows can be compared.

    Two rows are compared if the one with the shorter time had the event; rows of one time are, if
    one of them alone had it. A tie of scores counts one half.

    Examples
    --------
    >>> import numpy as np
    >>> event, time = np.array([True, True, False]), np.array([1.0, 2.0, 3.0])
    >>> concordance(event, time, np.array([3.0, 1.0, 2.0]))
    0.6666666666666666
    """
    weight = np.ones(len(time)) if weight is None else weight
    return Pairs.of(FollowUp(time, event), score).concordance(weight, weight * event)


class _Before(NamedTuple):
    """Sums over the rows of a group that had an earlier turn, whatever their weights."""

    order: Index  # rows by group and turn
    first: Index  # where the turn of each begins there
    begun: Index  # where its group does

    def sums(self, weight: Floats) -> Floats:
        below = np.concatenate([[0.0], np.cumsum(weight[self.order])])
        found = np.empty(len(weight))
        found[self.order] = below[self.first] - below[self.begun]
        return found


def _before(group: Ints, turn: Ints) -> _Before:
    """Return the sums over groups of rows, which come in the order of their turns."""
    order = np.argsort(group, kind="stable")
    group, turn = group[order], turn[order]
    place = np.arange(len(group), dtype=np.int32)
    new = np.concatenate([[True], group[1:] != group[:-1]])
    run = new | np.concatenate([[True], turn[1:] != turn[:-1]])
    first, begun = (np.maximum.accumulate(np.where(at, place, 0)) for at in (run, new))
    return _Before(order.astype(np.int32), first, begun)


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """The pairs of the rows of one stratum: those with later turns that have a lower score."""

    rows: Index  # latest first; a number from n on is the entry of a row, which takes it off again
    everyone: _Before
    same: _Before  # of one score
    lower: tuple[tuple[Mask, _Before], ...]  # for each bit of the rank: where it is 0

    @classmethod
    def of(cls, seen: FollowUp, score: Floats, mine: Index) -> _Stratum:
        time, event, value, rows = seen.time[mine], seen.event[mine], score[mine], mine
        if seen.entry is not None:
            time = np.concatenate([time, seen.entry[mine]])
            event = np.concatenate([event, np.zeros(len(mine), np.bool_)])
            value, rows = np.tile(value, 2), np.concatenate([mine, mine + len(score)])
        order = np.lexsort((event, -time))  # of one time those without an event first
        time, event = time[order], event[order]
        turn = np.cumsum(np.concatenate([[0], (time[1:] != time[:-1]) | (event[1:] != event[:-1])]))
        rank = np.unique(value[order], return_inverse=True)[1].reshape(-1)
        bits = range(int(rank.max(initial=0)).bit_length())
        lower = tuple(((rank >> bit) & 1 == 0, _before(rank >> (bit + 1), turn)) for bit in bits)
        everyone = _before(np.zeros(len(rank), np.int64), turn)
        return cls(rows[order], everyone, _before(rank, turn), lower)

    def counts(self, weight: Floats, of_event: Floats) -> tuple[float, float]:
        weight, of_event = weight[self.rows], of_event[self.rows]
        below = 0.5 * self.same.sums(weight)
        for low, before in self.lower:
            below += np.where(low, 0.0, before.sums(np.where(low, weight, 0.0)))
        return float(of_event @ self.everyone.sums(weight)), float(of_event @ below)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The pairs of rows that can be compared; rows of different strata never are."""

    strata: tuple[_Stratum, ...]
    entries: bool

    @classmethod
    def of(cls, seen: FollowUp, score: Floats) -> Pairs:
        """Find the pairs of some rows."""
        strata = seen.strata
        mine = (np.flatnonzero(strata == k) for k in np.unique(strata))
        found = tuple(_Stratum.of(seen, score, rows) for rows in mine)
        return cls(found, seen.entry is not None)

    def concordance(self, weight: Floats, of_event: Floats) -> float:
        """Return the share of pairs in the right order, NaN where there are none.

        `weight` (n,) is of a row as the one that comes later, `of_event` as the one that comes
        first.
        """
        if self.entries:
            weight = np.concatenate([weight, -weight])
            of_event = np.concatenate([of_event, np.zeros(len(of_event))])
        counts = [stratum.counts(weight, of_event) for stratum in self.strata]
        pairs, agree = (sum(each) for each in zip(*counts, strict=True))
        return agree / pairs if pairs > 0.0 else float("nan")


@dataclass(frozen=True, eq=False)
class SurvivalRows:
    """Rows with known outcomes and their scores, shortest time first; arrays are (n,)."""

    seen: FollowUp
    score: Floats  # logarithms of hazard ratios
    weight: Floats
    places: Index  # of the rows in the table that they are of
    pairs: Pairs
    order: Index  # by falling score
    ends: Index  # the last place there of each run of equal scores

    @classmethod
    def of(cls, seen: FollowUp, score: Floats, weight: Floats) -> SurvivalRows:
        """Put rows in order of their times and scores; those of weight 0 go."""
        kept = np.flatnonzero(weight > 0.0)
        rows = kept[np.argsort(seen.time[kept], kind="stable")]
        seen, score = seen.take(rows), score[rows]
        order = np.argsort(-score, kind="stable")
        pairs = Pairs.of(seen, score)
        return cls(seen, score, weight[rows], rows, pairs, order, run_ends(score[order]))

    @property
    def event(self) -> Floats:
        """1.0 where an event was seen."""
        return self.seen.event.astype(np.float64)

    @property
    def y(self) -> Floats:
        """The times of events, 0 without one: what has to differ in every resample."""
        return np.where(self.seen.event, self.seen.time, 0.0)

    @cached_property
    def observed(self) -> KaplanMeier:
        """The Kaplan-Meier curve of all rows."""
        return kaplan_meier(self.seen, self.weight)

    @cached_property
    def censoring(self) -> KaplanMeier:
        """The curve of being still under observation."""
        return censoring(self.seen, self.weight)

    @cached_property
    def inverse(self) -> Floats:
        """1 / (probability of being under observation at its time) of each row with an event."""
        known = self.censoring.at(self.seen.time)
        weighed = self.seen.event & (known > 0.0)
        return np.divide(1.0, known, out=np.zeros(len(known)), where=weighed)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of one value per row."""
        return float((self.weight * values).sum() / self.weight.sum())


def harrell(rows: SurvivalRows) -> float:
    """Return Harrell's concordance of rows; only such as were under observation at once count."""
    return rows.pairs.concordance(rows.weight, rows.weight * rows.event)


def uno(rows: SurvivalRows, before: float = np.inf) -> float:
    """Return Uno's concordance, of events before some time.

    In the long run it does not depend on when observation ended, as Harrell's does.
    """
    early = np.where(rows.seen.time < before, rows.inverse**2, 0.0)
    return rows.pairs.concordance(rows.weight, rows.weight * early)


def dynamic_auc(rows: SurvivalRows, horizons: Floats) -> Floats:
    """Return how often a row with an event until each horizon scores above one without, (m,).

    Cumulative cases, dynamic controls; NaN where one of both is empty.
    """
    time, weight = rows.seen.time[rows.order], rows.weight[rows.order]
    cases = (rows.inverse * rows.weight)[rows.order]
    found = np.full(len(horizons), np.nan)
    for place, horizon in enumerate(horizons):
        late = time > horizon
        true = np.concatenate([[0.0], np.cumsum(np.where(late, 0.0, cases))[rows.ends]])
        false = np.concatenate([[0.0], np.cumsum(np.where(late, weight, 0.0))[rows.ends]])
        if true[-1] > 0.0 and false[-1] > 0.0:
            heights = 0.5 * (true[1:] + true[:-1])
            found[place] = float((np.diff(false) * heights).sum() / (true[-1] * false[-1]))
    return found


def brier_scores(rows: SurvivalRows, survival: Floats, horizons: Floats) -> Floats:
    """Return the mean squared error of survival (n, m) or (m,) at each horizon, (m,)."""
    known, total = rows.censoring.at(horizons), float(rows.weight.sum())
    found = np.full(len(horizons), np.nan)
    for place, horizon in enumerate(horizons):
        told, late = survival[..., place], rows.seen.time > horizon
        if not known[place] > 0.0:
            continue
        gone = np.where(late, (1.0 - told) ** 2 / known[place], told**2 * rows.inverse)
        found[place] = float((rows.weight * gone).sum()) / total
    return found


def integrated(values: Floats, horizons: Floats) -> float:
    """Return the mean of a measure over time, by the trapezoidal rule."""
    if len(horizons) == 1:
        return float(values[0])
    area = 0.5 * (values[1:] + values[:-1]) * np.diff(horizons)
    return float(area.sum() / (horizons[-1] - horizons[0]))


def time_grid(rows: SurvivalRows, points: int) -> Floats:
    """Return times from the 5% to the 95% point of the events, at which curves are measured.

    All lie before the last time under observation.
    """
    events = rows.seen.event
    times, weight = rows.seen.time[events], rows.weight[events]  # in order
    below = np.cumsum(weight) / weight.sum()
    low, high = (times[np.searchsorted(below[:-1], q - 1e-12)] for q in (0.05, 0.95))
    grid = np.unique(np.linspace(low, high, points))
    return np.asarray(grid[grid < rows.seen.time[-1]])
