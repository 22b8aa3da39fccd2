"""A made trial: times until death or the last visit, in two centres, and models of it."""

from functools import cache

import numpy as np
import pandas as pd

from rpte import RPTESurvival

UNTIL = 730.0  # days of follow-up


@cache
def trial(n=400, seed=5):
    """Return a table: case, treatment, age, stage, a lab value with gaps, days, died, centre."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "case": [f"P{k:04d}" for k in range(n)],
            "treatment": rng.choice(["new", "old"], n),
            "age": rng.integers(30, 85, n),
            "stage": rng.choice(["I", "II", "III"], n),
            "crp": rng.lognormal(1.0, 0.8, n).round(1),
            "centre": rng.choice(["north", "south"], n),
        }
    )
    hazard = np.exp(
        0.04 * (frame["age"] - 60.0)
        + 0.9 * (frame["stage"] == "III")
        - 0.6 * (frame["treatment"] == "new")
    )
    days = rng.exponential(600.0 / hazard / np.where(frame["centre"] == "north", 1.0, 1.6)) + 1.0
    lost = rng.uniform(100.0, 2.0 * UNTIL, n)
    seen = np.minimum(np.minimum(days, lost), UNTIL).round()
    frame["days"], frame["died"] = seen, (days <= np.minimum(lost, UNTIL)).astype(int)
    frame.loc[rng.random(n) < 0.15, "crp"] = np.nan
    return frame


FEATURES = ["treatment", "age", "stage", "crp"]


@cache
def fitted(loss="cox", strata=None):
    """Return a model of the trial, small and quick."""
    frame = trial()
    X = frame[FEATURES if strata is None else [*FEATURES, strata]]
    return RPTESurvival(loss=loss, l1=0.06).fit(X, frame[["died", "days"]], strata=strata).model_
