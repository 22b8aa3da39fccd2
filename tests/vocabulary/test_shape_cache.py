"""The cache of shapes: what the columns of a table are, and which go most with the label."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import Raw, random_raw, raws, same_bits
from rpte.columns.kinds import Hinge, Scale, Step, Value
from rpte.columns.limits import FREE
from rpte.table.table import make_table
from rpte.vocabulary.build import vocabulary_of_shapes
from rpte.vocabulary.redundancy import Registry
from rpte.vocabulary.screening import NullModel, strongest
from rpte.vocabulary.shape_cache import ShapeCache, evaluate, original_columns, standardise
from rpte.vocabulary.vocabulary import PATTERN
from vocabularies import shapes_vocabulary

LEAST = 5.0
NUMBERS = ("number", "few", "skewed", "huge")


def cache_of(table):
    return ShapeCache(table, LEAST, FREE)


def squared_correlation(x, y, weight):
    """Return the squared correlation with the label over the rows that have a value."""
    there = ~np.isnan(x)
    unit = np.abs(x[there]).max(initial=0.0) or 1.0
    rate = np.average(y, weights=weight)
    w, centred = weight[there], x[there] / unit
    centred = centred - np.average(centred, weights=w)
    if (w @ centred**2) <= 1e-20 * w.sum():
        return 0.0
    covariance = w @ (centred * (y[there] - rate))
    return covariance**2 / ((w @ centred**2) * rate * (1 - rate) * weight.sum())


@examples(40)
@given(raws(kinds=NUMBERS, rows=(20, 120)), st.integers(0, 99))
def test_scores_are_squared_correlations(raw, seed):
    """From moments between knots, for rows that are some of the cache's; the oracle builds all."""
    table = raw.table()
    cache, rng = cache_of(table), np.random.default_rng(seed)
    rows = np.sort(rng.choice(table.n_rows, max(8, table.n_rows * 2 // 3), replace=False))
    part = table.take(rows)
    for name in raw.columns:
        present = ~np.isnan(part.inputs[name])
        if not cache.shapes(name) or not present.any():
            continue
        if np.nanmax(np.abs(part.inputs[name])) > 1e100:
            continue  # beside such a number the squares of all others underflow
        (null,), families = NullModel.of(part), [cache._family(name)]
        sums, knots = cache._knot_sums([name], families, rows, [null])
        got = cache._scores(families, sums[0], knots, rows, null)
        for column, score in zip(cache.shapes(name), got, strict=True):
            x = column.evaluate(part.inputs)
            x = np.where(present, x, np.nan)  # a step is 0 where the number is missing
            assert score == pytest.approx(
                squared_correlation(x, part.y, part.weight), rel=1e-6, abs=1e-9
            )


@pytest.mark.parametrize("most", [1, 5, 12, 40])
def test_the_strongest_are_the_best_of_each_variable_in_turn(most):
    raw = random_raw(4, ["number", "skewed", "number", "few"], 150)
    table = raw.table()
    rows = np.arange(table.n_rows)
    every = cache_of(table).strongest(table, rows, 10**6)
    scores = [
        round(
            squared_correlation(
                np.where(np.isnan(table.inputs[c.source]), np.nan, c.evaluate(table.inputs)),
                table.y,
                table.weight,
            ),
            12,
        )
        for c in every
    ]
    left = {name: [] for name in raw.columns}
    for score, column in sorted(
        zip(scores, every, strict=True), key=lambda e: (-round(e[0], 9), e[1].text)
    ):
        left[column.source].append((score, column))
    wanted = []
    while len(wanted) < min(most, len(every)):
        turn = [queue.pop(0) for queue in left.values() if queue]
        turn.sort(key=lambda e: (-round(e[0], 9), e[1].text))
        wanted += [column for _, column in turn]
    found = cache_of(table).strongest(table, rows, most)
    assert set(found) == set(wanted[:most])
    assert [c for c in every if c in found] == list(found)


def test_strongest_breaks_ties_by_name():
    columns = [Step("b", 1.0), Step("a", 1.0), Step("a", 2.0), Step("b", 2.0)]
    assert strongest(columns, np.array([0.5, 0.5, 0.5, 0.1]), 1) == [1]
    assert strongest(columns, np.array([0.5, 0.5, 0.5, 0.1]), 2) == [0, 1]
    assert strongest(columns, np.array([0.5, 0.5, 0.5, 0.1]), 3) == [0, 1, 2]
    assert strongest(columns, np.array([0.1, 0.2, 0.3, 0.9]), 2) == [2, 3]
    assert strongest(columns, np.zeros(4), 0) == []


@examples(25)
@given(raws(rows=(20, 80)), st.integers(0, 99), st.sampled_from([3, 10, 400]))
def test_labels_of_other_rows_do_not_matter(raw, seed, budget):
    """Rows of a fold see the labels of that fold alone: those of all others may be anything."""
    table, rng = raw.table(), np.random.default_rng(seed)
    rows = np.sort(rng.choice(table.n_rows, table.n_rows // 2, replace=False))
    other = np.setdiff1d(np.arange(table.n_rows), rows)
    y = table.y.copy()
    y[other] = 1.0 - y[other]
    turned = replace(table, y=y)
    one, two = (
        vocabulary_of_shapes(cache_of(t), t.take(rows), rows, budget) for t in (table, turned)
    )
    assert one.columns == two.columns
    assert same_bits(one.z[:], two.z[:])
    assert same_bits(one.centre, two.centre)
    assert same_bits(one.scale, two.scale)


def test_labels_of_these_rows_decide_what_is_kept():
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=400).round(2) for name in "ab"}
    y = np.where(np.arange(400) < 200, columns["a"] > 1, columns["a"] > -1) + 0.0
    table = Raw(columns, y, np.ones(400)).table()
    cache = cache_of(table)
    found = []
    for side in (-1, 1):
        rows = np.flatnonzero((table.y == 1) == (table.inputs["a"] * side > -1))
        (best,) = cache.strongest(table.take(rows), rows, 1)
        found.append(best)
    assert all(column.source == "a" for column in found)
    assert found[0] != found[1]


@examples(30)
@given(raws(rows=(12, 60)))
def test_an_entry_is_the_column_in_its_own_units(raw):
    table = raw.table()
    cache = cache_of(table)
    columns = [*original_columns(table, False)]
    columns += cache.strongest(table, np.arange(table.n_rows), 10**6)
    for column in columns:
        entry, x = cache.entry(column), column.evaluate(table.inputs)
        missing = np.isnan(x)
        assert (entry.z[missing] == 0.0).all()
        assert np.isfinite(entry.z).all()
        assert 0 < entry.scale < np.inf
        told = entry.z[~missing] * entry.scale + entry.centre
        unit = np.abs(x[~missing]).max(initial=0.0)
        assert told == pytest.approx(x[~missing], rel=1e-9, abs=1e-9 * (unit + abs(entry.centre)))
        assert (entry.number < 0) == (len(np.unique(x[~missing])) < 2)
        assert cache.entry(column) is entry
        if isinstance(column, (Hinge, Scale)) and not column.centred:
            assert entry.centre == 0.0


def test_alike_columns_have_one_number():
    x = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    table = Raw({"a": x, "b": 1 - x, "c": np.arange(8.0)}, x, np.ones(8)).table()
    seen = Registry()
    numbers = [
        evaluate(table, c, "median", False, seen).number
        for c in (Value("a"), Value("b"), Value("c"), Step("a", 0.5), Step("c", 100.0))
    ]
    assert numbers == [0, 0, 1, 0, -1]


def test_standardise_leaves_its_argument_alone():
    x = np.array([1.0, np.nan, 5.0])
    assert standardise(x, 1.0, 2.0).tolist() == [0.0, 0.0, 2.0]
    assert np.isnan(x[1])


def test_the_cache_of_all_rows_is_the_vocabulary():
    table = random_raw(5, ["number", "category", "few", "two"], 90).table()
    built = shapes_vocabulary(table, 15, least=LEAST)
    read = vocabulary_of_shapes(cache_of(table), table, np.arange(table.n_rows), 15)
    assert built.columns == read.columns
    assert same_bits(built.z[:], read.z[:])
    assert 10 < (read.block == PATTERN).sum() <= 15


@pytest.mark.parametrize("budget", [6, 400])
def test_the_last_reader_leaves_an_empty_cache(budget):
    table = random_raw(5, ["number", "category", "few", "two", "skewed"], 90).table()
    cache, rows = cache_of(table), np.arange(table.n_rows)
    part = rows[::2]
    first = vocabulary_of_shapes(cache, table.take(part), part, budget)
    known = dict(cache._entries)
    assert {column.text for column in first.columns} <= {column.text for column in known}
    again = vocabulary_of_shapes(cache, table, rows, budget)
    assert all(cache._entries[column] is entry for column, entry in known.items())
    last = vocabulary_of_shapes(cache, table, rows, budget, last=True)
    assert not cache._entries
    for other in (again, vocabulary_of_shapes(cache_of(table), table, rows, budget, last=True)):
        assert last.columns == other.columns
        assert same_bits(last.z[:], other.z[:])
        assert same_bits(last.centre, other.centre)
        assert same_bits(last.scale, other.scale)


def test_the_knots_of_a_part_are_those_of_all_rows():
    raw = random_raw(6, ["number", "number"], 80, gaps=False)
    table = raw.table()
    rows = np.arange(0, table.n_rows, 2)
    part = table.take(rows)
    alone = make_table(part.inputs, part.y, part.weight)
    shared = cache_of(table).strongest(part, rows, 10**6)
    assert shared == cache_of(table).strongest(table, np.arange(table.n_rows), 10**6)
    assert shared != cache_of(alone).strongest(alone, np.arange(alone.n_rows), 10**6)
