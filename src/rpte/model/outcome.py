"""Outcomes of a follow-up as users give them: whether an event was seen, and when (numpy only)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rpte.errors import InputError, bad_cell
from rpte.model.labels import Label
from rpte.table.column import is_absent
from rpte.table.inputs import as_array
from rpte.table.numbers import read_numbers
from rpte.utils.arrays import Array, Floats, Ints, Mask

MOST_CAUSES = 10

FORMS = (
    "y must be a structured array of (event, time), as scikit-survival has it, a table of these "
    "two columns, or a tuple (event, time)"
)
EVENT_RULE = (
    "events must be True or False, or 1 where the event was seen and 0 where it was not, or the "
    "number of its cause: give y = (status == 'died', time), say, or name the value of no event "
    "with censored="
)


class Outcome(NamedTuple):
    """Whether an event was seen, and the time under observation, (n,) each, and their names."""

    event: Mask
    time: Floats
    event_name: str | None = None
    time_name: str | None = None
    status: Ints | None = None  # of several causes the number of each row's, 0 for none


@dataclass(frozen=True, slots=True)
class Status:
    """How events of several causes are told apart: `cause` is the one that a model is of."""

    cause: Label
    causes: tuple[Label, ...]
    censored: Label

    @property
    def number(self) -> int:
        """The number of the cause, from 1."""
        return self.causes.index(self.cause) + 1

    def of(self, cause: Label) -> Status:
        """Return the same for another cause."""
        return replace(self, cause=cause)

    def numbers(self, cells: Array) -> Ints:
        """Return the number of the cause of each row, 0 for none."""
        known = {label: k for k, label in enumerate((self.censored, *self.causes))}
        given = [_plain(cell) for cell in cells.tolist()]
        kind = type(self.censored)  # True is no cause 1
        strange = [
            row for row, label in enumerate(given) if type(label) is not kind or label not in known
        ]
        if strange:
            rule = f"it must be one of {list(known)}: correct or drop {{rows}}"
            what = f"is {given[strange[0]]!r}"
            raise bad_cell("the event in y", strange[0], what, rule, len(strange))
        return np.array([known[label] for label in given], np.int64)

    def labels(self, numbers: Ints | None) -> Array:
        """Return the cause of each row, or the value of none, from numbers."""
        assert numbers is not None
        return np.array([self.censored, *self.causes], object)[numbers]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"cause": self.cause, "causes": list(self.causes), "censored": self.censored}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Status:
        """Rebuild it from `to_dict`."""
        return cls(record["cause"], tuple(record["causes"]), record["censored"])


def find_causes(y: Any, censored: Any = None) -> Status | None:
    """Return the causes of the events in y; None where they are True or False, or 0 and 1.

    `censored` is the value of rows without an event, 0 if None.
    """
    cells = outcome_parts(y)[0]
    if cells.ndim != 1 or (censored is None and not _is_coded(cells)):
        return None
    gaps = [row for row, cell in enumerate(cells.tolist()) if is_absent(cell)]
    if gaps:
        rule = "correct or drop {rows}, or give the value of no event to those without one"
        raise bad_cell("the event in y", gaps[0], "is missing", rule, len(gaps))
    none = 0 if censored is None else _plain(censored)
    labels = {_plain(cell) for cell in cells.tolist()}
    kinds = {type(label) for label in labels}
    if len(kinds) > 1 or kinds != {type(none)}:
        said = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"the event in y holds the types {said}, censored={none!r}; give one type")
    if none not in labels and none != 0:
        raise InputError(f"censored={none!r} is no value of the event in y: {sorted(labels)[:10]}")
    causes = tuple(sorted(labels - {none}))
    if len(causes) > MOST_CAUSES:
        raise InputError(
            f"the event in y has {len(causes)} causes, at most {MOST_CAUSES} are told apart: give "
            "rare ones a common value"
        )
    return Status(causes[0], causes, none) if causes else None


def _is_coded(cells: Array) -> bool:
    """Tell whether events are the numbers of causes, 0 for none.

    Without a 0, that is more likely a code of 1 and 2 for no event and an event.
    """
    if cells.dtype.kind not in "iuf" or not len(cells):
        return False
    whole = bool(np.isfinite(cells).all()) and bool((cells == np.rint(cells)).all())
    return whole and cells.min() == 0 and cells.max() > 1


def _plain(cell: Any) -> Any:
    """Return a label; a whole number as int, whatever its type."""
    found = cell.item() if isinstance(cell, np.generic) else cell
    return int(found) if isinstance(found, float) and found.is_integer() else found


def read_outcome(y: Any, n_rows: int, status: Status | None = None) -> Outcome:
    """Read and check what users give as y; of several causes the events are those of one."""
    event, time, names = outcome_parts(y)
    if as_array(time).dtype.kind in "mM":
        raise InputError(
            "the time in y is of dates or durations; give a number of days, months or years: "
            "(last_seen - begin) / np.timedelta64(1, 'D'), say"
        )
    times = read_numbers(time, n_rows, "the time in y")
    bad = ~(np.isfinite(times) & (times >= 0.0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        rule = "times must be finite and not negative: correct or drop {rows}"
        raise bad_cell("the time in y", row, f"is {float(times[row])!r}", rule, int(bad.sum()))
    if status is None:
        return Outcome(_events(event, n_rows), times, *names)
    _check_rows(event, n_rows)
    found = status.numbers(event)
    return Outcome(found == status.number, times, *names, found)


def outcome_parts(y: Any) -> tuple[Array, Any, tuple[str | None, str | None]]:
    """Return events, times and their names, as they are given."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None:
        if len(names) != 2:
            raise InputError(f"y has the fields {list(names)}; {FORMS}")
        first = 0 if y[names[0]].dtype.kind == "b" or y[names[1]].dtype.kind != "b" else 1
        event, time = names[first], names[1 - first]
        return np.asarray(y[event]), np.asarray(y[time]), (event, time)
    if isinstance(y, tuple) and len(y) == 2:
        event, time = (as_array(part) for part in y)
        found = [getattr(part, "name", None) for part in y]
        told = [name if isinstance(name, str) and name else None for name in found]
        return event, time, (told[0], told[1])
    columns = getattr(y, "columns", None)
    if columns is not None:
        return _columns(y, [str(name) for name in columns])
    raise InputError(f"y is of the type {type(y).__name__}; {FORMS}")


