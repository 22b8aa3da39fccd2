"""scikit-learn's callbacks (`set_callbacks(ProgressBar())`), where the version has them.

A fit is a task of a hundred steps, each of them the percent that `rpte.Progress` tells of. A
callback that asks to stop ends the search as a time limit does: with the best model so far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rpte.utils.progress import Callback, Progress, Watch

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    F = TypeVar("F", bound=Callable[..., Any])

    def with_callbacks(method: F) -> F:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitTask", "with_callbacks"]

STEPS = 100


class FitTask:
    """One fit as the callbacks of an estimator see it, beside a callback of ours.

    Parameters
    ----------
    estimator : estimator
        That is being fitted; without support of callbacks nothing is told.
    X, y : what `fit` was given
    progress : callback, optional
    """

    def __init__(self, estimator: Any, X: Any, y: Any, progress: Callback | None) -> None:
        self._estimator, self._given, self._progress = estimator, {"X": X, "y": y}, progress
        self._done = 0
        self._context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=STEPS)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._given)

    def watch(self, max_seconds: float | None) -> Watch:
        """Return the watch of the fit."""
        has_callbacks = self._context is not None and bool(self._context._callbacks)
        if not has_callbacks:
            return Watch(self._progress, max_seconds)
        checked = Watch(self._progress, max_seconds)
        checked.callback = lambda now: self._tell(checked, now)
        return checked

    def _tell(self, watch: Watch, now: Progress) -> object:
        answer = None if self._progress is None else self._progress(now)
        while self._done < int(STEPS * now.share):
            self._done += 1
            step = self._context.subcontext(task_name=now.stage)
            step.call_on_fit_task_begin(estimator=self._estimator)
            if step.call_on_fit_task_end(estimator=self._estimator):
                watch.max_seconds = now.seconds
        return answer

    def end(self) -> None:
        """Say that the estimator is fitted."""
        if self._context is not None:
            fitted = {k: v for k, v in vars(self._estimator).items() if k.endswith("_")}
            told = {**self._given, "reconstruction_attributes": lambda: fitted}
            self._context.call_on_fit_task_end(estimator=self._estimator, **told)
