"""Which groups of variables the default finds on made tables: exact, missed, and false ones.

Normal variables of a given correlation, three of which act alone (a line, a distance from 0, a
step); the others say nothing or interact: `xor` of two signs, strong and weak, a `product`, `and`
of two thresholds, `triple` of three, `two` groups. The `null` worlds have no interaction: many
variables, few rows, strongly correlated ones, strong curved effects, and rare events. A group is
exact where all groups of a table are; false where it holds no two variables of a true one.

Run: python benchmarks/groups.py [run | table] [--seeds 0,1,2,3,4,5] [--out FILE]
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from rpte import RPTEClassifier

OUT = Path(__file__).parent / "results" / "groups.csv"
FIELDS = ("world", "seed", "rows", "variables", "true", "found", "exact", "false", "missed", "cpu")
Effect = Callable[[np.ndarray], np.ndarray]


def product_of_steps(*columns: np.ndarray) -> np.ndarray:
    """Return 1 where every column is above its threshold."""
    return np.all(columns, axis=0).astype(float)


@dataclass(frozen=True)
class World:
    """How a table is made: rows, variables, their correlation, what is added to the log odds."""

    rows: int
    variables: int
    correlation: float
    effect: Effect
    groups: tuple[tuple[str, ...], ...] = ()


WORLDS = {
    "null, many": World(2_000, 30, 0.3, lambda x: 0.8 * x[0] + 0.6 * x[1] ** 2 - 0.5),
    "null, few rows": World(500, 10, 0.3, lambda x: 0.8 * x[0] + 0.6 * x[1] ** 2 - 0.5),
    "null, correlated": World(1_000, 10, 0.8, lambda x: 0.8 * x[0] + 0.6 * x[1] ** 2 - 0.5),
    "null, strong": World(
        1_500, 8, 0.5, lambda x: 1.5 * x[0] + 2.4 * np.maximum(x[1], 0) + 1.2 * np.sin(2 * x[3])
    ),
    "null, rare": World(3_000, 8, 0.2, lambda x: 0.9 * x[0] + 0.8 * np.abs(x[1]) - 3.5),
    "null, noise": World(1_000, 12, 0.3, lambda x: np.zeros(x.shape[1])),
    "xor": World(2_000, 30, 0.0, lambda x: 0.9 * np.sign(x[0] * x[1]), (("x1", "x2"),)),
    "xor, weak": World(2_000, 30, 0.0, lambda x: 0.45 * np.sign(x[0] * x[1]), (("x1", "x2"),)),
    "xor, few rows": World(600, 6, 0.0, lambda x: 0.9 * np.sign(x[0] * x[1]), (("x1", "x2"),)),
    "product": World(2_000, 30, 0.3, lambda x: 0.6 * x[0] * x[1], (("x1", "x2"),)),
    "and": World(
        1_000,
        10,
        0.3,
        lambda x: 2 * product_of_steps(x[0] > 0.2, x[1] > 0.2) - 0.5,
        (("x1", "x2"),),
    ),
    "triple": World(
        2_000,
        15,
        0.3,
        lambda x: 2.5 * product_of_steps(x[0] > -0.2, x[1] > -0.2, x[2] > -0.2) - 0.7,
        (("x1", "x2", "x3"),),
    ),
    "two": World(
        2_000,
        12,
        0.3,
        lambda x: 1.8 * product_of_steps(x[0] > 0, x[1] > 0) + 1.5 * np.sign(x[2]) * (x[3] > 0),
        (("x1", "x2"), ("x3", "x4")),
    ),
}


def make(world: World, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of a world and its labels."""
    rng = np.random.default_rng([seed, world.rows, world.variables])
    own = rng.normal(size=(world.variables, world.rows)) * np.sqrt(1 - world.correlation)
    x = own + np.sqrt(world.correlation) * rng.normal(size=world.rows)
    alone = 0.8 * x[-1] - 0.6 * np.abs(x[-2]) + 0.7 * (x[-3] > 0)
    chance = 1 / (1 + np.exp(-(world.effect(x) + alone)))
    names = [f"x{i}" for i in range(1, world.variables + 1)]
    return pd.DataFrame(x.T.round(3), columns=names), (rng.random(world.rows) < chance).astype(int)


def judge(world: World, found: list[list[str]]) -> dict[str, int]:
    """Return whether the groups are those of the world, and how many are false or missed."""

    def meets(one: list[str] | tuple[str, ...], other: list[str] | tuple[str, ...]) -> bool:
        return len(set(one) & set(other)) > 1

    return {
        "exact": int(sorted(map(sorted, found)) == sorted(map(sorted, world.groups))),
        "false": sum(not any(meets(g, true) for true in world.groups) for g in found),
        "missed": sum(not any(meets(g, true) for g in found) for true in world.groups),
    }


def run(seeds: list[int], out: Path) -> None:
    """Fit every world with every seed; rows that are there are not made again."""
    known = set()
    if out.exists():
        with out.open(newline="") as file:
            known = {(row["world"], int(row["seed"])) for row in csv.DictReader(file)}
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        for name, world in WORLDS.items():
            for seed in (s for s in seeds if (name, s) not in known):
                X, y = make(world, seed)
                start = time.process_time()
                clf = RPTEClassifier(n_jobs=1).fit(X, y)
                seconds = time.process_time() - start
                found = clf.model_.training["selection"]["interactions"]["groups"]
                sizes = {"rows": world.rows, "variables": world.variables, "cpu": round(seconds, 2)}
                said = {"true": list(world.groups), "found": found, **judge(world, found)}
                writer.writerow({"world": name, "seed": seed, **sizes, **said})
                file.flush()


def table(out: Path) -> str:
    """Return the counts by world as Markdown."""
    rows = pd.read_csv(out)
    lines = [
        "| world | tables | groups exact | false groups | missed groups |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in WORLDS:
        own = rows[rows["world"] == name]
        counts = [len(own), *(int(own[field].sum()) for field in ("exact", "false", "missed"))]
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("run", "table"), default="run")
    parser.add_argument("--seeds", default="0,1,2,3,4,5")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "run":
        run([int(seed) for seed in args.seeds.split(",")], args.out)
    print(table(args.out))


if __name__ == "__main__":
    main()
