"""Schoenfeld residuals: against lifelines, and hazards that do change over time."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTESurvival
from rpte.audit.proportional_hazards import proportional, schoenfeld, smooth, terms_of
from rpte.losses.risk_sets import FollowUp


def made(n, change, ties=False, seed=0):
    """Return two numbers and outcomes; the effect of the first may change at time 0.5."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    early, late = np.exp(0.8 * x[:, 0] + 0.5 * x[:, 1]), np.exp(change * x[:, 0] + 0.5 * x[:, 1])
    need = rng.exponential(size=n)
    time = np.where(need < 0.5 * early, need / early, 0.5 + (need - 0.5 * early) / late)
    event = time <= 2.0
    time = np.minimum(time, 2.0)
    return x, FollowUp(np.ceil(time * 40) / 40 if ties else time, event)


def of_fit(x, seen, weight=None, strata=False):
    lifelines = pytest.importorskip("lifelines")
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(time=seen.time, event=seen.event)
    frame = frame.assign(group=seen.strata) if strata else frame
    fitter = lifelines.CoxPHFitter()
    fitter.fit(frame, "time", "event", strata="group" if strata else None)
    beta = fitter.params_.to_numpy()
    weight = np.ones(len(x)) if weight is None else weight
    return fitter, frame, schoenfeld(seen, weight, "efron", x, beta)


@pytest.mark.parametrize("change", [0.8, 0.0])
def test_residuals_are_those_of_lifelines_and_so_is_the_test_but_for_its_variance(change):
    statistics = pytest.importorskip("lifelines.statistics")
    fitter, frame, found = of_fit(*made(2000, change))
    scaled = fitter.compute_residuals(frame, "scaled_schoenfeld").sort_index()
    order = np.lexsort((scaled.index, frame.time[scaled.index]))
    assert found.estimates == pytest.approx(found.coefficients, abs=1e-4)
    assert found.scaled - found.estimates == pytest.approx(scaled.to_numpy()[order], abs=1e-4)
    frame = frame.sort_values("time")  # its ranks are by place
    fitter.fit(frame, "time", "event")
    expected = statistics.proportional_hazard_test(fitter, frame, "rank")
    for k in range(2):
        told = proportional(found, k)
        if expected.test_statistic.iloc[k] > 10:
            assert told["statistic"] == pytest.approx(expected.test_statistic.iloc[k], rel=0.2)
        else:
            assert told["statistic"] < 10


def naive_test(x, seen, weight, beta):
    """Return the score test of coefficients that change with the rank of time, event by event."""
    events = np.flatnonzero(seen.event)
    total = weight[events].sum()
    k = x.shape[1]
    gradient, information = np.zeros(2 * k), np.zeros((2 * k, 2 * k))
    for i in events:
        earlier = weight[events][seen.time[events] < seen.time[i]].sum()
        here = weight[events][seen.time[events] == seen.time[i]].sum()
        rank = (earlier + 0.5 * here) / total
        risk = np.flatnonzero(seen.time >= seen.time[i])
        share = weight[risk] * np.exp(x[risk] @ beta)
        share /= share.sum()
        z = np.hstack([x, rank * x])
        mean = share @ z[risk]
        gradient += weight[i] * (z[i] - mean)
        information += weight[i] * ((share[:, None] * z[risk]).T @ z[risk] - np.outer(mean, mean))
    own, cross, both = information[:k, :k], information[k:, :k], information[k:, k:]
    inverse = np.linalg.inv(own)
    apart = gradient[k:] - cross @ inverse @ gradient[:k]
    return apart**2 / np.diag(both - cross @ inverse @ cross.T)


@pytest.mark.parametrize("ties", [False, True])
def test_the_test_is_the_score_test_event_by_event(ties):
    x, seen = made(120, 0.0, ties)
    weight = np.random.default_rng(1).integers(1, 3, 120).astype(float)
    beta = np.array([0.3, 0.2])  # shrunken
    found = schoenfeld(seen, weight, "breslow", x, beta)
    assert found.statistic == pytest.approx(naive_test(x, seen, weight, found.estimates), rel=1e-8)


