"""Measures of hazards: against scikit-survival, lifelines, and pairs counted one by one."""

import itertools

import numpy as np
import pytest

from rpte.audit.kaplan_meier import censoring, kaplan_meier, log_rank
from rpte.audit.survival_calibration import (
    bands_of,
    calibration_at,
    calibration_slope,
    d_calibration,
    risk_groups,
)
from rpte.audit.survival_metrics import (
    SurvivalRows,
    brier_scores,
    concordance,
    dynamic_auc,
    harrell,
    integrated,
    time_grid,
    uno,
)
from rpte.losses.risk_sets import FollowUp


def made(n=300, ties=False, seed=0, censored=0.5):
    """Return outcomes with a known hazard, and their scores."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n).round(1)
    time = rng.exponential(np.exp(-score)) + 0.01
    end = rng.exponential(1.0 / censored, n) + 0.01
    event = time <= end
    time = np.minimum(time, end)
    return FollowUp(np.ceil(time * 8) / 8 if ties else time, event), score


def rows_of(seen, score, weight=None):
    return SurvivalRows.of(seen, score, np.ones(len(score)) if weight is None else weight)


def structured(seen):
    return np.array(list(zip(seen.event, seen.time, strict=True)), [("e", bool), ("t", float)])


def repeated(seen, score, weight):
    rows = np.repeat(np.arange(len(score)), weight.astype(int))
    return rows_of(seen.take(rows), score[rows])


@pytest.mark.parametrize("ties", [False, True])
def test_measures_are_those_of_scikit_survival(ties):
    metrics = pytest.importorskip("sksurv.metrics")
    seen, score = made(ties=ties)
    rows, y = rows_of(seen, score), structured(seen)
    assert harrell(rows) == pytest.approx(
        metrics.concordance_index_censored(seen.event, seen.time, score)[0], abs=1e-12
    )
    for tau in (None, float(np.median(seen.time))):
        expected = metrics.concordance_index_ipcw(y, y, score, tau)[0]
        assert uno(rows, np.inf if tau is None else tau) == pytest.approx(expected, abs=1e-12)
    grid = time_grid(rows, 12)
    auc, _ = metrics.cumulative_dynamic_auc(y, y, score, grid)
    assert dynamic_auc(rows, grid) == pytest.approx(auc, abs=1e-12)
    told = np.exp(-np.exp(score)[:, None] * grid)
    _, brier = metrics.brier_score(y, y, told, grid)
    inside = np.argsort(seen.time, kind="stable")
    found = brier_scores(rows, told[inside], grid)
    assert found == pytest.approx(brier, abs=1e-12)
    whole = metrics.integrated_brier_score(y, y, told, grid)
    assert integrated(found, grid) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_kaplan_meier_is_that_of_lifelines(ties):
    lifelines = pytest.importorskip("lifelines")
    seen, score = made(ties=ties)
    entry = np.where(score > 0, 0.5 * seen.time, 0.0)
    weight = np.where(score > 0, 2.0, 1.0)
    for given in (seen, seen._replace(entry=entry)):
        fitter = lifelines.KaplanMeierFitter()
        fitter.fit(given.time, given.event, weights=weight, entry=given.entry)
        found = kaplan_meier(given, weight)
        expected = fitter.survival_function_at_times(found.times).to_numpy()
        assert found.values == pytest.approx(expected, abs=1e-10)
        at = float(np.median(given.time))
        ends = fitter.confidence_interval_
        low, high = ends[ends.index <= at].iloc[-1]
        assert found.interval(at) == pytest.approx(
            (found.at(np.array([at]))[0], low, high), abs=1e-6
        )


def test_the_end_of_observation_is_that_of_scikit_survival():
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    seen, _ = made(ties=True)
    times, values = nonparametric.kaplan_meier_estimator(seen.event, seen.time, reverse=True)
    found = censoring(seen, np.ones(len(seen.time)))
    assert found.at(times) == pytest.approx(values, abs=1e-12)


def test_log_rank_is_that_of_lifelines():
    statistics = pytest.importorskip("lifelines.statistics")
    seen, score = made(ties=True)
    rows = rows_of(seen, score)
    groups = bands_of(rows, 4)
    which = np.empty(len(score), int)
    for number, inside in enumerate(groups):
        which[inside] = number
    found = log_rank(rows.seen, rows.weight, groups)
    expected = statistics.multivariate_logrank_test(rows.seen.time, which, rows.seen.event)
    assert found.statistic == pytest.approx(expected.test_statistic, rel=1e-9)
    assert found.p_value == pytest.approx(expected.p_value, rel=1e-6)
    assert found.observed.sum() == pytest.approx(found.expected.sum())


def by_hand(seen, score, weight):
    """Return Harrell's concordance, pair by pair, of rows under observation at once."""
    pairs = agree = 0.0
    strata = seen.strata
    for i, j in itertools.permutations(range(len(score)), 2):
        later = seen.time[j] > seen.time[i] or (seen.time[j] == seen.time[i] and not seen.event[j])
        there = seen.entry is None or seen.entry[j] < seen.time[i]
        if seen.event[i] and later and there and strata[i] == strata[j]:
            pairs += weight[i] * weight[j]
            half = 0.5 * (score[i] == score[j]) + (score[i] > score[j])
            agree += weight[i] * weight[j] * half
    return agree / pairs


