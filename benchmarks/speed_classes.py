"""Tables of several classes for `speed.py`, their peers, and the ratios that count.

`satimage`, `car` and `classes_20000x20x5`, which is made. A name that ends in `_two` is the same
table with two classes: the largest one against the rest. XGBoost and LightGBM have their defaults,
EBM 500 rounds and no pairs, which it has not for several classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

TWO = "_two"
SEVERAL = ("satimage", "car", "classes_20000x20x5")
DATA = tuple(name + end for name in SEVERAL for end in ("", TWO))
MODELS = ("rpte", "xgboost", "lightgbm", "ebm")
OF_LIGHTGBM = 2.0  # target of satimage: times LightGBM's fit


def is_several(name: str) -> bool:
    """Tell whether a table is one of several classes, or made from such a one."""
    return name.startswith("classes_") or name.removesuffix(TWO) in SEVERAL


def classes(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal numbers, and one of k classes by slopes, a product and a bend of each."""
    rng = np.random.default_rng(0)
    X, slopes = rng.standard_normal((n, p)), rng.standard_normal((k, p))
    score = 0.7 * X @ (slopes * (rng.random((k, p)) < 0.4)).T
    score += 0.8 * (X[:, [0]] * X[:, [1]]) * rng.standard_normal(k)
    score += np.abs(X[:, [2]]) * rng.standard_normal(k)
    return X, (score + rng.gumbel(size=(n, k))).argmax(axis=1)


def coded(y: Any) -> np.ndarray:
    """Return the numbers of classes, in their order."""
    return pd.factorize(np.asarray(y), sort=True)[0]


def largest_against_rest(y: np.ndarray) -> np.ndarray:
    """Return 1 for rows of the largest class, 0 for the others."""
    return (y == np.bincount(y).argmax()).astype(int)


def make_default(model: str, threads: int, read: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return what fits a peer as it comes; `read` makes categories of text."""
    if model == "xgboost":
        from xgboost import XGBClassifier

        booster: Any = XGBClassifier(n_jobs=threads, enable_categorical=True)
        return lambda X, y: booster.fit(read(X), y)
    if model == "lightgbm":
        from lightgbm import LGBMClassifier

        booster = LGBMClassifier(n_jobs=threads, verbose=-1)
        return lambda X, y: booster.fit(read(X), y)
    if model != "ebm":
        raise SystemExit(f"{model} is not fitted to several classes; name one of {MODELS}")
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(max_rounds=500, interactions=0, n_jobs=threads).fit


def classes_table(frame: pd.DataFrame) -> str:
    """Return our fits over those of the peers and over that of two classes, as Markdown."""
    lines = [
        "| data | classes' fit, s | threads | of LightGBM | of XGBoost | of EBM "
        "| of two classes | target |",
        "|---|---|---|---|---|---|---|---|",
    ]
    fits = frame.set_index(["data", "model", "threads"])["fit"]
    for (name, model, threads), taken in fits.items():
        if model != "rpte" or not is_several(name) or name.endswith(TWO):
            continue
        others = [(name, "lightgbm"), (name, "xgboost"), (name, "ebm"), (name + TWO, "rpte")]
        keys = [(*other, threads) for other in others]
        ratios = [f"{taken / fits[key]:.2f}" if key in fits.index else "" for key in keys]
        target = "<= K / 2 of two classes"
        if name == "satimage":
            target += f", {OF_LIGHTGBM:g} of LightGBM"
        lines.append(f"| {name} | {taken:.2f} | {threads} | {' | '.join(ratios)} | {target} |")
    return "\n".join(lines)
