"""Several classes on a cluster: the terms of the same rows in memory."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="clusters need dask, the extra 'dask'")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

import rpte
from rpte import InputError, Limits
from rpte.dask import RPTEClassifier
from rpte.model.file import to_text
from rpte.rows import scale

NAMES = ["age", "dose", "ward"]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Samples of few rows, so that small tables are long ones."""
    monkeypatch.setattr(scale, "LONG_ABOVE", 700)
    monkeypatch.setattr(scale, "SAMPLE_ROWS", 800)


@pytest.fixture(scope="module")
def client():
    made = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with made, Client(made) as found:
        yield found


def frame(n=2_400, seed=3):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 80, n), "dose": rng.normal(size=n).round(2)})
    table["ward"] = rng.choice(list("abc"), n)
    pull = np.column_stack([np.zeros(n), (table["age"] - 50) / 12, 1.5 * table["dose"]])
    known = (pull + rng.gumbel(size=pull.shape)).argmax(axis=1)
    table["course"] = np.array(["cured", "ill", "relapse"], object)[known]
    table["times"] = rng.choice([0.0, 1.0, 3.0], n)
    return table.sort_values("ward", kind="stable").reset_index(drop=True)


TABLE = frame()


def parts(table, count=4):
    return dd.from_pandas(table, npartitions=count, sort=False)


@pytest.mark.parametrize("roles", [{}, {"sample_weight": "times"}])
def test_terms_are_those_of_memory(client, roles):
    table = TABLE[[*NAMES, "course", *roles.values()]]
    found = RPTEClassifier(client).fit(parts(table), "course", **roles)
    given = {role: TABLE[name] for role, name in roles.items()}
    memory = rpte.RPTEClassifier().fit(TABLE[NAMES], TABLE["course"], **given)
    ours, theirs = found.model_.rules(), memory.model_.rules()
    assert [rule.conditions for rule in ours] == [rule.conditions for rule in theirs]
    assert len(theirs) > 1
    assert found.classes_.tolist() == ["cured", "ill", "relapse"]
    X = TABLE[NAMES]
    np.testing.assert_allclose(found.predict_proba(X), memory.predict_proba(X), atol=1e-5)
    assert all(check.holds for check in found.verify(X, TABLE["course"], **given))
    assert to_text(pickle.loads(pickle.dumps(found)).model_) == to_text(found.model_)


def test_few_rows_are_fitted_as_in_memory_and_scored_lazily(client):
    few = TABLE.iloc[::6].reset_index(drop=True)
    found = RPTEClassifier(client, l1=0.03).fit(parts(few[[*NAMES, "course"]]), "course")
    memory = rpte.RPTEClassifier(l1=0.03).fit(few[NAMES], few["course"])
    assert to_text(found.model_) == to_text(memory.model_)
    X = parts(TABLE[NAMES])
    for name in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(found, name)(X)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(memory, name)(TABLE[NAMES]))
    told = found.explain(parts(few[NAMES])).compute()
    assert [str(each) for each in told] == [str(each) for each in memory.explain(few[NAMES])]


def test_rows_of_an_array(client):
    numbers = TABLE[["age", "dose"]].to_numpy(float)[:600]
    X = da.from_array(numbers, chunks=(200, 2))
    y = da.from_array(np.unique(TABLE["course"][:600], return_inverse=True)[1], chunks=200)
    found = RPTEClassifier(client, l1=0.03).fit(X, y)
    memory = rpte.RPTEClassifier(l1=0.03).fit(numbers, y.compute())
    for name in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(found, name)(X)
        np.testing.assert_array_equal(lazy.compute(), getattr(memory, name)(numbers))


def test_what_cannot_be_is_said(client):
    X = parts(TABLE[[*NAMES, "course"]])
    with pytest.raises(InputError, match=r"Only binary classification is supported. positive as"):
        RPTEClassifier(client, positive="ill").fit(X, "course")
    with pytest.raises(InputError, match="needs them in memory"):
        RPTEClassifier(client, l1=0.01).fit(X, "course")


def test_monotone_limits_by_class(client):
    limits = Limits(monotone={"age": {"ill": "increasing"}, "dose": {"relapse": "decreasing"}})
    table = TABLE[[*NAMES, "course"]]
    found = RPTEClassifier(client, limits=limits).fit(parts(table), "course")
    checks = {check.name: check.holds for check in found.verify(TABLE[NAMES], TABLE["course"])}
    assert all(checks.values())
    assert "monotone: 'relapse' decreasing in dose" in checks
    memory = rpte.RPTEClassifier(limits=limits).fit(TABLE[NAMES], TABLE["course"])
    X = TABLE[NAMES]
    np.testing.assert_allclose(found.predict_proba(X), memory.predict_proba(X), atol=1e-5)
    wrong = RPTEClassifier(client, limits=Limits(monotone={"age": "increasing"}))
    with pytest.raises(InputError, match="name the class whose probability"):
        wrong.fit(parts(table), "course")
