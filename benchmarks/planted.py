"""Which planted interactions a default model finds, which it makes up, and its AUC.

Worlds: ten normal variables x0 to x9 of correlation 0.2 with main effects on the log odds. `mixed`
adds a smooth pair, an XOR of thresholds and a conjunction of three. The others have two text
categories beside (`region`, `plan`, cut from normals of the same correlation, with main effects)
and one interaction each: `smooth`, `xor`, `group_slope` (a slope that turns round in one region),
`cell` (an effect in one cell of the two categories), `triple`; `none` has more curved main effects
and no interaction. Training tables are drawn by world, n and seed; each world has one held-out
table from a seed of its own, and the oracle is the AUC of the true log odds there.

Judgement: two variables meet where one term reads both, a direct term or the conditions of a leaf.
A set is found if the pairs that meet connect it: the pair itself, two of the three of a triple. A
pair that meets and is in no true set is false. EBM's terms are its 10 pairs by importance, judged
by the first k, k the number of true pairs, and by all.

Rows go to a CSV as they are made, and a second run goes on where the first stopped. `--again` drops
the rows that are asked for and makes them anew.

Run: python benchmarks/planted.py [run | table] [--models rpte,ebm] [--worlds mixed,none]
     [--sizes 300,1000] [--seeds 0,1,2] [--again] [--out benchmarks/results/planted.csv]
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from itertools import combinations, product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from accuracy import label
from peers import Rows, ebm, log_odds
from rpte import RPTEClassifier, audit_load

OUT = Path(__file__).parent / "results" / "planted.csv"
SIZES = (300, 1_000, 5_000, 20_000)
SEEDS = tuple(range(10))
HELD_OUT = (20_000, 777)  # rows and seed of the table for AUC
NUMBERS = [f"x{i}" for i in range(10)]
# Where the latent normal of a category is cut, and what the pieces are called.
CATEGORIES = {
    "region": ((-0.5, 0.2, 0.9), ("north", "east", "west", "south")),
    "plan": ((-0.1, 0.8), ("basic", "plus", "gold")),
}
KEYS = ["model", "world", "n", "seed"]
FIELDS = [*KEYS, "terms", "auc", "oracle", "miu", "version"]

Terms = list[frozenset[str]]
EFFECTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "numbers": lambda t: 0.7 * t.x7 - 0.6 * t.x0.clip(lower=0) + 0.5 * t.x2 + 0.4 * t.x4 - 0.3,
    "categories": lambda t: 0.5 * (t.region == "west") - 0.4 * (t.plan == "gold"),
    "curves": lambda t: 0.4 * (t.x1**2 - 1) + 0.9 * (t.x5 > 0.5) - 0.5 * t.x8.abs(),
    "smooth": lambda t: 0.8 * t.x0 * t.x1,
    "xor": lambda t: 0.8 * np.sign(t.x2 - 0.2) * np.sign(t.x3 + 0.1),
    "group_slope": lambda t: -1.4 * t.x7 * (t.region == "north"),
    "cell": lambda t: 2.0 * ((t.region == "north") & (t.plan == "basic")),
    "triple": lambda t: 2.0 * ((t.x4 > 0) & (t.x5 > 0) & (t.x6 > -0.3)),
}
INTERACTIONS = {
    "smooth": frozenset({"x0", "x1"}),
    "xor": frozenset({"x2", "x3"}),
    "group_slope": frozenset({"region", "x7"}),
    "cell": frozenset({"plan", "region"}),
    "triple": frozenset({"x4", "x5", "x6"}),
}
WORLDS = {
    "mixed": ("numbers", "smooth", "xor", "triple"),
    **{name: ("numbers", "categories", name) for name in INTERACTIONS},
    "none": ("numbers", "categories", "curves"),
}
TRUE: dict[str, Terms] = {
    world: [INTERACTIONS[name] for name in effects if name in INTERACTIONS]
    for world, effects in WORLDS.items()
}


def draw(world: str, n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, labels and true log odds of a table."""
    rng = np.random.default_rng([seed, n, *world.encode()])
    p = len(NUMBERS) + len(CATEGORIES)
    latent = rng.multivariate_normal(np.zeros(p), 0.2 + 0.8 * np.eye(p), n)
    X = pd.DataFrame(latent[:, : len(NUMBERS)], columns=NUMBERS)
    if "categories" in WORLDS[world]:
        for j, (name, (cuts, levels)) in enumerate(CATEGORIES.items(), len(NUMBERS)):
            X[name] = np.array(levels)[np.searchsorted(cuts, latent[:, j])]
    score = np.sum([np.asarray(EFFECTS[name](X), float) for name in WORLDS[world]], axis=0)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return X, y, score


