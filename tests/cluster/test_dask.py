"""Rows on a cluster: the model of the same rows in memory, whatever partitions and workers."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="clusters need dask, the extra 'dask'")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, Future, LocalCluster
from typer.testing import CliRunner

import rpte
import rpte.dask
from rpte import Cancelled, InputError, Limits, RPTEWarning
from rpte.cli import app
from rpte.dask.blocks import Session
from rpte.dask.partitions import Collections
from rpte.model.file import to_text
from rpte.rows import scale
from rpte.table.table import Table
from task_tables import CODES, FEATURES, SHORT_SCALE, TASKS, all_rows, in_memory

pytestmark = pytest.mark.xdist_group("dask")
TABLE = all_rows().drop(columns="price")
X, LENGTHS = TABLE[FEATURES], (500, 0, 300)
FEW = TABLE.iloc[::5].reset_index(drop=True)
LAZY = {
    "two classes": ("predict_proba", "predict", "decision_function"),
    "three classes": ("predict_proba", "predict", "decision_function"),
    "poisson": ("predict", "linear_predictor"),
}


@pytest.fixture(autouse=True, scope="module")
def _small():
    """Samples of few rows, so that small tables are long ones."""
    with mock.patch.multiple(scale, **SHORT_SCALE):
        yield


def cluster(workers, processes=False):
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=processes, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made, Client(made) as found:
        yield found


def parts(table, lengths=LENGTHS):
    """Return a data frame of partitions of some lengths, the rest of the rows in the last."""
    ends = np.minimum(np.cumsum([0, *lengths]), len(table))
    cut = [table.iloc[a:b] for a, b in zip(ends, [*ends[1:], len(table)], strict=True)]
    return dd.from_map(lambda part: part, cut, meta=table.iloc[:0])


def fit(client, task="two classes", table=TABLE, lengths=LENGTHS, **parameters):
    asked = TASKS[task]
    fresh = asked.estimator(rpte.dask, client, **parameters)
    return fresh.fit(parts(table[asked.columns()], lengths), asked.y, **asked.roles)


@cache
def fitted(client, task="two classes", lengths=LENGTHS):
    """Return the fit of all rows on a cluster, which no test may change."""
    return fit(client, task, lengths=lengths)


def scores(found, X):
    return found.model_.score(X) if hasattr(found, "loss") else found.decision_function(X)


def same_terms(one, other, X=X):
    ours, theirs = one.model_.rules(), other.model_.rules()
    assert [rule.conditions for rule in ours] == [rule.conditions for rule in theirs]
    assert [rule.component for rule in ours] == [rule.component for rule in theirs]
    assert len(theirs) > 1
    np.testing.assert_allclose(scores(one, X), scores(other, X), atol=1e-5)
    assert one.model_.schema == other.model_.schema


@pytest.mark.parametrize("task", TASKS)
def test_terms_are_those_of_memory(client, task):
    asked, found, memory = TASKS[task], fitted(client, task), in_memory(task)
    same_terms(found, memory)
    assert found.model_.training["validation"]["learned_from_rows"] <= scale.SAMPLE_ROWS
    ours, theirs = found.model_.target, memory.model_.target
    assert ours.name == asked.y
    if hasattr(found, "classes_"):
        assert found.classes_.tolist() == memory.classes_.tolist()
    else:
        assert ours.units == theirs.units
        assert ours.exposure == asked.roles.get("exposure")
    assert all(check.holds for check in found.verify(X, TABLE[asked.y], **asked.given(TABLE)))
    kept = pickle.loads(pickle.dumps(found))
    assert kept.client is None
    assert to_text(kept.model_) == to_text(found.model_)
    assert clone(found).client is client
    assert clone(found).get_params() == found.get_params()


@pytest.mark.parametrize("lengths", [(), (5, 0, 300, 100), (130,) * 9], ids=["1", "5", "10"])
def test_partitions_do_not_matter_to_terms(client, lengths):
    found, memory = fitted(client, lengths=lengths), in_memory("two classes")
    same_terms(found, memory)
    columns = ["support", "event_rate"]
    np.testing.assert_allclose(found.rules_[columns], memory.rules_[columns], rtol=1e-9)


def test_excluded_columns_are_not_read(client):
    rows = parts(TABLE[[*FEATURES, "bad"]].assign(when=pd.Timestamp("2020-01-01")))
    limits = Limits(exclude=["when", "x"])
    found = TASKS["two classes"].estimator(rpte.dask, client, limits=limits).fit(rows, "bad")
    assert [*found.feature_names_in_] == [*X, "when"]
    assert not {"when", "x"} & {name for names in found.rules_["sources"] for name in names}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The table in six files, of which dask reads several at a time for a single column."""
    folder = tmp_path_factory.mktemp("table")
    for number, rows in enumerate(np.array_split(np.arange(len(TABLE)), 6)):
        TABLE.iloc[rows].to_parquet(folder / f"{number}.parquet")
    return dd.read_parquet(folder)


