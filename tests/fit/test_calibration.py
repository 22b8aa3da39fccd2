"""Prediction intervals: what they hold, what they are made of, and what is refused."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model_files import sealed, write
from rpte import InputError, ModelFileError, RPTEClassifier, RPTERegressor, load
from rpte.audit.edits import _changed
from rpte.check import rpte_check
from rpte.fit.calibration import calibrated
from rpte.model import intervals
from rpte.model.file import to_dict
from rpte.model.intervals import interval_factor, typical_errors

LOSSES = ("squared_error", "poisson", "gamma", "tweedie")
POWER = {"squared_error": 0.0, "poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}


def rows(loss, n, seed):
    """Return a table with targets that the loss is for, and what `fit` is given beside them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n)})
    years, known = rng.uniform(0.2, 3.0, n), rng.normal(0.0, 0.3, n)
    score = 0.5 * X["a"] + 0.8 * (X["b"] == "u") + known
    mean = 4.0 * np.exp(score) * years
    y = {
        "squared_error": 50.0 * score + rng.normal(0.0, 20.0, n),
        "poisson": rng.poisson(mean).astype(float),
        "gamma": rng.gamma(3.0, mean / 3.0) + 1e-6,
        "tweedie": np.array([rng.gamma(2.0, 0.5, k).sum() for k in rng.poisson(mean)]),
    }[loss]
    if loss == "squared_error":
        return X, y, {"offset": 50.0 * known}
    return X, y, {"offset": known, "exposure": years}


def fitted(loss, seed=0, n=200):
    X, y, given = rows(loss, n, seed)
    return RPTERegressor(loss=loss, l1=0.02, max_trees=0, vocabulary="original").fit(X, y, **given)


def test_every_loss_covers_as_often_as_it_says():
    """Over tables, the share of new rows inside has a mean of at least 1 - alpha, hardly more."""
    held, seeds, alpha = 150, 8, 0.2
    # By tables the share is Beta(k, held + 1 - k); of so many new rows it is measured well.
    error = math.sqrt(alpha * (1.0 - alpha) / (held + 2) / seeds + 0.25 / (seeds * 1500))
    for loss in LOSSES:
        shares = []
        for seed in range(seeds):
            reg = fitted(loss, seed)
            X, y, given = rows(loss, held, 1000 + seed)
            reg.calibrate(X, y, **given)
            X, y, given = rows(loss, 1500, 2000 + seed)
            low, high = reg.predict_interval(X, alpha, **given).T
            shares.append(np.mean((low <= y) & (y <= high)))
        assert np.mean(shares) > 1.0 - alpha - 4.0 * error, loss
        if loss != "poisson":  # counts have ties, which make intervals safe
            assert np.mean(shares) < 1.0 - alpha + 1.0 / held + 4.0 * error, loss


@pytest.mark.parametrize("loss", LOSSES)
def test_the_ends_are_those_of_the_definition(loss):
    reg = fitted(loss)
    X, y, given = rows(loss, 40, 5)
    reg.calibrate(X, y, **given)
    mean = reg.predict(X, **given)
    score = np.sort(np.abs(y - mean) / mean ** (POWER[loss] / 2) if POWER[loss] else abs(y - mean))
    new, _, beside = rows(loss, 30, 6)
    centre = reg.predict(new, **beside)
    scale = centre ** (POWER[loss] / 2) if POWER[loss] else 1.0
    for alpha in (0.025, 0.1, 0.33, 0.9):
        k = math.ceil((40 + 1) * (1 - alpha) - 1e-9)
        found = reg.predict_interval(new, alpha, **beside)
        assert found.shape == (30, 2)
        low, high = centre - score[k - 1] * scale, centre + score[k - 1] * scale
        least = -np.inf if loss == "squared_error" else 0.0
        np.testing.assert_allclose(found[:, 0], np.maximum(low, least), rtol=1e-12)
        np.testing.assert_allclose(found[:, 1], high, rtol=1e-12)


