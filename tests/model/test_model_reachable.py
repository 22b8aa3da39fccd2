"""Leaves that no case can reach are found from the conditions; no other leaf is called so."""

import numpy as np
import pytest

from fit_tables import CONFIGURATIONS, mixed_case
from rpte.columns.kinds import (
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.model.verify_structure import impossible_leaves
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.schema import Schema, Variable

SCHEMA = Schema(
    (
        Variable("x", "number"),
        Variable("z", "number", ("-9",)),
        Variable("c", "category", ("a", "b")),
        Variable("p", "category", ("a", "(other)"), pooled=True),
    ),
    named=True,
)
X, Z = Value("x"), Value("z")
PAIR = Pair("sum", X, Z)
HINGE = Hinge("x", 2.0, "above")


def chain(*splits):
    """Return a tree whose tests stand one below the other on the yes side."""
    node = 0
    for number, split in enumerate(reversed(splits), 1):
        node = Branch(split, node, number)
    return Tree(node)


def low(column, threshold, missing=False):
    return Split(column, threshold, missing)


@pytest.mark.parametrize(
    ("splits", "expected"),
    [
        ((low(X, 5), low(X, 3)), []),
        ((low(X, 3), low(X, 5)), [1]),
        ((low(X, 3), low(X, 3)), [1]),
        ((low(X, 3), low(X, np.nextafter(3, 0))), []),
        ((low(X, 3, True), low(X, 5, False)), []),  # missing comes here
        ((low(X, 3, True), low(X, 5, True)), [1]),
        ((Split(Missing("x")), low(X, 3, True)), [1]),
        ((Split(Missing("x")), low(X, 3, False)), [0]),
        ((Split(Missing("z")), Split(Level("z", ("-9",)))), [0]),
        ((Split(Level("z", ("-9",))), low(Z, 0, False)), [0]),
        ((Split(Level("c", ("a",))), Split(Level("c", ("b",)))), [0]),
        ((Split(Level("c", ("a",))), Split(Level("c", ("a", "b")))), [1]),
        ((Split(Level("c", ("a",))), Split(Missing("c"))), [0]),
        ((Split(Interval("x", 0, 2)), low(X, -1)), [0]),
        ((Split(Interval("x", 0, 2)), low(X, 0)), []),
        ((Split(Interval("x", 0, 2)), low(X, 2)), [1]),
        ((Split(Interval("x", 0, 2)), Split(Interval("x", 2, np.inf))), [0]),
        ((Split(Step("x", 2)), low(X, 2)), [0]),
        ((Split(Step("x", 2)), low(X, np.nextafter(2, 3))), []),
        ((Split(Step("x", 2)), Split(Step("x", 1))), [1]),
        ((Split(Step("x", 2)), Split(Missing("x"))), [0]),
        ((low(HINGE, 3), low(HINGE, 5)), [1]),
        ((low(HINGE, 3), low(X, 4.5)), []),  # x in (4.5, 5], which no number here names
        ((low(Scale("x", "sqrt", (0.0,)), 3), low(X, 8.5)), []),
        ((low(PAIR, 3), low(PAIR, 5)), [1]),
        ((low(PAIR, 3, True), low(PAIR, 5)), []),
        ((Split(Pattern(Interval("x", 0, 2), Level("c", ("a",)))),) * 2, [1]),
    ],
)
def test_by_hand(splits, expected):
    assert impossible_leaves(chain(*splits), SCHEMA) == expected


def test_levels_never_seen_are_a_case_unless_they_are_pooled():
    def neither(name, levels):
        root = Branch(Split(Level(name, levels[:1])), 0, 0)
        inner = Branch(Split(Level(name, levels[1:])), 1, 2)
        known = Branch(Split(Missing(name)), 2, 3)
        return Tree(Branch(root.split, 0, Branch(inner.split, 1, known)))

    assert impossible_leaves(neither("c", ("a", "b")), SCHEMA) == []
    assert impossible_leaves(neither("p", ("a", "(other)")), SCHEMA) == [3]


@pytest.mark.parametrize("name", ["4/n", "published", "lookahead", "not reassigned"])
def test_every_leaf_of_a_fitted_tree_can_be_reached(name):
    case = mixed_case()
    model = case.fit(CONFIGURATIONS[name]()).model_
    trees = [tree for component in model.components for tree in component.trees]
    assert trees
    assert all(impossible_leaves(tree.tree, model.schema) == [] for tree in trees)
