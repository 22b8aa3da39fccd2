"""What the estimators share: a fit from what was given to the fitted attributes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.estimators.callbacks import CallbackSupportMixin, FitTask, with_callbacks
from rpte.estimators.checks import warn_of_result
from rpte.estimators.cost import FitCost, estimate_cost
from rpte.estimators.json_state import ROWS
from rpte.estimators.training_data import Given, TrainingData
from rpte.fit.algorithm import learn
from rpte.fit.causes import join_causes
from rpte.fit.importance import with_importances
from rpte.fit.learned import Learned
from rpte.fit.training import Training
from rpte.kernels.blas import one_blas_thread
from rpte.model.effect import Background
from rpte.model.model import Model
from rpte.model.reading import LONE_SURROGATE
from rpte.rows.threads import worker_threads
from rpte.selection.frontier import select_models
from rpte.utils.progress import Callback, Watch

OF_SOME_FITS = ("feature_names_in_", "at_miu_")  # fitted attributes that not every fit has


class LearningMixin(CallbackSupportMixin):  # type: ignore[misc,unused-ignore]
    """For an estimator that says how it reads what `fit` is given."""

    n_jobs: int | None
    max_fit_seconds: float | None

    def _reading(self, given: Given, watch: Watch) -> AbstractContextManager[TrainingData]:
        """Return what the fit needs of the user's table, kept as long as the context is open."""
        raise NotImplementedError

    def estimate_cost(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, **given: Any
    ) -> FitCost:
        """Tell about what `fit` would take: seconds, memory and disk, within a factor of two or so.

        Some of the rows are fitted, up to 30,000 of them, which takes seconds. Parameters are those
        of `fit`, `given` the exposure and the offset of a regressor; without `y`, targets are made
        up, and the search may take longer or shorter.

        Examples
        --------
        >>> import numpy as np
        >>> from rpte import RPTEClassifier
        >>> X = np.random.default_rng(0).normal(size=(2_000, 2))
        >>> cost = RPTEClassifier().estimate_cost(X, X[:, 0] > 0)
        >>> cost.rows, cost.disk
        (2000, 0.0)
        """
        known = {"sample_weight": sample_weight, "groups": groups, **given}
        return estimate_cost(self, X, y, known)

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def _learn(self, given: Given, progress: Callback | None) -> None:
        """Fit a model, and keep it if nothing went wrong."""
        task = FitTask(self, given.X, given.y, progress)
        watch = task.watch(self.max_fit_seconds)
        watch.begin("reading the table", 0.05)
        with ExitStack() as reading:
            reading.enter_context(one_blas_thread())
            reading.enter_context(worker_threads(self.n_jobs))
            data = reading.enter_context(self._reading(given, watch))
            _check_kept(data)
            learned = _searched(data, watch).stopped_by(watch)
            learned, rows = with_importances(learned, data.training.counted)
        learned = learned.with_training(lambda kept: {**kept, **data.record})
        warn_of_result(learned)
        self._keep(learned, data, rows)
        task.end()

    def _keep(self, learned: Learned, data: TrainingData, rows: Background | None) -> None:
        """Replace the fitted attributes in one step, so that an interrupt leaves a whole fit."""
        before = {name: value for name, value in vars(self).items() if name not in OF_SOME_FITS}
        fitted: dict[str, Any] = {
            "n_features_in_": len(data.schema),
            "model_": learned.model,
            "frontier_models_": learned.frontier,
            ROWS: rows,
            **data.fitted,
        }
        if data.schema.named:
            fitted["feature_names_in_"] = np.array(data.schema.names, dtype=object)
        self.__dict__ = {**before, **fitted}


def _check_kept(data: TrainingData) -> None:
    """Refuse names, levels and labels that no model file can hold, before anything is learned."""
    targets = [each.predicts.to_dict() for each in (data.training, *data.others)]
    for text in _texts([data.schema.to_dict(), targets]):
        if LONE_SURROGATE.search(text):
            raise InputError(
                f"the table has the name, level or label {text!r} with half of a surrogate pair, "
                "which is not Unicode text and which no model file can hold; rename it"
            )


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of plain JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _searched(data: TrainingData, watch: Watch) -> Learned:
    """Search for a model, and the models beside it; of several causes, for one of all of them."""
    if not data.others:
        return _search(data.training, data, watch)
    trainings, found = (data.training, *data.others), []
    for number, training in enumerate(trainings):
        watch.begin_part(number, len(trainings))
        model = _search(training, data, watch).model
        assert isinstance(model, Model)
        found.append(model)
    return Learned(join_causes(trainings, found))


def _search(training: Training, data: TrainingData, watch: Watch) -> Learned:
    settings = training.settings
    if settings.l1 == "cv" and settings.reassign:
        return select_models(training, data.validation, watch)
    return Learned(learn(training, watch))
