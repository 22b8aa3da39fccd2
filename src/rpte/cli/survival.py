"""Times until an event on the command line: columns that hold them, and horizons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rpte.cli.options import Names, Rows, column_numbers, listed, option, targets
from rpte.cli.terminal import say
from rpte.cli.training import Training
from rpte.errors import InputError
from rpte.model.outcome import Status
from rpte.model.survival import SurvivalTarget
from rpte.table.column import distinct, is_absent, level_text, parse_number
from rpte.utils.arrays import Array, Floats, Mask

if TYPE_CHECKING:
    import pandas as pd

    from rpte.model.file import AnyModel

TimeColumn = Annotated[str | None, option("Survival: the time until the event or the last visit.")]
EventColumn = Annotated[str | None, option("Survival: whether the event was seen (1 or 0).")]
EventValue = Annotated[
    str | None, option("Survival: what --event holds where the event was seen, if not 1 or true.")
]
EntryColumn = Annotated[
    str | None, option("Survival: the column with the time from which on a case was observed.")
]
StrataColumn = Annotated[
    str | None, option("Survival: the column whose values have baselines of their own.")
]
Horizons = Annotated[
    Names, option("Survival: a time to tell survival at; repeatable, or 365,730.", "--horizon")
]
Horizon = Annotated[
    float | None, option("Survival: the time at which survival is asked for.", "--horizon")
]
SEEN = {"1": True, "true": True, "0": False, "false": False}  # texts of an event column
SHOWN = 6  # different values of an event column
SURVIVAL = SurvivalTarget.task


@dataclass(frozen=True)
class SurvivalColumns:
    """The columns of a table that tell of times until an event, by name."""

    time: str | None = None
    event: str | None = None
    event_value: str | None = None
    entry: str | None = None
    strata: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        found = vars(self).items()
        return [f"--{name.replace('_', '-')}" for name, value in found if value is not None]

    @property
    def named(self) -> dict[str, Any]:
        """The columns by role, None where one is not given."""
        return {role: name for role, name in vars(self).items() if role != "event_value"}

    def check(self, model: AnyModel, target: str | None = None) -> None:
        """Refuse options that do not go with the task of a model."""
        if not isinstance(model.target, SurvivalTarget):
            refuse_survival(model, self.given)
            return
        if target is not None:
            raise InputError(
                f"--target {target}: the model is of a time until an event; give --time and --event"
            )
        if bool(self.time) != bool(self.event):
            missing = "--event" if self.time else "--time"
            raise InputError(f"{missing} is missing; an outcome is --time and --event together")
        if self.time is None and self.entry is not None:
            raise InputError("--entry needs --time and --event, the outcome of the training table")

    def outcome(self, frame: pd.DataFrame, status: Status | None = None) -> Array:
        """Return events and times of the rows, a structured array with the names of the columns.

        Of a model of one cause of several, the causes of all events, as it knows them.
        """
        assert self.time is not None
        assert self.event is not None
        if status is None:
            event: Array = events(frame, self.event, self.event_value)
        else:
            event = causes(frame, self.event, status)
        time = column_numbers(frame, self.time, "time")
        found = np.empty(len(frame), [(self.event, event.dtype), (self.time, np.float64)])
        found[self.event], found[self.time] = event, time
        return found

    def beside(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Return entry times and strata of the rows, None where they are not given."""
        entry = None if self.entry is None else column_numbers(frame, self.entry, "entry")
        return {"entry": entry, "strata": labels(frame, self.strata)}

    def known(self, frame: pd.DataFrame) -> Mask:
        """Tell which rows have a time and an event."""
        from rpte.table.target import has_label

        assert self.time is not None
        assert self.event is not None
        return np.asarray(has_label(frame, self.time) & has_label(frame, self.event))


def labelled(
    model: AnyModel, frame: pd.DataFrame, target: str | None, columns: SurvivalColumns
) -> tuple[Array, dict[str, Any]]:
    """Return the outcome of the rows, and the entry times and strata that are given."""
    if isinstance(model.target, SurvivalTarget):
        if columns.event is None:
            raise InputError("--time and --event: say which columns hold the outcome")
        known = columns.beside(frame)
        known |= {"strata": labels(frame, columns.strata, model)}
        found = columns.outcome(frame, model.target.status)
        return found, {k: v for k, v in known.items() if v is not None}
    if target is None:
        raise InputError("--target: say which column of the table is the outcome")
    return targets(model, frame, target), {}


def refuse_survival(model: AnyModel, given: Sequence[str]) -> None:
    """Refuse options of times until an event, of a model of another task."""
    if given and not isinstance(model.target, SurvivalTarget):
        raise InputError(
            f"{given[0]} is for models of a time until an event; this one is of the task "
            f"'{model.target.task}'"
        )