def _columns(y: Any, names: list[str]) -> tuple[Array, Any, tuple[str | None, str | None]]:
    """Return the two columns of a table: the one of two values is the event."""
    if len(names) != 2:
        raise InputError(f"y has {len(names)} columns; {FORMS}")
    cells = [as_array(y[name]) for name in names]
    two = [_is_event(each) for each in cells]
    if not any(two):  # texts, or the number of a cause
        two = [each.dtype.kind not in "iufmM" or _is_cause(each) for each in cells]
    if two[0] == two[1]:
        what = "both columns of y are" if two[0] else "no column of y is"
        raise InputError(f"{what} True or False, or 0 or 1; {FORMS}")
    first = 0 if two[0] else 1
    return cells[first], cells[1 - first], (names[first], names[1 - first])


def _is_event(cells: Array) -> bool:
    return cells.dtype.kind == "b" or bool(np.isin(cells.astype(object), [0, 1]).all())


def _is_cause(cells: Array) -> bool:
    return _is_coded(cells) and bool(cells.max() <= MOST_CAUSES)


def _check_rows(event: Array, n_rows: int) -> None:
    if event.shape != (n_rows,):
        raise InputError(
            f"the events in y have shape {event.shape}, X has {n_rows} rows; give one per row"
        )


def _events(event: Array, n_rows: int) -> Mask:
    _check_rows(event, n_rows)
    if event.dtype.kind == "b":
        return event
    if event.dtype.kind in "iuf":
        allowed = (event == 0) | (event == 1)
    else:
        cells = event.tolist()
        allowed = np.array([cell is not None and cell in (0, 1) for cell in cells], np.bool_)
    if not allowed.all():
        row = int(np.flatnonzero(~allowed)[0])
        what = f"is {event[row]!r}" if event.dtype.kind == "O" else f"is {event[row].item()!r}"
        raise bad_cell("the event in y", row, what, EVENT_RULE, int((~allowed).sum()))
    return np.asarray(event == 1, np.bool_)
