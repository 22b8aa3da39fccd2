"""Predictions taken apart."""

import numpy as np
import pytest

from fit_tables import mixed_case
from rpte import InputError, RPTEClassifier

CASE = mixed_case()


@pytest.fixture(scope="module")
def classifier():
    return CASE.fit(RPTEClassifier(l1=0.02, max_leaves=5, max_component_sources=3))


def contributions(explanation):
    return [c for component in explanation.components for c in component.contributions]


def test_the_order_is_that_of_the_file(classifier):
    model = classifier.model_
    explanation = classifier.explain(CASE.X.head(1))[0]
    assert [c.component for c in explanation.components] == [c.name for c in model.components]
    terms = [c.term.split(".")[0] for c in contributions(explanation)]
    assert terms == [part.name for _, part in model.parts()]
    assert any(term.startswith("T") for term in terms)
    assert any(term.startswith("D") for term in terms)
    for shown, component in zip(explanation.components, model.components, strict=True):
        assert shown.sources == component.sources


def test_a_tree_shows_the_leaf_that_the_row_reaches(classifier):
    rules = classifier.rules_.set_index("term")
    seen = set()
    for explanation in classifier.explain(CASE.X):
        for contribution in contributions(explanation):
            if contribution.term.startswith("T") and contribution.value != 0:
                seen.add(contribution.term)
                assert contribution.value == rules.loc[contribution.term, "coefficient"]
                assert contribution.text == rules.loc[contribution.term, "conditions"]
    assert seen == {term for term in rules.index if term.startswith("T")}


def test_values_of_the_row_are_told(classifier):
    gaps = CASE.X["income"].isna() & CASE.X["region"].notna()
    row = CASE.X[gaps].head(1)
    inputs = classifier.explain(row)[0].inputs
    assert inputs["income"] is None
    assert inputs["region"] == row["region"].iloc[0]
    assert inputs["age"] == row["age"].iloc[0]
    assert inputs["smoker"] == str(row["smoker"].iloc[0])


def test_against_the_mean_contributions_still_add_up(classifier):
    score = classifier.model_.score(CASE.X)
    explained = classifier.explain(CASE.X, reference="mean")
    for explanation, value in zip(explained, score, strict=True):
        total = explanation.intercept + sum(c.value for c in contributions(explanation))
        assert abs(total - value) < 1e-9
        assert explanation.score == value
        assert explanation.reference == "mean"
    assert abs(explained[0].intercept - np.average(score, weights=CASE.weight)) < 1e-9


def test_contributions_against_the_mean_average_to_zero_in_training(classifier):
    explained = classifier.explain(CASE.X, reference="mean")
    values = np.array([[c.value for c in contributions(e)] for e in explained])
    assert np.ptp(values, axis=0).min() > 0
    np.testing.assert_allclose(np.average(values, axis=0, weights=CASE.weight), 0.0, atol=1e-9)


def test_another_reference_is_refused(classifier):
    with pytest.raises(InputError, match=r"reference='median'; it must be None or 'mean'"):
        classifier.explain(CASE.X.head(1), reference="median")


def test_the_text_holds_every_number(classifier):
    explanation = classifier.explain(CASE.X.iloc[[3]])[0]
    text = explanation.text(order="definition")
    assert f"{explanation.score:+10.4f}  score: probability of 'sick'" in text
    for contribution in contributions(explanation):
        assert f"{contribution.value:+10.4f}  {contribution.term}: {contribution.text}" in text
    assert f"age = {CASE.X['age'].iloc[3]:g}" in text
    mean = classifier.explain(CASE.X.iloc[[3]], reference="mean")[0]
    assert "mean score in training" in str(mean)
    assert "intercept" in text
