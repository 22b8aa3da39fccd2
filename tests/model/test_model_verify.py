"""A model that has been tampered with fails the check that speaks of it, and no other."""

from dataclasses import replace

import numpy as np
import pytest

from fit_tables import mixed_case
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


def with_part(model, part, new):
    """Return the model with one tree or direct term in the place of another."""
    kind = "trees" if isinstance(part, TreeTerms) else "direct"
    components = tuple(
        replace(c, **{kind: tuple(new if p is part else p for p in getattr(c, kind))})
        for c in model.components
    )
    return replace(model, components=components)


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


def test_a_changed_slope_is_not_optimal(model):
    term = first(model, DirectTerm)
    changed = with_part(model, term, replace(term, coefficient=1.3 * term.coefficient))
    assert failing(changed) == {OPTIMUM, MEANS, IMPORTANCES}


def test_a_changed_leaf_is_not_optimal(model):
    tree = first(model, TreeTerms)
    leaves = (replace(tree.leaves[0], coefficient=tree.leaves[0].coefficient + 0.2),)
    assert failing(with_part(model, tree, replace(tree, leaves=leaves + tree.leaves[1:]))) == {
        OPTIMUM,
        MEANS,
        IMPORTANCES,
        SUMS,
    }


def test_a_changed_intercept_is_not_optimal(model):
    assert failing(replace(model, intercept=model.intercept + 0.01)) == {OPTIMUM}


def test_a_changed_sign_is_not_optimal(model):
    term = first(model, DirectTerm)
    assert OPTIMUM in failing(with_part(model, term, replace(term, coefficient=-term.coefficient)))


def test_a_changed_threshold_moves_supports(model):
    tree = next(p for _, p in model.parts() if isinstance(p, TreeTerms) and thresholds(p))
    changed = with_part(model, tree, replace(tree, tree=Tree(_moved(tree.tree.root))))
    assert {SUPPORT} <= failing(changed) <= {SUPPORT, OPTIMUM, MEANS, IMPORTANCES, GAPS, DERIVED}


def thresholds(part):
    return part.tree.root.split.threshold is not None


def _moved(root):
    return replace(root, split=replace(root.split, threshold=root.split.threshold - 15))


def test_a_changed_support_is_found(model):
    term = binary_term(model)
    changed = with_part(model, term, replace(term, support=term.support + 1))
    assert failing(changed) == {SUPPORT, SUMS}
    assert failing(with_part(model, term, replace(term, target_total=term.events - 0.5))) == {
        SUPPORT
    }
    tree = first(model, TreeTerms)
    leaves = (*tree.leaves[:-1], replace(tree.leaves[-1], support=tree.leaves[-1].support - 0.5))
    assert failing(with_part(model, tree, replace(tree, leaves=leaves))) == {SUPPORT, SUMS}


def test_other_weights_than_those_of_the_fit_are_noticed(model):
    found = failing(model, weight=np.ones(len(CASE.y)))
    assert found >= {SUPPORT, OPTIMUM, MEANS, TABLE, PROFILE}


def test_another_table_is_noticed(model):
    assert failing(model, X=CASE.X.iloc[::-1]) >= {SUPPORT}


def test_a_bound_that_is_too_low_is_found(model):
    miu = model.audit().miu
    for bound in (miu - 1, miu, model.bound - 1, model.bound + 1):  # not what the settings give
        assert failing(replace(model, bound=bound)) == {BOUND}


def test_a_component_that_is_too_large_is_found(model):
    small = replace(model, settings={**model.settings, "max_component_sources": 1})
    assert failing(small) == {SIZE}


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


@pytest.mark.parametrize("ownership", OWNERSHIPS)
def test_two_trees_on_one_variable_break_every_policy(model, ownership):
    trees = [tree_on("T1", AGE, NOISE), tree_on("T2", AGE)]
    broken = drawn(model, ownership, (trees, ()))
    assert f"ownership '{ownership}'" in without_data(broken)


@pytest.mark.parametrize(("ownership", "breaks"), list(zip(OWNERSHIPS, (0, 1, 1, 0), strict=True)))
def test_a_direct_term_on_the_variable_of_a_tree(model, ownership, breaks):
    shared = drawn(model, ownership, ([tree_on("T1", AGE)], [slope("D1", AGE)]))
    assert without_data(shared) == ({f"ownership '{ownership}'"} if breaks else set())


@pytest.mark.parametrize(("ownership", "breaks"), list(zip(OWNERSHIPS, (0, 0, 1, 0), strict=True)))
def test_two_direct_terms_on_one_variable(model, ownership, breaks):
    pair = slope("D2", Pair("sum", AGE, NOISE))
    shared = drawn(model, ownership, ((), [slope("D1", AGE), pair]))
    assert without_data(shared) == ({f"ownership '{ownership}'"} if breaks else set())


def test_levels_of_one_variable_are_one_group_under_strict(model):
    levels = [slope(f"D{i}", Level("region", (v,))) for i, v in enumerate(("east", "west"), 1)]
    assert without_data(drawn(model, "strict", ((), levels))) == set()


@pytest.mark.parametrize("ownership", OWNERSHIPS)
def test_components_that_share_a_variable_break_every_policy(model, ownership):
    shared = drawn(model, ownership, ((), [slope("D1", AGE)]), ((), [slope("D2", AGE)]))
    assert without_data(shared) == {f"ownership '{ownership}'"}


def test_two_trees_in_one_component_break_the_component_policy(model):
    joined = [tree_on("T1", AGE), tree_on("T2", NOISE)], [slope("D1", Pair("sum", AGE, NOISE))]
    assert without_data(drawn(model, "component", joined)) == {"ownership 'component'"}
    assert without_data(drawn(model, "paper", joined)) == set()


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
