"""The bootstrap of Stage 3 for numbers: units of y, exposure, offset, weights and groups."""

import numpy as np
import pandas as pd
import pytest

from rpte import InputError, RPTERegressor, bootstrap
from rpte.validation.tables import labelled_rows
from rpte.validation.uncertainty import Refit, term_columns

LOSSES = ("squared_error", "poisson", "gamma", "tweedie")


def portfolio(loss, n=250, seed=0):
    """Return a table with targets that the loss is for, and what `fit` is given beside them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": rng.choice(["u", "v"], n)})
    years = rng.uniform(0.2, 2.0, n).round(2)
    known = rng.normal(0.0, 0.2, n).round(2)
    score = 0.5 * X["a"] + 0.8 * (X["b"] == "u") + known
    mean = np.exp(score) * years
    y = {
        "squared_error": 1000.0 + 200.0 * (score + rng.normal(0.0, 0.5, n)),
        "poisson": rng.poisson(mean).astype(float),
        "gamma": rng.gamma(3.0, mean / 3.0) + 1e-3,
        "tweedie": rng.poisson(mean) * rng.gamma(2.0, 0.5, n),
    }[loss]
    given = {"offset": 200.0 * known} if loss == "squared_error" else {"offset": known}
    if loss != "squared_error":
        given["exposure"] = years
    return X, y, {"sample_weight": rng.integers(1, 4, n).astype(float), **given}


def fitted(loss, **changes):
    X, y, given = portfolio(loss, **changes)
    reg = RPTERegressor(l1=0.05, loss=loss, max_trees=1, vocabulary="original", max_leaves=4)
    return reg.fit(X, y, **given).model_, X, y, given


@pytest.mark.parametrize("loss", LOSSES)
def test_the_training_rows_give_the_model_back(loss):
    model, X, y, given = fitted(loss)
    refit = Refit(model, labelled_rows(model, X, y, **given))
    fit = refit.at(np.ones(len(y), np.int64))
    assert fit.converged
    parts = [part for _, part in model.parts()]
    size = [
        np.full(len(getattr(part, "leaves", [0])), getattr(part, "scale", 1.0)) for part in parts
    ]
    in_fit = fit.coefficients[refit.places] / np.concatenate(size)
    score = model.target.score_of(fit.intercept) + model.target.factor * (
        term_columns(model, model.read(X)) @ in_fit
    )
    scale = 200.0 if loss == "squared_error" else 1.0
    np.testing.assert_allclose(score, model.score(X), atol=1e-4 * scale)


@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_are_in_the_units_of_the_model(loss):
    model, X, y, given = fitted(loss)
    drawn = bootstrap(model, X, y, n=60, **given)
    assert drawn.same_table
    terms = drawn.terms(0.99)
    assert [t.name for t in terms] == ["intercept", *(rule.term for rule in model.rules())]
    inside = [t.low <= t.estimate <= t.high for t in terms]
    assert np.mean(inside) > 0.7
    beside = {name: values[:1] for name, values in given.items() if name != "sample_weight"}
    (case,) = drawn.cases(X.iloc[:1], 0.99, **beside)
    assert case.response.name == "mean"
    assert case.response.estimate == model.predict(X.iloc[:1], **beside)[0]
    assert case.response.low <= case.response.estimate <= case.response.high
    plain = drawn.cases(X.iloc[:1], 0.99)[0]
    assert plain.score == case.score
    low = model.target.mean(np.array([plain.score.low]), **beside)[0]
    assert case.response.low == pytest.approx(low, rel=0.02)  # quantiles of a monotone function
    assert case.to_dict()["mean"]["estimate"] == case.response.estimate
    with pytest.raises(InputError, match="predicts a number: its mean is `response`"):
        _ = case.probability


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_rows_drawn_twice_are_rows_of_twice_the_weight(loss):
    """Groups of one row each, given twice at half the weight, give the same resamples."""
    model, X, y, given = fitted(loss, n=80)
    single = bootstrap(model, X, y, n=4, groups=[f"{k:03d}" for k in range(len(y))], **given)
    twice = {name: np.repeat(values, 2) for name, values in given.items()}
    twice["sample_weight"] = twice["sample_weight"] / 2
    groups = np.repeat([f"{k:03d}" for k in range(len(y))], 2)
    other = bootstrap(model, X.loc[X.index.repeat(2)], np.repeat(y, 2), n=4, groups=groups, **twice)
    scale = model.target.factor
    np.testing.assert_allclose(other.coefficients / scale, single.coefficients / scale, atol=1e-6)
    assert other.groups == len(y)


def test_what_the_fit_had_must_be_given_and_classes_have_none():
    model, X, y, given = fitted("poisson", n=80)
    with pytest.raises(InputError, match="was fitted with the exposure 'exposure'"):
        bootstrap(model, X, y, n=2)
    with pytest.raises(InputError, match="held one class only, or one number"):
        bootstrap(model, X, np.zeros(len(y)), n=2, **given)
