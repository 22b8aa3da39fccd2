"""Stages 1 and 2 on a table and on parts of it: what is shared, what is learned anew, when."""

from dataclasses import replace

import numpy as np
import pytest

import rpte.fit.training as training_module
from fit_tables import mixed_case
from raw_tables import same_bits
from rpte import RPTEClassifier
from rpte.columns.kinds import Pair, Pattern
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.algorithm import learn_structure
from rpte.fit.structure_learner import StructureLearner, WarmStart
from rpte.fit.training import Training
from rpte.model.target import Target
from rpte.rows import scale
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.utils.progress import Watch
from rpte.vocabulary.vocabulary import PAIR

CASE = mixed_case(240)


def case_of(**parameters):
    inputs = read_training(CASE.X)
    chosen = settings_for(checked_parameters(RPTEClassifier(**parameters)), None, inputs.schema)
    return make_table(inputs, (CASE.y == "sick").astype(float), CASE.weight), chosen


def training_of(table, settings):
    return Training.of(table, settings, Target(("well", "sick"), 1, 0.0), {})


def same_structure(a, b):
    return (
        a.vocabulary.columns == b.vocabulary.columns
        and same_bits(a.vocabulary.z[:], b.vocabulary.z[:])
        and a.trees == b.trees
        and same_bits(a.leaf_codes, b.leaf_codes)
        and a.used == b.used
        and same_bits(a.score(len(a.trees)), b.score(len(b.trees)))
    )


def begun(table, settings, rows=None):
    """Return Stage 2 before its first tree, on some rows, started at the score 0."""
    rows = np.arange(table.n_rows) if rows is None else rows
    learner, part = StructureLearner.of(table, settings), table.take(rows)
    mined = learner.mine(part, rows)
    start = WarmStart(np.zeros(len(rows)), np.ones(len(mined.vocabulary)))
    return learner.grow(part, mined, start)


@pytest.mark.parametrize("parameters", [{}, {"vocabulary": "hug", "budget": 20}])
def test_trees_on_demand_are_those_of_one_run(parameters):
    table, settings = case_of(max_trees=3, max_component_sources=1, **parameters)
    whole = begun(table, settings).with_trees(3, settings)
    assert len(whole.structure.trees) == 3
    step = begun(table, settings)
    assert step.structure.trees == ()
    for most in (0, 1, 1, 3, 2, 9):
        step = step.with_trees(most, settings)
        known = len(step.structure.trees)
        assert step.structure.trees == whole.structure.trees[:known]
        assert known <= settings.max_trees
    assert same_structure(step.structure, whole.structure)
    assert step.stage2.stopped == whole.stage2.stopped


@pytest.mark.parametrize("changes", [{}, {"ownership": "strict"}, {"reassign": False}])
def test_a_long_table_holds_no_vocabulary_and_gives_the_same_model(changes, monkeypatch):
    whole = CASE.fit(RPTEClassifier.paper(**changes)).model_
    designs, honest = [], training_module.block_design

    def watched(*given):
        designs.append(honest(*given))
        return designs[-1]

    monkeypatch.setattr(scale, "LONG_ABOVE", 50)
    monkeypatch.setattr(scale, "HELD_ROWS", 40)
    monkeypatch.setattr(training_module, "block_design", watched)
    found = CASE.fit(RPTEClassifier.paper(**changes)).model_
    assert len(designs) == ("reassign" not in changes)
    told, expected = [list(leaves_and_terms(model)) for model in (found, whole)]
    assert [text for text, _ in told] == [text for text, _ in expected]
    np.testing.assert_allclose([c for _, c in told], [c for _, c in expected], rtol=1e-6)


def leaves_and_terms(model):
    """Yield the text and the coefficient of every leaf and direct term."""
    for component in model.components:
        for tree in component.trees:
            yield from ((str(tree.tree.to_dict()), leaf.coefficient) for leaf in tree.leaves)
        yield from ((term.column.text, term.coefficient) for term in component.direct)


