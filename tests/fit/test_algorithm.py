"""Algorithm 1 by itself: a fixed penalty, the ablation without Stage 3, and the clock."""

import warnings

import numpy as np
import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier, RPTERegressor, RPTESurvival, RPTEWarning
from rpte.estimation import newton, softmax
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.algorithm import learn, learn_structure
from rpte.fit.refit import refit
from rpte.fit.training import Training
from rpte.model.target import Target
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.utils.progress import Watch

CASE = mixed_case()


def training_of(classifier):
    """Return what an estimator hands over to the algorithm."""
    inputs = read_training(CASE.X)
    settings = settings_for(checked_parameters(classifier), None, inputs.schema)
    classes = tuple(np.unique(CASE.y).tolist())
    y = (CASE.y == classes[1]).astype(float)
    table = make_table(inputs, y, CASE.weight, settings.pooling)
    return Training.of(table, settings, Target(classes, 1, 0.0), {"folds": 5, "by": "content"})


@pytest.mark.parametrize("way", ["fixed penalty", "published", "not reassigned"])
def test_the_estimator_adds_nothing(way):
    made = {
        "fixed penalty": RPTEClassifier(l1=0.02),
        "published": RPTEClassifier.paper(),
        "not reassigned": RPTEClassifier(reassign=False),
    }[way]
    model = learn(training_of(made), Watch())
    fitted = CASE.fit(made).model_
    assert model.summary() == fitted.summary()
    assert (model.score(CASE.X) == fitted.score(CASE.X)).all()


def test_the_score_of_the_boosted_trees_is_that_of_stage_2():
    training = training_of(RPTEClassifier(reassign=False))
    found = learn_structure(training, Watch())
    model = learn(training, Watch())
    np.testing.assert_allclose(
        model.score(training.rows.whole().inputs), found.stage2.score, rtol=1e-12, atol=1e-12
    )
    assert model.training["objective"] is None


def test_trees_share_no_variable_and_their_codes_are_those_of_the_rows():
    training = training_of(RPTEClassifier(l1=0.02, max_component_sources=1))
    structure = learn_structure(training, Watch()).structure
    sources = [source for tree in structure.trees for source in tree.sources]
    assert len(structure.trees) > 1
    assert len(sources) == len(set(sources))
    for tree, codes in zip(structure.trees, structure.leaf_codes, strict=True):
        assert (tree.apply(training.rows.whole().inputs) == codes).all()


def test_when_the_time_is_up_no_tree_is_grown():
    training = training_of(RPTEClassifier(l1=0.02))
    watch = Watch(max_seconds=0.0)
    found = learn_structure(training, watch)
    assert found.structure.trees == ()
    assert watch.stopped is not None


NUMBERS = np.random.default_rng(0).normal(size=(120, 2))
SIGNAL = NUMBERS[:, 0] + 0.5 * NUMBERS[:, 1]
FITS = {
    "two classes": (RPTEClassifier(l1=0.01), SIGNAL > 0),
    "published": (RPTEClassifier.paper(), SIGNAL > 0),
    "validated": (RPTEClassifier(vocabulary="original", max_trees=0), SIGNAL > 0),
    "several classes": (RPTEClassifier(l1=0.01), np.digitize(SIGNAL, [-0.5, 0.5])),
    "published numbers": (RPTERegressor.paper(), SIGNAL),
    "times": (RPTESurvival(l1=0.01), (SIGNAL < 1, np.exp(SIGNAL))),
    "intervals": (RPTESurvival(l1=0.01, loss="discrete"), (SIGNAL < 1, np.exp(SIGNAL))),
    "causes": (RPTESurvival(l1=0.01), (np.digitize(SIGNAL, [-0.5, 1.0]), np.exp(NUMBERS[:, 0]))),
    **{
        loss: (RPTERegressor(l1=0.01, loss=loss), np.round(np.exp(SIGNAL)) + 1.0)
        for loss in ("squared_error", "poisson", "gamma", "tweedie")
    },
}


REMEDY = r"did not converge: .* larger penalty, such as l1="
REMEDIES = {"validated": r"models in frontier_models_ did not converge"}  # the chosen one did


@pytest.mark.parametrize("task", FITS)
def test_a_model_that_did_not_converge_is_said(task, monkeypatch):
    """And one that did is not: for every task, with a solver that gives up at once."""
    estimator, y = FITS[task]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RPTEWarning)
        model = estimator.fit(NUMBERS, y).model_
    steps = 1 if task == "causes" else 0  # of causes, terms that some cause has are joined
    monkeypatch.setattr(newton, "MAX_STEPS", steps)
    monkeypatch.setattr(softmax, "MAX_STEPS", steps)
    with pytest.warns(RPTEWarning, match=REMEDIES.get(task, REMEDY)):
        estimator.fit(NUMBERS, y)
    if task != "causes":
        with pytest.warns(RPTEWarning, match="did not converge"):
            refit(model, NUMBERS, y)
