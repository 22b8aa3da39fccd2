"""Accuracy and audit load for several classes: ours, EBM, XGBoost, LightGBM and a linear model.

Tables of the panel with several classes: shuffled 5 stratified folds, log-loss and the share of
rows that are given their class. EBM has 500 rounds (it has no pairs for several classes), XGBoost
and LightGBM their defaults, the linear model is an L2 logistic regression whose penalty its own
folds choose; nothing else is tuned. Categories go to the boosters as such. fit_seconds are CPU
seconds of one thread. Every row is written as soon as it is made; rows that are there are not made
again, but for those of ours with --again.

Run: python benchmarks/accuracy.py run --task multiclass [--models rpte,ebm] [--tables wine]
     python benchmarks/accuracy_classes.py table
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
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from accuracy_numbers import CATEGORICAL, Held, load_of, with_categories
from data import read
from peers import NUMBERS, TEXT
from rpte import RPTEClassifier

OUT = Path(__file__).parent / "results" / "accuracy_multiclass.csv"
TABLES = ("iris", "wine", "penguins", "dermatology", "vehicle", "car", "satimage")
COLUMNS = (
    "table", "model", "seed", "fold", "log_loss", "accuracy", "miu", "verified", "fit_seconds",
    "note",
)  # fmt: skip
LEAST = 1e-15  # probability that the log-loss counts


def ebm() -> Any:
    """Return EBM."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(max_rounds=500, interactions=0, n_jobs=1, random_state=42)


def xgboost() -> Any:
    """Return XGBoost."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, enable_categorical=True, random_state=42)


def lightgbm() -> Any:
    """Return LightGBM."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=42)


def linear() -> Any:
    """Return an L2 logistic regression."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    columns = make_column_transformer((numbers, NUMBERS), (levels, TEXT))
    model = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=2000)
    return make_pipeline(columns, model)


MODELS: dict[str, Callable[[], Any]] = {
    "rpte": lambda: RPTEClassifier(n_jobs=1),
    "linear": linear,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "ebm": ebm,
}


def cell(name: str, X: pd.DataFrame, y: np.ndarray, split: Any) -> dict[str, Any]:
    """Fit a model on one split and return its row."""
    train, test = split
    table, start = with_categories(X) if name in CATEGORICAL else X, time.process_time()
    model = MODELS[name]().fit(table.iloc[train], y[train])
    seconds = time.process_time() - start
    p = model.predict_proba(table.iloc[test])
    own = p[np.arange(len(test)), y[test]]
    row = {
        "log_loss": f"{-np.log(np.maximum(own, LEAST)).mean():.6f}",
        "accuracy": f"{(p.argmax(axis=1) == y[test]).mean():.6f}",
        "fit_seconds": f"{seconds:.3f}",
    }
    if name == "rpte":
        checks = [check for check in model.verify() if check.name != "not checked"]
        row["verified"] = f"component {sum(c.holds for c in checks)}/{len(checks)}"
    return {**row, "miu": load_of(model, table.iloc[test])}


def run(models: list[str], tables: list[str], seed: int, again: bool, out: Path = OUT) -> None:
    """Fill what is missing, one row at a time."""
    held = Held(out, COLUMNS, Path(__file__).name, tables if again else [])
    for table in tables:
        X, target = read(f"panel/{table}")
        y = pd.factorize(target, sort=True)[0]
        folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)
        for fold, split in enumerate(folds):
            for name in models:
                key = {"table": table, "model": name, "seed": seed, "fold": fold}
                held.fill(key, partial(cell, name, X, y, split))


def table(out: Path = OUT) -> str:
    """Return the means by table and model as Markdown."""
    rows = pd.read_csv(out, comment="#")
    rows["miu"] = pd.to_numeric(rows["miu"])
    figures = ["log_loss", "accuracy", "miu", "fit_seconds"]
    found = rows.groupby(["table", "model"])[figures].mean()
    lines = [
        "| table | model | log-loss | accuracy | conditions | fit, CPU s |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in TABLES:
        for model in MODELS:
            if (name, model) in found.index:
                loss, share, miu, seconds = found.loc[(name, model)]
                load = "" if np.isnan(miu) else f"{miu:,.0f}"
                lines.append(
                    f"| {name} | {model} | {loss:.4f} | {share:.4f} | {load} | {seconds:.1f} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] != ["table"]:
        raise SystemExit(__doc__)
    print(table())
