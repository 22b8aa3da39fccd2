import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raw_tables import random_raw
from rpte.columns.kinds import Interval, Level, Missing, Pair, Pattern, Step, Value
from rpte.structure.tree import Branch, Condition, Split, Tree
from rpte.table.inputs import Inputs
from rpte.table.read import read_training
from rpte.table.schema import Schema, Variable

INPUTS = read_training(random_raw(3, ["number", "category", "few", "two"], 80).columns)
NUMBERS, CATEGORIES = ("z0", "x2"), ("y1", "w3")


@st.composite
def splits(draw):
    kind = draw(st.sampled_from(["value", "pair", "level", "missing", "interval", "pattern"]))
    threshold = draw(st.floats(-2, 2))
    number, category = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(CATEGORIES))
    levels = INPUTS.schema[category].levels
    some = draw(st.lists(st.sampled_from(levels), min_size=1, unique=True).map(sorted).map(tuple))
    if kind == "value":
        return Split(Value(number), threshold, draw(st.booleans()))
    if kind == "pair":
        return Split(Pair("sum", Value("z0"), Value("x2")), threshold, draw(st.booleans()))
    if kind == "missing":
        return Split(Missing(draw(st.sampled_from(NUMBERS + CATEGORIES))))
    if kind == "level":
        return Split(Level(category, some))
    interval = Interval(number, threshold, draw(st.sampled_from([threshold + 1, math.inf])))
    return Split(interval if kind == "interval" else Pattern(interval, Level(category, some)))


@st.composite
def trees(draw, depth=3):
    """Draw a tree with its leaves numbered from 0, the yes side first."""
    count = iter(range(1000))

    def node(level):
        if level and (level > depth or draw(st.booleans())):
            return next(count)
        split = draw(splits())
        yes = node(level + 1)
        return Branch(split, yes, node(level + 1))

    return Tree(node(0))


@given(trees())
def test_json_round_trip(tree):
    assert Tree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


@given(trees())
def test_each_row_satisfies_the_path_of_exactly_the_leaf_it_reaches(tree):
    paths = list(tree.paths())
    satisfied = np.array(
        [np.all([c.split.holds(INPUTS) == c.holds for c in path], axis=0) for path in paths]
    )
    assert (satisfied.sum(axis=0) == 1).all()
    assert (satisfied.argmax(axis=0) == tree.apply(INPUTS)).all()
    assert tree.n_leaves == len(paths) == len(tree.splits) + 1
    assert tree.sources == tuple(sorted({s for split in tree.splits for s in split.column.sources}))


@given(trees(), st.sets(st.integers(0, 15)))
def test_merging_keeps_the_partition_of_the_other_leaves(tree, same):
    merged, members = tree.merge_leaves(lambda leaves: set(leaves) <= same)
    assert sorted(leaf for group in members for leaf in group) == list(range(tree.n_leaves))
    assert all(len(group) == 1 or set(group) <= same for group in members)
    if merged is None:
        assert set(range(tree.n_leaves)) <= same
        return
    new_leaf = {old: new for new, group in enumerate(members) for old in group}
    assert merged.apply(INPUTS).tolist() == [new_leaf[old] for old in tree.apply(INPUTS).tolist()]
    assert merged.n_leaves == len(members)
    for a, b in sibling_leaves(merged.root):  # nothing more could be merged
        assert not (set(members[a]) <= same and set(members[b]) <= same)


def sibling_leaves(node):
    if isinstance(node, int):
        return
    if isinstance(node.yes, int) and isinstance(node.no, int):
        yield node.yes, node.no
    yield from sibling_leaves(node.yes)
    yield from sibling_leaves(node.no)


@given(splits())
def test_the_text_says_where_missing_goes(split):
    yes, no = (Condition(split, side).text(INPUTS.schema) for side in (True, False))
    assert yes != no
    if isinstance(split.column, Missing):
        assert (yes, no) == (
            f"{split.column.source} is missing",
            f"{split.column.source} is present",
        )
        return
    told = [text.endswith("(or missing)") for text in (yes, no)]
    assert sum(told) == 1
    blank = Inputs(INPUTS.schema, tuple(_blank(c) for c in INPUTS.columns))
    assert split.holds(blank).all() == told[0]
    assert split.holds(blank).any() == told[0]


def _blank(column):
    return np.full(len(column), np.nan) if column.dtype.kind == "f" else np.full_like(column, -1)


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.booleans())
def test_the_printed_threshold_is_the_threshold(threshold, missing_holds, side):
    schema = Schema((Variable("a <= b", "number"),), named=True)
    text = Condition(Split(Value("a <= b"), threshold, missing_holds), side).text(schema)
    found = re.fullmatch(r"a <= b (<=|>) (\S+)( \(or missing\))?", text)
    assert found is not None
    assert float(found[2]) == threshold
    assert (found[1] == "<=") == side
    assert (found[3] is not None) == (missing_holds == side)


