"""Measures of several classes are scikit-learn's, with weights."""

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.linear_model import LogisticRegression

from rpte.audit.class_metrics import class_measures, measured_class, rank_classes
from rpte.audit.metrics import bootstrap, calibration_groups

CLOSE = {"rel": 1e-12, "abs": 1e-12}


def table(classes=4, n=300, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n).astype(float)
    score = rng.normal(size=(n, classes)) + 1.5 * (y[:, None] == np.arange(classes))
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    return (score.round(0) if ties else score), y, weight


def probabilities(score):
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("classes", [3, 7])
def test_measures_are_those_of_scikit_learn(classes, ties):
    score, y, weight = table(classes, ties=ties)
    p, said, given = probabilities(score), score.argmax(axis=1), {"sample_weight": weight}
    found = class_measures(score, y, weight)
    assert found["log_loss"] == pytest.approx(theirs.log_loss(y, p, **given), **CLOSE)
    assert found["accuracy"] == pytest.approx(theirs.accuracy_score(y, said, **given), **CLOSE)
    balanced = theirs.balanced_accuracy_score(y, said, **given)
    assert found["balanced_accuracy"] == pytest.approx(balanced, **CLOSE)
    brier = np.average(((p - np.eye(classes)[y.astype(int)]) ** 2).sum(axis=1), weights=weight)
    assert found["brier"] == pytest.approx(brier, **CLOSE)
    order = [theirs.roc_auc_score(y == k, p[:, k].round(14), **given) for k in range(classes)]
    assert found["auc"] == pytest.approx(np.mean(order), **CLOSE)
    assert found["base_accuracy"] == pytest.approx(
        max(np.bincount(y.astype(int), weight)) / weight.sum(), **CLOSE
    )


def test_measures_of_each_class_are_those_of_scikit_learn():
    score, y, weight = table()
    p, said, given = probabilities(score), score.argmax(axis=1), {"sample_weight": weight}
    rows = rank_classes(score, y, weight)
    matrix = theirs.confusion_matrix(y, said, sample_weight=weight)
    assert rows.confusion() == pytest.approx(matrix, **CLOSE)
    precision, recall, _, _ = theirs.precision_recall_fscore_support(y, said, **given)
    for k in range(4):
        found = measured_class(rows, k)
        assert found["recall"] == pytest.approx(recall[k], **CLOSE)
        assert found["precision"] == pytest.approx(precision[k], **CLOSE)
        own = theirs.roc_auc_score(y == k, p[:, k], **given)
        assert found["auc"] == pytest.approx(own, **CLOSE)
        assert found["observed"] == pytest.approx(np.average(y == k, weights=weight), **CLOSE)
        assert found["expected"] == pytest.approx(np.average(p[:, k], weights=weight), **CLOSE)
        groups = calibration_groups(rows.against_rest(k))
        mean = sum(g["weight"] * g["expected"] for g in groups) / weight.sum()
        assert mean == pytest.approx(found["expected"], **CLOSE)


def test_a_whole_weight_is_a_repeated_row():
    score, y, _ = table()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    twice = class_measures(score[rows], y[rows], np.ones(len(rows)))
    assert class_measures(score, y, weight.astype(float)) == pytest.approx(twice, **CLOSE)


def test_classes_that_do_not_occur_are_left_out():
    score, y, weight = table(5)
    weight = np.where(y == 3, 0.0, weight)
    found, rows = class_measures(score, y, weight), rank_classes(score, y, weight)
    p = probabilities(score)
    kept = [theirs.roc_auc_score(y == k, p[:, k], sample_weight=weight) for k in (0, 1, 2, 4)]
    assert found["auc"] == pytest.approx(np.mean(kept), **CLOSE)
    gone = measured_class(rows, 3)
    assert (gone["recall"], gone["auc"], gone["calibration_slope"]) == (None, None, None)
    assert gone["precision"] == 0.0
    only = class_measures(score, np.zeros(len(y)), weight)
    assert only["auc"] is None


def test_large_scores_do_not_overflow():
    found = class_measures(np.array([[800.0, -800.0, 0.0]] * 2), np.array([0.0, 1.0]), np.ones(2))
    assert found["log_loss"] == pytest.approx(800.0)
    assert found["accuracy"] == 0.5


def test_calibration_is_that_of_a_fit_on_the_log_odds():
    score, y, weight = table(3, n=4000, seed=2)
    own = 1.5 * (score - score.mean(axis=1, keepdims=True))  # the truth, of this table
    p = probabilities(own)
    k = 1
    found = measured_class(rank_classes(own, y, weight), k)
    logit = np.log(p[:, k] / (1 - p[:, k]))[:, None]
    fit = LogisticRegression(C=np.inf, tol=1e-10).fit(logit, y == k, sample_weight=weight)
    assert found["calibration_slope"] == pytest.approx(fit.coef_[0, 0], rel=1e-4)


def test_intervals_hold_the_value():
    rows = rank_classes(*table())

    def statistic(sample):
        return [measured_class(sample, 0)["auc"], measured_class(sample, 0)["recall"]]

    low, high = bootstrap(rows, statistic, 40)
    assert (low < statistic(rows)).all()
    assert (statistic(rows) < high).all()
