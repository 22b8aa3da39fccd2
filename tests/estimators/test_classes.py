"""Several classes: labels of any kind, weights, orders, scikit-learn's machinery, bad input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.model.classes import ClassesModel
from rpte.model.file import from_text, to_text

QUICK = {"l1": 0.03}


def flowers(n=180, seed=0, classes=3):
    """Return a table, and the numbers of classes that it tells apart."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"length": rng.normal(size=n).round(2), "width": rng.normal(size=n).round(2)})
    X["soil"] = rng.choice(["clay", "sand"], n)
    X.loc[rng.random(n) < 0.05, "width"] = np.nan
    score = np.outer(X["length"], np.linspace(-2, 2, classes))
    score[:, 0] += 1.5 * (X["soil"] == "clay")
    y = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return X, y


def fitted(X, y, **parameters):
    return RPTEClassifier(**{**QUICK, **parameters}).fit(X, y)


def scores_of(model):
    """Return intercepts and coefficients by class, in the order of the file."""
    rules = model.rules()
    return np.array([model.intercepts, *(rule.coefficients for rule in rules)]).T


LABELS = {
    "text": lambda y: np.array(["setosa", "versicolor", "virginica"])[y],
    "objects": lambda y: np.array(["a", "b", "c"], object)[y],
    "whole": lambda y: y - 1,
    "floats": lambda y: np.array([0.0, 1.0, 5.0])[y],
    "boolean-like": lambda y: np.array(["False", "True", "Unknown"], object)[y],
    "categories": lambda y: pd.Categorical.from_codes(y, ["a", "b", "c"]),
    "series": lambda y: pd.Series(y, dtype="Int64"),
    "polars": lambda y: pl.Series(["x", "y", "z"]).gather(y),
    "list": lambda y: [("a", "b", "c")[i] for i in y],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_as_they_were(kind, tmp_path):
    X, y = flowers()
    labels = LABELS[kind](y)
    found = fitted(X, labels)
    known = np.unique(np.asarray(labels)).tolist()
    assert isinstance(found.model_, ClassesModel)
    assert found.classes_.tolist() == list(found.model_.classes) == known
    assert set(found.predict(X).tolist()) <= set(known)
    assert found.score(X, np.asarray(labels)) > 0.6
    assert all(check.holds for check in found.model_.verify(X, labels))
    read = from_text(to_text(found.model_))
    assert read == found.model_
    np.testing.assert_array_equal(read.predict_proba(X), found.predict_proba(X))
    assert read.predict(X).tolist() == found.predict(X).tolist()
    proba, score = found.predict_proba(X), found.decision_function(X)
    assert proba.shape == score.shape == (len(X), 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    odds = np.exp(score - score.max(axis=1)[:, None])
    np.testing.assert_allclose(proba, odds / odds.sum(axis=1)[:, None], rtol=1e-9)


def test_of_unknown_labels_mixed_types_are_refused():
    X, y = flowers()
    with pytest.raises(InputError, match=r"mixes labels of the types \['bool', 'int'\]"):
        fitted(X, np.array([True, 0, 2], object)[y])
    with pytest.raises(InputError, match=r"mixes labels of the types \['int', 'str'\]"):
        fitted(X, np.array(["a", 0, 2], object)[y])


@pytest.mark.slow(reason="fits several models with inner validation")
@pytest.mark.parametrize("l1", [0.03, "cv"])
def test_permuted_names_permute_the_model(l1):
    X, y = flowers()
    turned = np.array([2, 0, 1])  # the class k is called turned[k]
    one, other = fitted(X, y, l1=l1), fitted(X, turned[y], l1=l1)
    assert [r.conditions for r in one.model_.rules()] == [
        r.conditions for r in other.model_.rules()
    ]
    found, wanted = scores_of(other.model_)[turned], scores_of(one.model_)
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())
    np.testing.assert_allclose(other.predict_proba(X)[:, turned], one.predict_proba(X), atol=1e-5)


def test_names_in_the_same_order_give_the_same_numbers():
    X, y = flowers()
    one, other = fitted(X, y), fitted(X, np.array(["a", "b", "c"])[y])
    assert one.model_.by_class == other.model_.by_class
    assert one.model_.intercepts == other.model_.intercepts


class TestClassWeights:
    def test_a_mapping_is_a_weight(self):
        X, y = flowers()
        factors = np.array([2.0, 1.0, 0.5])
        mapped = fitted(X, y, class_weight={0: 2.0, 2: 0.5})
        by_row = RPTEClassifier(**QUICK).fit(X, y, sample_weight=factors[y])
        np.testing.assert_allclose(mapped.predict_proba(X), by_row.predict_proba(X), atol=1e-6)
        assert mapped.model_.training["class_factors"] == factors.tolist()
        assert all(check.holds for check in mapped.model_.verify(X, y))

    def test_balanced_classes_have_one_weight(self):
        X, y = flowers(300)
        y = np.where((y == 1) & (np.arange(300) % 3 > 0), 0, y)
        found = fitted(X, y, class_weight="balanced")
        totals = found.model_.target.totals
        np.testing.assert_allclose(totals, 100.0)
        plain = fitted(X, y)
        assert found.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
        assert all(check.holds for check in found.model_.verify(X, y))

    def test_of_no_class_is_refused(self):
        X, y = flowers()
        with pytest.raises(InputError, match=r"7 is not a class, the classes are \[0, 1, 2\]"):
            fitted(X, y, class_weight={7: 1.0})

    def test_a_class_without_weight_is_refused(self):
        X, y = flowers()
        message = r"the classes \[1\] have no rows with a positive weight; give them a weight, or"
        with pytest.raises(InputError, match=message):
            fitted(X, y, class_weight={1: 0.0})
        with pytest.raises(InputError, match=message):
            RPTEClassifier(**QUICK).fit(X, y, sample_weight=(y != 1).astype(float))


class TestBadInput:
    def test_a_class_with_few_rows_is_learned_with_a_warning(self):
        X, y = flowers()
        y = np.where(np.arange(len(y)) < 4, 9, y)
        message = r"1 of 4 classes with fewer than 5 rows \(9 4\).*give rare classes a common label"
        with pytest.warns(RPTEWarning, match=message):
            fitted(X, y)
        weight = np.where(y == 9, 2.0, 1.0)  # eight cases
        assert len(RPTEClassifier(**QUICK).fit(X, y, sample_weight=weight).classes_) == 4
        y[4] = 9
        weight = np.where(np.arange(len(y)) == 0, 0.0, 1.0)  # four that count
        with pytest.warns(RPTEWarning, match=message):
            RPTEClassifier(**QUICK).fit(X, y, sample_weight=weight)

    @pytest.mark.parametrize("rows", [1, 3])
    def test_inner_validation_of_a_class_with_fewer_rows_than_folds(self, rows):
        X, y = flowers()
        y = np.where(np.arange(len(y)) < rows, 9, y)
        with pytest.warns(RPTEWarning, match=rf"fewer than 5 rows \(9 {rows}\)"):
            made = RPTEClassifier().fit(X, y)
        assert made.classes_.tolist() == [0, 1, 2, 9]
        assert made.audit().miu > 0
        # A class that no training row has would add its rows' deviance of 69 each.
        assert made.frontier_["deviance"].max() < 3.0
        assert made.verify(X, y).holds

    def test_many_classes(self):
        X = pd.DataFrame({"a": np.arange(306.0)})
        with pytest.raises(
            InputError, match=r"51 classes, at most 50 can be told apart: give rare"
        ):
            fitted(X, np.array([f"c{i % 51:02}" for i in range(306)]))
        with pytest.raises(InputError, match=r"at most 50|is regression"):
            fitted(X, np.arange(306) % 153)

    @pytest.mark.parametrize(
        ("name", "given"),
        [
            ("positive", {"positive": 1}),
            ("reassign", {"reassign": False}),
            ("vocabulary", {"vocabulary": "original"}),
            ("criterion", {"criterion": "label"}),
            ("lookahead", {"lookahead": True}),
            ("conventions", {"conventions": "paper"}),
            ("ownership", {"ownership": "strict"}),
        ],
    )
    def test_what_is_for_two_classes_alone(self, name, given):
        X, y = flowers()
        message = rf"Only binary classification is supported. {name} as given is for two .* holds 3"
        with pytest.raises(InputError, match=message):
            fitted(X, y, **given)
        assert not RPTEClassifier(**given).__sklearn_tags__().classifier_tags.multi_class
        assert RPTEClassifier().__sklearn_tags__().classifier_tags.multi_class

    def test_classes_that_training_did_not_have(self):
        X, y = flowers()
        found = fitted(X, np.array(["a", "b", "c"])[y])
        strange = np.array(["a", "b", "z"])[y]
        with pytest.raises(
            InputError, match=r"y holds 'z'; the model's classes are \('a', 'b', 'c'"
        ):
            found.model_.verify(X, strange)
        assert found.score(X, strange) < found.score(X, np.array(["a", "b", "c"])[y])
        with pytest.raises(InputError, match="y holds 2"):
            found.model_.verify(X, y)


def test_two_of_several_classes_that_are_left_are_two():
    X, y = flowers()
    two = y < 2
    assert type(fitted(X[two], y[two]).model_) is not ClassesModel


@pytest.mark.slow(reason="fits several models with inner validation")
def test_fifty_classes():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 50
    X = pd.DataFrame({"a": y + rng.normal(size=300) / 9, "b": rng.normal(size=300)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        found = RPTEClassifier(l1=0.02, max_trees=0).fit(X, y)
    assert found.predict_proba(X).shape == (300, 50)
    with pytest.warns(RPTEWarning, match="y holds 50 different numbers, each taken as a class"):
        RPTEClassifier(l1=0.5).fit(X, y)
