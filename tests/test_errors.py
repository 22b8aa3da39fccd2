"""Warnings name the line of the user that led to them, whatever lies between."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from rpte import RPTEClassifier, RPTERegressor, RPTEWarning


@pytest.fixture(autouse=True)
def without_costs(monkeypatch):
    """Fits as users make them: `pytest --costs` counts them in a frame of its own."""
    for owner in (RPTEClassifier, RPTERegressor):
        if owner.fit.__code__.co_name == "noted":
            monkeypatch.setattr(owner, "fit", owner.fit.__wrapped__)


def table(n=120):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"colour": draw.choice(["red", "blue"], n), "size": draw.normal(size=n)})
    return X, (X["colour"] == "red").to_numpy() ^ (draw.random(n) < 0.1)


def line_of(call):
    """Return the file and line of every warning of a call, and those of the call itself."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    told = [each for each in told if issubclass(each.category, RPTEWarning)]
    assert told
    first = inspect.getsourcelines(call)[1]
    return [(each.filename, each.lineno) for each in told], (__file__, first)


X, Y = table()
CODES = X.assign(size=np.where(np.arange(len(X)) % 4 == 0, -999.0, X["size"].abs().round(2)))
STRANGE = X.assign(colour=["green"] * 40 + ["red"] * 80)
FITTED = RPTEClassifier(l1="4/n").fit(X, Y)
COUNTED = RPTERegressor(loss="poisson", l1="4/n").fit(
    X.assign(years=1.0), Y.astype(float), exposure="years"
)
PIPE = make_pipeline("passthrough", RPTEClassifier(l1="4/n")).fit(X, Y)
CALLS = {
    "fit": lambda: RPTEClassifier(l1="4/n").fit(CODES, Y),
    "fit without terms": lambda: RPTEClassifier(l1=1e9).fit(X, Y),
    "predict": lambda: FITTED.predict(STRANGE),
    "predict_proba": lambda: FITTED.predict_proba(STRANGE),
    "score": lambda: FITTED.score(STRANGE, Y),
    "score of the model": lambda: FITTED.model_.score(STRANGE),
    "explain": lambda: FITTED.explain(STRANGE),
    "predict without exposure": lambda: COUNTED.predict(X),
    "a pipeline": lambda: PIPE.predict(STRANGE),
    "cross validation": lambda: cross_val_score(RPTEClassifier(l1=1e9), X, Y, cv=3),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_at_the_line_of_the_user(name):
    found, line = line_of(CALLS[name])
    assert set(found) == {line}
