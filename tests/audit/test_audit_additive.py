"""EBM, RuleFit and FIGS, against counts made by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rpte.audit import audit_load


@pytest.fixture
def ebm():
    """Two yes/no variables and their pair, with the scores set by hand."""
    glassbox = pytest.importorskip("interpret.glassbox")
    table = pd.DataFrame({"a": ["x", "x", "y", "y"] * 25, "b": ["u", "v"] * 50})
    target = ((table.a == "x") & (table.b == "u")).astype(int)
    model = glassbox.ExplainableBoostingClassifier(
        interactions=[(0, 1)], outer_bags=1, max_rounds=2, n_jobs=1, random_state=0
    ).fit(table, target)
    assert model.term_features_ == [(0,), (1,), (0, 1)]
    assert [scores.shape for scores in model.term_scores_] == [(4,), (4,), (4, 4)]
    return model


rows = pd.DataFrame({"a": ["x", "y", "y"], "b": ["u", "v", "never seen"]})


def test_ebm(ebm):
    # Cells are: missing, first level, second level, unknown.
    pair = np.zeros((4, 4))
    pair[1, 1] = 0.3
    ebm.term_scores_ = [np.array([0, 1.0, -1.0, 0]), np.array([0.5, 0, 0, 0.1]), pair]
    load = audit_load(ebm, rows)
    # a: 2 cells; b: its missing and unknown cells, 2; pair: 1 cell of 2 variables.
    assert (load.family, load.mu, load.miu) == ("EBM", 3, 2 * 1 + 2 * 1 + 1 * 2)
    # (x, u): a and the pair; (y, v): a; (y, unknown): a and b.
    assert load.per_row.tolist() == [1 + 2, 1, 1 + 1]


def test_ebm_term_of_zeros_is_no_term(ebm):
    ebm.term_scores_ = [np.array([0, 1.0, -1.0, 0]), np.zeros(4), np.full((4, 4), 1e-13)]
    load = audit_load(ebm, rows)
    assert (load.mu, load.miu, load.iiu) == (1, 2, 1.0)


def test_ebm_multiclass_cell_counts_once():
    glassbox = pytest.importorskip("interpret.glassbox")
    table = pd.DataFrame({"a": ["x", "y", "z"] * 20})
    model = glassbox.ExplainableBoostingClassifier(
        interactions=0, outer_bags=1, max_rounds=2, n_jobs=1
    )
    model.fit(table, np.tile([0, 1, 2], 20))
    scores = np.zeros((5, 3))  # missing, x, y, z, unknown; one score per class
    scores[1] = [1.0, 0.0, -1.0]
    scores[2] = [0.0, 0.5, 0.0]
    model.term_scores_ = [scores]
    load = audit_load(model, table[:3])
    assert (load.mu, load.miu, load.per_row.tolist()) == (1, 2, [1, 1, 0])


def test_rulefit_by_hand():
    imodels = pytest.importorskip("imodels")
    from imodels.util.rule import Rule

    model = imodels.RuleFitClassifier()
    model.feature_placeholders = np.array(["X_0", "X_1", "X_2"])
    model.rules_without_feature_names_ = [
        Rule("X_0 <= 1.0 and X_1 > 2.0 and X_2 > 0.0", args=[0.5]),
        Rule("X_0 > 1.0 and X_0 <= 3.0", args=[-1.0]),
        Rule("X_2 > 0.0", args=[0.0]),  # not active
    ]
    model.coef = [0.0, 2.0, 0.0, 0.5, -1.0, 0.0]
    X = np.array([[1.0, 3.0, 1.0], [2.0, 0.0, 1.0], [9.0, 9.0, 9.0]])
    load = audit_load(model, X)
    # One linear term, rules of 3 and 2 literals.
    assert (load.family, load.mu, load.miu) == ("RuleFit", 3, 1 + 3 + 2)
    assert load.per_row.tolist() == [1 + 3, 1 + 2, 1]


def test_rulefit_agrees_with_imodels():
    imodels = pytest.importorskip("imodels")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = imodels.RuleFitClassifier(n_estimators=5, max_rules=6, cv=False, random_state=0)
        model.fit(X, y)
    rules = [str(rule) for rule in model.rules_without_feature_names_]
    assert rules
    literals = np.array([rule.count(" and ") + 1 for rule in rules])
    linear = np.count_nonzero(model.coef[:3])
    load = audit_load(model, X)
    assert load.miu == model.complexity_
    assert load.per_row.tolist() == (linear + model.transform(X, rules) @ literals).tolist()


def test_figs_is_a_sum_of_trees():
    # y = 1 + 10 a + b is a sum, so FIGS grows a stump for a and one for b: 4 leaves, 4 conditions.
    imodels = pytest.importorskip("imodels")
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = imodels.FIGSRegressor(max_rules=2).fit(X, 1 + X @ [10.0, 1.0])
    assert len(model.trees_) == 2
    load = audit_load(model, X)
    assert (load.family, load.mu, load.miu, load.iiu) == ("FIGS", 4, 4, 2.0)


def test_figs_leaves_zero_leaves_out_and_walks_as_it_predicts():
    # One tree, as in the scikit-learn tests: {0, 1} after 1 condition, value 0; {2}, {3} after 2.
    imodels = pytest.importorskip("imodels")
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0.0, 0.0, 10.0, 11.0])
    model = imodels.FIGSRegressor(max_rules=2, max_trees=1).fit(X, y)
    load = audit_load(model, X)
    assert (load.mu, load.miu) == (2, 4)
    assert load.per_row.tolist() == [0, 0, 2, 2]
    # On a threshold FIGS goes left: to the leaf 0 at the root, to {2} at the second split.
    assert model.predict([[1.5], [2.5]]).tolist() == [0.0, 10.0]
    assert audit_load(model, [[1.5], [2.5]]).per_row.tolist() == [0, 2]


def test_figs_encodes_categories_by_itself():
    imodels = pytest.importorskip("imodels")
    table = pd.DataFrame({"city": ["A", "A", "B", "B"], "age": [1.0, 1.0, 1.0, 1.0]})
    model = imodels.FIGSRegressor(max_rules=1)
    model.fit(table, np.array([1.0, 1.0, 5.0, 5.0]), categorical_features=["city"])
    load = audit_load(model, table)
    assert (load.mu, load.miu, load.iiu) == (2, 2, 1.0)
