"""A model that has been tampered with fails the check that speaks of it, and no other."""

from dataclasses import replace

import numpy as np
import pytest

from fit_tables import mixed_case, with_part
from rpte import InputError, RPTEClassifier
from rpte.columns.kinds import Level, Pair, Value
from rpte.model import explain
from rpte.model.explanations import Explanations
from rpte.model.ledger import DERIVED
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.structure.tree import Branch, Split, Tree

CASE = mixed_case()
OWNERSHIPS = ("paper", "separate", "strict", "component")


def fit(**parameters):
    return CASE.fit(RPTEClassifier(**{"l1": 0.015, "max_leaves": 4, **parameters})).model_


@pytest.fixture(scope="module")
def model():
    """Several trees, and direct terms beside them."""
    found = fit(max_component_sources=2)
    assert sum(len(c.trees) for c in found.components) >= 2
    assert sum(len(c.direct) for c in found.components) >= 2
    return found


def failing(model, X=CASE.X, y=CASE.y, weight=CASE.weight):
    return {check.name for check in model.verify(X, y, weight) if not check.holds}


def first(model, kind):
    return next(part for _, part in model.parts() if isinstance(part, kind))


def binary_term(model):
    terms = [p for _, p in model.parts() if isinstance(p, DirectTerm) and p.column.binary]
    return terms[0]


SUM, OPTIMUM = "contributions sum to the score", "Stage 3 optimality of the active terms"
SUPPORT, PARTITION = "supports and event rates", "leaves partition the inputs"
BOUND, SIZE, ONE_LEAF = (
    "audit load within its bound",
    "component size",
    "each row in one leaf per tree",
)
MEANS, OBJECTIVE, IMPORTANCES = "mean contributions", "recorded objective", "importances"
SUMS, ASKED, SCHEMA = "supports and means add up", "size as asked for", "variables and levels"
TABLE, PROFILE, GAPS = "training table", "column profile", "missing values not met in training"


@pytest.mark.parametrize("ownership", OWNERSHIPS)
def test_a_model_as_fitted_passes_every_check(ownership):
    checks = fit(ownership=ownership).verify(CASE.X, CASE.y, CASE.weight)
    assert all(check.holds for check in checks)
    names = {PARTITION, f"ownership '{ownership}'", SIZE, BOUND, ONE_LEAF, SUM, SUPPORT, OPTIMUM}
    names |= {MEANS, IMPORTANCES, OBJECTIVE, TABLE, PROFILE, GAPS, SUMS, ASKED, SCHEMA, DERIVED}
    assert {check.name for check in checks} == names
    assert all(check.evidence for check in checks)


def test_what_can_be_checked_depends_on_what_is_given(model):
    assert [len(model.verify(*given)) for given in ((), (CASE.X,), (CASE.X, CASE.y))] == [8, 10, 18]


def slope_times(factor):
    def change(model):
        term = first(model, DirectTerm)
        return with_part(model, term, replace(term, coefficient=factor * term.coefficient))

    return change


def of_a_leaf(place, **added):
    def change(model):
        tree = first(model, TreeTerms)
        leaves = list(tree.leaves)
        more = {name: getattr(leaves[place], name) + step for name, step in added.items()}
        leaves[place] = replace(leaves[place], **more)
        return with_part(model, tree, replace(tree, leaves=tuple(leaves)))

    return change


def of_a_flag(**added):
    def change(model):
        term = binary_term(model)
        more = {name: getattr(term, name) + step for name, step in added.items()}
        return with_part(model, term, replace(term, **more))

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (slope_times(1.3), {OPTIMUM, MEANS, IMPORTANCES}),
        (slope_times(-1.0), {OPTIMUM, MEANS, IMPORTANCES}),
        (of_a_leaf(0, coefficient=0.2), {OPTIMUM, MEANS, IMPORTANCES, SUMS}),
        (lambda m: replace(m, intercept=m.intercept + 0.01), {OPTIMUM}),
        (of_a_flag(support=1), {SUPPORT, SUMS}),
        (of_a_flag(target_total=-0.5), {SUPPORT}),
        (of_a_leaf(-1, support=-0.5), {SUPPORT, SUMS}),
        *(  # bounds that are not what the settings give
            (lambda m, b=b: replace(m, bound=b(m)), {BOUND})
            for b in (lambda m: m.audit().miu - 1, lambda m: m.audit().miu,
                      lambda m: m.bound - 1, lambda m: m.bound + 1)
        ),
        (lambda m: replace(m, settings={**m.settings, "max_component_sources": 1}), {SIZE}),
    ],
)  # fmt: skip
def test_a_change_fails_the_checks_that_speak_of_it_and_no_other(model, change, expected):
    assert failing(change(model)) == expected


