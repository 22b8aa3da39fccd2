"""Dropping terms and splits in turn: against fits without each of them, and the order of splits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.columns.kinds import Value
from rpte.estimation.drop import LEAST_SPLIT, SHRINK, TreeSplits, drop_in_turn
from rpte.estimation.one_shape import Moments
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.read import read_training

N, RIDGE = 400, 0.01


def random_tree(rng, X, names):
    """Return a tree of random cuts, with rows on both sides; it always splits at its root."""
    numbers = iter(range(99))

    def node(rows, depth):
        if depth and (len(rows) < 20 or rng.random() < 0.3):
            return next(numbers)
        name = str(rng.choice(names))
        x = X[name].to_numpy()[rows]
        cut = float(np.quantile(x, rng.uniform(0.2, 0.8)))
        yes = node(rows[x <= cut], depth + 1)
        return Branch(Split(Value(name), cut), yes, node(rows[x > cut], depth + 1))

    return Tree(node(np.arange(N), 0))


def problem(seed, n_trees, n_scores=1):
    """Return moments of leaves and direct terms, the splits, and conditions of direct terms."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=N).round(3) for name in "abcde"})
    inputs = read_training(X)
    trees = [random_tree(rng, X, names) for names in (["a", "b"], ["c", "d"])[:n_trees]]
    leaves = [tree.apply(inputs) == k for tree in trees for k in range(tree.n_leaves)]
    direct = [rng.normal(size=N) + X["a"], X["e"], rng.normal(size=N), X["c"] + X["e"]]
    gram, slope = [], []
    for _ in range(n_scores):
        z, h = np.array([*leaves, *direct], float), rng.uniform(0.05, 0.25, N)
        z -= (z @ h / h.sum())[:, None]
        asked = rng.normal(size=len(z)) @ z + rng.normal(size=N)
        gram.append((z * h) @ z.T)
        slope.append((z * h) @ asked)
    moments = Moments(np.array(gram), np.array(slope))
    splits = [TreeSplits.of(tree, inputs.schema) for tree in trees]
    return moments, splits, np.array([1, 2, 1, 3])


def in_columns(moments, splits, read):
    """Return moments with splits in place of leaves, and what each column is."""
    gram, slope = moments.gram, moments.slope
    count, n_leaves = slope.shape[1], slope.shape[1] - len(read)
    change, names, start = [], [], 0
    for t, tree in enumerate(splits):
        mass = np.diag(gram.sum(axis=0))[start : start + tree.tree.n_leaves]
        for k, line in enumerate(tree.contrasts(mass)):
            change.append(np.zeros(count))
            change[-1][start : start + tree.tree.n_leaves] = line
            names.append((t, k))
        start += tree.tree.n_leaves
    change += [np.eye(count)[n_leaves + j] for j in range(len(read))]
    names += [("direct", j) for j in range(len(read))]
    change = np.array(change)
    return Moments(change @ gram @ change.T, slope @ change.T), names


def gain(moments, kept):
    """Return what some columns explain of all scores, with the ridge of the ladder."""
    total = 0.0
    for gram, slope in zip(moments.gram, moments.slope[:, kept], strict=True):
        own = gram[np.ix_(kept, kept)]
        total += slope @ np.linalg.solve(own + np.diag(SHRINK * np.diag(own) + RIDGE), slope)
    return total


def state(ladder, at, names):
    """Return the columns that are left at a step."""
    kept = {("direct", j) for j in ladder.direct[at]}
    kept |= {(t, k) for t, own in enumerate(ladder.kept[at]) for k in own}
    return [c for c, name in enumerate(names) if name in kept]


def conditions(splits, read, names, kept):
    trees = [[names[c][1] for c in kept if names[c][0] == t] for t in range(len(splits))]
    of_trees = sum(s.conditions(own) for s, own in zip(splits, trees, strict=True))
    return of_trees + sum(read[names[c][1]] for c in kept if names[c][0] == "direct")


def may_go(splits, names, kept, column):
    """Tell whether a column is a direct term, or a split with none left below it."""
    tree, number = names[column]
    if tree == "direct":
        return True
    yes, no = splits[tree].leaves[number]
    own = {*yes, *no}
    others = [splits[tree].leaves[names[c][1]] for c in kept if names[c][0] == tree and c != column]
    return not any({*one, *two} < own for one, two in others)


@examples(40)
@given(st.integers(0, 999), st.integers(0, 2), st.integers(1, 2))
def test_what_each_drop_loses_for_each_condition_is_least_by_brute_force(seed, n_trees, n_scores):
    data = problem(seed, n_trees, n_scores)
    moments, names = in_columns(*data)
    splits, read = data[1:]
    ladder = drop_in_turn(*data, RIDGE)
    assert ladder.conditions[-1] == 0
    for at in range(len(ladder.conditions) - 1):
        before, after = (state(ladder, step, names) for step in (at, at + 1))
        length = conditions(splits, read, names, before)
        assert ladder.conditions[at] == length
        (gone,) = set(before) - set(after)
        assert set(after) < set(before)
        rests = {c: [d for d in before if d != c] for c in before}
        explained = gain(moments, before)
        lost = {
            c: explained - gain(moments, rests[c])
            for c in before
            if may_go(splits, names, before, c)
        }
        saved = {c: length - conditions(splits, read, names, rests[c]) for c in lost}
        each = {c: lost[c] / max(saved[c], 1) for c in lost}
        assert each[gone] <= min(each.values()) + 1e-7
        if at == 0:  # splits that say no more than chance went before
            of_splits = [lost[c] for c in lost if names[c][0] != "direct"]
            assert min(of_splits, default=np.inf) >= LEAST_SPLIT - 1e-7


@examples(60)
@given(st.integers(0, 999))
def test_a_split_goes_after_those_below_it(seed):
    _, splits, _ = data = problem(seed, 2)
    ladder = drop_in_turn(*data, RIDGE)
    for kept in ladder.kept:
        for tree, own in zip(splits, kept, strict=True):
            for number in own:
                above = [k for k, below in enumerate(tree.children()) if number in below]
                assert {*above} <= {*own}
            pruned = tree.pruned(own)
            assert (0 if pruned is None else len(pruned.splits)) == len(own)


@examples(40)
@given(st.integers(0, 999), st.none() | st.integers(0, 40))
def test_the_longest_model_within_a_length(seed, most):
    _, splits, read = data = problem(seed, 1)
    ladder = drop_in_turn(*data, RIDGE)
    assert ladder.conditions == sorted(ladder.conditions, reverse=True)
    direct, trees = ladder.within(most)
    fitting = [n for n in ladder.conditions if most is None or n <= most]
    left = [TreeSplits.of(tree, splits[0].schema) for tree in trees if tree is not None]
    count = sum(s.conditions(range(len(s.leaves))) for s in left) + int(read[direct].sum())
    assert count == fitting[0]


def test_contrasts_of_splits_span_the_leaves():
    """All splits of a tree, with the mean, say what all its leaves say."""
    for seed in range(10):
        moments, (splits,), _ = problem(seed, 1)
        leaves = splits.tree.n_leaves
        mass = np.diag(moments.gram[0])[:leaves]
        found = splits.contrasts(mass)
        assert found.shape == (leaves - 1, leaves)
        assert np.linalg.matrix_rank(np.vstack([found, np.ones(leaves)])) == leaves
        assert found @ mass == pytest.approx(np.zeros(leaves - 1), abs=1e-9)
