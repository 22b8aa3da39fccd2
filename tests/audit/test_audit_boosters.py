"""XGBoost and LightGBM, against counts made by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from rpte.audit import audit_load
from rpte.audit.families import boosters

# As in the scikit-learn tests: leaves {0, 1} after 1 condition, value 0; {2}, {3} after 2.
X = np.array([[0.0], [1.0], [2.0], [3.0]])
y = np.array([0.0, 0.0, 10.0, 11.0])


def levels_table(n_high, n_levels=20):
    codes = np.repeat(np.arange(n_levels), 12)
    level = pd.Categorical.from_codes(codes, [f"level {c}" for c in range(n_levels)])
    return pd.DataFrame({"nothing": 0.0, "level": level}), 10.0 * (codes < n_high)


def xgb_regressor(**options):
    xgboost = pytest.importorskip("xgboost")
    settings = {"learning_rate": 1.0, "reg_lambda": 0.0, "base_score": 0.0, "n_jobs": 1}
    return xgboost.XGBRegressor(**settings | {"n_estimators": 1, "max_depth": 2} | options)


def lgb_regressor(**options):
    lightgbm = pytest.importorskip("lightgbm")
    settings = {
        "n_estimators": 1,
        "learning_rate": 1.0,
        "num_leaves": 3,
        "min_child_samples": 1,
        "min_data_in_bin": 1,
        "boost_from_average": False,
        "n_jobs": 1,
        "verbose": -1,
    }
    return lightgbm.LGBMRegressor(**settings | options)


def inner_booster(model):
    return model.get_booster() if hasattr(model, "get_booster") else model.booster_


@pytest.mark.parametrize(
    ("make", "family"), [(xgb_regressor, "XGBoost"), (lgb_regressor, "LightGBM")]
)
def test_zero_leaves_are_left_out(make, family):
    model = make().fit(X, y)
    for one in (model, inner_booster(model)):
        load = audit_load(one, X)
        assert (load.family, load.mu, load.miu, load.iiu) == (family, 2, 2 + 2, 1.0)
        assert load.per_row.tolist() == [0, 0, 2, 2]
        assert audit_load(one).iiu is None


def knows_levels(model):
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    return "cats" in learner["gradient_booster"]["model"]


@pytest.mark.parametrize("n_high", [3, 8, 9, 11, 12, 17])
@pytest.mark.parametrize("make", [xgb_regressor, lgb_regressor])
def test_categorical_split(make, n_high):
    # One split of 20 levels: 3 | 17 and 8 | 12 are 1 condition, 9 | 11 is 2 (8 + 1), either way
    # round. Of the two leaves, that of the low levels has the value 0 and is left out.
    table, target = levels_table(n_high)
    if make is xgb_regressor:
        model = make(max_depth=1, enable_categorical=True, max_cat_to_onehot=1)
    else:
        free = {"cat_smooth": 0.0, "cat_l2": 0.0, "min_data_per_group": 1, "max_cat_to_onehot": 1}
        model = make(num_leaves=2, **free)
    model.fit(table, target)
    if make is xgb_regressor and n_high not in (9, 11) and not knows_levels(model):
        pytest.skip("XGBoost before 3.1 does not write the levels of a category into its model")
    np.testing.assert_allclose(model.predict(table), target, atol=1e-5)
    conditions = 2 if n_high in (9, 11) else 1
    for one in (model, inner_booster(model)):
        load = audit_load(one, table)
        assert (load.mu, load.miu) == (1, conditions)
        assert load.per_row.tolist() == (conditions * (target > 0)).tolist()


def test_xgboost_best_iteration():
    # The validation target is turned round, so every iteration after the first is worse.
    model = xgb_regressor(
        n_estimators=10, max_depth=1, learning_rate=0.1, early_stopping_rounds=3, base_score=5.0
    ).fit(X, y, eval_set=[(X, -y)], verbose=False)
    booster = model.get_booster()
    assert model.best_iteration == 0
    assert booster.num_boosted_rounds() == 4
    for one in (model, booster):
        load = audit_load(one, X)
        assert (load.mu, load.miu, load.iiu) == (2, 2, 1.0)  # one stump


def test_lightgbm_best_iteration():
    lightgbm = pytest.importorskip("lightgbm")
    settings = lgb_regressor(num_leaves=2, learning_rate=0.1).get_params()
    settings.pop("n_estimators")
    data = lightgbm.Dataset(X, y)
    booster = lightgbm.train(
        settings | {"objective": "l2"},
        data,
        num_boost_round=10,
        valid_sets=[lightgbm.Dataset(X, -y, reference=data)],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
        keep_training_booster=True,  # otherwise LightGBM itself throws the later trees away
    )
    assert booster.best_iteration == 1
    assert booster.current_iteration() == 4
    load = audit_load(booster, X)
    assert (load.mu, load.miu, load.per_row.tolist()) == (1, 1, [0, 0, 1, 1])  # the leaf 0 is out


STUMPS = {"n_estimators": 2, "n_jobs": 1}


@pytest.mark.parametrize(
    ("package", "name", "more", "expected"),
    [  # 2 iterations x 3 classes: 6 stumps of 2 leaves
        ("xgboost", "XGBClassifier", {"max_depth": 1, "booster": "gbtree"}, (12, 12, 6.0)),
        ("xgboost", "XGBClassifier", {"max_depth": 1, "booster": "dart"}, (12, 12, 6.0)),
        ("lightgbm", "LGBMClassifier", {"num_leaves": 2, "verbose": -1}, (12, 12, 6.0)),
        # 2 trees of 2 leaves: a leaf with three values is one leaf
        (
            *("xgboost", "XGBClassifier"),
            {"max_depth": 1, "multi_strategy": "multi_output_tree"},
            (4, 4, 2.0),
        ),
    ],
)
def test_all_classes_are_counted(package, name, more, expected):
    made = getattr(pytest.importorskip(package), name)(**STUMPS, **more)
    table = np.repeat([[0.0], [1.0], [2.0]], 30, axis=0)
    load = audit_load(made.fit(table, np.repeat([0, 1, 2], 30)), table)
    assert (load.mu, load.miu, load.iiu) == expected


def test_pruned_xgboost_tree_is_a_constant():
    # All splits are pruned; the nodes stay in XGBoost's arrays. The root leaf, of mean 5.25, is one
    # leaf with no condition on the way.
    model = xgb_regressor(gamma=1e9, tree_method="exact").fit(X, y)
    load = audit_load(model, X)
    assert (load.mu, load.miu, load.iiu) == (1, 0, 0.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_xgboost_linear_is_refused():
    with pytest.raises(TypeError, match="gblinear"):
        audit_load(xgb_regressor(booster="gblinear").fit(X, y))


def test_lightgbm_linear_leaves_are_refused():
    table = np.arange(100.0)[:, None]
    model = lgb_regressor(n_estimators=3, linear_tree=True).fit(table, table[:, 0] ** 2)
    with pytest.raises(TypeError, match="linear_tree"):
        audit_load(model)


def depths(model):
    """Depths of the leaves of each tree by label, as the package itself prints its trees."""
    booster = inner_booster(model)
    if hasattr(booster, "get_dump"):  # lines such as "\t\t5:leaf=0.1", a tab for each level
        leaves = [
            [line for line in text.splitlines() if "leaf=" in line] for text in booster.get_dump()
        ]
        return [{int(line.split(":")[0]): line.count("\t") for line in tree} for tree in leaves]
    frame = booster.trees_to_dataframe()
    frame = frame[frame.left_child.isna()]
    label = frame.node_index.str.extract(r"L(\d+)")[0].astype(int)
    depth = frame.assign(label=label).groupby("tree_index")
    return [dict(zip(tree.label, tree.node_depth - 1, strict=True)) for _, tree in depth]


@pytest.mark.parametrize("make", [xgb_regressor, lgb_regressor])
def test_agrees_with_the_depths_the_package_prints(make):
    table = np.random.default_rng(0).normal(size=(200, 3))
    shape = {"num_leaves": 7} if make is lgb_regressor else {"max_depth": 4, "gamma": 3.0}
    model = make(n_estimators=3, **shape).fit(table, table[:, 0] * table[:, 1] + table[:, 2])
    load = audit_load(model, table)
    printed = depths(model)
    assert load.mu == sum(len(tree) for tree in printed)
    assert load.miu == sum(sum(tree.values()) for tree in printed)
    reached = (
        model.apply(table) if hasattr(model, "apply") else model.predict(table, pred_leaf=True)
    )
    expected = [sum(printed[t][int(leaf)] for t, leaf in enumerate(row)) for row in reached]
    assert load.per_row.tolist() == expected
    assert len(set(expected)) > 2


def test_xgboost_codes_without_known_levels_are_read_as_they_stand():
    # Codes in a plain array: the file does not say how many levels there are, so the 9 or 11 levels
    # it lists are 2 conditions, and the booster can be given the bare array again.
    codes = np.repeat(np.arange(20.0), 12)[:, None]
    model = xgb_regressor(
        max_depth=1, enable_categorical=True, max_cat_to_onehot=1, feature_types=["c"]
    ).fit(codes, 10.0 * (codes[:, 0] < 9))
    for one in (model, model.get_booster()):
        load = audit_load(one, codes)
        assert (load.mu, load.miu) == (1, 2)


def test_pipeline_ends_in_a_booster():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    # As for the scikit-learn tree: the infrequent levels, 9 of 20, are one column of 2 conditions.
    levels = np.concatenate([np.repeat(np.arange(11), 3), np.arange(11, 20)])[:, None]
    model = make_pipeline(OneHotEncoder(min_frequency=2, sparse_output=False), xgb_regressor())
    model.fit(levels, 1.0 * (levels[:, 0] > 10))
    load = audit_load(model, levels)
    assert (load.family, load.mu, load.miu) == ("XGBoost", 1, 2)
    assert load.per_row.tolist() == [0] * 33 + [2] * 9


def test_lightgbm_missing_is_not_a_level():
    # LightGBM itself lists the shorter side, so fitted trees rarely tell 20 levels from 21.
    infos = {"number": {"values": []}, "level": {"values": [-1, 3, 0, 1]}}
    dump = {"feature_names": ["constant", "number", "level"], "feature_infos": infos}
    assert boosters._lightgbm_levels(dump) == {1: 0, 2: 3}
