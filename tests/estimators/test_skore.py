"""skore's reports of estimators work with ours."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score

from shown_models import shown

skore = pytest.importorskip("skore")

FIGURES = {"binary": "accuracy", "several": "accuracy", "number": "r2"}


@pytest.mark.parametrize("task", list(FIGURES))
def test_an_estimator_report_measures_and_inspects(task):
    estimator, X, y, _ = shown(task)
    y, half = np.asarray(y), len(X) // 2
    given = {"pos_label": "bad"} if task == "binary" else {}
    rows = {"X_train": X.iloc[:half], "X_test": X.iloc[half:]}
    labels = {"y_train": y[:half], "y_test": y[half:]}
    found = skore.EstimatorReport(clone(estimator), **rows, **labels, **given)
    told = found.metrics.summarize().frame()
    ours = clone(estimator).fit(X.iloc[:half], y[:half]).predict(X.iloc[half:])
    score = (r2_score if task == "number" else accuracy_score)(y[half:], ours)
    assert score in [pytest.approx(each) for each in told.to_numpy().ravel()]
    found.inspection.permutation_importance()
    assert found.estimator_.verify(X.iloc[:half], y[:half]).holds
