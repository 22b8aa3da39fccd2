"""What a model of a time until an event predicts: hazard ratios, and curves with its baseline.

The score of a row is the logarithm of its hazard beside the baseline, whose cumulated hazard the
model file holds as a step function. So the survival of a row at a time is
exp(-baseline(time) * exp(score)), with numpy alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rpte.errors import InputError, bad_cell
from rpte.losses import LOSSES, Loss
from rpte.losses.risk_sets import GROUPED, FollowUp, RiskSets
from rpte.model.labels import Label
from rpte.model.outcome import Outcome, Status
from rpte.model.units import AS_THEY_ARE, TargetUnits
from rpte.table.inputs import as_array
from rpte.table.numbers import per_row
from rpte.utils.arrays import Floats, Index, Ints

MOST_STEPS = 10_000  # of a stored baseline; of more, every so many-th
LOSSES_OF_TIMES = ("cox", "discrete")
PLAIN = ("time", "event", "ties", "total", "has_entry", "entry_column", "strata_column")
TIME_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Steps:
    """The cumulated baseline hazard of one stratum: it jumps at `times` to `hazard`.

    It is 0 before the first of them, and unknown after `end`, the longest time under observation.
    """

    times: tuple[float, ...]
    hazard: tuple[float, ...]
    end: float

    def at(self, times: Floats) -> Floats:
        """Return the cumulated hazard at some times, those behind the end as at the end."""
        place = np.searchsorted(np.array(self.times), times, "right")
        return np.concatenate([[0.0], self.hazard])[place]

    def to_dict(self) -> dict[str, Any]:
        """Return the steps as plain JSON values."""
        return {"times": list(self.times), "hazard": list(self.hazard), "end": self.end}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Steps:
        """Rebuild steps from `to_dict`."""
        times, hazard = (tuple(map(float, record[name])) for name in ("times", "hazard"))
        return cls(times, hazard, float(record["end"]))


def steps_of(risk: RiskSets, score: Floats, ends: Sequence[float]) -> tuple[Steps, ...]:
    """Return the baseline of each stratum at the scores of all rows."""
    hazard = risk.baseline(score)
    found = []
    for low, high, end in zip(risk.starts[:-1], risk.starts[1:], ends, strict=True):
        kept = _kept(int(high - low)) + int(low)
        times, values = risk.times[kept].tolist(), hazard[kept].tolist()
        found.append(Steps(tuple(times), tuple(values), float(end)))
    return tuple(found)


def longest_times(seen: FollowUp, weight: Floats) -> tuple[float, ...]:
    """Return the longest time under observation of each stratum, of rows that count."""
    strata, counted = seen.strata, weight > 0.0
    count = int(strata[counted].max(initial=0)) + 1
    return tuple(float(seen.time[counted & (strata == k)].max()) for k in range(count))


def _kept(count: int) -> Index:
    """Return which of so many steps are stored: all of them, or evenly many with the last."""
    if count <= MOST_STEPS:
        return np.arange(count)
    return np.asarray(np.arange(1, MOST_STEPS + 1) * count // MOST_STEPS - 1, np.intp)


@dataclass(frozen=True, slots=True)
class SurvivalTarget:
    """A time until an event; rows without one were seen for so long.

    Parameters
    ----------
    loss : Loss
        ``cox`` or ``discrete``.
    total : float
        Weight of the training rows whose event was seen.
    time, event : str or None
        Names of the columns, where they have some.
    ties : {"efron", "breslow", "grouped"}
        How events at one time are ordered; those of an interval of a grid are in no order.
    baseline : tuple of Steps
        One for each stratum.
    strata : tuple of labels
        Of the strata; none where there is one baseline for all rows.
    grid : tuple of float
        Ends of the intervals of the loss ``discrete``; none for ``cox``.
    has_entry : bool
        Whether rows came under observation later than at time 0.
    entry_column, strata_column : str or None
        Columns of the training table that said so, where they were named.
    status : Status or None
        Of several causes, that of the model; events of others end the time under observation.
    """

    task: ClassVar[str] = "survival"
    mean_name: ClassVar[str] = "event fraction"
    response_name: ClassVar[str] = "relative hazard"
    response_range: ClassVar[str] = "a hazard ratio above 0"
    outcome_name: ClassVar[str] = "event"
    score_unit: ClassVar[str] = "log hazard ratio"
    multiplies: ClassVar[bool] = True
    falls: ClassVar[bool] = False
    factor: ClassVar[float] = 1.0
    units: ClassVar[TargetUnits] = AS_THEY_ARE
    hashed_labels: ClassVar[tuple[Label, ...]] = ()
    loss: Loss
    total: float = 0.0
    time: str | None = None
    event: str | None = None
    ties: str = "efron"
    baseline: tuple[Steps, ...] = ()
    strata: tuple[Label, ...] = ()
    grid: tuple[float, ...] = ()
    has_entry: bool = False
    entry_column: str | None = None
    strata_column: str | None = None
    status: Status | None = None

    @property
    def outcome(self) -> str:
        """What the time is until, by its name."""
        if self.status is None:
            return self.event or "event"
        cause = self.status.cause
        return cause if isinstance(cause, str) else f"{self.event or 'cause'} {cause}"

    @property
    def none_text(self) -> str:
        """What survival is the probability of, in words."""
        return "no event" if self.event is None else f"no event ({self.event})"

    @property
    def time_name(self) -> str:
        """What the time is called."""
        return self.time or "time"

    @property
    def score_text(self) -> str:
        """What a score is, in words."""
        return f"logarithm of the {self.hazard_text}"

    @property
    def hazard_text(self) -> str:
        """What a score is the logarithm of, in words."""
        return f"hazard of {self.outcome} relative to the baseline"

    @property
    def response_text(self) -> str:
        """What a score stands for, in words."""
        return self.hazard_text

    @property
    def formula(self) -> str:
        """What the sum of all terms is, shortly."""
        return f"log hazard ratio of {self.outcome}"

    def caption(self, response: float) -> str:
        """Say a hazard ratio below a picture."""
        return f"{self.response_text}: {self.shown(response)}"

    def shown(self, response: float) -> str:
        """Return a hazard ratio as people read it."""
        return f"{response:.4g}"

    def said(self, response: float) -> str:
        """Say a hazard ratio."""
        return f"{self.response_text} is {self.shown(response)}"

    @property
    def baseline_text(self) -> str:
        """What the baseline was learned from, in words."""
        each = f", one for each of the strata {', '.join(map(str, self.strata))}"
        of = "" if self.status is None else f" of {self.outcome}"
        late = ", with late entry" if self.has_entry else ""
        return (
            f"baseline{of}{each if self.strata else ''}: {self.total:g} events until "
            f"{self.when(self.end)}, ties '{self.ties}'{late}"
        )

    def with_total(self, total: float, weight: float) -> SurvivalTarget:
        """Return the target with its total, of training rows of some weight."""
        return replace(self, total=total)

    def total_of(self, total: float, weight: float) -> float:
        """Return a weight of events as it is."""
        return total

    def sum_size(self, weight: float) -> float:
        """Return the size of weights of events, which their rounding goes with."""
        return weight

    def total_text(self, total: float) -> str:
        """Return a weight of events, in words."""
        return f"{total:g} events"

    def score_of(self, score: Any) -> Any:
        """Return scores as they are."""
        return score

    def fit_score(self, score: Floats) -> Floats:
        """Return scores as they are."""
        return score

    def mean(
        self, score: Floats, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> Floats:
        """Return hazard ratios from scores (n,), each to the baseline of its stratum."""
        self.refuse(exposure, offset)
        self.labels_of(strata, len(score))
        return self.loss.response(score)

    def refuse(self, exposure: Any, offset: Any) -> None:
        """Refuse what hazards do not have."""
        if exposure is not None or offset is not None:
            raise InputError("exposure and offset are for models of numbers; this is of a time")

    def response_with(self, exposure: float | None, offset: float | None) -> str:
        """Return `response_text`: of a hazard ratio there is neither."""
        return self.response_text

    def score_for(
        self, response: float, exposure: Any = None, offset: Any = None, strata: Any = None
    ) -> float:
        """Return the score at which a case has some hazard ratio."""
        return math.log(response)

    def is_response(self, value: float) -> bool:
        """Tell whether a value is a hazard ratio that a score stands for."""
        return math.isfinite(value) and value > 0.0

    @property
    def sides(self) -> tuple[Label, Label]:
        """What may count against a case: a high hazard, or a low one."""
        return "high", "low"

    def against(self, response: Floats, sign: float) -> Floats:
        """Return hazard ratios, turned where a low one counts against cases."""
        return sign * response

    def limit(self, threshold: float, sign: float) -> float:
        """Return a threshold as `against` has it."""
        return sign * threshold

    @property
    def logged(self) -> dict[str, Any]:
        """What a log of decisions tells of the target."""
        return {"predicts": self.response_text, "link": self.loss.link}

    def steps(self, stratum: Any = None) -> Steps:
        """Return the baseline of a stratum; there is one alone where the model has none."""
        given = None if stratum is None else np.array([stratum], object)
        return self.baseline[int(self.numbers_of(given, 1)[0])]

    def numbers_of(self, strata: Any, n_rows: int) -> Ints:
        """Return the number of the stratum of each row; refuse one that training did not have."""
        if not self.strata and strata is not None:
            raise InputError("strata is given, but the model has one baseline for all rows")
        if not self.strata:
            return np.zeros(n_rows, np.int64)
        if strata is None:
            raise InputError(
                f"the model has a baseline for each of {len(self.strata)} strata, "
                f"such as {self.strata[0]!r}: give strata=, one for each row"
            )
        given = as_array(strata)
        given = np.broadcast_to(given, (n_rows,)) if given.ndim == 0 else given
        if given.shape != (n_rows,):
            raise InputError(f"strata has shape {given.shape}; give one for each of {n_rows} rows")
        known = {label: k for k, label in enumerate(self.strata)}
        strange = [label for label in given.tolist() if label not in known]
        if strange:
            raise InputError(f"strata holds {strange[0]!r}; those of the model are {self.strata}")
        return np.array([known[label] for label in given.tolist()], np.int64)

    def labels_of(self, strata: Any, n_rows: int) -> list[Label | None]:
        """Return the stratum of each row, None where none is given; refuse an unknown one."""
        if strata is None:
            return [None] * n_rows
        return [self.strata[k] for k in self.numbers_of(strata, n_rows).tolist()]

    @property
    def end(self) -> float:
        """The longest time under observation, of the stratum where it is shortest."""
        return min(steps.end for steps in self.baseline)

    @property
    def horizons(self) -> tuple[float, ...]:
        """Times at which survival is told if no others are asked for.

        The quartiles of the times of the baseline, to two digits.
        """
        times = np.unique(np.concatenate([steps.times for steps in self.baseline]))
        times = times[times <= self.end]
        first = max(steps.times[0] for steps in self.baseline)
        exact = times[(np.array([0.25, 0.5, 0.75]) * len(times)).astype(np.intp)]
        rounded = (float(f"{time:.2g}") for time in exact)
        inside = {
            each if first <= each <= self.end else float(time)
            for each, time in zip(rounded, exact, strict=True)
        }
        return tuple(sorted(inside))

    def when(self, time: float) -> str:
        """Say a time, such as "365 days" if that is what it is called, or "time 365"."""
        unit = self.time_name.replace("_", " ").split()[-1:]
        if unit and unit[0].lower().rstrip("s") in TIME_UNITS:
            return f"{time:g} {unit[0]}"
        return f"{self.time_name} {time:g}"

    def hazard_at(self, score: Floats, times: Floats, strata: Any = None) -> Floats:
        """Return cumulated hazards of scores (n,) at some times (m,), (n, m)."""
        which, ratio = self.numbers_of(strata, len(score)), self.loss.response(score)
        steps = np.array([each.at(times) for each in self.baseline])
        with np.errstate(invalid="ignore"):  # an infinite ratio before the first event
            found = ratio[:, None] * steps[which]
        return np.where(steps[which] == 0.0, 0.0, found)

    def survival_at(self, score: Floats, times: Floats, strata: Any = None) -> Floats:
        """Return probabilities of no event until some times (m,), of scores (n,), (n, m)."""
        return np.exp(-self.hazard_at(score, times, strata))

    def median(self, score: Floats, strata: Any = None) -> Floats:
        """Return the first time at which half of such cases have had the event, infinite if none.

        Of scores (n,).
        """
        which, ratio = self.numbers_of(strata, len(score)), self.loss.response(score)
        found = np.full(len(score), np.inf)
        for k, steps in enumerate(self.baseline):
            mine, hazard = np.flatnonzero(which == k), np.array(steps.hazard)
            with np.errstate(divide="ignore"):
                place = np.searchsorted(hazard, math.log(2.0) / ratio[mine] * (1.0 - 1e-12))
            reached = place < len(hazard)
            found[mine[reached]] = np.array(steps.times)[place[reached]]
        return found

    def score_at(self, survival: float, horizon: float, stratum: Any = None) -> float:
        """Return the score at which a case survives a time with some probability."""
        hazard = float(self.steps(stratum).at(np.array([horizon]))[0])
        if not hazard > 0.0:
            raise InputError(
                f"horizon={horizon:g} is before the first event of the baseline; "
                f"give a later {self.time_name}"
            )
        return math.log(-math.log(survival)) - math.log(hazard)

    def check_times(self, times: Any) -> Floats:
        """Return times as an array (m,); refuse those that the baseline says nothing of."""
        found = _numbers(times, f"{self.time_name} at which survival is told")
        bad = ~(np.isfinite(found) & (found >= 0.0) & (found <= self.end))
        if bad.any():
            raise InputError(
                f"{self.time_name} {found[bad][0]:g} is outside of what was observed, from 0 to "
                f"{self.end:g}: no curve is told beyond it"
            )
        return found

    @property
    def columns(self) -> set[str]:
        """The columns that a table may have beside its variables: what was seen of each row."""
        named = self.time, self.event, self.entry_column, self.strata_column
        return {name for name in named if name is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values."""
        kept = {name: getattr(self, name) for name in PLAIN}
        baseline = [steps.to_dict() for steps in self.baseline]
        kept |= {"strata": list(self.strata), "grid": list(self.grid), "baseline": baseline}
        return kept if self.status is None else {**kept, "status": self.status.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], loss: Mapping[str, Any]) -> SurvivalTarget:
        """Rebuild a target from `to_dict`, and what the file says of the loss."""
        return cls(
            LOSSES[loss["name"]],
            **{name: record[name] for name in PLAIN},
            strata=tuple(record["strata"]),
            grid=tuple(map(float, record["grid"])),
            baseline=tuple(map(Steps.from_dict, record["baseline"])),
            status=Status.from_dict(record["status"]) if "status" in record else None,
        )


