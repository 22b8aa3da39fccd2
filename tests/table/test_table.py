import json
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpte.table.table as module
from effort import examples
from raw_tables import Raw, random_raw, raws, same_bits
from rpte import InputError, RPTEClassifier, load
from rpte.table.column import MISSING, UNSEEN
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.read import read_training
from rpte.table.schema import OTHER, Schema
from rpte.table.table import (
    KEEP_ALL,
    PoolingRule,
    make_table,
    order_by_hash,
    read_weights,
    row_hashes,
)


def identical(a, b):
    """Tell whether two tables agree bit for bit, their named columns in any order."""
    return (
        set(a.schema.variables) == set(b.schema.variables)
        and all(same_bits(a.inputs[name], b.inputs[name]) for name in a.schema.names)
        and same_bits(a.y, b.y)
        and same_bits(a.weight, b.weight)
    )


def cells(columns, i):
    """Return row i as text, missing of any kind as one thing."""
    return tuple(
        "missing" if v is None or v != v else str(v) for v in (c[i] for c in columns.values())
    )


@examples(40)
@given(raws(), st.randoms(use_true_random=False))
def test_neither_row_order_nor_column_order_nor_repetition_matters(raw, random):
    expected = raw.table()
    rows, names = list(range(len(raw.y))), list(raw.columns)
    random.shuffle(rows)
    random.shuffle(names)
    assert identical(raw.take(np.array(rows)).table(), expected)
    assert identical(raw.reordered(names).table(), expected)
    assert identical(raw.repeated().table(), expected)
    assert identical(raw.repeated().take(np.arange(int(raw.weight.sum()))[::-1]).table(), expected)


@examples(40)
@given(raws(kinds=("few", "01", "two", "category"), least=1, most=2))
def test_rows_are_merged_exactly_when_content_and_label_agree(raw):
    table = raw.table()
    counted = Counter()
    for i, (label, weight) in enumerate(zip(raw.y, raw.weight, strict=True)):
        counted[(cells(raw.columns, i), label)] += weight
    assert table.n_rows == len(counted)
    assert sorted(table.weight) == sorted(counted.values())
    assert table.total_weight == raw.weight.sum()


def test_missing_is_not_a_level_nor_a_number():
    columns = {"c": np.array(["", None, "\0"], object), "x": np.array([0.0, 0.0, 0.0])}
    assert make_table(read_training(columns), np.ones(3), np.ones(3)).n_rows == 3
    columns = {"x": np.array([0.0, np.nan, -0.0])}
    table = make_table(read_training(columns), np.ones(3), np.ones(3))
    assert sorted(table.weight) == [1.0, 2.0]


def test_hashes_follow_content_not_place():
    raw = random_raw(1, ["number", "category", "few"], 30)
    names = list(raw.columns)[::-1]
    inputs, turned = read_training(raw.columns), read_training(raw.reordered(names).columns)
    hashes = row_hashes(inputs)
    assert same_bits(hashes, row_hashes(turned))
    assert len(np.unique(hashes)) == len({cells(raw.columns, i) for i in range(30)})
    swapped = dict(zip(raw.columns, [raw.columns[n] for n in ("x2", "y1", "z0")], strict=True))
    assert not (row_hashes(read_training(swapped)) == hashes).any()


def test_hashes_do_not_depend_on_which_other_levels_exist():
    few = read_training({"c": np.array(["b", "c"], object)})
    more = read_training({"c": np.array(["b", "c", "a"], object)})
    assert same_bits(row_hashes(few), row_hashes(more)[:2])


def test_colliding_hashes_do_not_merge_rows(monkeypatch):
    raw = random_raw(3, ["few", "category"], 50)
    expected = raw.table()
    monkeypatch.setattr(module, "row_hashes", lambda inputs: np.zeros(inputs.n_rows, np.uint64))
    collided = raw.table()
    assert collided.n_rows == expected.n_rows
    assert sorted(collided.weight) == sorted(expected.weight)
    assert identical(raw.take(np.arange(50)[::-1]).table(), collided)


def test_weights_of_any_size_are_summed_in_one_order():
    rng = np.random.default_rng(0)
    raw = Raw({"x": rng.integers(0, 2, 200).astype(float)}, np.zeros(200), rng.random(200) + 0.1)
    assert same_bits(raw.table().weight, raw.take(rng.permutation(200)).table().weight)


