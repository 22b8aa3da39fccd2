"""CPU time of a fit of times until an event, beside two classes of the same table.

    python benchmarks/speed_survival.py                     1,000,000 rows of 10 columns
    python benchmarks/speed_survival.py --rows 100000       fewer

The classes are whether the event was seen. At most 4 times the CPU time is the aim.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from rpte import RPTEClassifier, RPTESurvival

MOST = 4.0  # times the CPU seconds of two classes
LOSSES = ("cox", "discrete")


def follow_up(n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers, whether an event was seen, and when; half of the rows have one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    score = 0.7 * X[:, 0] + 0.5 * np.maximum(X[:, 1], 0) + 0.4 * X[:, 2] * X[:, 3] - 0.5 * X[:, 4]
    latent, seen = rng.exponential(np.exp(-score)), rng.exponential(1.0, n)
    return X, latent <= seen, np.minimum(latent, seen)


def seconds(estimator: Any, X: np.ndarray, y: Any) -> float:
    """Return the CPU seconds of a fit."""
    begin = time.process_time()
    estimator.fit(X, y)
    return time.process_time() - begin


def main() -> None:
    """Print the CPU seconds of both tasks, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    asked = parser.parse_args()
    small = follow_up(3000, asked.columns)
    RPTEClassifier(n_jobs=1).fit(small[0], small[1])  # kernels are loaded, and compiled where new
    RPTESurvival(n_jobs=1).fit(small[0], small[1:])
    X, event, when = follow_up(asked.rows, asked.columns)
    classes = seconds(RPTEClassifier(n_jobs=1), X, event)
    print(f"{asked.rows:,} x {asked.columns}: two classes {classes:.1f} s CPU")
    for loss in LOSSES:
        found = seconds(RPTESurvival(loss=loss, n_jobs=1), X, (event, when))
        print(f"  {loss}: {found:.1f} s, {found / classes:.2f} times (at most {MOST:g})")


if __name__ == "__main__":
    main()
