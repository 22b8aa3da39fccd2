"""Targets that are not two classes: which task they belong to, and what can be done."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from rpte.errors import RPTEWarning

MANY = 20  # different whole numbers from which on they are counts or amounts rather than classes

TIME = re.compile(
    r"(.*_)?(time|futime|survtime)|tte|(time_)?to_(event|death)|time_to_(event|death)|"
    r"(follow_?up|surv(ival)?)(_(time|days|weeks|months|years))?"
)
EVENT = re.compile(
    r"(.*_)?(event|death|died|dead|deceased|fustat|censor(ed|ing)?|cens|vital_status)"
    r"(_(event|status|flag|indicator))?"
)

CLASSES = (
    "several classes are not supported by RPTEClassifier, which tells two apart: keep the rows of "
    "two of them, merge them into two, or fit one model for each "
    "(sklearn.multiclass.OneVsRestClassifier)"
)
REGRESSION = (
    "predicting a number is regression, which is not supported by RPTEClassifier: ask about a "
    "threshold instead, such as y > 10, or use an estimator for numbers"
)
SURVIVAL = (
    "a time until an event is survival analysis, which is not supported by RPTEClassifier: ask "
    "whether the event came within a fixed time (without the rows censored before it), or use an "
    "estimator for survival"
)


def task_of(cells: Iterable[Any], name: Any = None, others: Sequence[str] = ()) -> str:
    """Say which task a target of more than two values belongs to, and what can be done.

    Parameters
    ----------
    cells : the different values of the target
    name : optional
        Of the target; only text tells anything.
    others : names
        Of the other columns.

    Examples
    --------
    >>> task_of(["a", "b", "c"])[:15], task_of([0.5, 1.5, 2.5])[:19]
    ('several classes', 'predicting a number')
    """
    found = list(cells)
    numbers = all(isinstance(c, Real) and not isinstance(c, (bool, np.bool_)) for c in found)
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
        warnings.warn(
            f"column '{times[0]}' beside the target '{target}' looks like the time until it: "
            f"{SURVIVAL}; where the time is not known beforehand, leave the column out",
            RPTEWarning,
            stacklevel=3,
        )


def _plain(name: str) -> str:
    """Return a name in small letters, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()).strip("_")