def follow_up(target: SurvivalTarget, outcome: Outcome, entry: Any, strata: Any) -> FollowUp:
    """Return when rows were under observation, as the loss sees it.

    On a grid, an event counts at the end of its interval, and a row without one for the intervals
    that were over when it was last seen. An event of any cause does.
    """
    n_rows = len(outcome.time)
    if target.has_entry and entry is None:
        raise InputError("the model was fitted with entry times; give entry= as to fit")
    if entry is not None and not target.has_entry:
        raise InputError("the model was fitted without entry; leave entry= out")
    since = None if entry is None else _entries(entry, outcome.time)
    numbers = target.numbers_of(strata, n_rows)
    stratum = numbers if target.strata else None
    if target.ties != GROUPED:
        return FollowUp(outcome.time, outcome.event, since, stratum, outcome.status)
    grid = np.concatenate([[0.0], target.grid])
    came = np.minimum(np.searchsorted(grid, outcome.time, "left"), len(grid) - 1)
    gone = np.searchsorted(grid, outcome.time, "right") - 1
    event, status = outcome.event, outcome.status
    time = grid[np.where(event if status is None else status > 0, np.maximum(came, 1), gone)]
    if since is not None:  # under observation from the next interval on
        since = grid[np.minimum(np.searchsorted(grid, since, "left"), len(grid) - 1)]
        event = event & (since < time)
        status = None if status is None else np.where(since < time, status, 0)
    return FollowUp(time, event, since, stratum, status)


def _numbers(values: Any, name: str) -> Floats:
    """Return numbers (m,) of which one may be given alone."""
    found = np.atleast_1d(as_array(values))
    if found.ndim != 1 or not len(found):
        raise InputError(f"{name} has shape {found.shape}; give a number, or a list of numbers")
    return per_row(found, len(found), name)


def _entries(entry: Any, time: Floats) -> Floats:
    found = per_row(entry, len(time), "entry")
    bad = ~(np.isfinite(found) & (found < time))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        what = f"is {float(found[row])!r}, the time {float(time[row])!r}"
        rule = "a row has to come under observation before its time: correct or drop {rows}"
        raise bad_cell("entry", row, what, rule, int(bad.sum()))
    return found