def test_strata_have_risk_sets_of_their_own():
    x, seen = made(400, 0.8)
    seen = seen._replace(stratum=np.random.default_rng(0).integers(0, 2, 400))
    fitter, frame, found = of_fit(x, seen, strata=True)
    assert found.variance == pytest.approx(fitter.standard_errors_.to_numpy() ** 2, rel=1e-4)
    plain = fitter.compute_residuals(frame, "schoenfeld")
    each = plain.to_numpy() @ fitter.variance_matrix_.to_numpy() * seen.event.sum()
    assert np.sort(found.scaled[:, 0] - found.coefficients[0]) == pytest.approx(
        np.sort(each[:, 0]), abs=1e-4
    )


def test_ties_are_taken_as_in_the_fit():
    fitter, _, found = of_fit(*made(400, 0.8, ties=True))
    assert found.scaled.mean(axis=0) == pytest.approx(found.coefficients, abs=1e-4)
    assert found.variance == pytest.approx(fitter.standard_errors_.to_numpy() ** 2, rel=0.02)


def test_weights_are_repetitions():
    x, seen = made(150, 0.0, ties=True)
    weight = np.random.default_rng(1).integers(0, 4, 150)
    rows, beta = np.repeat(np.arange(150), weight), np.array([0.5, 0.4])
    one = schoenfeld(seen, weight.astype(float), "efron", x, beta)
    ones = np.ones(len(rows))
    many = schoenfeld(seen.take(rows), ones, "efron", x[rows], beta)
    assert one.variance == pytest.approx(many.variance)
    for k in range(2):
        told, expected = (proportional(f, k) for f in (one, many))
        assert told == pytest.approx(expected)


def test_an_effect_that_fades_is_found_with_its_sign_and_drawn():
    x, seen = made(1500, 0.0, seed=2)
    beta = np.array([0.4, 0.5])
    found = schoenfeld(seen, np.ones(1500), "efron", x, beta)
    fading, steady = (proportional(found, k) for k in range(2))
    assert fading["p_value"] < 1e-6
    assert fading["correlation"] < 0.0
    assert steady["p_value"] > 0.01
    line = smooth(found, 0)
    assert line["value"][0] > 0.5 > line["value"][-1]
    assert line["low"][0] < line["value"][0] < line["high"][0]
    assert line["time"] == sorted(line["time"])


def test_rare_terms_whose_rows_are_gone_early_are_not_taken_for_changes():
    values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = (rng.random((300, 1)) < 0.05).astype(float)
        time = rng.exponential(np.exp(-2.0 * x[:, 0]))
        seen = FollowUp(time, np.ones(300, bool))
        beta = np.array([1.0])  # shrunken
        found = schoenfeld(seen, np.ones(300), "efron", x, beta)
        values.append(proportional(found, 0)["p_value"])
    assert np.mean(np.array(values) < 0.05) < 0.15
    assert min(values) > 1e-5


def test_p_values_are_even_where_hazards_are_proportional():
    values = []
    for seed in range(40):
        x, seen = made(300, 0.8, seed=seed)
        found = schoenfeld(seen, np.ones(300), "efron", x, np.array([0.6, 0.4]))
        values += [proportional(found, k)["p_value"] for k in range(2)]
    assert np.mean(np.array(values) < 0.05) < 0.15
    assert 0.35 < np.mean(values) < 0.65


def test_a_term_that_does_not_vary_is_not_tested():
    x, seen = made(100, 0.8)
    x[:, 1] = 1.0
    beta = np.array([0.5, 0.1])
    found = schoenfeld(seen, np.ones(100), "efron", x, beta)
    assert proportional(found, 1) is None
    once = FollowUp(np.where(seen.event, 1.0, 2.0), seen.event)
    assert proportional(schoenfeld(once, np.ones(100), "efron", x, beta), 0) is None


def test_terms_of_a_model_add_up_to_its_score():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.normal(size=500), "b": rng.choice(["u", "v", "w"], 500)})
    high = (X["a"] > 0.3) & (X["b"] == "u")
    time = rng.exponential(np.exp(-1.5 * high - 0.4 * X["a"]))
    y = (time < 1.0, np.minimum(time, 1.0))
    model = RPTESurvival(l1=0.005).fit(X, y).model_
    names, texts, values, sizes = terms_of(model, model.read(X))
    assert names == [rule.term for rule in model.rules()]
    assert len(texts) == len(names) > 1
    score = model.intercept + values @ sizes
    assert np.ptp(model.score(X) - score) < 1e-9