class TestColumnsOfOneFrame:
    """X and y as everybody takes them from a frame: dask reads each in its own partitions."""

    @pytest.mark.parametrize("task", ["two classes", "poisson"])
    def test_the_usual_form_is_fitted(self, client, stored, monkeypatch, task):
        monkeypatch.setattr(scale, "SAMPLE_ROWS", 10_000)  # a fixed penalty needs all rows
        asked = TASKS[task]
        assert len(stored[asked.y].to_delayed()) < len(stored[FEATURES].to_delayed()) == 6
        found = asked.estimator(rpte.dask, client, l1=0.02)
        found.fit(stored[FEATURES], stored[asked.y], **asked.given(stored))
        memory = asked.in_memory(TABLE, l1=0.02)
        same_terms(found, memory)
        assert found.model_.target.name == asked.y
        for role, name in asked.roles.items():
            expected = memory.predict(X, **{role: TABLE[name]})
            for given in (name, stored[name]):
                lazy = found.predict(stored[[*FEATURES, name]], **{role: given})
                np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-5)

    def test_each_row_keeps_what_is_beside_it(self, client, stored):
        few = stored[["count"]] * 1.0
        assert 1 < len(few.to_delayed()) < 6
        other = parts(TABLE, [len(part) for part in np.array_split(TABLE, 6)][:-1])["count"]
        beside = {"y": stored["count"] * 2, "sample_weight": stored["count"], "exposure": other + 1}
        assert other.npartitions == 6
        made = client.compute(Collections(few, beside, ()).partitions(), sync=True)
        assert sum(len(part.X) for part in made) == len(TABLE)
        for part in made:
            number = part.X["count"].to_numpy()
            np.testing.assert_array_equal(part.y, 2 * number)
            np.testing.assert_array_equal(part.sample_weight, number)
            np.testing.assert_array_equal(part.exposure, number + 1)

    def test_other_rows_are_refused(self, client, stored):
        variables, clf = stored[FEATURES], rpte.dask.RPTEClassifier(client)
        with pytest.raises(InputError, match=r"a partition of X has \d+ rows, that of y \d+"):
            clf.fit(variables[variables["x"] > 0], stored["bad"])
        with pytest.raises(InputError, match=r"y has 2; give y as the name of a column of X"):
            clf.fit(variables, stored["bad"].repartition(npartitions=2))
        with pytest.raises(InputError, match=r"6 partitions, y has \d; .*drop\(columns=name\)"):
            clf.fit(variables, stored["x"].to_dask_array())


@pytest.mark.parametrize("task", LAZY)
def test_rows_of_an_array(client, task):
    """All rows of two classes, so that a sample is drawn; of the others few."""
    asked, few = TASKS[task], task != "two classes"
    table = FEW if few else TABLE
    numbers, y = table[["x", "gap", "count"]].to_numpy(float), table[asked.y]
    y = np.unique(y, return_inverse=True)[1] if asked.y != "claims" else y.to_numpy()
    arrays = {name: column.to_numpy() for name, column in asked.given(table).items()}
    chunks = {name: da.from_array(array, chunks=100) for name, array in arrays.items()}
    rows = da.from_array(numbers, chunks=(100, 2))
    settings = {"special_values": None, **({"l1": 0.03} if few else {})}
    found = asked.estimator(rpte.dask, client, **settings)
    found.fit(rows, da.from_array(y, chunks=100), **chunks)
    memory = asked.estimator(**settings).fit(numbers, y, **arrays)
    same_terms(found, memory, numbers)
    if task == "poisson":
        assert (found.model_.target.name, found.model_.target.exposure) == (None, "exposure")
    for name in LAZY[task]:
        given, beside = (chunks, arrays) if (task, name) == ("poisson", "predict") else ({}, {})
        lazy = getattr(found, name)(rows, **given)
        assert lazy.shape == getattr(memory, name)(numbers, **beside).shape
        np.testing.assert_allclose(lazy.compute(), getattr(found, name)(numbers, **beside))