def events(frame: pd.DataFrame, name: str, value: str | None) -> Mask:
    """Return which rows had their event: 1 or true, or the value that the user names."""
    cells, place = _cells(frame, name, "event")
    texts = [level_text(cell) for cell in cells]
    held = ", ".join(sorted(texts)[:SHOWN]) + (", ..." if len(texts) > SHOWN else "")
    if value is not None:
        if value not in texts:
            raise InputError(f"--event-value {value}: the column '{name}' holds {held}")
        if len(texts) > 2:
            say(f"note: '{name}' holds {held}; all but {value} count as not seen (censored)")
        return np.asarray(np.array([text == value for text in texts])[place])
    seen = [SEEN.get(text.lower()) for text in texts]
    if None in seen:
        raise InputError(
            f"the event column '{name}' holds {held}; it is 1 (or true) where the event was seen "
            "and 0 elsewhere: say which value means that with --event-value"
        )
    return np.asarray(np.array(seen, np.bool_)[place])


def causes(frame: pd.DataFrame, name: str, status: Status) -> Array:
    """Return the cause of the event of each row, or that there was none, as a model knows them."""
    cells, place = _cells(frame, name, "event")
    known = {level_text(label): label for label in (status.censored, *status.causes)}
    strange = [text for text in map(level_text, cells) if text not in known]
    if strange:
        raise InputError(f"--event {name}: it holds {strange[0]}, the model knows {list(known)}")
    found = [known[level_text(cell)] for cell in cells]
    return np.asarray(np.array([*found, None], object)[:-1][place])


def labels(frame: pd.DataFrame, name: str | None, model: AnyModel | None = None) -> Array | None:
    """Return the strata of rows; of a model as it knows them, matched by their text."""
    if name is None:
        return None
    cells, place = _cells(frame, name, "strata")
    if model is not None:
        assert isinstance(model.target, SurvivalTarget)
        if not model.target.strata:
            raise InputError(f"--strata {name}: the model has one baseline for all rows")
        known = {level_text(label): label for label in model.target.strata}
        strange = [text for text in map(level_text, cells) if text not in known]
        if strange:
            told = ", ".join(known)
            raise InputError(f"--strata {name}: it holds {strange[0]}, the strata are {told}")
        cells = [known[level_text(cell)] for cell in cells]
    return np.asarray(np.array([*cells, None], object)[place])


def _cells(frame: pd.DataFrame, name: str, role: str) -> tuple[list[Any], Any]:
    """Return the different values of a column and which each row holds; refuse missing ones."""
    from rpte.table.files import check_column

    check_column(frame, name, role)
    cells, place = distinct(frame[name].to_numpy(object))
    gone = np.array([is_absent(cell) for cell in cells], np.bool_)[place]
    if gone.any():
        row = int(np.flatnonzero(gone)[0]) + 1
        raise InputError(
            f"the {role} column '{name}' is missing in row {row}; fill it in, or leave the row out "
            "(rpte fit --drop-unlabelled, of times and events)"
        )
    return list(cells), place


def horizon_times(model: AnyModel, texts: Names) -> Floats | None:
    """Return the times that a user names; refuse those that the model says nothing of."""
    refuse_survival(model, ["--horizon"] if texts else [])
    if not texts:
        return None
    found = []
    for text in (part for each in texts for part in listed(each) or []):
        number = parse_number(text)
        if number is None:
            raise InputError(f"--horizon {text}: it is no number; give a time, such as 365")
        found.append(number)
    assert isinstance(model.target, SurvivalTarget)
    return model.target.check_times(found)


def asked_at(
    model: AnyModel, rows: Rows, horizons: Any, strata: str | None, place: int | None = None
) -> dict[str, Any]:
    """Return horizons and strata as methods of a model take them, of all rows or of one.

    Empty where none are given, which models of other tasks do not know.
    """
    refuse_survival(model, [] if strata is None else ["--strata"])
    found = labels(rows.frame, strata, model) if strata is not None else None
    found = found if found is None or place is None else found[[place]]
    given = {"horizons": horizons, "strata": found}
    return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class SurvivalTraining(Training):
    """A table with times until an event; entry times and strata are columns of it, by name."""

    entry: str | None = None
    strata: str | None = None

    def description(self) -> str:
        """Say what is there to learn from."""
        event, time = self.y.dtype.names
        seen, times = int(self.y[event].sum()), self.y[time]
        spread = f"{time} from {times.min():g} to {times.max():g}"
        variables = self.X.shape[1] - len(self.given)
        return (
            f"{len(self.y)} rows, {event} in {seen}, {spread}; {variables} variables; "
            f"loss {self.estimator.loss}"
        )

    @property
    def given(self) -> dict[str, Any]:
        """What the fit is given beside X, y, weights and groups."""
        found = {"entry": self.entry, "strata": self.strata}
        return {role: name for role, name in found.items() if name is not None}
