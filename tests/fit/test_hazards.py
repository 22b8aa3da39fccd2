"""Stage 3 of hazards against scikit-survival and lifelines: coefficients, baselines, curves."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from data_folder import needs_data
from rpte import RPTESurvival, RPTEWarning
from survival_tables import gbsg2, made_times, strong_times, tied_times

ALMOST_NONE = 1e-10  # a penalty that moves no coefficient by more than 1e-9


def linear(l1=ALMOST_NONE, **parameters):
    """Return an estimator whose terms are the slopes of all numbers."""
    return RPTESurvival(vocabulary="original", max_trees=0, l1=l1, **parameters)


def slopes(estimator):
    return {term.sources[0]: term.coefficient for _, term in estimator.model_.parts()}


def structured(rows):
    return pytest.importorskip("sksurv.util").Surv.from_arrays(rows.event, rows.time)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("seed", [0, 1])
def test_unpenalised_coefficients_are_those_of_scikit_survival(ties, seed):
    peers = pytest.importorskip("sksurv.linear_model")
    X, rows = tied_times(250, seed)
    y = structured(rows)
    peer = peers.CoxPHSurvivalAnalysis(ties=ties, tol=1e-14).fit(X, y)
    found = slopes(linear(ties=ties).fit(X, y))
    np.testing.assert_allclose([found[name] for name in X], peer.coef_, atol=1e-6)


@pytest.mark.parametrize("entry", [False, True])
@pytest.mark.parametrize("strata", [False, True])
def test_unpenalised_coefficients_are_those_of_lifelines(entry, strata):
    lifelines = pytest.importorskip("lifelines")
    X, rows = tied_times(250, 2, entry, strata)
    table = X.assign(time=rows.time, event=rows.event)
    told = {}
    if entry:
        table, told["entry_col"] = table.assign(entry=rows.entry), "entry"
    if strata:
        table, told["strata"] = table.assign(clinic=rows.stratum), "clinic"
    exact = {"precision": 1e-13, "r_precision": 1e-15}
    peer = lifelines.CoxPHFitter().fit(table, "time", "event", fit_options=exact, **told)
    mine = linear().fit(X, (rows.event, rows.time), entry=rows.entry, strata=rows.stratum)
    found = slopes(mine)
    np.testing.assert_allclose([found[name] for name in X], peer.params_[list(X)], atol=1e-6)
    checks = mine.verify(X, (rows.event, rows.time), entry=rows.entry, strata=rows.stratum)
    assert all(check.holds is not False for check in checks)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("l1", [0.2, 0.06, 0.02])
def test_penalised_coefficients_are_those_of_coxnet(l1, l1_ratio):
    """Coxnet halves the deviance, and has no scales of columns."""
    peers = pytest.importorskip("sksurv.linear_model")
    X, rows = tied_times(300, 3)
    y = structured(rows)
    mine = linear(l1, ties="breslow", l1_ratio=l1_ratio).fit(X, y)
    parts = {term.sources[0]: term for _, term in mine.model_.parts()}
    scale = np.array([part.scale for part in parts.values()])
    told = {"alphas": [l1 / 2], "l1_ratio": l1_ratio, "tol": 1e-15, "max_iter": 1_000_000}
    peer = peers.CoxnetSurvivalAnalysis(**told).fit(X[list(parts)] / scale, y)
    found = [part.coefficient for part in parts.values()]
    np.testing.assert_allclose(found, peer.coef_[:, 0] / scale, atol=1e-6)


def test_baseline_and_curves_of_tied_times_are_those_of_scikit_survival():
    peers = pytest.importorskip("sksurv.linear_model")
    X, rows = tied_times(250, 4)
    y = structured(rows)
    peer = peers.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-15).fit(X, y)
    mine = linear(ties="breslow").fit(X, y)
    for name in ("predict_survival_function", "predict_cumulative_hazard_function"):
        expected, found = (getattr(each, name)(X[:20]) for each in (peer, mine))
        for theirs, ours in zip(expected, found, strict=True):
            np.testing.assert_allclose(ours(theirs.x), theirs(theirs.x), atol=1e-8)


@pytest.mark.parametrize("strata", [False, True])
def test_baseline_curves_and_medians_are_those_of_lifelines(strata):
    lifelines = pytest.importorskip("lifelines")
    X, rows = tied_times(250, 5, strata=strata)
    # Of ties lifelines has Efron's in the fit, but Breslow's in the baseline.
    time = rows.time + np.random.default_rng(0).permutation(250) / 1000.0
    table, told = X.assign(time=time, event=rows.event), {}
    if strata:
        table, told["strata"] = table.assign(clinic=rows.stratum), "clinic"
    exact = {"precision": 1e-13, "r_precision": 1e-15}
    peer = lifelines.CoxPHFitter().fit(table, "time", "event", fit_options=exact, **told)
    mine = linear().fit(X, (rows.event, time), strata=rows.stratum)
    times, some = mine.unique_times_[1:], slice(0, 30)  # lifelines' curves begin at the first
    strata_of = None if rows.stratum is None else rows.stratum[some]
    expected = peer.predict_survival_function(table[some], times=times).T.sort_index()
    found = mine.predict_survival_function(X[some], strata_of, return_array=True)[:, 1:]
    np.testing.assert_allclose(found, expected, atol=1e-8)
    median = peer.predict_median(table[some])
    median = np.asarray(median.sort_index(), float).reshape(-1)
    np.testing.assert_allclose(mine.predict_median(X[some], strata_of), median)


@pytest.mark.parametrize("strata", [False, True])
def test_with_entry_the_baseline_is_events_over_the_risk_of_those_under_observation(strata):
    """Lifelines and scikit-survival leave entry out of the baseline: by hand, with loops."""
    X, rows = tied_times(200, 6, entry=True, strata=strata)
    mine = linear(ties="breslow").fit(
        X, (rows.event, rows.time), entry=rows.entry, strata=rows.stratum
    )
    risk = np.exp(mine.predict(X))
    for k, steps in enumerate(mine.model_.target.baseline):
        total, here = 0.0, rows.strata == k
        for time, hazard in zip(steps.times, steps.hazard, strict=True):
            at_risk = here & (rows.time >= time) & (rows.entry < time)
            events = (here & rows.event & (rows.time == time)).sum()
            total += events / risk[at_risk].sum()
            assert hazard == pytest.approx(total, rel=1e-8)


@needs_data
def test_on_a_real_table_with_categories_taken_as_numbers():
    peers = pytest.importorskip("sksurv.linear_model")
    X, (event, time) = gbsg2()
    X = X.select_dtypes("number")
    y = pytest.importorskip("sksurv.util").Surv.from_arrays(event, time)
    peer = peers.CoxPHSurvivalAnalysis(ties="efron", tol=1e-14).fit(X, y)
    found = slopes(linear().fit(X, y))
    np.testing.assert_allclose([found[name] for name in X], peer.coef_, atol=1e-6)


def test_known_effects_are_recovered():
    X, y = made_times(4000, 0, effect=0.8)
    mine = RPTESurvival().fit(X, y)
    low, high = (pd.DataFrame({"a": [a], "b": [0.0], "c": [0.0]}) for a in (-1.0, 1.0))
    ratio = (mine.predict(high) - mine.predict(low))[0]
    assert ratio == pytest.approx(1.6, abs=0.15)
    truth = np.exp(-np.exp(0.8) * 1.0)  # a constant hazard of exp(0.8 a)
    assert mine.predict_survival_function(high)[0](1.0) == pytest.approx(truth, abs=0.04)
    assert set(mine.model_.sources) >= {"a"}


def test_survival_of_new_rows_is_uniform_where_the_truth_is_known():
    """D-calibration: of rows with their whole time seen, survival at the time is uniform."""
    X, y = made_times(4000, 1)
    mine = RPTESurvival().fit(X, y)
    new = made_times(4000, 2)[0]
    latent = np.random.default_rng(3).exponential(np.exp(-new["a"].to_numpy()))
    end = mine.model_.target.end
    curves = mine.predict_survival_function(new)
    found = np.array([curve(min(t, end)) for curve, t in zip(curves, latent, strict=True)])
    last = np.array([curve(end) for curve in curves])
    for level in np.linspace(0.1, 0.9, 9):
        reached = last < level  # by the end of the follow-up, so that all of these are known
        assert np.mean(found[reached] > level) == pytest.approx(1.0 - level, abs=0.03)


@pytest.mark.parametrize("parameters", [{}, {"ties": "breslow"}, {"loss": "discrete"}])
def test_the_fit_is_an_optimum_of_the_partial_likelihood(parameters):
    """The gradient of the likelihood by each slope is the penalty, or below it."""
    X, rows = tied_times(300, 6)
    mine = RPTESurvival(vocabulary="original", max_trees=0, l1=0.03, **parameters)
    mine.fit(X, (rows.event, rows.time))
    objective = mine.model_.training["objective"]
    assert objective["converged"]
    assert objective["kkt_residual"] <= objective["tolerance"]
    checks = mine.verify(X, (rows.event, rows.time))
    assert all(check.holds is not False for check in checks)


STRONG = made_times(1500, 4, effect=4.0)


@cache
def strong(**parameters):
    return RPTESurvival(vocabulary="original", max_trees=0, l1=1e-5, **parameters).fit(*STRONG)


@pytest.mark.parametrize("parameters", [{}, {"ties": "breslow"}, {"loss": "discrete"}])
def test_strong_effects_converge(parameters):
    mine = strong(**parameters)
    assert mine.model_.training["objective"]["converged"]
    assert all(check.holds for check in mine.verify(*STRONG))


def test_strong_effects_are_those_of_scikit_survival():
    peers = pytest.importorskip("sksurv.linear_model")
    X, y = STRONG
    surv = pytest.importorskip("sksurv.util").Surv.from_arrays(*y)
    peer = peers.CoxPHSurvivalAnalysis(ties="efron", tol=1e-12).fit(X, surv)
    found = slopes(strong())
    np.testing.assert_allclose([found[name] for name in X], peer.coef_, atol=1e-3)


FORMS = [{}, {"ties": "breslow"}, {"loss": "discrete"}, {"l1": 0.01}]


def assert_optimum(X, y, parameters):
    mine = RPTESurvival(**parameters).fit(X, y)
    objective = mine.model_.training["objective"]
    assert objective["converged"]
    assert objective["kkt_residual"] <= objective["tolerance"]
    assert all(check.holds is not False for check in mine.verify(X, y))


@pytest.mark.parametrize("parameters", FORMS)
@pytest.mark.parametrize("tied", [False, True])
def test_times_that_a_column_gives_away(parameters, tied):
    assert_optimum(*strong_times(100, 0, 0.1, 0.8, tied), parameters)


@pytest.mark.slow(reason="96 fits with inner validation")
@pytest.mark.parametrize("parameters", FORMS)
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("tied", [False, True])
def test_all_kinds_of_strong_times(parameters, noise, share, tied):
    assert_optimum(*strong_times(300, 1, noise, share, tied), parameters)


@pytest.mark.parametrize(
    ("form", "raised"),
    [
        ({}, True),
        ({"shapes": "free"}, True),
        ({"loss": "discrete", "shapes": "free"}, True),
        ({"loss": "discrete"}, False),  # effects that end inside the data stay within range
    ],
)
def test_scores_that_no_baseline_can_be_stored_for_are_said(form, raised, caplog):
    """Times in the order of a column: without a penalty its slope has no end."""
    X, y = strong_times(100, 0, 0.0, 1.0)
    settings = {"vocabulary": "original", "max_trees": 0, **form}
    with pytest.warns(RPTEWarning, match=r"did not converge.*l1=1e-07.*such as l1=2e-07"):
        RPTESurvival(l1=1e-7, **settings).fit(X, y)
    with caplog.at_level("WARNING", logger="rpte"):
        mine = RPTESurvival(**form).fit(X, y)
    assert ("the penalty is raised to" in caplog.text) == raised
    assert mine.model_.training["objective"]["converged"]
    assert all(check.holds is not False for check in mine.verify(X, y))


def test_causes_that_a_column_gives_away():
    X, (_, time) = strong_times(100, 2, 0.1, 1.0)
    status = np.where(X["b"] > 0.5, 0, np.where(X["b"] > -0.3, 1, 2))
    mine = RPTESurvival(l1=0.01).fit(X, (status, time))
    for model in mine.model_.models:
        assert model.training["objective"]["converged"]
    assert all(check.holds is not False for check in mine.verify(X, (status, time)))