def test_rows_of_weight_zero_are_dropped():
    raw = Raw(
        {"x": np.array([1.0, 2.0, 3.0])}, np.array([0.0, 1.0, 1.0]), np.array([2.0, 0.0, 1.0])
    )
    assert sorted(raw.table().inputs["x"]) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("weight", "says"),
    [([1.0, -1.0], r"sample_weight\[1\] is -1"), ([np.nan, 1.0], r"sample_weight\[0\] is nan"),
     ([1.0, np.inf], "inf"), ([0.01, 0.02], "rescale"), ([0.0, 0.0], "zero")],
)  # fmt: skip
def test_weights_that_are_refused(weight, says):
    with pytest.raises(InputError, match=says):
        make_table(read_training({"x": [1.0, 2.0]}), np.array([0.0, 1.0]), np.array(weight))


def test_take_keeps_the_order_asked_for():
    table = random_raw(0, ["number", "category"], 20).table()
    rows = np.array([5, 0, 3])
    part = table.take(rows)
    assert part.y.tolist() == table.y[rows].tolist()
    assert part.inputs["y1"].tolist() == table.inputs["y1"][rows].tolist()
    assert isinstance(part.inputs, Inputs)
    assert part.schema is table.schema


@examples(30)
@given(raws())
def test_cells_that_are_put_in_order_when_asked_for_are_the_same(raw):
    inputs = read_training(raw.columns)
    lazy = make_table(inputs, raw.y, raw.weight, copied=False)
    assert identical(lazy, raw.table())
    assert same_bits(lazy.hashes, row_hashes(lazy.inputs))
    rows = np.arange(lazy.n_rows)[::-2]
    assert identical(lazy.take(rows), raw.table().take(rows))


def test_rows_are_hashed_alike_however_many_at_a_time(monkeypatch):
    inputs = random_raw(3, ["number", "category", "few"], 50).table().inputs
    whole = row_hashes(inputs)
    monkeypatch.setattr(module, "HASHED_ROWS", 7)
    assert same_bits(row_hashes(inputs), whole)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1e300, 1e300], "sums to 2e\\+300"),
        ([1.7e308, 1.7e308], "sums to inf"),
        ([2.0**53, 2.0], "beyond 2\\*\\*53"),
        ([10**400, 1], r"\[0\] is inf"),
        ([1.0, None], r"\[1\] is nan"),
        ([1.0, -1.0], r"\[1\] is -1"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), r"\[1\] is nan"),
        (np.ma.array([1, 2], mask=[0, 1]), r"\[1\] is nan"),
        (pd.array([1, None], "Int64"), r"\[1\] is nan"),
        ([1j, 1j], "complex128"),
        (["1", "2"], "'1'"),
        (np.array(["1", "2"]), "<U1"),
        (np.array(["2020-01-01"] * 2, "datetime64[D]"), "datetime64"),
        (np.array([1, 2], "timedelta64[D]"), "timedelta64"),
        ([1.0], "expected \\(2,\\)"),
        ([[1.0], [1.0]], "expected \\(2,\\)"),
    ],
)
def test_what_is_refused(weight, message):
    with pytest.raises(InputError, match=message):
        read_weights(weight, 2)


@pytest.mark.parametrize(
    "weight", [2, [2, 2], [2.0, 2], np.array([2, 2], np.uint8), [Decimal(2), 2], pd.Series([2, 2])]
)
def test_what_is_read(weight):
    found = read_weights(weight, 2)
    assert found.tolist() == [2.0, 2.0]
    assert found.dtype == np.float64


def test_class_weights_count_in_the_sum():
    x = np.arange(20.0)[:, None]
    with pytest.raises(InputError, match=r"sample_weight \(times class_weight\) sums to"):
        RPTEClassifier(class_weight={1: 1e300}).fit(x, np.arange(20) % 2)


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


@examples(60)
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
    assert OTHER in classifier.summary(terms=True)
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


@pytest.mark.parametrize("few", [4, 2**62])
def test_the_order_by_hash_is_that_of_all_keys(few):
    rng = np.random.default_rng(4)
    hashes = rng.integers(few, size=3000).astype(np.uint64)
    hashes[::7] = hashes[3] ^ np.arange(len(hashes[::7]), dtype=np.uint64) % np.uint64(3)
    weight, y = rng.integers(3, size=3000) * 1.0, rng.integers(2, size=3000) * 1.0
    assert (order_by_hash(hashes, weight, y) == np.lexsort((weight, y, hashes))).all()
