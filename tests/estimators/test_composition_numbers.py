"""The regressor inside scikit-learn's other machinery, with exposures routed to it."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline

from rpte import RPTERegressor
from rpte.model.file import to_text

QUICK = {"l1": 0.02, "max_trees": 1}


def policies(n=240, seed=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "zone": rng.choice(list("abc"), n)})
    X["power"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(2))
    years = pd.Series(rng.uniform(0.2, 2.0, n).round(2), name="years")
    y = pd.Series(rng.poisson(np.exp(0.3 + 0.9 * (X["age"] < 35)) * years), name="claims")
    return X, y, years


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def asking():
    """Return a regressor that asks for exposures wherever it may have them."""
    reg = RPTERegressor(loss="poisson", **QUICK)
    reg.set_fit_request(exposure=True).set_predict_request(exposure=True)
    return reg.set_score_request(exposure=True)


def by_hand(X, y, years, train, test):
    reg = RPTERegressor(loss="poisson", **QUICK)
    reg.fit(X.iloc[train], y.iloc[train], exposure=years.iloc[train])
    return reg, reg.score(X.iloc[test], y.iloc[test], exposure=years.iloc[test])


def halves(n):
    rows = np.arange(n)
    return [(rows[rows % 2 == side], rows[rows % 2 != side]) for side in (0, 1)]


def test_grid_search_routes_exposure_to_fit_and_score(routing):
    X, y, years = policies()
    search = GridSearchCV(asking(), {"max_trees": [0, 1]}, cv=halves(len(y)))
    search.fit(X, y, exposure=years)
    wanted = [by_hand(X, y, years, *split)[1] for split in halves(len(y))]
    at = search.cv_results_["params"].index({"max_trees": 1})
    found = [search.cv_results_[f"split{k}_test_score"][at] for k in (0, 1)]
    np.testing.assert_array_equal(found, wanted)
    assert search.best_estimator_.model_.target.exposure == "years"
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


@pytest.mark.parametrize("jobs", [1, 2])
def test_cross_validation_in_one_or_two_processes(routing, jobs):
    X, y, years = policies()
    given = {"cv": halves(len(y)), "params": {"exposure": years}, "n_jobs": jobs}
    scores = cross_val_score(asking(), X, y, **given)
    fits = [by_hand(X, y, years, *split) for split in halves(len(y))]
    np.testing.assert_array_equal(scores, [score for _, score in fits])
    found = cross_val_predict(asking(), X, y, **given)
    wanted = np.zeros(len(y))
    for (_, test), (reg, _) in zip(halves(len(y)), fits, strict=True):
        wanted[test] = reg.predict(X.iloc[test])  # cross_val_predict routes to fit alone
    np.testing.assert_array_equal(found, wanted)
    kept = cross_validate(asking(), X, y, return_estimator=True, **given)["estimator"]
    assert [to_text(e.model_) for e in kept] == [to_text(reg.model_) for reg, _ in fits]


def test_a_pipeline_hands_exposure_on(routing):
    X, y, years = policies()
    prepare = ColumnTransformer(
        [("numbers", SimpleImputer(), ["power"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    made = make_pipeline(prepare, asking()).fit(X, y, exposure=years)
    filled = prepare.fit_transform(X)
    alone = RPTERegressor(loss="poisson", **QUICK).fit(filled, y, exposure=years)
    assert to_text(made[-1].model_) == to_text(alone.model_)
    np.testing.assert_array_equal(made.predict(X, exposure=years), alone.predict(filled, years))
    assert made.score(X, y, exposure=years) == alone.score(filled, y, exposure=years)


def test_groups_and_weights_are_routed_too(routing):
    X, y, years = policies()
    weight, groups = np.where(np.arange(len(y)) % 3, 1.0, 2.0), np.arange(len(y)) // 4
    reg = asking().set_fit_request(exposure=True, sample_weight=True, groups=False)
    reg.set_score_request(exposure=True, sample_weight=True)
    given = {"exposure": years, "sample_weight": weight, "groups": groups}
    scores = cross_val_score(reg, X, y, cv=GroupKFold(3), params=given)
    assert np.isfinite(scores).all()


def test_without_routing_columns_may_be_named():
    X, y, years = policies()
    rows = X.assign(years=years)
    reg = RPTERegressor(loss="poisson", **QUICK)
    found = cross_val_score(
        reg, X, y, cv=halves(len(y)), params={"exposure": years}
    )  # of the fit alone
    assert np.isfinite(found).all()
    named = reg.fit(rows, y, exposure="years")
    np.testing.assert_array_equal(named.predict(rows, "years"), named.predict(rows, years))


def test_copies_are_the_same_regressor(routing):
    X, y, years = policies()
    reg = asking().fit(X, y, exposure=years)
    for again in (
        pickle.loads(pickle.dumps(reg)),
        *joblib.Parallel(2)(joblib.delayed(_same)(reg) for _ in "ab"),
    ):
        assert to_text(again.model_) == to_text(reg.model_)
        np.testing.assert_array_equal(again.predict(X, years), reg.predict(X, years))
        assert again.get_params() == reg.get_params()
        assert _asked(again) == _asked(reg) == (True, True, True)
    assert _asked(clone(reg)) == _asked(reg)
    fresh = clone(reg)
    assert not hasattr(fresh, "model_")
    assert fresh.get_params() == reg.get_params()
    fits = joblib.Parallel(2)(joblib.delayed(_fitted)(clone(reg), X, y, years) for _ in "ab")
    assert {to_text(each.model_) for each in fits} == {to_text(reg.model_)}
    paper = clone(RPTERegressor.paper(loss="gamma"))
    assert paper.get_params() == RPTERegressor.paper(loss="gamma").get_params()


def _asked(reg):
    """Return whether fit, predict and score ask for exposures."""
    found = reg.get_metadata_routing()
    return tuple(getattr(found, name).requests["exposure"] for name in ("fit", "predict", "score"))


def _same(reg):
    return reg


def _fitted(reg, X, y, years):
    return reg.fit(X, y, exposure=years)


def test_importance_and_a_transformed_target():
    X, y, _ = policies()
    reg = RPTERegressor(loss="poisson", **QUICK).fit(X, y)
    found = permutation_importance(reg, X, y, n_repeats=2, random_state=0)
    assert found["importances_mean"].argmax() == 0
    logged = TransformedTargetRegressor(
        RPTERegressor(**QUICK), func=np.log1p, inverse_func=np.expm1
    )
    assert logged.fit(X, y).predict(X).shape == (len(y),)


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="Invalid parameter"):
        RPTERegressor().set_params(criterion="label")
