"""Rows in files are those that memory would hold: the same blocks, sample and fingerprint."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow", reason="tables in files need pyarrow, the extra 'files'")

from rpte import RPTEClassifier  # noqa: E402
from rpte.errors import InputError  # noqa: E402
from rpte.estimators.parameters import checked_parameters  # noqa: E402
from rpte.estimators.training_data import Given, read_memory  # noqa: E402
from rpte.estimators.training_files import read_files  # noqa: E402
from rpte.rows import cache, scale, stored  # noqa: E402
from rpte.rows.folds import Validation  # noqa: E402
from rpte.rows.labels import numbers_of  # noqa: E402
from rpte.rows.threads import worker_threads  # noqa: E402
from rpte.utils.progress import Watch  # noqa: E402


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Blocks, parts and samples of few rows, so that small tables have many of them."""
    monkeypatch.setattr(scale, "BLOCK_ROWS", 256)
    monkeypatch.setattr(scale, "LONG_ABOVE", 500)
    monkeypatch.setattr(scale, "SAMPLE_ROWS", 600)
    monkeypatch.setattr(cache, "PART_ROWS", 300)
    monkeypatch.setattr(stored, "SORTED_ROWS", 700)


def frame(n=2_000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "x": x,
            "single": rng.normal(size=n).astype(np.float32),
            "count": rng.integers(0, 9, n),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2)),
            "code": np.where(rng.random(n) < 0.1, -9.0, rng.normal(size=n).round(1)),
            "flag": rng.random(n) < 0.3,
            "town": pd.Series(rng.choice(list("abcdefgh"), n, p=[0.4, 0.3, 0.2, *[0.02] * 5])),
            "kind": pd.Categorical(rng.choice(["red", "blue", None], n)),
            "wide": rng.choice([f"level {i}" for i in range(300)], n),
        }
    )
    table.loc[rng.random(n) < 0.1, "town"] = None
    table["bad"] = np.where(rng.random(n) < 1 / (1 + np.exp(-x)), "yes", "no")
    table["exposure"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    table["patient"] = rng.integers(0, 900, n)
    twice = rng.integers(0, n, n // 4)
    return pd.concat([table, table.iloc[twice]], ignore_index=True)


@contextmanager
def both(table, folder, row_group=500, jobs=None, **roles):
    """Yield the rows of a table in memory and in files."""
    path = folder / "table.parquet"
    table.to_parquet(path, row_group_size=row_group)
    clf = RPTEClassifier(special_values={"code": [-9]}, class_weight=roles.pop("balance", None))
    unread = [n for n in ("exposure", "patient", "bad") if n not in roles.values()]
    if "exposure" in unread or "patient" in unread:
        table = table.drop(columns=[n for n in unread if n != "bad"])
        table.to_parquet(path, row_group_size=row_group)
    named = [roles.get(name) for name in ("sample_weight", "groups")]
    X = table.drop(columns=["bad", *(n for n in named if n)])
    arrays = [table[n] if n else None for n in named]
    parameters = checked_parameters(clf)
    memory = read_memory(clf, Given(parameters, X, table["bad"], *arrays))
    with (
        worker_threads(jobs),
        read_files(clf, Given(parameters, str(path), "bad", *named, folder), Watch()) as files,
    ):
        yield SimpleNamespace(memory=memory, files=files)


ROLES = [{}, {"sample_weight": "exposure", "balance": "balanced"}, {"groups": "patient"}]


def in_memory(data):
    return data.training.rows.table


@pytest.mark.parametrize("roles", ROLES, ids=["plain", "weights", "groups"])
@pytest.mark.parametrize("row_group", [97, 10_000])
def test_blocks_sample_and_fingerprint_are_those_of_memory(tmp_path, roles, row_group):
    with both(frame(), tmp_path, row_group, **roles) as data:
        table, rows = in_memory(data.memory), data.files.training.rows
        assert rows.schema == table.schema
        assert (rows.n_rows, rows.n_cases) == (table.n_rows, table.n_cases)
        assert rows.total_weight == pytest.approx(table.total_weight, rel=1e-12)
        found = list(rows.map(lambda block: block))
        assert len(found) == -(-table.n_rows // 256)
        for number, block in enumerate(found):
            same_rows(block, table.take(np.arange(table.n_rows)[256 * number :][:256]))
        validation = data.files.validation
        same_rows(rows.searched(validation), data.memory.validation.sample(table), cases=True)
        close(data.files.training.data, data.memory.training.data)


def same_rows(one, other, cases=False):
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.weight, other.weight)
    for name in one.schema.names:
        np.testing.assert_array_equal(one.inputs[name], other.inputs[name])
        assert one.inputs[name].dtype == other.inputs[name].dtype
        np.testing.assert_array_equal(one.inputs.is_missing(name), other.inputs.is_missing(name))
    assert {*one.inputs.specials} == {*other.inputs.specials}
    for place, codes in one.inputs.specials.items():
        np.testing.assert_array_equal(codes, other.inputs.specials[place])
    if cases:
        np.testing.assert_array_equal(one.cases, other.cases)
        np.testing.assert_array_equal(one.part, other.part)


def close(one, other):
    from rpte.model.verify_table import near

    assert one["sha256"] == other["sha256"]
    assert near(dict(one), dict(other)), (one, other)


def test_threads_do_not_matter(tmp_path):
    seen = []
    for jobs in (1, 3):
        with both(frame(), tmp_path, jobs=jobs, sample_weight="exposure") as data:
            rows = data.files.training.rows
            blocks = [(b.y, b.weight, *b.inputs.columns) for b in rows.map(lambda block: block)]
            seen.append([np.concatenate(cells) for cells in zip(*blocks, strict=True)])
    for one, other in zip(*seen, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_short_table_comes_into_memory(tmp_path):
    with both(frame(300), tmp_path) as data:
        same_rows(in_memory(data.files), in_memory(data.memory), cases=True)
        close(data.files.training.data, data.memory.training.data)


def test_many_equal_rows_are_a_short_table(tmp_path):
    with both(pd.concat([frame(100)] * 60), tmp_path) as data:
        same_rows(in_memory(data.files), in_memory(data.memory), cases=True)


def test_nothing_is_left_on_disk(tmp_path):
    with both(frame(), tmp_path):
        assert len([*tmp_path.glob("rpte-*/blocks")]) == 1
    assert not [*tmp_path.glob("rpte-*")]
    with pytest.raises(KeyboardInterrupt), both(frame(), tmp_path):
        raise KeyboardInterrupt
    assert not [*tmp_path.glob("rpte-*")]


def test_groups_are_those_of_memory(tmp_path):
    with both(frame(), tmp_path, groups="patient") as data:
        sample = data.files.training.rows.searched(data.files.validation)
        whole = in_memory(data.memory)
        assert set(sample.part) < set(whole.part)
        for group in set(sample.part):
            assert (sample.part == group).sum() == (whole.part == group).sum()
        assert isinstance(data.files.validation, Validation)
        assert data.files.validation.by == "groups"


def test_a_label_or_group_that_was_not_there_before_is_refused():
    """A table that changes between two passes shall not get another class silently."""
    cells, places = ["no", "yes", "maybe", None], np.array([0, 1, 1])
    assert numbers_of(cells, places, {"no": 0, "yes": 1}, "label").tolist() == [0, 1, 1]
    with pytest.raises(InputError, match="the label 'maybe' was not in the table"):
        numbers_of(cells, np.array([0, 2]), {"no": 0, "yes": 1}, "label")
