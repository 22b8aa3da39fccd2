"""scikit-learn's own families, against counts made by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from rpte.audit import audit_load
from rpte.audit.columns import Columns
from rpte.audit.families import sklearn_trees

# The root splits at 1.5 (by far the largest gain); the left child is pure, the right one splits at
# 2.5. Leaves: {0, 1} after 1 condition, {2} and {3} after 2.
X = np.array([[0.0], [1.0], [2.0], [3.0]])
y = np.array([0.0, 0.0, 10.0, 11.0])


def test_tree():
    load = audit_load(DecisionTreeRegressor().fit(X, y), X)
    assert (load.family, load.mu, load.miu) == ("tree", 3, 1 + 2 + 2)
    assert load.per_row.tolist() == [1, 1, 2, 2]
    assert load.iiu == 1.5


def test_tree_without_rows():
    load = audit_load(DecisionTreeRegressor().fit(X, y))
    assert (load.mu, load.miu, load.iiu, load.per_row) == (3, 5, None, None)


def test_extra_tree_with_one_possible_split():
    load = audit_load(ExtraTreeRegressor(random_state=0).fit(X[1:3], y[1:3]), X)
    assert (load.mu, load.miu, load.iiu) == (2, 2, 1.0)


def test_repeated_tests_on_one_column_do_not_collapse():
    # Each split takes one more value off: leaves after 1, 2, 3, 3 conditions, all on one column.
    model = DecisionTreeRegressor().fit(X, [1000.0, 100.0, 10.0, 1.0])
    load = audit_load(model, X)
    assert (load.mu, load.miu) == (4, 1 + 2 + 3 + 3)
    assert load.per_row.tolist() == [1, 2, 3, 3]


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_forest_counts_zero_leaves_too(kind):
    # Two trees of two leaves each on rows {1, 2}; the value of one leaf is 0 and it counts.
    model = kind(n_estimators=2, bootstrap=False, random_state=0).fit(X[1:3], y[1:3])
    load = audit_load(model, X)
    assert (load.family, load.mu, load.miu, load.iiu) == ("forest", 4, 4, 2.0)


def test_forest_agrees_with_decision_path():
    table, target = make_classification(random_state=0)
    model = RandomForestClassifier(5, random_state=0).fit(table, target)
    path, _ = model.decision_path(table)
    nodes_minus_leaves = np.asarray(path.sum(axis=1)).ravel() - 5
    assert audit_load(model, table).per_row.tolist() == nodes_minus_leaves.tolist()


def test_boosting_leaves_zero_leaves_out():
    # One tree, the one above, started from 0 and not shrunk: the leaf {0, 1} has the value 0.
    model = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, max_depth=2, init="zero")
    load = audit_load(model.fit(X, y), X)
    assert (load.family, load.mu, load.miu) == ("gradient boosting", 2, 2 + 2)
    assert load.per_row.tolist() == [0, 0, 2, 2]


def test_boosting_counts_all_classes():
    # 2 iterations x 3 classes stumps: 6 trees of 2 leaves after 1 condition.
    model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(X[:3], [0, 1, 2])
    load = audit_load(model, X)
    assert (load.mu, load.miu, load.iiu) == (12, 12, 6.0)


def test_boosting_stopped_early_counts_what_is_left():
    table, target = make_classification(random_state=0, flip_y=0.4)
    model = GradientBoostingClassifier(
        n_estimators=200, max_depth=1, n_iter_no_change=1, random_state=0
    ).fit(table, target)
    assert model.n_estimators_ < 200
    load = audit_load(model, table)
    assert (load.mu, load.iiu) == (2 * model.n_estimators_, float(model.n_estimators_))


def test_boosting_from_a_model_is_refused():
    model = GradientBoostingRegressor(n_estimators=1, init=LinearRegression()).fit(X, y)
    with pytest.raises(TypeError, match="init=LinearRegression"):
        audit_load(model)


HIST = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "early_stopping": False}


def test_hist_boosting_leaves_zero_leaves_out():
    # Values -5, 0, 5 around the mean 0: three leaves, the middle one always after 2 conditions and
    # of value 0. Of the outer two, one is after 1 condition and one after 2.
    table = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0)
    model = HistGradientBoostingRegressor(**HIST).fit(table, np.repeat([-5.0, 0.0, 5.0], 5))
    load = audit_load(model, [[0.0], [1.0], [2.0]])
    assert (load.family, load.mu, load.miu) == ("histogram gradient boosting", 2, 3)
    assert sorted(load.per_row.tolist()) == [0, 1, 2]
    assert load.per_row[1] == 0


def hist_on_levels(n_high, n_levels=20):
    levels = np.repeat(np.arange(n_levels), 12)
    table = np.column_stack([np.zeros(len(levels)), levels])  # the first column is of no use
    model = HistGradientBoostingRegressor(max_leaf_nodes=2, categorical_features=[1], **HIST)
    return model.fit(table, 10.0 * (levels < n_high)), table


@pytest.mark.parametrize(("n_high", "conditions"), [(3, 1), (9, 2), (11, 2), (17, 1)])
def test_hist_boosting_categorical_split(n_high, conditions):
    # One split into `n_high` and 20 - `n_high` levels: two leaves after that many conditions.
    load = audit_load(*hist_on_levels(n_high))
    assert (load.mu, load.miu, load.iiu) == (2, 2 * conditions, conditions)


def test_hist_boosting_moves_categories_first_and_we_follow():
    model, _ = hist_on_levels(3)
    columns = Columns(np.arange(2), np.array([1, 5]), np.ones(2, dtype=bool))
    assert sklearn_trees.hist(model, None, columns).conditions.tolist() == [5, 5]


def test_hist_boosting_reaches_the_leaves_that_predict():
    table, target = make_classification(n_classes=3, n_informative=4, random_state=0)
    table[::7, 0] = np.nan
    table[:, 1] = np.digitize(table[:, 1], [-1, 0, 1])
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[1]).fit(table, target)
    trees = [tree for one in model._predictors for tree in one]
    leaves = sklearn_trees._hist_leaves(model, trees, table).astype(int)
    values = np.array([tree.nodes["value"][leaves[:, t]] for t, tree in enumerate(trees)])
    raw = values.reshape(3, 3, -1).sum(axis=0).T + model._baseline_prediction
    np.testing.assert_allclose(raw, model._raw_predict(table))
    depth = sum(tree.nodes["depth"][leaves[:, t]] for t, tree in enumerate(trees))
    splits_of_4_levels_count_one = audit_load(model, table).per_row
    assert splits_of_4_levels_count_one.tolist() == depth.tolist()


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), SGDClassifier(random_state=0), RidgeClassifier(), LinearSVC()],
    ids=lambda model: type(model).__name__,
)
def test_linear_counts_columns_with_a_coefficient(model):
    # Column 1 is constant 0 and gets no coefficient.
    table = np.array([[-2.0, 0.0, 1.0], [-1.0, 0.0, 2.0], [1.0, 0.0, -2.0], [2.0, 0.0, -1.0]])
    load = audit_load(model.fit(table, [0, 0, 1, 1]), np.zeros((2, 3)))
    assert (load.family, load.mu, load.miu) == ("linear", 2, 2)
    assert load.per_row.tolist() == [2, 2]  # slopes count where the value is 0, too


def test_linear_multiclass_counts_a_column_once():
    model = LogisticRegression().fit(np.eye(3), [0, 1, 2])
    model.coef_ = np.array([[1.0, 0.0, 1e-13], [0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])
    assert audit_load(model, np.eye(3)).mu == 2  # columns 0 and 1; 1e-13 is not active


def test_lasso_and_sparse_coefficients():
    assert audit_load(Lasso(alpha=1e6).fit(X, y), X).mu == 0
    model = LogisticRegression().fit(X, y > 0).sparsify()
    assert audit_load(model, X).iiu == 1.0
