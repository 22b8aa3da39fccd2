"""Accuracy, calibration and audit load of our models and of the peers, one row per fold.

Suites: `paper12` (the paper's sets, 3 x 5 repeated stratified folds), `panel` (the binary tables, 5
stratified folds; above 20,000 rows one stratified 80/20 split) and `eeg_grouped` (the EEG set, 5
folds that keep recordings together). Every row is written as soon as it is made and is not made
again, so a run that was stopped goes on where it was. `--again` starts a new run of our models; the
old rows stay.

Scores are log odds; log-loss, Brier and calibration take them clipped to +-35. When a repeat is
complete, a row with fold "pooled" holds the logistic regression of y on its held-out scores. These
scores are kept in `benchmarks/.cache`.

Run: python benchmarks/accuracy.py run --suite paper12 [--models rpte,ebm] [--tables lupus,wdbc]
     python benchmarks/accuracy.py run --task regression: numbers and counts, accuracy_numbers.py
     python benchmarks/accuracy.py run --task multiclass: several classes, accuracy_classes.py
     python benchmarks/accuracy.py run --task survival: times until an event, accuracy_survival.py
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import io
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
)
from threadpoolctl import threadpool_limits

import accuracy_classes
import accuracy_numbers
import accuracy_survival
import rpte
from data import folder, read
from panel_smoke import binary_tables
from peers import CLIP, MODELS, OURS, PACKAGES, Rows, log_odds
from rpte import audit_load

HERE = Path(__file__).parent
TASKS = {
    "regression": accuracy_numbers,
    "multiclass": accuracy_classes,
    "survival": accuracy_survival,
}
PAPER12 = (
    "lupus",
    "postoperative_patient_data",
    "appendicitis",
    "corral",
    "haberman",
    "prnn_crabs",
    "biomed",
    "hepatitis",
    "heart_c",
    "saheart",
    "wdbc",
    "eeg_seizure",
)
REPEATS = {"paper12": 3, "panel": 1, "eeg_grouped": 1}
LARGE = 20_000  # rows above which a table of the panel is split once
EBM_SPLITS = {"eeg_seizure": 3}  # the first splits only
POOLED = "pooled"
COLUMNS = (
    "suite",
    "table",
    "model",
    "seed",
    "repeat",
    "fold",
    "run",
    "n_train",
    "n_test",
    "auc",
    "log_loss",
    "brier",
    "calibration_slope",
    "calibration_intercept",
    "mu",
    "miu",
    "iiu",
    "components",
    "largest_component",
    "verified",
    "fit_seconds",
    "version",
    "date",
    "note",
)
HEADER = """\
# Written by benchmarks/accuracy.py; one row per table, model, repeat and fold. Protocol:
# paper12: repeated stratified folds (scikit-learn, shuffled), 3 x 5 unless the rows show others.
# panel: stratified shuffled folds; above 20000 rows one stratified 80/20 split.
# eeg_grouped: paper12/eeg_seizure, stratified folds that keep the 500 recordings together; inner
# validation of every model keeps them together as well.
# Models, grids and how they are cut short: benchmarks/peers.py; note says where a row is cut short.
# Log odds are clipped to +-35 for log_loss, brier and calibration. fold "pooled": the held-out
# scores of one repeat together, and the logistic regression of y on them.
# mu, miu, iiu: rpte.audit_load, iiu as the mean over test rows. verified (ours): ownership, and how
# many checks of verify() hold. fit_seconds: CPU seconds of one thread, tuning included.
# run: a new number for every repetition of our models; the last one counts.
"""


@dataclass(frozen=True)
class Split:
    """One split of a table: its repeat, its fold, and its rows."""

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Plan:
    """What is asked for on the command line."""

    suite: str
    models: tuple[str, ...]
    tables: tuple[str, ...]
    seed: int
    repeats: int
    folds: int
    out: Path
    again: bool


def read_table(suite: str, table: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
    """Return the features, the label and the groups of a table."""
    place = "panel" if suite == "panel" else "paper12"
    X, y = read(f"{place}/{table}")
    if suite != "eeg_grouped":
        return X, y.to_numpy(), None
    groups = pd.read_csv(folder() / "paper12" / "eeg_seizure_groups.csv.gz")["recording"]
    return X, y.to_numpy(), pd.factorize(groups)[0]


def make_splits(plan: Plan, y: np.ndarray, groups: np.ndarray | None) -> list[Split]:
    """Return the splits of a table by the protocol of the suite."""
    if groups is not None:
        return [
            Split(repeat, fold, train, test)
            for repeat in range(plan.repeats)
            for fold, (train, test) in enumerate(
                StratifiedGroupKFold(
                    plan.folds, shuffle=True, random_state=plan.seed + repeat
                ).split(y, y, groups)
            )
        ]
    if plan.suite == "panel" and len(y) > LARGE:
        once = StratifiedShuffleSplit(1, test_size=0.2, random_state=plan.seed)
        return [Split(0, 0, train, test) for train, test in once.split(y, y)]
    folds = RepeatedStratifiedKFold(
        n_splits=plan.folds, n_repeats=plan.repeats, random_state=plan.seed
    )
    return [
        Split(*divmod(i, plan.folds), train, test)
        for i, (train, test) in enumerate(folds.split(y, y))
    ]


def losses(y: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    """Return the log-loss and the Brier score of log odds."""
    clipped = np.clip(score, -CLIP, CLIP)
    log_loss = np.logaddexp(0.0, np.where(y == 1, -clipped, clipped)).mean()
    p = 1.0 / (1.0 + np.exp(-clipped))
    return float(log_loss), float(((p - y) ** 2).mean())


def calibrate(folds: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float] | str:
    """Return slope and intercept of the logistic regression of y on log odds, or why not.

    Scores that are constant within every fold differ by the base rate of the other folds alone.
    """
    if all(np.ptp(score) < 1e-12 for _, score in folds):
        return "constant"
    y, score = (np.concatenate(part) for part in zip(*folds, strict=True))
    s = np.clip(score, -CLIP, CLIP)
    if s[y == 0].max() <= s[y == 1].min():
        return "separable"
    design = np.column_stack([np.ones(len(s)), s])
    beta = np.zeros(2)
    for _ in range(100):
        step = newton_step(design, y, beta)
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    return float(beta[1]), float(beta[0])


def newton_step(design: np.ndarray, y: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return a Newton step of the logistic loss, halved until the loss does not rise."""

    def loss(b: np.ndarray) -> float:
        eta = design @ b
        return float((np.logaddexp(0.0, eta) - y * eta).sum())

    p = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -500, 500)))
    hessian = (design * (p * (1 - p))[:, None]).T @ design
    step = np.linalg.solve(hessian + 1e-12 * np.eye(2), design.T @ (y - p))
    while np.abs(step).max() > 1e-12 and loss(beta + step) > loss(beta):
        step = step / 2
    return step


