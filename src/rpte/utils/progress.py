"""How far a fit is, told to a callback; and when it stops: at its word, or by the clock."""

from __future__ import annotations

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
    >>> said = []
    >>> fitted = RPTEClassifier(l1=0.1).fit(
    ...     [[k] for k in range(40)], [0] * 20 + [1] * 20, progress=said.append
    ... )
    >>> said[0].stage, said[-1].share
    ('reading the table', 1.0)
    """

    stage: str
    share: float
    seconds: float
    deviance: float | None = None
    conditions: int | None = None


Callback = Callable[[Progress], object]


class Watch:
    """The stages of one fit, its caller's callback, and its limit of time.

    Parameters
    ----------
    callback : function of a `Progress`, optional
        Where it returns False the fit ends with `Cancelled`.
    max_seconds : float, optional
        From now on.

    Attributes
    ----------
    best : (deviance, conditions) or None
        Of the best model so far.
    stopped : str or None
        The stage in which the clock put an end to the search.
    """

    def __init__(self, callback: Callback | None = None, max_seconds: float | None = None) -> None:
        if callback is not None and not callable(callback):
            raise InputError(f"progress={callback!r}; it must be a function of one argument")
        self.callback = callback
        self.max_seconds = None if max_seconds is None else float(max_seconds)
        self.best: tuple[float, int] | None = None
        self.stopped: str | None = None
        self._began = clock()
        self._stage, self._low, self._high, self._steps, self._done = "", 0.0, 0.0, 1, 0

    def begin(self, stage: str, until: float, steps: int = 1) -> None:
        """Begin a stage of so many steps, after which this share of the fit is done."""
        self._stage, self._low, self._high = stage, self._high, until
        self._steps, self._done = max(steps, 1), 0
        self.tell()

    def step(self) -> None:
        """End a step of the stage."""
        self._done += 1
        self.tell()

    def end(self) -> None:
        """Say that all is done."""
        self._low = self._high = 1.0
        self.tell()

    def tell(self, part: float = 0.0) -> None:
        """Call back, a share of the present step being done."""
        if self.callback is None:
            return
        done = min(1.0, (self._done + part) / self._steps)
        share = self._low + (self._high - self._low) * done
        said = Progress(self._stage, share, clock() - self._began, *(self.best or ()))
        answer = self.callback(said)
        if isinstance(answer, (bool, np.bool_)) and not answer:
            raise Cancelled(f"the fit was cancelled while {self._stage}; nothing was changed")

    def is_over(self) -> bool:
        """Tell whether the time is used up; asked only where the search would then go no further.

        Once it is, it stays so.
        """
        if self.max_seconds is None:
            return False
        if self.stopped is None and clock() - self._began >= self.max_seconds:
            self.stopped = self._stage
        return self.stopped is not None

    def record(self) -> dict[str, Any]:
        """Return what the file keeps of a search that the clock has stopped; else nothing."""
        if self.stopped is None:
            return {}
        stopped = {
            "max_fit_seconds": self.max_seconds,
            "stage": self.stopped,
            "reproducible": False,
        }
        return {"stopped": stopped}
