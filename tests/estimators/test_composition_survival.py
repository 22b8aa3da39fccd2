"""RPTESurvival inside the machinery of scikit-learn and scikit-survival."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from rpte import RPTESurvival
from rpte.model.file import to_text
from survival_tables import made_times, tied_times

X, (EVENT, TIME) = made_times(240, 1)
Y = np.empty(240, [("event", bool), ("time", float)])
Y["event"], Y["time"] = EVENT, TIME
QUICK = {"l1": 0.05, "max_trees": 1}


def test_a_grid_search_and_folds():
    search = GridSearchCV(RPTESurvival(**QUICK), {"l1": [0.05, 100.0]}, cv=3).fit(X, Y)
    assert search.best_params_["l1"] == 0.05
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    scores = cross_val_score(RPTESurvival(**QUICK), X, Y, cv=KFold(3))
    assert (scores > 0.6).all()


def test_a_fold_is_the_fit_of_its_rows():
    train, test = next(KFold(3).split(X))
    found = cross_val_score(RPTESurvival(**QUICK), X, Y, cv=[(train, test)])
    by_hand = RPTESurvival(**QUICK).fit(X.iloc[train], Y[train])
    assert found[0] == by_hand.score(X.iloc[test], Y[test])


def test_a_pipeline():
    first = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    found = make_pipeline(first, RPTESurvival(**QUICK)).fit(X, Y)
    assert found.score(X, Y) > 0.65
    assert found.predict(X).shape == (240,)


def test_strata_and_entry_are_routed():
    table, rows = tied_times(240, 2, entry=True, strata=True)
    y = np.empty(240, Y.dtype)
    y["event"], y["time"] = rows.event, rows.time
    with sklearn.config_context(enable_metadata_routing=True):
        asking = RPTESurvival(**QUICK).set_fit_request(entry=True, strata=True)
        pipe = make_pipeline(StandardScaler(), asking)
        pipe.fit(table, y, entry=rows.entry, strata=rows.stratum)
    target = pipe[-1].model_.target
    assert target.has_entry
    assert target.strata == (0, 1, 2)


def test_with_processes_the_model_is_the_same():
    fits = joblib.Parallel(2)(joblib.delayed(RPTESurvival(**QUICK).fit)(X, Y) for _ in range(2))
    expected = to_text(RPTESurvival(**QUICK).fit(X, Y).model_)
    assert [to_text(each.model_) for each in fits] == [expected] * 2


def test_metrics_and_scorers_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    found = RPTESurvival(**QUICK).fit(X, Y)
    risk = found.predict(X)
    expected = metrics.concordance_index_censored(EVENT, TIME, risk)[0]
    assert found.score(X, Y) == pytest.approx(expected, abs=1e-12)
    times = np.quantile(TIME[EVENT], [0.2, 0.4, 0.6, 0.8])
    curves = np.array([curve(times) for curve in found.predict_survival_function(X)])
    assert 0.0 < metrics.integrated_brier_score(Y, Y, curves, times) < 0.25
    wrapped = metrics.as_concordance_index_ipcw_scorer(found, tau=times[-1])
    assert wrapped.fit(X, Y).score(X, Y) > 0.65
    for wrapper in ("as_integrated_brier_score_scorer", "as_cumulative_dynamic_auc_scorer"):
        scorer = getattr(metrics, wrapper)(RPTESurvival(**QUICK), times=times)
        assert np.isfinite(cross_val_score(scorer, X, Y, cv=3)).all()


def test_ties_of_scores_and_times_count_as_in_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    from rpte.audit.survival_metrics import concordance

    rng = np.random.default_rng(0)
    for _ in range(20):
        time, event = rng.integers(1, 6, 40).astype(float), rng.random(40) < 0.6
        score = rng.integers(0, 4, 40).astype(float)
        expected = metrics.concordance_index_censored(event, time, score)[0]
        assert concordance(event, time, score) == pytest.approx(expected, abs=1e-12)


def outcome(y):
    """Return numbers as times of events; what is none stays."""
    if y is None or np.asarray(y).ndim != 1 or np.asarray(y).dtype.kind not in "iuf":
        return y
    time = np.asarray(y)
    return np.ones(len(time), bool), time - np.min(time, initial=0) + 1.0


class Timed(RPTESurvival):
    """For checks whose targets are classes or numbers."""

    def fit(self, X, y, sample_weight=None, groups=None):
        return super().fit(X, outcome(y), sample_weight, groups)

    def score(self, X, y, sample_weight=None):
        return super().score(X, outcome(y), sample_weight)


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn():
    """All hold but the one that wants 'Unknown label type' of targets that are dictionaries."""
    results = check_estimator(Timed(**QUICK), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == {"check_dtype_object"}
