"""The measures of the report against scikit-learn's, with weights, ties and little data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    roc_auc_score,
    roc_curve,
)

from effort import examples
from rpte.audit import metrics
from rpte.audit.metrics import GRID, rank
from rpte.losses import BINOMIAL


def drawn(seed, n, ties=True, weighted=True):
    """Return outcomes, scores and weights; both classes occur."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n) * 2
    score = score.round(1 if ties else 9)
    y = (rng.random(n) < BINOMIAL.response(0.8 * score - 0.3)).astype(float)
    y[:2] = 0.0, 1.0
    weight = rng.integers(1, 5, n) / 2 if weighted else np.ones(n)
    return y, score, weight


SAMPLES = [drawn(0, 400), drawn(1, 60, ties=False), drawn(2, 900, weighted=False), drawn(3, 12)]


@pytest.mark.parametrize("sample", SAMPLES)
def test_single_numbers_are_those_of_scikit_learn(sample):
    y, score, weight = sample
    p = BINOMIAL.response(score)
    found = metrics.measures(rank(y, score, weight))
    given = {"sample_weight": weight}
    assert found["auc"] == pytest.approx(roc_auc_score(y, score, **given), abs=1e-12)
    expected = average_precision_score(y, score, **given)
    assert found["average_precision"] == pytest.approx(expected, abs=1e-12)
    assert found["log_loss"] == pytest.approx(log_loss(y, p, **given), abs=1e-9)
    assert found["brier"] == pytest.approx(brier_score_loss(y, p, **given), abs=1e-12)
    assert found["observed"] == pytest.approx(np.average(y, weights=weight))
    assert found["expected"] == pytest.approx(np.average(p, weights=weight))


@pytest.mark.parametrize("sample", SAMPLES[:3])
def test_calibration_is_a_logistic_fit_of_the_outcome_on_the_score(sample):
    y, score, weight = sample
    intercept, slope = metrics.calibration(rank(y, score, weight))
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    fit.fit(score[:, None], y, sample_weight=weight)
    assert slope == pytest.approx(fit.coef_[0, 0], rel=1e-4)
    # Calibration in the large: with this shift the mean probability is the observed rate.
    assert np.average(BINOMIAL.response(score + intercept), weights=weight) == pytest.approx(
        np.average(y, weights=weight), abs=1e-9
    )


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_roc_curve_is_that_of_scikit_learn(sample):
    y, score, weight = sample
    false, true, _ = roc_curve(y, score, sample_weight=weight)
    found = metrics.roc_on_grid(rank(y, score, weight))
    assert found == pytest.approx(np.interp(GRID, false, true), abs=1e-9)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.73])
def test_decisions_are_those_of_the_confusion_matrix(sample, threshold):
    y, score, weight = sample
    flagged = BINOMIAL.response(score) >= threshold
    (tn, fp), (fn, tp) = confusion_matrix(y, flagged, sample_weight=weight, labels=[0, 1])
    found = metrics.at_threshold(rank(y, score, weight), threshold)
    shares = {name: share for name, (share, _) in found.items()}
    assert shares["sensitivity"] == pytest.approx(tp / (tp + fn))
    assert shares["specificity"] == pytest.approx(tn / (tn + fp))
    assert shares["flagged"] == pytest.approx((tp + fp) / weight.sum())
    if tp + fp:
        assert shares["ppv"] == pytest.approx(tp / (tp + fp))
    else:
        assert shares["ppv"] is None
    benefit = metrics.net_benefit(rank(y, score, weight), np.array([threshold]))[0]
    odds = threshold / (1 - threshold)
    assert benefit == pytest.approx((tp - fp * odds) / weight.sum())


def test_calibration_groups_are_those_of_scikit_learn_where_nothing_ties():
    y, score, weight = drawn(5, 500, ties=False, weighted=False)
    groups = metrics.calibration_groups(rank(y, score, weight))
    observed, expected = calibration_curve(
        y, BINOMIAL.response(score), n_bins=10, strategy="quantile"
    )
    assert [g["observed"] for g in groups] == pytest.approx(observed.tolist(), abs=0.021)
    assert [g["expected"] for g in groups] == pytest.approx(expected.tolist(), abs=0.01)
    assert sum(g["weight"] for g in groups) == 500


def test_calibration_groups_keep_equal_scores_together():
    y, score, weight = drawn(6, 300)
    score = np.where(score > 0, 1.0, -1.0)
    groups = metrics.calibration_groups(rank(y, score, weight))
    assert len(groups) == len(set(score))
    for group, value in zip(groups, sorted(set(score)), strict=True):
        inside = score == value
        assert group["weight"] == pytest.approx(weight[inside].sum())
        assert group["observed"] == pytest.approx(np.average(y[inside], weights=weight[inside]))


@pytest.mark.parametrize(("events", "n"), [(0, 10), (10, 10), (3, 17), (480, 500)])
def test_wilson_intervals_are_those_of_scipy(events, n):
    interval = binomtest(events, n).proportion_ci(method="wilson")
    assert metrics.wilson(events / n, n) == pytest.approx((interval.low, interval.high), abs=1e-6)


@examples(30)
@given(st.integers(0, 10_000), st.integers(5, 40))
def test_a_whole_weight_is_repetition(seed, n):
    y, score, _ = drawn(seed, n)
    weight = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    weight[:2] = 1.0
    times = weight.astype(int)
    once = metrics.measures(rank(y, score, weight))
    repeated = rank(np.repeat(y, times), np.repeat(score, times), np.ones(times.sum()))
    for key, value in metrics.measures(repeated).items():
        if value is None or once[key] is None:
            assert value is None or abs(value) > 10  # at the edge of separation
            continue
        assert once[key] == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_what_is_not_defined_is_none():
    one_class = rank(np.ones(5), np.arange(5.0), np.ones(5))
    assert metrics.auc(one_class) is None
    assert metrics.calibration(one_class) == (None, None)
    constant = rank(np.array([0.0, 1.0, 1.0]), np.zeros(3), np.ones(3))
    assert metrics.auc(constant) == 0.5
    intercept, slope = metrics.calibration(constant)
    assert intercept == pytest.approx(np.log(2))
    assert slope is None
    separated = rank(np.array([0.0, 0.0, 1.0, 1.0]), np.arange(4.0) - 1.5, np.ones(4))
    assert metrics.auc(separated) == 1.0
    assert metrics.calibration(separated)[1] is None


def test_bootstrap_intervals_hold_the_value_and_shrink_with_the_rows():
    widths = []
    for n in (100, 1600):
        rows = rank(*drawn(7, n))
        low, high = metrics.bootstrap(rows, lambda r: [metrics.auc(r), metrics.brier(r)], 100)
        for place, value in enumerate((metrics.auc(rows), metrics.brier(rows))):
            assert low[place] < value < high[place]
        widths.append(high - low)
    assert (widths[1] < widths[0] / 2).all()


def test_the_bootstrap_is_the_same_every_time_and_says_what_is_undefined():
    rows = rank(*drawn(8, 50))
    statistic = lambda r: [metrics.auc(r), None]  # noqa: E731
    first, again = (metrics.bootstrap(rows, statistic, 30) for _ in range(2))
    assert first[0][0] == again[0][0]
    assert np.isnan(first[0][1])
