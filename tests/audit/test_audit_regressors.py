"""Regressors are counted by the rule of classifiers, under every loss that peers have."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from rpte import RPTERegressor
from rpte.audit import audit_load
from rpte.check import rpte_check
from rpte.model.file import to_dict

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3)).round(2)
Y = np.exp(X[:, 0]) + 0.5 * (X[:, 1] > 0) + 0.1


def by_hand(trees):
    """Count leaves and their depths from `tree_` objects, walking each from its root."""
    found = []
    for tree in trees:
        stack = [(0, 0)]
        while stack:
            node, depth = stack.pop()
            if tree.children_left[node] < 0:
                found.append(depth)
            else:
                stack += [(tree.children_left[node], depth + 1)]
                stack += [(tree.children_right[node], depth + 1)]
    return len(found), sum(found)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=3),
        DecisionTreeRegressor(max_depth=3, criterion="poisson"),
        DecisionTreeRegressor(max_depth=3, criterion="absolute_error"),
        ExtraTreeRegressor(max_depth=3, random_state=0),
        RandomForestRegressor(3, max_depth=3, random_state=0),
        ExtraTreesRegressor(3, max_depth=3, random_state=0),
        GradientBoostingRegressor(n_estimators=3, random_state=0),
        GradientBoostingRegressor(n_estimators=3, loss="huber", random_state=0),
    ],
    ids=str,
)
def test_trees_of_scikit_learn(model):
    model.fit(X, Y)
    trees = np.ravel(getattr(model, "estimators_", model))
    load = audit_load(model, X)
    assert (load.mu, load.miu) == by_hand([tree.tree_ for tree in trees])
    paths = sum(tree.decision_path(X.astype(np.float32)).sum(axis=1) - 1 for tree in trees)
    assert load.per_row.tolist() == np.asarray(paths).ravel().tolist()


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_histogram_boosting(loss):
    model = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, loss=loss).fit(X, Y)
    load = audit_load(model, X)
    trees = [predictor for (predictor,) in model._predictors]
    leaves = [tree.nodes[tree.nodes["is_leaf"].astype(bool)] for tree in trees]
    assert load.family == "histogram gradient boosting"
    assert (load.mu, load.miu) == (sum(map(len, leaves)), sum(at["depth"].sum() for at in leaves))
    held = [(at["depth"] * at["count"]).sum() for at in leaves]  # each row is in one leaf
    assert load.iiu == pytest.approx(sum(held) / len(X))


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        Ridge(),
        Lasso(0.3),
        ElasticNet(0.5),
        PoissonRegressor(),
        GammaRegressor(),
        TweedieRegressor(power=1.5),
        LinearSVR(),
        make_pipeline(StandardScaler(), Lasso(0.3)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_linear_models(model):
    model.fit(X, Y)
    last = model[-1] if hasattr(model, "steps") else model
    used = int(np.count_nonzero(last.coef_))
    load = audit_load(model, X)
    assert (load.family, load.mu, load.miu, load.iiu) == ("linear", used, used, used)
    assert 0 < used < 3 or not isinstance(last, Lasso)


# Leaves {0, 1} after 1 condition, {2} and {3} after 2; positive, so that every loss takes it.
STEPS, HEIGHTS = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 1.0, 10.0, 30.0])


@pytest.mark.parametrize(
    "objective", ["reg:squarederror", "count:poisson", "reg:gamma", "reg:tweedie"]
)
def test_xgboost(objective):
    xgboost = pytest.importorskip("xgboost")
    options = {"n_estimators": 1, "max_leaves": 3, "grow_policy": "lossguide", "max_delta_step": 0}
    model = xgboost.XGBRegressor(
        objective=objective, reg_lambda=0.0, min_child_weight=0.0, n_jobs=1, **options
    ).fit(STEPS, HEIGHTS)
    load = audit_load(model, STEPS)
    leaves = model.get_booster().trees_to_dataframe().query("Feature == 'Leaf'")
    assert (load.family, load.mu) == ("XGBoost", int((leaves["Gain"] != 0).sum()))
    assert load.miu == 1 + 2 + 2
    assert sorted(load.per_row.tolist()) in ([1, 1, 2, 2], [1, 2, 2, 2])


@pytest.mark.parametrize("objective", ["regression", "poisson", "gamma", "tweedie"])
def test_lightgbm(objective):
    lightgbm = pytest.importorskip("lightgbm")
    options = {"n_estimators": 1, "num_leaves": 3, "min_child_samples": 1, "min_data_in_bin": 1}
    model = lightgbm.LGBMRegressor(
        objective=objective, min_child_weight=0.0, n_jobs=1, verbose=-1, **options
    ).fit(STEPS, HEIGHTS)
    load = audit_load(model, STEPS)
    assert (load.family, load.mu, load.miu) == ("LightGBM", 3, 1 + 2 + 2)
    depth = model.booster_.trees_to_dataframe().query("left_child.isna()")
    assert load.per_row.sum() == ((depth["node_depth"] - 1) * depth["count"]).sum()


@pytest.mark.parametrize("objective", ["rmse", "poisson_deviance"])
def test_ebm(objective):
    glassbox = pytest.importorskip("interpret.glassbox")
    table = pd.DataFrame({"a": ["x", "x", "y", "y"] * 25, "b": ["u", "v"] * 50})
    y = 1.0 + 2.0 * (table["a"] == "x") + (table["b"] == "u")
    options = {"interactions": 0, "outer_bags": 1, "max_rounds": 2, "n_jobs": 1, "random_state": 0}
    model = glassbox.ExplainableBoostingRegressor(objective=objective, **options).fit(table, y)
    model.term_scores_ = [np.array([0, 1.0, -1.0, 0]), np.array([0.5, 0, 0, 0])]
    load = audit_load(model, table[:2])
    # a: 2 cells; b: its missing cell alone, which no row here has.
    assert (load.family, load.mu, load.miu) == ("EBM", 2, 2 + 1)
    assert load.per_row.tolist() == [1, 1]


def test_rulefit_agrees_with_imodels():
    imodels = pytest.importorskip("imodels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = imodels.RuleFitRegressor(n_estimators=5, max_rules=6, cv=False, random_state=0)
        model.fit(X, Y)
    rules = [str(rule) for rule in model.rules_without_feature_names_]
    assert rules
    literals = np.array([rule.count(" and ") + 1 for rule in rules])
    linear = np.count_nonzero(model.coef[:3])
    load = audit_load(model, X)
    assert (load.family, load.miu) == ("RuleFit", model.complexity_)
    assert load.per_row.tolist() == (linear + model.transform(X, rules) @ literals).tolist()


def test_figs():
    imodels = pytest.importorskip("imodels")
    model = imodels.FIGSRegressor(max_rules=2, max_trees=1).fit(STEPS, HEIGHTS)
    load = audit_load(model, STEPS)
    assert (load.family, load.mu, load.miu) == ("FIGS", 3, 1 + 2 + 2)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_our_own(loss):
    made = RPTERegressor(l1=0.1, loss=loss).fit(X, Y)
    load = audit_load(made, X)
    assert load == made.model_.audit(X)
    rules = made.rules_
    assert (load.family, load.mu) == ("rpte", len(rules))
    assert load.miu == rules["inspection_units"].sum() > 0
    assert load.miu <= load.bound
    inside = make_pipeline(StandardScaler(), RPTERegressor(l1=0.1, loss=loss)).fit(X, Y)
    assert audit_load(inside, X).family == "rpte"


@pytest.mark.parametrize("unit", [1e-14, 1e14])
def test_the_load_does_not_depend_on_the_units_of_y(unit):
    """A coefficient of 1e-13 is no less there for numbers of that size."""
    made = RPTERegressor(l1=0.1).fit(X, unit * Y)
    plain, scaled = RPTERegressor(l1=0.1).fit(X, Y).audit(X), made.audit(X)
    assert rpte_check.audit_load(to_dict(made.model_)) == (plain.mu, plain.miu)
    assert (scaled.mu, scaled.miu) == (plain.mu, plain.miu)
    assert scaled.per_row.tolist() == plain.per_row.tolist()


def test_a_wrapper_of_the_target_is_not_counted_but_what_is_in_it():
    model = TransformedTargetRegressor(Lasso(0.1), func=np.log, inverse_func=np.exp).fit(X, Y)
    with pytest.raises(TypeError, match="Pass the fitted model inside it"):
        audit_load(model)
    assert audit_load(model.regressor_).family == "linear"
