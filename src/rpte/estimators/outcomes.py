"""Times until an event, as users give them to `RPTESurvival.fit`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError, bad_cell
from rpte.estimators.checks import read_table, warn_of_idle_groups
from rpte.estimators.parameters import settings_for
from rpte.estimators.training_data import Given, TrainingData, is_sampled, notes_of, splits_of
from rpte.fit.training import Training
from rpte.losses import LOSSES
from rpte.losses.risk_sets import GROUPED, TIES, FollowUp
from rpte.model.outcome import Outcome, find_causes, read_outcome
from rpte.model.survival import LOSSES_OF_TIMES, SurvivalTarget, follow_up
from rpte.rows.folds import make_validation
from rpte.table.column import is_absent
from rpte.table.inputs import Inputs, as_array
from rpte.table.numbers import named
from rpte.table.table import check_weight, make_table, read_weights, repetitions
from rpte.utils.arrays import Array, Floats, Mask

if TYPE_CHECKING:
    from rpte.estimators.survival import RPTESurvival

FEWEST_EVENTS = 5  # of a cause
INTERVALS = 20  # of the loss "discrete", if nothing else is asked for


def survival_target(estimator: RPTESurvival) -> SurvivalTarget:
    """Return what an estimator asks for; its grid and strata are not known yet."""
    loss, ties = estimator.loss, estimator.ties
    if not isinstance(loss, str) or loss not in LOSSES_OF_TIMES:
        raise InputError(f"loss={loss!r}; it must be one of {list(LOSSES_OF_TIMES)}")
    if ties not in TIES:
        raise InputError(f"ties={ties!r}; it must be one of {list(TIES)}")
    return SurvivalTarget(LOSSES[loss], ties=ties if loss == "cox" else GROUPED)


def read_memory(estimator: RPTESurvival, given: Given) -> TrainingData:
    """Read a table in memory with times until an event."""
    if given.y is None:
        raise InputError("RPTESurvival requires y to be passed, but the target y is None")
    target = survival_target(estimator)
    inputs = read_table(given.X, estimator.special_values, given.sample_weight)
    schema = inputs.schema
    settings = settings_for(given.parameters, estimator.limits, schema)
    if not settings.reassign:
        raise InputError("reassign=False has no baseline of hazards; give reassign=True")
    weight = read_weights(given.sample_weight, inputs.n_rows)
    check_weight(weight)
    status = find_causes(given.y, estimator.censored)
    outcome = read_outcome(given.y, inputs.n_rows, status)
    inputs = _variables(inputs, settings.limits.excluded, given)
    noticed = notes_of(inputs)
    entry, strata = named(given.X, given.entry), named(given.X, given.strata)
    target = _with_facts(target, estimator, outcome, weight, strata)
    since, within = _columns(given)
    target = replace(target, has_entry=entry is not None, entry_column=since, strata_column=within)
    rows = follow_up(target, outcome, entry, strata)
    came = rows.of_any_cause.event
    validation = make_validation(estimator.cv, given.X, came, given.groups)
    warn_of_idle_groups(given.groups, settings)
    keys, cases = rows.keys(), repetitions(weight)
    copied = not is_sampled(settings, validation, len(keys))
    held = settings.pooling, validation.part, copied, cases, target.loss
    table = make_table(inputs, keys, weight, *held)
    trainings = [
        Training.of(table, settings, one, splits_of(validation), seen)
        for one, seen in _by_cause(replace(target, status=status), rows, weight)
    ]
    return TrainingData(trainings[0], validation, schema, noticed, {}, tuple(trainings[1:]))


def _by_cause(
    target: SurvivalTarget, rows: FollowUp, weight: Floats
) -> Iterator[tuple[SurvivalTarget, FollowUp]]:
    """Yield the target and the events of each cause; there is one alone where none are told."""
    if target.status is None:
        yield target, rows
        return
    assert rows.status is not None
    for number, cause in enumerate(target.status.causes, 1):
        mine = rows.status == number
        if weight[mine].sum() < FEWEST_EVENTS:
            raise InputError(
                f"the cause {cause!r} has {weight[mine].sum():g} events, and needs "
                f"{FEWEST_EVENTS}: give it a common value with another cause, or count its rows as "
                "without an event"
            )
        one = replace(target, status=target.status.of(cause))
        yield one, rows._replace(event=mine)


def _columns(given: Given) -> tuple[str | None, str | None]:
    """Return the names of the columns that say since when, and in which stratum."""
    entry, strata = (n if isinstance(n, str) else None for n in (given.entry, given.strata))
    return entry, strata


def _variables(inputs: Inputs, excluded: Collection[str], given: Given) -> Inputs:
    """Return the inputs without excluded variables and the columns that say something else."""
    if not inputs.schema.named:  # an array keeps its places, so that columns can be counted off
        return inputs
    beside = {name for name in _columns(given) if name is not None}
    if beside and not set(inputs.schema.names) - beside:
        raise InputError(f"the table has no variables beside {sorted(beside)}; give some")
    return inputs.without({*excluded, *beside})


def _with_facts(
    target: SurvivalTarget, estimator: RPTESurvival, outcome: Outcome, weight: Floats, strata: Any
) -> SurvivalTarget:
    """Return the target with names, strata and grid; refuse rows that no model can learn from."""
    counted = weight > 0.0
    came = (outcome.event if outcome.status is None else outcome.status > 0) & counted
    if not came.any():
        raise InputError(
            "no row with a positive weight has an event; hazards are learned from events: check "
            f"which value of '{outcome.event_name or 'event'}' says that it was seen"
        )
    times = outcome.time[counted]
    if times.min() == times.max():
        raise InputError(
            f"all times are {float(times.min()):g}; without an order of times nothing can be told "
            "of hazards: use RPTEClassifier for whether the event was seen"
        )
    labels: tuple[Any, ...] = ()
    if strata is not None:
        labels = _strata(as_array(strata), len(outcome.time), counted)
    if target.ties != GROUPED and estimator.intervals is not None:
        raise InputError('intervals are of the loss "discrete"; give loss="discrete", or None')
    grid = (
        ()
        if target.ties != GROUPED
        else interval_grid(estimator.intervals, outcome.time[came], weight[came])
    )
    told = replace(target, time=outcome.time_name, event=outcome.event_name)
    return replace(told, strata=labels, grid=grid)


def _strata(strata: Array, n_rows: int, counted: Mask) -> tuple[Any, ...]:
    """Return the labels of strata, in order."""
    if strata.shape != (n_rows,):
        raise InputError(f"strata has shape {strata.shape}; give one for each of {n_rows} rows")
    cells = strata[counted].tolist()
    gaps = [row for row, cell in enumerate(strata.tolist()) if is_absent(cell)]
    if gaps:
        rule = "every row needs a stratum: give {rows} one of their own, or drop them"
        raise bad_cell("strata", gaps[0], "is missing", rule, len(gaps))
    kinds = {type(cell) for cell in cells}
    if not kinds <= {str} and not kinds <= {int, float, bool}:
        said = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"strata holds the types {said}; give texts, or numbers")
    return tuple(sorted(set(cells)))


def interval_grid(intervals: Any, events: Floats, weight: Floats) -> tuple[float, ...]:
    """Return the ends of intervals: as given, or so many that hold equally many events.

    `events` are the times of events, and `weight` their weights, (m,) each.
    """
    if intervals is None or (isinstance(intervals, Integral) and not isinstance(intervals, bool)):
        count = INTERVALS if intervals is None else int(intervals)
        if not 1 <= count <= 1000:
            raise InputError(f"intervals={count}; it must be from 1 to 1000, or the ends of them")
        found = np.unique(events)
        if len(found) > count:
            below = np.cumsum(np.bincount(np.searchsorted(found, events), weight))
            wanted = np.arange(1, count + 1) / count * below[-1]
            found = found[np.unique(np.searchsorted(below, wanted * (1.0 - 1e-12)))]
        return tuple(found.tolist())
    given = as_array(intervals)
    numbers = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    ends = given.astype(np.float64) if numbers else np.zeros(1)
    if not np.isfinite(ends).all() or not (np.diff(ends, prepend=0.0) > 0.0).all():
        raise InputError(
            f"intervals={intervals!r}; it must be how many they are, or a list of their ends, "
            "positive and rising"
        )
    if events.max() > ends[-1]:
        raise InputError(
            f"intervals end at {float(ends[-1]):g}, but an event was seen at {events.max():g}: "
            "give a later end"
        )
    return tuple(ends.tolist())
