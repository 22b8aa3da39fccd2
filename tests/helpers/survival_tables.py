"""Times until an event with known hazards, and a real table."""

import numpy as np
import pandas as pd

from data_folder import DATA
from rpte.losses.risk_sets import FollowUp


def made_times(n, seed, effect=1.0):
    """Return three columns, the first of which multiplies a constant hazard, and (event, time)."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(-1, 1, n), "c": rng.normal(size=n)})
    latent = rng.exponential(np.exp(-effect * X["a"].to_numpy()))
    seen = rng.uniform(0.5, 3.0, n)
    return X, (latent <= seen, np.minimum(latent, seen))


def tied_times(n, seed, entry=False, strata=False):
    """Return a table, and a follow-up of it with many equal times."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    risk = np.exp(0.7 * X["a"] - 0.4 * X["b"]).to_numpy()
    time = np.ceil(6.0 * rng.exponential(1.0 / risk)) + 1.0
    event = rng.random(n) < 0.7
    since = np.floor(rng.uniform(0.0, np.minimum(time, 4.0))) if entry else None
    stratum = np.arange(n) % 3 if strata else None
    return X, FollowUp(time, event, since, stratum)


def strong_times(n, seed, noise, share, tied=False):
    """Return two columns, the first of which gives times away but for noise, and (event, time)."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    log_time = -2.0 * X["a"].to_numpy() + noise * rng.normal(size=n)
    time = np.exp(np.round(3.0 * log_time) / 3.0 if tied else log_time)
    return X, (rng.random(n) < share, time)


def gbsg2():
    """Return the German breast cancer study: variables, and (event, time)."""
    table = pd.read_csv(DATA / "panel" / "surv_gbsg2.csv")
    return table.drop(columns=["time", "target"]), (table["target"] == 1, table["time"])
