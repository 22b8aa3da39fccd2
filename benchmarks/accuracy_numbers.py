"""Accuracy and audit load for numbers and counts: ours, EBM, XGBoost, LightGBM and a linear model.

Tables of the panel. Numbers (abalone, ames, california_housing, concrete, diabetes_reg): shuffled
5 folds, R2. Counts (count_ausprivauto, count_swmotorcycle): one 80/20 split, the share of the
Poisson deviance that is explained, exposure given to every model (to EBM as the logarithm in
`init_score`, to the boosters as `base_margin` and `init_score`, to the linear model as weights of
rates). EBM has 500 rounds and 10 interactions, XGBoost 200 trees of depth 4 and a learning rate of
0.1, LightGBM 200 trees of 31 leaves; nothing is tuned. Categories go to the boosters as such.
fit_seconds are CPU seconds of one thread. Every row is written as soon as it is made; rows that are
there are not made again, but for those of ours with --again.

Run: python benchmarks/accuracy.py run --task regression [--models rpte,ebm] [--tables concrete]
     python benchmarks/accuracy_numbers.py table
"""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import PoissonRegressor, RidgeCV
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from data import read
from peers import NUMBERS, TEXT
from rpte import RPTERegressor, audit_load
from rpte.losses import POISSON

OUT = Path(__file__).parent / "results" / "accuracy_regression.csv"
COUNTS = ("count_ausprivauto", "count_swmotorcycle")
TABLES = ("diabetes_reg", "concrete", "ames", "abalone", "california_housing", *COUNTS)
COLUMNS = (
    "table", "model", "seed", "fold", "explained", "miu", "verified", "fit_seconds", "note"
)  # fmt: skip

Exposure = np.ndarray | None
Predict = Callable[[pd.DataFrame, Exposure], np.ndarray]


def with_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame with its text columns as categories."""
    text = [name for name in X if X[name].dtype.kind not in "fiub"]
    return X.assign(**{name: X[name].astype("category") for name in text})


def ours(X: pd.DataFrame, y: np.ndarray, e: Exposure) -> tuple[Any, Predict]:
    """Fit our default."""
    loss = "squared_error" if e is None else "poisson"
    reg = RPTERegressor(loss=loss, n_jobs=1).fit(X, y, exposure=e)
    return reg, lambda Z, f: reg.predict(Z, f)


def ebm(X: pd.DataFrame, y: np.ndarray, e: Exposure) -> tuple[Any, Predict]:
    """Fit EBM, with the logarithm of the exposure as its initial score."""
    from interpret.glassbox import ExplainableBoostingRegressor

    objective = "rmse" if e is None else "poisson_deviance"
    model = ExplainableBoostingRegressor(
        max_rounds=500, interactions=10, objective=objective, n_jobs=1, random_state=42
    )
    model.fit(X, y, init_score=None if e is None else np.log(e))
    return model, lambda Z, f: model.predict(Z, init_score=None if f is None else np.log(f))


def xgboost(X: pd.DataFrame, y: np.ndarray, e: Exposure) -> tuple[Any, Predict]:
    """Fit XGBoost."""
    from xgboost import XGBRegressor

    objective = "reg:squarederror" if e is None else "count:poisson"
    model = XGBRegressor(
        n_estimators=200, max_depth=4, learning_rate=0.1, objective=objective, n_jobs=1,
        enable_categorical=True, random_state=42,
    )  # fmt: skip
    model.fit(X, y, base_margin=None if e is None else np.log(e))
    return model, lambda Z, f: model.predict(Z, base_margin=None if f is None else np.log(f))


def lightgbm(X: pd.DataFrame, y: np.ndarray, e: Exposure) -> tuple[Any, Predict]:
    """Fit LightGBM, which predicts without its initial score."""
    from lightgbm import LGBMRegressor

    objective = "regression" if e is None else "poisson"
    model = LGBMRegressor(
        n_estimators=200, objective=objective, n_jobs=1, verbose=-1, random_state=42
    )
    model.fit(X, y, init_score=None if e is None else np.log(e))
    return model, lambda Z, f: model.predict(Z) * (1.0 if f is None else f)


def linear(X: pd.DataFrame, y: np.ndarray, e: Exposure) -> tuple[Any, Predict]:
    """Fit a ridge regression, or a Poisson regression of rates with exposures as weights."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    columns = make_column_transformer((numbers, NUMBERS), (levels, TEXT))
    if e is None:
        model = make_pipeline(columns, RidgeCV(np.geomspace(1e-3, 1e4, 15))).fit(X, y)
        return model, lambda Z, _: model.predict(Z)
    model = make_pipeline(columns, PoissonRegressor(alpha=1e-4, max_iter=1000))
    model.fit(X, y / e, poissonregressor__sample_weight=e)
    return model, lambda Z, f: model.predict(Z) * f


