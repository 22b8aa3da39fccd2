"""The parts of a unit: SIRUS, rules of every family, ablations, CKA, same-fold alternatives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_sets import made

from benchmarks.peers import Rows
from experiments.ablation import VARIANTS, ablate
from experiments.alignment import align, cka
from experiments.data import DataSet
from experiments.performance import load_of, measures
from experiments.protocol import Unit
from experiments.rule_models import figs_100, rulefit, sirus
from experiments.rules import rules_of
from experiments.sirus import Sirus
from experiments.stages import stages, without_pairs
from experiments.substitutes import substitute
from experiments.tables.critique import issues
from rpte import RPTEClassifier
from rpte.vocabulary.vocabulary import PAIR

pytestmark = pytest.mark.filterwarnings("ignore")  # of imodels about scikit-learn
CHOSEN = {"rpte_paper": {"chosen": {"pattern_order": 2, "budget": 50, "min_gain": 0.001}}}


@pytest.fixture(scope="module")
def data():
    table = made(3, 90)
    return DataSet("made", table.drop(columns="target"), table["target"].to_numpy())


def test_sirus_finds_the_rule_that_makes_the_label():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 2] > 0.3).astype(int)
    model = Sirus(n_trees=200).fit(X, y)
    first = model.rules_[0].literals
    assert [(column, below) for column, _, below in first] in ([(2, True)], [(2, False)])
    assert len(model.rules_) <= 10
    score = model.predict_proba(X)[:, 1]
    assert score[y == 1].mean() > score[y == 0].mean() + 0.1
    assert set(model.predict(X)) <= {0, 1}
    covers = np.stack([np.ones(400), *(rule.covers(X) for rule in model.rules_)])
    assert np.linalg.matrix_rank(covers) == len(covers)


def test_sirus_reads_every_rule_in_every_row(data):
    fitted = sirus(Rows(data.X, data.y))
    load = load_of(fitted.model, data.X)
    assert load.iiu == load.miu == sum(len(r.literals) for r in fitted.model[-1].rules_)


@pytest.mark.slow(reason="fits every family of models")
@pytest.mark.parametrize("fit", [figs_100, sirus, lambda rows: rulefit(rows, fixed=True)])
def test_rules_of_a_family_cover_what_they_say(data, fit):
    pytest.importorskip("imodels")
    fitted = fit(Rows(data.X, data.y))
    rules = [rule for rule in rules_of(fitted.model, data.X) if rule.cover is not None]
    assert rules
    for rule in rules:
        words = rule.text.replace(" and ", " & ")
        told = data.X.eval(words) if words else pd.Series(True, index=data.X.index)
        assert (told.to_numpy() == rule.cover).all()
        assert set(rule.sources) <= set(data.X)


def test_leaves_of_figs_part_the_rows(data):
    pytest.importorskip("imodels")
    rules = rules_of(figs_100(Rows(data.X, data.y)).model, data.X)
    for tree in {rule.tree for rule in rules}:
        covers = np.array([rule.cover for rule in rules if rule.tree == tree])
        assert (covers.sum(axis=0) <= 1).all()


def test_rules_of_our_model_are_its_active_terms(data):
    model = RPTEClassifier(l1="4/n", ownership="paper").fit(data.X, data.y)
    found = rules_of(model, data.X)
    assert len(found) == len(model.model_.rules())
    sums = np.full(len(data.y), model.model_.intercept)
    assert np.isfinite(sums).all()


def test_pairs_can_be_left_out(data):
    classifier = RPTEClassifier.paper()
    with_pairs = stages(classifier, data.X, data.y).vocabulary()
    with without_pairs():
        bare = stages(classifier, data.X, data.y).vocabulary()
    assert (with_pairs.block == PAIR).any()
    assert not (bare.block == PAIR).any()
    assert (stages(classifier, data.X, data.y).vocabulary().block == PAIR).any()


@pytest.mark.parametrize("variant", ["hug", "original", "no_reassign", "xgb_hug_pairs"])
def test_ablations_give_measures(data, variant):
    if variant.startswith("xgb"):
        pytest.importorskip("xgboost")
    record = ablate(Unit("ablation", "made", variant, 0), data, CHOSEN)
    assert 0 <= record["auc"] <= 1
    assert record["miu"] >= 0
    assert variant in VARIANTS


def test_cka_is_one_for_equal_up_to_rotation_and_scale():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4))
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    assert cka(X, 3.0 * X @ turn + 7.0) == pytest.approx(1.0)
    assert cka(X, rng.normal(size=(50, 4))) < 0.5
    assert cka(X, np.ones((50, 2))) is None


def test_alignment_compares_both_stages(data):
    record = align(Unit("alignment", "made", "cka", 0), data, CHOSEN)
    assert 0 < record["cka_stage1"] <= 1
    assert 0 < record["cka_stage3"] <= 1


def test_same_fold_alternatives_do_not_use_what_is_left_out(data):
    record = substitute(Unit("substitutes", "made", "rpte_paper", 0), data, CHOSEN)
    assert set(record["out_of_fold_losses"]) == set(record["used"])
    assert len(record["alternatives"]) <= 5
    for found in record["alternatives"]:
        assert record["out_of_fold_losses"][found["removed"]] <= 0.01


def test_measures_agree_with_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(2)
    y, score = rng.integers(0, 2, 80), rng.normal(size=80)
    found = measures(y, score, score > 0)
    p = 1 / (1 + np.exp(-score))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y, score))
    assert found["brier"] == pytest.approx(metrics.brier_score_loss(y, p))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, p))
    assert found["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(y, score > 0)
    )


def _cover(*rows):
    bits = np.zeros(8, bool)
    bits[list(rows)] = True
    return np.packbits(bits).tobytes().hex()


def test_issues_are_counted_by_hand():
    rules = pd.DataFrame(
        [
            ("rule", "a", 1.0, _cover(0, 1, 2, 3)),
            ("rule", "a", -1.0, _cover(0, 1, 2)),
            ("rule", "b", -1.0, _cover(0, 1, 2, 3)),
            ("slope", "c", 2.0, None),
        ],
        columns=["kind", "sources", "coefficient", "cover"],
    )
    train = np.ones(8, bool)
    train[7] = False
    found = issues(rules, train, np.array([0, 7]))
    assert found["nested"] == 1
    assert [found[f"conflicts {b}"] for b in (0.25, 0.5, 0.9)] == [1, 1, 0]
    assert found["rules"] == 4
    assert (found["mean"], found["most"]) == (2.5, 4.0)
