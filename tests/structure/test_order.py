"""Which leaves must be ordered: against all inputs that differ in the variable alone."""

import math
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.columns.kinds import Interval, Level, Missing, Pair, Pattern, Value
from rpte.structure.order import is_orderable, ordered_leaves
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.inputs import read_inputs
from rpte.table.read import read_training

# x and z are numbers (z with a special code), v a second one, c a category; all may be missing.
GRID = {
    "x": [-1.5, -0.5, 0.5, 1.5],
    "z": [-1.0, 0.0, 1.0, None, -9.0],
    "v": [-1.0, 1.0, None],
    "c": ["a", "b", "d", None],
}
SCHEMA = read_training(
    {name: np.array(cells, object) for name, cells in zip(
        GRID, zip(*product(*GRID.values()), strict=True), strict=True)},
    {"z": [-9]},
).schema  # fmt: skip
OTHERS = list(product(*(GRID[name] for name in ("z", "v", "c"))))
THRESHOLDS = {"x": [-1.0, 0.0, 1.0], "z": [-0.5, 0.5], "v": [0.0]}


@st.composite
def splits(draw, monotone):
    """Draw a split that a tree may have when `monotone` is read by thresholds alone."""
    numbers = [n for n in ("x", "z", "v") if n not in monotone]
    kinds = ["threshold", "level", "missing", "interval", "pair", "pattern", "present", "code"]
    kind = draw(st.sampled_from(kinds))
    side = draw(st.booleans())
    if kind == "missing":
        return Split(Missing(draw(st.sampled_from(["x", "z", "v", "c"]))))
    if kind == "present":
        return Split(Interval(draw(st.sampled_from(["x", "z"])), -math.inf, math.inf))
    if kind == "level":
        return Split(Level("c", tuple(draw(st.sampled_from(["a", "b", "ab"])))))
    if kind == "code" and "z" not in monotone:
        return Split(Level("z", ("-9",)))
    if kind == "interval":
        return Split(Interval(draw(st.sampled_from(numbers)), -0.7, 0.7))
    if kind == "pair" and len(numbers) > 1:
        return Split(Pair("sum", Value(numbers[0]), Value(numbers[1])), 0.2, side)
    if kind == "pattern":
        part = Interval(draw(st.sampled_from(numbers)), -math.inf, 0.3)
        return Split(Pattern(part, Level("c", ("a",))))
    name = draw(st.sampled_from(["x", "x", "z", "v"]))
    return Split(Value(name), draw(st.sampled_from(THRESHOLDS[name])), side)


@st.composite
def trees(draw, monotone, depth=3):
    count = iter(range(100))

    def node(level):
        if level > depth or (level and draw(st.integers(0, 3)) == 0):
            return next(count)
        split = draw(splits(monotone))
        yes = node(level + 1)
        return Branch(split, yes, node(level + 1))

    return Tree(node(0))


@cache
def rising(source):
    """Return all other cells beside each number of `source`, from the smallest on."""
    numbers = sorted(cell for cell in GRID[source] if cell is not None and cell != -9.0)
    names = [name for name in GRID if name != source]
    rest = list(product(*(GRID[name] for name in names)))
    rows = {name: np.array([r[i] for r in rest], object) for i, name in enumerate(names)}
    return [read_inputs(rows | {source: np.full(len(rest), n)}, SCHEMA) for n in numbers]


def moves(tree, source):
    """Return {(leaf, leaf)} that some input passes between when `source` rises by itself."""
    reached = [tree.apply(inputs).tolist() for inputs in rising(source)]
    pairs = (zip(a, b, strict=True) for a, b in combinations(reached, 2))
    return {(a, b) for each in pairs for a, b in each if a != b}


@examples(150)
@given(trees(("x",)))
def test_every_move_of_one_variable_is_ordered(tree):
    assert is_orderable(tree, "x")
    found = moves(tree, "x")
    assert found <= set(ordered_leaves(tree, {"x": 1}))
    assert {(b, a) for a, b in found} <= set(ordered_leaves(tree, {"x": -1}))


