"""Count the default models that have a tree, by what the truth of a made-up table is.

Run: python docs/tools/count_trees.py    (the table of docs/method.md)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from make_method import loans

from rpte import RPTEClassifier

TRUTHS: dict[str, Callable[..., np.ndarray]] = {  # of three thresholds, log odds
    "two act, each alone": lambda a, b, c: 1.0 * a + b,
    "two count only together": lambda a, b, c: 2.5 * (a & b),
    "three count only together": lambda a, b, c: 3.0 * (a & b & c),
    "an odd number of three": lambda a, b, c: 2.0 * (a ^ b ^ c) - 1,
}
SIZES, SEEDS = (600, 1500), range(5)


def planted(truth: str, n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return eight normal numbers, and a class that thresholds at 0 of the first ones decide."""
    rng = np.random.default_rng(100 + seed)
    Z = rng.normal(size=(n, 8))
    score = TRUTHS[truth](*(Z[:, :3] > 0).T) - 0.8
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return pd.DataFrame(Z, columns=[f"x{k}" for k in range(8)]), y


def count_trees() -> None:
    """Print how often default models have a tree, beside those that may have none."""
    print("| truth | models with a tree | conditions, without trees | deviance, without trees |")
    print("| --- | ---: | ---: | ---: |")
    for truth in TRUTHS:
        tables = [planted(truth, n, seed) for n in SIZES for seed in SEEDS]
        models = [[RPTEClassifier(max_trees=m).fit(*t) for t in tables] for m in (10, 0)]
        having = sum(map(_has_tree, models[0]))
        miu = [np.mean([clf.audit().miu for clf in some]) for some in models]
        loss = [np.mean([_validated(clf) for clf in some]) for some in models]
        print(
            f"| {truth} | {having} of {len(tables)} | {miu[0]:.0f}, {miu[1]:.0f} | "
            f"{loss[0]:.3f}, {loss[1]:.3f} |"
        )
    draws = [loans(seed=seed) for seed in range(1, 6)]
    for order in (2, 1):
        some = [RPTEClassifier(pattern_order=order).fit(*draw) for draw in draws]
        found = sum(map(_has_tree, some))
        print(f"loans, terms of at most {order} variables: a tree in {found} of {len(some)}")


def _validated(clf: RPTEClassifier) -> float:
    """Return the validated deviance of the chosen model."""
    shown = clf.frontier_
    return float(shown["deviance"][shown["miu"] == clf.audit().miu].iloc[0])


def _has_tree(clf: RPTEClassifier) -> bool:
    return bool(clf.rules_["tree"].fillna("").any())


if __name__ == "__main__":
    count_trees()
