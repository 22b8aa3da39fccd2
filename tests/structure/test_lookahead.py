from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_tables import coded, depth_of, grower_of, node_rows, random_table, same_tree
from effort import examples
from rpte.kernels.growth import IS_MISSING, ORDERED
from rpte.rows.threads import worker_threads
from rpte.structure import grower, microtrees
from rpte.structure.boosting import Stage2Settings, discover_trees
from rpte.structure.coded import Split
from rpte.structure.grower import GrowthLimits, GrowthTask, stack
from rpte.structure.lookahead import probe_rows, refit_split, significant

LOOKAHEAD = Stage2Settings(lookahead=True)


def binary_table(seed, n=600, p=8, pairs=True):
    """p binary columns and, as roots only, |a - b| of every two of them."""
    X = np.random.default_rng(seed).integers(0, 2, (p, n))
    sources = [(j,) for j in range(p)]
    codes = [*X]
    if pairs:
        sources += list(combinations(range(p), 2))
        codes += [X[i] ^ X[j] for i, j in combinations(range(p), 2)]
    root_only = np.arange(len(codes)) >= p
    return coded(codes, np.full(len(codes), 2), sources=sources, root_only=root_only), X


@pytest.mark.parametrize("criterion", ["label", "newton"])
@pytest.mark.parametrize("seed", range(5))
def test_three_way_parity_is_one_tree_of_four_pure_leaves(seed, criterion):
    columns, X = binary_table(seed)
    y = (X[1] ^ X[4] ^ X[6]).astype(float)
    grower = grower_of(criterion, columns, y, np.ones(600), LOOKAHEAD)
    result = discover_trees(columns, y, np.ones(600), LOOKAHEAD, grower)
    assert len(result.trees) == 1
    tree = result.trees[0]
    leaf = tree.apply(columns.codes)
    assert tree.n_leaves == 4
    assert all(len(set(y[leaf == k])) == 1 for k in range(4))
    assert {s for j in tree.used_columns for s in columns.sources[j]} == {1, 4, 6}


@pytest.mark.parametrize("seed", range(5))
def test_two_way_parity_needs_no_pair_and_without_lookahead_is_not_seen(seed):
    columns, X = binary_table(seed, pairs=False)
    y = (X[2] ^ X[5]).astype(float)
    result = discover_trees(columns, y, np.ones(600), LOOKAHEAD)
    assert [tree.used_columns for tree in result.trees] == [(2, 5)]
    assert result.trees[0].n_leaves == 4
    balanced = coded(np.tile([[0, 0, 1, 1], [0, 1, 0, 1]], 50))
    target = (balanced.codes[0] ^ balanced.codes[1]).astype(float)
    assert discover_trees(balanced, target, np.ones(200), Stage2Settings()).trees == ()


def test_numeric_and_category_tests_are_found_with_missing():
    rng = np.random.default_rng(0)
    x, c = rng.integers(0, 100, 2000), rng.integers(0, 5, 2000)
    y = ((x > 49) ^ (c == 3)).astype(float)
    # a majority of c != 3 makes x > 49 a main effect: hide it by weights
    w = np.where(c == 3, 4.0, 1.0)
    x = np.where(rng.random(2000) < 0.03, 100, x)
    columns = coded([c, x], n_bins=[5, 100], category=[True, False])
    result = discover_trees(columns, y, w, LOOKAHEAD)
    leaf = result.trees[0].apply(columns.codes)
    positive, negative = np.bincount(leaf, w * y), np.bincount(leaf, w * (1 - y))
    # only rows whose x is missing cannot be told
    assert np.minimum(positive, negative).sum() < 0.03 * w.sum()
    splits = result.trees[0].splits[:3]
    assert {split.column for split in splits if split is not None} == {0, 1}


@pytest.mark.parametrize("seed", range(10))
def test_noise_gives_no_tree(seed):
    columns, _ = binary_table(seed)
    y = np.random.default_rng(seed + 100).integers(0, 2, 600).astype(float)
    assert discover_trees(columns, y, np.ones(600), LOOKAHEAD).trees == ()


@pytest.mark.parametrize(("help_of_child", "n_trees"), [(0.1, 0), (0.3, 1)])
def test_a_microtree_must_beat_its_root(help_of_child, n_trees):
    """The child's help is significant both times, but 0.01 bits do not buy two more leaves."""
    root, child = np.random.default_rng(0).integers(0, 2, (2, 8000))
    columns = coded([child, root], sources=[(0,), (1, 2)], root_only=[False, True])
    chance = np.where(root, 0.8, 0.2) + np.where(root ^ child, 0.5, -0.5) * help_of_child
    y = (np.random.default_rng(5).random(8000) < chance).astype(float)
    options = Stage2Settings(lookahead=True, max_leaves=4)
    assert len(discover_trees(columns, y, np.ones(8000), options).trees) == n_trees


