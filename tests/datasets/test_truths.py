"""The truth is the truth: outcomes follow it, and fits with defaults find it again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from rpte import RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.audit.survival_metrics import concordance
from rpte.datasets import make_claims, make_credit, make_trial
from rpte.datasets.draws import choose, exponential, normal, poisson, streams, whole

MANY = 200_000
TENTHS = 10


def tenths(score):
    """Return which tenth of the scores each row is in."""
    return pd.qcut(score, TENTHS, labels=False, duplicates="drop")


@pytest.fixture(scope="module")
def credit():
    return make_credit(MANY, random_state=5)


@pytest.fixture(scope="module")
def claims():
    return make_claims(MANY, random_state=5)


@pytest.mark.slow(reason="draws large tables")
def test_defaults_are_as_frequent_as_the_truth_says(credit):
    chance, defaulted = credit.truth.response(credit.X), (credit.y == "yes").to_numpy()
    for tenth in range(TENTHS):
        inside = tenths(chance) == tenth
        expected, n = chance[inside].mean(), inside.sum()
        spread = np.sqrt(1.05 * expected * (1 - expected) / n)  # equal rows count twice
        assert abs(defaulted[inside].mean() - expected) < 4 * spread


@pytest.mark.slow(reason="draws large tables")
def test_the_best_possible_auc_of_credit(credit):
    """Of a perfect score the AUC follows from the probabilities alone."""
    chance, defaulted = credit.truth.response(credit.X), (credit.y == "yes").to_numpy()
    order = np.argsort(chance)
    p = chance[order]
    expected = np.sum(p * (np.cumsum(1 - p) - (1 - p) / 2)) / (p.sum() * (1 - p).sum())
    assert roc_auc_score(defaulted, chance) == pytest.approx(expected, abs=0.005)
    assert 0.77 < expected < 0.81


@pytest.mark.slow(reason="draws large tables")
def test_claims_are_as_frequent_as_the_truth_says(claims):
    rate = claims.truth.response(claims.X)
    mean, of_row = rate * claims.exposure.to_numpy(), tenths(rate)
    for tenth in range(TENTHS):
        inside = of_row == tenth
        ratio = claims.y[inside].sum() / mean[inside].sum()
        assert abs(ratio - 1) < 5 / np.sqrt(mean[inside].sum())


@pytest.mark.slow(reason="draws large tables")
def test_claims_have_more_zeros_than_poisson(claims):
    mean = claims.truth.response(claims.X) * claims.exposure.to_numpy()
    expected = np.exp(-mean)
    zeros = (claims.y == 0).sum() - expected.sum()
    assert zeros > 5 * np.sqrt((expected * (1 - expected)).sum())


def test_claims_cost_what_the_truth_says(claims):
    mean = claims.amount_truth.response(claims.X)
    for tenth in range(TENTHS):
        inside = (tenths(mean) == tenth) & (claims.y > 0)
        if inside.sum() > 100:
            ratio = claims.amounts[inside].sum() / (mean * claims.y)[inside].sum()
            assert abs(ratio - 1) < 4 / np.sqrt(2 * claims.y[inside].sum())


@pytest.mark.parametrize("late_entry", [False, True])
def test_deaths_are_as_frequent_as_the_truth_says(late_entry):
    """Cumulated true hazards have as many events as deaths, in every tenth (a martingale)."""
    data = make_trial(50_000, random_state=5, late_entry=late_entry)
    score = data.truth.score(data.X)
    start = data.entry.to_numpy() if late_entry else np.zeros(len(score))
    days = data.y["days"].to_numpy()
    hazard = ((days / 2600) ** 1.2 - (start / 2600) ** 1.2) * np.exp(score)
    for tenth in range(TENTHS):
        inside = tenths(score) == tenth
        deaths = data.y["died"].to_numpy()[inside].sum()
        assert abs(deaths - hazard[inside].sum()) < 5 * np.sqrt(deaths)


def test_countries_differ_in_their_baselines_alone():
    data = make_trial(50_000, random_state=5, strata=True)
    rate = data.y["died"].groupby(data.strata).sum() / data.y["days"].groupby(data.strata).sum()
    assert rate["Italy"] > 1.5 * rate["Denmark"] > 2 * rate["Japan"]


@pytest.mark.parametrize(
    ("cells", "score"),
    [
        ({"age": 25}, 1.0),
        ({"age": 70}, 0.0),
        ({"income": np.nan}, 0.3),
        ({"income": 9999999}, 0.8),
        ({"income": 5000}, -0.9 * np.log(2)),
        ({"checking": " <0"}, 1.0),
        ({"checking": None}, 0.2),
        ({"duration": 36, "savings": "none"}, 0.96),
        ({"duration": 36, "savings": "over 5000"}, -0.6),
        ({"months_since_delinquency": 18}, 1.2),
        ({"months_since_delinquency": 0}, 1.8),
        ({"other_loans": 2}, 0.8),
        ({"purpose": "BUSINESS"}, 0.6),
        ({"existing_customer": True}, -0.4),
    ],
)
def test_the_truth_of_credit_by_hand(cells, score):
    """Each against an applicant of whom nothing is said but -9, which subtracts 0.6."""
    base = {"age": 50, "income": 2500.0, "checking": ">=200", "savings": "under 1000"}
    base |= {"duration": 6, "purpose": "car", "months_since_delinquency": -9, "other_loans": 0}
    base |= {"existing_customer": False, "amount": 1000, "region": "west"}
    truth = make_credit(1).truth
    first, second = truth.score(pd.DataFrame([base, base | cells]).astype({"checking": object}))
    assert second - first == pytest.approx(score)


@pytest.mark.slow(reason="a default fit of thousands of rows, which finds the truth or not")
def test_a_default_fit_finds_the_truth_of_credit():
    data, new = make_credit(), make_credit(5000, random_state=1)
    clf = RPTEClassifier(special_values=data.special_values).fit(data.X, data.y)
    best = roc_auc_score(new.y, new.truth.score(new.X))
    assert roc_auc_score(new.y, clf.predict_proba(new.X)[:, 1]) > best - 0.015
    # Longer loans are larger, so that the group may be told of the amount (a false find).
    assert any({"savings"} < set(c.sources) for c in clf.model_.components)
    free = clone(clf).set_params(shapes="free").fit(data.X, data.y)
    components = [set(c.sources) for c in free.model_.components]
    assert {"duration", "savings"} in components
    assert not {"region", "amount"} & set().union(*components)


@pytest.mark.slow(reason="a default fit of thousands of rows, which finds the truth or not")
def test_a_default_fit_finds_the_truth_of_claims():
    data, new = make_claims(), make_claims(random_state=1)
    reg = RPTERegressor(loss="poisson", special_values=data.special_values)
    reg.fit(data.X, data.y, exposure=data.exposure)
    found, true = reg.linear_predictor(new.X), new.truth.score(new.X)
    assert np.corrcoef(found, true)[0, 1] > 0.94
    # The interaction is within the gains of chance (docs/method.md); free shapes take the chance.
    free = clone(reg).set_params(shapes="free").fit(data.X, data.y, exposure=data.exposure)
    assert any({"driver_age", "vehicle_power"} <= set(c.sources) for c in free.model_.components)


@pytest.mark.slow(reason="a default fit of thousands of rows, which finds the truth or not")
@pytest.mark.parametrize("strata", [False, True])
def test_a_default_fit_finds_the_truth_of_the_trial(strata):
    data = make_trial(strata=strata, late_entry=strata)
    new = make_trial(3000, random_state=1)
    est = RPTESurvival(special_values=data.special_values)
    est.fit(data.X, data.y, groups=data.groups, strata=data.strata, entry=data.entry)
    died, days = new.y["died"].to_numpy(), new.y["days"].to_numpy(float)
    best = concordance(died, days, new.truth.score(new.X))
    assert concordance(died, days, est.predict(new.X)) > best - 0.02
    if strata:  # with late entry fewer rows are at risk
        return
    # The interaction is within the gains of chance (docs/method.md); free shapes take the chance.
    free = clone(est).set_params(shapes="free").fit(data.X, data.y, groups=data.groups)
    assert any({"treatment", "biomarker"} <= set(c.sources) for c in free.model_.components)


def test_draws_have_the_moments_of_their_distributions():
    random, _, _ = streams(1, 3)
    assert normal(random, MANY).mean() == pytest.approx(0, abs=0.01)
    assert normal(random, MANY).std() == pytest.approx(1, abs=0.01)
    assert exponential(random, MANY).mean() == pytest.approx(1, abs=0.01)
    assert sorted(set(whole(random, MANY, -1, 2).tolist())) == [-1, 0, 1, 2]
    counts = poisson(random, np.full(MANY, 2.5))
    assert counts.mean() == pytest.approx(2.5, abs=0.02)
    assert counts.var() == pytest.approx(2.5, abs=0.05)
    texts = choose(random, MANY, {"a": 1, "b": 3})
    assert np.mean(texts == "b") == pytest.approx(0.75, abs=0.01)
