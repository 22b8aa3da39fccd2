"""RPTERegressor: invariances, exposure and offset, files, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score

import rpte
from rpte import InputError, RPTEClassifier, RPTERegressor
from rpte.model.target import LOSSES_OF_NUMBERS

EASY = {"cv": 2, "l1_ratio": 1.0, "budget": 20}


def drawn(loss="squared_error", n=240, seed=0):
    """Return a table with a category, gaps and a bend, targets, weights and exposures."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)).round(2)
    group = rng.integers(0, 3, n)
    score = 0.2 + 0.6 * a - 0.8 * np.maximum(b, 0) + 0.5 * (group == 1)
    exposure = rng.uniform(0.2, 2.0, n).round(2)
    mean = np.exp(score) * exposure
    y = {
        "squared_error": 10 * score + rng.normal(size=n),
        "poisson": rng.poisson(3 * mean).astype(float),
        "gamma": mean * rng.gamma(4.0, 0.25, n),
        "tweedie": rng.poisson(mean) * rng.gamma(4.0, 0.25, n),
    }[loss]
    X = pd.DataFrame({"a": np.where(rng.random(n) < 0.1, np.nan, a), "b": b})
    X["group"] = np.array(["p", "q", "r"], object)[group]
    return X, pd.Series(y, name="cost"), rng.integers(1, 4, n), exposure


@pytest.fixture(scope="module", params=LOSSES_OF_NUMBERS)
def fitted(request):
    X, y, weight, exposure = drawn(request.param)
    given = {} if request.param == "squared_error" else {"exposure": exposure}
    reg = RPTERegressor(loss=request.param, **EASY).fit(X, y, weight, **given)
    return reg, X, y, weight, given


def test_contributions_add_up_to_the_score(fitted):
    reg, X, *_ = fitted
    for explanation in reg.explain(X[:5]):
        total = explanation.intercept
        for component in explanation.components:
            total += component.value
        assert total == explanation.score
        assert explanation.response == reg.model_.loss.response(np.array([total]))[0]
        assert "cost" in str(explanation)
        assert ("so far" in str(explanation)) == (reg.loss != "squared_error")
        with pytest.raises(InputError, match="predicts no class"):
            _ = explanation.probability


def test_what_is_of_two_classes_is_refused_with_words(fitted):
    reg, X, *_ = fitted
    for ask in (lambda m: m.classes, lambda m: m.positive, lambda m: m.predict_proba(X)):
        with pytest.raises(InputError, match="predicts no class"):
            ask(reg.model_)


@pytest.mark.parametrize(("role", "none"), [("exposure", 1.0), ("offset", 0.0)])
def test_an_exposure_or_offset_that_was_forgotten_is_said(role, none):
    X, y, _, exposure = drawn("poisson")
    given = {role: exposure if role == "exposure" else np.log(exposure)}
    reg = RPTERegressor(loss="poisson", **EASY).fit(X, y, **given)
    kept, counts, _, _ = drawn("poisson", seed=1)
    reg.calibrate(kept, counts, **given)
    of = reg, reg.model_
    for method in (getattr(one, name) for one in of for name in ("predict", "predict_interval")):
        with pytest.warns(rpte.RPTEWarning, match=f"give {role}= as to fit") as told:
            found = method(X)
        assert len(told) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (found == method(X, **{role: none})).all()  # asked for
            method(X, **given)


def test_measures_without_the_exposure_or_offset_of_the_fit_are_refused():
    X, y, _, exposure = drawn("poisson")
    reg = RPTERegressor(loss="poisson", **EASY).fit(X, y, exposure=exposure)
    with pytest.raises(InputError, match="fitted with the exposure 'exposure'; give exposure="):
        reg.score(X, y)
    plain = RPTERegressor(loss="poisson", **EASY).fit(X, y, offset=np.log(exposure))
    with pytest.raises(InputError, match="fitted with the offset 'offset'; give offset="):
        plain.score(X, y)
    with pytest.raises(InputError, match="fitted without exposure; leave exposure= out"):
        plain.score(X, y, exposure=exposure, offset=np.log(exposure))