MODELS: dict[str, Callable[..., tuple[Any, Predict]]] = {
    "rpte": ours,
    "linear": linear,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "ebm": ebm,
}
CATEGORICAL = ("xgboost", "lightgbm")


def explained(y: np.ndarray, mean: np.ndarray, e: Exposure, rate: float) -> float:
    """Return R2, or the share of the Poisson deviance that is explained beyond a rate."""
    if e is None:
        return 1.0 - float(((y - mean) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    ones = np.ones(len(y))
    null = POISSON.deviance(np.log(rate * e), y, ones)
    return 1.0 - POISSON.deviance(np.log(np.maximum(mean, 1e-12)), y, ones) / null


def load_of(model: Any, X: pd.DataFrame) -> int | str:
    """Return the conditions of a model, or why they are not counted."""
    try:
        return audit_load(model, X.iloc[:50]).miu
    except (TypeError, ValueError):
        return ""


def cell(name: str, X: pd.DataFrame, y: np.ndarray, e: Exposure, split: Any) -> dict[str, Any]:
    """Fit a model on one split and return its row."""
    train, test = split
    table = with_categories(X) if name in CATEGORICAL else X
    some = None if e is None else e[train]
    start = time.process_time()
    model, predict = MODELS[name](table.iloc[train], y[train], some)
    seconds = time.process_time() - start
    mean = predict(table.iloc[test], None if e is None else e[test])
    rate = float(y[train].sum() / (len(train) if some is None else some.sum()))
    found = explained(y[test], mean, None if e is None else e[test], rate)
    row = {"explained": f"{found:.6f}", "fit_seconds": f"{seconds:.3f}"}
    if name == "rpte":
        checks = [check for check in model.verify() if check.name != "not checked"]
        row["verified"] = f"component {sum(c.holds for c in checks)}/{len(checks)}"
    return {**row, "miu": load_of(model, table.iloc[test])}


def splits_of(table: str, n: int, seed: int) -> list[Any]:
    """Return the splits of a table by the protocol."""
    if table in COUNTS:
        return list(ShuffleSplit(1, test_size=0.2, random_state=seed).split(np.zeros(n)))
    return list(KFold(5, shuffle=True, random_state=seed).split(np.zeros(n)))


def run(models: list[str], tables: list[str], seed: int, again: bool, out: Path = OUT) -> None:
    """Fill what is missing, one row at a time."""
    held = Held(out, COLUMNS, Path(__file__).name, tables if again else [])
    for table in tables:
        X, target = read(f"panel/{table}")
        y, e = target.to_numpy(float), None
        if table in COUNTS:
            e, X = X["exposure"].to_numpy(float), X.drop(columns="exposure")
        for fold, split in enumerate(splits_of(table, len(y), seed)):
            for name in models:
                key = {"table": table, "model": name, "seed": seed, "fold": fold}
                held.fill(key, partial(cell, name, X, y, e, split))


class Held:
    """The rows of a file of results; every new one is written as soon as it is made.

    Those of ours on the tables `again` are made again.
    """

    def __init__(self, out: Path, columns: tuple[str, ...], script: str, again: list[str]) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"
        self.out, self.columns, self.script = out, columns, script
        held = pd.read_csv(out, comment="#") if out.exists() else pd.DataFrame(columns=columns)
        held = held[(held["model"] != "rpte") | ~held["table"].isin(again)]
        self.known = {(r.table, r.model, r.seed, r.fold) for r in held.itertuples()}
        self.rows = held.to_dict("records")

    def fill(self, key: dict[str, Any], make: Callable[[], dict[str, Any]]) -> None:
        """Make the row of a key, unless it is there, and write all rows."""
        if tuple(key.values()) in self.known:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = make()
        self.rows.append({**key, **row})
        print(*{**key, **row}.values(), flush=True)
        temporary = self.out.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            file.write(f"# Written by benchmarks/{self.script}; its beginning is the protocol.\n")
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        temporary.replace(self.out)


def table(out: Path = OUT) -> str:
    """Return the means by table and model as Markdown."""
    rows = pd.read_csv(out, comment="#")
    rows["miu"] = pd.to_numeric(rows["miu"])
    found = rows.groupby(["table", "model"])[["explained", "miu", "fit_seconds"]].mean()
    lines = ["| table | model | explained | conditions | fit, CPU s |", "|---|---|---:|---:|---:|"]
    for name in TABLES:
        for model in MODELS:
            if (name, model) in found.index:
                share, miu, seconds = found.loc[(name, model)]
                load = "" if np.isnan(miu) else f"{miu:,.0f}"
                lines.append(f"| {name} | {model} | {share:.4f} | {load} | {seconds:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] != ["table"]:
        raise SystemExit(__doc__)
    print(table())
