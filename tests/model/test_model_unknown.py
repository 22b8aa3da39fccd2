"""Levels that training did not have: told once, and refused where a column holds little else."""

import warnings

import numpy as np
import pandas as pd
import pytest

import rpte
from command_tables import run
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.model.unknown import HANDFUL

METHODS = ("decision_function", "predict_proba", "predict", "explain")


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"k": rng.choice(["a", "b", "c"], n), "x": rng.normal(size=n)})
    X["idle"] = rng.choice(["u", "v"], n)
    risk = 2.0 * (X["k"] == "a") + X["x"] - 1.0
    return X, (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return RPTEClassifier(l1=0.02, vocabulary="original", max_trees=0).fit(X, y)


def with_unknown(count, n=40):
    X = table()[0].head(n).copy()
    X.loc[: count - 1, "k"] = ["new", *["newer"] * (count - 1)]
    return X


def said(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if issubclass(w.category, RPTEWarning)]


@pytest.mark.parametrize("method", METHODS)
def test_a_call_warns_once_and_names_column_level_and_count(fitted, method):
    X = with_unknown(3)
    for asked in (fitted, fitted.model_):
        assert said(lambda asked=asked: getattr(asked, method)(X)) == [
            "column 'k': 3 of 40 cells hold 2 levels that training did not have: 'newer' (2), "
            "'new' (1); they count as none of the known levels"
        ]
        assert said(lambda asked=asked: getattr(asked, method)(table()[0])) == []


@pytest.mark.parametrize("method", METHODS)
def test_a_column_that_is_mostly_unknown_is_refused_unless_allowed(fitted, method):
    X = with_unknown(21)
    for asked in (fitted, fitted.model_):
        with pytest.raises(InputError, match=r"'k': 21 of 40 cells .* allow_unknown=True"):
            getattr(asked, method)(X)
        assert len(said(lambda a=asked: getattr(a, method)(X, allow_unknown=True))) == 1
    assert len(said(lambda: fitted.predict(with_unknown(20)))) == 1


def test_single_rows_and_a_handful_are_scored(fitted):
    X = with_unknown(HANDFUL - 1, HANDFUL - 1)
    assert len(said(lambda: fitted.predict_proba(X))) == 1
    assert len(said(lambda: fitted.model_.predict_proba(X.head(1)))) == 1
    with pytest.raises(InputError):
        fitted.predict_proba(with_unknown(HANDFUL, HANDFUL))


def test_missing_cells_do_not_count(fitted):
    X = with_unknown(12)
    X.loc[12:, "k"] = None
    with pytest.raises(InputError, match="12 of 12 cells"):
        fitted.predict(X)


def test_columns_that_the_model_does_not_read_are_left_alone(fitted):
    assert "idle" not in fitted.model_.sources
    assert said(lambda: fitted.predict_proba(table()[0].assign(idle="w"))) == []


def test_what_was_read_once_is_not_told_again(fitted):
    told = said(lambda: fitted.model_.read(with_unknown(25), allow_unknown=True))
    assert len(told) == 1
    with pytest.warns(RPTEWarning):
        inputs = fitted.model_.read(with_unknown(25), allow_unknown=True)
    assert said(lambda: [getattr(fitted.model_, m)(inputs) for m in METHODS]) == []
    assert said(lambda: fitted.predict_proba(inputs)) == []


def pooled_table(n=1000):
    rng = np.random.default_rng(3)
    names = [f"p{i}" for i in range(40)]
    k = np.where(rng.random(n) < 0.8, rng.choice(["a", "b"], n), rng.choice(names, n))
    y = (rng.random(n) < np.where(k == "a", 0.8, 0.3)).astype(int)
    return pd.DataFrame({"k": k}), y


def test_a_pool_takes_new_levels_but_not_a_whole_column():
    X, y = pooled_table()
    clf = RPTEClassifier(l1=0.01, vocabulary="original").fit(X, y)
    assert clf.model_.schema["k"].pooled
    assert said(lambda: clf.predict_proba(X)) == []
    half = X.assign(k=np.where(np.arange(len(X)) % 2, "new", X["k"]))
    with pytest.raises(InputError, match="most of the column"):
        clf.predict_proba(half)
    assert said(lambda: clf.predict_proba(half, allow_unknown=True)) == []


def test_the_commands(fitted, tmp_path):
    model, cases, log = tmp_path / "m.json", tmp_path / "t.csv", tmp_path / "log.jsonl"
    fitted.save(model)
    with_unknown(21).to_csv(cases, index=False)
    for command in (["score", model, cases], ["decide", model, cases, "-o", log]):
        outcome = run(*command)
        assert outcome.exit_code == 1
        assert "column 'k': 21 of 40 cells hold" in outcome.stderr
    assert not log.exists()
    outcome = run("score", model, cases, "--allow-unknown")
    assert outcome.exit_code == 0
    assert outcome.stderr.count("note: column 'k'") == 1
    assert run("explain", model, cases, "--row", "1").exit_code == 0
    with_unknown(2).to_csv(cases, index=False)
    assert run("decide", model, cases, "-o", log).exit_code == 0
    assert next(rpte.read_decisions(log, fitted.model_))["unseen"] == ["k"]


def test_a_log_of_decisions_holds_the_levels_that_were_read(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.random(200) < 0.5})
    y = (X["flag"] ^ (rng.random(200) < 0.2)).astype(int)
    model = RPTEClassifier(l1="4/n").fit(X, y).model_
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{line}\n" for line in rpte.decide(model, X.head(4).astype(int))))
    records = list(rpte.read_decisions(log, model))
    assert [r["inputs"]["flag"] for r in records] == [str(v) for v in X["flag"].head(4)]
    assert all(r["unseen"] == [] for r in records)
    with pytest.raises(InputError, match="holds 2"):
        list(rpte.decide(model, X.head(3).assign(flag=2)))
