"""Short models: a budget, the frontier of an unconstrained fit, and L1 logistic regression.

Protocol: small binary tables of the panel, seeds 1, 2 and 3, two of 5 stratified folds held out, as
in ablation.py. For each budget b three models are compared on the same held-out rows:

- `budget`: `RPTEClassifier(max_inspection_units=b)`;
- `at`: the unconstrained fit's `at(miu=b)`;
- `l1`: scikit-learn's L1 logistic regression over standardised numbers, one-hot levels and missing
  flags, at the smallest penalty of 60 that leaves at most b coefficients.

`validated` is the deviance of inner validation of the first two. Differences are paired by held-out
fold and averaged by table; their standard error is that of the mean over tables.

Run: python benchmarks/budgets.py [--tables heart_c_uci] [--budgets 4,6,8,12] [--print-only]
     [--out benchmarks/results/budgets.csv]
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import l1_min_c

from ablation import splits, with_error
from rpte import RPTEClassifier, RPTEWarning

OUT = Path(__file__).parent / "results" / "budgets.csv"
TABLES = (
    *("heart_c_uci", "pima_diabetes", "blood_transfusion", "breast_cancer_ljubljana"),
    *("mammographic_masses", "heart_failure", "biomed_openml", "loan_eligibility", "swiss_labor"),
    *("mroz_labor", "heart_statlog", "house_votes"),
)
SEEDS = (1, 2, 3)
BUDGETS = (4, 6, 8, 12)
KEY = ["table", "seed", "fold", "budget", "model"]
FIELDS = [*KEY, "auc", "log_loss", "miu", "validated"]
PENALTIES = np.logspace(0, 4, 60)  # times the smallest C that lets a coefficient in


def l1_paths(X: pd.DataFrame, y: pd.Series, out: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield coefficients and held-out probabilities along the path of an L1 logistic regression."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", drop="if_binary")
    chosen = make_column_selector(dtype_exclude=np.number)
    encode = make_column_transformer((levels, chosen), remainder=numbers, sparse_threshold=0.0)
    train, test = encode.fit_transform(X[~out]), encode.transform(X[out])
    least = l1_min_c(train, y[~out], loss="log")
    model = LogisticRegression(
        l1_ratio=1.0, solver="saga", C=1.0, warm_start=True, max_iter=3000, tol=1e-4
    )
    for factor in PENALTIES:
        model.set_params(C=least * factor).fit(train, y[~out])
        count = int((np.abs(model.coef_) > 1e-8).sum())
        yield count, model.predict_proba(test)[:, 1]
        if count > max(BUDGETS):
            return


def validated(model: RPTEClassifier) -> float:
    """Return the deviance of inner validation of a model on its frontier."""
    shown, load = model.frontier_, model.audit().miu
    return float(shown.loc[shown["miu"] <= load, "deviance"].iloc[-1])


def measure(X: pd.DataFrame, y: pd.Series, out: np.ndarray, budgets: list[int]) -> Iterator[dict]:
    """Yield the rows of all models of a split."""
    positive = sorted(y.unique())[1]
    y = (y == positive).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        warnings.filterwarnings("ignore", module="sklearn")
        whole = RPTEClassifier(n_jobs=1).fit(X[~out], y[~out])
        path = list(l1_paths(X, y, out))
        for budget in budgets:
            short = RPTEClassifier(n_jobs=1, max_inspection_units=budget).fit(X[~out], y[~out])
            for name, model in (("budget", short), ("at", whole.at(miu=budget))):
                p = model.predict_proba(X[out])[:, 1]
                own = {"miu": model.audit().miu, "validated": round(validated(model), 6)}
                yield {"budget": budget, "model": name, **scores(y[out], p), **own}
            count, p = [(count, p) for count, p in path if count <= budget][-1]
            yield {"budget": budget, "model": "l1", **scores(y[out], p), "miu": count}


def scores(y: pd.Series, p: np.ndarray) -> dict:
    """Return the AUC and the log-loss of probabilities."""
    return {"auc": round(roc_auc_score(y, p), 6), "log_loss": round(log_loss(y, p), 6)}


def run(tables: list[str], budgets: list[int], path: Path) -> None:
    """Make the rows that the CSV does not have, a held-out fold at a time."""
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    done = set(pd.read_csv(path)[KEY[:3]].itertuples(index=False, name=None))
    for seed, table in product(SEEDS, tables):
        for fold, (X, y, out) in enumerate(splits(table, seed)):
            if (table, seed, fold) in done:
                continue
            rows = list(measure(X, y, out, budgets))
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                for row in rows:
                    writer.writerow({"table": table, "seed": seed, "fold": fold, **row})
            print(table, seed, fold, flush=True)


def table_of(frame: pd.DataFrame) -> str:
    """Return the Markdown table of a budget's models, and of what they differ by."""
    lines = [
        "| budget | AUC of budget, at, l1 | budget less at: AUC, log-loss | budget less l1: AUC, "
        "log-loss | validated worse than at | tables where l1 is ahead in AUC |",
        "|---:|---|---|---|---:|---:|",
    ]
    for budget, rows in frame.groupby("budget"):
        wide = rows.pivot_table(index=KEY[:3], columns="model", values=list(FIELDS[5:]))
        means = wide.groupby("table").mean()
        aucs = ", ".join(f"{means['auc'][m].mean():.4f}" for m in ("budget", "at", "l1"))
        cells = [aucs]
        for other in ("at", "l1"):
            apart = [means[m]["budget"] - means[m][other] for m in ("auc", "log_loss")]
            cells.append(", ".join(with_error(each) for each in apart))
        inner = wide["validated"]
        cells.append(str(int((inner["budget"] > inner["at"] + 1e-6).sum())))
        cells.append(f"{int((means['auc']['budget'] < means['auc']['l1']).sum())} of {len(means)}")
        lines.append(f"| {budget} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Fit what is missing in the CSV, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--print-only", action="store_true", help="fit nothing")
    options = parser.parse_args()
    budgets = [int(each) for each in options.budgets.split(",")]
    if not options.print_only:
        run(options.tables.split(","), budgets, options.out)
    print(table_of(pd.read_csv(options.out)))


if __name__ == "__main__":
    main()
