"""A table in files gives the model of the same rows in memory; what cannot be is said."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

pa = pytest.importorskip("pyarrow", reason="tables in files need pyarrow, the extra 'files'")
from pyarrow import dataset as ds  # noqa: E402
from pyarrow import parquet  # noqa: E402
from sklearn.base import clone  # noqa: E402

import rpte  # noqa: E402
from rpte import Limits, RPTEClassifier, RPTERegressor  # noqa: E402
from rpte.errors import Cancelled, InputError, RPTEWarning  # noqa: E402
from rpte.estimation import held_rows  # noqa: E402
from rpte.model.file import to_dict  # noqa: E402
from rpte.rows import scale  # noqa: E402
from task_tables import CODES, GROUPED, SHORT_SCALE, TASKS, all_rows, in_memory  # noqa: E402

pytestmark = pytest.mark.xdist_group("files")  # the fits in memory are made once
TABLE = all_rows()
FEW = TABLE.iloc[::8].reset_index(drop=True)
CASES = {**TASKS, **GROUPED}
KINDS = ("two classes", "three classes", "poisson")


@pytest.fixture(autouse=True, scope="module")
def _small_samples():
    """Let tables of some hundred rows be searched on a sample, the others be in blocks on disk."""
    with mock.patch.multiple(scale, **SHORT_SCALE):
        yield


def written(table, folder, parts=3, row_group=97, seed=1):
    """Write a table as several files, its rows shuffled if there is a seed."""
    if seed is not None:
        table = table.sample(frac=1.0, random_state=seed)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), parts)):
        some = table.iloc[rows].reset_index(drop=True)
        some.to_parquet(folder / f"part{number}.parquet", row_group_size=row_group)
    return f"{folder}/*.parquet"


def same(one, other):
    """Tell that the models of two estimators are one, and so are those of their frontiers."""
    for a, b in zip(one.frontier_models_, other.frontier_models_, strict=True):
        assert to_dict(a) == to_dict(b)
    assert to_dict(one.model_) == to_dict(other.model_)
    assert one.model_.summary() == other.model_.summary()
    assert other.model_.audit().miu > 0
    np.testing.assert_array_equal(one.feature_names_in_, other.feature_names_in_)
    if hasattr(other, "classes_"):
        assert one.classes_.tolist() == other.classes_.tolist()


QUICKEST = ("two classes", "three classes", "gamma")
LONGER = pytest.mark.slow(reason="fits a table in memory and from files")


@pytest.mark.parametrize(
    "case", [c if c in QUICKEST else pytest.param(c, marks=LONGER) for c in CASES]
)
def test_the_model_is_that_of_memory(tmp_path, case):
    task, memory = CASES[case], in_memory(case)
    stored = task.estimator()
    path = written(TABLE[task.columns()], tmp_path)
    stored.fit(path, task.y, **task.roles, cache_dir=tmp_path)
    same(stored, memory)
    validation = stored.model_.training["validation"]
    assert "learned_from_rows" in validation
    assert (validation["by"] == "groups") == ("groups" in task.roles)
    assert not [*tmp_path.glob("rpte-*")]
    X, known = TABLE[[*task.features]], task.given(TABLE)
    unit = {role: value for role, value in (("exposure", 1), ("offset", 0)) if role in known}
    np.testing.assert_array_equal(stored.predict(X, **unit), memory.predict(X, **unit))
    known.pop("groups", None)
    assert all(check.holds for check in stored.verify(X, TABLE[task.y], **known))


@pytest.mark.parametrize(
    ("parts", "row_group", "seed", "jobs"), [(1, 100_000, None, 1), (2, 300, 0, 4)]
)
def test_neither_files_nor_threads_matter(tmp_path, parts, row_group, seed, jobs):
    task = TASKS["two classes"]
    path = written(TABLE[task.columns()], tmp_path, parts, row_group, seed)
    same(task.estimator(n_jobs=jobs).fit(path, y="bad"), in_memory("two classes"))


def test_a_dataset_and_streams_are_read(tmp_path):
    task = TASKS["two classes"]
    written(TABLE[task.columns()], tmp_path, 2)
    dataset = ds.dataset(tmp_path, format="parquet")

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return dataset.scanner().to_reader().__arrow_c_stream__(requested_schema)

    for source in (dataset, dataset.scanner().to_reader(), Stream()):
        found = task.estimator().fit(source, y="bad", cache_dir=tmp_path)
        same(found, in_memory("two classes"))
    assert not [*tmp_path.glob("rpte-*")]


def test_monotone_limits_by_class_are_those_of_memory(tmp_path):
    limits = Limits(monotone={"x": {"ill": "increasing"}, "gap": {"relapse": "decreasing"}})
    task = TASKS["three classes"]
    path = written(TABLE[task.columns()], tmp_path)
    stored = task.estimator(limits=limits).fit(path, "course", cache_dir=tmp_path)
    same(stored, task.in_memory(TABLE, limits=limits))
    checks = stored.verify(TABLE[[*task.features]], TABLE["course"])
    assert all(check.holds for check in checks)
    assert "monotone: 'relapse' decreasing in gap" in {check.name for check in checks}


WEIGHTS = [{"class_weight": "balanced"}, {"class_weight": {"ill": 2.0}}]


@pytest.mark.parametrize(
    ("kind", "given"),
    [*((kind, {}) for kind in KINDS), *(("three classes", each) for each in WEIGHTS)],
)
def test_few_rows_that_recur_from_any_source(tmp_path, kind, given):
    task, rows = TASKS[kind], pd.concat([FEW] * 2)
    path = written(rows[task.columns()], tmp_path)
    memory = task.in_memory(rows, l1=0.03, **given)
    stream = ds.dataset(tmp_path).scanner().to_reader()
    for source in (path, tmp_path, ds.dataset(tmp_path), stream):
        found = task.estimator(l1=0.03, **given)
        same(found.fit(source, task.y, **task.roles, cache_dir=tmp_path), memory)


def test_labels_of_numbers(tmp_path):
    task = CASES["groups of numbered classes"]
    rows = FEW[[*task.features, "grade"]]
    found = task.estimator(l1=0.03).fit(written(rows, tmp_path), "grade")
    same(found, task.estimator(l1=0.03).fit(rows[[*task.features]], rows["grade"]))


def test_an_exposure_at_prediction_may_be_named(tmp_path):
    task = TASKS["poisson"]
    path = written(FEW[task.columns()], tmp_path)
    reg = task.estimator(l1=0.02).fit(path, "claims", exposure="years")
    assert list(reg.feature_names_in_) == [*task.features]
    X = FEW[[*task.features, "years"]]
    np.testing.assert_array_equal(reg.predict(X, "years"), reg.predict(X, FEW["years"]))


def test_frames_in_memory_stay_there():
    task = TASKS["two classes"]
    X = pa.Table.from_pandas(FEW[[*task.features]])
    same(task.estimator(l1=0.05).fit(X, FEW["bad"]), task.in_memory(FEW, l1=0.05))


def test_a_short_table_may_have_any_settings(tmp_path):
    task = TASKS["two classes"]
    path = written(FEW[task.columns()], tmp_path)
    paper = [RPTEClassifier.paper(special_values=CODES) for _ in range(2)]
    same(paper[0].fit(path, "bad"), paper[1].fit(FEW[[*task.features]], FEW["bad"]))


def test_columns_left_out_are_not_read(tmp_path):
    dated = FEW[["x", "gap", "bad"]].assign(when=datetime.date(2020, 1, 1), case=range(len(FEW)))
    limits = Limits(exclude=["when", "case"])
    clf = RPTEClassifier(l1=0.05, limits=limits).fit(written(dated, tmp_path), "bad")
    assert set(clf.feature_names_in_) == set(dated) - {"bad"}
    assert "when" not in clf.model_.schema.names


def test_files_of_different_types_are_one_table(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 200), rng.integers(0, 2, 200)
    parquet.write_table(pa.table({"x": x[:100], "y": y[:100]}), tmp_path / "a.parquet")
    halves = pa.table({"y": y[100:], "x": x[100:] + 0.5})
    parquet.write_table(halves, tmp_path / "b.parquet")
    clf = RPTEClassifier(l1=0.01).fit(tmp_path, "y")
    both = pd.DataFrame({"x": np.concatenate([x[:100], x[100:] + 0.5])})
    same(clf, RPTEClassifier(l1=0.01).fit(both, pd.Series(y, name="y")))


N = len(FEW)
TWO, THREE = "Only binary classification is supported", {"y": "course"}
REFUSED = [
    ({}, {"y": "bda"}, "the target column 'bda' is not in the table .did you mean 'bad'"),
    ({}, {"y": None}, "y is NoneType; the table is in files, so name the column"),
    ({}, {"y": np.zeros(N)}, "y is ndarray; the table is in files, so name the column"),
    ({}, {"sample_weight": np.ones(N)}, "sample_weight is ndarray"),
    ({}, {"groups": "ptient"}, "the groups column 'ptient' is not in the table"),
    ({"bad": "yes"}, {}, "y holds one class only, 'yes'"),
    ({"bad": None}, {}, rf"Input y contains NaN: {N} missing label.s., first at row 0"),
    ({"bad": np.arange(N) % 99}, {}, "99 classes, at most 50 can be told apart"),
    ({"bad": [f"c{i % 51}" for i in range(N)]}, {}, "51 classes, at most 50"),
    ({"bad": np.arange(N) / 7}, {}, "Unknown label type: continuous"),
    ({"w": -1.0}, {"sample_weight": "w"}, "must be finite and not negative"),
    ({"when": datetime.date(2020, 1, 1)}, {}, "'when' holds dates or durations"),
    ({"x": np.inf}, {}, r"column 'x' holds 50 values beyond 1e\+300"),
    ({}, {"cv": KFold(3)}, "splits rows in memory"),
    ({}, {**THREE, "positive": "ill"}, f"{TWO}. positive as given"),
    ({}, {**THREE, "reassign": False}, f"{TWO}. reassign as given"),
    ({}, {**THREE, "class_weight": {"ill": 0}}, r"the classes \['ill'\] have no rows with a pos"),
    ({}, {**THREE, "class_weight": {"sick": 2}}, "'sick' is not a class"),
    ({}, {"exposure": np.ones(N)}, "exposure is ndarray; the table is in files, so name the"),
    ({}, {"exposure": "yeras"}, "the exposure column 'yeras' is not in the table .did you mean"),
    ({}, {"offset": "knwon"}, "the offset column 'knwon' is not in the table .did you mean"),
    ({}, {"loss": "squared_error", "exposure": "years"}, "exposure multiplies a mean"),
    ({"claims": "two"}, {"exposure": "years"}, "y .column 'claims'. is 'two' in row 0 of .*part"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "given", "message"), REFUSED)
def test_what_cannot_be_is_said(tmp_path, change, given, message):
    numbers = {"exposure", "offset"} & {*given}
    path = written(FEW.drop(columns="price").assign(**change), tmp_path, seed=None)
    roles = ("y", "sample_weight", "groups", "exposure", "offset")
    call = {"y": "claims" if numbers else "bad"}
    call |= {name: given[name] for name in roles if name in given}
    parameters = {name: value for name, value in given.items() if name not in roles}
    made = RPTERegressor(**{"loss": "poisson", **parameters}) if numbers else None
    with pytest.raises(InputError, match=message):
        (made or RPTEClassifier(**parameters)).fit(path, cache_dir=tmp_path, **call)
    assert not [*tmp_path.glob("rpte-*")]


@pytest.mark.parametrize("cells", [{121: None, 140: None}, {7: "rare", 8: "rare"}])
def test_labels_are_refused_or_warned_of_as_in_memory(tmp_path, cells):
    rows = FEW[["x", "gap", "course"]].copy()
    rows.loc[[*cells], "course"] = [*cells.values()]
    path = written(rows, tmp_path, row_group=20, seed=None)
    said = pytest.raises(InputError, match=r"2 missing label.s., first at row 121")
    for given in ((path, "course"), (rows[["x", "gap"]], rows["course"])):
        if 7 in cells:
            said = pytest.warns(RPTEWarning, match=r"1 of 4 classes with fewer .* \(.rare. 2\)")
        with said:
            RPTEClassifier(l1=0.1).fit(*given)


@pytest.mark.parametrize(
    ("column", "value", "loss", "message"),
    [
        ("claims", -1.0, "poisson", r"y \(column 'claims'\) is -1.0 in row 20 of .*part1.parquet "
         r"\(counted from 0\); the loss needs .*: correct or drop such rows, or choose another"),
        ("claims", np.nan, "poisson", "y .column 'claims'. is missing in row 20 of .*part1"),
        ("claims", np.inf, "squared_error", "y .column 'claims'. is infinite in row 20 of .*part1"),
        ("years", 0.0, "poisson", r"exposure \(column 'years'\) is 0.0 in row 20 of .*part1.parquet"
         r" \(counted from 0\); exposures must be finite and above 0: correct or drop such rows"),
        ("times", -2.0, "poisson", "sample_weight .column 'times'. is -2.0 in row 20 of .*part1"),
    ],
)  # fmt: skip
def test_a_bad_cell_is_named_with_file_row_and_remedy(tmp_path, column, value, loss, message):
    rows = FEW[["x", "gap", "claims", "years", "times"]].astype({"claims": float})
    rows.iloc[N // 2 + 20, rows.columns.get_loc(column)] = value
    written(rows, tmp_path, 2, seed=None)
    roles = {} if loss == "squared_error" else {"exposure": "years"}
    reg = RPTERegressor(loss=loss)
    with pytest.raises(InputError, match=message):
        reg.fit(tmp_path, "claims", sample_weight="times", **roles, cache_dir=tmp_path)
    assert not [*tmp_path.glob("rpte-*")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing*.parquet", "no file matches"),
        ("table.csv", "table.csv is no Parquet file, by its ending"),
        (".", "holds no Parquet files"),
        ("broken.parquet", "no Parquet files that can be read"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, name, message):
    (tmp_path / "table.csv").write_text("x,bad\n1,0\n")
    if name.startswith("broken"):
        (tmp_path / name).write_bytes(b"no table")
    with pytest.raises(InputError, match=message):
        RPTEClassifier().fit(tmp_path / name, "bad")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return the files of a table with more rows than are searched at once."""
    return written(TABLE.drop(columns=["price", "code"]), tmp_path_factory.mktemp("many"))