class Log:
    """The CSV: what it holds, and rows appended one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not path.stat().st_size:
            self._append(HEADER + ",".join(COLUMNS) + "\n")
        held = read_log(path)
        self.keys = set(
            held[["suite", "table", "model", "seed", "run", "repeat", "fold"]].itertuples(
                index=False, name=None
            )
        )

    def last_run(self, plan: Plan, model: str) -> int:
        """Return the number of the last run of a model, 0 if there is none."""
        return max(
            (k[4] for k in self.keys if (k[0], k[2], k[3]) == (plan.suite, model, plan.seed)),
            default=0,
        )

    def holds(self, key: tuple[Any, ...]) -> bool:
        """Tell whether a row exists."""
        return key in self.keys

    def add(self, key: tuple[Any, ...], row: dict[str, Any]) -> None:
        """Append a row and flush it to the disk."""
        names = ("suite", "table", "model", "seed", "run", "repeat", "fold")
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writerow({**dict(zip(names, key, strict=True)), **row})
        self._append(text.getvalue())
        self.keys.add(key)

    def _append(self, text: str) -> None:
        with self.path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def read_log(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV; `fold` is text because of the pooled rows."""
    return pd.read_csv(path, comment="#", dtype={"fold": str})


def label(model: str) -> str:
    """Return our version and commit, and the version of a peer's package."""
    git = ["git", "--no-optional-locks", "-C", str(HERE)]
    commit = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", "../src"], check=False
    ).returncode
    own = f"{rpte.__version__}+{commit}{'.changed' if changed else ''}"
    package = PACKAGES.get(model)
    return own if package is None else f"{own} {package} {version(package)}"


