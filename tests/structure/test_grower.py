from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from coded_tables import (
    all_splits,
    coded,
    depth_of,
    node_rows,
    one_bin_per_value,
    random_table,
    same_tree,
)
from effort import examples
from rpte.kernels.growth import IS_MISSING, LEVELS, level_order
from rpte.rows.threads import worker_threads
from rpte.structure import grower
from rpte.structure.grower import GrowthLimits, OpenLeaf, grow

PAPER = GrowthLimits(12, 8, 5.0, 0.0, True, None)


def limits(**changes):
    return replace(GrowthLimits(6, 3, 4.0, 1.0, False, None), **changes)


def newton_statistics(y, weight):
    p = (weight * y).sum() / weight.sum()
    return weight * (y - p), weight * p * (1 - p) * np.ones(len(y))


def grow_all(columns, g, h, w, bounds):
    return grow(columns, np.arange(columns.n_columns), g, h, w, bounds)


def numeric_tables():
    X, y = load_breast_cancer(return_X_y=True)
    yield X.astype(np.float32), y
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 6)).astype(np.float32)
        X[:, 3:] = np.round(X[:, 3:])
        logit = 2 * X[:, 0] * X[:, 1] + X[:, 3] + np.abs(X[:, 4])
        yield X, (rng.random(900) < 1 / (1 + np.exp(-logit))).astype(int)


def sklearn_splits(X, y):
    """scikit-learn's splits in best-first order: (gain, rows on the left, rows on the right)."""
    model = DecisionTreeClassifier(
        max_leaf_nodes=12, max_depth=8, min_samples_leaf=5, random_state=0
    ).fit(X, y)
    t = model.tree_
    path = model.decision_path(X).toarray().astype(bool)
    n = t.weighted_n_node_samples

    def gain(i):
        left, right = t.children_left[i], t.children_right[i]
        return (
            n[i] * t.impurity[i] - n[left] * t.impurity[left] - n[right] * t.impurity[right]
        ) / 2

    frontier, out = [0], []
    while frontier:
        node = max(frontier, key=gain)
        frontier.remove(node)
        sides = t.children_left[node], t.children_right[node]
        out.append((gain(node), *(np.flatnonzero(path[:, s]) for s in sides)))
        frontier += [s for s in sides if t.children_left[s] >= 0]
    return out


def is_unique(gains, masks, tolerance):
    """Whether one partition has the best gain, and no other comes near."""
    near = masks[gains >= gains.max() - tolerance]
    return bool(np.all((near == near[0]).all(axis=1) | (near != near[0]).all(axis=1)))


@pytest.mark.parametrize(("X", "y"), list(numeric_tables()))
def test_label_trees_are_scikit_learn_trees(X, y):
    columns, w = one_bin_per_value(X), np.ones(len(y))
    tree = grow_all(columns, w * y, w, w, PAPER)
    rows = node_rows(tree, columns.codes)
    theirs = sklearn_splits(X, y)
    steps = 0
    for node in np.argsort(np.where(tree.left < 0, 99, tree.left))[: tree.n_leaves - 1]:
        gains, masks = all_splits(columns, rows[node], w * y, w, w, 0.0, 5.0)
        # the two choose freely between equals, and after that they are different trees
        if not is_unique(gains, masks, 1e-7):
            break
        gain, left, right = theirs[steps]
        assert tree.splits[node].gain == pytest.approx(gain, abs=1e-7)
        assert tree.splits[node].gain == pytest.approx(gains.max(), abs=1e-9)
        assert np.array_equal(rows[int(tree.left[node])], left)
        assert np.array_equal(rows[int(tree.right[node])], right)
        steps += 1
    assert steps >= 3
    if steps == tree.n_leaves - 1:
        assert len(theirs) == steps


