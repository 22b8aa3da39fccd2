import numpy as np
import pytest

from rpte.audit.load import AuditLoad, count
from rpte.audit.terms import Terms, TreeArrays, direct_terms_consulted, leaf_paths, tree_terms
from rpte.columns.units import any_active, fitted, is_active, level_set_conditions


@pytest.mark.parametrize(
    ("n_in", "n_total", "expected"),
    [
        (1, 20, 1),
        (8, 20, 1),
        (9, 20, 2),  # 9 levels in, 11 out: "in" is shorter, 8 + 1
        (11, 20, 2),  # 11 in, 9 out: "not in" is shorter
        (17, 40, 3),  # 8 + 8 + 1
        (16, 40, 2),
        (19, 20, 1),
        (0, 5, 1),  # a test is a condition even if its set is empty
        (5, 5, 1),
    ],
)
def test_level_set_conditions(n_in, n_total, expected):
    assert level_set_conditions(n_in, n_total) == expected


@pytest.mark.parametrize(("n_in", "n_total"), [(-1, 3), (4, 3)])
def test_impossible_level_set(n_in, n_total):
    with pytest.raises(ValueError, match="impossible"):
        level_set_conditions(n_in, n_total)


def test_active_is_above_1e_12():
    assert is_active([1e-12, -1e-12, 2e-12, -2e-12]).tolist() == [False, False, True, True]
    assert any_active([[0.0, 0.0], [0.0, -1.0]]).tolist() == [False, True]


def test_unfitted_model_is_an_error():
    with pytest.raises(ValueError, match=r"object has no 'coef_'.*fit the model first"):
        fitted(object(), "coef_")


def small_tree(active):
    # 0 -> 1 | 2, 2 -> 3 | 4; the test at node 2 is a long set of levels, worth 2 conditions.
    return TreeArrays(
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        conditions=np.array([1, 0, 2, 0, 0]),
        active=np.array(active),
    )


def test_leaf_paths_by_hand():
    leaves, conditions = leaf_paths(small_tree([True] * 5))
    assert leaves.tolist() == [1, 3, 4]
    assert conditions.tolist() == [1, 3, 3]


def test_pruned_nodes_left_in_the_arrays_are_not_leaves():
    tree = TreeArrays(
        np.full(3, -1), np.full(3, -1), np.zeros(3, dtype=int), np.ones(3, dtype=bool)
    )
    assert leaf_paths(tree)[0].tolist() == [0]


def test_tree_terms_by_hand():
    trees = [small_tree([True] * 5), small_tree([True, False, True, True, False])]
    # Tree 1: leaves 1, 3, 4 with 1, 3, 3 conditions; tree 2: leaf 3 with 3.
    load = count(tree_terms(trees, np.array([[1, 1], [3, 3], [4, 4]])), "test")
    assert (load.mu, load.miu) == (4, 10)
    assert load.per_row.tolist() == [1, 6, 3]
    assert load.iiu == pytest.approx(10 / 3)


def test_no_trees_is_zero_for_every_row():
    load = count(tree_terms([], np.zeros((2, 0))), "test")
    assert (load.mu, load.miu, load.iiu) == (0, 0, 0.0)


def test_slopes_always_count_and_flags_where_they_are_not_zero():
    values = np.array([[0.0, 0.0], [5.0, 1.0]])
    reached = direct_terms_consulted(values, np.array([True, False]))
    assert reached.tolist() == [[0, -1], [0, 1]]


def test_reading_differs_from_conditions():
    terms = Terms(np.array([40, 6]), np.array([[0, 1], [0, -1]]), np.array([1, 2]), bound=99)
    load = count(terms, "test")
    assert (load.mu, load.miu, load.bound) == (2, 46, 99)
    assert load.per_row.tolist() == [3, 1]


def test_without_rows_there_is_no_iiu():
    load = count(Terms(np.array([1, 2])), "test")
    assert load.iiu is None
    assert load.per_row is None
    assert str(load) == "test: 2 terms (MU), 3 conditions in the model (MIU)"


def test_str_says_everything():
    text = str(AuditLoad(3, 7, 2.5, "rpte", bound=120))
    assert text == (
        "rpte: 3 terms (MU), 7 conditions in the model (MIU), 2.5 conditions per prediction (IIU), "
        "bound before training 120"
    )


def test_loads_with_rows_compare_by_their_numbers():
    one, two = (AuditLoad(1, 1, 1.0, "tree", per_row=np.ones(k)) for k in (1, 2))
    assert one == two


def test_zero_rows_are_an_error():
    with pytest.raises(ValueError, match="0 rows"):
        count(Terms(np.array([1]), np.zeros((0, 1), dtype=int)), "test")
