"""What each part of the default is worth: one row per idea, on twelve tables with three seeds.

Protocol: binary tables of the panel, small to large. For each of the seeds 1, 2 and 3 (the accuracy
benchmark uses 42) the rows are dealt out to 5 stratified folds, shuffled, and the first two of them
are held out in turn; of a table above 25,000 rows each seed draws so many at random. Every variant
is the default with one thing changed, by its parameters or by constants of the library. Changes are
to the default on the same held-out rows, averaged by table; their standard error is that of the
mean over tables. Seconds are of the processor on one thread, and other work on the machine still
shows in them: the ratio of times is approximate.

Rows go to a CSV as they are made, and a second run goes on where the first stopped. `--write` puts
the table into a page, between the lines `<!-- ablation:begin -->` and `<!-- ablation:end -->`.

Run: python benchmarks/ablation.py [--tables sonar,adult | panel] [--variants default,no_trees]
     [--most-rows 5000] [--print-only] [--write docs/method.md]
     [--out benchmarks/results/ablation.csv]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from textwrap import fill
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from data import read
from panel_smoke import binary_tables
from rpte import RPTEClassifier, RPTEWarning

OUT = Path(__file__).parent / "results" / "ablation.csv"
TABLES = (
    *("heart_failure", "breast_cancer_ljubljana", "mroz_labor", "pima_diabetes", "sonar", "monk2"),
    *("credit_scoring_spain", "toronto_arrests", "health_insurance", "mammography_microcalc"),
    *("bank_marketing", "adult"),
)
SEEDS = (1, 2, 3)
FOLDS, HELD_OUT = 5, 2
MOST_ROWS = 25_000
CELL = ["table", "seed", "fold"]
MEASURES = ["auc", "log_loss", "miu", "seconds"]
FIELDS = ["variant", *CELL, *MEASURES]
MARKS = ("<!-- ablation:begin -->\n", "<!-- ablation:end -->")


@dataclass(frozen=True)
class Variant:
    """The default with one thing changed."""

    text: str
    parameters: dict[str, object] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)  # of the library, by dotted name


VARIANTS = {
    "default": Variant("the default"),
    "free": Variant(
        'shapes of all kinds added up, as in 0.1 (`shapes="free"`)', {"shapes": "free"}
    ),
    "no_products": Variant("no products of two variables", {"pattern_order": 1}),
    "no_trees": Variant("no trees", {"max_trees": 0}),
    "additive": Variant("neither trees nor products", {"max_trees": 0, "pattern_order": 1}),
    "one_variable": Variant("components of one variable", {"max_component_sources": 1}),
    "no_lengths": Variant(
        "no models of given lengths, penalty paths alone",
        constants={
            "rows.scale.LENGTHS_FROM_CASES": math.inf,
            "rows.scale.LENGTHS_ALONE_FROM_CASES": math.inf,
        },
    ),
    "one_round": Variant("one round of products", constants={"rows.scale.PRODUCT_ROUNDS": 1}),
    "no_fine_knots": Variant(
        "no fine knots", constants={"vocabulary.shapes.FOR_FINE_KNOTS": math.inf}
    ),
    "no_level_sets": Variant("no sets of levels", constants={"vocabulary.cuts.MOST_LEVELS": 0}),
    "raw_columns": Variant("raw columns: values and levels only", {"vocabulary": "original"}),
    "hug_patterns": Variant("the paper's patterns instead of shapes", {"vocabulary": "hug"}),
    "rules": Variant('yes/no statements alone (`form="rules"`)', {"form": "rules"}),
    "no_ridge": Variant("no ridge share", {"l1_ratio": 1.0}),
    "free_conditions": Variant("conditions cost nothing", {"audit_price": 0.0}),
    "root_price": Variant(
        "price falls with the root of the cases", constants={"rows.scale.PRICE_POWER": 0.5}
    ),
}


@contextmanager
def patched(variant: Variant) -> Iterator[None]:
    """Set the constants of a variant for the length of a fit."""
    with ExitStack() as stack:
        for name, value in variant.constants.items():
            stack.enter_context(patch(f"rpte.{name}", value))
        yield


def splits(
    table: str, seed: int, most_rows: int = MOST_ROWS
) -> Iterator[tuple[pd.DataFrame, pd.Series, np.ndarray]]:
    """Yield features, label and which rows are held out, for the first folds of a seed."""
    X, y = read(f"panel/{table}")
    if len(X) > most_rows:
        X = X.sample(most_rows, random_state=seed)
        y = y[X.index]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)
    for _, (_, test) in zip(range(HELD_OUT), folds, strict=False):
        yield X, y, np.isin(np.arange(len(X)), test)


def measure(variant: Variant, X: pd.DataFrame, y: pd.Series, out: np.ndarray) -> dict:
    """Fit a variant and return what its row says of the rows held out."""
    start = time.process_time()
    with patched(variant), warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        model = RPTEClassifier(n_jobs=1, **variant.parameters).fit(X[~out], y[~out])
    seconds = round(time.process_time() - start, 3)
    p = model.predict_proba(X[out])[:, 1]
    scores = round(roc_auc_score(y[out], p), 6), round(log_loss(y[out], p), 6)
    return dict(zip(MEASURES, (*scores, model.audit().miu, seconds), strict=True))


def run(tables: list[str], variants: list[str], path: Path, most_rows: int) -> None:
    """Make the rows that the CSV does not have, all variants of a fold one after the other."""
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    done = set(pd.read_csv(path)[["variant", *CELL]].itertuples(index=False, name=None))
    for seed, table in product(SEEDS, tables):
        for fold, split in enumerate(splits(table, seed, most_rows)):
            for name in variants:
                key = (name, table, seed, fold)
                if key in done:
                    continue
                row = dict(zip(FIELDS, key, strict=False)) | measure(VARIANTS[name], *split)
                with path.open("a", newline="") as file:
                    csv.DictWriter(file, FIELDS).writerow(row)
                print(*row.values(), flush=True)


def shared(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the held-out folds that all variants have."""
    frame = frame[frame["variant"].isin(list(VARIANTS))]
    variants = frame.groupby(CELL)["variant"].transform("nunique")
    return frame[variants == frame["variant"].nunique()]


