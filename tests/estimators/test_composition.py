"""Every estimator inside scikit-learn's other machinery: the fits are those made by hand."""

from __future__ import annotations

import io
import pickle
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from class_tables import flowers
from rpte import InputError, RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.audit.survival_metrics import concordance
from rpte.model.file import to_text
from small_table import mixed_table
from survival_tables import made_times, tied_times

QUICK = {"l1": 0.03, "max_trees": 1}
NUMBER = {"two": "age", "three": "width", "count": "power", "time": "a"}  # a column of each table


@cache
def case(task):
    """Return a table, a target, what `fit` is given beside it, and an estimator of it."""
    if task == "two":
        return *mixed_table(), {}, RPTEClassifier(**QUICK)
    if task == "three":
        return *flowers(), {}, RPTEClassifier(**QUICK)
    if task == "time":
        X, (event, time) = made_times(240, 1)
        return X, structured(event, time), {}, RPTESurvival(**QUICK)
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.integers(18, 80, 240), "zone": rng.choice(list("abc"), 240)})
    X["power"] = np.where(rng.random(240) < 0.1, np.nan, rng.normal(size=240).round(2))
    years = pd.Series(rng.uniform(0.2, 2.0, 240).round(2), name="years")
    y = pd.Series(rng.poisson(np.exp(0.3 + 1.8 * (X["age"] < 35)) * years), name="claims")
    with sklearn.config_context(enable_metadata_routing=True):
        asking = RPTERegressor(loss="poisson", **QUICK).set_fit_request(exposure=True)
        asking.set_predict_request(exposure=True).set_score_request(exposure=True)
    return X, y, {"exposure": years}, asking


