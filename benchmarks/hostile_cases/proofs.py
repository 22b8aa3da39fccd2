"""Forged model files: what `verify` finds with the training table."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "stored"))

from make_stored import ESTIMATORS

from file_fuzz import (
    changed,
    others,
)
from hostile_cases.case import Case, Result
from proof_models import (
    PROOFS,
    claims,
    full_table,
    number_places,
    passes,
    passes_on,
    proof_model,
)
from rpte import RPTEClassifier
from rpte.model.file import to_dict
from searches import call_large

FIELDS, GAPS, TABLES, SAMPLED = 160, 120, 3, 8


def other_fields(seed: int) -> Result:
    """Put another value into a field that scores or promises, and make the hash fit."""
    rng, result = random.Random(seed), Result()
    for number in range(FIELDS):
        name = PROOFS[number % len(PROOFS)]
        document = proof_model(name).document
        path, value = rng.choice(claims(document))
        other = rng.choice(others(value))
        silent = passes(changed(document, path, other), name)
        result.expect(not silent, f"{name} {path}: {value!r} -> {other!r}")
    return result


def numbers_in_gaps(seed: int) -> Result:
    """Move thresholds, knots and centres by so little that no training row may notice."""
    rng, result = random.Random(seed), Result()
    for number in range(GAPS):
        name = PROOFS[number % len(PROOFS)]
        document = proof_model(name).document
        path, value = rng.choice(number_places(document))
        other = value + rng.choice((-1, 1)) * 10 ** rng.uniform(-7, -2)
        silent = passes(changed(document, path, other), name)
        result.expect(not silent, f"{name} {path}: {value!r} -> {other!r}")
    return result


def honest_files(seed: int) -> Result:
    """Fit tables of every kind of variable; every check must hold on what was fitted."""
    result = Result()
    for number in range(TABLES):
        X, y = full_table(seed * TABLES + number, 400)
        for name in PROOFS:
            checks = clone(ESTIMATORS[name]).fit(X, y).model_.verify(X, y)
            wrong = [check.name for check in checks if not check.holds]
            result.expect(not wrong, f"table {number}, {name}: {wrong}")
    return result


def sampled_numbers(seed: int) -> Result:
    """Move numbers of models whose terms were found on a sample; as fitted these must pass."""
    rng, result = random.Random(seed), Result()
    with pytest.MonkeyPatch.context() as patch:
        call_large(patch)
        for number in range(SAMPLED):
            X, y = full_table(seed * SAMPLED + number)
            weight = [None, [1 + i % 3 for i in range(len(y))]][number % 2]
            chosen = {"class_weight": rng.choice([None, "balanced"]), "cv": rng.choice([None, 3])}
            made = RPTEClassifier(special_values={"codes": [-9]}, audit_price=0.0005, **chosen)
            document = json.loads(json.dumps(to_dict(made.fit(X, y, weight).model_)))
            honest = passes_on(document, (X, y, weight))
            result.expect(honest, f"table {number} as fitted, {chosen}")
            for path, value in number_places(document):
                other = value + rng.choice((-1, 1)) * 10 ** rng.uniform(-7, -2)
                silent = passes_on(changed(document, path, other), (X, y, weight))
                result.expect(not silent, f"table {number} {path}: {value!r} -> {other!r}")
    return result


CASES = [
    Case("another value in a field that scores or promises, verified with the table", other_fields),
    Case("thresholds, knots and centres moved inside gaps of the data", numbers_in_gaps),
    Case("numbers moved where terms were found on a sample of the table", sampled_numbers),
    Case("files as fitted pass every check", honest_files),
]
