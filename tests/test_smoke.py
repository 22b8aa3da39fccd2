"""The least that must work everywhere: fit, read, verify, save, load."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import rpte


def mixed_table(n: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    """Return numbers, a category, a boolean and gaps with a label that depends on all of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n).round(),
            "region": rng.choice(["north", "south", "west"], n),
            "smoker": rng.random(n) < 0.3,
            "noise": rng.normal(size=n),
        }
    )
    score = 0.08 * (X["age"] - 50) + 1.2 * X["smoker"] + (X["region"] == "west") - 0.5
    y = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no"))
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "region"] = None
    return X, y


@pytest.mark.parametrize("make", [rpte.RPTEClassifier, rpte.RPTEClassifier.paper])
def test_fit_read_verify_save_load(make, tmp_path):
    X, y = mixed_table()
    clf = make().fit(X, y)
    assert all(check.holds for check in clf.model_.verify(X, y))
    assert "age" in clf.summary()
    assert len(clf.rules_) == clf.audit().mu
    clf.save(tmp_path / "model.json")
    model = rpte.load(tmp_path / "model.json")
    assert (model.predict_proba(X) == clf.predict_proba(X)).all()
    assert model.explain(X.head(1))[0].score == clf.decision_function(X.head(1))[0]


def test_published_configuration_learns_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = rpte.RPTEClassifier.paper().fit(X.iloc[::2], y.iloc[::2])
    assert clf.score(X.iloc[1::2], y.iloc[1::2]) > 0.9