def test_too_small_an_alpha_is_refused_with_the_smallest():
    reg = fitted("gamma")
    X, y, given = rows("gamma", 30, 5)
    reg.calibrate(X, y, **given)
    with pytest.raises(InputError, match=r"alpha=0.03 is too small for 30 calibration rows.*32259"):
        reg.predict_interval(X, 0.03, **given)
    assert np.isfinite(reg.predict_interval(X, 0.032259, **given)).all()
    for alpha in (0, 1, 1.5, "0.1", True, None):
        with pytest.raises(InputError, match="must lie between 0 and 1"):
            reg.predict_interval(X, alpha, **given)


def test_weights_are_repetitions_and_order_does_not_count():
    reg = fitted("squared_error")
    X, y, given = rows("squared_error", 60, 5)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    places = np.repeat(np.arange(60), weight)[::-1]
    one = calibrated(reg.model_, X, y, weight, **given)
    other = calibrated(reg.model_, X.iloc[places], y[places], offset=given["offset"][places])
    assert one.training["calibration"] == other.training["calibration"]
    assert one.training["calibration"]["total"] == weight.sum()


def test_groups_count_as_one_each():
    """Copies of a row in a group of their own change nothing; the total is the groups."""
    reg = fitted("poisson")
    X, y, given = rows("poisson", 50, 5)
    alone = calibrated(reg.model_, X, y, **given)
    copies = 1 + np.arange(50) % 3
    places = np.repeat(np.arange(50), copies)
    repeated = {name: values[places] for name, values in given.items()}
    grouped = calibrated(reg.model_, X.iloc[places], y[places], **repeated, groups=places)
    kept, found = alone.training["calibration"], grouped.training["calibration"]
    assert (found["by"], found["total"]) == ("groups", 50.0)
    assert found["scores"] == kept["scores"]
    assert found["up_to"] == kept["up_to"]
    with pytest.raises(InputError, match="too small for 50 calibration groups"):
        interval_factor(grouped, 0.01)
    with pytest.raises(InputError, match="groups has shape"):
        calibrated(reg.model_, X, y, **given, groups=[1, 2])


def test_of_many_rows_some_scores_are_kept_and_intervals_are_no_shorter(monkeypatch):
    reg = fitted("gamma")
    X, y, given = rows("gamma", 500, 5)
    full = calibrated(reg.model_, X, y, **given)
    monkeypatch.setattr(intervals, "MOST", 50)
    short = calibrated(reg.model_, X, y, **given)
    assert len(short.training["calibration"]["scores"]) == 50
    for alpha in np.linspace(0.002, 0.99, 60):
        exact, safe = interval_factor(full, alpha), interval_factor(short, alpha)
        assert exact <= safe <= interval_factor(full, max(alpha - 0.021, 0.002))


def test_a_file_keeps_intervals_to_the_last_bit_and_is_verified(tmp_path):
    reg = fitted("tweedie")
    X, y, given = rows("tweedie", 80, 5)
    before = to_dict(reg.model_)
    reg.calibrate(X, y, **given)
    reg.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    assert (model.predict_interval(X, **given) == reg.predict_interval(X, **given)).all()
    assert "prediction intervals: calibrated on 80 rows held out" in model.summary()
    checks = {check.name: check for check in model.verify(X, y, **given)}
    assert checks["prediction intervals"].holds  # derived again from the rows of calibration
    table, target, beside = rows("tweedie", 200, 0)
    assert all(check.holds for check in model.verify(table, target, **beside))
    command = [sys.executable, rpte_check.__file__, tmp_path / "model.json"]
    checker = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checker.returncode == 0, checker.stdout
    training = {k: v for k, v in model.training.items() if k != "calibration"}
    assert to_dict(replace(model, training=training)) == before


