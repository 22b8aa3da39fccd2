"""What each part of the default is worth: one row per idea, kept or not.

Protocol: small and middling tables of the panel, 5 stratified folds, shuffled, seed 7 (the seed of
development; the accuracy benchmark uses 42). Every variant is the default with one thing changed,
by its parameters or by a constant of the library; rows go to a CSV as they are made, and a second
run goes on where the first stopped. The differences are to the default on the same folds.

Run: python benchmarks/ablation.py [--tables a,b] [--variants default,no_trees]
     [--out benchmarks/results/ablation.csv]
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from data import read
from rpte import RPTEClassifier

RESULTS = Path(__file__).parent / "results"
TABLES = (
    "hepatitis_uci",
    "biomed_openml",
    "heart_statlog",
    "breast_cancer_ljubljana",
    "heart_failure",
    "blood_transfusion",
    "mroz_labor",
    "swiss_labor",
    "monk2",
    "sonar",
    "cylinder_bands",
    "sick",
)
VARIANTS: dict[str, tuple[str, dict]] = {
    "default": ("the default", {}),
    "raw_columns": ("no shapes: values and levels only", {"vocabulary": "original"}),
    "hug_patterns": ("the paper's mined patterns instead of shapes", {"vocabulary": "hug"}),
    "no_products": ("no products of two variables", {"pattern_order": 1}),
    "no_trees": ("no trees", {"max_trees": 0}),
    "additive": ("neither trees nor products", {"max_trees": 0, "pattern_order": 1}),
    "small_trees": ("trees of at most 12 leaves", {"max_leaves": 12}),
    "l1_alone": ("no ridge share", {"l1_ratio": 1.0}),
    "ridge_always": ("an L1 share of 0.15 always", {"l1_ratio": 0.15}),
    "free_conditions": ("conditions cost nothing", {"audit_price": 0.0}),
    "half_price": ("half the audit price", {"audit_price": 0.001}),
    "double_price": ("twice the audit price", {"audit_price": 0.004}),
    "fourfold_price": ("four times the audit price", {"audit_price": 0.008}),
    "lookahead": ("trees look two levels ahead", {"lookahead": True}),
    "one_variable_components": ("components of one variable", {"max_component_sources": 1}),
}
# Ideas that are no parameter: a constant of the library, set for the length of the fits.
PATCHES: dict[str, tuple[str, str, str, object]] = {
    "values_menu": (
        "only slopes, logs and levels",
        "selection.select",
        "SHAPE_FAMILIES",
        ("values",),
    ),
    "one_menu": (
        "slopes, or all shapes in one family",
        "selection.select",
        "SHAPE_FAMILIES",
        ("values", "all"),
    ),
    "curves_alone": (
        "hinges and distances, no steps",
        "selection.select",
        "SHAPE_FAMILIES",
        ("values", "curves"),
    ),
    "steps_alone": (
        "steps, no hinges",
        "selection.select",
        "SHAPE_FAMILIES",
        ("values", "levels", "steps"),
    ),
    "no_distances": ("no distances of two numbers", "vocabulary.products", "MOST_NUMBERS", 0),
    "more_knots": ("12 knots on small tables too", "vocabulary.shapes", "KNOTS", 12),
    "three_knots": ("3 knots on small tables", "vocabulary.shapes", "KNOTS", 3),
    "few_cases": ("every shape however few the cases", "rows.scale", "CASES_FOR_SHAPES", 0),
    "folds_once": ("inner folds dealt out once, not three times", "rows.scale", "REPEATS", 1),
    "fine_grid": ("41 lambdas instead of 25", "rows.scale", "PATH_LENGTH", 41),
    "linear_price": ("every condition at the same price", "rows.scale", "LOG_PRICE_FROM", 1e9),
    "half_the_parts": ("products of 120 parts", "vocabulary.products", "MOST_PARTS", 120),
    "no_choice": ("no more candidates than products", "vocabulary.products", "CANDIDATES", 60),
}
FIELDS = ["table", "variant", "fold", "auc", "log_loss", "miu"]


def rows_of(table: str, variant: str) -> list[dict]:
    """Fit a variant on the five folds of a table."""
    parameters = VARIANTS[variant][1] if variant in VARIANTS else {}
    X, y = read(f"panel/{table}")
    rows = []
    splits = StratifiedKFold(5, shuffle=True, random_state=7).split(X, y)
    for fold, (train, test) in enumerate(splits):
        model = RPTEClassifier(**parameters).fit(X.iloc[train], y.iloc[train])
        p = model.predict_proba(X.iloc[test])[:, 1]
        truth = y.iloc[test]
        scores = (roc_auc_score(truth, p), log_loss(truth, p), model.audit().miu)
        rows.append(dict(zip(FIELDS, (table, variant, fold, *scores), strict=True)))
    return rows


@contextmanager
def patched(variant: str) -> Iterator[None]:
    """Set the constant of a variant, if it has one."""
    if variant not in PATCHES:
        yield
        return
    _, place, name, value = PATCHES[variant]
    module = import_module(f"rpte.{place}")
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def table_of(frame: pd.DataFrame) -> str:
    """Return the Markdown table: means over the tables that every variant has."""
    means = frame.groupby(["variant", "table"])[["auc", "log_loss", "miu"]].mean()
    said = {name: entry[0] for name, entry in (VARIANTS | PATCHES).items()}
    done = [v for v in said if v in means.index.get_level_values(0)]
    shared = set.intersection(*(set(means.loc[v].index) for v in done))
    lines = [
        f"Means over {len(shared)} tables: {', '.join(sorted(shared))}.",
        "",
        "| variant | AUC | log-loss | MIU | change in AUC | change in log-loss |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    mean = {v: means.loc[v].loc[sorted(shared)].mean() for v in done}
    for variant in done:
        row, change = mean[variant], mean[variant] - mean["default"]
        lines.append(
            f"| {said[variant]} | {row.auc:.4f} | {row.log_loss:.4f} | {row.miu:.1f} | "
            f"{change.auc:+.4f} | {change.log_loss:+.4f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Fit what is missing in the CSV, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--variants", default=",".join(VARIANTS | PATCHES))
    parser.add_argument("--out", type=Path, default=RESULTS / "ablation.csv")
    parser.add_argument("--print-only", action="store_true")
    options = parser.parse_args()
    if not options.out.exists():
        options.out.write_text(",".join(FIELDS) + "\n")
    done = pd.read_csv(options.out).groupby(["table", "variant"]).size()
    for table in [] if options.print_only else options.tables.split(","):
        for variant in options.variants.split(","):
            if done.get((table, variant), 0) >= 5:
                continue
            with patched(variant):
                rows = rows_of(table, variant)
            with options.out.open("a", newline="") as file:
                csv.DictWriter(file, FIELDS).writerows(rows)
            print(table, variant, f"{np.mean([row['auc'] for row in rows]):.4f}", flush=True)
    print(table_of(pd.read_csv(options.out)))


if __name__ == "__main__":
    main()