def cell_note(model: str, table: str, notes: tuple[str, ...]) -> str:
    """Return how a cell is cut short."""
    if model == "ebm" and table in EBM_SPLITS:
        notes = (*notes, f"first {EBM_SPLITS[table]} splits only")
    return "; ".join(notes)


def ours_only(model: Any) -> dict[str, Any]:
    """Return what only our models have: components and checked claims."""
    sizes = [len(component.sources) for component in model.model_.components]
    checks = [check for check in model.verify() if check.name != "not checked"]
    held = sum(check.holds for check in checks)
    return {
        "components": len(sizes),
        "largest_component": max(sizes, default=0),
        "verified": f"{model.model_.ownership} {held}/{len(checks)}",
    }


def measure(name: str, rows: Rows, X: pd.DataFrame, y: np.ndarray) -> tuple[dict[str, Any], Any]:
    """Fit a model and return its row and its scores on the test rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        fitted = MODELS[name](rows)
        seconds = time.process_time() - start
        score, load = log_odds(fitted.model, X), audit_load(fitted.model, X)
    log_loss, brier = losses(y, score)
    row = {
        "n_train": len(rows.y),
        "n_test": len(y),
        "auc": f"{roc_auc_score(y, score):.6f}",
        "log_loss": f"{log_loss:.6f}",
        "brier": f"{brier:.6f}",
        "mu": load.mu,
        "miu": load.miu,
        "iiu": f"{load.iiu:.4f}",
        "fit_seconds": f"{seconds:.3f}",
        "note": fitted.notes,
        **(ours_only(fitted.model) if name in OURS else {}),
    }
    return row, score


def pooled_row(folds: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """Return the row of a whole repeat from the labels and scores of its folds."""
    y, score = (np.concatenate(part) for part in zip(*folds, strict=True))
    log_loss, brier = losses(y, score)
    row = {"n_test": len(y), "log_loss": f"{log_loss:.6f}", "brier": f"{brier:.6f}", "note": ()}
    found = calibrate(folds)
    if isinstance(found, str):
        return {**row, "note": (found,)}
    slope, intercept = found
    return {**row, "calibration_slope": f"{slope:.4f}", "calibration_intercept": f"{intercept:.4f}"}


class Benchmark:
    """One call of the script: the plan, the log and the cached scores."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.log = Log(plan.out)
        self.labels = {model: label(model) for model in plan.models}
        self.runs = {model: self._run(model) for model in plan.models}
        self.cache = HERE / ".cache" / plan.out.stem
        self.cache.mkdir(parents=True, exist_ok=True)
        (HERE / ".cache" / ".gitignore").write_text("*\n")

    def _run(self, model: str) -> int:
        last = self.log.last_run(self.plan, model)
        return last + 1 if self.plan.again and model in OURS else max(last, 1)

    def key(self, table: str, model: str, repeat: int, fold: int | str) -> tuple[Any, ...]:
        """Return what makes a row one of a kind."""
        plan = self.plan
        return plan.suite, table, model, plan.seed, self.runs[model], repeat, str(fold)

    def scores(self, key: tuple[Any, ...]) -> Path:
        """Return where the scores of a cell are kept."""
        return self.cache / ("-".join(map(str, key)) + ".npz")

    def table(self, table: str) -> Iterator[str]:
        """Fill the missing cells of a table; yields a line for each cell."""
        X, y, groups = read_table(self.plan.suite, table)
        splits = make_splits(self.plan, y, groups)
        for model in self.plan.models:
            planned = splits[: EBM_SPLITS.get(table)] if model == "ebm" else splits
            for split in planned:
                key = self.key(table, model, split.repeat, split.fold)
                if not self.log.holds(key):
                    train = Rows(X, y, groups, self.plan.seed).take(split.train)
                    row, score = measure(model, train, X.iloc[split.test], y[split.test])
                    np.savez(self.scores(key), score=score, y=y[split.test], test=split.test)
                    self._add(key, row)
                yield f"{table} {model} {split.repeat} {split.fold}"
            self._pool(table, model, planned)

    def _pool(self, table: str, model: str, planned: list[Split]) -> None:
        for repeat in {split.repeat for split in planned}:
            key = self.key(table, model, repeat, POOLED)
            folds = [split.fold for split in planned if split.repeat == repeat]
            paths = [self.scores(self.key(table, model, repeat, fold)) for fold in folds]
            if not self.log.holds(key) and all(path.exists() for path in paths):
                parts = [np.load(path) for path in paths]
                self._add(key, pooled_row([(part["y"], part["score"]) for part in parts]))

    def _add(self, key: tuple[Any, ...], row: dict[str, Any]) -> None:
        table, model = key[1], key[2]
        self.log.add(
            key,
            {
                **row,
                "version": self.labels[model],
                "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
                "note": cell_note(model, table, row["note"]),
            },
        )