def structured(event, time):
    y = np.empty(len(time), [("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    return y


@cache
def fitted(task):
    X, y, given, made = case(task)
    return clone(made).fit(X, y, **given)


def take(values, rows):
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


@cache
def by_hand(task):
    """Return the fits and scores of two halves."""
    X, y, given, made = case(task)
    found = []
    for train, test in halves(len(y)):
        seen = {name: take(each, train) for name, each in given.items()}
        fit = clone(made).fit(take(X, train), take(y, train), **seen)
        held = {name: take(each, test) for name, each in given.items()}
        found.append((fit, fit.score(take(X, test), take(y, test), **held)))
    return found


def halves(n):
    rows = np.arange(n)
    return [(rows[rows % 2 == side], rows[rows % 2 != side]) for side in (0, 1)]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings(
    "ignore:the model was fitted with the (exposure|offset)"
)  # it is routed to fit alone
@pytest.mark.parametrize(("task", "jobs"), [*((task, 1) for task in NUMBER), ("count", 2)])
def test_a_fold_is_the_fit_of_its_rows(task, jobs):
    X, y, given, made = case(task)
    splits = halves(len(y))
    asked = {"cv": splits, "params": given or None, "n_jobs": jobs}
    found = cross_validate(clone(made), X, y, return_estimator=True, **asked)
    np.testing.assert_array_equal(found["test_score"], [score for _, score in by_hand(task)])
    texts = [to_text(fit.model_) for fit, _ in by_hand(task)]
    assert [to_text(each.model_) for each in found["estimator"]] == texts
    method = "predict_proba" if task in ("two", "three") else "predict"
    rows = cross_val_predict(clone(made), X, y, method=method, **asked)
    for (_, test), (fit, _) in zip(splits, by_hand(task), strict=True):
        np.testing.assert_array_equal(rows[test], getattr(fit, method)(take(X, test)))


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore:the model was fitted with the (exposure|offset)")
@pytest.mark.parametrize("task", NUMBER)
def test_a_grid_search_scores_folds_and_fits_all_rows(task):
    X, y, given, made = case(task)
    search = GridSearchCV(clone(made), {"l1": [100.0, QUICK["l1"]]}, cv=halves(len(y)))
    search.fit(X, y, **given)
    found = [search.cv_results_[f"split{k}_test_score"][1] for k in (0, 1)]
    assert found == [score for _, score in by_hand(task)]
    assert search.best_params_ == {"l1": QUICK["l1"]}
    assert to_text(search.best_estimator_.model_) == to_text(fitted(task).model_)
    np.testing.assert_array_equal(search.predict(X), fitted(task).predict(X))
    assert search.score(X, y, **given) == fitted(task).score(X, y, **given)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("task", NUMBER)
def test_a_pipeline_hands_everything_on(task):
    X, y, given, made = case(task)
    prepare = ColumnTransformer(
        [("numbers", SimpleImputer(), [NUMBER[task]])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipe = make_pipeline(prepare, clone(made)).fit(X, y, **given)
    filled = prepare.fit_transform(X)
    alone = clone(made).fit(filled, y, **given)
    assert to_text(pipe[-1].model_) == to_text(alone.model_)
    assert not pipe[-1].model_.schema[NUMBER[task]].has_missing
    np.testing.assert_array_equal(pipe.predict(X, **given), alone.predict(filled, **given))
    assert pipe.score(X, y, **given) == alone.score(filled, y, **given)


def test_a_grid_over_a_pipeline_of_two_classes():
    X, y = mixed_table(150)
    prepare = ColumnTransformer([("numbers", SimpleImputer(), ["age", "noise"])])
    grid = {
        "rpteclassifier__max_leaves": [2, 4],
        "rpteclassifier__ownership": ["strict", "paper"],
        "rpteclassifier__vocabulary": ["hug"],
    }
    pipe = make_pipeline(prepare, RPTEClassifier(l1="4/n", max_trees=2, budget=5))
    search = GridSearchCV(pipe, grid, cv=3, scoring="roc_auc").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.6


def _asked(found):
    """Return whether fit, predict and score ask for exposures."""
    requests = found.get_metadata_routing()
    names = ("fit", "predict", "score")
    return tuple(getattr(requests, name).requests.get("exposure") for name in names)


def _with_joblib(found):
    file = io.BytesIO()
    joblib.dump(found, file)
    return joblib.load(file)


def _of_state(found):
    state = found.__getstate__()
    assert isinstance(state["model_"], str)
    again = type(found)()
    again.__setstate__(state)
    return again


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("task", NUMBER)
def test_copies_are_the_same_estimator(task):
    X, _, given, _ = case(task)
    found = fitted(task)
    for again in (pickle.loads(pickle.dumps(found)), _with_joblib(found), _of_state(found)):
        assert again.model_ == found.model_
        assert again.frontier_models_ == found.frontier_models_
        np.testing.assert_array_equal(again.predict(X, **given), found.predict(X, **given))
        assert again.get_params() == found.get_params()
        assert again.summary() == found.summary()
        assert _asked(again) == _asked(found) == ((True,) * 3 if given else (None,) * 3)
    fresh = clone(found)
    assert not hasattr(fresh, "model_")
    assert fresh.get_params() == found.get_params()
    assert _asked(fresh) == _asked(found)


@pytest.mark.parametrize("task", ["count", "time"])
def test_processes_do_not_matter(task):
    X, y, given, _ = case(task)
    fits = joblib.Parallel(2)(
        joblib.delayed(clone(fitted(task)).fit)(X, y, **given) for _ in range(2)
    )
    assert {to_text(each.model_) for each in fits} == {to_text(fitted(task).model_)}


@pytest.mark.parametrize(
    "made", [RPTEClassifier.paper(budget=7), RPTERegressor.paper(loss="gamma"), RPTESurvival()]
)
def test_parameters_are_cloned_shown_and_checked(made):
    assert clone(made).get_params() == made.get_params()
    html = made.set_params(ownership="strict")._repr_html_()
    assert type(made).__name__ in html
    assert "strict" in html
    with pytest.raises(ValueError, match="Invalid parameter"):
        made.set_params(nope=3)
    for name in ("predict", "explain"):
        with pytest.raises(NotFittedError):
            getattr(made, name)(case("two")[0])
    for name in ("summary", "audit"):
        with pytest.raises(NotFittedError):
            getattr(made, name)()
    with pytest.raises(NotFittedError):
        _ = made.rules_
    with pytest.raises(NotFittedError):
        made.save("nowhere.json")


def test_calibration_keeps_the_order_of_scores_in_each_fold():
    X, y, *_, made = case("two")
    calibrated = CalibratedClassifierCV(clone(made), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)
    for part in calibrated.calibrated_classifiers_:
        raw = part.estimator.decision_function(X)
        steps = np.diff(part.predict_proba(X)[np.argsort(raw, kind="stable"), 1])
        assert (steps >= -1e-12).all() or (steps <= 1e-12).all()


def test_three_classes_in_other_ways():
    X, y, *_, made = case("three")
    calibrated = CalibratedClassifierCV(clone(made), cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    rest = OneVsRestClassifier(clone(made)).fit(X, y)
    assert np.mean(rest.predict(X) == fitted("three").predict(X)) > 0.8
    scores = cross_val_score(clone(made), X, y, cv=2, scoring="roc_auc_ovr")
    assert (scores > 0.6).all()


@pytest.mark.parametrize(("task", "column"), [("three", "width"), ("count", "age")])
def test_the_variable_that_matters_is_the_most_important(task, column):
    X, y, given, _ = case(task)

    def score(estimator, X, y):
        return estimator.score(X, y, **given)

    found = permutation_importance(fitted(task), X, y, scoring=score, n_repeats=2, random_state=0)
    assert X.columns[found["importances_mean"].argmax()] == column


def test_a_transformed_target():
    X, y, *_ = case("count")
    logged = TransformedTargetRegressor(
        RPTERegressor(**QUICK), func=np.log1p, inverse_func=np.expm1
    )
    by_hand = RPTERegressor(**QUICK).fit(X, np.log1p(y)).predict(X)
    np.testing.assert_allclose(logged.fit(X, y).predict(X), np.expm1(by_hand))


@pytest.mark.usefixtures("routing")
def test_groups_and_weights_are_routed_too():
    X, y, given, made = case("count")
    weight, groups = np.where(np.arange(len(y)) % 3, 1.0, 2.0), np.arange(len(y)) // 4
    reg = clone(made).set_fit_request(exposure=True, sample_weight=True, groups=False)
    reg.set_score_request(exposure=True, sample_weight=True)
    beside = {**given, "sample_weight": weight, "groups": groups}
    scores = cross_val_score(reg, X, y, cv=GroupKFold(3), params=beside)
    train, test = next(GroupKFold(3).split(X, y, groups))
    seen = {name: take(beside[name], train) for name in ("exposure", "sample_weight")}
    held = {name: take(beside[name], test) for name in seen}
    alone = clone(made).fit(X.iloc[train], y.iloc[train], **seen)
    assert scores[0] == alone.score(X.iloc[test], y.iloc[test], **held)


@pytest.mark.usefixtures("routing")
def test_strata_and_entry_are_routed():
    table, rows = tied_times(240, 2, entry=True, strata=True)
    asking = RPTESurvival(**QUICK).set_fit_request(entry=True, strata=True)
    pipe = make_pipeline(SimpleImputer(), asking)
    pipe.fit(table, structured(rows.event, rows.time), entry=rows.entry, strata=rows.stratum)
    target = pipe[-1].model_.target
    assert target.has_entry
    assert target.strata == (0, 1, 2)


def test_without_routing_columns_may_be_named():
    X, y, given, _ = case("count")
    reg = RPTERegressor(loss="poisson", **QUICK)
    asked = {"cv": halves(len(y)), "params": given, "error_score": "raise"}
    with pytest.raises(InputError, match="give exposure= as to fit"):  # routed to the fit alone
        cross_val_score(reg, X, y, **asked)
    rows = X.assign(years=given["exposure"])
    named = reg.fit(rows, y, exposure="years")
    np.testing.assert_array_equal(named.predict(rows, "years"), named.predict(rows, rows["years"]))


def test_metrics_and_scorers_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    X, y, _, made = case("time")
    found, event, time = fitted("time"), y["event"], y["time"]
    expected = metrics.concordance_index_censored(event, time, found.predict(X))[0]
    assert found.score(X, y) == pytest.approx(expected, abs=1e-12)
    times = np.quantile(time[event], [0.2, 0.4, 0.6, 0.8])
    curves = np.array([curve(times) for curve in found.predict_survival_function(X)])
    assert 0.0 < metrics.integrated_brier_score(y, y, curves, times) < 0.25
    wrapped = metrics.as_concordance_index_ipcw_scorer(clone(made), tau=times[-1])
    assert wrapped.fit(X, y).score(X, y) > 0.65
    for wrapper in ("as_integrated_brier_score_scorer", "as_cumulative_dynamic_auc_scorer"):
        scorer = getattr(metrics, wrapper)(clone(made), times=times)
        assert np.isfinite(cross_val_score(scorer, X, y, cv=KFold(2))).all()


def test_ties_of_scores_and_times_count_as_in_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    rng = np.random.default_rng(0)
    for _ in range(20):
        time, event = rng.integers(1, 6, 40).astype(float), rng.random(40) < 0.6
        score = rng.integers(0, 4, 40).astype(float)
        expected = metrics.concordance_index_censored(event, time, score)[0]
        assert concordance(event, time, score) == pytest.approx(expected, abs=1e-12)
