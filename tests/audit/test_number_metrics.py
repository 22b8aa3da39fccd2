"""The measures of numbers against scikit-learn's, and Lorenz curves made by hand."""

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import (
    auc,
    d2_tweedie_score,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from rpte.audit.number_metrics import (
    NUMBER_MEASURES,
    deviance_explained,
    gini,
    measured_numbers,
    number_measures,
    rank_numbers,
)
from rpte.losses import GAMMA, POISSON, SQUARED, TWEEDIE
from rpte.model.target import NumberTarget, TargetUnits

LOSSES = (SQUARED, POISSON, GAMMA, TWEEDIE)


def drawn(loss, seed=0, n=300):
    """Return scores, numbers that fit them a little, weights, exposures and offsets."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n).round(1)  # with ties
    offset = rng.normal(size=n) / 3
    exposure = rng.uniform(0.2, 3.0, n)
    if loss is SQUARED:
        y = 5.0 + score + rng.normal(size=n)
    elif loss is GAMMA:
        y = np.exp(score + offset) * exposure * rng.gamma(2.0, 0.5, n)
    else:
        y = rng.poisson(np.exp(score + offset) * exposure).astype(float)
    return score, y, rng.integers(1, 4, n) / 2, exposure, offset


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_single_numbers_are_those_of_scikit_learn(loss):
    score, y, weight, _, _ = drawn(loss)
    score = score + 5.0 if loss is SQUARED else score
    found = number_measures(NumberTarget(loss, 0.0), score, y, weight)
    mean, given = loss.response(score), {"sample_weight": weight}
    power = getattr(loss, "power", 0.0)
    explained = d2_tweedie_score(y, mean, power=power, **given)
    assert found["deviance_explained"] == pytest.approx(explained)
    assert found["r2"] == pytest.approx(r2_score(y, mean, **given))
    assert found["mae"] == pytest.approx(mean_absolute_error(y, mean, **given))
    assert found["rmse"] == pytest.approx(root_mean_squared_error(y, mean, **given))
    total = np.average(mean, weights=weight) / np.average(y, weights=weight)
    assert found["calibration_ratio"] == pytest.approx(total)


@pytest.mark.parametrize("loss", LOSSES[1:], ids=lambda loss: loss.name)
def test_exposure_multiplies_the_mean_and_offset_adds_to_the_score(loss):
    score, y, weight, exposure, offset = drawn(loss)
    found = number_measures(NumberTarget(loss, 0.0), score, y, weight, exposure, offset)
    mean = np.exp(score + offset) * exposure
    given = {"sample_weight": weight}
    assert found["mae"] == pytest.approx(mean_absolute_error(y, mean, **given))
    assert found["rmse"] == pytest.approx(root_mean_squared_error(y, mean, **given))
    assert found["calibration_ratio"] == pytest.approx((weight @ mean) / (weight @ y))
    times = exposure * np.exp(offset)
    share = {"sample_weight": weight * times ** (2.0 - loss.power), "power": loss.power}
    explained = d2_tweedie_score(y / times, np.exp(score), **share)
    assert found["deviance_explained"] == pytest.approx(explained)
    if loss is POISSON:  # a rate weighted by its exposure is the same as a count with it
        rates = {"score": score, "y": y / exposure, "weight": weight * exposure}
        same = number_measures(NumberTarget(loss, 0.0), **rates, offset=offset)
        assert same["deviance_explained"] == pytest.approx(found["deviance_explained"])
        assert same["gini"] == pytest.approx(found["gini"])


def test_gini_is_the_area_of_a_lorenz_curve():
    rng = np.random.default_rng(1)
    rate, exposure = rng.permutation(200) / 200, rng.uniform(0.1, 1.0, 200)
    y = rng.poisson(3 * rate * exposure).astype(float)
    order = np.argsort(rate)
    x = np.concatenate([[0.0], np.cumsum(exposure[order]) / exposure.sum()])
    held = np.concatenate([[0.0], np.cumsum(y[order]) / y.sum()])
    found = gini(rate, y, np.ones(200), exposure)
    assert found == pytest.approx(1 - 2 * auc(x, held))
    assert 0.1 < found < 1
    assert gini(-rate, y, np.ones(200), exposure) == pytest.approx(-found)


def gini_of_pairs(rate, y, weight, exposure):
    """The definition over all pairs of rows: y of the higher less y of the lower, by exposure."""
    above = np.sign(rate[None, :] - rate[:, None])  # row j against row i
    pairs = (weight * exposure)[:, None] * (weight * y)[None, :] * above
    return pairs.sum() / ((weight * exposure).sum() * (weight * y).sum())


@pytest.mark.parametrize("seed", range(5))
def test_gini_is_that_of_all_pairs_of_rows(seed):
    score, y, weight, exposure, offset = drawn(POISSON, seed, 120)
    found = number_measures(NumberTarget(POISSON, 0.0), score, y, weight, exposure, offset)
    rate = np.exp(score + offset)
    assert found["gini"] == pytest.approx(gini_of_pairs(rate, y, weight, exposure))
    tied = number_measures(NumberTarget(POISSON, 0.0), score, y, weight, exposure)
    assert len(set(score)) < 60  # ties
    assert tied["gini"] == pytest.approx(gini_of_pairs(score, y, weight, exposure))
    best = gini_of_pairs(y / exposure, y, weight, exposure)
    assert tied["gini_normalised"] == pytest.approx(tied["gini"] / best)


def test_no_order_is_better_than_that_of_the_numbers_themselves():
    y = np.array([0.5, 0.0, 3.0, 1.0])
    found = number_measures(NumberTarget(TWEEDIE, 0.0), np.log(y + 1), y, np.ones(4))
    assert found["gini_normalised"] == pytest.approx(1.0)


def test_the_calibration_slope_is_that_of_a_fit_on_the_score():
    score, y, weight, exposure, _ = drawn(POISSON)
    found = number_measures(NumberTarget(POISSON, 0.0), 2 * score, y, weight, exposure)
    glm = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=1000)
    glm.fit(2 * score[:, None], y / exposure, sample_weight=weight * exposure)
    assert found["calibration_slope"] == pytest.approx(glm.coef_[0], rel=1e-5)
    assert found["calibration_slope"] < 0.7  # scores are twice too far apart
    score, y, weight, _, offset = drawn(SQUARED)
    target = NumberTarget(SQUARED, 0.0, units=TargetUnits(5000.0, 2000.0))
    found = number_measures(target, 7e3 * score, 1e3 * y, weight, None, offset)
    slope = np.polyfit(7e3 * score, 1e3 * y - offset, 1, w=np.sqrt(weight))[0]
    assert found["calibration_slope"] == pytest.approx(slope)
    flat = number_measures(NumberTarget(POISSON, 0.0), np.zeros(3), np.arange(3.0), np.ones(3))
    assert flat["calibration_slope"] is None


def test_measures_that_are_named_are_the_same_alone():
    rows = rank_numbers(NumberTarget(GAMMA, 0.0), *drawn(GAMMA))
    everything = measured_numbers(rows)
    assert list(everything) == list(NUMBER_MEASURES)
    assert measured_numbers(rows, ["gini", "mae"]) == {k: everything[k] for k in ("gini", "mae")}


def test_gini_by_hand():
    one = np.ones(4)
    y = np.array([0.0, 0.0, 0.0, 8.0])
    assert gini(np.array([1.0, 2.0, 3.0, 4.0]), y, one, one) == pytest.approx(0.75)
    assert gini(np.array([4.0, 3.0, 2.0, 1.0]), y, one, one) == pytest.approx(-0.75)
    assert gini(one, y, one, one) == pytest.approx(0.0)  # nothing is told apart
    tied = np.array([1.0, 1.0, 2.0, 2.0])
    assert gini(tied, y, one, one) == gini(tied, y[[0, 1, 3, 2]], one, one) == pytest.approx(0.5)
    # A weight of two is the same row twice.
    twice = gini(np.array([1.0, 2.0, 2.0]), np.array([1.0, 3.0, 3.0]), np.ones(3), np.ones(3))
    weight = np.array([1.0, 2.0])
    assert gini(np.array([1.0, 2.0]), np.array([1.0, 3.0]), weight, weight) == pytest.approx(twice)


def test_what_rows_do_not_define_is_none():
    one = np.ones(3)
    same = number_measures(NumberTarget(POISSON, 0.0), np.zeros(3), one, one)
    assert (same["deviance_explained"], same["r2"]) == (None, None)
    assert (same["mae"], same["calibration_ratio"], same["gini"]) == (0.0, 1.0, 0.0)
    none = number_measures(NumberTarget(POISSON, 0.0), np.zeros(3), np.zeros(3), one)
    assert (none["calibration_ratio"], none["gini"]) == (None, None)
    y = np.array([-1.0, 0.0, 4.0])
    assert number_measures(NumberTarget(SQUARED, 0.0), y, y, one)["gini"] is None
    assert deviance_explained(SQUARED, y, y, one) == 1.0
