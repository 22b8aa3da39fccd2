"""The whole fit is the same for any number of threads: folds, blocks of rows, columns, trees."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTEClassifier
from rpte.estimation import approximate
from rpte.model.file import to_dict
from rpte.rows import scale
from rpte.structure import grower
from searches import set_scale


def table(n, seed=0):
    """Return numbers, two categories, missing cells, and labels with a product."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(4)})
    X["town"] = np.array(list("abcdefgh"))[rng.integers(0, 8, n)]
    X["kind"] = np.array(["one", "two", "three", "four", "five"])[rng.integers(0, 5, n)]
    X.loc[rng.random(n) < 0.1, "x1"] = np.nan
    score = X.x0 - np.maximum(X.x2, 0) + X.x0 * X.x3 + 0.6 * X.town.isin(["a", "f"])
    score += 0.8 * (X.kind == "two") * (X.x2 > 0)
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def document(X, y, n_jobs, weight=None, **parameters):
    found = RPTEClassifier(n_jobs=n_jobs, **parameters).fit(X, y, sample_weight=weight)
    return [to_dict(model) for model in (found.model_, *found.frontier_models_)]


CASES = {
    "few rows": (240, {}, {}),
    "enough cases for lengths": (400, {}, {"LENGTHS_FROM_CASES": 50}),
    "many rows": (400, {}, {"MANY_ROWS": 200, "FEWER_FOLDS_FROM_CASES": 50}),
    "free shapes": (240, {"shapes": "free"}, {}),
    "rules": (240, {"form": "rules"}, {}),
    "trees": (240, {"vocabulary": "original", "max_trees": 4}, {}),
    "a sample": (400, {"l1_ratio": 1.0}, {"LONG_ABOVE": 200, "SAMPLE_ROWS": 250}),
    "a sample, free shapes": (
        400,
        {"l1_ratio": 1.0, "shapes": "free"},
        {"LONG_ABOVE": 200, "SAMPLE_ROWS": 250},
    ),
}


@pytest.mark.parametrize(
    ("blocks", "weighted"),
    [
        (False, False),
        pytest.param(True, True, marks=pytest.mark.slow(reason="fits long tables twice")),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_change_any_model(monkeypatch, name, blocks, weighted):
    n, parameters, constants = CASES[name]
    set_scale(monkeypatch, **constants)
    if blocks:
        for module, constant, size in (
            (approximate, "IN_BLOCKS", 0),
            (scale, "SEARCH_BLOCK_ROWS", 32),
            (scale, "BLOCK_ROWS", 64),
            (grower, "_WORTH_THREADS", 0),
        ):
            monkeypatch.setattr(module, constant, size)
    X, y = table(n)
    weight = np.random.default_rng(1).integers(1, 4, n) * 0.5 if weighted else None
    alone = document(X, y, 1, weight, **parameters)
    assert document(X, y, 3, weight, **parameters) == alone
