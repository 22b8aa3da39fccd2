"""Progress of a fit for a callback, which may cancel it, and the time limit."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.errors import Cancelled, InputError

clock = time.monotonic
MINING, GROWING = "mining the vocabulary", "growing trees"
ESTIMATING = "estimating the models"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fit is.

    Parameters
    ----------
    stage : str
        What is being done.
    share : float
        Of the whole fit, in [0, 1]; never falls. A plan, not a measurement: the search may find
        that it is done early.
    seconds : float
        Since the fit was begun.
    deviance : float or None
        Validated deviance of the best model so far; None where nothing was validated yet.
    conditions : int or None
        What a person reads of that model.

    Examples
    --------
    >>> from rpte import RPTEClassifier
    >>> seen = []
    >>> fitted = RPTEClassifier(l1=0.1).fit(
    ...     [[k] for k in range(40)], [0] * 20 + [1] * 20, progress=seen.append
    ... )
    >>> seen[0].stage, seen[-1].share
    ('reading the table', 1.0)
    """

    stage: str
    share: float
    seconds: float
    deviance: float | None = None
    conditions: int | None = None

    def _repr_html_(self) -> str:
        from rpte.notebook.results import progress_html

        return progress_html(self)


Callback = Callable[[Progress], object]


class Watch:
    """The stages of one fit, its callback, and its time limit.

    Where the `callback` returns False the fit ends with `Cancelled`. `best` is (deviance,
    conditions) of the best model so far, `stopped` the stage in which the time was used up.
    """

    def __init__(self, callback: Callback | None = None, max_seconds: float | None = None) -> None:
        if callback is not None and not callable(callback):
            raise InputError(f"progress={callback!r}; it must be a function of one argument")
        self.callback = callback
        self.max_seconds = None if max_seconds is None else float(max_seconds)
        self.best: tuple[float, int] | None = None
        self.stopped: str | None = None
        self._began = clock()
        self._part, self._parts = 0, 1
        self._stage, self._low, self._high, self._steps, self._done = "", 0.0, 0.0, 1, 0

    def begin(self, stage: str, until: float, steps: int = 1) -> None:
        """Begin a stage of `steps` steps, after which the fraction `until` of the fit is done."""
        self._stage, self._low = stage, self._high
        self._high = (self._part + until) / self._parts
        self._steps, self._done = max(steps, 1), 0
        self.tell()

    def begin_part(self, number: int, parts: int) -> None:
        """Begin one of several searches, which share the time evenly."""
        self._part, self._parts = number, parts

    def step(self) -> None:
        """End a step of the stage."""
        self._done += 1
        self.tell()

    def end(self) -> None:
        """Say that all is done."""
        self._low = self._high = 1.0
        self.tell()

    def tell(self, part: float = 0.0) -> None:
        """Call back, a fraction of the present step being done."""
        if self.callback is None:
            return
        done = min(1.0, (self._done + part) / self._steps)
        share = self._low + (self._high - self._low) * done
        now = Progress(self._stage, share, clock() - self._began, *(self.best or ()))
        answer = self.callback(now)
        if isinstance(answer, (bool, np.bool_)) and not answer:
            raise Cancelled(f"the fit was cancelled while {self._stage}; nothing was changed")

    def is_over(self) -> bool:
        """Tell whether the time is used up; asked only where the search would then stop."""
        if self.max_seconds is None:
            return False
        over = clock() - self._began >= self.max_seconds * (self._part + 1) / self._parts
        if over and self.stopped is None:
            self.stopped = self._stage
        return over

    def record(self) -> dict[str, Any]:
        """Return what the model file keeps of a search that ran out of time."""
        if self.stopped is None:
            return {}
        found = {"max_fit_seconds": self.max_seconds, "stage": self.stopped, "reproducible": False}
        return {"stopped": found}
