"""Time and memory of our fits and predictions beside XGBoost and LightGBM, as ratios in one run.

Every cell is measured in a process of its own, after a fit of a small table that loads libraries
and kernels: fit, `predict_proba` of all rows, `predict_proba` of one row, and the peak memory above
that of the process with its data. Short cells are repeated for a few seconds after the first time,
and the median of these counts. Libraries get the table as their users pass it: ours as it is, the
boosters with text as pandas categories, the conversion timed. The boosters: 200 trees, XGBoost of
depth 4, LightGBM of 31 leaves. EBM (500 rounds, 10 interactions) and the author's hugiml-core
(settings of reference_peer.py, which tells how to install it) are measured once where --models
names them; their predictions are not timed. `policies` (claim counts, exposure given to every model
as in accuracy_numbers.py) and `amounts` (numbers) are fitted by the regressors of each library.
Tables of several classes, with peers as they come, are in speed_classes.py: `run --classes`.
`lightgbm_cv` is what a user would run instead of our default: LightGBM with at most 500 rounds of
learning rate .1 and 31 leaves, stopped early in 5 folds (20 rounds without gain), and a fit of all
rows with the mean number of rounds. `peer` compares processor time with it, both in one process,
in turn, after small fits; the least of some repeats counts, which other programs disturb least.

Run: python benchmarks/speed.py run [--data breast_cancer,adult] [--models rpte,lightgbm]
     [--classes] [--threads 1,2] [--out benchmarks/results/speed.csv]
     python benchmarks/speed.py table; python benchmarks/speed.py startup [--fresh]
     python benchmarks/speed.py peer [--data pima_diabetes,concrete] [--repeats 2]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rpte
import speed_classes as several

HERE = Path(__file__).parent
OUT = HERE / "results" / "speed.csv"
TREES = 200
ENOUGH = 4.0  # seconds of repeats; a fit that takes longer is measured once
MOST_REPEATS = 7
ONE_ROWS = 200
# Ratio of our fit to a peer's that the cell is to stay below.
TARGETS = {
    ("breast_cancer", "rpte"): ("xgboost", 10.0),
    ("breast_cancer", "rpte_paper"): ("xgboost", 2.0),
    ("eeg_seizure", "rpte"): ("xgboost", 2.0),
    ("eeg_seizure", "rpte_paper"): ("xgboost", 1.0),
    ("synthetic_100000x50", "rpte"): ("lightgbm", 0.8),
    ("synthetic_100000x50", "rpte_paper"): ("lightgbm", 0.5),
    ("synthetic_1000000x50", "rpte"): ("lightgbm", 0.5),
    ("synthetic_1000000x50", "rpte_paper"): ("lightgbm", 0.5),
    ("adult", "rpte"): ("lightgbm", 1.0),
    ("kddcup99_10pct", "rpte"): ("lightgbm", 1.0),
    ("nycflights_late30", "rpte"): ("lightgbm", 1.0),
    ("synthetic_2000x2000", "rpte"): ("lightgbm", 1.0),
    ("policies_200000", "rpte"): ("lightgbm", 2.0),
    ("amounts_100000x20", "rpte"): ("lightgbm", 2.0),
}
# How many times a slow peer's fit is to take.
SLOW_TARGETS = {("rpte", "ebm"): 10.0, ("rpte", "hugiml"): 10.0, ("rpte_paper", "hugiml"): 15.0}
DATA = tuple(dict.fromkeys(name for name, _ in TARGETS))
MODELS = ("rpte", "rpte_paper", "xgboost", "lightgbm")
# Of different kinds: what `peer` compares.
PEERED = (
    "heart_c_uci",
    "pima_diabetes",
    "vehicle",
    "concrete",
    "abalone",
    "sick",
    "satimage",
    "count_swmotorcycle",
    "classification_5000x57",
    "amounts_6000x12",
    "categories_6000",
    "friedman_20000x20",
)
SLOW = ("ebm", "hugiml")
COLUMNS = ("data", "model", "threads", "rows", "columns", "fit", "predict", "one_row", "memory_mb")


def synthetic(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of three kinds and labels with main effects, bends and two products."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, 1::5] = np.exp(X[:, 1::5])
    X[:, 2::5] = np.round(3 * X[:, 2::5])
    bends = -1.6 * np.maximum(X[:, 5] - 0.3, 0) + 0.5 * np.abs(X[:, 8]) + 0.7 * (X[:, 2] > 1)
    products = 0.6 * X[:, 3] * X[:, 4] - 0.4 * X[:, 9] * (X[:, 10] > 0)
    score = X[:, 0] + 0.5 * np.log(X[:, 1]) + bends + products - 1.0
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def classification(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's clusters on the corners of a cube, 16 informative columns among p."""
    from sklearn.datasets import make_classification

    return make_classification(n, p, n_informative=16, random_state=0)