@pytest.mark.parametrize("factor", [1e-95, 1e95])
@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_targets_of_any_size_that_squares_have_are_fitted(loss, factor):
    X, y, _, _ = drawn(loss)
    one = RPTERegressor(loss=loss, **EASY).fit(X, y)
    other = RPTERegressor(loss=loss, **EASY).fit(X, y * factor)
    assert other.score(X, y * factor) == pytest.approx(one.score(X, y), rel=1e-6)
    assert all(check.holds for check in other.verify(X, y * factor))


@pytest.mark.parametrize(
    ("loss", "change", "said"),
    [
        ("squared_error", lambda y: 1e-200 * y, "y reaches .*; targets below 1e-100 vanish"),
        ("gamma", lambda y: 1e-200 * y, "y reaches .*; targets below 1e-100 vanish"),
        ("squared_error", lambda y: 1e12 + y, "standard deviations from 0.*or give it as offset="),
        ("gamma", lambda y: 1e6 + y, "standard deviations from 0.*loss='squared_error' of y less"),
        (
            "squared_error",
            lambda y: 2**53 + np.arange(len(y)) % 5,
            r"y\[1\] is 9007199254740993; whole numbers beyond 2\*\*53",
        ),
        (
            "squared_error",
            lambda y: [2**70 + k % 5 for k in range(len(y))],
            r"y\[1\] is 1180591620717411303425; whole numbers beyond 2\*\*53",
        ),
    ],
)
def test_targets_that_double_precision_has_no_digits_for_are_refused(loss, change, said):
    X, y, *_ = drawn("gamma")
    with pytest.raises(InputError, match=said):
        RPTERegressor(loss=loss).fit(X, change(y))


