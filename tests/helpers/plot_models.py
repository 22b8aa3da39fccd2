"""Fitted estimators of every task to draw: a dirty table with a product, gaps, codes and a tree."""

from functools import cache

import numpy as np
import pandas as pd

from rpte import RPTEClassifier, RPTERegressor, RPTESurvival

TASKS = ("binary", "classes", "number", "counts", "times", "strata")
CODES = {"score": [-9]}


@cache
def table(n=400, seed=0):
    """Return numbers, one with gaps and one with a code, categories, an exposure and a centre."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(20, 80, n), "income": rng.gamma(2.0, 500.0, n).round()})
    X["score"] = np.where(rng.random(n) < 0.15, -9.0, rng.normal(size=n).round(2))
    X["kind"] = rng.choice(np.array(["card", "loan", "other"], object), n, p=[0.5, 0.3, 0.2])
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    X.loc[rng.random(n) < 0.05, "kind"] = None
    years = pd.Series(rng.uniform(0.2, 2.0, n).round(2), name="years")
    centre = pd.Series(rng.choice(["north", "south"], n), name="centre")
    signal = 0.05 * (X["age"] - 50) * np.where(X["kind"] == "card", 1.5, -0.5)
    signal += 0.8 * (X["score"] == -9) + (X["income"].fillna(3000) > 1200)
    return X, signal.to_numpy(), years, centre


@cache
def given(task):
    """Return X, y and what else `fit` takes, of a task."""
    X, signal, years, centre = table()
    rng = np.random.default_rng(1)
    n = len(X)
    if task == "binary":
        return X, np.where(rng.random(n) < 1 / (1 + np.exp(-signal)), "bad", "good"), {}
    if task == "classes":
        score = np.column_stack([signal, -signal, 0.5 * X["score"]]) + rng.gumbel(size=(n, 3))
        return X, np.array(["a", "b", "c"])[score.argmax(axis=1)], {}
    if task == "number":
        return X, pd.Series(signal + rng.normal(0, 0.4, n), name="cost"), {}
    if task == "counts":
        made = X.assign(years=years)
        y = pd.Series(rng.poisson(years * np.exp(0.6 * signal)), name="claims")
        return made, y, {"exposure": "years"}
    times = rng.exponential(300 / np.exp(0.6 * signal)) + 1
    y = pd.DataFrame({"died": times < 500, "days": np.minimum(times, 500).round()})
    if task == "times":
        return X, y, {}
    return X.assign(centre=centre), y, {"strata": "centre"}


@cache
def fitted(task, **parameters):
    """Return a fitted estimator of a task, small and quick."""
    X, y, beside = given(task)
    kinds = {
        "binary": lambda: RPTEClassifier(l1=0.01, special_values=CODES, **parameters),
        "classes": lambda: RPTEClassifier(l1=0.01, special_values=CODES, **parameters),
        "number": lambda: RPTERegressor(l1=0.01, special_values=CODES, **parameters),
        "counts": lambda: RPTERegressor(l1=0.01, loss="poisson", special_values=CODES),
        "times": lambda: RPTESurvival(l1=0.02, special_values=CODES),
        "strata": lambda: RPTESurvival(l1=0.02, special_values=CODES),
    }
    return kinds[task]().fit(X, y, **beside)