@pytest.mark.parametrize(
    ("made", "y"),
    [
        (RPTEClassifier(l1=0.01), "bad"),
        (RPTEClassifier(reassign=False), "bad"),
        (RPTEClassifier.paper(), "bad"),
        (RPTEClassifier(l1=0.01), "course"),
        (RPTERegressor(loss="poisson", l1=0.01), "claims"),
    ],
)
def test_what_needs_all_rows_in_memory_is_refused(many, tmp_path, made, y):
    with pytest.raises(InputError, match="needs them in memory"):
        made.fit(many, y, cache_dir=tmp_path)
    assert not [*tmp_path.glob("rpte-*")]


def test_more_classes_and_rows_than_fit_are_refused(many, monkeypatch):
    monkeypatch.setattr(held_rows, "MOST_CELLS", 500)
    message = r"the values of its \d+ terms on all rows in memory, and [\d,]+ rows are too many"
    with pytest.raises(InputError, match=message):
        RPTEClassifier(max_trees=0).fit(many, "course")


def test_the_cache_is_removed_when_a_fit_is_cancelled(many, tmp_path):
    seen = []

    def stop(now):
        seen.append((now.share, len([*tmp_path.glob("rpte-*")])))
        return now.stage != "mining the vocabulary"

    with pytest.raises(Cancelled):
        RPTEClassifier().fit(many, "bad", cache_dir=tmp_path, progress=stop)
    assert {count for _, count in seen[1:]} == {1}
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)
    assert not [*tmp_path.glob("rpte-*")]