@pytest.mark.parametrize(("X", "y"), list(numeric_tables()))
def test_impurity_decreases_equal_scikit_learn_in_total(X, y):
    columns, w = one_bin_per_value(X), np.ones(len(y))
    tree = grow_all(columns, w * y, w, w, PAPER)
    ours = np.sort([split.gain for split in tree.splits if split is not None])[::-1]
    theirs = np.sort([gain for gain, _, _ in sklearn_splits(X, y)])[::-1]
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
@examples(100)
def test_every_newton_split_is_the_best_one(seed, missing, categories):
    columns, y, w = random_table(seed, 50, missing, categories)
    g, h = newton_statistics(y, w)
    tree = grow_all(columns, g, h, w, limits())
    if tree is None:
        gains, _ = all_splits(columns, np.arange(50), g, h, w, 1.0, 4.0, subsets=False)
        assert gains.max() <= 1e-9
        return
    for node, rows in node_rows(tree, columns.codes).items():
        if tree.splits[node] is not None:
            gains, _ = all_splits(columns, rows, g, h, w, 1.0, 4.0, subsets=False)
            assert tree.splits[node].gain == pytest.approx(gains.max(), abs=1e-9)
            left = node_rows(tree, columns.codes)[int(tree.left[node])]
            own, _ = all_splits(columns, rows, g, h, w, 1.0, 4.0, subsets=False)
            g_l, h_l, g_n, h_n = g[left].sum(), h[left].sum(), g[rows].sum(), h[rows].sum()
            achieved = g_l**2 / (h_l + 1) + (g_n - g_l) ** 2 / (h_n - h_l + 1) - g_n**2 / (h_n + 1)
            assert achieved == pytest.approx(own.max(), abs=1e-9)


@given(st.integers(0, 10_000))
@examples(60)
def test_level_sets_are_the_best_of_all_subsets_for_labels(seed):
    columns, y, w = random_table(seed, 40, missing=False, n_columns=2, bins=5)
    tree = grow_all(columns, w * y, w, w, limits(max_leaves=2, ridge=0.0, zero_gain=True))
    gains, _ = all_splits(columns, np.arange(40), w * y, w, w, 0.0, 4.0)
    assert tree is not None
    assert tree.splits[0].gain == pytest.approx(gains.max(), abs=1e-9)


@given(st.integers(0, 10_000), st.booleans())
@examples(80)
def test_limits_hold_and_leaves_partition_the_rows(seed, label):
    columns, y, w = random_table(seed, 70)
    g, h = (w * y, w) if label else newton_statistics(y, w)
    bounds = limits(ridge=0.0 if label else 1.0, zero_gain=label, max_sources=2)
    tree = grow_all(columns, g, h, w, bounds)
    if tree is None:
        return
    leaf = tree.apply(columns.codes)
    weights = np.bincount(leaf, w, tree.n_leaves)
    assert set(leaf) == set(range(tree.n_leaves))
    assert weights.min() >= 4.0
    assert tree.n_leaves <= 6
    assert depth_of(tree) <= 3
    assert len(tree.used_columns) <= 2
    inner = np.flatnonzero(tree.left >= 0)
    assert sorted(tree.left[inner]) == list(range(1, 2 * tree.n_leaves - 1, 2))
    assert np.all(tree.left[inner] > inner)


@given(st.integers(0, 10_000), st.booleans())
@examples(100)
def test_integer_weights_are_repetition(seed, label):
    columns, y, w = random_table(seed, 40)
    again = np.repeat(np.arange(40), w.astype(int))
    ones = np.ones(len(again))
    repeated = coded(columns.codes[:, again], columns.n_bins, columns.is_category)
    bounds = limits(ridge=0.0 if label else 1.0, zero_gain=label)
    trees = []
    for table, target, weight in ((columns, y, w), (repeated, y[again], ones)):
        g, h = (weight * target, weight) if label else newton_statistics(target, weight)
        trees.append(grow_all(table, g, h, weight, bounds))
    first, second = trees
    assert (first is None) == (second is None)
    assert first is None or same_tree(first, second, exact=label)


def test_threads_do_not_change_the_tree(monkeypatch):
    monkeypatch.setattr(grower, "_WORTH_THREADS", 0)
    columns, y, w = random_table(3, 400, n_columns=30)
    w = w * np.random.default_rng(0).random(400)
    g, h = newton_statistics(y, w)
    alone = grow_all(columns, g, h, w, limits(max_leaves=12, max_depth=8))
    with worker_threads(3):
        together = grow_all(columns, g, h, w, limits(max_leaves=12, max_depth=8))
    assert alone.n_leaves > 4
    assert same_tree(alone, together)


