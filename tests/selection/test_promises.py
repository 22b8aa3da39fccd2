"""Directions that cost nothing on held-out rows are hinted at, and no others."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from rpte import Limits, RPTEClassifier, RPTERegressor, RPTESurvival, load
from rpte.model.promises import Hints, free_promises


def table(seed, n=1200):
    """Return a table with effects that rise, fall, level off and turn, and their sum."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["up", "down", "levels", "turns", "noise"])
    X["yes"] = rng.integers(0, 2, n)
    score = 0.8 * X["up"] - 0.9 * X["down"] + 1.2 * np.minimum(X["levels"], 0.0)
    return X, score + 1.5 * np.abs(X["turns"]) - 1.2 + 0.8 * X["yes"]


def binary(seed, **more):
    X, score = table(seed)
    rng = np.random.default_rng(seed + 100)
    return RPTEClassifier(**more), X, (rng.random(len(X)) < 1 / (1 + np.exp(-score))).astype(int)


def times(seed):
    X, score = table(seed)
    rng = np.random.default_rng(seed + 100)
    time, end = rng.exponential(np.exp(-score)), rng.exponential(3.0, len(X))
    y = pd.DataFrame({"time": np.minimum(time, end), "event": time <= end})
    return RPTESurvival(), X, y


def amounts(seed):
    X, score = table(seed)
    return RPTERegressor(), X, score + np.random.default_rng(seed + 100).normal(size=len(X))


def counts(seed):
    X, score = table(seed)
    y = np.random.default_rng(seed + 100).poisson(np.exp(0.5 * np.minimum(score, 6.0)))
    return RPTERegressor(loss="poisson"), X, y


EXPECTED = {"up": "increasing", "down": "decreasing", "levels": "increasing"}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("made", [binary, times, amounts, counts])
def test_effects_that_go_one_way_are_hinted_and_those_that_turn_are_not(made, seed):
    estimator, X, y = made(seed)
    found = estimator.fit(X, y).hints_.monotone
    assert found.items() <= EXPECTED.items()  # of the noise nothing is said, nor of yes/no
    assert {"up", "down"} <= found.keys()


def test_a_hint_can_be_pasted(tmp_path):
    clf, X, y = binary(0)
    clf.fit(X, y)
    hints = clf.hints_
    line = f"these directions cost nothing on held-out rows: monotone={hints.monotone}"
    assert repr(hints).splitlines()[-1] == hints[-1] == line
    assert line in clf.summary()
    limited = RPTEClassifier(limits=Limits(monotone=hints.monotone)).fit(X, y)
    assert all(check.holds for check in limited.verify(X, y))
    best = [made.frontier_["deviance"].min() for made in (clf, limited)]
    assert best[1] < best[0] + 0.01
    assert not hints.monotone.keys() & limited.hints_.monotone.keys()
    clf.save(tmp_path / "m.json")
    assert free_promises(load(tmp_path / "m.json")) == hints.monotone


def test_numbers_of_one_component_with_others_are_not_hinted():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(1500, 3)), columns=list("abc"))
    score = 1.5 * X["a"] * (X["b"] > 0) + 0.8 * X["c"]
    y = (rng.random(1500) < 1 / (1 + np.exp(-score))).astype(int)
    clf = RPTEClassifier().fit(X, y)
    assert {"a", "b"} in [set(c.sources) for c in clf.model_.components]
    assert clf.hints_.monotone == {"c": "increasing"}


def test_without_validation_there_is_no_evidence():
    clf, X, y = binary(0, l1=0.01)
    assert clf.fit(X, y).hints_.monotone == {}
    assert "cost nothing" not in clf.summary()


def test_hints_are_lines_that_survive_copies():
    hints = Hints(("look at x",), {"age": "increasing"})
    for again in (hints, copy.deepcopy(hints), pickle.loads(pickle.dumps(hints))):
        assert isinstance(again, tuple)
        assert len(again) == 2
        assert again[0] == "look at x"
        assert again.monotone == {"age": "increasing"}
    assert repr(Hints(())) == "no hints"
