"""A fitted classifier survives skops, and nothing else must be trusted."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from class_tables import flowers
from data_folder import DATA, needs_data
from export_models import HOSTILE_NAMES, TABLES
from fit_tables import make_case
from rpte import Limits, ModelFileError, RPTEClassifier, RPTEWarning
from rpte.estimators.json_state import ROWS, TRUSTED

CASE = make_case(0, ["number", "skewed", "category", "two"], 120, clear=True)


def with_skops(estimator):
    skops = pytest.importorskip("skops.io", reason="needs skops, the extra 'skops'")
    data = skops.dumps(estimator)
    assert set(skops.get_untrusted_types(data=data)) <= set(TRUSTED)
    return skops.loads(data, trusted=TRUSTED)


def assert_same(again, classifier, X):
    assert again.model_ == classifier.model_
    assert again.frontier_models_ == classifier.frontier_models_
    assert again.get_params().keys() == classifier.get_params().keys()
    assert set(vars(again)) == set(vars(classifier)) - {ROWS}  # no file holds rows
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.predict(X).tolist() == classifier.predict(X).tolist()
    assert again.summary() == classifier.summary()


@cache
def fitted():
    limits = Limits(monotone={CASE.X.columns[0]: "increasing"}, penalty={"clear": 2.0})
    return CASE.fit(RPTEClassifier(limits=limits, cv=3, special_values={"clear": [0]}))


def test_a_fitted_classifier():
    """Pickle and joblib go by the same state (test_composition)."""
    classifier = fitted()
    again = with_skops(classifier)
    assert_same(again, classifier, CASE.X)
    assert len(again.frontier_models_) > 1
    assert again.limits == classifier.limits
    assert again.special_values == {"clear": [0]}
    pd.testing.assert_frame_equal(again.frontier_, classifier.frontier_)
    least = int(classifier.frontier_["miu"].min())
    assert again.at(least).model_ == classifier.at(least).model_
    assert again.model_ == classifier.model_  # `at` makes another one


@pytest.mark.parametrize("names", HOSTILE_NAMES)
def test_hostile_names(names):
    numbers, category, flag = HOSTILE_NAMES[names]
    X = CASE.X.set_axis([*numbers[:2], category, flag, numbers[2]], axis=1)
    classifier = RPTEClassifier(l1="4/n").fit(X, np.where(CASE.y, "é'\n", '"no"'))
    assert_same(with_skops(classifier), classifier, X)


@needs_data
@pytest.mark.parametrize("name", TABLES)
def test_real_tables(name):
    table = pd.read_csv(DATA / "panel" / name).head(300)
    X, y = table.drop(columns="target"), table["target"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        classifier = RPTEClassifier(l1="4/n").fit(X, y)
    assert_same(with_skops(classifier), classifier, X)


def test_several_classes():
    X, y = flowers()
    classifier = RPTEClassifier(l1=0.03).fit(X, y)
    assert_same(with_skops(classifier), classifier, X)


def test_inside_a_pipeline():
    X = pd.DataFrame({"a": np.arange(60.0) % 7, "b": np.arange(60.0)})
    steps = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])), RPTEClassifier(l1="4/n")
    )
    steps.fit(X, X["a"] > 3)
    np.testing.assert_array_equal(with_skops(steps).predict_proba(X), steps.predict_proba(X))


def test_not_fitted_and_arrays():
    assert with_skops(RPTEClassifier(l1=0.5)).get_params() == RPTEClassifier(l1=0.5).get_params()
    X = np.arange(60.0).reshape(-1, 2)
    classifier = RPTEClassifier(l1="4/n").fit(X, X[:, 0] > 20)
    assert_same(with_skops(classifier), classifier, X)
    assert not hasattr(with_skops(classifier), "feature_names_in_")


def test_a_changed_text_is_refused():
    state = fitted().__getstate__()
    assert isinstance(state["model_"], str)
    changed = {**state, "model_": state["model_"].replace('"positive": 1', '"positive": 0')}
    with pytest.raises(ModelFileError, match="does not match its hash"):
        RPTEClassifier().__setstate__(changed)


def test_what_is_not_trusted_is_refused():
    skops = pytest.importorskip("skops.io", reason="needs skops, the extra 'skops'")
    data = skops.dumps(fitted())
    with pytest.raises(Exception, match=r"rpte\.estimators\.classifier\.RPTEClassifier"):
        skops.loads(data)
