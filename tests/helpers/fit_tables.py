"""Tables and configurations on which whole fits are tested."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from raw_tables import random_raw
from rpte import RPTEClassifier
from rpte.model.parts import TreeTerms

QUICK = {"l1": "4/n"}
PATTERNS = {"vocabulary": "hug", "budget": 100, **QUICK}
CONFIGURATIONS = {
    "default": lambda: RPTEClassifier(),
    "4/n": lambda: RPTEClassifier(**QUICK),
    "hug": lambda: RPTEClassifier(**PATTERNS),
    "published": lambda: RPTEClassifier.paper(),
    "published, strict": lambda: RPTEClassifier.paper(ownership="strict"),
    "ownership paper": lambda: RPTEClassifier(ownership="paper", **PATTERNS),
    "ownership separate": lambda: RPTEClassifier(ownership="separate", **QUICK),
    "ownership strict": lambda: RPTEClassifier(ownership="strict", **PATTERNS),
    "small components": lambda: RPTEClassifier(max_component_sources=2, **QUICK),
    "frequent": lambda: RPTEClassifier(vocabulary="frequent", ownership="paper", **QUICK),
    "original": lambda: RPTEClassifier(vocabulary="original", ownership="separate", **QUICK),
    "label": lambda: RPTEClassifier(criterion="label", **PATTERNS),
    "lookahead": lambda: RPTEClassifier(lookahead=True, **PATTERNS),
    "not reassigned": lambda: RPTEClassifier(
        reassign=False, ownership="paper", vocabulary="hug", budget=100
    ),
    "rules": lambda: RPTEClassifier(form="rules"),
    "rules, separate": lambda: RPTEClassifier(form="rules", ownership="separate", **QUICK),
    "ridge share": lambda: RPTEClassifier(l1_ratio=0.5, **QUICK),
    "tight": lambda: RPTEClassifier(
        max_trees=2,
        max_leaves=3,
        max_depth=2,
        budget=2,
        pattern_order=1,
        min_samples_leaf=2,
        l1=0.02,
    ),
}


@dataclass(frozen=True)
class Case:
    """A training table; one row per case, weights may be fractions."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray

    def take(self, rows):
        return Case(self.X.iloc[rows], self.y[rows], self.weight[rows])

    def fit(self, estimator):
        return estimator.fit(self.X, self.y, self.weight)


KINDS = ("number", "few", "skewed", "01", "category", "two")


def make_case(seed, kinds, n, step=1.0, clear=False):
    """Make a table of numbers, booleans and categories; some columns have missing cells.

    `clear` adds a column that tells the label well, so that validation keeps something.
    """
    raw = random_raw(seed, kinds, n)
    frame = pd.DataFrame({name: _typed(column) for name, column in raw.columns.items()})
    if clear:
        noise = np.random.default_rng(seed).normal(0, 0.4, n)
        frame["clear"] = (raw.y + noise).round(2)
    return Case(frame, raw.y.astype(int), raw.weight * step)


def _typed(column):
    if column.dtype.kind == "f":
        return column
    if set(column) <= {"no", "yes"}:
        return column == "yes"
    return pd.Series(column, dtype="category" if None in set(column) else object)


@st.composite
def cases(draw, rows=(20, 80), most=5, steps=(1.0, 0.75), clear=False):
    """Draw small mixed tables with whole or fractional weights."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=most))
    seed, n = draw(st.integers(0, 10_000)), draw(st.integers(*rows))
    return make_case(seed, kinds, n, draw(st.sampled_from(steps)), clear)


def mixed_case(n=300, seed=0):
    """Return a larger table whose label depends on every kind of column, and on missing cells."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n).round(),
            "income": rng.lognormal(3, 0.6, n).round(1),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "smoker": rng.random(n) < 0.4,
            "noise": rng.normal(size=n).round(3),
        }
    )
    signal = 0.1 * (X["age"] - 50) + 1.5 * X["smoker"] + 1.5 * (X["region"] == "west")
    signal += 1.5 * ((X["age"] > 55) ^ (X["income"] > 20)) - 1.5
    X.loc[rng.random(n) < 0.15, "income"] = np.nan
    X.loc[rng.random(n) < 0.1, "region"] = None
    signal += 2.0 * X["income"].isna()
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-signal)), "sick", "healthy")
    return Case(X, y, rng.integers(1, 4, n) / 2.0)


def with_part(model, part, new):
    """Return the model with one tree or direct term in the place of another."""
    kind = "trees" if isinstance(part, TreeTerms) else "direct"
    components = tuple(
        replace(c, **{kind: tuple(new if p is part else p for p in getattr(c, kind))})
        for c in model.components
    )
    return replace(model, components=components)
