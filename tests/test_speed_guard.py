"""A fit that became twice as slow is noticed: processor time over XGBoost's, in one process.

The limits are about twice the ratios that were measured when they were set; the targets, and the
ratios of whole tables, are those of `benchmarks/speed.py`.
"""

import time

import pytest
from sklearn.datasets import load_breast_cancer

from rpte import RPTEClassifier

xgboost = pytest.importorskip(
    "xgboost", reason="xgboost is not installed: pip install 'rpte[peers]'"
)


def seconds(make, X, y):
    """Return the processor's seconds of a fit, the least of three after one that warms up."""
    taken = []
    for _ in range(4):
        start = time.process_time()
        make().fit(X, y)
        taken.append(time.process_time() - start)
    return min(taken[1:])


@pytest.fixture(scope="module")
def case():
    X, y = load_breast_cancer(return_X_y=True)
    booster = seconds(lambda: xgboost.XGBClassifier(n_estimators=200, max_depth=4, n_jobs=1), X, y)
    return X, y, booster


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "limit"),
    [(RPTEClassifier, 14.0), (RPTEClassifier.paper, 2.5)],
    ids=["default", "paper"],
)
def test_a_fit_keeps_its_ratio(case, make, limit):
    X, y, booster = case
    ratio = seconds(lambda: make(n_jobs=1), X, y) / booster
    print(f"{ratio:.1f} times XGBoost")
    assert ratio < limit
