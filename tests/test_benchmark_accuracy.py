"""The accuracy benchmark: calibration, splits, resuming, and the corrected error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import accuracy
from accuracy_tables import (
    Results,
    difference,
    is_verified,
    last_runs,
    read_results,
    section,
    section_of,
    stored,
    why,
)
from peers import Rows, tune


def plan(tmp_path: Path, **changes) -> accuracy.Plan:
    given = {"suite": "panel", "models": ("l1_logistic",), "tables": ("made",), "seed": 3}
    given |= {"repeats": 1, "folds": 3, "out": tmp_path / "made.csv", "again": False}
    return accuracy.Plan(**{**given, **changes})


def made_table(n: int = 90) -> tuple[pd.DataFrame, np.ndarray, None]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * x))).astype(int)
    text = pd.Series(rng.choice(["a", "b"], n)).where(rng.random(n) > 0.1)
    return pd.DataFrame({"x": x, "text": text}), y, None


def test_calibration_agrees_with_an_unpenalised_fit():
    rng = np.random.default_rng(1)
    score = rng.normal(size=500)
    y = (rng.random(500) < 1 / (1 + np.exp(-(0.6 * score - 0.3)))).astype(int)
    slope, intercept = accuracy.calibrate([(y[:200], score[:200]), (y[200:], score[200:])])
    fit = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], y)
    assert slope == pytest.approx(fit.coef_[0, 0], abs=1e-4)
    assert intercept == pytest.approx(fit.intercept_[0], abs=1e-4)


def test_calibration_says_why_there_is_no_slope():
    y = np.array([0, 0, 1, 1])
    assert accuracy.calibrate([(y, np.array([-2.0, -1.0, 1.0, 3.0]))]) == "separable"
    assert accuracy.calibrate([(y, np.full(4, 0.1)), (y, np.full(4, 0.2))]) == "constant"


def test_calibration_converges_from_extreme_scores():
    score = np.array([-35.0, -35.0, -30.0, 35.0, 35.0, 35.0] * 5)
    y = np.array([0, 1, 0, 1, 1, 0] * 5)
    slope, _ = accuracy.calibrate([(y, score)])
    assert 0 < slope < 0.1


def test_losses_are_finite_for_infinite_odds():
    log_loss, brier = accuracy.losses(np.array([0, 1]), np.array([np.inf, np.inf]))
    assert log_loss == pytest.approx(17.5, abs=1e-6)
    assert brier == pytest.approx(0.5)


def test_one_repeat_is_the_plain_stratified_split(tmp_path):
    _, y, _ = made_table()
    splits = accuracy.make_splits(plan(tmp_path), y, None)
    plain = StratifiedKFold(3, shuffle=True, random_state=3).split(y, y)
    for split, (_, test) in zip(splits, plain, strict=True):
        np.testing.assert_array_equal(split.test, test)


def test_grouped_folds_share_no_group(tmp_path):
    groups = np.repeat(np.arange(30), 3)
    y = np.tile([0, 1, 0], 30)
    for split in accuracy.make_splits(plan(tmp_path, suite="eeg_grouped"), y, groups):
        assert not set(groups[split.train]) & set(groups[split.test])
    for train, test in Rows(pd.DataFrame({"x": y}), y, groups).folds(3):
        assert not set(groups[train]) & set(groups[test])


def test_a_stopped_run_goes_on_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "HERE", tmp_path)
    monkeypatch.setattr(accuracy, "label", lambda model: "label")
    monkeypatch.setattr(accuracy, "read_table", lambda suite, table: made_table())
    first = accuracy.Benchmark(plan(tmp_path)).table("made")
    next(first), next(first)
    second = accuracy.Benchmark(plan(tmp_path))
    monkeypatch.setattr(accuracy, "measure", counted := Counted(accuracy.measure))
    assert len(list(second.table("made"))) == 3
    assert counted.calls == 1
    rows = accuracy.read_log(tmp_path / "made.csv")
    assert rows["fold"].tolist() == ["0", "1", "2", "pooled"]
    assert rows["calibration_slope"].notna().tolist() == [False, False, False, True]
    list(accuracy.Benchmark(plan(tmp_path, again=True)).table("made"))
    assert counted.calls == 1  # a peer is never run again


def test_again_starts_a_new_run_of_ours(tmp_path):
    log = accuracy.Log(tmp_path / "made.csv")
    log.add(("panel", "made", "rpte", 3, 1, 0, "0"), {"auc": 0.5})
    log.add(("panel", "made", "rpte", 3, 2, 0, "0"), {"auc": 0.7})
    log.add(("panel", "made", "ebm", 3, 1, 0, "0"), {"auc": 0.6})
    again = accuracy.Log(tmp_path / "made.csv")
    assert again.last_run(plan(tmp_path), "rpte") == 2
    kept = last_runs(accuracy.read_log(tmp_path / "made.csv"))
    assert kept["auc"].tolist() == [0.7, 0.6]


class Counted:
    """A function that counts its calls."""

    def __init__(self, function) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


def test_the_error_of_a_difference_is_corrected():
    ours, l1 = [0.9, 0.8, 0.7], [0.8, 0.8, 0.75]
    rows = [
        {"table": "made", "model": m, "repeat": 0, "fold": f, "auc": a, "n_train": 80, "n_test": 20}
        for m, values in (("rpte", ours), ("l1_logistic", l1))
        for f, a in enumerate(values)
    ]
    apart, error = difference(Results("panel", 42, pd.DataFrame(rows), pd.DataFrame()), "made")
    assert apart == pytest.approx(0.05 / 3)
    expected = np.sqrt(np.var([0.1, 0.0, -0.05], ddof=1) * (1 / 3 + 1 / 4))
    assert error == pytest.approx(expected)


def test_a_failed_check_is_not_verified():
    assert is_verified("component 5/5")
    assert not is_verified("component 4/5")
    assert not is_verified("strict 5/5")


def test_tuning_takes_the_first_of_the_best():
    class Constant:
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    X, y, _ = made_table()
    chosen, models = tune(lambda chosen, train, test: Constant(), {"a": (1, 2)}, Rows(X, y))
    assert chosen == {"a": 1}
    assert len(models) == 3


def test_pages_show_the_last_results():
    """After new results: python benchmarks/accuracy_tables.py with --write and --why (its head)."""
    root, results = Path(__file__).parents[1], read_results(stored())
    tables = "\n\n".join(section(part) for part in results)
    assert section_of(root / "docs" / "benchmarks.md", "benchmark")[1] == tables
    assert section_of(root / "README.md", "why")[1] == why(results)
