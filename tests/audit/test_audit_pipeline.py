"""Pipelines: which variable a column comes from, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeRegressor

from rpte.audit import audit_load
from rpte.audit.columns import Columns, follow

table = pd.DataFrame(
    {"age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0], "city": ["A", "A", "B", "B", "C", "C"]}
)
target = np.array([0, 0, 0, 1, 1, 1])


def encode(encoder=None, **options):
    encoder = OneHotEncoder() if encoder is None else encoder
    return ColumnTransformer(
        [("city", encoder, ["city"]), ("age", StandardScaler(), ["age"])], **options
    )


def with_coefficients(pipeline, coefficients):
    pipeline.fit(table, target)
    pipeline[-1].coef_ = np.atleast_2d(np.asarray(coefficients, dtype=float))
    return pipeline


def test_one_hot_counts_only_where_it_holds():
    # Columns: A, B, C, age; B has no coefficient. Terms A, C, age of 1 condition each; a row reads
    # age and its own city, if that is A or C.
    model = with_coefficients(make_pipeline(encode(), LogisticRegression()), [1, 0, -1, 2])
    load = audit_load(model, table)
    assert (load.family, load.mu, load.miu) == ("linear", 3, 3)
    assert load.per_row.tolist() == [2, 2, 1, 1, 2, 2]


def test_sparse_one_hot_counts_the_same():
    pipeline = make_pipeline(encode(sparse_threshold=1.0), LogisticRegression())
    load = audit_load(with_coefficients(pipeline, [1, 0, -1, 2]), table)
    assert load.per_row.tolist() == [2, 2, 1, 1, 2, 2]


def test_dropped_level_has_no_column():
    pipeline = make_pipeline(encode(OneHotEncoder(drop="first")), LogisticRegression())
    load = audit_load(with_coefficients(pipeline, [1, 1, 1]), table)  # B, C, age
    assert (load.mu, load.per_row.tolist()) == (3, [1, 1, 2, 2, 2, 2])


def test_centring_after_one_hot_makes_slopes():
    pipeline = make_pipeline(encode(), StandardScaler(), LogisticRegression())
    load = audit_load(with_coefficients(pipeline, [1, 1, 1, 1]), table)
    assert load.per_row.tolist() == [4] * 6


def test_centred_columns_are_slopes_even_where_the_centre_is_zero():
    # The median of a rare level's indicator is 0, so its zeros stay zeros, but it is a slope now.
    flags = Columns.raw(2).with_slope(False)
    assert follow(StandardScaler(), "scale", flags).slope.tolist() == [True, True]
    assert follow(RobustScaler(), "scale", flags).slope.tolist() == [True, True]
    uncentred = RobustScaler(with_centering=False)
    assert follow(uncentred, "scale", flags).slope.tolist() == [False, False]


@pytest.mark.parametrize("scaler", [StandardScaler(with_mean=False), MaxAbsScaler()])
def test_scaling_without_centring_keeps_zeros_and_indicators(scaler):
    pipeline = make_pipeline(encode(), scaler, LogisticRegression())
    load = audit_load(with_coefficients(pipeline, [1, 1, 1, 1]), table)
    assert load.per_row.tolist() == [2] * 6


def test_remainder_and_nested_steps():
    # Output: the one-hot of an imputed city, then what is left (age) as it came, a slope.
    cat = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    steps = ColumnTransformer([("city", cat, ["city"])], remainder="passthrough")
    model = with_coefficients(make_pipeline(steps, LogisticRegression()), [1, 1, 1, 1])
    assert audit_load(model, table).per_row.tolist() == [2] * 6


def test_pipeline_inside_a_pipeline():
    inner = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    model = make_pipeline(encode(), inner).fit(table, target)
    inner[-1].coef_ = np.ones((1, 4))
    assert audit_load(model, table).per_row.tolist() == [2] * 6


def test_infrequent_levels_are_a_set():
    # 20 levels, 11 of them seen 3 times and 9 once: the last column stands for a set of 9 levels,
    # which is 2 conditions. The tree splits on it alone: 2 leaves after 2 conditions.
    levels = np.concatenate([np.repeat(np.arange(11), 3), np.arange(11, 20)])[:, None]
    model = make_pipeline(OneHotEncoder(min_frequency=2), DecisionTreeRegressor())
    load = audit_load(model.fit(levels, 1.0 * (levels[:, 0] > 10)), levels)
    assert (load.family, load.mu, load.miu, load.iiu) == ("tree", 2, 4, 2.0)


@pytest.mark.parametrize(("min_frequency", "expected"), [(2, [1, 1]), (3, [])])
def test_dropping_a_level_where_some_are_infrequent(min_frequency, expected):
    # Frequent from 2: columns c, d, {a, b}, of which the first is dropped; frequent from 3: the one
    # column {a, b, c, d} is dropped.
    levels = np.array([["a"], ["b"], ["c"], ["c"], ["d"], ["d"]])
    step = OneHotEncoder(min_frequency=min_frequency, drop="first").fit(levels)
    columns = follow(step, "city", Columns.raw(1))
    assert columns.conditions.tolist() == expected
    assert len(columns) == len(step.get_feature_names_out())


def test_one_hot_columns_belong_to_their_variable():
    step = encode().fit(table)
    columns = follow(step, "steps", Columns.raw(2))
    assert columns.source.tolist() == [1, 1, 1, 0]
    assert columns.slope.tolist() == [False, False, False, True]


def test_selection_keeps_the_columns_it_selects():
    # y is column 1 and a little of column 0, so the Lasso and the F test both keep that one.
    X = np.column_stack([[1.0, -1, 1, -1, 1, -1], np.arange(6), [1.0, 1, -1, -1, 1, 1]])
    for step in (SelectFromModel(Lasso(0.1)), SelectKBest(f_regression, k=1)):
        model = make_pipeline(StandardScaler(), step, LinearRegression())
        model.fit(X, X[:, 1] + 0.05 * X[:, 0])
        load = audit_load(model, X)
        assert (load.mu, load.iiu) == (1, 1.0)
        assert follow(model[1], "select", Columns.raw(3)).source.tolist() == [1]


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_imputer_appends_missing_flags_and_drops_empty_columns():
    X = np.array([[1.0, np.nan, 5.0], [np.nan, np.nan, 6.0], [3.0, np.nan, 7.0]])
    step = SimpleImputer(add_indicator=True).fit(X)
    columns = follow(step, "impute", Columns.raw(3))
    # Column 1 is empty and dropped; flags for columns 0 and 1 follow.
    assert columns.source.tolist() == [0, 2, 0, 1]
    assert columns.slope.tolist() == [True, True, False, False]
    assert step.transform(X).shape[1] == 4


def test_union_bins_flags_and_codes():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0], [4.0, 7.0]])
    union = FeatureUnion([("value", SimpleImputer()), ("missing", MissingIndicator())]).fit(X)
    columns = follow(union, "union", Columns.raw(2))
    assert columns.source.tolist() == [0, 1, 1]
    assert columns.slope.tolist() == [True, True, False]
    bins = KBinsDiscretizer(2, encode="onehot", quantile_method="averaged_inverted_cdf")
    assert follow(bins.fit(X[:, :1]), "bins", Columns.raw(1)).source.tolist() == [0, 0]
    assert follow(Binarizer(), "flag", Columns.raw(1)).slope.tolist() == [False]
    assert follow(OrdinalEncoder(), "code", Columns.raw(1)).slope.tolist() == [True]


def test_target_encoder_has_a_column_per_class():
    X, y = np.tile([[0, 1], [1, 0], [1, 1]], (10, 1)), np.tile([0, 1, 2], 10)
    step = TargetEncoder().fit(X, y)
    assert follow(step, "code", Columns.raw(2)).source.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    "step",
    [
        PCA(2),
        TruncatedSVD(2),
        PolynomialFeatures(2),
        Normalizer(),
        KNNImputer(),  # fills a gap from the other columns
        FunctionTransformer(lambda X: X @ np.ones((3, 3))),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_that_mix_columns_are_refused_by_name(step):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = make_pipeline(StandardScaler(), step, LinearRegression()).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=rf"'{type(step).__name__.lower()}'.*column-wise steps"):
        audit_load(model, X)


def test_refusal_inside_a_column_transformer_names_the_path():
    steps = ColumnTransformer([("squash", PCA(1), [0, 1])], remainder="passthrough")
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = make_pipeline(steps, LinearRegression()).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"'columntransformer\.squash' \(PCA\)"):
        audit_load(model)


def test_numpy_functions_are_followed():
    X = np.array([[1.0], [2.0], [3.0]])
    model = make_pipeline(FunctionTransformer(np.log1p), LinearRegression()).fit(X, [1, 2, 3])
    assert audit_load(model, X).iiu == 1.0


def test_columns_that_do_not_add_up_are_refused():
    model = with_coefficients(make_pipeline(encode(), LogisticRegression()), [1, 1, 1, 1])
    model[-1].n_features_in_ = 7
    with pytest.raises(TypeError, match=r"4 columns .* fitted on 7"):
        audit_load(model)
