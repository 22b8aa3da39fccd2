"""Bands of predictions and double lift, on made rows of which the truth is known."""

from itertools import pairwise

import numpy as np
import pytest

from rpte import InputError
from rpte.audit.lift import as_predicted, band, double_lift, prediction_bands
from rpte.audit.number_metrics import measured_numbers, number_measures, rank_numbers
from rpte.losses import POISSON, SQUARED
from rpte.model.target import NumberTarget

COUNTS, NUMBERS = NumberTarget(POISSON, 0.0), NumberTarget(SQUARED, 0.0)


def portfolio(n=40_000, seed=0):
    """Return two risk factors as scores, exposures, weights and counts whose rate is known."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.0, 0.5, (2, n)).round(1)
    exposure, weight = rng.uniform(0.2, 1.0, n), rng.integers(0, 3, n).astype(float)
    return first, second, exposure, weight, rng.poisson(np.exp(first + second) * exposure)


def ranked(score, n=40_000):
    _, _, exposure, weight, y = portfolio(n)
    return rank_numbers(COUNTS, score, y.astype(float), weight, exposure)


def test_bands_hold_every_row_once_in_order_and_add_up():
    first, second, *_ = portfolio()
    rows = ranked(first + second)
    bands = prediction_bands(rows)
    assert len(bands) == 10
    assert sorted(np.concatenate(bands).tolist()) == list(range(len(rows.y)))
    rates = [rows.rate[inside] for inside in bands]
    assert all(low.max() < high.min() for low, high in pairwise(rates))
    found = [band(rows, inside) for inside in bands]
    whole = band(rows, np.arange(len(rows.y)))
    for key in ("observed", "predicted"):
        total = sum(each["exposure"] * each[key] for each in found)
        assert total == pytest.approx(whole["exposure"] * whole[key])
    assert sum(each["rows"] for each in found) == (rows.weight > 0).sum()
    assert [each["exposure"] / whole["exposure"] for each in found] == pytest.approx(
        [0.1] * 10, abs=0.03
    )
    measures = measured_numbers(rows)
    assert whole["observed"] == pytest.approx(measures["observed"])
    assert whole["ratio"] == pytest.approx(measures["calibration_ratio"])


def test_a_band_is_what_its_rows_add_up_to():
    y, weight, exposure = np.array([0.0, 2.0, 1.0]), np.array([1.0, 2.0, 0.0]), np.full(3, 0.5)
    rows = rank_numbers(COUNTS, np.zeros(3), y, weight, exposure)
    found = band(rows, np.array([0, 1, 2]))
    assert (found["rows"], found["exposure"]) == (2, 1.5)
    assert (found["observed"], found["predicted"]) == (pytest.approx(4 / 1.5), 1.0)
    assert found["residual"] == pytest.approx(4 / 1.5 - 1.0)
    repeated = rank_numbers(COUNTS, np.zeros(3), np.array([0.0, 2.0, 2.0]), np.ones(3), exposure)
    again = band(repeated, np.arange(3))
    assert (again["low"], again["high"]) == pytest.approx((found["low"], found["high"]))
    assert band(rows, np.array([2])) == {"rows": 0, "exposure": 0.0}
    assert band(rows, np.array([0]))["low"] is None  # nothing spreads


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, inside = np.random.default_rng(1), 0
    for _ in range(300):
        exposure = rng.uniform(0.1, 2.0, 400)
        y = rng.poisson(0.7 * exposure).astype(float)
        rows = rank_numbers(COUNTS, np.zeros(400), y, np.ones(400), exposure)
        found = band(rows, np.arange(400))
        inside += found["low"] <= 0.7 <= found["high"]
    assert 0.91 <= inside / 300 <= 0.98


def test_double_lift_finds_the_model_that_knows_more():
    first, second, *_ = portfolio()
    truth, half = ranked(first + second), ranked(first)
    found = double_lift(truth, half)
    assert len(found["bands"]) == 10
    # Where they differ, what was observed follows the truth and not the other model.
    assert found["gap"] < 0.1 * found["other_gap"]
    for each in found["bands"]:
        assert each["predicted"] == pytest.approx(each["observed"], rel=0.15)
    low, high = found["bands"][0], found["bands"][-1]
    assert low["observed"] < 0.6 * low["other"]
    assert high["observed"] > 1.5 * high["other"]
    turned = double_lift(half, truth)
    assert (turned["gap"], turned["other_gap"]) == pytest.approx(
        (found["other_gap"], found["gap"]), rel=0.3
    )
    assert double_lift(truth, truth)["gap"] == double_lift(truth, truth)["other_gap"]


def test_double_lift_of_exact_predictions_has_no_gap():
    rng = np.random.default_rng(2)
    y = rng.normal(size=500)
    rows = rank_numbers(NUMBERS, y, y, np.ones(500))
    other = as_predicted(rows, "mean", np.zeros(500))
    found = double_lift(rows, other)
    assert found["gap"] == pytest.approx(0.0)
    # In order of this prediction less the other, which is y itself.
    observed = [each["observed"] for each in found["bands"]]
    assert observed == pytest.approx([part.mean() for part in np.array_split(np.sort(y), 10)])
    assert found["other_gap"] == pytest.approx(np.mean(np.abs(observed)))


def test_rows_as_others_predict_them_are_measured_as_their_own():
    first, second, exposure, weight, y = portfolio(500)
    offset = first / 3
    rows = rank_numbers(COUNTS, second, y.astype(float), weight, exposure, offset)
    mean = np.exp(first + offset) * exposure
    own = number_measures(COUNTS, first, y.astype(float), weight, exposure, offset)
    assert measured_numbers(as_predicted(rows, "other", mean)) == pytest.approx(own)
    with pytest.raises(InputError, match="other predicts 0 in row 3; the mean of y is above 0"):
        as_predicted(rows, "other", np.where(np.arange(500) == 2, 0.0, mean))
