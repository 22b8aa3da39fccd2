"""How the family of a model is found."""

import types

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RANSACRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from rpte.audit import Terms, audit_load
from rpte.audit.columns import Columns
from rpte.audit.families import FAMILIES, find_family, read

X = np.array([[0.0], [1.0]])
y = np.array([0, 1])


@pytest.mark.parametrize("model", [KNeighborsClassifier(1), SVC(), object()])
def test_unknown_family_says_what_is_supported(model):
    with pytest.raises(TypeError) as error:
        audit_load(model)
    text = str(error.value)
    assert type(model).__qualname__ in text
    assert all(family.name in text for family in FAMILIES)
    assert "best_estimator_" in text


def test_name_alone_does_not_make_a_family():
    class Booster:
        pass

    class DecisionTreeClassifier:
        tree_ = None

    for impostor in (Booster(), DecisionTreeClassifier()):
        with pytest.raises(TypeError, match="no counting rule"):
            audit_load(impostor)


def test_package_whose_name_starts_alike_is_not_the_package():
    impostor = type("Booster", (), {"__module__": "xgboost_extras.core"})
    with pytest.raises(TypeError, match=r"xgboost_extras\.core\.Booster"):
        audit_load(impostor())


def test_subclass_is_found():
    class House(DecisionTreeClassifier):
        pass

    class Deeper(House):
        pass

    load = audit_load(Deeper().fit(X, y), X)
    assert (load.family, load.mu, load.miu, load.iiu) == ("tree", 2, 2, 1.0)


def test_unfitted_model_is_an_error_not_zero():
    with pytest.raises(ValueError, match="fit the model first"):
        audit_load(DecisionTreeClassifier())
    with pytest.raises(ValueError, match="fit the model first"):
        audit_load(make_pipeline(LogisticRegression()))


def test_wrapper_around_a_linear_model_is_an_error_not_zero():
    model = RANSACRegressor(min_samples=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="pass the fitted model inside it"):
        audit_load(model)
    assert audit_load(model.estimator_).mu == 1


@pytest.mark.parametrize(
    ("module", "name", "family"),
    [
        ("xgboost.sklearn", "XGBModel", "XGBoost"),
        ("lightgbm.basic", "Booster", "LightGBM"),
        ("interpret.glassbox._ebm._ebm", "EBMModel", "EBM"),
        ("imodels.tree.figs", "FIGS", "FIGS"),
        ("imodels.rule_set.rule_fit", "RuleFit", "RuleFit"),
    ],
)
def test_family_is_found_without_its_package(module, name, family):
    base = type(name, (), {"__module__": module})
    heir = type("Heir", (base,), {"__module__": "house"})
    assert find_family(heir()).name == family


@pytest.fixture
def own_reader(monkeypatch):
    def reader(model, X):
        return Terms(np.array([2, 1]), bound=50)

    monkeypatch.setattr("rpte.audit.families.additive.own", reader)


@pytest.mark.usefixtures("own_reader")
def test_own_models_are_read_by_their_own_reader():
    model = type("Model", (), {"__module__": "rpte.model.anything"})()
    estimator = types.SimpleNamespace(model_=model)
    for one in (model, estimator):
        load = audit_load(one)
        assert (load.family, load.mu, load.miu, load.bound) == ("rpte", 2, 3, 50)


@pytest.mark.usefixtures("own_reader")
def test_own_model_at_the_end_of_a_pipeline():
    model = type("Model", (), {"__module__": "rpte.model.anything"})()
    assert read(model, None, Columns.raw(3))[0] == "rpte"
    long_set = Columns(np.array([0]), np.array([2]), np.array([False]))
    with pytest.raises(TypeError, match="sets of more than 8 levels"):
        read(model, None, long_set)
