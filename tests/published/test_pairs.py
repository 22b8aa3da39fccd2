import warnings

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_breast_cancer

import naive_stage1 as naive
from effort import examples
from raw_tables import Raw, random_raw, raws
from rpte.columns.limits import FREE
from rpte.published.pairs import lookahead_roots, pair_score
from rpte.published.pairs import mine_pairs as mine_pairs_among
from rpte.published.pairs import rank_sources as rank_sources_among
from rpte.rows.threads import worker_threads


def mine_pairs(table, budget):
    return mine_pairs_among(table, budget, table.schema.names, FREE)


def rank_sources(table):
    return rank_sources_among(table, table.schema.names)


def as_lists(raw):
    expanded = raw.repeated()
    return {k: list(v) for k, v in expanded.columns.items()}, [int(v) for v in expanded.y]


@examples(40)
@given(raws(rows=(3, 45), kinds=("number", "few", "skewed", "01", "constant", "empty", "two")))
def test_equal_the_oracle_on_random_tables(raw):
    columns, y = as_lists(raw)
    table = raw.table()
    ranked = naive.ranked_sources(columns, y)
    assert list(rank_sources(table)) == (ranked if len(ranked) > 1 else [])
    for budget in (5, 1000):
        assert [p.text for p in mine_pairs(table, budget)] == naive.pairs(columns, y, budget)


def test_equal_the_oracle_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    raw = Raw({n: X[n].to_numpy() for n in X}, y.to_numpy(float), np.ones(len(y)))
    columns, labels = as_lists(raw)
    table = raw.table()
    assert list(rank_sources(table)) == naive.ranked_sources(columns, labels)
    assert [p.text for p in mine_pairs(table, 100)] == naive.pairs(columns, labels, 100)


def test_exclusive_or_is_found():
    rng = np.random.default_rng(0)
    columns = {f"v{i}": rng.integers(0, 2, 400).astype(float) for i in range(6)}
    y = (columns["v1"] != columns["v4"]).astype(float)
    table = Raw(columns, y, np.ones(400)).table()
    assert set(rank_sources(table)[:2]) == {"v1", "v4"}
    best = mine_pairs(table, 1)[0]
    assert set(best.sources) == {"v1", "v4"}
    assert pair_score(table, best) == pytest.approx(
        naive.entropy([y.sum(), 400 - y.sum()], np.log2)
    )


def test_ten_sources_at_most_and_two_different_ones_per_pair():
    rng = np.random.default_rng(1)
    columns = {f"v{i:02}": rng.normal(size=60).round(1) for i in range(13)}
    table = Raw(columns, (rng.random(60) < 0.5).astype(float), np.ones(60)).table()
    found = mine_pairs(table, 10_000)
    assert len(rank_sources(table)) == 10
    assert len(found) == 45 * 4
    assert all(len(set(p.sources)) == 2 for p in found)
    with worker_threads(2):
        assert mine_pairs(table, 50) == found[:50]


def test_no_pairs_without_two_numbers():
    table = random_raw(0, ["number", "category", "two"], 30).table()
    assert rank_sources(table) == ()
    assert mine_pairs(table, 10) == ()
    assert lookahead_roots(table, (), 10, FREE) == ()


def test_pairs_that_never_have_a_value_are_left_out():
    x = np.array([1.0, 2.0, 3.0, 4.0] * 5)
    gap = np.arange(20) % 2 == 0
    columns = {"a": np.where(gap, np.nan, x), "b": np.where(gap, x, np.nan), "c": x}
    table = Raw(columns, (x > 2).astype(float), np.ones(20)).table()
    texts = [p.text for p in mine_pairs(table, 100)]
    assert len(texts) == 8
    assert not [t for t in texts if "a" in t and "b" in t]


def test_values_near_1e300_pass_without_a_warning():
    table = random_raw(2, ["huge", "huge", "number"], 60).table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mine_pairs(table, 100)
    assert found
    for pair in found:
        assert not np.isinf(pair.evaluate(table.inputs)).any()


def test_lookahead_roots_are_new_absolute_differences():
    raw = random_raw(4, ["number"] * 6, 80)
    table = raw.table()
    known = mine_pairs(table, 12)
    roots = lookahead_roots(table, known, 100, FREE)
    differences = {frozenset(p.sources) for p in known if p.operation == "absolute difference"}
    assert {p.operation for p in roots} == {"absolute difference"}
    found = [frozenset(p.sources) for p in roots]
    assert len(set(found)) == len(found) == 15 - len(differences)
    assert not differences & set(found)
    assert lookahead_roots(table, known, 3, FREE) == roots[:3]