def typical(prediction):
    return {"prediction": prediction, "error": 1.0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scores": [2.0, 1.0], "up_to": [1.0, 2.0], "total": 2.0}, "in order"),
        ({"scores": [1.0, 2.0], "up_to": [2.0, 1.0], "total": 1.0}, "in order"),
        ({"scores": [1.0], "up_to": [1.0], "total": 5.0}, "the total"),
        ({"scores": [1.0, 2.0], "up_to": [1.0], "total": 1.0}, "one number for each"),
        ({"errors": [typical(2.0), typical(1.0)]}, "in order of their predictions"),
        ({"errors": [typical(-1.0), typical(1.0)]}, "above 0"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(tmp_path, change, said):
    X, y, given = rows("gamma", 30, 5)
    document = to_dict(calibrated(fitted("gamma").model_, X, y, **given))
    record = {**document["training"]["calibration"], **change}
    wrong = sealed({**document, "training": {**document["training"], "calibration": record}})
    with pytest.raises(ModelFileError, match=said):
        load(write(wrong, tmp_path))
    assert list(rpte_check.sense_of_calibration(wrong))


def test_a_model_of_classes_has_none(tmp_path):
    X, y, given = rows("gamma", 60, 5)
    classes = RPTEClassifier(l1=0.1).fit(X, y > np.median(y)).model_
    with pytest.raises(InputError, match="prediction intervals are for models of numbers"):
        calibrated(classes, X, y)
    with pytest.raises(InputError, match="prediction intervals are for models of numbers"):
        classes.predict_interval(X)
    record = calibrated(fitted("gamma").model_, X, y, **given).training["calibration"]
    document = to_dict(classes)
    wrong = sealed({**document, "training": {**document["training"], "calibration": record}})
    with pytest.raises(ModelFileError, match=r"training\.calibration is for models of a number"):
        load(write(wrong, tmp_path))


def test_what_the_fit_has_seen_is_refused_and_so_is_a_model_without_calibration():
    reg = fitted("poisson")
    X, y, given = rows("poisson", 200, 0)
    with pytest.raises(InputError, match="this is the training table"):
        reg.calibrate(X, y, **given)
    with pytest.raises(InputError, match="has no prediction intervals"):
        reg.predict_interval(X, **given)
    X, y, given = rows("poisson", 50, 3)
    with pytest.raises(InputError, match="was fitted with the exposure"):
        reg.calibrate(X, y, offset=given["offset"])


def test_models_of_the_frontier_are_calibrated_too():
    X, y, given = rows("squared_error", 150, 0)
    reg = RPTERegressor(max_trees=0).fit(X, y, **given)
    held, target, beside = rows("squared_error", 60, 3)
    reg.calibrate(held, target, **beside)
    small = reg.at(reg.frontier_["miu"].min())
    widths = [np.diff(each.predict_interval(held, **beside))[0, 0] for each in (reg, small)]
    assert widths[0] < widths[1]


def test_an_edit_drops_intervals():
    X, y, given = rows("poisson", 50, 3)
    made = calibrated(fitted("poisson").model_, X, y, **given)
    assert made.training["calibration"]
    with pytest.raises(InputError, match="has no prediction intervals"):
        _changed(made, (), ("a",), ()).predict_interval(X, **given)


def test_intervals_of_means_beyond_all_numbers_have_ends_that_are_numbers():
    X, y, given = rows("gamma", 50, 3)
    made = calibrated(fitted("gamma").model_, X, y, **given)
    low, high = made.predict_interval(X.iloc[:1], 0.1, 1.0, offset=[800.0])[0]
    assert 0.0 <= low < 1.02e304 < high  # means end at exp(700), as in exports
    with pytest.raises(InputError, match=r"exposure\[0\] is 1.7e\+308; exposure must lie between"):
        calibrated(made, X.iloc[:2], y[:2], exposure=[1.7e308, 1.0], offset=[0.0, 0.0])


@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_of_a_fit_rest_on_the_rows_that_validation_held_out(loss):
    X, y, given = rows(loss, 500, 5)
    reg = RPTERegressor(loss=loss, max_inspection_units=8).fit(X, y, **given)
    record = reg.model_.training["calibration"]
    assert (record["by"], record["total"], record["table"]) == ("rows", 500.0, None)
    assert "500 rows held out by inner validation" in reg.summary()
    X, y, given = rows(loss, 4_000, 6)
    low, high = reg.predict_interval(X, 0.2, **given).T
    assert 0.73 < ((low <= y) & (y <= high)).mean() < 0.87  # four standard errors of 500 rows


def test_each_group_counts_once_in_the_intervals_of_a_fit():
    X, y, given = rows("gamma", 300, 5)
    groups = np.arange(300) % 60
    reg = RPTERegressor(loss="gamma", max_inspection_units=5).fit(X, y, groups=groups, **given)
    record = reg.model_.training["calibration"]
    assert record["by"] == "groups"
    assert record["total"] == pytest.approx(60.0)


def test_fractional_weights_beside_an_exposure_leave_a_fit_without_intervals():
    X, y, given = rows("gamma", 200, 5)
    weight = np.where(np.arange(200) % 2, 0.5, 1.0)
    reg = RPTERegressor(loss="gamma", max_inspection_units=5).fit(X, y, weight, **given)
    with pytest.raises(InputError, match="has no prediction intervals"):
        reg.predict_interval(X, **given)


def uneven(n, seed, below=0.0):
    """Return a table of amounts whose spread grows with their mean."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(0.0, 10.0, n)})
    return X, below + X["a"].to_numpy() * rng.uniform(0.0, 2.0, n)


def test_widths_follow_the_typical_error_of_the_prediction():
    """Where the spread grows with the mean, so does the width, and each fifth is covered."""
    reg = RPTERegressor(max_inspection_units=6).fit(*uneven(2_000, 0))
    X, y = uneven(10_000, 1)
    low, high = reg.predict_interval(X, 0.1).T
    inside, fifth = (low <= y) & (y <= high), X["a"] // 2
    shares = pd.Series(inside).groupby(fifth).mean()
    assert shares.between(0.8, 0.97).all()
    widths = pd.Series(high - low).groupby(fifth).mean()
    assert widths.is_monotonic_increasing
    assert widths.iloc[-1] > 3.0 * widths.iloc[0]
    errors = reg.model_.training["calibration"]["errors"]
    assert len(errors) == 5
    text = f"{float(format(errors[0]['error'], '.3g')):g} at {errors[0]['prediction']:.4g}"
    assert f"typical error by prediction: {text}" in reg.summary()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_ends_are_the_mean_and_so_many_typical_errors(loss):
    X, y, given = rows(loss, 500, 5)
    reg = RPTERegressor(loss=loss, max_inspection_units=8).fit(X, y, **given)
    record = reg.model_.training["calibration"]
    assert 2 <= len(record["errors"]) <= 5
    new, _, beside = rows(loss, 40, 6)
    mean = reg.predict(new, **beside)
    # A fit knows neither the offset of a number nor the exposure under the gamma loss.
    known = reg.predict(new, exposure=None if loss == "squared_error" else 1.0, offset=0)
    known = known if loss in ("squared_error", "gamma") else mean
    at, error = zip(
        *((each["prediction"], each["error"]) for each in record["errors"]), strict=True
    )
    for alpha in (0.05, 0.3):
        factor = interval_factor(reg.model_, alpha)
        for row, (low, high) in enumerate(reg.predict_interval(new, alpha, **beside)):
            if loss == "squared_error":
                below = above = np.interp(known[row], at, error)
            elif known[row] > at[-1]:
                above = error[-1] * (known[row] / at[-1]) ** (POWER[loss] / 2)
            else:
                above = np.interp(known[row], [0.0, *at], [0.0, *error])
            if loss != "squared_error":
                times = (mean[row] / known[row]) ** (POWER[loss] / 2)
                below, above = times * min(above, known[row]), times * above
            lowest = -np.inf if loss == "squared_error" else 0.0
            assert low == pytest.approx(max(mean[row] - factor * below, lowest), rel=1e-9, abs=1e-9)
            assert high == pytest.approx(mean[row] + factor * above, rel=1e-9)


def test_rare_counts_keep_their_zeros():
    """With nine zeros in ten, no interval of 90% is one that no count lies in."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["u", "v", "w"], 20_000), "years": rng.uniform(0, 1, 20_000)})
    rate = X["a"].map({"u": 0.05, "v": 0.12, "w": 0.3})
    y = rng.poisson(rate * X["years"]).astype(float)
    some = np.arange(len(y)) < 12_000
    reg = RPTERegressor(loss="poisson").fit(X[some], y[some], exposure="years")
    low, high = reg.predict_interval(X[~some], 0.1, exposure="years").T
    assert (low == 0.0).all()
    assert ((low <= y[~some]) & (y[~some] <= high)).mean() >= 0.9


def test_an_interval_ends_at_0_where_no_training_target_was_negative(tmp_path):
    X, y = uneven(400, 0)
    reg = RPTERegressor(max_inspection_units=4).fit(X, y)
    assert reg.model_.target.least == 0.0
    assert (reg.predict_interval(X, 0.02) >= 0.0).all()
    reg.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    assert model.predict_interval(X, 0.02).min() == 0.0
    checks = {check.name: check for check in model.verify(X, y)}
    assert checks["no target below 0"].holds
    other = RPTERegressor(max_inspection_units=4).fit(*uneven(400, 0, below=-5.0))
    assert other.model_.target.least is None
    assert other.predict_interval(X, 0.02).min() < 0.0
    beside = RPTERegressor(max_inspection_units=4).fit(X, y, offset=np.ones(400))
    assert beside.model_.target.least is None
    # A file that claims it of targets of which some are negative is found out.
    X, y = uneven(400, 0, below=-5.0)
    document = to_dict(other.model_)
    wrong = sealed({**document, "target": {**document["target"], "least": 0}})
    model = load(write(wrong, tmp_path))
    assert [c.name for c in model.verify(X, y) if not c.holds] == ["no target below 0"]
    table = tmp_path / "table.csv"
    X.assign(y=y).to_csv(table, index=False)
    command = [sys.executable, rpte_check.__file__, tmp_path / "model.json", table, "--target", "y"]
    checker = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checker.returncode == 1
    assert "below the least one" in checker.stdout


def test_a_calibration_keeps_the_widths_and_is_proved_by_its_rows():
    reg = RPTERegressor(max_inspection_units=4).fit(*uneven(400, 0))
    before = reg.model_.training["calibration"]["errors"]
    X, y = uneven(90, 1)
    reg.calibrate(X, y, groups=np.arange(90) // 2)
    record = reg.model_.training["calibration"]
    assert record["errors"] == before
    checks = {check.name: check for check in reg.verify(X, y)}
    assert checks["prediction intervals"].holds
    scores = [*record["scores"][:-1], record["scores"][-1] * 2.0]
    training = {**reg.model_.training, "calibration": {**record, "scores": scores}}
    wrong = replace(reg.model_, training=training)
    assert not {c.name: c for c in wrong.verify(X, y)}["prediction intervals"].holds


def test_typical_errors_are_means_of_bands_of_distinct_predictions():
    mean = np.repeat([1.0, 2.0, 3.0], [100, 60, 40])
    distance = np.where(mean == 2.0, 4.0, mean) * np.tile([0.5, 1.5], 100)
    found = typical_errors(mean, distance, np.ones(200))
    assert found == [
        {"prediction": 1.0, "error": 1.0},
        {"prediction": 2.0, "error": 4.0},
        {"prediction": 3.0, "error": 3.0},
    ]
    assert typical_errors(mean, distance, np.full(200, 0.49)) is None  # 98 cases
    assert typical_errors(mean, np.zeros(200), np.ones(200)) is None
    assert typical_errors(np.ones(200), distance, np.ones(200)) is None
