"""The target of a table in a file: two labels, a number, or which other task it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rpte.errors import InputError, warn
from rpte.table.column import distinct, is_absent, level_text
from rpte.table.files import check_column
from rpte.utils.arrays import Array, Floats, Index, Mask

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 6
MANY_CELLS = 100_000  # different numbers, from which on they are not counted
NONE = np.zeros(0)
MANY = 20  # different whole numbers from which on they are counts or amounts rather than classes

TIME = re.compile(
    r"(.*_)?(time|futime|survtime)|days|weeks|months|years|tte|(time_)?to_(event|death)|time_to_(event|death)|"
    r"(follow_?up|surv(ival)?)(_(time|days|weeks|months|years))?"
)
EVENT = re.compile(
    r"(.*_)?(event|death|died|dead|deceased|fustat|censor(ed|ing)?|cens|vital_status)"
    r"(_(event|status|flag|indicator))?"
)

CLASSES = (
    "several classes are a task of their own: RPTEClassifier tells up to 50 apart, rpte fit with "
    "--task multiclass; or keep the rows of two of them, or merge them into two"
)
REGRESSION = (
    "predicting a number is regression: use RPTERegressor, or ask about a threshold with "
    "RPTEClassifier, such as y > 10"
)
SURVIVAL = (
    "a time until an event is survival analysis: use RPTESurvival, rpte fit with --task survival "
    "--time and --event; or ask whether the event came within a fixed time (without the rows "
    "censored before it)"
)


def has_label(frame: pd.DataFrame, target: str) -> Mask:
    """Return which rows have a label."""
    check_column(frame, target, "target")
    cells, place = distinct(frame[target].to_numpy(object))
    return np.array([not is_absent(cell) for cell in cells], bool)[place]


def class_labels(
    frame: pd.DataFrame, target: str, several: Callable[[Sequence[Any]], bool] = lambda cells: False
) -> pd.Series:
    """Return the labels of the rows with their name, or say why they are no classes without gaps.

    `several` tells of the different labels whether more than two of them are classes.
    """
    gaps, given = _gaps(frame, target)
    cells = distinct(frame[target].to_numpy())[0] if not len(gaps) else []
    others = [str(name) for name in frame if name != target]
    first = int(gaps[0]) if len(gaps) else -1
    known_classes(target, cells, len(gaps), first, given, others, several)
    return frame[target]


def _gaps(frame: pd.DataFrame, target: str) -> tuple[Index, int]:
    """Return the places of rows without a target, and how many rows there are."""
    given = has_label(frame, target)
    return np.flatnonzero(~given), len(given)


def known_classes(
    target: str,
    cells: Sequence[Any],
    gaps: int,
    first: int,
    n_rows: int,
    others: Sequence[str],
    several: Callable[[Sequence[Any]], bool] = lambda cells: False,
) -> Array:
    """Return the different labels, or say why they are not classes without gaps.

    Of the rows, `gaps` have no label, the first of them at place `first`; `others` are the names of
    the other columns. More than two labels are classes if `several` says so.
    """
    if gaps:
        raise _missing(target, gaps, first, n_rows)
    values = sorted({level_text(cell) for cell in cells})
    if len(values) < 2 or (len(values) > 2 and not several(cells)):
        more = ", ..." if len(values) > SHOWN else ""
        held = ", ".join(values[:SHOWN]) + more
        few = len(values) < 2
        remedy = "a model needs cases of two classes" if few else task_of(cells, target, others)
        raise InputError(f"the target '{target}' holds {len(values)} values ({held}); {remedy}")
    return np.array(cells)


def _missing(target: str, gaps: int, first: int, n_rows: int) -> InputError:
    return InputError(
        f"the target '{target}' is missing in {gaps} of {n_rows} rows, first in row {first + 1}; "
        "fill them in, or leave them out with --drop-unlabelled"
    )


def target_numbers(frame: pd.DataFrame, target: str) -> Floats:
    """Return the numbers of the rows, or say why they are not numbers without gaps."""
    gaps, n_rows = _gaps(frame, target)
    if len(gaps):
        raise _missing(target, len(gaps), int(gaps[0]), n_rows)
    values = frame[target].to_numpy()
    if values.dtype.kind not in "iufb":
        raise _no_number(target, next(cell for cell in values if not _is_number(cell)))
    return values.astype(np.float64)


def _no_number(target: str, text: Any) -> InputError:
    return InputError(
        f"the target '{target}' holds {text!r}, which is no number; correct the cells, or tell two "
        "classes apart with --task binary"
    )


@dataclass(frozen=True, slots=True)
class TargetValues:
    """What the cells of a target are; those of some rows add to those of others behind them."""

    total: int  # rows
    gaps: int
    first_gap: int
    text: Any  # a cell that is no number, None if there is none
    cells: frozenset[float]  # different numbers, some of them where they are many
    low: float
    high: float
    sum: float
    small: int  # rows of numbers up to `MANY`
    whole: bool  # all are whole and not negative
    hopeless: ClassVar[bool] = False  # all rows are looked at

    @classmethod
    def of(cls, cells: Sequence[Any], places: Index) -> TargetValues:
        """Look at rows: which of some cells, different ones, each of them holds."""
        rows = np.bincount(places, minlength=len(cells))
        held = [(cell, int(n)) for cell, n in zip(cells, rows, strict=True) if n]
        absent = [is_absent(cell) for cell in cells]
        gaps = np.flatnonzero(np.array([*absent, False])[places])
        text = next((c for c, _ in held if not (is_absent(c) or _is_number(c))), None)
        found = [(float(cell), n) for cell, n in held if _is_number(cell) and not is_absent(cell)]
        y, n = (np.array(each) for each in zip(*found, strict=True)) if found else (NONE, NONE)
        return cls(
            len(places),
            len(gaps),
            int(gaps[0]) if len(gaps) else -1,
            text,
            frozenset(y[:MANY_CELLS].tolist()),
            float(y.min(initial=np.inf)),
            float(y.max(initial=-np.inf)),
            float((y * n).sum()),
            int(n[y <= MANY].sum()),
            bool((np.isfinite(y) & (y >= 0.0) & (y == np.floor(y))).all()),
        )

    def plus(self, more: TargetValues) -> TargetValues:
        """Return what these rows and others hold."""
        first = self.first_gap if self.gaps or not more.gaps else self.total + more.first_gap
        cells = self.cells if len(self.cells) >= MANY_CELLS else self.cells | more.cells
        return TargetValues(
            self.total + more.total,
            self.gaps + more.gaps,
            first,
            more.text if self.text is None else self.text,
            cells,
            min(self.low, more.low),
            max(self.high, more.high),
            self.sum + more.sum,
            self.small + more.small,
            self.whole and more.whole,
        )

    def require_numbers(self, target: str) -> TargetValues:
        """Refuse gaps, and cells that are no numbers."""
        if self.gaps:
            raise _missing(target, self.gaps, self.first_gap, self.total)
        if self.text is not None:
            raise _no_number(target, self.text)
        return self


def target_values(frame: pd.DataFrame, target: str) -> TargetValues:
    """Return what the cells of a target are."""
    check_column(frame, target, "target")
    return TargetValues.of(*distinct(frame[target].to_numpy()))


def guessed_task(
    values: TargetValues, target: str, others: Sequence[str], counts: bool = False
) -> tuple[str, str] | None:
    """Return ``"count"`` or ``"regression"`` and what the numbers are; None for classes.

    None stands also for texts, and for what `class_labels` refuses: gaps, times until an event. Two
    numbers are classes unless they are known to be `counts` or amounts.
    """
    different = len(values.cells)
    few = different < 2 if counts else different <= 2
    if few or values.gaps or values.text is not None or is_follow_up(target, others):
        return None
    number = f"{different}" if different < MANY_CELLS else f"{MANY_CELLS:,} or more"
    held = f"different numbers from {values.low:g} to {values.high:g}"
    if not values.whole:
        return "regression", f"{number} {held}"
    whole = f"{number} {held.replace('numbers', 'whole numbers')}"
    small = 2 * values.small > values.total  # the median, but for a tie
    return ("count", f"{whole}, most of them small") if small else ("regression", whole)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, (bool, np.bool_))


def matching_label(text: str, labels: Sequence[Any]) -> Any:
    """Return the label that a text spells."""
    named = {level_text(label): label for label in labels}
    if text not in named:
        raise InputError(f"'{text}' is not a class; the classes are {', '.join(named)}")
    return named[text]


def labels_as(frame: pd.DataFrame, target: str, classes: Sequence[Any]) -> Array:
    """Return the labels of the rows as the classes of a model, matched by their text."""
    check_column(frame, target, "target")
    labels = frame[target].to_numpy(object)
    if any(is_absent(cell) for cell in distinct(labels)[0]):
        raise InputError(f"the target '{target}' has missing cells; leave these rows out")
    return as_classes(labels, classes)


def as_classes(labels: Array, classes: Sequence[Any]) -> Array:
    """Return labels as the classes of a model, matched by their text: a file may lose types."""
    cells, place = distinct(labels)
    return np.array([matching_label(level_text(cell), classes) for cell in cells])[place]


def task_of(cells: Iterable[Any], name: Any = None, others: Sequence[str] = ()) -> str:
    """Say which task a target of more than two values belongs to, and what can be done.

    `cells` are its different values. The names of the target, if it is a text, and of the other
    columns tell of a time until an event.

    Examples
    --------
    >>> task_of(["a", "b", "c"])[:15], task_of([0.5, 1.5, 2.5])[:19]
    ('several classes', 'predicting a number')
    """
    found = list(cells)
    numbers = all(map(_is_number, found))
    if not numbers or (len(found) <= MANY and all(float(c).is_integer() for c in found)):
        return CLASSES
    return SURVIVAL if isinstance(name, str) and is_follow_up(name, others) else REGRESSION


def is_follow_up(time: str, events: Iterable[str]) -> bool:
    """Tell whether a column is called a time, and another one an event.

    Examples
    --------
    >>> is_follow_up("futime", ["age", "death"]), is_follow_up("time", ["age"])
    (True, False)
    """
    return bool(TIME.fullmatch(_plain(time))) and any(EVENT.fullmatch(_plain(e)) for e in events)


def warn_of_follow_up(target: Any, columns: Iterable[str]) -> None:
    """Warn of a time among the columns where the target is called an event."""
    if not isinstance(target, str):
        return
    times = [name for name in columns if is_follow_up(name, [target])]
    if times:
        warn(
            f"column '{times[0]}' beside the target '{target}' looks like the time until it: "
            f"{SURVIVAL}; where the time is not known beforehand, leave the column out",
        )


def _plain(name: str) -> str:
    """Return a name in small letters, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()).strip("_")
