"""The bootstrap of several classes: what it draws, and what the intervals are of."""

from dataclasses import replace

import numpy as np
import pytest

import rpte
from class_tables import LABELS, flower_model, flowers
from rpte.errors import InputError


@pytest.fixture(scope="module")
def drawn():
    return rpte.bootstrap(flower_model(), *flowers(), n=30, seed=1)


def test_the_same_seed_gives_the_same_numbers(drawn):
    again = rpte.bootstrap(flower_model(), *flowers(), n=30, seed=1)
    assert np.array_equal(drawn.coefficients, again.coefficients)
    assert drawn.unconverged == 0
    assert drawn.same_table


def test_a_resample_is_a_fit_of_the_rows_that_were_drawn(drawn):
    """The first resample, fitted by weights on the same terms, gives the same probabilities."""
    X, y = flowers()
    counts = np.bincount(np.random.default_rng(1).integers(0, len(X), len(X)), minlength=len(X))
    table = rpte.Labelled(X, y, counts.astype(float))
    fitted = rpte.edit(flower_model(), refit=True, table=table, by="A", reason="a test")
    first = replace(drawn, intercepts=drawn.intercepts[:1], coefficients=drawn.coefficients[:1])
    told = np.array([[i.low for i in row] for row in first.probabilities(X[:20])])
    assert told == pytest.approx(fitted.predict_proba(X[:20]), abs=1e-6)


def test_intervals_of_terms_are_by_class(drawn):
    model = drawn.model
    for k, label in enumerate(LABELS):
        intercept, *terms = drawn.terms(label=label)
        assert intercept.estimate == model.intercepts[k]
        assert [t.name for t in terms] == [rule.term for rule in model.rules()]
        assert [t.estimate for t in terms] == [rule.coefficients[k] for rule in model.rules()]
        assert all(t.low <= t.high for t in terms)


def test_two_classes_are_a_bootstrap_of_their_log_odds(drawn):
    X, _ = flowers()
    pair = drawn.between("rose", "iris")
    case = pair.cases(X[:1])[0]
    score = drawn.model.score(X[:1])[0]
    assert case.score.estimate == pytest.approx(score[2] - score[0])
    assert case.score.low <= case.score.estimate <= case.score.high


def test_probabilities_of_a_case_have_intervals(drawn):
    X, _ = flowers()
    p = drawn.model.predict_proba(X[:5])
    for row, told in enumerate(drawn.probabilities(X[:5])):
        assert [i.estimate for i in told] == p[row].tolist()
        assert all(0.0 <= i.low <= i.high <= 1.0 for i in told)


def test_every_resample_has_all_classes():
    X, y = flowers()
    rare = np.flatnonzero(y == "rose")[:2].tolist()
    some = rare + np.flatnonzero(y != "rose")[:80].tolist()
    found = rpte.bootstrap(flower_model(), X.iloc[some], y.iloc[some], n=40)
    assert found.redrawn > 0
    assert not found.same_table


def test_what_cannot_be_drawn_is_refused():
    model, (X, y) = flower_model(), flowers()
    with pytest.raises(InputError, match="whole number"):
        rpte.bootstrap(model, X, y, n=0)
    edited = rpte.edit(model, drop_sources=["soil"], by="A", reason="a test")
    with pytest.raises(InputError, match="nothing can be refitted"):
        rpte.bootstrap(edited, X, y)


def test_one_function_serves_every_number_of_scores(drawn):
    """What belongs to another number of scores is refused with what there is instead."""
    X, y = flowers()
    with pytest.warns(FutureWarning, match="is now rpte.bootstrap"):
        assert rpte.class_bootstrap is rpte.bootstrap
    with pytest.raises(InputError, match="is not a class"):
        drawn.terms()
    with pytest.raises(InputError, match="use probabilities, or between"):
        drawn.cases(X[:1])
    pair = rpte.RPTEClassifier(l1=0.1).fit(X, y == "rose").model_
    of_two = rpte.bootstrap(pair, X, y == "rose", n=2)
    with pytest.raises(InputError, match="has one score"):
        of_two.terms(label=True)
    with pytest.raises(InputError, match="use cases"):
        of_two.probabilities(X[:1])
