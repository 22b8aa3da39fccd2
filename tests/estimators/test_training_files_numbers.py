"""Numbers in files give the model of the same rows in memory; what cannot be is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="tables in files need pyarrow, the extra 'files'")
from pyarrow import dataset as ds

from rpte import RPTERegressor
from rpte.errors import InputError
from rpte.model.file import to_dict
from rpte.rows import scale

N = 6_000
BESIDE = ["claims", "size", "years", "known", "weight", "policy"]


@pytest.fixture(autouse=True, scope="module")
def _small_samples():
    """Let tables of N rows be searched on a sample."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale, "LONG_ABOVE", 2_000)
        patch.setattr(scale, "SAMPLE_ROWS", 4_000)
        patch.setattr(scale, "BLOCK_ROWS", 1_024)
        yield


def frame(n=N, seed=5):
    """Return policies with counts, amounts, exposures, offsets, weights and groups."""
    rng = np.random.default_rng(seed)
    age, power = rng.integers(18, 80, n), rng.normal(size=n).round(2)
    town = rng.choice(list("abc"), n)
    table = pd.DataFrame({"age": age, "power": power, "town": town})
    table.loc[rng.random(n) < 0.1, "power"] = np.nan
    table["years"] = rng.uniform(0.1, 2.0, n).round(3)
    table["known"] = rng.normal(size=n).round(2) / 4
    rate = np.exp(-1.0 + 0.8 * (age < 30) + 0.5 * (town == "a") * power + table["known"])
    table["claims"] = rng.poisson(rate * table["years"])
    table["size"] = (rng.gamma(2.0, rate) + 0.01).round(2)
    table["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    table["policy"] = rng.integers(0, n // 2, n)
    return table


@pytest.fixture(scope="module")
def table():
    return frame()


def written(table, folder, parts=3, seed=1):
    """Write a table as several files, its rows shuffled."""
    table = table.sample(frac=1.0, random_state=seed)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), parts)):
        some = table.iloc[rows].reset_index(drop=True)
        some.to_parquet(folder / f"part{number}.parquet", row_group_size=700)
    return f"{folder}/*.parquet"


def given(table, **roles):
    return {role: table[name] for role, name in roles.items()}


def same(one, other):
    """Tell that the models of two regressors are one, and so are those of their frontiers."""
    for a, b in zip(one.frontier_models_, other.frontier_models_, strict=True):
        assert to_dict(a) == to_dict(b)
    assert to_dict(one.model_) == to_dict(other.model_)
    assert other.model_.audit().miu > 0


CASES = {
    "poisson": ("claims", {"exposure": "years"}),
    "gamma": ("size", {"sample_weight": "weight"}),
    "tweedie": ("size", {"exposure": "years", "offset": "known", "sample_weight": "weight"}),
    "squared_error": ("size", {"offset": "known", "groups": "policy"}),
}


@pytest.mark.parametrize("loss", CASES)
def test_the_model_is_that_of_memory(table, tmp_path, loss):
    y, roles = CASES[loss]
    unread = [name for name in BESIDE if name not in (y, *roles.values())]
    rows = table.drop(columns=unread)
    reg = RPTERegressor(loss=loss, max_trees=2)
    reg.fit(written(rows, tmp_path), y, **roles, cache_dir=tmp_path)
    X = rows.drop(columns=[y, *roles.values()])
    memory = RPTERegressor(loss=loss, max_trees=2).fit(X, table[y], **given(table, **roles))
    same(reg, memory)
    assert "learned_from_rows" in reg.model_.training["validation"]
    assert not [*tmp_path.glob("rpte-*")]
    known = {role: table[name] for role, name in roles.items() if role != "groups"}
    assert all(check.holds for check in reg.verify(X, table[y], **known))


