"""Algorithm 1 by itself: a fixed penalty, the ablation without Stage 3, and the clock."""

import numpy as np
import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.algorithm import learn, learn_structure
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
