"""How alike the models of resamples of one table are: groups, variables, and shapes.

Of each table 10 samples of 80 % of the rows are drawn without replacement, and a model is fitted to
each. Two models overlap in their variables by the size of the intersection over that of the union;
in their shapes likewise, where a shape is a variable with the kind of its terms ("age: steps"), and
a group is the set of variables that a tree reads. The figures are means over all pairs of models.
The tables are six of the panel, and one made table in which a parity of two variables is planted.

Run: python benchmarks/steadiness.py [run | table] [--tables mroz_labor] [--shapes one,free]
     [--out FILE]
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from data import read
from groups import WORLDS, make
from rpte import RPTEClassifier, RPTERegressor, RPTEWarning

OUT = Path(__file__).parent / "results" / "steadiness.csv"
TABLES = ("heart_c_uci", "mroz_labor", "pima_diabetes", "credit_scoring_spain", "monk2", "concrete")
MADE = "xor"  # of benchmarks/groups.py
RESAMPLES, SHARE = 10, 0.8
FIELDS = ("table", "shapes", "variables", "kinds", "miu", "group", "times")


def overlap(sets: list[frozenset[str]]) -> float:
    """Return the mean overlap of two of some sets; two empty ones are equal."""
    found = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(sets, 2)]
    return float(np.mean(found))


def read_table(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table of the panel, or the made one."""
    if name != MADE:
        return read(f"panel/{name}")
    X, y = make(WORLDS[name], 0)
    return X, pd.Series(y)


def measure(name: str, shapes: str) -> dict[str, object]:
    """Fit models to resamples of a table, and return how alike they are."""
    X, y = read_table(name)
    number = y.nunique() > 20
    variables, kinds, lengths, groups = [], [], [], Counter[str]()
    for seed in range(RESAMPLES):
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.permutation(len(X))[: int(SHARE * len(X))])
        est = (RPTERegressor if number else RPTEClassifier)(shapes=shapes, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)
            model = est.fit(X.iloc[rows], y.iloc[rows]).model_
        own = [(t.sources, getattr(t.column, "formula", t.column.kind)) for t in model.direct]
        trees = [tree.sources for tree in model.trees]
        variables.append(frozenset(s for sources, _ in own for s in sources).union(*trees))
        kinds.append(frozenset(f"{'+'.join(sorted(s))}: {kind}" for s, kind in own))
        lengths.append(model.audit().miu)
        groups.update(" + ".join(sorted(sources)) for sources in trees)
    group, times = max(groups.items(), key=lambda pair: pair[::-1], default=("", 0))
    found = f"{overlap(variables):.3f}", f"{overlap(kinds):.3f}", float(np.median(lengths))
    return dict(zip(FIELDS, (name, shapes, *found, group, times), strict=True))


def run(tables: list[str], shapes: list[str], out: Path) -> None:
    """Measure tables that are not in the file yet, and add them to it."""
    known = set()
    if out.exists():
        frame = pd.read_csv(out)
        known = set(zip(frame["table"], frame["shapes"], strict=True))
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        for name in tables:
            for rule in shapes:
                if (name, rule) not in known:
                    writer.writerow(measure(name, rule))
                    file.flush()


def table(out: Path) -> str:
    """Return what was measured, as a table in Markdown."""
    lines = [
        "| table | shapes | overlap: variables | shapes | conditions | tree most often found |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for row in pd.read_csv(out).fillna("").itertuples():
        tree = f"{row.group}, {row.times} of {RESAMPLES}" if row.times else "none"
        figures = f"{row.variables:.2f} | {row.kinds:.2f} | {row.miu:.0f}"
        lines.append(f"| {row.table} | {row.shapes} | {figures} | {tree} |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("run", "table"), default="run")
    parser.add_argument("--tables", default=",".join((*TABLES, MADE)))
    parser.add_argument("--shapes", default="one,free")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    if given.what == "run":
        run(given.tables.split(","), given.shapes.split(","), given.out)
    print(table(given.out))


if __name__ == "__main__":
    main()
