"""Trees grown at once: who gets which variable, what is merged, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from coded_tables import coded, random_table
from rpte.structure.boosting import Stage2Settings
from rpte.structure.joint_trees import discover_joint_trees

RULES = Stage2Settings(max_trees=10, max_leaves=8, max_depth=4, min_samples_leaf=5.0)


def planted(seed=0, n=2000):
    """Two XORs of four variables, and a fifth that only adds."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (6, n))
    high = codes >= 2
    signal = 2.5 * (high[0] ^ high[1]) + 2.0 * (high[2] & high[3]) + 1.5 * high[4] - 2.5
    # Without any effect of its own no greedy search finds a variable.
    signal += 0.5 * high[0] + 0.5 * high[2]
    y = (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(float)
    return coded(codes), y, np.ones(n)


def read(columns, stage2):
    return [sorted({s for j in t.used_columns for s in columns.sources[j]}) for t in stage2.trees]


def test_interactions_share_a_tree_and_additions_do_not():
    columns, y, weight = planted()
    assert sorted(read(columns, discover_joint_trees(columns, y, weight, RULES))) == [
        [0, 1],
        [2, 3],
    ]


def test_the_deviance_falls_with_every_tree():
    columns, y, weight = planted()
    found = discover_joint_trees(columns, y, weight, RULES)
    falls = [r.deviance_before - r.deviance_after for r in found.rounds]
    assert all(fall > 0 for fall in falls)
    score = found.base + sum(r.leaf_values[r.leaf] for r in found.rounds)
    assert score == pytest.approx(found.score)


@pytest.mark.parametrize("seed", range(8))
def test_no_two_trees_read_one_source(seed):
    columns, y, weight = random_table(seed, 300)
    found = discover_joint_trees(columns, y, weight, RULES)
    sources = [s for tree in read(columns, found) for s in tree]
    assert len(sources) == len(set(sources))
    for tree, record in zip(found.trees, found.rounds, strict=True):
        assert tree.n_leaves <= RULES.max_leaves
        held = np.bincount(record.leaf, weight, tree.n_leaves)
        assert (held >= RULES.min_samples_leaf).all()


def test_limits():
    columns, y, weight = planted()
    alone = replace(RULES, max_sources=1)
    assert discover_joint_trees(columns, y, weight, alone).trees == ()
    few = replace(RULES, max_trees=1)
    assert len(discover_joint_trees(columns, y, weight, few).trees) == 1
    sets = replace(RULES, together=(frozenset({0, 2}), frozenset({1, 4})))
    for sources in read(columns, discover_joint_trees(columns, y, weight, sets)):
        assert len(sources) == 1 or any(allowed.issuperset(sources) for allowed in sets.together)


def test_siblings_of_equal_effect_are_one_leaf():
    """A variable that matters where another one holds has no split where it does not hold."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (2, 4000))
    y = (rng.random(4000) < np.where(codes[0] == 1, 0.5 + 0.4 * codes[1], 0.1)).astype(float)
    columns = coded(codes)
    (tree,) = discover_joint_trees(columns, y, np.ones(4000), RULES).trees
    assert tree.n_leaves == 3


def test_one_value_of_y_has_no_trees():
    columns, y, weight = planted()
    found = discover_joint_trees(columns, np.ones_like(y), weight, RULES)
    assert found.trees == ()
