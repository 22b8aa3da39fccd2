"""Risk sets: derivatives of the likelihood, weights as repetition, baselines of other people."""

import numpy as np
import pytest

from rpte.losses.risk_sets import FollowUp, RiskSets
from survival_tables import tied_times

TIES = "efron", "breslow", "grouped"
FORMS = [{"entry": entry, "strata": strata} for entry in (False, True) for strata in (False, True)]


def risk_of(rows, weight=None, ties="efron"):
    return RiskSets.of(rows, np.ones(len(rows.time)) if weight is None else weight, ties)


def pulls(risk, score):
    """Return events minus the hazard that each row was exposed to."""
    exposure, events = risk.tangent(score)
    np.testing.assert_allclose(
        events - np.exp(score) * exposure,
        risk.event - np.exp(score) * risk.exposures(score),
        atol=1e-7,
    )
    return events - np.exp(score) * exposure


def scores_of(X):
    return (0.6 * X["a"] - 0.3 * X["c"]).to_numpy()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ties", TIES)
def test_events_minus_exposures_are_the_gradient_of_the_likelihood(ties, form, weighted):
    X, rows = tied_times(40, 3, **form)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 40) if weighted else np.ones(40)
    risk, score, step = risk_of(rows, weight, ties), scores_of(X), 1e-5
    found = weight * pulls(risk, score)
    for row in range(40):
        change = np.where(np.arange(40) == row, step, 0.0)
        high, low = risk.log_likelihood(score + change), risk.log_likelihood(score - change)
        assert found[row] == pytest.approx((high - low) / (2 * step), abs=2e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ties", TIES)
def test_a_whole_weight_is_repetition(ties, form):
    X, rows = tied_times(60, 4, **form)
    times = np.random.default_rng(2).integers(0, 4, 60)
    again = np.repeat(np.arange(60), times)
    one, many = risk_of(rows, times.astype(float), ties), risk_of(rows.take(again), None, ties)
    score = scores_of(X)
    np.testing.assert_allclose(one.baseline(score), many.baseline(score[again]), rtol=1e-12)
    for mine, theirs in zip(one.tangent(score), many.tangent(score[again]), strict=True):
        np.testing.assert_allclose(mine[again], theirs, rtol=1e-11)
    assert one.log_likelihood(score) == pytest.approx(many.log_likelihood(score[again]), rel=1e-12)


@pytest.mark.parametrize("ties", TIES)
def test_the_sum_of_hazards_over_rows_is_that_of_events(ties):
    X, rows = tied_times(80, 5, entry=True, strata=True)
    risk, score = risk_of(rows, None, ties), scores_of(X)
    assert pulls(risk, score).sum() == pytest.approx(0.0, abs=1e-9)
    if ties != "grouped":
        np.testing.assert_array_equal(risk.tangent(score)[1], rows.event)


def test_the_curvature_of_a_row_with_a_sure_event_is_that_of_its_interval():
    """Second differences of log(1 - exp(-u)) by the score, beside the hazard of the interval."""
    score = np.array([-1.0, 0.5, 2.0, 0.0])
    rows = FollowUp(np.ones(4), np.array([True, True, True, False]))
    risk, step = risk_of(rows, None, "grouped"), 1e-4
    hazard = risk.baseline(score)[0]

    def likelihood(s):
        return np.log(-np.expm1(-hazard * np.exp(s)))

    bent = likelihood(score + step) - 2 * likelihood(score) + likelihood(score - step)
    found = np.exp(score) * risk.tangent(score)[0]
    np.testing.assert_allclose(found[:3], -bent[:3] / step**2, rtol=1e-5)
    assert found[3] == pytest.approx(hazard)


@pytest.mark.parametrize("ties", TIES)
def test_scores_may_be_large_or_moved_together(ties):
    X, rows = tied_times(80, 6, strata=True)
    risk, score = risk_of(rows, None, ties), scores_of(X)
    moved = risk.baseline(score + 700.0) * np.exp(350.0) * np.exp(350.0)
    np.testing.assert_allclose(moved, risk.baseline(score), rtol=1e-10)
    if ties != "grouped":
        assert risk.log_likelihood(score + 700.0) == pytest.approx(risk.log_likelihood(score))


def naive_log_likelihood(rows, score, ties):
    """Straight from the definition, with loops (Efron 1977, Breslow 1974)."""
    total, since = 0.0, np.full(len(score), -1.0) if rows.entry is None else rows.entry
    for k in np.unique(rows.strata):
        mine = rows.strata == k
        for t in np.unique(rows.time[mine & rows.event]):
            dying = mine & rows.event & (rows.time == t)
            at_risk = np.exp(score[mine & (rows.time >= t) & (since < t)]).sum()
            own = np.exp(score[dying]).sum()
            total += score[dying].sum()
            for place in range(int(dying.sum())):
                part = place / dying.sum() if ties == "efron" else 0.0
                total -= np.log(at_risk - part * own)
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_the_likelihood_is_that_of_the_definition(ties, form):
    X, rows = tied_times(60, 7, **form)
    score = scores_of(X)
    expected = naive_log_likelihood(rows, score, ties)
    assert risk_of(rows, None, ties).log_likelihood(score) == pytest.approx(expected, rel=1e-12)


def test_without_effects_breslow_is_nelson_aalen_and_grouped_is_kaplan_meier():
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    rows = tied_times(200, 8)[1]
    null = np.zeros(200)
    times, expected = nonparametric.nelson_aalen_estimator(rows.event, rows.time)
    risk = risk_of(rows, None, "breslow")
    found = dict(zip(risk.times, risk.baseline(null), strict=True))
    told = dict(zip(times, expected, strict=True))
    np.testing.assert_allclose([told[t] for t in found], list(found.values()), rtol=1e-12)
    times, expected = nonparametric.kaplan_meier_estimator(rows.event, rows.time)
    grouped = np.exp(-risk_of(rows, None, "grouped").baseline(null))
    told = dict(zip(times, expected, strict=True))
    positive = np.array([told[t] for t in risk.times]) > 0.0  # at 0 the hazard has no end
    np.testing.assert_allclose(
        np.array([told[t] for t in risk.times])[positive], grouped[positive], rtol=1e-9
    )


def test_an_interval_that_nobody_survives_has_a_finite_hazard():
    rows = FollowUp(np.array([1.0, 2.0, 2.0]), np.array([True, True, True]))
    risk = risk_of(rows, None, "grouped")
    found = risk.baseline(np.zeros(3))
    assert np.isfinite(found).all()
    assert np.exp(-found[-1]) < 1e-12
    assert np.isfinite(np.array(risk.tangent(np.zeros(3)))).all()


def test_keys_tell_follow_ups_apart():
    time, event = np.array([1.0, 1.0, 2.0, 1.0, 0.0]), np.array([True, False, True, True, False])
    stratum = np.array([0, 0, 0, 1, 0])
    keys = FollowUp(time, event, None, stratum).keys()
    assert len(np.unique(keys)) == 5
    assert FollowUp(-0.0 * time, event).keys()[4] == FollowUp(0.0 * time, event).keys()[4]
    shifted = FollowUp(time, event, time / 2, stratum).keys()
    assert not np.isin(shifted, keys).any()


def test_an_interval_that_nobody_survives_says_nothing_of_scores():
    time, event = np.array([1.0, 1.0, 2.0, 2.0]), np.array([True, False, True, True])
    rows = FollowUp(time, event, np.array([0.0, 0.0, 1.0, 1.0]))
    risk = risk_of(rows, np.array([1.0, 2.0, 0.5, 1.5]), "grouped")
    score, other = np.array([0.3, -0.4, 5.0, -5.0]), np.array([0.3, -0.4, -20.0, 1.0])
    assert pulls(risk, score)[2:] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert risk.log_likelihood(score) == pytest.approx(risk.log_likelihood(other), abs=1e-12)


@pytest.mark.parametrize("spread", [1.0, 30.0, 200.0])
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_sums_of_hazards_that_differ_by_many_orders_of_magnitude(ties, spread):
    """In whole fractions, which lose nothing."""
    from fractions import Fraction

    rows = FollowUp(np.array([1.0, 1.0, 1.0, 2.0, 2.0, 3.0]), np.array([1, 1, 1, 1, 1, 0], bool))
    score = np.array([-spread, -spread + 1.0, -spread, 0.0, 0.5, -1.0])
    risk = [Fraction(float(np.exp(s))) for s in score]
    exposure = [Fraction(0)] * 6
    for time, dying in ((1.0, [0, 1, 2]), (2.0, [3, 4])):
        staying = [i for i in range(6) if rows.time[i] >= time]
        own, m = sum(risk[i] for i in dying), len(dying)
        for place in range(m):
            part = Fraction(place, m) if ties == "efron" else Fraction(0)
            step = 1 / (sum(risk[i] for i in staying) - part * own)
            for i in staying:
                exposure[i] += step * (1 - part) if i in dying else step
    found = risk_of(rows, None, ties).exposures(score)
    np.testing.assert_allclose(found, np.array(exposure, float), rtol=1e-11)


def test_scores_without_an_end_give_sums_that_have_one():
    X, rows = tied_times(50, 9)
    score = scores_of(X) * 1e4
    for ties in TIES:
        risk = risk_of(rows, None, ties)
        assert np.isfinite(risk.log_likelihood(score))
        assert np.isfinite(np.array(risk.tangent(score))).all()


def test_an_interval_that_hardly_anybody_survives_has_its_own_hazard():
    """One that stays, of the lowest risk: the hazard is beyond that of an empty interval."""
    n = 2000
    rows = FollowUp(np.ones(n), np.arange(n) > 0)
    score = np.where(np.arange(n) > 0, 0.0, -9.0)
    risk = risk_of(rows, None, "grouped")
    assert risk.baseline(score)[0] > 7.0
    score = np.concatenate([[-9.0], np.random.default_rng(0).normal(0.0, 3.0, n - 1)])
    assert risk.baseline(score)[0] * np.exp(score).mean() > 30.0
    assert pulls(risk, score).sum() == pytest.approx(0.0, abs=1e-5)