def test_a_constant_beside_small_differences_is_an_offset():
    X, y, *_ = drawn("squared_error")
    far = np.full(len(y), 1e12)
    reg = RPTERegressor(**EASY).fit(X, y + far, offset=far)
    assert all(check.holds for check in reg.verify(X, y + far, offset=far))
    plain = RPTERegressor(**EASY).fit(X, y)
    np.testing.assert_allclose(reg.predict(X, offset=0), plain.predict(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_an_offset_is_added_to_the_score(loss):
    X, y, _, _ = drawn(loss)
    known = np.random.default_rng(3).normal(size=len(y)).round(2)
    moved = y + known if loss == "squared_error" else y
    reg = RPTERegressor(loss=loss, l1=0.02)
    one = clone(reg).fit(X, moved, offset=known)
    if loss == "squared_error":
        two = clone(reg).fit(X, y)
    else:
        two = clone(reg).fit(X, y, exposure=np.exp(known))
    np.testing.assert_allclose(one.linear_predictor(X), two.linear_predictor(X), rtol=1e-9)
    shifted = one.model_.loss.response(one.linear_predictor(X) + known)
    np.testing.assert_allclose(one.predict(X, offset=known), shifted, rtol=1e-12)


def test_a_column_may_be_named_as_exposure_or_offset():
    X, y, _, exposure = drawn("poisson")
    wide = X.assign(years=exposure, known=0.1)
    reg = RPTERegressor(loss="poisson", l1=0.02).fit(wide, y, exposure="years", offset="known")
    assert reg.model_.schema.names == ("a", "b", "group")
    assert (reg.model_.target.exposure, reg.model_.target.offset) == ("years", "known")
    assert "per unit of years" in reg.summary()
    expected = reg.predict(X, 1.0, 0.0) * exposure * np.exp(0.1)
    np.testing.assert_allclose(reg.predict(wide, "years", "known"), expected, rtol=1e-12)
    assert all(check.holds for check in reg.verify(wide, y, exposure="years", offset="known"))


def test_the_score_is_the_fraction_of_deviance_explained():
    X, y, weight, _ = drawn()
    reg = RPTERegressor(l1=0.02).fit(X, y)
    assert reg.score(X, y, weight) == pytest.approx(
        r2_score(y, reg.predict(X), sample_weight=weight)
    )
    X, y, weight, exposure = drawn("poisson")
    reg = RPTERegressor(loss="poisson", l1=0.02).fit(X, y, exposure=exposure)
    null = np.full(len(y), y.sum() / exposure.sum())
    assert 0 < reg.score(X, y, exposure=exposure) < 1
    found = reg.model_.target.plain(y.to_numpy(), np.ones(len(y)), exposure, None)
    one = found.y, found.weight
    loss = reg.model_.loss
    explained = 1 - loss.deviance(reg.linear_predictor(X), *one) / loss.deviance(np.log(null), *one)
    assert reg.score(X, y, exposure=exposure) == pytest.approx(explained)


def test_a_constant_target_gives_its_mean():
    X, *_ = drawn()
    with pytest.warns(rpte.RPTEWarning, match="all the same"):
        reg = RPTERegressor().fit(X, np.full(len(X), 7.0))
    assert reg.predict(X).tolist() == [7.0] * len(X)


@pytest.mark.parametrize(
    ("loss", "change", "said"),
    [
        ("squared_error", {"y": ["one"] + ["2"] * 239}, "y.*RPTEClassifier|give numbers"),
        ("squared_error", {"exposure": np.ones(240)}, "squared_error"),
        ("poisson", {"y": -1.0}, r"y\[0\] is -1.0"),
        ("gamma", {"y": 0.0}, r"y\[0\] is 0.0"),
        ("poisson", {"exposure": 0.0}, r"exposure\[0\] is 0.0; exposures must be"),
        ("poisson", {"exposure": np.nan}, r"exposure\[0\] is nan"),
        ("poisson", {"exposure": np.ones(3)}, "X has 240 rows and exposure has 3"),
        ("poisson", {"exposure": "yeers"}, "no column 'yeers'"),
        ("poisson", {"offset": np.inf}, r"offset\[0\] is inf"),
        ("poisson", {"offset": 900.0}, r"offset\[0\] is 900.0; exp\(offset\).* must lie between"),
        ("poisson", {"offset": -800.0}, r"offset\[0\] is -800.0; exp\(offset\).* must lie between"),
        ("gamma", {"exposure": 1e-40}, r"exposure\[0\] is 1e-40; exposure must lie between"),
        ("poisson", {"exposure": 1e-15}, r"\[0\] is .*e-15 times the mean, with a target that"),
        ("squared_error", {"y": 1e153}, r"y\[0\] is 1e\+153; numbers up to 1e\+100 can be fitted"),
        ("squared_error", {"offset": 1e160}, r"offset\[0\] is 1e\+160; numbers up to"),
        ("squared_error", {"y": np.nan}, "Input y contains NaN"),
        ("squared_error", {"y": np.inf}, "Input y contains infinity"),
        ("poissson", {}, "loss='poissson'; it must be one of"),
    ],
)
def test_bad_input_is_named_with_its_row_and_a_remedy(loss, change, said):
    X, y, *_ = drawn("gamma")
    given = {"y": y, **change}
    if np.isscalar(given["y"]):
        given["y"] = np.append(given["y"], y[1:])
    for name in ("exposure", "offset"):
        value = given.get(name)
        if value is not None and np.isscalar(value) and not isinstance(value, str):
            given[name] = np.append(value, np.ones(len(y) - 1))
    with pytest.raises(InputError, match=said):
        RPTERegressor(loss=loss, l1=0.1).fit(X, **given)


def test_a_classifier_names_the_regressor():
    X, y, *_ = drawn()
    with pytest.raises(InputError, match="RPTERegressor"):
        RPTEClassifier().fit(X, y)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie"])
def test_the_cost_of_a_fit_is_told(loss):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=1_500), "years": rng.uniform(0.5, 2.0, 1_500)})
    y = rng.gamma(2.0, np.exp(X["a"]) * X["years"]) + 0.1
    reg = RPTERegressor(loss=loss, l1=0.1)
    given = {} if loss == "squared_error" else {"exposure": "years"}
    for beside in (given, {"offset": X["a"].to_numpy()}, {"offset": 0.5}):
        found = reg.estimate_cost(X, y, **beside)
        assert (found.rows, found.columns, found.disk) == (1_500, 2, 0.0)
        assert found.seconds > 0.0
        assert 1e7 < found.memory < 3e10
    assert reg.estimate_cost(X).rows == 1_500
    assert not hasattr(reg, "model_")