@pytest.mark.slow(reason="starts clusters of one, two and four workers")
def test_workers_do_not_matter():
    texts = set()
    for workers in (1, 2, 4):
        with cluster(workers) as made, Client(made) as client:
            texts.add(to_text(fit(client, lengths=[130] * 8).model_))
    assert len(texts) == 1


@pytest.mark.parametrize("task", LAZY)
def test_few_rows_are_fitted_as_in_memory(client, task):
    found = fit(client, task, FEW, (100, 60), l1=0.03).model_
    memory = TASKS[task].in_memory(FEW, l1=0.03).model_
    assert found.data == memory.data
    assert to_text(found) == to_text(memory)


def test_columns_beside_the_table_are_those_in_it(client):
    rows, asked = parts(FEW, (100,)), TASKS["poisson"]
    found = asked.estimator(rpte.dask, client, l1=0.03)
    found.fit(rows[FEATURES], rows["claims"], exposure=rows["years"])
    assert to_text(found.model_) == to_text(asked.in_memory(FEW, l1=0.03).model_)


@pytest.mark.parametrize("task", LAZY)
def test_predictions_are_lazy_and_those_of_the_model(client, task):
    found, rows = fitted(client, task), parts(TABLE, [100, 0, 700])
    for name in LAZY[task]:
        unit = {"exposure": 1} if (task, name) == ("poisson", "predict") else {}
        lazy, wanted = getattr(found, name)(rows, **unit), getattr(found, name)(X, **unit)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), wanted)
        assert lazy.dtype == wanted.dtype
    explained = found.explain(rows.partitions[:1]).compute()
    assert [*map(str, explained)] == [*map(str, found.explain(X.iloc[:100]))]
    with pytest.raises(InputError, match="'x'"):
        found.predict(rows.drop(columns="x"))


def test_predictions_with_an_exposure_and_an_offset(client):
    found, rows, years = fitted(client, "poisson"), parts(TABLE), TABLE["years"]
    for lazy, wanted in (
        (found.predict(rows, "years"), found.predict(X, years)),
        (found.predict(rows, rows["years"]), found.predict(X, years)),
        (found.predict(rows, 2.0, offset=0.5), found.predict(X, 2.0, offset=0.5)),
    ):
        np.testing.assert_array_equal(lazy.compute(), wanted)
    with pytest.raises(InputError, match="exposure is ndarray; X is in partitions"):
        found.predict(rows, np.ones(len(TABLE)))


def test_the_model_is_saved_and_says_what_it_does_not_know(client, tmp_path):
    fitted(client).save(tmp_path / "model.json")
    model, y = rpte.load(tmp_path / "model.json"), TABLE["bad"]
    assert model.data == {
        "rows": float(len(TABLE)), "distinct_rows": None, "sha256": None, "profile": None,
    }  # fmt: skip
    checks = {check.name: check for check in model.verify(X, y)}
    assert all(check.holds for check in checks.values())
    assert "no hash" in checks["not checked"].evidence
    assert not all(check.holds for check in model.verify(X.iloc[1:], y.iloc[1:]))


def test_nothing_but_the_sample_comes_to_the_client(client, monkeypatch):
    came, result = [], Session.result
    monkeypatch.setattr(Session, "result", lambda *given: came.append(result(*given)) or came[-1])
    table = all_rows(8_000)[[*FEATURES, "bad"]]
    fit(client, table=table, lengths=[1_000] * 9, max_trees=0, max_inspection_units=5)
    tables = [found for found in came if isinstance(found, Table)]
    assert [found.n_rows for found in tables] == [scale.SAMPLE_ROWS]
    others = sum(len(pickle.dumps(found)) for found in came if not isinstance(found, Table))
    assert len(pickle.dumps(tables)) + others < table.memory_usage(index=False).sum() / 2