def pairs_of(terms: Iterable[frozenset[str]]) -> set[frozenset[str]]:
    """Return the pairs of variables that meet in a term."""
    return {frozenset(pair) for term in terms for pair in combinations(term, 2)}


def judge(terms: Iterable[frozenset[str]], true: Terms) -> tuple[tuple[bool, ...], int]:
    """Return which true sets the terms of a model find, and how many of their pairs are false."""
    met = pairs_of(terms)
    found = tuple(len(met & pairs_of([each])) >= len(each) - 1 for each in true)
    return found, len(met - pairs_of(true))


def rpte_terms(rows: Rows) -> tuple[Any, Terms]:
    """Fit our default; return it and the variables of its terms."""
    model = RPTEClassifier(n_jobs=1).fit(rows.X, rows.y)
    return model, [frozenset(rule.sources) for rule in model.model_.rules()]


def ebm_terms(rows: Rows) -> tuple[Any, Terms]:
    """Fit EBM; return it and the variables of its terms, the most important first."""
    model = ebm(rows).model
    order = np.argsort(-model.term_importances(), kind="stable")
    names = model.feature_names_in_
    return model, [frozenset(names[j] for j in model.term_features_[k]) for k in order]


MODELS: dict[str, Callable[[Rows], tuple[Any, Terms]]] = {"rpte": rpte_terms, "ebm": ebm_terms}