def test_a_full_disk_is_told_beforehand(many, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(InputError, match="GB free; name a folder with more room"):
        RPTEClassifier().fit(many, "bad", cache_dir=tmp_path)


def test_a_cache_needs_a_folder(many, tmp_path):
    with pytest.raises(InputError, match="is no folder; make it first"):
        RPTEClassifier().fit(many, "bad", cache_dir=tmp_path / "none")


def test_the_size_of_the_cache_is_said(many, tmp_path, caplog):
    with caplog.at_level("INFO", logger="rpte"), pytest.warns(RPTEWarning, match="used up"):
        RPTEClassifier(max_fit_seconds=0).fit(many, "bad", cache_dir=tmp_path)
    assert any("removed after the fit" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("kind", KINDS)
def test_cost_of_files_and_of_memory(tmp_path, kind):
    task, n = TASKS[kind], len(TABLE)
    path, columns = written(TABLE[task.columns()], tmp_path), len(task.features)
    stored = task.estimator(max_trees=0).estimate_cost(path, task.y, **task.roles)
    assert (stored.rows, stored.columns) == (n, columns)
    assert stored.seconds > 0
    assert n * 20 < stored.disk < n * 150
    X = FEW[[*task.features]]
    memory = task.estimator(l1=0.05).estimate_cost(X, FEW[task.y], **task.given(FEW))
    assert (memory.rows, memory.disk) == (N, 0.0)
    assert f"{N} rows x {columns} columns: about" in str(memory)
    with pytest.raises(InputError, match="a stream can be read once only"):
        task.estimator().estimate_cost(ds.dataset(tmp_path).scanner().to_reader(), task.y)


LIMITED = """
import json, resource, sys
import numpy as np, pyarrow as pa
from pyarrow import parquet
from rpte import RPTEClassifier
from rpte.rows import scale

scale.SAMPLE_ROWS = 25_000  # the search of more would not fit

def held(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

folder, rows, columns = sys.argv[1], int(sys.argv[2]), 20
writer = None
for number in range(rows // 100_000):
    rng = np.random.default_rng(number)
    X = rng.normal(size=(columns, 100_000))
    y = (rng.random(100_000) < 1 / (1 + np.exp(-X[0] - X[1] * X[2]))).astype(np.int8)
    table = pa.table({**{f"x{k}": x for k, x in enumerate(X)}, "bad": y})
    writer = writer or parquet.ParquetWriter(f"{folder}/rows.parquet", table.schema)
    writer.write_table(table)
writer.close()
del X, y, table, writer
clf = RPTEClassifier(n_jobs=1, profile="none", max_inspection_units=8)
small = np.random.default_rng(0).normal(size=(30_000, 3))
clf.fit(small, small[:, 0] > 0)  # loads the kernels
limit = held("VmData") + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
clf.fit(f"{folder}/rows.parquet", "bad", cache_dir=folder)
print(json.dumps({"rows": clf.model_.data["rows"], "terms": clf.model_.audit().mu}))
"""


@pytest.mark.slow(reason="writes and reads three million rows in a process of limited memory")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits memory as Linux does")
def test_a_table_larger_than_the_memory_that_is_allowed(tmp_path):
    """The numbers take 480 MB; a fit may allocate two thirds of it beside what was there before."""
    rows = 3_000_000
    script = tmp_path / "limited.py"
    script.write_text(LIMITED)
    command = [sys.executable, str(script), str(tmp_path), str(rows), str(rows * 20 * 8 * 2 // 3)]
    path = str(Path(rpte.__file__).parents[1])
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    assert done.returncode == 0, done.stderr[-2_000:]
    found = json.loads(done.stdout)
    assert found["rows"] == rows
    assert found["terms"] >= 2
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("rpte-")] == []


def test_the_profile_of_fractional_weights_is_that_of_memory(tmp_path):
    """They are added block by block, and rounded so that this does not show."""
    weight = np.random.default_rng(2).choice([0.1, 0.3, 1.7], len(TABLE))
    table, task = TABLE.assign(weight=weight), TASKS["two classes"]
    made = task.estimator(max_inspection_units=6, profile="full")
    path = written(table[[*task.columns(), "weight"]], tmp_path)
    stored = clone(made).fit(path, task.y, sample_weight="weight", cache_dir=tmp_path).model_
    memory = made.fit(table[[*task.features]], table[task.y], weight).model_
    assert stored.data["profile"] == memory.data["profile"]