@pytest.mark.parametrize(
    ("levels", "yes", "no"),
    [
        (("a",), "c is 'a'", "c is not 'a' (or missing)"),
        (("a", "b"), "c in {'a', 'b'}", "c not in {'a', 'b'} (or missing)"),
        (("a", "b", "d"), "c not in {'e'} and known", "c in {'e'} (or missing)"),
        (
            ("a", "b", "d", "e"),
            "c in {'a', 'b', 'd', 'e'}",
            "c not in {'a', 'b', 'd', 'e'} (or missing)",
        ),
    ],
)
def test_sets_of_levels_list_the_shorter_side(levels, yes, no):
    schema = Schema((Variable("c", "category", ("a", "b", "d", "e")),), named=True)
    split = Split(Level("c", levels))
    assert Condition(split, True).text(schema) == yes
    assert Condition(split, False).text(schema) == no
    assert Condition(split, True).name(schema) == yes.replace("'", "")
    assert Condition(split, False).name(schema) == no.replace("'", "")


def test_a_single_level_is_named():
    schema = Schema((Variable("c", "category", ("only",), True),), named=True)
    assert Condition(Split(Level("c", ("only",))), True).text(schema) == "c is 'only'"


def test_equal_values_hold_and_unseen_levels_go_with_missing():
    inputs = Inputs(INPUTS.schema, tuple(c[:2].copy() for c in INPUTS.columns))
    inputs["z0"][:] = 1.5, np.nextafter(1.5, 2)
    inputs["y1"][:] = -1, -2
    assert Split(Value("z0"), 1.5).holds(inputs).tolist() == [True, False]
    assert Split(Level("y1", INPUTS.schema["y1"].levels)).holds(inputs).tolist() == [False, False]


def test_conditions_count_the_variables_they_read():
    value, pair = Value("z0"), Pair("sum", Value("z0"), Value("x2"))
    assert Condition(Split(value, 0.0), True).count(INPUTS.schema) == 1
    assert Condition(Split(pair, 0.0), True).count(INPUTS.schema) == 2
    assert Condition(Split(pair, 0.0), True).sources == ("z0", "x2")


def test_a_number_that_counts_only_somewhere_is_compared_as_a_whole():
    product = Pair("product", Value("z0"), Step("x2", 1.0))
    assert Condition(Split(product, 0.5, True), True).text(INPUTS.schema) == (
        "(z0 where x2 > 1) <= 0.5 (or missing)"
    )


@pytest.mark.parametrize("numbers", [(1, 0), (0, 0), (0, 2)])
def test_stored_leaves_must_be_numbered_in_order(numbers):
    tree = Tree(Branch(Split(Value("z0"), 0.0), *numbers))
    with pytest.raises(ValueError, match="leaves numbered"):
        Tree.from_dict(tree.to_dict())
    with pytest.raises(ValueError, match="without a split"):
        Tree.from_dict({"root": {"leaf": 0}})


@given(trees(), st.integers(0, 99))
def test_missing_goes_to_the_heavier_side_where_none_is_met(tree, seed):
    """The oracle walks row by row; where missing is met, the test keeps what it has learned."""
    weight = np.random.default_rng(seed).integers(1, 4, INPUTS.n_rows).astype(float)
    some, others = slice(0, 5), slice(5, None)
    sums = sum(tree.side_weights(INPUTS.take(rows), weight[rows]) for rows in (some, others))
    settled = tree.with_heavier_sides(sums)
    assert settled.n_leaves == tree.n_leaves
    assert (settled.apply(INPUTS) == tree.apply(INPUTS)).all()
    stack = [(tree.root, settled.root, np.arange(INPUTS.n_rows))]
    while stack:
        before, after, rows = stack.pop()
        if isinstance(before, int):
            assert before == after
            continue
        assert (before.split.column, before.split.threshold) == (
            after.split.column,
            after.split.threshold,
        )
        holds = before.split.holds(INPUTS)[rows]
        excess = weight[rows[holds]].sum() - weight[rows[~holds]].sum()
        met = np.isnan(before.split.column.evaluate(INPUTS)[rows]).any()
        free = before.split.threshold is not None and not met and excess != 0.0
        assert after.split.missing_holds == (excess > 0 if free else before.split.missing_holds)
        stack.append((before.yes, after.yes, rows[holds]))
        stack.append((before.no, after.no, rows[~holds]))
