"""Scorecards that people add up by hand, and counterfactuals that leave a person who he is."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from hostile_cases.case import Case, Result, Skipped
from rpte import Actions, InputError, RPTEClassifier, RPTEWarning
from rpte.export.scorecard.card import card_csv
from rpte.model.model import Model
from rpte.scorecard.build import MOST_BINS
from rpte.scorecard.card import Grid

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from card_by_hand import add_up  # noqa: E402

PLACES = [os.environ.get("RPTE_DATA"), ROOT.parent / "shared" / "data"]
TABLES = (
    "credit_scoring_spain.csv.gz",
    "loan_eligibility.csv",
    "adult.csv.gz",
    "pima_diabetes.csv",
)
LOST = 0.01
PERSONAL = ("age", "Age", "AGE_YEARS", "customerAge", "sex", "Gender", "race", "date_of_birth")
OTHERS = ("income", "mileage", "Average", "wage", "page_views")


def panel(name: str, rows: int = 3000) -> tuple[pd.DataFrame, pd.Series]:
    """Return a stored table and its labels."""
    data = next((Path(p) for p in PLACES if p and Path(p).is_dir()), None)
    if data is None:
        raise Skipped("no stored tables")
    frame = pd.read_csv(data / "panel" / name)
    frame = frame.sample(min(len(frame), rows), random_state=0)
    return frame.drop(columns="target"), frame["target"]


def fitted(X: Any, y: Any, **parameters: Any) -> Model:
    """Return a model, warnings about the table left aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        return RPTEClassifier(**{"l1": "4/n", "max_trees": 2, **parameters}).fit(X, y).model_


def added_by_hand(seed: int) -> Result:
    """Add up printed cards for rows with gaps and new levels; compare AUC with the model's."""
    result, rng = Result(), np.random.default_rng(seed)
    for name in TABLES:
        X, y = panel(name)
        model = fitted(X, y, l1="cv", max_trees=0)
        card = model.scorecard(X)
        lost = roc_auc_score(y, model.score(X)) - roc_auc_score(y, card.points(X))
        result.expect(lost < LOST, f"{name}: the card loses {lost:.4f} of AUC")
        some = X.sample(50, random_state=seed).astype(object)
        for column in some:
            some.loc[rng.random(50) < 0.1, column] = None
            variable = model.schema[column]
            if variable.kind == "category":
                some.loc[rng.random(50) < 0.1, column] = 7.5 if variable.numeric else "never seen"
        known = {v.name: v.levels[: len(v.levels) - v.pooled] for v in model.schema.variables}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "card.csv"
            path.write_text(card_csv(card), encoding="utf-8")
            by_hand = [add_up(path, row, known) for row in some.to_dict("records")]
        for mine, its in zip(by_hand, card.points(some).tolist(), strict=True):
            result.expect(mine == its, f"{name}: {mine} points by hand, {its} by the card")
    return result


def extreme_columns(seed: int) -> Result:
    """Make cards of columns of any size, with outliers and constants; look at every number."""
    result, rng = Result(), np.random.default_rng(seed)
    for trial in range(20):
        X = _extreme_table(rng)
        y = X["a"].rank() + 40 * rng.standard_normal(len(X)) > len(X) / 2
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "card.txt"
            model = fitted(X, y)
            record = model.export("scorecard", path, X)
            text = path.read_text(encoding="utf-8").split("Bins were made")[0]
        shown = f"{text} {record} {' '.join(record.notes)}"
        absurd = re.search(r"\d{17,}|\binf\b|\bnan\b", shown)
        result.expect(absurd is None, f"trial {trial}: {absurd and absurd[0]} is printed")
        lost = float(record.notes[0].split("by ")[1].split(" points")[0])
        result.expect(lost < 60, f"trial {trial}: {lost} points from the model on average")
        points = [abs(int(p)) for p in re.findall(r"^ {1,8}([-+]?\d+)  ", text, re.MULTILINE)]
        result.expect(max(points, default=0) <= 1300, f"trial {trial}: {max(points, default=0)}")
        tables = [table for table in model.scorecard(X).tables if isinstance(table, Grid)]
        bins = max((axis.bins for table in tables for axis in table.axes), default=0)
        result.expect(bins <= MOST_BINS, f"trial {trial}: {bins} bins")
    return result


def _extreme_table(rng: np.random.Generator, n: int = 250) -> pd.DataFrame:
    size = 10.0 ** rng.integers(-150, 150)
    columns = {
        "a": rng.standard_normal(n) * size,
        "b": np.exp(rng.normal(0, rng.uniform(0.1, 12), n)),
        "c": np.full(n, float(rng.integers(-5, 5))),
        "d": np.where(rng.random(n) < 0.02, 1e12, rng.integers(0, 3, n)),
    }
    return pd.DataFrame(columns).mask(rng.random((n, 4)) < 0.03)


def nobody_else(seed: int) -> Result:
    """Ask for changes of people: what says who they are stays as it is unless it is named."""
    result, rng = Result(), np.random.default_rng(seed)
    for trial in range(40):
        personal, other = rng.choice(PERSONAL), rng.choice(OTHERS)
        X = pd.DataFrame({personal: rng.integers(18, 80, 200), other: rng.normal(50, 9, 200)})
        strength = X[personal] + 0.4 * X[other] + rng.normal(0, 9, 200)
        model = fitted(X, strength > strength.median(), vocabulary="original", max_trees=0)
        row = X.iloc[[trial]]
        found = model.counterfactuals(row, 0.5)
        changed = {c.variable for answer in found.answers for c in answer.changes}
        result.expect(personal not in changed, f"{personal} is changed")
        result.expect(str(found).startswith("Assumed that these may change: "), "not said")
        freed = model.counterfactuals(row, 0.5, actions=Actions(may_change=[personal]))
        result.expect(personal in freed.changeable.may_change, f"{personal} cannot be freed")
        result.expect(_refused(model, row, personal), "an unknown name passes")
    return result


def _refused(model: Model, row: pd.DataFrame, name: str) -> bool:
    try:
        model.counterfactuals(row, 0.5, actions=Actions(may_change=[f"{name}s"]))
    except InputError as error:
        return "did you mean" in str(error)
    return False


CASES = [
    Case("printed scorecards added up by hand, dirty rows", added_by_hand),
    Case("scorecards of extreme columns: no absurd number", extreme_columns),
    Case("counterfactuals leave age, sex and the like as they are", nobody_else),
]
