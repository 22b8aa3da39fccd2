"""One table with a target of every task, for tests that fit the same rows in several places."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import rpte

CODES = {"code": [-9]}
FEATURES = ["x", "gap", "single", "code", "count", "flag", "town", "kind"]
# Tables of more than 300 rows are long ones, of which 400 are searched, and blocks are short.
SHORT_SCALE = {
    "LONG_ABOVE": 300,
    "SAMPLE_ROWS": 400,
    "BLOCK_ROWS": 256,
    "MANY_ROWS": 200,
    "LONG_TABLE_ABOVE": 300,
}


@cache
def all_rows(n: int = 960, seed: int = 1) -> pd.DataFrame:
    """Return every kind of column with gaps and codes, targets of every task, weights and groups.

    A fifth of the rows recur, and the rows are in the order of a category.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "x": x,
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2)),
            "single": rng.normal(size=n).astype(np.float32),
            "code": np.where(rng.random(n) < 0.1, -9.0, rng.normal(size=n).round(1)),
            "count": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.3,
            "town": rng.choice(list("abcdefgh"), n, p=[0.4, 0.3, 0.2, *[0.02] * 5]),
            "kind": pd.Categorical(rng.choice(["red", "blue", "green"], n)),
            "price": [Decimal(int(cents)) / 100 for cents in rng.integers(0, 10**6, n)],
        }
    )
    table.loc[rng.random(n) < 0.1, "town"] = None
    score = 1.5 * x + (table["town"] == "a") + (table["count"] > 4) - (table["code"] == -9)
    table["bad"] = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    pull = np.column_stack([np.zeros(n), score, 1.5 * table["gap"].fillna(0.0)])
    course = (pull + rng.gumbel(size=pull.shape)).argmax(axis=1)
    table["course"] = np.array(["cured", "ill", "relapse"], object)[course]
    table["grade"] = course * 3
    table["years"] = rng.uniform(0.1, 2.0, n).round(3)
    table["known"] = rng.normal(size=n).round(2) / 4
    rate = np.exp(-0.3 + 0.6 * score + table["known"])
    table["claims"] = rng.poisson(rate * table["years"])
    table["cost"] = (rng.gamma(2.0, rate) + 0.01).round(2)
    table["times"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    table["patient"] = rng.integers(0, n // 3, n)
    again = table.iloc[rng.integers(0, n, n // 4)]
    return pd.concat([table, again]).sort_values("town", kind="stable").reset_index(drop=True)


@dataclass(frozen=True)
class Task:
    """A target, the columns that `fit` is given beside it, and an estimator's parameters."""

    y: str
    roles: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    features: tuple[str, ...] = tuple(FEATURES)

    def columns(self) -> list[str]:
        return [*self.features, self.y, *self.roles.values()]

    def estimator(self, module: Any = rpte, *given: Any, **more: Any) -> Any:
        """Return the estimator of a module for this target."""
        numbers = self.y in ("claims", "cost")
        made = module.RPTERegressor if numbers else module.RPTEClassifier
        return made(*given, **{"special_values": CODES, **self.parameters, **more})

    def given(self, table: pd.DataFrame) -> dict[str, pd.Series]:
        """Return what `fit` is given beside the target, as columns of a table."""
        return {role: table[name] for role, name in self.roles.items()}

    def in_memory(self, table: pd.DataFrame, **more: Any) -> Any:
        fresh = self.estimator(**more)
        return fresh.fit(table[[*self.features]], table[self.y], **self.given(table))


TASKS = {
    "two classes": Task("bad"),
    "three classes": Task("course"),
    "poisson": Task("claims", {"exposure": "years"}, {"loss": "poisson", "max_trees": 2}),
    "tweedie": Task(
        "cost",
        {"exposure": "years", "offset": "known", "sample_weight": "times"},
        {"loss": "tweedie", "max_trees": 2},
    ),
    "squared error": Task("cost", {"offset": "known"}, {"max_trees": 2}),
    "weighted classes": Task("course", {"sample_weight": "times"}),
    "balanced": Task(
        "bad",
        {"sample_weight": "times"},
        {"class_weight": "balanced", "positive": "no"},
    ),
    "gamma": Task("cost", {"sample_weight": "times"}, {"loss": "gamma", "max_trees": 2}),
}
GROUPED = {  # which a cluster refuses
    "groups": Task("bad", {"groups": "patient"}, features=(*FEATURES, "price")),
    "groups of numbered classes": Task("grade", {"groups": "patient"}),
    "groups with an offset": Task(
        "cost", {"offset": "known", "groups": "patient"}, {"max_trees": 2}
    ),
}


@cache
def in_memory(task: str) -> Any:
    """Return the fit of all rows in memory, which is the one that others are compared with."""
    return {**TASKS, **GROUPED}[task].in_memory(all_rows())
