"""The high utility gain miner against the naive oracle of the published method."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import naive_stage1 as naive
from effort import examples
from raw_tables import Raw, random_raw, raws
from rpte.columns.kinds import Interval
from rpte.published.hug import item_utilities, mine_hug
from rpte.published.items import ItemColumn, make_items
from rpte.published.mining import item_index
from rpte.rows.threads import worker_threads
from rpte.table.inputs import read_inputs


def as_lists(raw):
    expanded = raw.repeated()
    return {k: list(v) for k, v in expanded.columns.items()}, [int(v) for v in expanded.y]


def parts_of(column):
    return (column.left, column.right) if column.kind == "pattern" else (column,)


def mined(raw, order, budget, min_gain):
    """Return our patterns as the oracle says them: variables and covers of repeated rows."""
    table = raw.table()
    index = item_index(table, make_items(table, printed=False))
    found = mine_hug(index, order, budget, min_gain)
    inputs = read_inputs(raw.repeated().columns, table.schema)

    def bits(item):
        return sum(1 << int(i) for i in np.flatnonzero(item.evaluate(inputs)))

    return [tuple((p.source, bits(p)) for p in parts_of(column)) for column in found]


@examples(60)
@given(raws(rows=(8, 50)), st.sampled_from([1, 2]), st.sampled_from([3, 10, 40]),
       st.sampled_from([0.0, 0.001, 0.01, 0.05]))  # fmt: skip
def test_equals_the_oracle_on_random_tables(raw, order, budget, min_gain):
    columns, y = as_lists(raw)
    expected = naive.patterns(columns, y, order, budget, min_gain)
    assert mined(raw, order, budget, min_gain) == expected


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    columns = {name: X[name].to_numpy() for name in X}
    return Raw(columns, y.to_numpy(float), np.ones(len(y)))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("budget", [50, 100])
@pytest.mark.parametrize("min_gain", [0.01, 0.001])
def test_equals_the_oracle_on_breast_cancer(cancer, order, budget, min_gain):
    columns, y = as_lists(cancer)
    expected = naive.patterns(columns, y, order, budget, min_gain)
    assert mined(cancer, order, budget, min_gain) == expected


def test_the_utility_floor_leaves_46_patterns_on_breast_cancer(cancer):
    assert len(mined(cancer, 1, 50, 0.01)) == 46  # as in the published implementation


@examples(30)
@given(raws())
def test_utilities_equal_the_oracle(raw):
    table = raw.table()
    index = item_index(table, make_items(table, printed=False))
    expected = [(name, u) for name, _, u in naive.all_items(*as_lists(raw))]
    if not index.columns:
        assert expected == []
        return
    utility = item_utilities(index)
    assert [(index.items[k].source, utility[k]) for k in np.flatnonzero(utility > 0)] == expected


def test_every_pattern_gains_and_fits_the_budget():
    raw = random_raw(5, ["number", "category", "few", "skewed"], 120)
    table = raw.table()
    index = item_index(table, make_items(table, printed=True))
    found = mine_hug(index, 2, 7, 0.02)
    assert 0 < len(found) <= 7
    y, weight = table.y, table.weight
    for column in found:
        inside = column.evaluate(table.inputs) > 0
        codes = np.repeat(inside, weight.astype(int)).tolist()
        labels = np.repeat(y, weight.astype(int)).astype(int).tolist()
        assert naive.gain_of(codes, labels, np.log) > 0.02


def test_threads_change_nothing():
    raw = random_raw(6, ["number", "category", "few", "skewed", "number", "two"], 200)
    table = raw.table()
    index = item_index(table, make_items(table, printed=True))
    alone = mine_hug(index, 2, 30, 0.001)
    with worker_threads(2):
        assert mine_hug(index, 2, 30, 0.001) == alone


def test_nothing_to_mine():
    table = random_raw(0, ["constant", "empty", "one"], 20, gaps=False).table()
    assert make_items(table, printed=True) == ()
    assert mine_hug(item_index(table, ()), 2, 10, 0.01) == ()
    table = random_raw(0, ["number"], 20).table()
    assert mine_hug(item_index(table, make_items(table, printed=True)), 2, 0, 0.01) == ()


def test_a_variable_without_correlation_has_no_utility():
    ends = [-math.inf, 0.5, 1.5, math.inf]
    items = tuple(Interval("x", a, b) for a, b in pairwise(ends))
    for weight in np.linspace(0.1, 3.0, 30):
        columns = {"x": np.array([0.0, 1.0, 2.0])}
        raw = Raw(columns, np.array([1.0, 0.0, 1.0]), np.array([weight, 1.7, weight]))
        table = raw.table()
        codes = table.inputs["x"].astype(np.int32)
        index = item_index(table, (ItemColumn(0, items, codes),))
        assert (item_utilities(index) == 0.0).all()


def test_one_class_has_no_patterns():
    raw = random_raw(0, ["number", "category"], 30)
    table = Raw(raw.columns, np.ones(30), raw.weight).table()
    assert mine_hug(item_index(table, make_items(table, printed=True)), 2, 10, 0.0) == ()
