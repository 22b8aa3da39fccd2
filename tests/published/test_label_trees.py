from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_tables import coded, random_table, same_tree
from effort import examples
from rpte.published import label_trees
from rpte.published.label_trees import LabelCounts, grow_counted
from rpte.rows.threads import worker_threads
from rpte.structure.grower import GrowthLimits, grow

PAPER = GrowthLimits(12, 8, 5.0, 0.0, True, None)


def many_values(seed, n, values, n_columns=5):
    """Columns with up to `values` codes each, some nearly equal, two of two codes, and labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, values, (n_columns, n))
    codes[1] = np.clip(codes[0] + rng.integers(-1, 2, n), 0, values - 1)
    codes[-2:] = codes[-2:] % 2
    chance = 0.5 + 0.3 * np.sign(codes[0] - values / 3) * (codes[2] > values / 2)
    y = (rng.random(n) < chance).astype(float)
    y[:2] = 0.0, 1.0
    sources = [(0,), (1,), (0, 2), (2, 3), (1,)]
    bins = np.full(n_columns, values)
    return coded(codes, bins, sources=sources, dtype=np.uint16), y


def both(columns, y, weight, limits, eligible=None):
    """The tree from counts, and the one that looks at every code of every column."""
    eligible = np.arange(columns.n_columns) if eligible is None else eligible
    table = LabelCounts.of(columns, y, weight)
    assert table is not None
    counted = grow_counted(table, eligible, limits)
    return counted, grow(columns, eligible, weight * y, weight, weight, limits)


def agree(counted, plain):
    return (counted is None and plain is None) or same_tree(counted, plain)


@given(st.integers(0, 10_000), st.sampled_from([2, 7, 40, 600]), st.sampled_from([None, 1, 2]))
@examples(80)
def test_trees_from_counts_are_the_trees_of_the_full_search(seed, values, most_sources):
    columns, y = many_values(seed, 300, values)
    weight = np.random.default_rng(seed).integers(0, 4, 300).astype(float)
    weight[:2] = 1.0
    limits = replace(PAPER, max_sources=most_sources, min_leaf_weight=float(seed % 9 + 1))
    assert agree(*both(columns, y, weight, limits))


def test_large_nodes_with_more_codes_than_blocks_and_any_number_of_threads():
    columns, y = many_values(3, 60_000, 50_000)
    counted, plain = both(columns, y, np.ones(len(y)), PAPER)
    assert agree(counted, plain)
    with worker_threads(2):
        assert agree(both(columns, y, np.ones(len(y)), PAPER)[0], plain)


def test_labels_without_any_relation_leave_every_column_open():
    rng = np.random.default_rng(5)
    codes = np.array([rng.permutation(3000) for _ in range(8)])
    y = (rng.random(3000) < 0.3).astype(float)
    assert agree(*both(coded(codes, dtype=np.uint16), y, np.ones(3000), PAPER))


def test_later_rounds_use_the_counts_of_the_first():
    columns, y = many_values(1, 500, 90)
    table = LabelCounts.of(columns, y, np.ones(500))
    for eligible in ([0, 1, 2, 3, 4], [1, 3], [4], [0, 2]):
        counted = grow_counted(table, np.array(eligible), PAPER)
        plain = grow(columns, np.array(eligible), y, np.ones(500), np.ones(500), PAPER)
        assert agree(counted, plain)


def test_only_what_is_worth_it_is_searched_code_by_code(monkeypatch):
    columns, y = many_values(2, 20_000, 15_000)
    searched = []
    original = label_trees.settle_best

    def watched(*arguments):
        original(*arguments)
        searched.append(int(arguments[-2][2].sum()))

    monkeypatch.setattr(label_trees, "settle_best", watched)
    both(columns, y, np.ones(len(y)), replace(PAPER, max_leaves=2))
    assert searched == [4]  # the two columns of two codes, and the strong pair


def test_all_rows_are_searched_once_for_all_trees(monkeypatch):
    columns, y = many_values(2, 20_000, 15_000)
    table = LabelCounts.of(columns, y, np.ones(len(y)))
    searched = []
    original = label_trees.settle_best

    def watched(*arguments):
        original(*arguments)
        searched.append(len(arguments[4][0]))

    monkeypatch.setattr(label_trees, "settle_best", watched)
    limits = replace(PAPER, max_leaves=2)
    trees = [grow_counted(table, np.arange(5), limits) for _ in range(2)]
    assert agree(*trees)
    assert searched[0] == 20_000
    assert table.roots[limits.least].final.sum() == 4
    assert searched.count(20_000) <= 2  # the second time no column is left that may be the best


def test_leaves_that_cannot_be_next_are_not_searched(monkeypatch):
    """The strong split lies on one side; the other side is looked at when its turn comes."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3000, (2, 6000))
    chance = np.where(codes[0] < 1500, 0.1 + 0.8 * (codes[1] < 1500), 0.5)
    y = (rng.random(6000) < chance).astype(float)
    columns = coded(codes, np.full(2, 3000), dtype=np.uint16)
    looked = []
    original = label_trees.CountedLeaf.best

    def watched(leaf, admitted):
        looked.append(leaf.node)
        return original(leaf, admitted)

    monkeypatch.setattr(label_trees.CountedLeaf, "best", watched)
    limits = replace(PAPER, max_leaves=3)
    counted, plain = both(columns, y, np.ones(6000), limits)
    assert agree(counted, plain)
    assert len(looked) == len(set(looked)) == 2


@pytest.mark.parametrize("why", ["fraction", "category", "missing", "heavy"])
def test_where_counting_does_not_apply(why):
    columns, y, weight = random_table(0, 60, missing=why == "missing", categories=why == "category")
    weight = weight + 0.5 if why == "fraction" else weight
    weight = weight * 2.0**30 if why == "heavy" else weight
    assert LabelCounts.of(columns, y, weight) is None
    columns, y, weight = random_table(0, 60, missing=False, categories=False)
    assert LabelCounts.of(columns, y, weight) is not None