def test_a_changed_threshold_moves_supports(model):
    trees = [part for _, part in model.parts() if isinstance(part, TreeTerms)]
    tree = next(tree for tree in trees if tree.tree.root.split.threshold is not None)
    split = tree.tree.root.split
    moved = replace(tree.tree.root, split=replace(split, threshold=split.threshold - 15))
    changed = with_part(model, tree, replace(tree, tree=Tree(moved)))
    assert {SUPPORT} <= failing(changed) <= {SUPPORT, OPTIMUM, MEANS, IMPORTANCES, GAPS, DERIVED}


def test_other_weights_than_those_of_the_fit_are_noticed(model):
    found = failing(model, weight=np.ones(len(CASE.y)))
    assert found >= {SUPPORT, OPTIMUM, MEANS, TABLE, PROFILE}


def test_another_table_is_noticed(model):
    assert failing(model, X=CASE.X.iloc[::-1]) >= {SUPPORT}


def without_data(model):
    """Return what fails; counts of models drawn by hand never add up."""
    return {check.name for check in model.verify() if not check.holds} - {SUMS}


def tree_on(name, *columns):
    """Return a tree that splits on some columns, one below the other."""
    node = len(columns)
    for number, column in reversed(list(enumerate(columns))):
        threshold = None if column.binary else 0.0
        node = Branch(Split(column, threshold), number, node)
    return TreeTerms(name, Tree(node), (Leaf(0.5, 10.0, 5.0),) * (len(columns) + 1))


def slope(name, column):
    return DirectTerm(name, column, 1.0, 0.0, 1.0, 10.0, 5.0)


AGE, INCOME, NOISE = Value("age"), Value("income"), Value("noise")


def drawn(model, ownership, *components):
    """Return a model with hand-made components: (trees, direct terms) each."""
    made = tuple(
        Component(f"C{i}", tuple(trees), tuple(direct))
        for i, (trees, direct) in enumerate(components, 1)
    )
    return replace(model, ownership=ownership, components=made)


TREE, OTHER = tree_on("T1", AGE), tree_on("T2", NOISE)
D1, D2, SUM_OF_TWO = slope("D1", AGE), slope("D2", AGE), Pair("sum", AGE, NOISE)
LEVELS = [slope(f"D{i}", Level("region", (v,))) for i, v in enumerate(("east", "west"), 1)]
SHARED = [  # components of trees and direct terms, and the policies that they break
    ([([TREE], [D1])], ("separate", "strict")),
    ([([], [D1, slope("D2", SUM_OF_TWO)])], ("strict",)),
    ([([], LEVELS)], ()),  # levels of one variable are one group
    ([([], [D1]), ([], [D2])], OWNERSHIPS),
    ([([TREE, OTHER], [slope("D1", SUM_OF_TWO)])], ("separate", "strict", "component")),
]


@pytest.mark.parametrize("ownership", OWNERSHIPS)
@pytest.mark.parametrize(("components", "broken"), SHARED)
def test_what_shares_a_variable_breaks_a_policy(model, components, broken, ownership):
    found = without_data(drawn(model, ownership, *components))
    assert found == ({f"ownership '{ownership}'"} if ownership in broken else set())


@pytest.mark.parametrize("ownership", OWNERSHIPS)
def test_two_trees_on_one_variable_break_every_policy(model, ownership):
    trees = [tree_on("T1", AGE, NOISE), tree_on("T2", AGE)]
    assert f"ownership '{ownership}'" in without_data(drawn(model, ownership, (trees, ())))


def test_an_unknown_policy_does_not_hold(model):
    assert without_data(replace(model, ownership="mine")) == {"ownership"}


def test_leaves_that_are_not_a_partition_are_found(model):
    tree = tree_on("T1", AGE, NOISE)
    assert without_data(drawn(model, "paper", ([tree], ()))) == set()
    root = tree.tree.root
    twice = replace(root, no=replace(root.no, no=1))
    endless = replace(root, split=Split(AGE, float("nan")))
    blunt = replace(root, split=Split(AGE))
    for broken in (twice, endless, blunt):
        changed = drawn(model, "paper", ([replace(tree, tree=Tree(broken))], ()))
        assert without_data(changed) == {PARTITION}


def test_contributions_that_do_not_add_up_are_found(model, monkeypatch):
    honest = explain.explain

    def rounded(*args):
        found = (replace(e, intercept=e.intercept + 1e-12) for e in honest(*args))
        return Explanations(found)

    monkeypatch.setattr(explain, "explain", rounded)
    assert failing(model) == {SUM}


def test_labels_that_the_model_does_not_know_are_refused(model):
    with pytest.raises(InputError, match=r"y holds 'dead'; the model's classes"):
        model.verify(CASE.X.head(1), ["dead"])
    with pytest.raises(InputError, match=r"y has shape \(2,\), X has 1 rows"):
        model.verify(CASE.X.head(1), ["sick", "sick"])
