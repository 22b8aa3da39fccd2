"""Other models of equal validated loss."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rpte import InputError, Limits, RPTEClassifier, RPTERegressor, alternatives
from rpte.validation.alternatives import _Search

FAST = {"l1": 0.02, "vocabulary": "original", "max_trees": 0}


def twins(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table in which two variables say almost the same, one something else, one nothing."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    columns = {"left": x, "right": x + 0.02 * rng.normal(size=n), "other": z}
    columns["noise"] = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-2.5 * x - 1.5 * z))).astype(int)
    return pd.DataFrame(columns), y


@pytest.fixture(scope="module")
def fitted():
    X, y = twins()
    return RPTEClassifier(**FAST).fit(X, y), X, y


def test_a_twin_takes_the_place_of_the_variable_that_is_left_out(fitted):
    classifier, X, y = fitted
    used = set(classifier.model_.sources)
    twin = next(iter(used & {"left", "right"}))
    found = alternatives(classifier, X, y, tolerance=0.05, without=[twin], folds=3)
    assert [a.without for a in found.found] == [(twin,)]
    other = found.found[0]
    assert twin not in other.sources
    assert {"left", "right"} & set(other.sources)
    assert abs(other.difference) < 0.05
    assert other.agreement > 0.95


def test_a_variable_that_nothing_replaces_is_not_offered(fitted):
    classifier, X, y = fitted
    found = alternatives(classifier.model_, X, y, tolerance=0.05, without="other", folds=3)
    assert found.found == ()
    assert found.tried == 1


def test_variables_are_left_out_in_turn_and_then_together(fitted):
    classifier, X, y = fitted
    told: list[int] = []
    found = alternatives(classifier, X, y, tolerance=0.1, folds=3, tell=told.append)
    used = classifier.model_.sources
    assert found.tried >= len(used)
    assert told == list(range(1, found.tried + 2))
    deviances = [a.deviance for a in found.found]
    assert deviances == sorted(deviances)
    assert all(not set(a.without) & set(a.sources) for a in found.found)
    assert all(
        a.deviance <= found.deviance + 0.1 * (found.null_deviance - found.deviance) + 1e-12
        for a in found.found
    )


def test_limits_of_the_model_hold_in_alternatives():
    X, y = twins()
    limits = Limits(monotone={"left": "increasing", "other": "increasing"}, exclude=["noise"])
    classifier = RPTEClassifier(**FAST, limits=limits).fit(X, y)
    found = alternatives(classifier, X, y, tolerance=0.9, without=["left"], folds=2)
    other = found.found[0].model
    assert "noise" not in other.schema.names
    assert other.settings["limits"]["monotone"] == {"other": "increasing"}


def test_it_says_what_it_found(fitted):
    classifier, X, y = fitted
    text = str(alternatives(classifier, X, y, tolerance=0.1, folds=2))
    assert "validated deviance" in text
    assert "* without" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tolerance": 1.5}, "tolerance=1.5"),
        ({"folds": 1}, "folds=1"),
        ({"without": ["lft"]}, "did you mean 'left'"),
        ({"groups": np.repeat(0, 240)}, "fewer than two rows or groups"),
        ({"without": ["left", "right", "other", "noise"]}, "no variable to learn from"),
    ],
)
def test_bad_requests_are_refused_before_any_fit(fitted, changes, message):
    classifier, X, y = fitted
    with pytest.raises(InputError, match=message):
        alternatives(classifier, X, y, **changes)


@pytest.mark.parametrize("copies", [True, False])
def test_copies_are_held_out_together_and_other_equal_rows_in_different_folds(fitted, copies):
    classifier, X, y = fitted
    second = y if copies else np.random.default_rng(0).permutation(y)  # targets agree, or by chance
    twice = pd.concat([X, X]), np.concatenate([y, second])
    search = _Search(classifier.model_, *twice, None, None, 3, lambda _: None)
    together = search.fold[: len(y)] == search.fold[len(y) :]
    assert together.all() if copies else not together[y == second].any()
    assert set(search.fold.tolist()) == {0, 1, 2}


def test_a_model_without_terms_has_nothing_to_leave_out():
    X, y = twins()
    empty = RPTEClassifier(l1=1e6, vocabulary="original", max_trees=0).fit(X, y)
    with pytest.raises(InputError, match="no terms"):
        alternatives(empty, X, y)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie"])
def test_numbers_with_exposure_offset_weights_and_groups(loss):
    X, _ = twins()
    rng = np.random.default_rng(1)
    n, years, known = len(X), rng.uniform(0.5, 2.0, 240).round(2), rng.normal(0, 0.1, 240).round(2)
    score = 0.8 * X["left"] + 0.5 * X["other"] + known
    mean = np.exp(score) * years
    y = {
        "squared_error": 1e4 * (score + rng.normal(0.0, 0.3, n)),
        "poisson": rng.poisson(5.0 * mean),
        "gamma": rng.gamma(5.0, mean / 5.0) + 1e-3,
        "tweedie": rng.poisson(3.0 * mean) * rng.gamma(4.0, 0.1, n),
    }[loss]
    given = {"offset": known * (1e4 if loss == "squared_error" else 1.0)}
    if loss != "squared_error":  # a column of the table, which is no variable
        X, given = X.assign(years=years), {**given, "exposure": "years"}
    given["sample_weight"] = rng.integers(1, 3, n).astype(float)
    reg = RPTERegressor(**FAST, loss=loss).fit(X, y, **given)
    twin = next(iter(set(reg.model_.sources) & {"left", "right"}))
    groups = np.arange(n) // 2
    asked = {"tolerance": 0.1, "folds": 3, "groups": groups, **given}
    found = alternatives(reg, X, y, without=[twin], **asked)
    (other,) = found.found
    assert "years" not in other.model.schema.names
    assert twin not in other.sources
    assert {"left", "right"} & set(other.sources)
    assert other.model.loss == reg.model_.loss
    assert other.agreement > 0.9
    assert f"(mean alone {found.null_deviance:.4f})" in str(found)
    if loss == "squared_error":  # the deviance is in units of the variance of y less the offset
        assert 0.8 < found.null_deviance < 1.2
        assert found.deviance < 0.5
    assert alternatives(reg, X, y, without=["other"], **asked).found == ()