def friedman(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Friedman's first problem, its noisy target above its median."""
    from sklearn.datasets import make_friedman1

    X, target = make_friedman1(n, p, noise=1.0, random_state=0)
    return X, (target > np.median(target)).astype(int)


def categories(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return ten categories of 50 levels as text, ten numbers, and labels that use half of both."""
    rng = np.random.default_rng(0)
    codes, numbers = rng.integers(50, size=(n, 10)), rng.standard_normal((n, 10))
    effects = 0.6 * rng.standard_normal((5, 50))
    score = sum(effects[k][codes[:, k]] for k in range(5)) + numbers[:, :5] @ np.full(5, 0.5)
    score += 0.5 * numbers[:, 0] * numbers[:, 1]
    levels = np.array([f"level {k:02d}" for k in range(50)], dtype=object)
    columns = {f"category_{k}": levels[codes[:, k]] for k in range(10)}
    columns |= {f"number_{k}": numbers[:, k] for k in range(10)}
    return pd.DataFrame(columns), (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def float32(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the synthetic table in single precision."""
    X, y = synthetic(n, p)
    return X.astype(np.float32), y


def policies(n: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return a motor portfolio: seven numbers, five categories, claim counts, exposures."""
    rng = np.random.default_rng(0)
    age, vehicle = rng.gamma(8, 5.5, n).clip(18, 90).round(), rng.exponential(7, n).round()
    power, bonus = rng.integers(4, 16, n), 50 + rng.exponential(15, n).round()
    density, exposure = np.exp(rng.normal(6, 1.9, n)).round() + 1, rng.uniform(0.05, 1.0, n)
    sizes = {"brand": 11, "region": 22, "fuel": 2, "use": 5, "channel": 4}
    codes = {name: rng.integers(size, size=n) for name, size in sizes.items()}
    score = -2.6 + 0.9 * np.exp((18 - age) / 7) + 0.012 * (bonus - 50) + 0.05 * np.log(density)
    score += sum(rng.normal(0, 0.15, size)[codes[name]] for name, size in sizes.items())
    score += 0.03 * (power - 6) * (age < 28) - 0.03 * np.minimum(vehicle, 15) * codes["fuel"]
    numbers = {"age": age, "vehicle_age": vehicle, "power": power, "bonus": bonus}
    numbers |= {"density": density, "seats": rng.integers(2, 8, n), "income": rng.gamma(3, 1, n)}
    levels = {name: np.char.add("level ", code.astype(str)) for name, code in codes.items()}
    X = pd.DataFrame({**numbers, **{name: each.astype(object) for name, each in levels.items()}})
    return X, rng.poisson(np.exp(score) * exposure).astype(float), exposure


def amounts(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the synthetic table, and a noisy number with the same structure."""
    X, _ = synthetic(n, p)
    bends = -1.6 * np.maximum(X[:, 5] - 0.3, 0) + 0.5 * np.abs(X[:, 8]) + 0.7 * (X[:, 2] > 1)
    products = 0.6 * X[:, 3] * X[:, 4] - 0.4 * X[:, 9] * (X[:, 10] > 0)
    noise = np.random.default_rng(1).standard_normal(n)
    return X, X[:, 0] + 0.5 * np.log(X[:, 1]) + bends + products + noise


CLASSES = (synthetic, classification, friedman, categories, float32, several.classes)
NUMBERS = (policies, amounts)
MADE: dict[str, Callable[..., Any]] = {made.__name__: made for made in (*CLASSES, *NUMBERS)}


def table(name: str) -> tuple[Any, ...]:
    """Return the features and the target of a cell, and exposures where it has some.

    Of one that is made, its name says the size.
    """
    if name.endswith(several.TWO):
        X, y = table(name.removesuffix(several.TWO))
        return X, several.largest_against_rest(y)
    kind, _, size = name.partition("_")
    if kind in MADE:
        return MADE[kind](*map(int, size.split("x")))
    if name == "breast_cancer":
        from sklearn.datasets import load_breast_cancer

        return load_breast_cancer(return_X_y=True)
    from data import read

    X, y = read(f"{'paper12' if name == 'eeg_seizure' else 'panel'}/{name}")
    return X, several.coded(y) if several.is_several(name) else y.to_numpy()


def with_categories(X: Any) -> Any:
    """Return a data frame with its text columns as categories."""
    if not isinstance(X, pd.DataFrame):
        return X
    text = [name for name in X if X[name].dtype.kind not in "fiub"]
    return X.assign(**{name: X[name].astype("category") for name in text})


def make_ours(model: str, threads: int) -> Any:
    """Return the default, or the published configuration."""
    from rpte import RPTEClassifier

    new = RPTEClassifier if model == "rpte" else RPTEClassifier.paper
    return new(n_jobs=threads)


def make_slow(model: str, threads: int) -> Callable[[Any, np.ndarray], Any]:
    """Return what fits EBM, or the author's implementation."""
    if model == "ebm":
        from interpret.glassbox import ExplainableBoostingClassifier

        ebm = ExplainableBoostingClassifier(max_rounds=500, interactions=10, n_jobs=threads)
        return ebm.fit
    from reference_peer import reference

    return lambda X, y: reference().fit(X, y)


def make_regressor(model: str, threads: int, counts: bool) -> Callable[..., Any]:
    """Return what fits a model of counts, with their exposures, or of numbers."""
    if model == "rpte":
        from rpte import RPTERegressor

        ours = RPTERegressor(loss="poisson" if counts else "squared_error", n_jobs=threads)
        return lambda X, y, e=None: ours.fit(X, y, exposure=e)
    if model == "xgboost":
        from xgboost import XGBRegressor

        goal = "count:poisson" if counts else "reg:squarederror"
        booster: Any = XGBRegressor(
            n_estimators=TREES, max_depth=4, objective=goal, n_jobs=threads, enable_categorical=True
        )
        return lambda X, y, e=None: booster.fit(with_categories(X), y, base_margin=log_of(e))
    if model == "lightgbm":
        from lightgbm import LGBMRegressor

        goal = "poisson" if counts else "regression"
        booster = LGBMRegressor(
            n_estimators=TREES, num_leaves=31, objective=goal, n_jobs=threads, verbose=-1
        )
        return lambda X, y, e=None: booster.fit(with_categories(X), y, init_score=log_of(e))
    if model != "ebm":
        raise SystemExit(f"{model} has no regressor")
    from interpret.glassbox import ExplainableBoostingRegressor

    goal = "poisson_deviance" if counts else "rmse"
    ebm = ExplainableBoostingRegressor(
        max_rounds=500, interactions=10, objective=goal, n_jobs=threads
    )
    return lambda X, y, e=None: ebm.fit(X, y, init_score=log_of(e))


def make_cv(threads: int, goal: str) -> Callable[..., Any]:
    """Return what fits LightGBM with the rounds that early stopping in five folds gives."""
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = goal == "class"
    new: Any = LGBMClassifier if classes else LGBMRegressor
    given = {"n_jobs": threads, "verbose": -1, "learning_rate": 0.1, "num_leaves": 31}
    given |= {} if classes else {"objective": "poisson" if goal == "count" else "regression"}
    deal: Any = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)

    def fit(X: Any, y: np.ndarray, e: np.ndarray | None = None) -> Any:
        X, rounds = with_categories(X), []
        take = X.iloc.__getitem__ if isinstance(X, pd.DataFrame) else X.__getitem__
        offset = np.zeros(len(y)) if e is None else np.log(e)
        for train, test in deal.split(np.zeros(len(y)), y):
            beside = {} if e is None else {"init_score": offset[train]}
            if e is not None:
                beside["eval_init_score"] = [offset[test]]
            held, stop = [(take(test), y[test])], early_stopping(20, verbose=False)
            part = new(n_estimators=500, **given)
            part.fit(take(train), y[train], eval_set=held, callbacks=[stop], **beside)
            rounds.append(part.best_iteration_)
        beside = {} if e is None else {"init_score": offset}
        return new(n_estimators=max(1, round(np.mean(rounds))), **given).fit(X, y, **beside)

    return fit


def goal_of(name: str, y: np.ndarray) -> str:
    """Return what a table is to predict: a class, a number or a count."""
    if name.startswith(("policies", "count_")):
        return "count"
    few = y.dtype.kind not in "f" and len(np.unique(y)) <= 20
    return "class" if few and not name.startswith("amounts") else "number"


def peer(names: list[str], repeats: int) -> None:
    """Print the processor seconds of our default and of cross-validated LightGBM, in turn."""
    rng = np.random.default_rng(0)
    for name in names:
        X, y, *exposure = table(name)
        goal = goal_of(name, np.asarray(y))
        ours: Callable[..., Any] = make("rpte", 1)
        if goal != "class":
            ours = make_regressor("rpte", 1, goal == "count")
        theirs = make_cv(1, goal)
        small = rng.permutation(len(y))[: min(len(y), 600)]
        rows = X.iloc[small] if isinstance(X, pd.DataFrame) else X[small]
        best = [np.inf, np.inf]
        for fit in (ours, theirs):
            fit(rows, y[small], *(e[small] for e in exposure))
        for _ in range(repeats):
            for place, fit in enumerate((ours, theirs)):
                start = time.process_time()
                fit(X, y, *exposure)
                best[place] = min(best[place], time.process_time() - start)
        size, ratio = f"{len(y)} x {X.shape[1]}", best[0] / best[1]
        print(
            f"| {name} | {size} | {goal} | {best[0]:.2f} | {best[1]:.2f} | {ratio:.2f} |",
            flush=True,
        )


def log_of(exposure: np.ndarray | None) -> np.ndarray | None:
    """Return the logarithm of exposures, if there are any."""
    return None if exposure is None else np.log(exposure)


def make(model: str, threads: int) -> Callable[[Any, np.ndarray], Any]:
    """Return what fits a model."""
    if model.startswith("rpte"):
        return lambda X, y: make_ours(model, threads).fit(X, y)
    if model in SLOW:
        return make_slow(model, threads)
    if model == "xgboost":
        from xgboost import XGBClassifier

        booster = XGBClassifier(
            n_estimators=TREES, max_depth=4, n_jobs=threads, enable_categorical=True
        )
    else:
        from lightgbm import LGBMClassifier

        booster = LGBMClassifier(n_estimators=TREES, num_leaves=31, n_jobs=threads, verbose=-1)
    return lambda X, y: booster.fit(with_categories(X), y)


def peak_mb(reset: bool = False) -> float:
    """Return the peak memory of the process; with `reset`, begin to watch anew."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no VmHWM")


def seconds(call: Callable[[], Any]) -> float:
    """Return the median time of a call, repeated while it is short."""
    taken: list[float] = []
    while sum(taken) < ENOUGH and len(taken) < MOST_REPEATS:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def measure(name: str, model: str, threads: int) -> dict[str, Any]:
    """Measure one cell in this process."""
    kind = name.partition("_")[0]
    numbers = kind in [made.__name__ for made in NUMBERS]
    counts = kind == "policies"
    fit = make_regressor(model, threads, counts) if numbers else make(model, threads)
    small = policies(1200) if counts else amounts(1200, 12) if numbers else synthetic(1200, 12)
    if several.is_several(name):
        small = several.classes(1200, 12, 2 if name.endswith(several.TWO) else 3)
        if model != "rpte":
            fit = several.make_default(model, threads, with_categories)
    predict_of = "predict" if numbers else "predict_proba"
    read = (lambda rows: rows) if model.startswith("rpte") else with_categories
    getattr(fit(*small), predict_of)(read(small[0]))
    X, y, *exposure = table(name)
    before = peak_mb(reset=True)
    start = time.perf_counter()
    fitted = fit(X, y, *exposure)
    first = time.perf_counter() - start
    memory = peak_mb() - before
    cell = {"data": name, "model": model, "threads": threads, "rows": len(y)}
    cell |= {"columns": X.shape[1], "fit": first, "memory_mb": memory}
    if model in SLOW:
        return cell
    taken = first if first > ENOUGH else seconds(lambda: fit(X, y, *exposure))
    scored = fitted.model_ if model.startswith("rpte") else fitted
    rows = read(X)
    one = rows.iloc[[0]] if isinstance(rows, pd.DataFrame) else rows[:1]
    score = getattr(scored, predict_of)
    single = [seconds(lambda: score(one)) for _ in range(3)]
    predict = seconds(lambda: score(rows))
    return {**cell, "fit": taken, "predict": predict, "one_row": min(single)}


def header(script: str = __file__) -> str:
    """Return what was measured on, as comments."""
    packages = ("xgboost", "lightgbm", "numpy", "numba", "scikit-learn", "pandas")
    kind = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    versions = ", ".join([f"rpte {rpte.__version__}", *(f"{n} {version(n)}" for n in packages)])
    return (
        f"# Written by benchmarks/{Path(script).name}, whose beginning tells how; each cell in a\n"
        f"# process of its own. {kind}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}; {versions}\n"
    )


def run(arguments: argparse.Namespace) -> None:
    """Measure the cells asked for, each in a new process, and write them to the CSV."""
    out: Path = arguments.out
    kept = pd.read_csv(out, comment="#") if out.exists() else pd.DataFrame(columns=COLUMNS)
    kind = several if arguments.classes else sys.modules[__name__]
    for name in arguments.data or kind.DATA:
        for threads in arguments.threads:
            for model in arguments.models or kind.MODELS:
                command = [sys.executable, __file__, "one", name, model, str(threads)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name} {model} {threads}: failed\n{done.stderr[-2000:]}", flush=True)
                    continue
                row = json.loads(done.stdout.splitlines()[-1])
                same = (kept["data"] == name) & (kept["model"] == model)
                kept = kept[~(same & (kept["threads"] == threads))]
                kept = pd.concat([kept, pd.DataFrame([row])], ignore_index=True)
                text = kept.to_csv(index=False, float_format="%.6g", quoting=csv.QUOTE_MINIMAL)
                out.write_text(header() + text)
                print(f"{name} {model} x{threads}: fit {row['fit']:.3f} s", flush=True)


def ratio_table(frame: pd.DataFrame) -> str:
    """Return our times over the peers', and the targets, as Markdown."""
    lines = [
        "| data | threads | model | fit, s | of XGBoost | of LightGBM | target "
        "| predict of XGBoost | of LightGBM | one row of XGBoost | memory above the data, MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    cells = frame.set_index(["data", "model", "threads"])
    for (name, model, threads), row in cells.iterrows():
        if not str(model).startswith("rpte"):
            continue
        peer, limit = TARGETS.get((name, model), ("", None))
        target = f"<= {limit:g} of {peer}" if limit else ""

        def over(kind: str, other: str, row: Any = row, at: Any = (name, threads)) -> str:
            key = (at[0], other, at[1])
            return f"{row[kind] / cells.loc[key, kind]:.2f}" if key in cells.index else ""

        fits = over("fit", "xgboost"), over("fit", "lightgbm")
        scores = over("predict", "xgboost"), over("predict", "lightgbm"), over("one_row", "xgboost")
        numbers = (f"{row['fit']:.2f}", *fits, target, *scores, f"{row['memory_mb']:.0f}")
        lines.append(f"| {name} | {threads} | {model} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def slow_table(frame: pd.DataFrame) -> str:
    """Return how many times our time the slow peers take, as Markdown."""
    lines = [
        "| data | threads | peer | peer's fit, s | times `rpte` | times `rpte_paper` | target |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    cells = frame.set_index(["data", "model", "threads"])["fit"]
    for (name, model, threads), taken in cells.items():
        if model not in SLOW:
            continue
        times, targets = [], []
        for ours in ("rpte", "rpte_paper"):
            known = (name, ours, threads) in cells.index
            times.append(f"{taken / cells[name, ours, threads]:.1f}" if known else "")
            if (ours, model) in SLOW_TARGETS:
                targets.append(f"{ours} >= {SLOW_TARGETS[ours, model]:g}")
        row = (name, threads, model, f"{taken:.1f}", *times, ", ".join(targets))
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


IMPORTS = "import sklearn.linear_model, numba, pandas"
FIRST_FIT = (
    "from sklearn.datasets import load_breast_cancer; from rpte import RPTEClassifier; "
    "RPTEClassifier(n_jobs=1).fit(*load_breast_cancer(return_X_y=True))"
)


def process(code: str, python: Path | str = sys.executable, **environment: str) -> float:
    """Return the seconds of a new process."""
    kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as where the package is installed
    start = time.perf_counter()
    subprocess.run([str(python), "-c", code], check=True, env={**kept, **environment})
    return time.perf_counter() - start


def startup() -> str:
    """Return how long a new process takes to its first model, kernels on disk and not."""
    process(FIRST_FIT)
    imports, cached = (min(process(code) for _ in range(3)) for code in (IMPORTS, FIRST_FIT))
    with tempfile.TemporaryDirectory() as folder:
        compiled = process(FIRST_FIT, NUMBA_CACHE_DIR=folder, RPTE_COMPILED_KERNELS="0")
    return (
        f"imports of peers {imports:.2f} s; first model {cached:.2f} s, "
        f"{cached - imports:.2f} s more (target 1.5); "
        f"with all kernels to compile {compiled:.1f} s"
    )


def fresh() -> str:
    """Return how long `pip install .` and then the first model take in a new environment."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
        python = home / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        start = time.perf_counter()
        command = [str(python), "-m", "pip", "install", "--quiet", str(HERE.parent)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": ""})
        installed = time.perf_counter() - start
        nothing = {"PYTHONPATH": "", "NUMBA_CACHE_DIR": str(home / "cache"), "HOME": folder}
        before = os.times()
        first = process(FIRST_FIT, python, **nothing)
        after = os.times()
        left = len(list(home.rglob("*.nbc")))
    of_processor = after.children_user - before.children_user
    return (
        f"pip install {installed:.0f} s; then the first model {first:.1f} s (target 8), "
        f"{of_processor:.1f} s of the processor; kernels compiled on the way: {left}"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    words = {"type": lambda text: text.split(",")}
    command = commands.add_parser("run")
    command.add_argument("--data", **words)
    command.add_argument("--models", **words)
    command.add_argument("--classes", action="store_true", help="tables of several classes")
    command.add_argument("--threads", default=[1, 2], type=lambda t: [int(k) for k in t.split(",")])
    command.add_argument("--out", type=Path, default=OUT)
    shown = commands.add_parser("table")
    shown.add_argument("--out", type=Path, default=OUT)
    first = commands.add_parser("startup")
    first.add_argument("--fresh", action="store_true", help="in a new environment, by pip install")
    beside = commands.add_parser("peer")
    beside.add_argument("--data", default=list(PEERED), **words)
    beside.add_argument("--repeats", type=int, default=2)
    one = commands.add_parser("one")
    one.add_argument("cell", nargs=3)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments)
    elif arguments.command == "startup":
        print(fresh() if arguments.fresh else startup())
    elif arguments.command == "peer":
        peer(arguments.data, arguments.repeats)
    elif arguments.command == "table":
        frame = pd.read_csv(arguments.out, comment="#")
        print(ratio_table(frame), slow_table(frame), several.classes_table(frame), sep="\n\n")
    else:
        name, model, threads = arguments.cell
        print(json.dumps(measure(name, model, int(threads))))


if __name__ == "__main__":
    main()
