"""One small fitted estimator of each task, with its table, for what a notebook shows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import class_pages
import survival_trial
from rpte import RPTEClassifier, RPTERegressor, RPTESurvival

TASKS = ("binary", "several", "number", "count", "survival", "strata", "causes")


@cache
def loans(n=300, seed=3):
    """Return a table with gaps, text and labels that are not from 0."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"income": rng.lognormal(7.0, 0.6, n).round(0)}, index=np.arange(100, 100 + n))
    X["age"] = rng.integers(18, 80, n).astype(float)
    X["job"] = rng.choice(np.array(["clerk", "free lance", "none"], object), n)
    X.loc[X.index[rng.random(n) < 0.1], "income"] = np.nan
    score = 0.05 * (45.0 - X["age"]) + 1.2 * (X["job"] == "none") + 0.8 * X["income"].isna()
    score += 1.5 * ((X["age"] > 50) & (X["job"] == "clerk"))
    return X, np.where(score + rng.logistic(size=n) > 0.4, "bad", "good")


@cache
def shown(task):
    """Return (estimator, X, y, what else `fit` was given) of a task."""
    if task == "binary":
        X, y = loans()
        return RPTEClassifier(l1=0.01, positive="bad", max_leaves=4).fit(X, y), X, y, {}
    if task == "several":
        X, y = class_pages.table()
        return class_pages.fitted(), X, y, {}
    if task in ("number", "count"):
        return _numbers(task)
    return _times(task)


def _numbers(task):
    X, _ = loans()
    rng = np.random.default_rng(1)
    years = rng.uniform(0.2, 1.0, len(X)).round(2)
    mean = np.exp(0.02 * (X["age"] - 45.0) + 0.5 * (X["job"] == "none"))
    if task == "number":
        y = (mean + rng.normal(0.0, 0.3, len(X))).rename("cost")
        return RPTERegressor(l1=0.01).fit(X, y), X, y, {}
    y = pd.Series(rng.poisson(years * mean), X.index, name="claims")
    given = {"exposure": years}
    return RPTERegressor(loss="poisson", l1=0.01).fit(X, y, **given), X, y, given


def _times(task):
    frame = survival_trial.trial()
    X, y, given = frame[survival_trial.FEATURES], frame[["died", "days"]], {}
    if task == "strata":
        given = {"strata": frame["centre"].to_numpy()}
    if task == "causes":
        rng = np.random.default_rng(2)
        cause = np.where(frame["died"] == 0, 0, rng.choice([1, 2], len(frame)))
        y = pd.DataFrame({"cause": cause, "days": frame["days"]})
    return RPTESurvival(l1=0.05).fit(X, y, **given), X, y, given