@pytest.mark.parametrize("entry", [False, True])
@pytest.mark.parametrize("strata", [False, True])
def test_pairs_are_of_one_stratum_and_under_observation_at_once(entry, strata):
    seen, score = made(60, ties=True)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, 60).astype(float)
    since = np.floor(seen.time * 8 * rng.random(60)) / 8 if entry else None
    since = None if since is None else np.minimum(since, seen.time - 0.125)
    seen = seen._replace(entry=since, stratum=rng.integers(0, 3, 60) if strata else None)
    assert harrell(rows_of(seen, score, weight)) == pytest.approx(by_hand(seen, score, weight))


def test_weights_are_repetitions():
    seen, score = made(120, ties=True)
    weight = np.random.default_rng(2).integers(0, 4, 120).astype(float)
    one, many = rows_of(seen, score, weight), repeated(seen, score, weight)
    grid = time_grid(many, 8)
    assert time_grid(one, 8) == pytest.approx(grid)
    for measure in (harrell, uno, lambda r: calibration_slope(r, "efron")):
        assert measure(one) == pytest.approx(measure(many), abs=1e-9)
    assert dynamic_auc(one, grid) == pytest.approx(dynamic_auc(many, grid), abs=1e-12)
    told = [np.exp(-np.exp(r.score)[:, None] * grid) for r in (one, many)]
    both = [brier_scores(r, t, grid) for r, t in zip((one, many), told, strict=True)]
    assert both[0] == pytest.approx(both[1], abs=1e-12)
    at = float(np.median(seen.time))
    bands = [calibration_at(r, 1 - np.exp(-np.exp(r.score) * at), at, 5) for r in (one, many)]
    for few, more in zip(*bands, strict=True):
        assert list(few.values()) == pytest.approx(list(more.values()), abs=1e-9)
    spread = [
        d_calibration(r, np.exp(-np.exp(r.score) * r.seen.time), np.ones(len(r.score)))["shares"]
        for r in (one, many)
    ]
    assert spread[0] == pytest.approx(spread[1], abs=1e-9)
    tests = [risk_groups(r, bands_of(r, 3))[1] for r in (one, many)]
    assert tests[0].statistic == pytest.approx(tests[1].statistic)


def test_no_pairs_no_concordance():
    time = np.array([1.0, 2.0])
    assert np.isnan(concordance(np.zeros(2, bool), time, time))
    rows = rows_of(FollowUp(time, np.array([False, True])), time)
    assert np.isnan(harrell(rows))
    assert np.isnan(dynamic_auc(rows, np.array([0.5]))).all()


def test_slope_is_that_of_lifelines():
    lifelines = pytest.importorskip("lifelines")
    pandas = pytest.importorskip("pandas")
    seen, score = made(ties=True)
    frame = pandas.DataFrame({"time": seen.time, "event": seen.event, "score": 2.0 * score})
    fitted = lifelines.CoxPHFitter().fit(frame, "time", "event")
    found = calibration_slope(rows_of(seen, 2.0 * score), "efron")
    assert found[0] == pytest.approx(fitted.params_["score"], abs=1e-5)
    assert found[1:] == pytest.approx(fitted.confidence_intervals_.loc["score"].tolist(), abs=1e-3)
    assert calibration_slope(rows_of(seen, 0.0 * score), "efron") is None


def test_right_curves_are_calibrated_and_wrong_ones_are_not():
    seen, score = made(6000, seed=3)
    rows = rows_of(seen, score)
    passed = np.exp(rows.score) * (rows.seen.time - 0.01)  # the cumulated hazard that was made
    ones = np.ones(len(passed))
    right = d_calibration(rows, np.exp(-passed), ones)
    assert sum(right["shares"]) == pytest.approx(1.0)
    assert right["p_value"] > 0.01
    assert d_calibration(rows, np.exp(-0.8 * passed), ones)["p_value"] < 1e-6
    entered = d_calibration(rows, np.exp(-passed), np.exp(-0.5 * passed))
    assert entered["p_value"] < 1e-6  # as if the first half had not been seen
    at, hazard = 0.5, np.exp(rows.score) * (0.5 - 0.01)
    bands = calibration_at(rows, 1 - np.exp(-hazard), at, 10)
    assert len(bands) == 10
    inside = [b["low"] <= b["expected"] <= b["high"] for b in bands]
    assert sum(inside) >= 8
    low, high = calibration_slope(rows, "efron")[1:]
    assert low < 1.0 < high
    groups, test = risk_groups(rows, bands_of(rows, 4))
    assert test.p_value < 1e-9
    ratios = [g["hazard_ratio"] for g in groups]
    assert ratios == sorted(ratios)
    assert ratios[0] == 1.0


def test_entries_are_taken_into_account_by_d_calibration():
    seen, score = made(6000, seed=4)
    passed = np.exp(score) * (seen.time - 0.01)
    since = np.exp(score) * 0.1
    kept = passed > since  # those who were still there when they came under observation
    rows = rows_of(seen.take(np.flatnonzero(kept)), score[kept])
    order = np.flatnonzero(kept)[np.argsort(seen.time[kept], kind="stable")]
    survival, entered = np.exp(-passed[order]), np.exp(-since[order])
    assert d_calibration(rows, survival, entered)["p_value"] > 0.01
    assert d_calibration(rows, survival, np.ones(len(order)))["p_value"] < 1e-6


def test_a_band_that_nobody_was_seen_long_enough_in_is_not_told():
    time, event = np.array([1.0, 2.0, 3.0, 9.0]), np.array([True, False, True, True])
    rows = rows_of(FollowUp(time, event), np.array([2.0, 2.0, 1.0, 1.0]))
    low, high = calibration_at(rows, np.full(4, 0.5), 4.0, 2)
    assert high["observed"] is None
    assert low["observed"] == 0.5