def row_of(model: str, world: str, n: int, seed: int) -> dict[str, Any]:
    """Fit a model on one table and measure it."""
    X, y, _ = draw(world, n, seed)
    X_test, y_test, score = draw(world, *HELD_OUT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted, terms = MODELS[model](Rows(X, y))
        auc = roc_auc_score(y_test, log_odds(fitted, X_test))
    joint = dict.fromkeys("*".join(sorted(term)) for term in terms if len(term) > 1)
    measured = (f"{auc:.5f}", f"{roc_auc_score(y_test, score):.5f}", audit_load(fitted).miu)
    return dict(zip(FIELDS[:-1], (model, world, n, seed, " ".join(joint), *measured), strict=True))


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with their judgements, those of EBM by the first k pairs and by all."""
    made = []
    for row in rows.to_dict("records"):
        true = TRUE[row["world"]]
        terms = [frozenset(term.split("*")) for term in row["terms"].split()]
        ways = {"ebm, all" if row["model"] == "ebm" else row["model"]: terms}
        if row["model"] == "ebm" and true:
            ways["ebm, first k"] = terms[: len(pairs_of(true))]
        for way, counted in ways.items():
            found, false = judge(counted, true)
            pairs, _ = judge(counted, [each for each in true if len(each) == 2])
            verdict = {"found": found, "all": all(found), "pairs": pairs, "false": false}
            made.append(row | {"model": way} | verdict)
    return pd.DataFrame(made)


def table_of(frame: pd.DataFrame) -> str:
    """Return the Markdown table: means over seeds (MIU: the median) by world, n and model."""
    lines = [
        "| world | n | model | seeds | sets | found | all found | false | AUC | oracle | MIU |",
        "|---|---:|---|---:|---|---|---:|---:|---:|---:|---:|",
    ]
    for world, n in product(WORLDS, sorted(frame.n.unique())):
        cells = frame[(frame.world == world) & (frame.n == n)]
        sets = ", ".join("*".join(sorted(each)) for each in TRUE[world])
        for model, seen in cells.groupby("model", sort=False):
            shares = " ".join(f"{s:.2f}" for s in np.mean(seen.found.to_list(), axis=0).ravel())
            found = f"{sets} | {shares} | {seen['all'].mean():.2f}" if sets else " |  | "
            lines.append(
                f"| {world} | {n} | {model} | {len(seen)} | {found} | {seen.false.mean():.2f} | "
                f"{seen.auc.mean():.4f} | {seen.oracle.mean():.4f} | {seen.miu.median():g} |"
            )
    return "\n".join(lines)


def targets_of(frame: pd.DataFrame) -> str:
    """Return the targets beside what each model reaches: over all worlds, and in the worst."""
    some, none = frame[frame.world != "none"], frame[frame.world == "none"]
    at_5000, at_1000 = some[some.n == 5_000], some[some.n == 1_000].explode("pairs")
    targets = (
        ("n = 5,000: all sets found, at least .90", at_5000, "all", "min"),
        ("n = 5,000: false per model, at most .30", at_5000, "false", "max"),
        ("n = 1,000: pairs found, at least .90", at_1000, "pairs", "min"),
        ("none, any n: false per model, at most .20", none, "false", "max"),
    )
    lines = ["| target | model | all | worst |", "|---|---|---:|---:|"]
    for said, rows, name, worst in targets:
        for model, seen in rows.groupby("model", sort=False):
            values = seen.set_index(["world", "n"])[name].astype(float)  # NaN where no pair is
            cells = values.groupby(level=[0, 1]).mean()
            lines.append(f"| {said} | {model} | {values.mean():.2f} | {cells.agg(worst):.2f} |")
    return "\n".join(lines)


def read(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV, none if there is no file."""
    there = path.exists()
    return pd.read_csv(path, keep_default_na=False) if there else pd.DataFrame(columns=FIELDS)


def listed(kind: type, text: str) -> list[Any]:
    """Read values between commas."""
    return [kind(part) for part in text.split(",")]


def run(options: argparse.Namespace) -> None:
    """Fit what is missing in the CSV."""
    cells = product(options.sizes, options.models, options.worlds, options.seeds)
    asked = [(model, world, n, seed) for n, model, world, seed in cells]
    versions = {model: label(model) for model in options.models}
    rows = read(options.out)
    done = list(rows[KEYS].itertuples(index=False, name=None))
    if options.again or rows.empty:
        rows.loc[[key not in asked for key in done]].to_csv(options.out, index=False)
        done = []
    for key in (key for key in asked if key not in done):
        row = row_of(*key) | {"version": versions[key[0]]}
        with options.out.open("a", newline="") as file:
            csv.DictWriter(file, FIELDS, lineterminator="\n").writerow(row)
        print(*key, row["auc"], row["terms"], flush=True)


def main() -> None:
    """Run what is asked for and print the tables of the CSV."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    models = [model for model in MODELS if model != "ebm" or find_spec("interpret")]
    usual = {"models": models, "worlds": [*WORLDS], "sizes": SIZES, "seeds": SEEDS}
    parser.add_argument("command", nargs="?", choices=("run", "table"), default="run")
    for name in usual:
        kind = str if name in ("models", "worlds") else int
        parser.add_argument(f"--{name}", type=partial(listed, kind))
    parser.add_argument("--again", action="store_true", help="make the rows asked for anew")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.set_defaults(**usual)
    options = parser.parse_args()
    if unknown := {*options.models, *options.worlds} - {*models, *WORLDS}:
        parser.error(f"no model or world {sorted(unknown)}; there are {[*models, *WORLDS]}")
    if options.command == "run":
        run(options)
    frame = judged(read(options.out))
    if not frame.empty:
        print(table_of(frame), targets_of(frame), sep="\n\n")


if __name__ == "__main__":
    main()