def warm_up() -> None:
    """Compile or load our kernels, so that no timed fit does."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    MODELS["rpte"](Rows(X.iloc[:120, :4], y.to_numpy()[:120]))


def run(plan: Plan) -> None:
    """Run everything that is missing, with a progress bar."""
    if set(plan.models) & set(OURS):
        warm_up()
    benchmark = Benchmark(plan)
    columns = (TextColumn("{task.description:50}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn()) as progress:
        bar = progress.add_task("tables", total=len(plan.tables))
        for table in plan.tables:
            progress.update(bar, description=table)
            for line in benchmark.table(table):
                progress.update(bar, description=line)
            progress.advance(bar)


def chosen_tables(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the tables that are asked for, the smallest first."""
    known = {"paper12": PAPER12, "panel": tuple(binary_tables()), "eeg_grouped": ("eeg_seizure",)}
    tables = known[args.suite]
    if args.tables:
        unknown = set(args.tables.split(",")) - set(tables)
        if unknown:
            raise SystemExit(f"no table {sorted(unknown)} in {args.suite}; it has {list(tables)}")
        tables = tuple(table for table in tables if table in args.tables.split(","))
    if args.max_rows is None and args.max_columns is None:
        return tables
    return tuple(table for table in tables if is_small(args, table))


def is_small(args: argparse.Namespace, table: str) -> bool:
    """Tell whether a table is within the limits of the command line."""
    n, p = read_table(args.suite, table)[0].shape
    return n <= (args.max_rows or np.inf) and p <= (args.max_columns or np.inf)


def chosen_models(text: str) -> tuple[str, ...]:
    """Return the models that are asked for."""
    names = tuple(text.split(",")) if text else tuple(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        raise SystemExit(f"no model {unknown}; the models are {list(MODELS)}")
    return names


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    command = parser.add_subparsers(dest="command", required=True).add_parser("run")
    command.add_argument("--task", choices=("binary", *TASKS), default="binary")
    command.add_argument("--suite", choices=REPEATS, help="of two classes; must be given for them")
    command.add_argument("--models", default="", help="names separated by commas; all if empty")
    command.add_argument("--tables", default="", help="names separated by commas; all if empty")
    command.add_argument("--seed", type=int, default=42)
    command.add_argument("--repeats", type=int, help="3 for paper12, else 1")
    command.add_argument("--folds", type=int, default=5)
    command.add_argument("--max-rows", type=int, help="leave out tables with more rows")
    command.add_argument("--max-columns", type=int, help="leave out tables with more columns")
    command.add_argument("--again", action="store_true", help="a new run of our models")
    command.add_argument(
        "--out", type=Path, help="benchmarks/results/accuracy_<suite>.csv if not given"
    )
    return parser.parse_args()


def main() -> None:
    """Run the benchmark on one thread."""
    os.environ["OMP_NUM_THREADS"] = "1"
    args = parse()
    if args.task != "binary":
        task = TASKS[args.task]
        models = args.models.split(",") if args.models else list(task.MODELS)
        tables = args.tables.split(",") if args.tables else [*task.TABLES]
        with threadpool_limits(1):
            task.run(models, tables, args.seed, args.again)
        return
    if args.suite is None:
        raise SystemExit(f"--suite must be one of {list(REPEATS)}")
    plan = Plan(
        suite=args.suite,
        models=chosen_models(args.models),
        tables=chosen_tables(args),
        seed=args.seed,
        repeats=args.repeats or REPEATS[args.suite],
        folds=args.folds,
        out=args.out or HERE / "results" / f"accuracy_{args.suite}.csv",
        again=args.again,
    )
    with threadpool_limits(1):
        run(plan)


if __name__ == "__main__":
    main()
