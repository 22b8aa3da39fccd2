"""The whole fit is the same for any number of threads: folds, blocks of rows, columns, trees."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTEClassifier
from rpte.estimation import approximate
from rpte.model.file import to_dict
from rpte.rows import scale
from rpte.structure import grower


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
    "few rows": (240, {"budget": 30}),
    "many rows": (1_500, {}),
    "rules": (600, {"form": "rules"}),
    "trees": (600, {"vocabulary": "original", "max_trees": 4}),
    "a sample": (1_500, {"l1_ratio": 1.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_change_any_model(monkeypatch, name, blocks, weighted):
    n, parameters = CASES[name]
    if name == "a sample":
        monkeypatch.setattr(scale, "LONG_ABOVE", 800)
        monkeypatch.setattr(scale, "SAMPLE_ROWS", 1_000)
    if blocks:
        for module, constant, size in (
            (approximate, "IN_BLOCKS", 0),
            (scale, "SEARCH_BLOCK_ROWS", 128),
            (scale, "BLOCK_ROWS", 256),
            (grower, "_WORTH_THREADS", 0),
        ):
            monkeypatch.setattr(module, constant, size)
    X, y = table(n)
    weight = np.random.default_rng(1).integers(1, 4, n) * 0.5 if weighted else None
    alone = document(X, y, 1, weight, **parameters)
    for n_jobs in (2, 5):
        assert document(X, y, n_jobs, weight, **parameters) == alone