def test_codes_and_scores_are_those_of_the_trees():
    table, settings = case_of(max_trees=4, max_component_sources=1)
    found = begun(table, settings).with_trees(4, settings)
    structure = found.structure
    accepted = [r for r in found.stage2.rounds if r.accepted]
    assert len(structure.trees) == len(accepted) == len(structure.steps) >= 3
    for m, (tree, r) in enumerate(zip(structure.trees, accepted, strict=True)):
        assert (structure.leaf_codes[m] == tree.apply(table.inputs)).all()
        losses = [
            table.loss.deviance(structure.score(k), table.y, table.weight) for k in (m, m + 1)
        ]
        assert losses == pytest.approx([r.deviance_before, r.deviance_after])
        added = structure.score(m + 1) - structure.score(m)
        for leaf in range(tree.n_leaves):
            assert np.ptp(added[structure.leaf_codes[m] == leaf]) < 1e-12
    assert same_bits(structure.score(len(accepted)), found.stage2.score)
    sources = [s for tree in structure.trees for s in tree.sources]
    assert len(sources) == len(set(sources))


@pytest.mark.parametrize("vocabulary", ["shapes", "hug"])
def test_a_part_sees_no_label_of_other_rows(vocabulary):
    table, settings = case_of(max_trees=2, vocabulary=vocabulary, budget=15)
    rows = np.arange(0, table.n_rows, 2)
    other = np.setdiff1d(np.arange(table.n_rows), rows)
    y = table.y.copy()
    y[other] = 1.0 - y[other]
    turned = replace(table, y=y)
    one, two = (begun(t, settings, rows).with_trees(2, settings) for t in (table, turned))
    assert same_structure(one.structure, two.structure)
    mine = np.where(np.isin(np.arange(table.n_rows), rows), 1.0 - table.y, table.y)
    third = begun(replace(table, y=mine), settings, rows).with_trees(2, settings)
    assert not same_structure(one.structure, third.structure)


def test_products_are_for_what_the_start_leaves():
    """They join the vocabulary last, repeat nothing, and the trees do not use them up."""
    table, settings = case_of(max_trees=1)
    learner, rows = StructureLearner.of(table, settings), np.arange(table.n_rows)
    mined = learner.mine(table, rows)
    grown = begun(table, settings).structure.vocabulary
    assert grown.columns[: len(mined.vocabulary)] == mined.vocabulary.columns
    added = grown.columns[len(mined.vocabulary) :]
    assert 0 < len(added) <= 60
    assert all(isinstance(column, (Pair, Pattern)) for column in added)
    assert (grown.block[len(mined.vocabulary) :] == PAIR).all()
    plain = learner.grow(table, mined, None)
    assert plain.structure.vocabulary.columns == mined.vocabulary.columns
    assert same_bits(plain.structure.start, mined.start)


def test_the_whole_run_is_the_sum_of_its_steps():
    table, settings = case_of(max_trees=2, l1=0.01)
    found = learn_structure(training_of(table, settings), Watch())
    assert 1 <= len(found.structure.trees) <= 2
    assert found.table is table
    base = np.log((table.weight @ table.y) / (table.weight @ (1 - table.y)))
    assert found.stage2.base == pytest.approx(base)
    null = table.loss.deviance(np.full(table.n_rows, base), table.y, table.weight)
    assert table.loss.deviance(found.structure.start, table.y, table.weight) < 0.9 * null
    separate = replace(settings, ownership="separate")
    plain = learn_structure(training_of(table, separate), Watch())
    np.testing.assert_allclose(plain.structure.start, base)


def test_use_is_how_far_a_column_moves_the_score():
    table, settings = case_of()
    mined = StructureLearner.of(table, settings).mine(table, np.arange(table.n_rows))
    vocabulary = mined.vocabulary
    direct = np.array([0, 2, 5, 7])
    coefficients = np.array([1.5, 0.0, -0.5, 2.0])
    start = WarmStart.of(np.zeros(table.n_rows), vocabulary, direct, coefficients)
    expected = np.zeros(len(vocabulary))
    for j, c in zip(direct, coefficients, strict=True):
        expected[j] = np.std(c * vocabulary.z[j])
    np.testing.assert_allclose(start.use, expected)
