"""Coverage and width of 90% prediction intervals: widths that follow the case against one rule.

Tables of the panel, fitted as in `accuracy_numbers.py`: numbers on shuffled 5 folds, counts on one
80/20 split, exposure given. Intervals rest on the rows that inner validation held out. Both rows of
a table are of the same fits: `loss` takes the width from the loss alone, as version 0.1 did (one
width for all numbers, the root of the mean for counts), `case` the typical error of predictions
like its own. A fifth is of the test rows by prediction, a category one of the named variable with
at least 30 test rows; worst is the share furthest from 90 %.

Run: python benchmarks/intervals.py [--tables abalone,ames] (writes results/intervals.csv)
     python benchmarks/intervals.py table
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from accuracy_numbers import COUNTS, TABLES, splits_of
from data import read
from rpte import RPTERegressor
from rpte.fit.calibration import HeldOut, with_held_out
from rpte.model.model import Model

OUT = Path(__file__).parent / "results" / "intervals.csv"
ALPHA, LEAST_ROWS = 0.1, 30
CATEGORY = {
    "diabetes_reg": "sex",
    "abalone": "sex",
    "ames": "Neighborhood",
    "california_housing": "ocean_proximity",
    "count_ausprivauto": "DrivAge",
    "count_swmotorcycle": "RiskClass",
}
COLUMNS = ("table", "width", "rows", "coverage", "fifths", "category", "mean_width", "negative")


def fitted(X: pd.DataFrame, y: np.ndarray, e: np.ndarray | None) -> dict[str, Model]:
    """Return the model of one fit with both kinds of intervals."""
    by_loss: dict[str, Model] = {}

    def both(model: Model, found: HeldOut, by: str) -> Model:
        made = with_held_out(model, found, by)
        with patch("rpte.fit.calibration.typical_errors", lambda *_: None):
            plain = with_held_out(model, found, by)
        key = repr(made.training["calibration"]["scores"])
        by_loss[key] = replace(plain, target=replace(plain.target, least=None))
        return made

    loss = "squared_error" if e is None else "poisson"
    with patch("rpte.selection.frontier.with_held_out", both):
        reg = RPTERegressor(loss=loss, n_jobs=1).fit(X, y, exposure=e)
    model = reg.model_
    return {"loss": by_loss[repr(model.training["calibration"]["scores"])], "case": model}


def tested(model: Model, X: pd.DataFrame, y: np.ndarray, e: np.ndarray | None) -> pd.DataFrame:
    """Return what is known of each test row."""
    low, high = model.predict_interval(X, ALPHA, e).T
    mean = model.target.mean(model.score(X), e)
    fifth = np.argsort(np.argsort(mean, kind="stable")) * 5 // len(mean)
    inside = (low <= y) & (y <= high)
    return pd.DataFrame({"inside": inside, "width": high - low, "fifth": fifth, "low": low})


def measured(name: str) -> list[dict[str, Any]]:
    """Return the two rows of a table, over the test rows of all its splits."""
    X, target = read(f"panel/{name}")
    y, e = target.to_numpy(float), None
    if name in COUNTS:
        e, X = X["exposure"].to_numpy(float), X.drop(columns="exposure")
    found: dict[str, list[pd.DataFrame]] = {"loss": [], "case": []}
    for train, test in splits_of(name, len(y), 0):
        models = fitted(X.iloc[train], y[train], None if e is None else e[train])
        for width, model in models.items():
            rows = tested(model, X.iloc[test], y[test], None if e is None else e[test])
            if name in CATEGORY:
                rows["category"] = X.iloc[test][CATEGORY[name]].astype(str).to_numpy()
            found[width].append(rows)
    return [row_of(name, width, pd.concat(parts)) for width, parts in found.items()]


def row_of(name: str, width: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Sum up the test rows of a table."""
    fifths = rows.groupby("fifth")["inside"].mean()
    worst = ""
    if "category" in rows:
        shares = rows.groupby("category")["inside"].agg(["mean", "size"])
        shares = shares.loc[shares["size"] >= LEAST_ROWS, "mean"]
        at = (shares - (1.0 - ALPHA)).abs().idxmax()
        worst = f"{CATEGORY[name]} {at} {shares[at]:.3f}"
    return {
        "table": name,
        "width": width,
        "rows": len(rows),
        "coverage": f"{rows['inside'].mean():.3f}",
        "fifths": " ".join(f"{share:.2f}" for share in fifths),
        "category": worst,
        "mean_width": f"{rows['width'].mean():.4g}",
        "negative": f"{(rows['low'] < 0).mean():.3f}",
    }


def run(tables: list[str]) -> None:
    """Measure some tables and write all rows that there are."""
    os.environ["OMP_NUM_THREADS"] = "1"
    held = stored().to_dict("records") if OUT.exists() else []
    for name in tables:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = measured(name)
        print(*rows, sep="\n", flush=True)
        held = [row for row in held if row["table"] != name] + rows
        with OUT.open("w", newline="") as file:
            file.write("# Written by benchmarks/intervals.py; its beginning is the protocol.\n")
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(held)


def stored() -> pd.DataFrame:
    """Return the rows that the file has, as texts."""
    return pd.read_csv(OUT, comment="#", dtype=str, keep_default_na=False)


def table() -> str:
    """Return the rows as Markdown."""
    rows = stored()
    head = (
        "| table | width by | inside | by fifth of the prediction | worst category | mean width |"
    )
    lines = [head, "|---|---|---:|---|---|---:|"]
    for row in rows.itertuples():
        cells = row.table, row.width, row.coverage, row.fifths, row.category, row.mean_width
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["table"])
    parser.add_argument("--tables", default=",".join(TABLES))
    given = parser.parse_args()
    if given.what == "table":
        print(table())
    else:
        run(given.tables.split(","))
