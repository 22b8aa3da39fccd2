"""Several classes in files give the model of the same rows in memory; what cannot be is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="tables in files need pyarrow, the extra 'files'")
from pyarrow import dataset as ds

from rpte import InputError, Limits, RPTEClassifier
from rpte.estimation import held_rows
from rpte.model.file import to_dict, to_text
from rpte.rows import scale

N = 4_000


@pytest.fixture(scope="module")
def table():
    """Return rows of four classes, with weights and groups."""
    rng = np.random.default_rng(5)
    found = pd.DataFrame({"age": rng.integers(18, 80, N), "dose": rng.normal(size=N).round(2)})
    found["ward"] = rng.choice(list("abc"), N)
    found.loc[rng.random(N) < 0.1, "dose"] = np.nan
    pull = np.zeros((N, 4))
    pull[:, 1] = (found["age"] - 50) / 15
    pull[:, 2] = 1.5 * found["dose"].fillna(0.0)
    pull[:, 3] = 1.2 * (found["ward"] == "a") - 0.5
    known = (pull + rng.gumbel(size=pull.shape)).argmax(axis=1)
    found["course"] = np.array(["cured", "ill", "relapse", "unknown"], object)[known]
    found["number"] = known * 3
    found["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], N)
    found["patient"] = rng.integers(0, N // 3, N)
    return found


@pytest.fixture
def _long(monkeypatch):
    """Let tables of N rows be searched on a sample, and the others be in blocks on disk."""
    monkeypatch.setattr(scale, "LONG_ABOVE", 1_000)
    monkeypatch.setattr(scale, "SAMPLE_ROWS", 2_500)
    monkeypatch.setattr(scale, "BLOCK_ROWS", 1_024)


def written(table, folder, parts=3):
    """Write a table as several files, its rows shuffled."""
    table = table.sample(frac=1.0, random_state=1)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), parts)):
        some = table.iloc[rows].reset_index(drop=True)
        some.to_parquet(folder / f"part{number}.parquet", row_group_size=700)
    return f"{folder}/*.parquet"


def same(one, other):
    """Tell that the models of two classifiers are one, and so are those of their frontiers."""
    for a, b in zip(one.frontier_models_, other.frontier_models_, strict=True):
        assert to_dict(a) == to_dict(b)
    assert to_text(one.model_) == to_text(other.model_)
    assert other.model_.audit().miu > 0
    assert one.classes_.tolist() == other.classes_.tolist()


FEATURES = ["age", "dose", "ward"]
CASES = {
    "plain": ("course", {}),
    "weights": ("course", {"sample_weight": "weight"}),
    "groups": ("number", {"groups": "patient"}),
}


@pytest.mark.slow
@pytest.mark.usefixtures("_long")
@pytest.mark.parametrize("case", CASES)
def test_the_model_of_many_rows_is_that_of_memory(table, tmp_path, case):
    y, roles = CASES[case]
    rows = table[[*FEATURES, y, *roles.values()]]
    stored = RPTEClassifier().fit(written(rows, tmp_path), y, **roles, cache_dir=tmp_path)
    given = {role: table[name] for role, name in roles.items()}
    memory = RPTEClassifier().fit(table[FEATURES], table[y], **given)
    same(stored, memory)
    assert "learned_from_rows" in stored.model_.training["validation"]
    assert not [*tmp_path.glob("rpte-*")]
    given.pop("groups", None)
    assert all(check.holds for check in stored.model_.verify(table[FEATURES], table[y], **given))


@pytest.mark.parametrize("weights", [None, "balanced", {"ill": 2.0}])
def test_few_rows_from_any_source(table, tmp_path, weights):
    rows = pd.concat([table.iloc[:300]] * 2)[[*FEATURES, "course"]]
    path, made = written(rows, tmp_path), RPTEClassifier(l1=0.03, class_weight=weights)
    memory = RPTEClassifier(l1=0.03, class_weight=weights).fit(rows[FEATURES], rows["course"])
    stream = ds.dataset(tmp_path).scanner().to_reader()
    for source in (path, tmp_path, ds.dataset(tmp_path), stream):
        same(made.fit(source, "course", cache_dir=tmp_path), memory)


def test_labels_of_numbers(table, tmp_path):
    rows = table.iloc[:300][[*FEATURES, "number"]]
    path = written(rows, tmp_path)
    same(
        RPTEClassifier(l1=0.03).fit(path, "number"),
        RPTEClassifier(l1=0.03).fit(rows[FEATURES], rows["number"]),
    )


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({"course": "rare"}, {}, r"1 of 5 classes with fewer than 5 rows \('rare' 3\)"),
        ({"course": None}, {}, r"3 missing label.s., first at row"),
        ({}, {"positive": "ill"}, "Only binary classification is supported. positive as given"),
        ({}, {"reassign": False}, "Only binary classification is supported. reassign as given"),
        ({}, {"class_weight": {"ill": 0}}, r"the classes \['ill'\] have no rows with a positive"),
        ({}, {"class_weight": {"sick": 2}}, "'sick' is not a class"),
    ],
)
def test_what_cannot_be_is_said(table, tmp_path, change, given, message):
    rows = table.iloc[:200][[*FEATURES, "course"]].copy()
    for name, value in change.items():
        rows.iloc[:3, rows.columns.get_loc(name)] = value
    path = written(rows, tmp_path)
    with pytest.raises(InputError, match=message):
        RPTEClassifier(**given).fit(path, "course")
    memory = rows.sample(frac=1.0, random_state=1)
    with pytest.raises(InputError, match=message):
        RPTEClassifier(**given).fit(memory[FEATURES], memory["course"])


def test_many_labels(table, tmp_path):
    path = written(
        table.iloc[:306][FEATURES].assign(y=[f"c{i % 51}" for i in range(306)]), tmp_path
    )
    with pytest.raises(InputError, match="51 classes, at most 50"):
        RPTEClassifier().fit(path, "y")


@pytest.mark.usefixtures("_long")
def test_more_rows_than_fit_are_refused(table, tmp_path, monkeypatch):
    path = written(table[[*FEATURES, "course"]], tmp_path)
    with pytest.raises(InputError, match="needs them in memory"):
        RPTEClassifier(l1=0.01).fit(path, "course")
    monkeypatch.setattr(held_rows, "MOST_CELLS", 1_000)
    message = (
        r"holds the values of its \d+ terms on all rows in memory, and [\d,]+ rows are too many"
    )
    with pytest.raises(InputError, match=message):
        RPTEClassifier().fit(path, "course")


def test_cost(table, tmp_path):
    rows = table.iloc[:1_500][[*FEATURES, "course"]]
    found = RPTEClassifier(l1=0.05).estimate_cost(written(rows, tmp_path), "course")
    assert (found.rows, found.columns) == (1_500, 3)
    assert RPTEClassifier(l1=0.05).estimate_cost(rows[FEATURES], rows["course"]).seconds > 0


@pytest.mark.usefixtures("_long")
def test_monotone_limits_by_class_are_those_of_memory(table, tmp_path):
    limits = Limits(monotone={"age": {"ill": "increasing"}, "dose": {"relapse": "decreasing"}})
    rows, made = table[[*FEATURES, "course"]], RPTEClassifier(limits=limits)
    stored = made.fit(written(rows, tmp_path), "course", cache_dir=tmp_path)
    memory = RPTEClassifier(limits=limits).fit(rows[FEATURES], rows["course"])
    same(memory, stored)
    checks = stored.verify(rows[FEATURES], rows["course"])
    assert all(check.holds for check in checks)
    assert "monotone: 'relapse' decreasing in dose" in {check.name for check in checks}