@pytest.mark.slow(reason="starts workers as processes, kills one and waits for another")
def test_a_worker_that_dies_is_survived():
    with cluster(2, processes=True) as made, Client(made) as client:
        wanted = to_text(fit(client, lengths=[200] * 5).model_)
        pids, seen = client.run(os.getpid), []

        def kill(now):
            seen.append(now.stage)
            if now.stage == "estimating the models" and seen.count(now.stage) == 1:
                os.kill(next(iter(pids.values())), signal.SIGKILL)

        again = TASKS["two classes"].estimator(rpte.dask, client)
        again.fit(parts(TABLE[[*FEATURES, "bad"]], [200] * 5), "bad", progress=kill)
        assert seen.count("estimating the models") > 1
        assert set(client.run(os.getpid).values()) != set(pids.values())
        assert to_text(again.model_) == wanted


def test_results_are_fetched_only_when_they_are_there(client, monkeypatch):
    """A transfer that a timeout cuts off spoils the next one, so waiting comes first."""
    fetched, honest = [], Future.result

    def result(future, timeout=None):
        fetched.append(future.done())
        return honest(future, timeout)

    monkeypatch.setattr(Future, "result", result)
    fit(client, table=FEW, lengths=(100, 60), l1=0.03)
    assert fetched
    assert all(fetched)


@pytest.mark.parametrize("stage", ["drawing a sample", "estimating the models"])
def test_a_fit_is_cancelled(client, stage):
    clf, rows = TASKS["two classes"].estimator(rpte.dask, client), parts(TABLE[[*FEATURES, "bad"]])
    with pytest.raises(Cancelled, match=stage):
        clf.fit(rows, "bad", progress=lambda now: now.stage != stage)
    assert not hasattr(clf, "model_")
    until = time.monotonic() + 120
    while client.futures and time.monotonic() < until:  # they are let go in another thread
        time.sleep(0.02)
    assert not client.futures


def test_a_client_is_found_by_its_address(client):
    address = client.scheduler.address
    found = fit(address, table=FEW, l1=0.03)
    assert found.client == address
    assert fit(None, table=FEW, l1=0.03).model_ == found.model_


REFUSED = {
    "two classes": [
        ({"X": X}, "X is DataFrame, not a dask"),
        ({"y": TABLE["bad"]}, "y is Series; X is in partitions"),
        ({"y": "bed"}, "y='bed' is not a column of X .did you mean 'bad'"),
        ({"groups": "town"}, "groups may lie in several partitions"),
        ({"cv": [([0], [1])]}, "splits rows in memory"),
        ({"l1": 0.01}, "needs them in memory.*fit with l1='cv'"),
        ({"vocabulary": "hug", "l1": "4/n"}, "needs them in memory"),
        ({"client": 3}, "client=3; it must be a distributed.Client"),
        ({"y": parts(TABLE, [50])["bad"]}, "X has 4 partitions"),
        ({"y": parts(TABLE, [50, 50, 50])["bad"]}, "a partition of X has 500 rows, that of y 50"),
    ],
    "three classes": [
        ({"positive": "ill"}, r"Only binary classification is supported. positive as"),
        ({"l1": 0.01}, "needs them in memory"),
        ({"limits": Limits(monotone={"x": "increasing"})}, "name the class whose probability"),
    ],
    "poisson": [
        ({"exposure": "yeers"}, "exposure='yeers' is not a column of X .did you mean 'years'"),
        ({"exposure": TABLE["years"]}, "exposure is Series; X is in partitions"),
        ({"exposure": parts(TABLE, [9])["years"]}, "X has 4 partitions, exposure has 2"),
        ({"groups": "town"}, "groups may lie in several partitions"),
        ({"y": "gap"}, "y is missing in row .* of partition .*; drop such rows"),
        ({"y": "town"}, "y is 'a' in row 0 of partition 0 .*; give numbers, one per row"),
        ({"y": "known"}, "y is -.* of partition .*; the loss needs counts"),
        ({"exposure": "times"}, "exposure is 0.0 in row .* of partition .*must be finite"),
    ],
}


