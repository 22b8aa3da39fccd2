"""Where the time of a fit goes, stage by stage, and how far it is from reading the table once.

The stages are those that a fit tells its `progress` callback; seconds are of the wall, one thread,
the second fit of a process. The last columns compare: the seconds in which this machine reads the
table's numbers once from memory (their bytes as float64 over the measured bandwidth of a sum), and
the whole fit in units of it.

Run: python benchmarks/stages.py [--data breast_cancer,adult] [--models rpte,rpte_paper]
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from typing import Any

import numpy as np

from rpte import Progress
from speed import DATA, make_ours, table

MEGABYTES = 800


def bandwidth() -> float:
    """Return the bytes a second at which numpy sums float64 numbers from memory, best of five."""
    numbers = np.ones(MEGABYTES * 2**20 // 8)
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        numbers.sum()
        taken.append(time.perf_counter() - start)
    return float(numbers.nbytes / min(taken))


def stages(model: str, X: Any, y: np.ndarray) -> dict[str, float]:
    """Return the seconds of each stage of a fit, in order."""
    said: list[Progress] = []
    make_ours(model, 1).fit(X, y)
    make_ours(model, 1).fit(X, y, progress=said.append)
    seconds: dict[str, float] = {}
    for before, after in pairwise(said):
        spent = after.seconds - before.seconds
        seconds[before.stage] = seconds.get(before.stage, 0.0) + spent
    return seconds


def main() -> None:
    """Print one Markdown table for each model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--models", default="rpte,rpte_paper")
    arguments = parser.parse_args()
    speed = bandwidth()
    print(f"Memory is read at {speed / 1e9:.1f} GB/s.\n")
    for model in arguments.models.split(","):
        print(f"`{model}`\n\n| data | stage | seconds | share |\n|---|---|---:|---:|")
        for name in arguments.data.split(","):
            X, y = table(name)
            once = X.shape[0] * X.shape[1] * 8 / speed
            seconds = stages(model, X, y)
            whole = sum(seconds.values())
            for stage, spent in seconds.items():
                print(f"| {name} | {stage} | {spent:.3f} | {spent / whole:.0%} |")
            told = f"{whole / once:,.0f} readings of the table ({once * 1000:.2g} ms each)"
            print(f"| {name} | whole: {told} | {whole:.3f} | 100% |", flush=True)
        print()


if __name__ == "__main__":
    main()
