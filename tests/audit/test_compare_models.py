"""Several models on one page, with measures as scikit-learn computes them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error, r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rpte
from rpte import InputError, RPTEClassifier, RPTERegressor


@cache
def table(n=400):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)}, index=np.arange(n) + 1000)
    score = 1.5 * X["a"] - X["b"] ** 2
    y = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "sick", "well"), name="state")
    return X, y.set_axis(X.index), 3.0 + score + rng.normal(size=n)


@cache
def classifiers():
    X, y, _ = table()
    return {
        "ours": RPTEClassifier(l1=0.02, max_trees=0, positive="sick").fit(X, y),
        "turned": RPTEClassifier(l1=0.1, max_trees=0, positive="well").fit(X, y),
        "line": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        "boosted": HistGradientBoostingClassifier(max_iter=20).fit(X, y),
    }


@cache
def page():
    X, y, _ = table()
    return rpte.compare(classifiers(), X, y)


def test_measures_are_those_of_scikit_learn():
    X, y, _ = table()
    found = page().to_frame()
    sick = (y == "sick").astype(int)
    for name, model in classifiers().items():
        p = model.predict_proba(X)[:, list(model.classes_).index("sick")]
        np.testing.assert_allclose(page().predictions[name], p, rtol=1e-9)
        assert found.loc[name, "auc"] == pytest.approx(roc_auc_score(sick, p))
        assert found.loc[name, "log_loss"] == pytest.approx(log_loss(sick, p))
        assert found.loc[name, "brier"] == pytest.approx(brier_score_loss(sick, p))
        assert found.loc[name, "conditions"] == rpte.audit_load(model).miu
        own = page().calibration().query("model == @name")
        order = np.argsort(p, kind="stable")
        parts = [(p[at].mean(), sick.to_numpy()[at].mean()) for at in np.array_split(order, 5)]
        np.testing.assert_allclose(own[["predicted", "observed"]], parts)


def test_pairs_and_rows_say_where_models_disagree():
    found = page()
    pairs = found.pairs().set_index(["a", "b"])
    assert len(pairs) == 6
    p, q = found.predictions["ours"], found.predictions["line"]
    assert pairs.loc[("ours", "line"), "rank_agreement"] == pytest.approx(spearmanr(p, q)[0])
    assert pairs.loc[("ours", "line"), "mean_size"] == pytest.approx((p - q).abs().mean())
    assert pairs.loc[("ours", "line"), "largest"] == pytest.approx((p - q).abs().max())
    rows = found.disagreements(5)
    apart = found.predictions.max(axis=1) - found.predictions.min(axis=1)
    assert rows["difference"].tolist() == sorted(apart, reverse=True)[:5]
    assert set(rows.index) <= set(table()[0].index)
    first = rows.iloc[0]
    assert first["difference"] == pytest.approx(first[first["highest"]] - first[first["lowest"]])
    assert first["observed"] == float(table()[1][rows.index[0]] == "sick")


def test_two_of_ours_are_compared_by_their_terms_too():
    X, _, _ = table()
    found = page().terms("ours", "turned")
    assert found == rpte.compare(classifiers()["ours"], classifiers()["turned"], X)
    with pytest.raises(InputError, match="no model is called 'mine'"):
        page().terms("ours", "mine")


def test_text_and_card_show_every_model_and_table():
    for shown in (str(page()), page()._repr_html_()):
        for part in (*classifiers(), "Calibration", "Pairs", "largest disagreement", "400 rows"):
            assert part in shown
    assert "probability of state = " in str(page())


def test_numbers_and_predictions_alone():
    X, _, y = table()
    ours = RPTERegressor(l1=0.05, max_trees=0).fit(X, y)
    line = LinearRegression().fit(X, y)
    found = rpte.compare([ours, line, line.predict(X) + 1.0], X, y)
    assert list(found.models) == ["RPTERegressor", "LinearRegression", "ndarray"]
    frame = found.to_frame()
    assert frame.loc["LinearRegression", "deviance_explained"] == pytest.approx(
        r2_score(y, line.predict(X))
    )
    assert frame.loc["RPTERegressor", "mae"] == pytest.approx(
        mean_absolute_error(y, ours.predict(X))
    )
    assert pd.isna(frame.loc["ndarray", "conditions"])
    ratio = frame["calibration_ratio"]
    assert ratio["LinearRegression"] == pytest.approx(1.0)
    assert ratio["ndarray"] == pytest.approx(1.0 + len(y) / y.sum())
    pairs = found.pairs().set_index(["a", "b"])
    assert pairs.loc[("LinearRegression", "ndarray"), "largest"] == pytest.approx(1.0)


def test_exposure_multiplies_what_all_predict():
    rng = np.random.default_rng(0)
    X, years = pd.DataFrame({"a": rng.normal(size=300)}), rng.uniform(0.5, 2.0, 300)
    y = rng.poisson(np.exp(0.5 * X["a"]) * years)
    reg = RPTERegressor(loss="poisson", l1=0.05, max_trees=0).fit(X, y, exposure=years)
    flat = np.full(300, y.sum() / years.sum())
    found = rpte.compare({"ours": reg, "flat": flat}, X, y, exposure=years)
    np.testing.assert_allclose(found.predictions["ours"], reg.predict(X, exposure=years))
    np.testing.assert_allclose(found.predictions["flat"], flat * years)
    explained = reg.score(X, y, exposure=years)
    assert found.to_frame().loc["ours", "deviance_explained"] == pytest.approx(explained)
    with pytest.raises(InputError, match="under the loss 'poisson'"):
        rpte.compare([reg, flat - 10.0], X, y, exposure=years)


def test_others_alone_and_families_without_a_rule():
    X, y, _ = table()
    others = [LogisticRegression().fit(X, y), GaussianNB().fit(X, y), GaussianNB().fit(X, y)]
    found = rpte.compare(others, X, y)
    assert list(found.models) == ["LogisticRegression", "GaussianNB 1", "GaussianNB 2"]
    assert found.loads["GaussianNB 1"] is None
    assert found.pairs()["rank_agreement"].iloc[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("module", ["lightgbm", "interpret.glassbox"])
def test_other_libraries_stand_beside_ours(module):
    library = pytest.importorskip(module)
    X, y, _ = table()
    if module == "lightgbm":
        other = library.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    else:
        other = library.ExplainableBoostingClassifier(max_rounds=20, interactions=0, n_jobs=1).fit(
            X, y
        )
    found = rpte.compare([classifiers()["ours"], other], X, y)
    name = list(found.models)[1]
    assert found.loads[name].miu == rpte.audit_load(other).miu > 0
    p = other.predict_proba(X)[:, 0]
    np.testing.assert_allclose(found.predictions[name], p)


def test_what_makes_no_sense_is_refused():
    X, y, number = table()
    ours = classifiers()["ours"]
    other = RPTEClassifier(l1=0.1, max_trees=0).fit(X, y.map({"sick": "in", "well": "out"}))
    three = RPTEClassifier(l1=0.1).fit(X, pd.qcut(number, 3, labels=["u", "v", "w"]).astype(str))
    for models, said in [
        ([ours], "1 model to compare"),
        ([ours, other], "has the classes \\['in', 'out'\\]"),
        ([ours, RPTERegressor(l1=0.1, max_trees=0).fit(X, number)], "others of a number"),
        ([ours, three], "compare two models of several classes"),
        ([ours, np.full(400, 1.5)], "probabilities are 0 to 1"),
        ([ours, np.zeros(3)], "one finite prediction for each of 400 rows"),
        ([ours, "model"], "is a str; give a fitted model"),
    ]:
        with pytest.raises(InputError, match=said):
            rpte.compare(models, X, y)
    with pytest.raises(InputError, match="labelled rows"):
        rpte.compare([ours, ours], X)
    with pytest.raises(InputError, match="a page has one table"):
        rpte.compare([ours, ours], X, y, X)
    with pytest.raises(InputError, match="are for a page"):
        rpte.compare(ours, ours, X, sample_weight=np.ones(400))
