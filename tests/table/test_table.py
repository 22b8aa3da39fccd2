from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rpte.table.table as module
from raw_tables import Raw, random_raw, raws, same_bits
from rpte.errors import InputError
from rpte.table.inputs import Inputs
from rpte.table.read import read_training
from rpte.table.table import make_table, row_hashes


def identical(a, b):
    """Tell whether two tables agree bit for bit, their named columns in any order."""
    return (
        set(a.schema.variables) == set(b.schema.variables)
        and all(same_bits(a.inputs[name], b.inputs[name]) for name in a.schema.names)
        and same_bits(a.y, b.y)
        and same_bits(a.weight, b.weight)
    )


def cells(columns, i):
    """Return row i as text, missing of any kind as one thing."""
    return tuple(
        "missing" if v is None or v != v else str(v) for v in (c[i] for c in columns.values())
    )


@settings(max_examples=40, deadline=None)
@given(raws(), st.randoms(use_true_random=False))
def test_neither_row_order_nor_column_order_nor_repetition_matters(raw, random):
    expected = raw.table()
    rows, names = list(range(len(raw.y))), list(raw.columns)
    random.shuffle(rows)
    random.shuffle(names)
    assert identical(raw.take(np.array(rows)).table(), expected)
    assert identical(raw.reordered(names).table(), expected)
    assert identical(raw.repeated().table(), expected)
    assert identical(raw.repeated().take(np.arange(int(raw.weight.sum()))[::-1]).table(), expected)


@settings(max_examples=40, deadline=None)
@given(raws(kinds=("few", "01", "two", "category"), least=1, most=2))
def test_rows_are_merged_exactly_when_content_and_label_agree(raw):
    table = raw.table()
    counted = Counter()
    for i, (label, weight) in enumerate(zip(raw.y, raw.weight, strict=True)):
        counted[(cells(raw.columns, i), label)] += weight
    assert table.n_rows == len(counted)
    assert sorted(table.weight) == sorted(counted.values())
    assert table.total_weight == raw.weight.sum()


def test_missing_is_not_a_level_nor_a_number():
    columns = {"c": np.array(["", None, "\0"], object), "x": np.array([0.0, 0.0, 0.0])}
    assert make_table(read_training(columns), np.ones(3), np.ones(3)).n_rows == 3
    columns = {"x": np.array([0.0, np.nan, -0.0])}
    table = make_table(read_training(columns), np.ones(3), np.ones(3))
    assert sorted(table.weight) == [1.0, 2.0]


def test_hashes_follow_content_not_place():
    raw = random_raw(1, ["number", "category", "few"], 30)
    names = list(raw.columns)[::-1]
    inputs, turned = read_training(raw.columns), read_training(raw.reordered(names).columns)
    hashes = row_hashes(inputs)
    assert same_bits(hashes, row_hashes(turned))
    assert len(np.unique(hashes)) == len({cells(raw.columns, i) for i in range(30)})
    swapped = dict(zip(raw.columns, [raw.columns[n] for n in ("x2", "y1", "z0")], strict=True))
    assert not (row_hashes(read_training(swapped)) == hashes).any()


def test_hashes_do_not_depend_on_which_other_levels_exist():
    few = read_training({"c": np.array(["b", "c"], object)})
    more = read_training({"c": np.array(["b", "c", "a"], object)})
    assert same_bits(row_hashes(few), row_hashes(more)[:2])


def test_colliding_hashes_do_not_merge_rows(monkeypatch):
    raw = random_raw(3, ["few", "category"], 50)
    expected = raw.table()
    monkeypatch.setattr(module, "row_hashes", lambda inputs: np.zeros(inputs.n_rows, np.uint64))
    collided = raw.table()
    assert collided.n_rows == expected.n_rows
    assert sorted(collided.weight) == sorted(expected.weight)
    assert identical(raw.take(np.arange(50)[::-1]).table(), collided)


def test_weights_of_any_size_are_summed_in_one_order():
    rng = np.random.default_rng(0)
    raw = Raw({"x": rng.integers(0, 2, 200).astype(float)}, np.zeros(200), rng.random(200) + 0.1)
    assert same_bits(raw.table().weight, raw.take(rng.permutation(200)).table().weight)


def test_rows_of_weight_zero_are_dropped():
    raw = Raw(
        {"x": np.array([1.0, 2.0, 3.0])}, np.array([0.0, 1.0, 1.0]), np.array([2.0, 0.0, 1.0])
    )
    assert sorted(raw.table().inputs["x"]) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("weight", "says"),
    [([1.0, -1.0], r"sample_weight\[1\] is -1"), ([np.nan, 1.0], r"sample_weight\[0\] is nan"),
     ([1.0, np.inf], "inf"), ([0.01, 0.02], "rescale"), ([0.0, 0.0], "zero")],
)  # fmt: skip
def test_weights_that_are_refused(weight, says):
    with pytest.raises(InputError, match=says):
        make_table(read_training({"x": [1.0, 2.0]}), np.array([0.0, 1.0]), np.array(weight))


def test_take_keeps_the_order_asked_for():
    table = random_raw(0, ["number", "category"], 20).table()
    rows = np.array([5, 0, 3])
    part = table.take(rows)
    assert part.y.tolist() == table.y[rows].tolist()
    assert part.inputs["y1"].tolist() == table.inputs["y1"][rows].tolist()
    assert isinstance(part.inputs, Inputs)
    assert part.schema is table.schema


@settings(max_examples=30, deadline=None)
@given(raws())
def test_cells_that_are_put_in_order_when_asked_for_are_the_same(raw):
    inputs = read_training(raw.columns)
    lazy = make_table(inputs, raw.y, raw.weight, copied=False)
    assert identical(lazy, raw.table())
    assert same_bits(lazy.hashes, row_hashes(lazy.inputs))
    rows = np.arange(lazy.n_rows)[::-2]
    assert identical(lazy.take(rows), raw.table().take(rows))


def test_rows_are_hashed_alike_however_many_at_a_time(monkeypatch):
    inputs = random_raw(3, ["number", "category", "few"], 50).table().inputs
    whole = row_hashes(inputs)
    monkeypatch.setattr(module, "FEW_ROWS", 7)
    assert same_bits(row_hashes(inputs), whole)
