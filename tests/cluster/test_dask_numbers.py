"""Numbers on a cluster: the terms of the same rows in memory, with exposures and offsets."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="clusters need dask, the extra 'dask'")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

import rpte
from rpte import InputError
from rpte.dask import RPTERegressor
from rpte.model.file import to_text
from rpte.rows import scale

NAMES = ["age", "power", "town"]


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
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "power": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(2)),
            "town": rng.choice(list("abc"), n),
            "years": rng.uniform(0.1, 2.0, n).round(3),
            "known": rng.normal(size=n).round(2) / 4,
            "times": rng.choice([0.0, 0.5, 1.0, 3.0], n),
        }
    )
    rate = np.exp(-0.5 + 1.2 * (table["age"] < 35) + 0.9 * (table["town"] == "a") + table["known"])
    table["claims"] = rng.poisson(rate * table["years"])
    table["cost"] = (rng.gamma(2.0, rate) + 0.01).round(2)
    return table.sort_values("town", kind="stable").reset_index(drop=True)


TABLE = frame()
CASES = {
    "poisson": ("claims", {"exposure": "years"}),
    "tweedie": ("cost", {"exposure": "years", "offset": "known", "sample_weight": "times"}),
    "squared_error": ("cost", {"offset": "known"}),
}


def parts(table, count=4):
    return dd.from_pandas(table, npartitions=count, sort=False)


def fitted(client, loss, count=4, **parameters):
    y, roles = CASES[loss]
    table = TABLE[[*NAMES, y, *roles.values()]]
    return RPTERegressor(client, loss=loss, **parameters).fit(parts(table, count), y, **roles)


@pytest.mark.parametrize("loss", CASES)
def test_terms_are_those_of_memory(client, loss):
    y, roles = CASES[loss]
    found = fitted(client, loss, max_trees=2)
    given = {role: TABLE[name] for role, name in roles.items()}
    memory = rpte.RPTERegressor(loss=loss, max_trees=2).fit(TABLE[NAMES], TABLE[y], **given)
    columns = ["component", "tree", "term", "conditions"]
    pd.testing.assert_frame_equal(found.rules_[columns], memory.rules_[columns])
    assert len(memory.rules_) > 2
    assert found.model_.training["validation"]["learned_from_rows"] <= 800
    assert found.model_.target.units == memory.model_.target.units
    assert (found.model_.target.name, found.model_.target.exposure) == (y, roles.get("exposure"))
    ours, theirs = found.linear_predictor(TABLE[NAMES]), memory.linear_predictor(TABLE[NAMES])
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert all(check.holds for check in found.verify(TABLE[NAMES], TABLE[y], **given))


def test_few_rows_are_fitted_as_in_memory(client):
    few, y = TABLE.iloc[::6].reset_index(drop=True), "claims"
    given = {"loss": "poisson", "l1": 0.02}
    reg = RPTERegressor(client, **given).fit(parts(few[[*NAMES, y, "years"]]), y, exposure="years")
    memory = rpte.RPTERegressor(**given).fit(few[NAMES], few[y], exposure=few["years"])
    assert to_text(reg.model_) == to_text(memory.model_)
    columns = {name: parts(few)[name] for name in (y, "years")}
    apart = RPTERegressor(client, **given)
    apart.fit(parts(few)[NAMES], columns[y], exposure=columns["years"])
    assert to_text(apart.model_) == to_text(memory.model_)


def test_rows_of_an_array(client):
    numbers = TABLE[["age", "power"]].to_numpy(float)
    X = da.from_array(numbers, chunks=(500, 2))
    y, years = (da.from_array(TABLE[n].to_numpy(), chunks=500) for n in ("claims", "years"))
    found = RPTERegressor(client, loss="poisson", max_trees=0).fit(X, y, exposure=years)
    assert (found.model_.target.name, found.model_.target.exposure) == (None, "exposure")
    lazy = found.predict(X, years)
    assert lazy.shape == (len(TABLE),)
    np.testing.assert_array_equal(lazy.compute(), found.predict(numbers, TABLE["years"]))


def test_answers_are_lazy_and_those_of_the_model(client):
    found = fitted(client, "poisson", max_trees=0)
    rows = parts(TABLE[[*NAMES, "years"]], 3)
    X, years = TABLE[NAMES], TABLE["years"]
    for lazy, wanted in (
        (found.predict(rows, "years"), found.predict(X, years)),
        (found.predict(rows, rows["years"]), found.predict(X, years)),
        (found.predict(rows, 2.0, offset=0.5), found.predict(X, 2.0, offset=0.5)),
        (found.predict(rows), found.predict(X)),
        (found.linear_predictor(rows), found.linear_predictor(X)),
    ):
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), wanted)
    explained = found.explain(rows.partitions[:1]).compute()
    assert explained == found.explain(X.iloc[: len(explained)])
    kept = pickle.loads(pickle.dumps(found))
    assert kept.client is None
    assert kept.model_ == found.model_
    assert clone(found).get_params()["loss"] == "poisson"
    assert clone(found).client is client


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exposure": "yeers"}, "exposure='yeers' is not a column of X .did you mean 'years'"),
        ({"exposure": TABLE["years"]}, "exposure is Series; X is in partitions"),
        ({"exposure": parts(TABLE, 2)["years"]}, "X has 4 partitions, exposure has 2"),
        ({"groups": "town"}, "groups may lie in several partitions"),
        ({"y": "power"}, "y is missing in row .* of partition .*; drop such rows"),
        ({"y": "town"}, "y is 'a' in row 0 of partition 0 .*; give numbers, one per row"),
        ({"y": "known"}, "y is -.* of partition .*; the loss needs counts"),
        (
            {"exposure": "times"},
            "exposure is 0.0 in row .* of partition .*exposures must be finite",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_words(client, given, message):
    with pytest.raises(InputError, match=message):
        RPTERegressor(client, loss="poisson").fit(parts(TABLE), **{"y": "claims", **given})


def test_other_methods_need_rows_in_memory(client):
    found, rows = fitted(client, "poisson", max_trees=0), parts(TABLE)
    for call in (lambda: found.verify(rows, TABLE["claims"]), lambda: found.score(rows, "claims")):
        with pytest.raises(InputError, match="rows in memory are needed"):
            call()
    with pytest.raises(InputError, match=r"hold partitions out.*rpte.RPTERegressor on a sample"):
        found.cross_validate(rows, "claims")
    with pytest.raises(InputError, match="exposure is ndarray; X is in partitions"):
        found.predict(rows, np.ones(len(TABLE)))


def test_files_are_fitted_on_a_cluster_at_the_command_line(client, tmp_path):
    from typer.testing import CliRunner

    from rpte.cli import app

    table = TABLE[[*NAMES, "claims", "years"]]
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(tmp_path / f"part{number}.parquet")
    given = ["fit", *map(str, sorted(tmp_path.glob("*.parquet"))), "--target", "claims"]
    asked = ["--task", "count", "--exposure", "years", "-o", str(tmp_path / "model.json")]
    done = CliRunner().invoke(app, [*given, *asked, "--scheduler", client.scheduler.address])
    assert done.exit_code == 0, done.output
    memory = rpte.RPTERegressor(loss="poisson")
    memory.fit(table[NAMES], table["claims"], exposure=table["years"])
    found = rpte.load(tmp_path / "model.json")
    assert found.data["sha256"] is None
    np.testing.assert_allclose(
        found.score(TABLE[NAMES]), memory.model_.score(TABLE[NAMES]), atol=1e-5
    )