def test_equal_columns_go_to_the_first_and_equal_bins_to_the_lowest():
    y = np.array([0, 0, 1, 1] * 5, dtype=float)
    useful, w = (y > 0).astype(int) * 3, np.ones(20)
    columns = coded(np.stack([np.zeros(20), useful, 3 - useful, useful]), n_bins=[1, 4, 4, 4])
    tree = grow_all(columns, w * y, w, w, PAPER)
    assert (tree.splits[0].column, tree.splits[0].bin, tree.splits[0].next_bin) == (1, 0, 3)
    assert tree.n_leaves == 2
    # y is 0 at both ends: cutting off either end gives the same gain
    ends = coded(np.repeat([[0, 1, 2]], 10, axis=0).reshape(1, -1))
    target = np.tile([0.0, 1.0, 0.0], 10)
    tree = grow_all(ends, target, np.ones(30), np.ones(30), PAPER)
    assert tree.splits[0].bin == 0


def test_a_zero_gain_split_only_for_labels():
    a = np.array([0, 0, 1, 1] * 10)
    b = np.array([0, 1, 0, 1] * 10)
    y, w = (a ^ b).astype(float), np.ones(40)
    columns = coded(np.stack([a, b]))
    tree = grow_all(columns, w * y, w, w, PAPER)
    assert tree.n_leaves == 4
    assert tree.splits[0].gain == 0.0
    assert grow_all(columns, *newton_statistics(y, w), w, limits()) is None


def test_missing_goes_where_it_helps_and_else_to_the_heavier_child():
    code = np.repeat([0, 1, 2], [20, 20, 20])  # 2 is missing
    w = np.ones(60)
    for side, expected in ((0.0, True), (1.0, False)):
        y = np.repeat([0.0, 1.0, side], 20)
        tree = grow_all(coded([code], n_bins=[2]), w * y, w, w, PAPER)
        assert bool(tree.splits[0].missing_left) is expected
        assert tree.n_leaves == 2
    y = np.repeat([1.0, 1.0, 0.0], 20)
    tree = grow_all(coded([code], n_bins=[2]), w * y, w, w, PAPER)
    assert tree.splits[0].test == IS_MISSING
    assert tree.apply(np.array([[0, 1, 2]], dtype=np.uint8)).tolist() == [1, 1, 0]
    for n_left, expected in ((20, False), (30, True), (40, True)):
        y = np.repeat([0.0, 1.0], [n_left, 60 - n_left])
        tree = grow_all(coded([y.astype(int)], n_bins=[2]), w * y, w, w, PAPER)
        assert bool(tree.splits[0].missing_left) is expected


def test_levels_of_a_category_are_gathered_on_the_left():
    code = np.repeat([0, 1, 2, 4], 10)
    y, w = np.repeat([1.0, 0.0, 1.0, 0.0], 10), np.ones(40)
    tree = grow_all(coded([code], n_bins=[6], category=[True]), w * y, w, w, PAPER)
    assert tree.splits[0].test == LEVELS
    assert tree.splits[0].left_levels == (1, 4)
    assert tree.splits[0].right_levels == (0, 2)
    assert tree.splits[0].bin == -1


def test_a_tree_may_not_outgrow_its_sources():
    columns, y, w = random_table(11, 300, n_columns=5)
    bounds = limits(ridge=0.0, zero_gain=True, max_leaves=12)
    free = grow_all(columns, w * y, w, w, bounds)
    assert len(free.used_columns) > 1
    one = grow_all(columns, w * y, w, w, limits(ridge=0.0, zero_gain=True, max_sources=1))
    assert one.used_columns == (free.splits[0].column,)
    pair = coded(columns.codes, columns.n_bins, columns.is_category, [(0, 9)] * 5)
    none = limits(ridge=0.0, zero_gain=True, max_sources=1)
    assert grow_all(pair, w * y, w, w, none) is None
    hidden = coded(columns.codes, columns.n_bins, columns.is_category, root_only=[True] * 5)
    assert grow_all(hidden, w * y, w, w, bounds) is None


def test_float_noise_decides_neither_between_leaves_nor_between_levels():
    total, rule = np.array([0.0, 10.0, 10.0]), np.array([0.0, 1.0, 5.0])
    found = np.array([[1.0, 0, 0, 1, 0]])
    early, late = (
        OpenLeaf(node, np.arange(2, dtype=np.int32), total, rule, found * scale)
        for node, scale in ((3, 1.0), (4, 1.0 + 1e-14))
    )
    leaf, k = grower._next([late, early], np.array([True]), scale=5.0)
    assert (leaf.node, k) == (3, 0)
    noisy = 0.1 + 0.2
    assert noisy > 0.3
    hist = np.array([[noisy, 1, 1], [0.3, 1, 1], [-0.6, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert level_order(hist, 4, total, rule).tolist() == [2, 0, 1]
