"""Rows on a cluster: the model of the same rows in memory, whatever partitions and workers."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="clusters need dask, the extra 'dask'")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

import rpte
from rpte import Cancelled, InputError, Limits, RPTEWarning
from rpte.dask import RPTEClassifier
from rpte.dask.blocks import Session
from rpte.model.file import to_text
from rpte.rows import scale
from rpte.table.table import Table


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Samples of few rows, so that small tables are long ones."""
    monkeypatch.setattr(scale, "LONG_ABOVE", 700)
    monkeypatch.setattr(scale, "SAMPLE_ROWS", 800)


def cluster(workers, processes=False):
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=processes, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made, Client(made) as found:
        yield found


def frame(n=2_400, seed=1, recurring=True):
    """Numbers, categories, codes and gaps; some rows recur, and partitions lack levels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "x": x,
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2)),
            "code": np.where(rng.random(n) < 0.1, -9.0, rng.normal(size=n).round(1)),
            "count": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.3,
            "town": rng.choice(list("abcdefgh"), n, p=[0.4, 0.3, 0.2, *[0.02] * 5]),
            "kind": pd.Categorical(rng.choice(["red", "blue", "green"], n)),
        }
    )
    table.loc[rng.random(n) < 0.1, "town"] = None
    score = x + 0.6 * (table["town"] == "a") + 0.5 * (table["count"] > 4) - (table["code"] == -9)
    table["bad"] = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    table["exposure"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    if recurring:
        table = pd.concat([table, table.iloc[rng.integers(0, n, n // 4)]])
    return table.sort_values("town", kind="stable").reset_index(drop=True)


CODES = {"code": [-9]}
TABLE = frame()
PLAIN = TABLE.drop(columns="exposure")
X, Y = TABLE.drop(columns=["bad", "exposure"]), TABLE["bad"]


def parts(table, lengths):
    """Return a data frame of partitions of some lengths, the rest of the rows in the last."""
    ends = np.minimum(np.cumsum([0, *lengths]), len(table))
    cut = [table.iloc[a:b] for a, b in zip(ends, [*ends[1:], len(table)], strict=True)]
    return dd.from_map(lambda part: part, cut, meta=table.iloc[:0])


def fitted(client, table=PLAIN, lengths=(700, 0, 900), **parameters):
    weight = parameters.pop("weight", None)
    clf = RPTEClassifier(client, special_values=CODES, **parameters)
    return clf.fit(parts(table, lengths), "bad", weight)


def in_memory(weight=None, **parameters):
    return rpte.RPTEClassifier(special_values=CODES, **parameters).fit(X, Y, weight)


def same_model(one, other, X=X):
    columns = ["component", "tree", "term", "conditions"]
    pd.testing.assert_frame_equal(one.rules_[columns], other.rules_[columns])
    assert len(other.rules_) > 3
    ours, theirs = one.model_.decision_function(X), other.model_.decision_function(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert one.model_.schema == other.model_.schema
    supports = ["support", "event_rate"]
    np.testing.assert_allclose(one.rules_[supports], other.rules_[supports], rtol=1e-9)


@pytest.mark.parametrize("lengths", [[], [5, 0, 700, 100], [300] * 9], ids=["one", "4", "10"])
def test_terms_are_those_of_memory_whatever_the_partitions(client, lengths):
    found = fitted(client, lengths=lengths)
    same_model(found, in_memory())
    assert found.model_.training["validation"]["learned_from_rows"] <= 800


def test_weights_are_those_of_memory(client):
    found = fitted(client, TABLE, weight="exposure", class_weight="balanced")
    same_model(found, in_memory(TABLE["exposure"], class_weight="balanced"))


def test_excluded_columns_are_not_read(client):
    table = TABLE.drop(columns="exposure").assign(when=pd.Timestamp("2020-01-01"))
    limits = Limits(exclude=["when", "x"])
    found = fitted(client, table, limits=limits)
    assert [*found.feature_names_in_] == [*X, "when"]
    assert not {"when", "x"} & {name for names in found.rules_["sources"] for name in names}


def test_rows_of_an_array(client):
    numbers = X[["x", "gap", "count"]].to_numpy(float)
    given = da.from_array(numbers, chunks=(500, 2)), da.from_array((Y == "yes").values, chunks=500)
    found = RPTEClassifier(client).fit(*given)
    memory = rpte.RPTEClassifier().fit(numbers, Y == "yes")
    same_model(found, memory, numbers)
    for name in ("predict_proba", "predict", "decision_function"):
        lazy = getattr(found, name)(given[0])
        assert lazy.shape == getattr(memory, name)(numbers).shape
        np.testing.assert_allclose(lazy.compute(), getattr(found, name)(numbers))


@pytest.mark.slow
def test_workers_do_not_matter():
    texts = set()
    for workers in (1, 2, 4):
        with cluster(workers) as made, Client(made) as client:
            texts.add(to_text(fitted(client, lengths=[250] * 10).model_))
    assert len(texts) == 1


def test_few_rows_are_fitted_as_in_memory(client):
    few, limits = TABLE.iloc[::5].reset_index(drop=True), {"l1": "4/n", "max_trees": 2}
    clf = RPTEClassifier(client, special_values=CODES, **limits)
    found = clf.fit(parts(few.drop(columns="exposure"), [100, 200]), "bad").model_
    memory = rpte.RPTEClassifier(special_values=CODES, **limits)
    wanted = memory.fit(few[[*X]], few["bad"]).model_
    assert found.data == wanted.data
    assert to_text(found) == to_text(wanted)


def test_predictions_are_lazy_and_those_of_the_model(client):
    found = fitted(client)
    rows = parts(TABLE, [100, 0, 700])
    for name in ("predict_proba", "predict", "decision_function"):
        lazy = getattr(found, name)(rows)
        assert isinstance(lazy, da.Array)
        wanted = getattr(found, name)(X)
        np.testing.assert_array_equal(lazy.compute(), wanted)
        assert lazy.dtype == wanted.dtype
    explained = found.explain(rows.partitions[:1]).compute()
    assert explained == found.explain(X.iloc[:100])
    with pytest.raises(InputError, match=r"'x'.*|x"):
        found.predict(rows.drop(columns="x"))


def test_the_model_is_saved_and_says_what_it_does_not_know(client, tmp_path):
    found = fitted(client)
    found.save(tmp_path / "model.json")
    model = rpte.load(tmp_path / "model.json")
    assert model.data == {
        "rows": float(len(TABLE)), "distinct_rows": None, "sha256": None, "profile": None,
    }  # fmt: skip
    checks = {check.name: check for check in model.verify(X, Y)}
    assert all(check.holds for check in checks.values())
    assert "no hash" in checks["not checked"].evidence
    assert not all(check.holds for check in model.verify(X.iloc[1:], Y.iloc[1:]))
    kept = pickle.loads(pickle.dumps(found))
    assert kept.client is None
    assert kept.model_ == found.model_
    assert clone(found).client is client


def test_nothing_but_the_sample_comes_to_the_client(client, monkeypatch):
    came, result = [], Session.result
    monkeypatch.setattr(Session, "result", lambda *given: came.append(result(*given)) or came[-1])
    table = frame(20_000, recurring=False).drop(columns="exposure")
    fitted(client, table, [2_000] * 9, max_trees=0, max_inspection_units=5)
    tables = [found for found in came if isinstance(found, Table)]
    assert [found.n_rows for found in tables] == [800]
    others = sum(len(pickle.dumps(found)) for found in came if not isinstance(found, Table))
    assert len(pickle.dumps(tables)) + others < table.memory_usage(index=False).sum() / 2


@pytest.mark.slow
def test_a_worker_that_dies_is_survived():
    with cluster(2, processes=True) as made, Client(made) as client:
        wanted = to_text(fitted(client, lengths=[400] * 6).model_)
        pids, seen = client.run(os.getpid), []

        def kill(now):
            seen.append(now.stage)
            if now.stage == "estimating the models" and seen.count(now.stage) == 1:
                os.kill(next(iter(pids.values())), signal.SIGKILL)

        clf = RPTEClassifier(client, special_values=CODES)
        again = clf.fit(parts(PLAIN, [400] * 6), "bad", progress=kill)
        assert seen.count("estimating the models") > 1
        assert set(client.run(os.getpid).values()) != set(pids.values())
        assert to_text(again.model_) == wanted


@pytest.mark.parametrize("stage", ["drawing a sample", "estimating the models"])
def test_a_fit_is_cancelled(client, stage):
    clf = RPTEClassifier(client, special_values=CODES)
    rows = parts(PLAIN, [400] * 6)
    with pytest.raises(Cancelled, match=stage):
        clf.fit(rows, "bad", progress=lambda now: now.stage != stage)
    assert not hasattr(clf, "model_")
    until = time.monotonic() + 20
    while client.futures and time.monotonic() < until:  # they are let go in another thread
        time.sleep(0.05)
    assert not client.futures


def test_a_client_is_found_by_its_address(client):
    address = client.scheduler.address
    found = fitted(address, max_trees=0)
    assert found.client == address
    assert fitted(None, max_trees=0).model_ == found.model_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": X}, "X is DataFrame, not a dask"),
        ({"y": Y}, "y is Series; X is in partitions"),
        ({"y": "bed"}, "y='bed' is not a column of X .did you mean 'bad'"),
        ({"groups": "town"}, "groups may lie in several partitions"),
        ({"cv": [([0], [1])]}, "splits rows in memory"),
        ({"l1": 0.01}, "needs them in memory.*fit with l1='cv'"),
        ({"vocabulary": "hug", "l1": "4/n"}, "needs them in memory"),
        ({"client": 3}, "client=3; it must be a distributed.Client"),
        ({"y": parts(TABLE, [50])["bad"]}, "X has 4 partitions"),
        ({"y": parts(TABLE, [50, 50, 50])["bad"]}, "a partition of X has 700 rows, that of y 50"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_words(client, given, message):
    rows = parts(PLAIN, [700, 0, 900])
    call = {"X": rows, "y": "bad", **{k: v for k, v in given.items() if k in ("X", "y", "groups")}}
    parameters = {k: v for k, v in given.items() if k not in call and k != "groups"}
    clf = RPTEClassifier(**{"client": client, "special_values": CODES, **parameters})
    with pytest.raises(InputError, match=message):
        clf.fit(**call)


def test_without_a_client_there_is_a_remedy(monkeypatch):
    def current():
        raise ValueError("No clients found")

    monkeypatch.setattr(Client, "current", current)
    with pytest.raises(InputError, match=r"no dask client; start one .client = distributed.Client"):
        RPTEClassifier().fit(parts(TABLE, []), "bad")


def test_other_methods_need_rows_in_memory(client):
    found, rows = fitted(client), parts(X, [])
    for call in (lambda: found.verify(rows, Y), lambda: found.audit(rows)):
        with pytest.raises(InputError, match="rows in memory are needed"):
            call()
    with pytest.raises(InputError, match="hold partitions out"):
        found.cross_validate(rows, Y)


def test_a_profile_that_cannot_be_made_is_said(client):
    with pytest.warns(RPTEWarning, match="there is no profile"):
        assert fitted(client, profile="full").model_.settings["profile"] == "none"


def test_files_are_fitted_on_a_cluster_at_the_command_line(client, tmp_path):
    from typer.testing import CliRunner

    from rpte.cli import app

    table = TABLE.drop(columns=["exposure", "kind"])
    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(tmp_path / f"part{number}.parquet", row_group_size=400)
    given = ["fit", *map(str, sorted(tmp_path.glob("*.parquet"))), "--target", "bad"]
    asked = ["--special", "code=-9", "-o", str(tmp_path / "model.json")]
    done = CliRunner().invoke(app, [*given, *asked, "--scheduler", client.scheduler.address])
    assert done.exit_code == 0, done.output
    table = table.drop(columns="bad")
    clf = rpte.RPTEClassifier(special_values=CODES).fit(table, Y)
    found = rpte.load(tmp_path / "model.json")
    assert found.data["sha256"] is None
    np.testing.assert_allclose(found.score(table), clf.model_.score(table), atol=1e-6)


def test_an_extra_that_is_missing_is_named(monkeypatch):
    from rpte.cli.fit import FitRequest

    monkeypatch.setitem(sys.modules, "rpte.dask", None)
    request = FitRequest([Path("a.parquet")], "bad", Path("m.json"), scheduler="tcp://here:8786")
    with pytest.raises(InputError, match="--scheduler tcp://here:8786"):
        request.estimator(np.array(["no", "yes"]))
