"""scikit-learn's callbacks: a fit tells of its progress, can be stopped, and takes them down."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rpte import RPTEClassifier, RPTEWarning
from shown_models import shown

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")


class Recorder:
    """A callback that writes down what it is told, and may ask to stop."""

    def __init__(self, stop_at=None):
        self.events, self.stages, self.stop_at, self.fitted = [], [], stop_at, None

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append("begin")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.events.append("end")
        if context.parent is not None:
            self.stages.append(context.task_name)
            return self.stop_at is not None and len(self.stages) >= self.stop_at
        self.fitted = fitted_estimator
        return False

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.mark.parametrize("task", ["binary", "several", "count", "strata", "causes"])
def test_every_estimator_tells_a_hundred_steps(task):
    estimator, X, y, given = shown(task)
    told = Recorder()
    fresh = type(estimator)(**estimator.get_params()).set_callbacks(told)
    fresh.fit(X, y, **given)
    assert told.events[:2] == ["setup", "begin"]
    assert told.events[-2:] == ["end", "teardown"]
    assert len(told.stages) == 100
    assert len(set(told.stages)) > 1
    asked = {"causes": {"cause": 1}, "count": {"exposure": 1}}.get(task, {})
    np.testing.assert_array_equal(fresh.predict(X, **asked), estimator.predict(X, **asked))
    assert told.fitted.model_ == fresh.model_
    assert told.fitted.hints_ == fresh.hints_


def test_the_progress_bar_is_drawn_and_taken_down(capsys):
    estimator, X, y, _ = shown("binary")
    fresh = RPTEClassifier(**estimator.get_params()).set_callbacks(callback.ProgressBar())
    fresh.fit(X, y)
    assert "100%" in capsys.readouterr().out
    assert not hasattr(fresh, "_callback_fit_ctx")


def test_progress_is_told_beside_callbacks():
    _, X, y, _ = shown("binary")
    told, seen = Recorder(), []
    RPTEClassifier(l1=0.05).set_callbacks(told).fit(X, y, progress=seen.append)
    assert seen[-1].share == 1.0
    assert len(told.stages) == 100


def test_a_stop_ends_the_search_with_the_best_model_so_far():
    _, X, y, _ = shown("binary")
    told = Recorder(stop_at=10)
    with pytest.warns(RPTEWarning, match="the best found until then"):
        fresh = RPTEClassifier().set_callbacks(told).fit(X, y)
    assert fresh.model_.training["validation"]["stopped"]["reproducible"] is False
    assert fresh.verify(X, y).holds


def test_a_fit_that_fails_takes_callbacks_down():
    told = Recorder()
    with pytest.raises(ValueError, match="one class"):
        RPTEClassifier().set_callbacks(told).fit([[1.0], [2.0]], [1, 1])
    assert told.events[-1] == "teardown"


def test_meta_estimators_hand_the_progress_bar_down(capsys):
    _, X, y, _ = shown("binary")
    search = GridSearchCV(RPTEClassifier(), {"l1": [0.02, 0.1]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X, y)
    assert search.best_estimator_.model_ is not None
    piped = make_pipeline(RPTEClassifier(l1=0.05)).set_callbacks(callback.ProgressBar())
    piped.fit(X, y)
    assert "RPTEClassifier" in capsys.readouterr().out
