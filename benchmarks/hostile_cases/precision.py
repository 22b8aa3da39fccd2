"""One table in float32 and in float64: no row may jump over a threshold."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from hostile_cases.case import Case, Result, Skipped
from rpte import RPTEClassifier, RPTEWarning
from rpte.table.decimals import edge_between, in_single, middle_between, shortest_between

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from data import folder, read
from test_float32 import back, in_float32, made, memberships

TABLES = (
    "panel/chronic_kidney_disease",
    "panel/oil_spill",
    "panel/surv_pbc",
    "panel/swiss_labor",
    "panel/pima_diabetes",
    "panel/banknote",
    "panel/hepatitis_uci",
    "paper12/prnn_crabs",
    "paper12/wdbc",
)
JUMP = 1e-3  # in probability; slopes explain less than a thousandth of it
CODES = (99.9, -9.99, 0.1, -1e-3, 16_777_217.0, 123_456.789)


def thresholds(seed: int) -> Result:
    """Neighbours of any size, as they are and rounded, and what separates them."""
    rng, result = np.random.default_rng(seed), Result()
    for _ in range(20_000):
        size, gap = 10.0 ** rng.uniform(-44, 38), 10.0 ** rng.uniform(-9, 1)
        low = float(rng.choice([-1, 1]) * size)
        low = low if rng.random() < 0.5 else float(f"{low:.2g}")
        high = low + abs(low) * gap
        if in_single(low) == in_single(high):
            continue
        below, above = max(low, in_single(low)), min(high, in_single(high))
        edge = edge_between(high, low, high)
        holds = all(
            below <= threshold < above
            for threshold in (shortest_between(low, high), middle_between(low, high))
        )
        result.expect(holds and below < edge <= above, f"between {low!r} and {high!r}")
    return result


def _compare(result: Result, X: pd.DataFrame, y: object, published: bool, name: str) -> None:
    """Fit either copy, score both, and expect the same leaves and steps row by row."""
    single = back(in_float32(X))
    for own, other in ((X, single), (single, X)):
        classifier = RPTEClassifier.paper() if published else RPTEClassifier()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)
            model = classifier.fit(own, y).model_
        ways = memberships(model, own), memberships(model, other)
        moved = sum((ways[0][part] != ways[1][part] for part in ways[0]), np.zeros(len(X), int))
        difference = np.abs(model.predict_proba(own) - model.predict_proba(other))[:, 1]
        for row in range(len(X)):
            alike = moved[row] == 0 and difference[row] < JUMP
            result.expect(alike, f"{name}: row {row} moves by {difference[row]:.2g}")
        frame = model.score(in_float32(X)).tolist() == model.score(single).tolist()
        result.expect(frame, f"{name}: the float32 frame and its float64 copy differ")


def made_tables(seed: int) -> Result:
    """Numbers in tenths, hundredths, thirds and in full, published configuration and default."""
    result = Result()
    for number in range(6):
        for kind in ("tenths", "hundredths", "thirds", "full"):
            X, y = made(kind, 100 * seed + number, 250)
            _compare(result, X, y, number % 3 > 0, kind)
    return result


def stored_tables(published: bool, tables: tuple[str, ...]) -> Result:
    """Tables of the panel and of the paper."""
    if not folder().is_dir():
        raise Skipped("no data")
    result = Result()
    for name in tables:
        X, y = read(name)
        _compare(result, X, y, published, name)
    return result


def special_codes(seed: int) -> Result:
    """Codes that float32 does not hold, in every copy of the table."""
    rng, result = np.random.default_rng(seed), Result()
    X, y = made("tenths", seed, 300)
    for code in CODES:
        cells = X.assign(a=np.where(rng.random(300) < 0.2, code, X["a"]))
        rows = cells["a"].to_numpy() == code
        for own in (cells, in_float32(cells)):
            classifier = RPTEClassifier(special_values={"a": [code]}, l1="4/n")
            model = classifier.fit(own, y).model_
            for copy in (cells, in_float32(cells), back(in_float32(cells))):
                known = model.read(copy).codes("a") >= 0
                result.expect(bool((known == rows).all()), f"{code!r} is not recognised")
    return result


CASES = [
    Case("thresholds between neighbours, in float32", thresholds),
    Case("made tables in both precisions, row by row", made_tables),
    Case("stored tables, the default", lambda seed: stored_tables(False, TABLES[:5])),
    Case("stored tables, the published configuration", lambda seed: stored_tables(True, TABLES)),
    Case("special codes that float32 does not hold", special_codes),
]
