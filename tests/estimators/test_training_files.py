"""A table in files gives the model of the same rows in memory; what cannot be is said."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow", reason="tables in files need pyarrow, the extra 'files'")
from pyarrow import dataset as ds  # noqa: E402
from pyarrow import parquet  # noqa: E402

import rpte  # noqa: E402
from rpte import Limits, RPTEClassifier  # noqa: E402
from rpte.errors import Cancelled, InputError, RPTEWarning  # noqa: E402
from rpte.model.file import to_dict  # noqa: E402
from rpte.rows import scale  # noqa: E402

N = 30_000  # more than are searched at once


@pytest.fixture(autouse=True, scope="module")
def _small_samples():
    """Let tables of N rows be searched on a sample."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale, "SAMPLE_ROWS", 25_000)
        yield


def frame(n=N, seed=5):
    """Return a table of every kind of column, with gaps, codes, weights, groups and repeats."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n).round(1)
    table = pd.DataFrame(
        {
            "x": x,
            "z": np.where(rng.random(n) < 0.1, np.nan, z),
            "single": rng.normal(size=n).astype(np.float32),
            "count": rng.integers(0, 30, n),
            "code": np.where(rng.random(n) < 0.1, -9.0, rng.normal(size=n).round(2)),
            "price": [Decimal(int(v)) / 100 for v in rng.integers(0, 10**6, n)],
            "flag": rng.random(n) < 0.3,
            "town": pd.Series(rng.choice(list("abcdefg"), n, p=[0.4, 0.3, 0.26, *[0.01] * 4])),
            "kind": pd.Categorical(rng.choice(["red", "blue", "green"], n)),
        }
    )
    table.loc[rng.random(n) < 0.05, "town"] = None
    score = x - np.abs(z) + 0.8 * x * (table["town"] == "a") + (table["kind"] == "red")
    table["bad"] = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    table["exposure"] = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    table["patient"] = rng.integers(0, n // 2, n)
    return table


@pytest.fixture(scope="module")
def table():
    return frame()


def classifier(**more):
    return RPTEClassifier(special_values={"code": [-9]}, **more)


def written(table, folder, parts=1, row_group=5_000, seed=None):
    """Write a table as several files, its rows shuffled if there is a seed."""
    if seed is not None:
        table = table.sample(frac=1.0, random_state=seed)
    ends = np.linspace(0, len(table), parts + 1).astype(int)
    for number, (low, high) in enumerate(pairwise(ends)):
        some = table.iloc[low:high].reset_index(drop=True)
        some.to_parquet(folder / f"part{number}.parquet", row_group_size=row_group)
    return f"{folder}/*.parquet"


def in_memory(table, weight=None, groups=None, **more):
    beside = [n for n in ("bad", "exposure", "patient") if n in table]
    arrays = [None if name is None else table[name] for name in (weight, groups)]
    return classifier(**more).fit(table.drop(columns=beside), table["bad"], *arrays)


def same(one, other):
    """Tell that the models of two classifiers are one, and so are those of their frontiers."""
    for a, b in zip(one.frontier_models_, other.frontier_models_, strict=True):
        assert to_dict(a)["hash"] == to_dict(b)["hash"]
    assert one.model_.summary() == other.model_.summary()
    np.testing.assert_array_equal(one.feature_names_in_, other.feature_names_in_)
    np.testing.assert_array_equal(one.classes_, other.classes_)


@pytest.fixture(scope="module")
def plain(table):
    return table.drop(columns=["exposure", "patient"])


@pytest.fixture(scope="module")
def reference(plain):
    return in_memory(plain)


@pytest.mark.parametrize(
    ("parts", "row_group", "seed", "jobs"),
    [(1, 100_000, None, 1), (3, 997, 0, 2), (2, 7_000, 1, 4)],
)
def test_the_model_is_that_of_memory(plain, reference, tmp_path, parts, row_group, seed, jobs):
    pattern = written(plain, tmp_path, parts, row_group, seed)
    clf = classifier(n_jobs=jobs).fit(pattern, y="bad", cache_dir=tmp_path)
    same(clf, reference)
    assert "learned_from_rows" in clf.model_.training["validation"]
    assert reference.model_.audit().miu > 3
    X = plain.drop(columns="bad")
    np.testing.assert_array_equal(clf.predict_proba(X), reference.predict_proba(X))
    assert all(check.holds for check in clf.model_.verify(X, plain["bad"]))
    assert not [*tmp_path.glob("rpte-*")]


def test_weights_classes_and_repeats_are_those_of_memory(table, tmp_path):
    repeated = pd.concat([table, table.iloc[:9_000]], ignore_index=True).drop(columns="patient")
    pattern = written(repeated, tmp_path, 2)
    given = {"class_weight": "balanced", "positive": "no"}
    clf = classifier(**given).fit(pattern, y="bad", sample_weight="exposure")
    same(clf, in_memory(repeated, "exposure", **given))


def test_groups_are_those_of_memory(table, tmp_path):
    pattern = written(table.drop(columns="exposure"), tmp_path, 2)
    clf = classifier().fit(pattern, y="bad", groups="patient")
    same(clf, in_memory(table.drop(columns="exposure"), groups="patient"))
    assert clf.model_.training["validation"]["by"] == "groups"


def test_a_dataset_and_streams_are_read(plain, reference, tmp_path):
    written(plain, tmp_path, 2)
    dataset = ds.dataset(tmp_path, format="parquet")
    same(classifier().fit(dataset, y="bad"), reference)
    same(classifier().fit(dataset.scanner().to_reader(), y="bad", cache_dir=tmp_path), reference)

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return dataset.scanner().to_reader().__arrow_c_stream__(requested_schema)

    same(classifier().fit(Stream(), y="bad", cache_dir=tmp_path), reference)
    assert not [*tmp_path.glob("rpte-*")]


def test_frames_in_memory_stay_there(plain):
    some = plain.iloc[:300]
    X = pa.Table.from_pandas(some.drop(columns="bad"))
    clf = classifier(l1=0.05).fit(X, some["bad"])
    same(clf, classifier(l1=0.05).fit(some.drop(columns="bad"), some["bad"]))


def test_a_short_table_may_have_any_settings(plain, tmp_path):
    some = plain.iloc[:400]
    path = written(some, tmp_path)
    same(classifier(l1=0.05).fit(path, "bad"), in_memory(some, l1=0.05))
    paper = RPTEClassifier.paper(special_values={"code": [-9]}).fit(path, "bad")
    memory = RPTEClassifier.paper(special_values={"code": [-9]})
    same(paper, memory.fit(some.drop(columns="bad"), some["bad"]))


def test_columns_left_out_are_not_read(plain, tmp_path):
    dated = plain.iloc[:500].assign(when=datetime.date(2020, 1, 1), case=range(500))
    limits = Limits(exclude=["when", "case"])
    clf = classifier(l1=0.05, limits=limits).fit(written(dated, tmp_path), "bad")
    assert set(clf.feature_names_in_) == set(dated) - {"bad"}
    assert "when" not in clf.model_.schema.names


def test_files_of_different_types_are_one_table(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 200), rng.integers(0, 2, 200)
    parquet.write_table(pa.table({"x": x[:100], "y": y[:100]}), tmp_path / "a.parquet")
    halves = pa.table({"y": y[100:], "x": x[100:] + 0.5})
    parquet.write_table(halves, tmp_path / "b.parquet")
    clf = RPTEClassifier(l1=0.01).fit(tmp_path, "y")
    memory = RPTEClassifier(l1=0.01).fit(
        pd.DataFrame({"x": np.concatenate([x[:100], x[100:] + 0.5])}), pd.Series(y, name="y")
    )
    same(clf, memory)


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({}, {"y": "bda"}, "the target column 'bda' is not in the table .did you mean 'bad'"),
        ({}, {"y": None}, "name the column"),
        ({}, {"y": np.zeros(400)}, "y is ndarray; the table is in files, so name the column"),
        ({}, {"y": "bad", "sample_weight": np.ones(400)}, "sample_weight is ndarray"),
        ({}, {"y": "bad", "groups": "ptient"}, "the groups column 'ptient' is not in the table"),
        ({"bad": "yes"}, {"y": "bad"}, "y holds one class only, 'yes'"),
        ({"bad": None}, {"y": "bad"}, "Input y contains NaN: 400 missing label.s., first at row 0"),
        ({"bad": np.arange(400) % 99}, {"y": "bad"}, "99 classes, at most 50 can be told apart"),
        ({"bad": np.arange(400) / 7}, {"y": "bad"}, "Unknown label type: continuous"),
        ({"w": -1.0}, {"y": "bad", "sample_weight": "w"}, "must be finite and not negative"),
        ({"when": datetime.date(2020, 1, 1)}, {"y": "bad"}, "'when' holds dates or durations"),
        ({"x": np.inf}, {"y": "bad"}, "column 'x' holds 400 values beyond 1e\\+300"),
    ],
)
def test_bad_input_is_refused(plain, tmp_path, change, given, message):
    path = written(plain.iloc[:400].assign(**change), tmp_path)
    with pytest.raises(InputError, match=message):
        RPTEClassifier().fit(path, cache_dir=tmp_path, **given)
    assert not [*tmp_path.glob("rpte-*")]


def test_the_first_row_without_a_label_is_named(plain, tmp_path):
    some = plain.iloc[:400].copy()
    some.loc[[321, 350], "bad"] = None
    with pytest.raises(InputError, match="first at row 321"):
        RPTEClassifier().fit(written(some, tmp_path, 3, 50), "bad")


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


@pytest.mark.parametrize("given", [{"l1": 0.01}, {"reassign": False}, {"conventions": "paper"}])
def test_what_needs_all_rows_in_memory_is_refused(plain, tmp_path, given):
    path = written(plain, tmp_path)
    if "conventions" in given:
        clf = RPTEClassifier.paper(special_values={"code": [-9]})
    else:
        clf = classifier(**given)
    with pytest.raises(InputError, match="needs them in memory"):
        clf.fit(path, "bad", cache_dir=tmp_path)
    assert not [*tmp_path.glob("rpte-*")]


def test_splitters_are_refused(plain, tmp_path):
    from sklearn.model_selection import KFold

    path = written(plain.iloc[:400], tmp_path)
    with pytest.raises(InputError, match="splits rows in memory"):
        RPTEClassifier(cv=KFold(3)).fit(path, "bad")


def test_the_cache_is_removed_when_a_fit_is_cancelled(plain, tmp_path):
    path, seen = written(plain, tmp_path), []

    def stop(now):
        seen.append((now.share, len([*tmp_path.glob("rpte-*")])))
        return now.stage != "mining the vocabulary"

    with pytest.raises(Cancelled):
        classifier().fit(path, "bad", cache_dir=tmp_path, progress=stop)
    assert {count for _, count in seen[1:]} == {1}
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)
    assert not [*tmp_path.glob("rpte-*")]


def test_a_full_disk_is_told_beforehand(plain, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(InputError, match="GB free; name a folder with more room"):
        classifier().fit(written(plain, tmp_path), "bad", cache_dir=tmp_path)


def test_a_cache_needs_a_folder(plain, tmp_path):
    with pytest.raises(InputError, match="is no folder; make it first"):
        classifier().fit(written(plain, tmp_path), "bad", cache_dir=tmp_path / "none")


def test_the_size_of_the_cache_is_said(plain, tmp_path, caplog):
    with caplog.at_level("INFO", logger="rpte"), pytest.warns(RPTEWarning, match="used up"):
        classifier(max_fit_seconds=0).fit(written(plain, tmp_path), "bad", cache_dir=tmp_path)
    assert any("removed after the fit" in record.getMessage() for record in caplog.records)


def test_cost_of_files_and_of_memory(plain, tmp_path):
    path = written(plain, tmp_path)
    stored = classifier().estimate_cost(path, "bad")
    assert (stored.rows, stored.columns) == (N, 9)
    assert 0.1 < stored.seconds < 300
    assert 1e8 < stored.memory < 3e9
    assert N * 20 < stored.disk < N * 150
    memory = classifier().estimate_cost(plain.iloc[:2_000].drop(columns="bad"))
    assert (memory.rows, memory.disk) == (2_000, 0.0)
    assert "2,000 rows x 9 columns: about" in str(memory)
    with pytest.raises(InputError, match="a stream can be read once only"):
        classifier().estimate_cost(ds.dataset(tmp_path).scanner().to_reader(), "bad")


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
print(json.dumps({"rows": clf.model_.data["rows"], "terms": len(clf.model_.components)}))
"""


@pytest.mark.slow
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