@pytest.mark.parametrize(
    ("task", "given", "message"), [(task, *each) for task in REFUSED for each in REFUSED[task]]
)
def test_what_cannot_be_fitted_is_refused_with_words(client, task, given, message):
    asked = TASKS[task]
    call = {"X": parts(TABLE), "y": asked.y}
    call |= {name: given[name] for name in ("X", "y", "groups", "exposure") if name in given}
    parameters = {"client": client, **{k: v for k, v in given.items() if k not in call}}
    with pytest.raises(InputError, match=message):
        asked.estimator(rpte.dask, **parameters).fit(**call)


def test_monotone_limits_by_class(client):
    limits = Limits(monotone={"x": {"ill": "increasing"}, "gap": {"relapse": "decreasing"}})
    found = fit(client, "three classes", limits=limits)
    checks = {check.name: check.holds for check in found.verify(X, TABLE["course"])}
    assert all(checks.values())
    assert "monotone: 'relapse' decreasing in gap" in checks
    same_terms(found, TASKS["three classes"].in_memory(TABLE, limits=limits))


def test_without_a_client_there_is_a_remedy(monkeypatch):
    def current():
        raise ValueError("No clients found")

    monkeypatch.setattr(Client, "current", current)
    with pytest.raises(InputError, match=r"no dask client; start one .client = distributed.Client"):
        rpte.dask.RPTEClassifier().fit(parts(TABLE, []), "bad")


@pytest.mark.parametrize(("task", "name"), [("two classes", "audit"), ("poisson", "score")])
def test_other_methods_need_rows_in_memory(client, task, name):
    found, rows, y = fitted(client, task), parts(TABLE), TABLE[TASKS[task].y]
    given = (rows, TASKS[task].y) if name == "score" else (rows,)
    for call in (lambda: found.verify(rows, y), lambda: getattr(found, name)(*given)):
        with pytest.raises(InputError, match="rows in memory are needed"):
            call()
    with pytest.raises(InputError, match=rf"hold partitions out.*rpte.{type(found).__name__} on a"):
        found.cross_validate(rows, y)


def test_a_profile_that_cannot_be_made_is_said(client):
    with pytest.warns(RPTEWarning, match="there is no profile"):
        found = fit(client, profile="full", max_trees=0, max_inspection_units=2)
    assert found.model_.settings["profile"] == "none"


@pytest.mark.parametrize("task", ["two classes", "poisson"])
def test_files_are_fitted_on_a_cluster_at_the_command_line(client, tmp_path, monkeypatch, task):
    """Counts are learned from all rows.

    On a cluster the number of distinct rows, and so which rows outside a sample validate, is about
    that of memory: two penalties of these counts are closer to each other than that.
    """
    asked = TASKS[task]
    if task == "poisson":
        monkeypatch.setattr(scale, "SAMPLE_ROWS", 10_000)
    table = TABLE[asked.columns()].drop(columns="kind")
    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(tmp_path / f"part{number}.parquet", row_group_size=200)
    given = ["fit", *map(str, sorted(tmp_path.glob("*.parquet"))), "--target", asked.y]
    count = ["--task", "count", "--exposure", "years"] if task == "poisson" else []
    said = ["--special", "code=-9", "-o", str(tmp_path / "model.json"), *count]
    done = CliRunner().invoke(app, [*given, *said, "--scheduler", client.scheduler.address])
    assert done.exit_code == 0, done.output
    rows = table.drop(columns=[asked.y, *asked.roles.values()])
    loss = {"loss": "poisson"} if count else {}
    memory = type(asked.estimator())(special_values=CODES, **loss)
    memory.fit(rows, table[asked.y], **asked.given(table))
    found = rpte.load(tmp_path / "model.json")
    assert found.data["sha256"] == (memory.model_.data["sha256"] if count else None)
    np.testing.assert_allclose(found.score(rows), memory.model_.score(rows), atol=1e-5)


def test_an_extra_that_is_missing_is_named(monkeypatch):
    from rpte.cli.fit import FitRequest

    monkeypatch.setitem(sys.modules, "rpte.dask", None)
    request = FitRequest([Path("a.parquet")], "bad", Path("m.json"), scheduler="tcp://here:8786")
    with pytest.raises(InputError, match="--scheduler tcp://here:8786"):
        request.estimator(np.array(["no", "yes"]))