def test_few_rows_recur_and_have_any_settings(table, tmp_path):
    rows = pd.concat([table.iloc[:300]] * 2)[["age", "town", "claims", "years"]]
    path = written(rows, tmp_path)
    for source in (
        path,
        tmp_path,
        ds.dataset(tmp_path),
        ds.dataset(tmp_path).scanner().to_reader(),
    ):
        reg = RPTERegressor(loss="poisson", l1=0.02)
        reg.fit(source, y="claims", exposure="years", cache_dir=tmp_path)
        memory = RPTERegressor(loss="poisson", l1=0.02)
        same(reg, memory.fit(rows[["age", "town"]], rows["claims"], exposure=rows["years"]))
    assert list(reg.feature_names_in_) == ["age", "town"]
    X = rows.drop(columns="claims")
    np.testing.assert_array_equal(reg.predict(X, "years"), memory.predict(X, rows["years"]))


@pytest.mark.parametrize(
    ("column", "value", "loss", "message"),
    [
        ("claims", -1.0, "poisson", r"y \(column 'claims'\) is -1.0 in row 20 of .*part1.parquet "
         r"\(counted from 0\); the loss needs .*: correct or drop such rows, or choose another"),
        ("claims", np.nan, "poisson", "y .column 'claims'. is missing in row 20 of .*part1"),
        ("claims", np.inf, "squared_error", "y .column 'claims'. is infinite in row 20 of .*part1"),
        ("years", 0.0, "poisson", r"exposure \(column 'years'\) is 0.0 in row 20 of .*part1.parquet"
         r" \(counted from 0\); exposures must be finite and above 0: correct or drop such rows"),
        ("weight", -2.0, "poisson", "sample_weight .column 'weight'. is -2.0 in row 20 of .*part1"),
    ],
)  # fmt: skip
def test_a_bad_cell_is_named_with_file_row_and_remedy(
    table, tmp_path, column, value, loss, message
):
    for number in range(2):
        rows = table.iloc[100 * number : 100 * number + 100].astype({"claims": float})
        if number == 1:
            rows.iloc[20, rows.columns.get_loc(column)] = value
        rows.to_parquet(tmp_path / f"part{number}.parquet")
    roles = {} if loss == "squared_error" else {"exposure": "years"}
    reg = RPTERegressor(loss=loss)
    with pytest.raises(InputError, match=message):
        reg.fit(tmp_path, "claims", sample_weight="weight", **roles, cache_dir=tmp_path)
    assert not [*tmp_path.glob("rpte-*")]


def test_text_is_no_number(table, tmp_path):
    path = written(table.assign(claims="two").iloc[:100], tmp_path)
    message = r"y \(column 'claims'\) is 'two' in row 0 of .*part0.*; give numbers, one per row"
    with pytest.raises(InputError, match=message):
        RPTERegressor(loss="poisson").fit(path, "claims")


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"y": None}, "y is NoneType; the table is in files, so name the column"),
        ({"exposure": np.ones(100)}, "exposure is ndarray; the table is in files, so name the"),
        ({"exposure": "yeras"}, "the exposure column 'yeras' is not in the table .did you mean"),
        ({"offset": "knwon"}, "the offset column 'knwon' is not in the table .did you mean"),
        ({"loss": "squared_error", "exposure": "years"}, "exposure multiplies a mean"),
    ],
)
def test_what_cannot_be_is_said(table, tmp_path, roles, message):
    path = written(table.iloc[:100], tmp_path)
    reg = RPTERegressor(loss=roles.pop("loss", "poisson"))
    with pytest.raises(InputError, match=message):
        reg.fit(path, **{"y": "claims", **roles})


def test_cost_of_files_and_of_memory(table, tmp_path):
    rows, reg = table[["age", "town", "claims", "years"]], RPTERegressor(loss="poisson", l1=0.05)
    found = reg.estimate_cost(written(rows.iloc[:2_000], tmp_path), "claims", exposure="years")
    assert (found.rows, found.columns) == (2_000, 2)
    assert found.disk > 2_000 * 25
    X = rows[["age", "town"]].iloc[:2_000]
    memory = reg.estimate_cost(X, exposure=rows["years"].iloc[:2_000])
    assert (memory.rows, memory.disk) == (2_000, 0.0)
    assert memory.seconds > 0


def test_a_fixed_penalty_on_many_rows_is_refused(table, tmp_path):
    path = written(table[["age", "claims"]].assign(x=np.arange(N) / 7), tmp_path)
    with pytest.raises(InputError, match="needs them in memory"):
        RPTERegressor(loss="poisson", l1=0.01).fit(path, "claims")
