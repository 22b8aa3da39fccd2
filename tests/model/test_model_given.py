"""What may be given as a model: models of every task, fitted estimators, and nothing else."""

import pickle
from copy import deepcopy

import pytest

import rpte
from fit_tables import mixed_case
from model_files import stored
from rpte.errors import InputError, NotForTask
from rpte.model.file import from_dict
from rpte.model.given import classes_model, model_of, one_score_model, scored_model

WHO = {"by": "A. Smith", "reason": "a test", "when": "2026-01-31T12:00:00Z"}


def a_model(name):
    return from_dict(stored(name).copy())


def test_an_estimator_is_edited_as_its_model():
    case = mixed_case()
    clf = rpte.RPTEClassifier(l1=0.02, max_trees=0).fit(case.X, case.y)
    before = clf.model_
    found = rpte.edit(clf, drop_sources=["age"], **WHO)
    assert found == rpte.edit(before, drop_sources=["age"], **WHO)
    assert clf.model_ is before


def test_what_is_no_model_is_refused():
    with pytest.raises(InputError, match="the RPTEClassifier is not fitted yet; call fit first"):
        model_of(rpte.RPTEClassifier(), "edit")
    for given in ("m.json", None, 3, {}):
        with pytest.raises(InputError, match=r"^edit is given a \w+; give a model \(rpte.load"):
            model_of(given, "edit")


def test_a_task_that_a_function_is_not_for():
    with pytest.raises(InputError, match=r"x is for models of one event.*cause\('fever'\)"):
        scored_model(a_model("causes"), "x")
    with pytest.raises(InputError, match="this one tells 3 classes; use y"):
        one_score_model(a_model("classes"), "x", "y")
    with pytest.raises(InputError, match=r"x is for models of several classes.*'binary'; use y"):
        classes_model(a_model("mixed"), "x", "y")


@pytest.mark.parametrize("name", ["classes", "causes"])
def test_what_other_models_have_is_refused_in_words(name):
    model = a_model(name)
    assert not hasattr(model, "scorecard")
    with pytest.raises(NotForTask, match="scorecard is for models of one"):
        model.scorecard()
    with pytest.raises(AttributeError, match="has no attribute 'scoreboard'"):
        model.scoreboard()  # no model has it
    assert pickle.loads(pickle.dumps(model)) == deepcopy(model) == model


def test_what_if_of_several_classes_takes_one_row():
    made = stored("classes")
    model = a_model("classes")
    with pytest.raises(InputError, match="X has 2 rows; give one"):
        model.what_if(made.X[:2], {"wind": 50.0})
    assert model.what_if(made.X[:1], {"wind": 50.0}).after


def test_a_time_that_is_none_does_not_enter_a_record():
    model, X = a_model("mixed"), stored("mixed").X
    for call in (
        lambda when: rpte.edit(model, drop_terms=["D1"], by="x", reason="y", when=when),
        lambda when: list(rpte.decide(model, X[:2], when=when)),
    ):
        with pytest.raises(InputError, match="when='yesterday' is not a time of ISO 8601"):
            call("yesterday")
