"""Tables of few distinct rows and many cases, by repetition and by weights: every estimator.

Insurers have such tables. A row counts as often as it recurs, but it shows one content: nothing may
be sized by cases where it has the length of rows.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score, log_loss

from rpte import InputError, RPTEClassifier, RPTERegressor, RPTESurvival, RPTEWarning
from rpte.model.file import to_dict
from rpte.rows import scale

CASES = 100_000
POWERS = {"squared_error": 0.0, "poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
ESTIMATORS = {
    **{loss: RPTERegressor(loss=loss) for loss in POWERS},
    "rules of numbers": RPTERegressor(form="rules"),
    "two classes": RPTEClassifier(),
    "rules of two classes": RPTEClassifier(form="rules"),
    "published": RPTEClassifier.paper(),
    "three classes": RPTEClassifier(),
    "rules of three classes": RPTEClassifier(form="rules"),
    "cox": RPTESurvival(),
    "discrete": RPTESurvival(loss="discrete", intervals=20),
    "causes": RPTESurvival(),
}


def grid(groups):
    """Return that many different contents, and a score that is additive in both columns."""
    place = np.arange(groups)
    X = pd.DataFrame({"age": 20.0 + place // 4, "level": [*"ABCD" * (-(-groups // 4))][:groups]})
    return X, 0.08 * (place // 4) + 0.3 * (place % 4)


def outcomes(name, score):
    """Return what the cases of each group have, (groups, k), and how often, (groups, k)."""
    once = np.ones((len(score), 2), int)
    if isinstance(ESTIMATORS[name], RPTERegressor):
        mean = 1.0 + score if ESTIMATORS[name].loss == "squared_error" else np.exp(score)
        return mean[:, None] * [0.5, 1.5], once
    if isinstance(ESTIMATORS[name], RPTEClassifier):
        odds = np.exp(np.outer(score - 0.5, [0.0, 1.0, 2.0] if "three" in name else [0.0, 1.0]))
        labels = np.tile(np.arange(odds.shape[1]), (len(score), 1))
        return labels, 1 + np.round(1000 * odds / odds.sum(axis=1, keepdims=True)).astype(int)
    time = np.round(10 * np.outer(np.exp(-score), [0.2, 0.7, 1.6]), 2)
    status = [1, 2, 0] if name == "causes" else [True, True, False]
    kinds = [("status", type(status[0])), ("time", float)]
    rows = [[(s, t) for s, t in zip(status, each, strict=True)] for each in time]
    return np.array(rows, kinds), np.ones(time.shape, int)


def table(name, groups):
    """Return X, y, and whole weights that sum to many cases, a row for each group and outcome."""
    X, score = grid(groups)
    y, often = outcomes(name, score)
    rows = np.repeat(np.arange(groups), y.shape[1])
    weight = often.ravel() * (CASES // often.sum())
    return X.iloc[rows].reset_index(drop=True), y.ravel(), weight, score[rows]


def as_good_as_the_groups(name, model, X, y, weight, score):
    """Tell whether predictions are as good as the mean of each group, which is additive."""
    if isinstance(model, RPTESurvival):
        risk = model.predict(X)
        risk = risk if risk.ndim == 1 else risk[:, 0]
        # Each group has three times, so that hazards are not quite proportional: order counts.
        ordered = np.ptp(score) == 0.0 or spearmanr(risk, score)[0] > 0.99
        return ordered and (np.ptp(score) == 0.0 or np.corrcoef(risk, score)[0, 1] > 0.95)
    groups = [X[column] for column in X]
    if isinstance(model, RPTERegressor):
        sums = (pd.Series(v).groupby(groups).transform("sum") for v in (y * weight, weight))
        means, power = next(sums) / next(sums), POWERS[model.loss]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a table whose numbers are all equal
            best, own = (
                d2_tweedie_score(y, p, sample_weight=weight, power=power)
                for p in (means, model.predict(X))
            )
        return own > best - 0.01
    counts = pd.get_dummies(y).mul(weight, axis=0).groupby(groups).transform("sum")
    best, own = (
        log_loss(y, p, sample_weight=weight)
        for p in (counts.div(counts.sum(axis=1), axis=0).to_numpy(), model.predict_proba(X))
    )
    return own < best + 0.01


def check(name, groups):
    X, y, weight, score = table(name, groups)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), weight))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_weight = clone(ESTIMATORS[name]).fit(X, y, sample_weight=weight)
        repeated = clone(ESTIMATORS[name]).fit(X.iloc[rows], y[rows])
    assert to_dict(by_weight.model_) == to_dict(repeated.model_)
    assert as_good_as_the_groups(name, by_weight, X, y, weight, score)


@pytest.mark.parametrize(
    "groups", [1, pytest.param(3, marks=pytest.mark.slow(reason="two fits of each estimator"))]
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_handful_of_rows(name, groups):
    check(name, groups)


@pytest.mark.slow(reason="whole searches of tables of about a hundred rows")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_hundred_rows(name):
    check(name, 36)


def test_one_row_of_a_large_weight_is_many_cases():
    X = pd.DataFrame({"age": [30.0]})
    with pytest.warns(match="targets: all the same"):
        weighted = RPTERegressor().fit(X, [2.0], sample_weight=[1000])
    with pytest.warns(match="targets: all the same"):
        repeated = RPTERegressor().fit(X.iloc[[0] * 1000], [2.0] * 1000)
    assert to_dict(weighted.model_) == to_dict(repeated.model_)
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        RPTERegressor().fit(X, [2.0], sample_weight=[1])


def many_targets(loss, groups, n=6000):
    """Return few different rows with many targets each, and the best that can be explained."""
    rng = np.random.default_rng(groups)
    X, score = grid(groups)
    rows = rng.integers(0, groups, n)
    mean = np.exp(score[rows])
    y = score[rows] + rng.normal(size=n) if loss == "squared_error" else mean * rng.gamma(2, 0.5, n)
    X = X.iloc[rows].reset_index(drop=True)
    means = pd.Series(y).groupby([X[column] for column in X]).transform("mean")
    return X, y, d2_tweedie_score(y, means, power=POWERS[loss])


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("loss", ["squared_error", "gamma"])
def test_few_rows_with_many_targets_each(loss, groups, monkeypatch):
    """The first rows of a long table are of one content: they do not stand for the others."""
    for name in ("FAMILY_ROWS", "FIRST_ROWS"):
        monkeypatch.setattr(scale, name, 400)
    X, y, best = many_targets(loss, groups)
    reg = RPTERegressor(loss=loss).fit(X, y)
    assert reg.score(X, y) > best - 0.002 > 0.02


@pytest.mark.parametrize("groups", [2, 5])  # of two none is drawn, of five some are
def test_a_sample_of_few_rows_with_many_targets_each_is_announced(groups, monkeypatch):
    for name, rows in (("SAMPLE_ROWS", 600), ("LONG_ABOVE", 500)):
        monkeypatch.setattr(scale, name, rows)
    X, y, best = many_targets("squared_error", groups, 2000)
    said = "give every different row once"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RPTEWarning)
        if groups == 2:
            with pytest.raises(InputError, match=said):
                RPTERegressor().fit(X, y)
        else:
            RPTERegressor().fit(X, y)
    assert groups == 2 or any(said in str(each.message) for each in told)
    once = pd.DataFrame({**X, "y": y}).groupby([*X], as_index=False)["y"].agg(["mean", "size"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        fitted = RPTERegressor().fit(once[[*X]], once["mean"], sample_weight=once["size"])
    assert fitted.score(X, y) > best - 0.002
    assert best > 0.01
