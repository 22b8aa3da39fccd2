"""Scores, probabilities and classes, and what `positive` does to them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fit_tables import mixed_case
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.losses import BINOMIAL

CASE = mixed_case()


@pytest.fixture(scope="module")
def about_sick():
    return CASE.fit(RPTEClassifier(l1=0.02))


@pytest.fixture(scope="module")
def about_healthy():
    return CASE.fit(RPTEClassifier(l1=0.02, positive="healthy"))


def test_positive_is_the_second_class_unless_told(about_sick, about_healthy):
    assert about_sick.model_.classes == about_healthy.model_.classes == ("healthy", "sick")
    assert (about_sick.model_.positive, about_healthy.model_.positive) == (1, 0)


def test_the_score_speaks_of_positive_and_the_rest_of_scikit_learn(about_sick, about_healthy):
    for classifier, sign in ((about_sick, 1), (about_healthy, -1)):
        model, X = classifier.model_, CASE.X
        log_odds = sign * model.score(X)
        assert (classifier.decision_function(X) == log_odds).all()
        assert (model.decision_function(X) == log_odds).all()
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-log_odds)))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-15)
        assert (model.predict(X) == np.where(log_odds > 0, "sick", "healthy")).all()
        assert (classifier.predict(X) == model.predict(X)).all()
        assert classifier.score(X, CASE.y) > 0.7


def test_swapping_positive_turns_the_score_around(about_sick, about_healthy):
    ranks = [c.model_.score(CASE.X) for c in (about_sick, about_healthy)]
    assert np.corrcoef(*ranks)[0, 1] < -0.95
    assert about_healthy.explain(CASE.X.head(1))[0].positive == "healthy"
    assert about_healthy.summary().startswith("RPTE model: log odds of 'healthy' against 'sick'")
    events = [c.model_.target.total for c in (about_sick, about_healthy)]
    assert sum(events) == CASE.weight.sum()
    assert events[0] == CASE.weight[CASE.y == "sick"].sum()


def test_a_score_of_zero_is_the_first_class(about_sick):
    blank = replace(about_sick.model_, intercept=0.0, components=())
    assert (blank.predict(CASE.X) == "healthy").all()
    assert (blank.predict_proba(CASE.X) == 0.5).all()


def test_probability_does_not_overflow():
    with np.errstate(over="raise", invalid="raise"):
        found = BINOMIAL.response(np.array([-800.0, -30.0, 0.0, 30.0, 800.0]))
    np.testing.assert_allclose(found, [0.0, np.exp(-30.0), 0.5, 1.0, 1.0], atol=1e-13)


def test_a_model_reads_mappings_arrays_and_tables(about_sick):
    model, X = about_sick.model_, CASE.X
    expected = model.score(X)
    mapping = {name: X[name].to_numpy() for name in reversed(X.columns)}
    assert (model.score(mapping) == expected).all()
    assert (model.score(X.to_numpy(dtype=object)) == expected).all()
    with pytest.warns(RPTEWarning, match=r"1 columns that the model does not know.*'extra'"):
        assert (model.score(X.assign(extra=1)) == expected).all()


def test_a_model_refuses_tables_it_cannot_read(about_sick):
    with pytest.raises(
        InputError, match=r"lacks 1 of the \d columns that the model needs: \['age'\]"
    ):
        about_sick.model_.score(CASE.X.drop(columns="age"))
    with pytest.raises(InputError, match="X has 2 features"):
        about_sick.model_.score(np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"'age' holds 1 values beyond 1e\+300 \(infinity"):
        about_sick.model_.score(CASE.X.assign(age=np.inf).head(1))


@pytest.mark.filterwarnings("ignore:column .* training did not have")
def test_levels_never_seen_score_as_no_level(about_sick):
    row = CASE.X.head(1).assign(region="atlantis")
    explained = about_sick.explain(row)[0]
    assert explained.inputs["region"] == "a level not seen before"
    levels = [c for part in explained.components for c in part.contributions]
    assert all(c.value == 0 for c in levels if c.text.startswith("region is "))


def test_column_order_of_a_frame_does_not_matter(about_sick):
    turned = pd.DataFrame(CASE.X[CASE.X.columns[::-1]])
    assert (about_sick.predict_proba(turned) == about_sick.predict_proba(CASE.X)).all()
