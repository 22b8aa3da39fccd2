import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_stage1 as naive
from effort import examples
from raw_tables import Raw, random_raw, raws
from rpte.published.items import inner_edges, make_items
from rpte.table.decimals import number_text
from rpte.vocabulary.gain import SortedColumn

halves = st.integers(-6, 6).map(lambda k: k / 2)
values = st.lists(halves | st.floats(-1e3, 1e3, width=16), min_size=1, max_size=60)


def sorted_column(x, y, weight=None):
    x, y = np.array(x, float), np.array(y, float)
    return SortedColumn(x, y, np.ones(len(x)) if weight is None else np.array(weight, float))


@examples(150)
@given(values, st.randoms(use_true_random=False))
def test_paper_edges_equal_the_oracle(x, random):
    y = [random.randint(0, 1) for _ in x]
    found = inner_edges(sorted_column(x, y), printed=False)
    expected = naive.final_edges(x, y)[1:-1] if len(set(x)) > 1 else []
    # An edge may move by a step of single precision, but not in what it separates.
    np.testing.assert_allclose(found, expected, rtol=2.0**-23, atol=1e-12)
    for v in x:
        assert np.searchsorted(found, v, "right") == np.searchsorted(expected, v, "right")


@examples(60)
@given(values, st.randoms(use_true_random=False))
def test_weights_are_repetitions(x, random):
    y = [random.randint(0, 1) for _ in x]
    weight = [random.randint(1, 3) for _ in x]
    repeated = [np.repeat(v, weight) for v in (x, y)]
    for printed in (True, False):
        once = inner_edges(sorted_column(x, y, weight), printed)
        assert once.tolist() == inner_edges(sorted_column(*repeated), printed).tolist()


@examples(80)
@given(values, st.randoms(use_true_random=False))
def test_printed_edges_cut_where_the_paper_cuts_and_hit_no_value(x, random):
    y = [random.randint(0, 1) for _ in x]
    column = sorted_column(x, y)
    exact, printed = inner_edges(column, False), inner_edges(column, True)
    assert not set(printed) & set(x) or any(math.nextafter(v, math.inf) in x for v in x)
    assert (np.diff(printed) > 0).all()
    cuts = [np.unique(np.searchsorted(column.values, e, "left")) for e in (exact, printed)]
    if len(exact):
        inside = cuts[0][(cuts[0] > 0) & (cuts[0] < len(x))]
        assert inside.tolist() == cuts[1].tolist()
    elif len(set(x)) > 1:
        assert len(printed) == 1
        assert 0 < cuts[1][0] < len(x)


def test_printed_edges_are_short():
    x = np.random.default_rng(0).normal(size=500)
    edges = inner_edges(sorted_column(x, x > 0.3), printed=True)
    assert len(edges)
    assert max(len(number_text(e)) for e in edges) <= 7


def test_neighbouring_floats_are_separated():
    low, high = 1.0, math.nextafter(1.0, 2.0)
    (edge,) = inner_edges(sorted_column([low, high] * 10, [0, 1] * 10), printed=True)
    assert low < edge <= high  # an edge's own value goes right


@pytest.mark.parametrize("x", [[np.nan] * 12, [4.0] * 12, [4.0, np.nan] * 6])
def test_no_edges_without_two_values(x):
    for printed in (True, False):
        assert len(inner_edges(sorted_column(x, [0, 1] * 6), printed)) == 0


def test_zero_one_numbers_are_cut_in_the_middle():
    y = [0, 1] * 10
    assert inner_edges(sorted_column(y, y), printed=True).tolist() == [0.5]


@examples(40)
@given(raws(), st.booleans())
def test_items_partition_the_present_rows(raw, printed):
    table = raw.table()
    columns = make_items(table, printed)
    names = [table.schema.names[c.position] for c in columns]
    assert names == sorted(names)
    for column, name in zip(columns, names, strict=True):
        fires = np.array([item.evaluate(table.inputs) for item in column.items])
        assert len(column.items) > 1
        assert (fires.sum(axis=0) == ~table.inputs.is_missing(name)).all()
        rows = np.flatnonzero(column.codes >= 0)
        assert (fires[column.codes[rows], rows] == 1.0).all()
        assert ((column.codes < 0) == table.inputs.is_missing(name)).all()
        assert {item.source for item in column.items} == {name}
        assert column.is_number == (table.schema[name].kind == "number")


def test_fewer_than_ten_values_have_seven_bins():
    x = np.arange(9.0)
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0.0])
    assert len(inner_edges(sorted_column(x, y), printed=False)) == 6
    x, y = np.append(x, 9.0), np.append(y, 1.0)
    assert len(inner_edges(sorted_column(x, y), printed=False)) == len(naive.final_edges(
        x.tolist(), y.astype(int).tolist())) - 2  # fmt: skip


def test_constant_empty_and_one_level_columns_have_no_items():
    raw = random_raw(0, ["constant", "empty", "one", "two"], 30)
    table = Raw(raw.columns, raw.y, raw.weight).table()
    assert [table.schema.names[c.position] for c in make_items(table, printed=True)] == ["w3"]
