"""The least that must work everywhere: fit, read, verify, save, load."""

import pytest
from sklearn.datasets import load_breast_cancer

import rpte
from small_table import mixed_table


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
