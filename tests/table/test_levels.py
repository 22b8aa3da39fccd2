"""Rare levels: which keep their name, what the others are called, and where new ones go."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte import RPTEClassifier, load
from rpte.table.column import MISSING, UNSEEN
from rpte.table.inputs import read_inputs
from rpte.table.read import read_training
from rpte.table.schema import OTHER, Schema
from rpte.table.table import KEEP_ALL, PoolingRule, make_table


def pooled(cells, rule, weight=None):
    """Return the settled table of one category."""
    column = np.array(cells, object)
    weight = np.ones(len(cells)) if weight is None else np.array(weight, float)
    y = np.arange(len(cells)) % 2.0
    return make_table(read_training({"c": column}), y, weight, rule)


def names_of(table):
    """Return the weight held under each name in the settled table, None for missing."""
    levels = dict(enumerate(table.schema["c"].levels)) | {MISSING: None}
    held = Counter()
    for code, weight in zip(table.inputs["c"], table.weight, strict=True):
        held[levels[int(code)]] += weight
    return dict(held)


def test_a_level_below_the_least_weight_is_pooled():
    table = pooled(["a"] * 5 + ["b"] * 4 + ["c"] + [None], PoolingRule(5.0, 100))
    assert table.schema["c"].levels == ("a", OTHER)
    assert table.schema["c"].pooled
    assert names_of(table) == {"a": 5.0, OTHER: 5.0, None: 1.0}


def test_weights_count_not_rows():
    cells = ["a", "b", "b", "b"]
    assert pooled(cells, PoolingRule(3.0, 9), [4, 1, 1, 0.5]).schema["c"].levels == ("a", OTHER)
    assert pooled(cells, PoolingRule(3.0, 9), [4, 1, 1, 1]).schema["c"].levels == ("a", "b")


def test_rounding_of_sums_does_not_decide():
    """Fifty weights of 0.1 add up to less than 5, and to something else in another order."""
    cells, weight = ["a"] * 50 + ["b"] * 50, [0.1] * 50 + [0.3, 0.1, 0.2, 0.4, 0.0] * 5 + [0.1] * 25
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(100)
        found = pooled([cells[i] for i in order], PoolingRule(5.0, 1), np.array(weight)[order])
        assert found.schema["c"].levels == ("b", OTHER)
        found = pooled(cells[:50] * 2, PoolingRule(10.0, 9), [0.1] * 100)
        assert found.schema["c"].levels == ("a",)
        equal = pooled(["b", "a"] * 50, PoolingRule(0.0, 1), rng.permutation([0.1, 0.1] * 50))
        assert equal.schema["c"].levels == ("a", OTHER)


def test_nothing_is_pooled_where_every_level_is_heavy():
    for rule in (PoolingRule(2.0, 2), KEEP_ALL):
        variable = pooled(["b", "a", "b", "a"], rule).schema["c"]
        assert variable.levels == ("a", "b")
        assert not variable.pooled


def test_at_most_so_many_levels_keep_their_name_ties_by_name():
    cells = ["d"] * 3 + ["c"] * 2 + ["b"] * 2 + ["a"]
    assert pooled(cells, PoolingRule(0.0, 2)).schema["c"].levels == ("b", "d", OTHER)
    assert pooled(cells, PoolingRule(0.0, 3)).schema["c"].levels == ("b", "c", "d", OTHER)
    assert pooled(cells, PoolingRule(0.0, 4)).schema["c"].levels == ("a", "b", "c", "d")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_the_rule_in_words(cells, least, most):
    table = pooled(cells, PoolingRule(float(least), most))
    counts = Counter(cells)
    heaviest = sorted(counts, key=lambda level: (-counts[level], level))[:most]
    kept = {level: float(counts[level]) for level in heaviest if counts[level] >= least}
    rest = float(len(cells)) - sum(kept.values())
    assert names_of(table) == kept | ({OTHER: rest} if rest else {})
    assert table.schema["c"].pooled == bool(rest)
    assert table.schema["c"].levels == (*sorted(kept), *([OTHER] if rest else []))


def test_a_real_level_of_that_name_stays_apart_from_the_pool():
    cells = [OTHER] * 5 + ["a"] * 5 + ["rare"]
    table = pooled(cells, PoolingRule(5.0, 9))
    assert table.schema["c"].levels == (OTHER, "a", f"({OTHER})")
    assert names_of(table) == {OTHER: 5.0, "a": 5.0, f"({OTHER})": 1.0}
    codes = read_inputs({"c": np.array([OTHER, "rare", "new"], object)}, table.schema)["c"]
    assert codes.tolist() == [0, 2, 2]


def test_a_rare_real_level_of_that_name_is_in_the_pool():
    table = pooled([OTHER, "rare"] + ["a"] * 5, PoolingRule(5.0, 9))
    assert table.schema["c"].levels == ("a", OTHER)
    assert names_of(table) == {"a": 5.0, OTHER: 2.0}


def test_levels_of_rows_without_weight_are_not_known():
    table = pooled(["a", "b", "ghost", None], PoolingRule(1.0, 9), [1, 1, 0, 0])
    variable = table.schema["c"]
    assert variable.levels == ("a", "b")
    assert not variable.pooled
    assert not variable.has_missing
    found = read_inputs({"c": np.array(["ghost", None], object)}, table.schema)["c"]
    assert found.tolist() == [UNSEEN, MISSING]


def test_new_levels_go_to_the_pool_or_are_unseen():
    new = {"c": np.array(["a", "rare", "new", None], object)}
    with_pool = pooled(["a"] * 3 + ["rare"], PoolingRule(2.0, 9)).schema
    assert read_inputs(new, with_pool)["c"].tolist() == [0, 1, 1, MISSING]
    without = pooled(["a"] * 3, PoolingRule(2.0, 9)).schema
    assert read_inputs(new, without)["c"].tolist() == [0, UNSEEN, UNSEEN, MISSING]


def test_pooled_levels_survive_the_file():
    schema = pooled(["a"] * 3 + ["rare"], PoolingRule(2.0, 9)).schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_rows_that_differ_in_rare_levels_alone_are_one_row():
    column = np.array(["a"] * 4 + ["p", "q"], object)
    inputs = read_training({"c": column})
    table = make_table(inputs, np.zeros(6), np.ones(6), PoolingRule(3.0, 9))
    assert sorted(table.weight) == [2.0, 4.0]


@pytest.fixture(scope="module")
def towns():
    """A label that goes with two big towns, and with every one of many small ones."""
    rng = np.random.default_rng(0)
    big = rng.choice(["Rome", "Oslo"], 300)
    town = np.array([f"village {i:03}" if i % 3 == 0 else big[i] for i in range(300)], object)
    chance = np.where(town == "Rome", 0.2, np.where(town == "Oslo", 0.5, 0.9))
    return pd.DataFrame({"town": town}), (rng.random(300) < chance).astype(int)


def test_the_pool_is_a_term_of_the_model_and_flagged_in_explanations(towns, tmp_path):
    X, y = towns
    classifier = RPTEClassifier(l1="4/n").fit(X, y)
    variable = classifier.model_.schema["town"]
    assert variable.levels == ("Oslo", "Rome", OTHER)
    assert OTHER in classifier.summary()
    rows = pd.DataFrame({"town": ["village 003", "Atlantis", "Rome"]})
    score = classifier.decision_function(rows)
    assert score[0] == score[1] > score[2]
    flags = [explanation.flags for explanation in classifier.explain(rows)]
    rare = ("town holds a level that was rare or not seen in training",)
    assert flags == [rare, rare, ()]
    assert rare[0] in str(classifier.explain(rows)[0])
    classifier.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").score(rows).tolist() == score.tolist()
    assert all(check.holds for check in classifier.model_.verify(X, y))


def test_the_estimator_pools_what_could_not_fill_a_leaf(towns):
    X, y = towns
    every = RPTEClassifier(l1="4/n", min_samples_leaf=1, max_trees=0).fit(X, y).model_.schema
    assert len(every["town"].levels) == 101  # 100 keep their name
    paper = RPTEClassifier.paper(max_trees=1).fit(X, y).model_.schema["town"]
    assert len(paper.levels) == 102
    assert not paper.pooled


@pytest.mark.filterwarnings("ignore:column .* training did not have")
def test_a_level_never_seen_is_flagged_without_a_pool():
    rng = np.random.default_rng(1)
    c = rng.choice(["p", "q"], 100)
    y = (rng.random(100) < np.where(c == "p", 0.2, 0.8)).astype(int)
    classifier = RPTEClassifier(l1="4/n").fit(pd.DataFrame({"c": c}), y)
    explained = classifier.explain(pd.DataFrame({"c": ["p", "new"]}))
    assert [e.flags for e in explained] == [
        (), ("c holds a level that was not seen in training",)
    ]  # fmt: skip
    assert explained[1].inputs["c"] == "a level not seen before"