def test_a_main_effect_is_a_single_split():
    columns, X = binary_table(0)
    noise = np.random.default_rng(1).random(600) < 0.1
    y = (X[3] ^ noise).astype(float)
    result = discover_trees(columns, y, np.ones(600), LOOKAHEAD)
    assert result.trees[0].splits[0].column == 3
    assert not columns.root_only[list(result.trees[0].used_columns)].any()


@given(st.integers(0, 10_000), st.sampled_from([2, 3, None]), st.sampled_from([3, 4, 8]))
@examples(100)
def test_limits_hold(seed, max_sources, max_leaves):
    columns, y, w = random_table(seed, 300, n_columns=5)
    sources = [(0,), (1,), (2,), (3,), (0, 2)]
    root_only = [False, False, False, False, True]
    columns = coded(columns.codes, columns.n_bins, columns.is_category, sources, root_only)
    options = Stage2Settings(
        lookahead=True, max_sources=max_sources, max_leaves=max_leaves, max_depth=3
    )
    result = discover_trees(columns, y, w, options)
    claimed = [{s for j in t.used_columns for s in columns.sources[j]} for t in result.trees]
    assert sum(map(len, claimed)) == len(set().union(*claimed))
    for tree, own in zip(result.trees, claimed, strict=True):
        assert len(own) <= (max_sources or 4)
        assert tree.n_leaves <= max_leaves
        assert depth_of(tree) <= 3
        assert np.bincount(tree.apply(columns.codes), w).min() >= 5.0
        for node, rows in node_rows(tree, columns.codes).items():
            split = tree.splits[node]
            if split is not None and split.test == ORDERED:
                code = columns.codes[split.column, rows]
                left = code[code <= split.bin]
                right = code[(code >= split.next_bin) & (code < 4)]
                assert left.max() == split.bin
                assert right.min() == split.next_bin


def test_threads_and_subsampling(monkeypatch):
    columns, X = binary_table(0, n=5000)
    y = (X[1] ^ X[4] ^ X[6]).astype(float)
    alone = discover_trees(columns, y, np.ones(5000), LOOKAHEAD)
    monkeypatch.setattr(grower, "_WORTH_THREADS", 0)
    with worker_threads(3):
        together = discover_trees(columns, y, np.ones(5000), LOOKAHEAD)
    monkeypatch.setattr(microtrees, "SEARCH_ROWS", 500)
    fewer = discover_trees(columns, y, np.ones(5000), LOOKAHEAD)
    assert len(alone.trees) == 1
    assert same_tree(alone.trees[0], together.trees[0])
    assert same_tree(alone.trees[0], fewer.trees[0])


def test_search_agrees_with_brute_force():
    """The best microtree has the best four-cell entropy gain of all pairs of tests."""
    columns, y, w = random_table(4, 200, missing=False, categories=False, n_columns=3)
    k = np.arange(3)
    budget = grower.SourceBudget(columns, k, Stage2Settings().growth())
    space = microtrees.SearchSpace(k, np.ones(3, bool), ~np.eye(3, dtype=bool), budget)
    rows = np.arange(200, dtype=np.int32)
    best = microtrees.search(columns, space, rows, y, w, 5.0)[0]

    def bits(mask):
        total, positive = w[mask].sum(), (w * y)[mask].sum()
        share = np.array([positive, total - positive]) / total
        return total * -sum(s * np.log2(s) for s in share if s > 0)

    def side_cost(side, root):
        costs = [
            bits(side & (columns.codes[j] <= b)) + bits(side & (columns.codes[j] > b))
            for j in k[k != root]
            for b in range(3)
            if min(w[side & (columns.codes[j] <= b)].sum(), w[side & (columns.codes[j] > b)].sum())
            >= 5.0
        ]
        return min(costs)

    lowest = min(
        side_cost(columns.codes[root] <= b, root) + side_cost(columns.codes[root] > b, root)
        for root in k
        for b in range(3)
    )
    expected = (bits(np.ones(200, bool)) - lowest) / w.sum()
    assert best.gain == pytest.approx(expected, abs=1e-8)


def test_probe_is_a_quarter_of_each_class():
    y = np.array([0.0] * 40 + [1.0] * 20)
    probe = probe_rows(y)
    assert (probe[:40].sum(), probe[40:].sum()) == (10, 5)


def test_significance_counts_candidates():
    # 2 * 100 * 0.03 * ln 2 = 4.16: p = 0.041 with one degree of freedom
    assert significant(0.03, 100.0, 1, 1)
    assert not significant(0.03, 100.0, 1, 2)
    assert not significant(0.03, 100.0, 3, 1)


def test_a_side_with_only_missing_rows_becomes_is_missing():
    columns = coded([[0, 1, 1, 3, 3]], n_bins=[3])
    bounds = GrowthLimits(4, 4, 1.0, 0.0, True, None)
    ones = np.ones(5)
    task = GrowthTask(columns, np.array([0]), stack(ones, ones, ones), bounds)
    split = Split(0, ORDERED, 3, False, 0.0, bin=1)
    split_on_all = refit_split(task, np.arange(5, dtype=np.int32), split)
    assert split_on_all.test == IS_MISSING
    assert split_on_all.table().tolist() == [False, False, False, True]