@examples(100)
@given(trees(("x", "z")))
def test_two_variables_in_two_directions(tree):
    found = set(ordered_leaves(tree, {"x": 1, "z": -1}))
    assert moves(tree, "x") <= found
    assert {(b, a) for a, b in moves(tree, "z")} <= found


@st.composite
def plain_trees(draw, depth=4):
    """Draw trees whose every path is possible: tests on a column are nested, one set of levels."""
    count = iter(range(100))

    def node(level, low, high, asked):
        if level > depth or (level and draw(st.integers(0, 4)) == 0):
            return next(count)
        inside = [t for t in THRESHOLDS["x"] if low < t < high]
        left = [s for s in (Level("c", ("a",)), Missing("v")) if s not in asked]
        if inside and (not left or draw(st.booleans())):
            t = draw(st.sampled_from(inside))
            split = Split(Value("x"), t, draw(st.booleans()))
            yes = node(level + 1, low, t, asked)
            return Branch(split, yes, node(level + 1, t, high, asked))
        if not left:
            return next(count)
        column = draw(st.sampled_from(left))
        yes = node(level + 1, low, high, (*asked, column))
        return Branch(Split(column), yes, node(level + 1, low, high, (*asked, column)))

    return Tree(node(0, -math.inf, math.inf, ()))


@examples(150)
@given(plain_trees())
def test_no_pair_is_ordered_without_need(tree):
    assert set(ordered_leaves(tree, {"x": 1})) == moves(tree, "x")


def test_by_hand():
    """x <= 0: (c is a: x <= -1: 0, 1; else 2); else 3."""
    low = Branch(Split(Value("x"), -1.0), 0, 1)
    tree = Tree(Branch(Split(Value("x"), 0.0, True), Branch(Split(Level("c", ("a",))), low, 2), 3))
    assert ordered_leaves(tree, {"x": 1}) == [(0, 1), (0, 3), (1, 3), (2, 3)]
    assert ordered_leaves(tree, {"x": -1}) == [(1, 0), (3, 0), (3, 1), (3, 2)]
    assert ordered_leaves(tree, {"v": 1}) == []
    assert ordered_leaves(tree, {}) == []


def test_missing_and_special_leaves_are_outside_the_order():
    below = Branch(Split(Value("z"), 0.0), 1, 2)
    gone = Tree(Branch(Split(Missing("z")), 0, below))
    assert ordered_leaves(gone, {"z": 1}) == [(1, 2)]
    above = Branch(Split(Value("z"), 0.0), 0, 1)
    tree = Tree(Branch(Split(Interval("z", -math.inf, math.inf)), above, 2))
    assert ordered_leaves(tree, {"z": 1}) == [(0, 1)]


def test_missing_elsewhere_can_join_what_thresholds_part():
    """v <= -1 sends missing along, v > 1 does too: a row without v can reach either."""
    low = Branch(Split(Value("v"), 1.0, False), 0, 1)  # v > 1 or missing is 1
    for along in (True, False):  # v <= -1 is 2, missing with it or not
        high = Branch(Split(Value("v"), -1.0, along), 2, 3)
        tree = Tree(Branch(Split(Value("x"), 0.0), low, high))
        assert ((1, 2) in ordered_leaves(tree, {"x": 1})) == along


@pytest.mark.parametrize(
    ("column", "threshold", "orderable"),
    [
        (Value("z"), 0.0, True), (Missing("z"), None, True),
        (Interval("z", -math.inf, math.inf), None, True),
        (Interval("z", 0.0, math.inf), None, False),
        (Interval("z", 0.0, 1.0), None, False), (Level("z", ("-9",)), None, False),
        (Pair("sum", Value("z"), Value("v")), 0.0, False),
        (Pattern(Interval("z", 0.0, math.inf), Level("c", ("a",))), None, False),
        (Value("x"), 0.0, True),
    ],
)  # fmt: skip
def test_what_can_be_ordered(column, threshold, orderable):
    tree = Tree(Branch(Split(column, threshold), 0, 1))
    assert is_orderable(tree, "z") == orderable