def with_error(changes: pd.Series) -> str:
    """Return the mean of changes by table with its standard error."""
    return f"{changes.mean():+.4f} ± {changes.sem():.4f}"


def line_of(mean: pd.DataFrame, default: pd.DataFrame) -> str:
    """Return the numbers of a variant, from its means by table and those of the default."""
    auc, loss, miu, _ = mean.mean()
    numbers = f"{auc:.4f} | {loss:.4f} | {miu:.1f}"
    if mean is default:
        return f"{numbers} | | | 1.00"
    change, times = mean - default, np.log(mean["seconds"] / default["seconds"])
    changes = f"{with_error(change['auc'])} | {with_error(change['log_loss'])}"
    return f"{numbers} | {changes} | {np.exp(times.mean()):.2f}"


def table_of(frame: pd.DataFrame, most_rows: int = MOST_ROWS) -> str:
    """Return the Markdown table with its caption."""
    frame = shared(frame)
    # A first fit also loads kernels, so seconds are medians.
    how = dict.fromkeys(MEASURES, "mean") | {"seconds": "median"}
    means = {v: rows.groupby("table").agg(how) for v, rows in frame.groupby("variant")}
    known = frame["table"].unique().tolist()
    tables = sorted(known, key=lambda t: TABLES.index(t) if t in TABLES else len(TABLES))
    caption = (
        f"Means over {len(tables)} tables ({', '.join(tables)}) and "
        f"{frame.groupby(CELL).ngroups} held-out folds (two of 5 for each of "
        f"{frame['seed'].nunique()} seeds; at most {most_rows:,} rows of a table). Changes are to "
        "the default on the same rows, ± their standard error over tables; fit times are relative "
        "and approximate (`benchmarks/ablation.py`, `results/ablation.csv`)."
    )
    head = "| variant | AUC | log-loss | MIU | change in AUC | change in log-loss | fit time |"
    lines = [fill(caption, 100), "", head, "|---|---:|---:|---:|---:|---:|---:|"]
    known = [name for name in VARIANTS if name in means]
    lines += [f"| {VARIANTS[v].text} | {line_of(means[v], means['default'])} |" for v in known]
    return "\n".join(lines)


def put(text: str, page: Path) -> None:
    """Replace what stands between the marks of a page."""
    before, begin, rest = page.read_text().partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise ValueError(f"{page} has no lines {MARKS[0].strip()} and {MARKS[1]}; add them")
    page.write_text(f"{before}{begin}{text}\n{end}{after}")


def main() -> None:
    """Fit what is missing in the CSV, then print the table or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--most-rows", type=int, default=MOST_ROWS, help="of a table")
    parser.add_argument("--print-only", action="store_true", help="fit nothing")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page")
    options = parser.parse_args()
    variants = options.variants.split(",")
    tables = binary_tables() if options.tables == "panel" else options.tables.split(",")
    if not options.print_only:
        run(tables, variants, options.out, options.most_rows)
    text = table_of(pd.read_csv(options.out).query("variant in @variants"), options.most_rows)
    put(text, options.write) if options.write else print(text)


if __name__ == "__main__":
    main()
