"""Models of a table with every kind of variable, for the proofs that need the training table."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd

from model_files import Stored
from rpte import Limits, RPTEClassifier
from rpte.model.file import to_dict


def full_table(seed: int = 3, n: int = 700) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numbers with and without gaps, few and many values, special codes and categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "dense": rng.normal(size=n),
            "gaps": rng.normal(size=n).round(1),
            "skewed": rng.lognormal(size=n).round(2),
            "codes": np.where(rng.random(n) < 0.15, -9, rng.integers(0, 30, n)).astype(float),
            "few": rng.choice([0.0, 1.0, 2.0, 5.0], n),
            "city": rng.choice(
                list("abcdefgh"), n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.092, 0.004, 0.004]
            ),
            "plan": rng.choice(["basic", "extra", "gold", "silver"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "gaps"] = np.nan
    X.loc[rng.random(n) < 0.05, "plan"] = None
    score = X["dense"] * (X["plan"] == "gold") + 0.8 * np.log(X["skewed"])
    score += X["gaps"].fillna(1) + (X["codes"] > 12) * (X["few"] > 1) + 1.5 * (X["codes"] == -9)
    score += (X["city"] == "a") * np.where(X["dense"] > 0.3, 1.0, -1.0)
    return X, np.where(score + 0.6 * rng.normal(size=n) > 0.8, "yes", "no")


MAKERS = {
    "default": lambda: RPTEClassifier(special_values={"codes": [-9]}),
    "limited": lambda: RPTEClassifier(
        special_values={"codes": [-9, -8]},
        l1=0.006,
        max_trees=2,
        max_leaves=6,
        limits=Limits(monotone={"skewed": "increasing"}, exclude=["few"], penalty={"city": 1.5}),
    ),
    "paper": lambda: RPTEClassifier.paper(special_values={"codes": [-9]}),
    "boosted": lambda: RPTEClassifier(
        special_values={"codes": [-9]}, reassign=False, ownership="paper", max_trees=2
    ),
}


@cache
def proof_model(name: str) -> Stored:
    """Return one of the models with its training table; do not change it, `copy` it."""
    X, y = full_table()
    fitted = MAKERS[name]().fit(X, y)
    return Stored(json.loads(json.dumps(to_dict(fitted.model_))), X, y)
