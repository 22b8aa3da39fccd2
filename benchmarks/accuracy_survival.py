"""Accuracy and audit load for times until an event: ours and scikit-survival's models.

Tables of the panel with a time and an event, without columns that are not known at the start
(support2: another model's predictions; flchain: the cause of death): shuffled 5 folds, stratified
by the event. Uno's C with times up to the 90% quantile of the event times of the training rows, and
the Brier score integrated from their 10% to their 90% quantile; weights for censoring come from the
training rows, and test times beyond the last training time count as censored there. Penalised Cox
is a ridge whose penalty its own folds choose by concordance, the forest has 100 trees, boosting its
defaults; categories are one-hot for them, missing numbers the median with a flag. The forest of
tables above 5,000 rows sees times rounded up to 200 quantiles, for its memory. fit_seconds are CPU
seconds of one thread. Every row is written as soon as it is made; rows that are there are not made
again, but for those of ours with --again.

Run: python benchmarks/accuracy.py run --task survival [--models rpte,cox] [--tables surv_pbc]
     python benchmarks/accuracy_survival.py table
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from accuracy_numbers import Held, load_of
from data import read
from peers import NUMBERS, TEXT
from rpte import RPTESurvival

OUT = Path(__file__).parent / "results" / "accuracy_survival.csv"
TABLES = (
    "surv_pbc", "surv_whas500", "surv_gbsg2", "surv_rotterdam", "surv_flchain", "surv_support2",
)  # fmt: skip
COLUMNS = (
    "table", "model", "seed", "fold", "uno_c", "brier", "miu", "verified", "fit_seconds", "note"
)  # fmt: skip
NOT_KNOWN = ("surv2m", "surv6m", "chapter")  # at the start
HORIZONS = 100  # of the integrated Brier score
LONG, QUANTILES = 5_000, 200


def columns() -> Any:
    """Return what makes numbers of a table for the peers."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", min_frequency=5, sparse_output=False)
    return make_column_transformer((numbers, NUMBERS), (levels, TEXT))


def cox() -> Any:
    """Return a ridge Cox regression."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    asked = {"coxphsurvivalanalysis__alpha": [0.1, 1.0, 10.0, 100.0, 1000.0]}
    return GridSearchCV(make_pipeline(columns(), CoxPHSurvivalAnalysis()), asked, cv=5)


def forest() -> Any:
    """Return a random survival forest."""
    from sksurv.ensemble import RandomSurvivalForest

    return make_pipeline(columns(), RandomSurvivalForest(100, n_jobs=1, random_state=42))


def boosting() -> Any:
    """Return gradient boosting."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    return make_pipeline(columns(), GradientBoostingSurvivalAnalysis(random_state=42))


MODELS: dict[str, Callable[[], Any]] = {
    "rpte": lambda: RPTESurvival(n_jobs=1),
    "cox": cox,
    "forest": forest,
    "boosting": boosting,
}


def cell(name: str, X: pd.DataFrame, y: np.ndarray, split: Any) -> dict[str, Any]:
    """Fit a model on one split and return its row."""
    from sksurv.metrics import concordance_index_ipcw, integrated_brier_score

    train, test = split
    learned, judged = y[train], y[test].copy()
    seen = rounded(learned) if name == "forest" and len(train) > LONG else learned
    start = time.process_time()
    model = MODELS[name]().fit(X.iloc[train], seen)
    model = getattr(model, "best_estimator_", model)
    seconds = time.process_time() - start
    # Weights for censoring end before the last training time.
    last = np.nextafter(learned["time"].max(), 0.0)
    judged["event"] &= judged["time"] < last
    judged["time"] = np.minimum(judged["time"], last)
    low, high = np.quantile(learned["time"][learned["event"]], (0.1, 0.9))
    times = np.linspace(low, min(high, np.nextafter(judged["time"].max(), 0.0)), HORIZONS)
    curves = model.predict_survival_function(X.iloc[test])
    survival = np.vstack([curve(times) for curve in curves])
    risk = model.predict(X.iloc[test])
    row = {
        "uno_c": f"{concordance_index_ipcw(learned, judged, risk, tau=times[-1])[0]:.6f}",
        "brier": f"{integrated_brier_score(learned, judged, survival, times):.6f}",
        "fit_seconds": f"{seconds:.3f}",
    }
    if name == "rpte":
        checks = [check for check in model.verify() if check.name != "not checked"]
        row["verified"] = f"component {sum(c.holds for c in checks)}/{len(checks)}"
    return {**row, "miu": load_of(model, X.iloc[test])}


def rounded(y: np.ndarray) -> np.ndarray:
    """Return outcomes with times rounded up to quantiles of the event times."""
    ends = np.quantile(y["time"][y["event"]], np.linspace(0.0, 1.0, QUANTILES), method="higher")
    ends = np.unique(np.append(ends, y["time"].max()))
    found = y.copy()
    found["time"] = ends[np.searchsorted(ends, y["time"])]
    return found


def outcomes(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the features of a table, and events with their times."""
    X, event = read(f"panel/{table}")
    time_of = X.pop("time")
    X = X.drop(columns=[name for name in NOT_KNOWN if name in X])
    y = np.empty(len(X), [("event", bool), ("time", float)])
    y["event"], y["time"] = event == 1, time_of
    return X, y


def run(models: list[str], tables: list[str], seed: int, again: bool, out: Path = OUT) -> None:
    """Fill what is missing, one row at a time."""
    held = Held(out, COLUMNS, Path(__file__).name, tables if again else [])
    for table in tables:
        X, y = outcomes(table)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y["event"])
        for fold, split in enumerate(folds):
            for name in models:
                key = {"table": table, "model": name, "seed": seed, "fold": fold}
                held.fill(key, partial(cell, name, X, y, split))


def table(out: Path = OUT) -> str:
    """Return the means by table and model as Markdown."""
    rows = pd.read_csv(out, comment="#")
    rows["miu"] = pd.to_numeric(rows["miu"])
    found = rows.groupby(["table", "model"])[["uno_c", "brier", "miu", "fit_seconds"]].mean()
    lines = [
        "| table | model | Uno's C | Brier, integrated | conditions | fit, CPU s |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in TABLES:
        for model in MODELS:
            if (name, model) in found.index:
                c, brier, miu, seconds = found.loc[(name, model)]
                load = "" if np.isnan(miu) else f"{miu:,.0f}"
                lines.append(
                    f"| {name} | {model} | {c:.4f} | {brier:.4f} | {load} | {seconds:.1f} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] != ["table"]:
        raise SystemExit(__doc__)
    print(table())
