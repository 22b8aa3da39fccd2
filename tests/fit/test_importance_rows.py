"""The rows that a fit keeps to average over: all of a small table, though equal rows are one."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTEClassifier


@pytest.mark.parametrize(("n", "sampled"), [(600, False), (6000, True)])
def test_equal_rows_are_no_sample(n, sampled):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=n), "b": random.normal(size=n)})
    X.iloc[1::50] = X.iloc[::50].to_numpy()
    y = X["a"] + X["b"] + random.normal(size=n) > 0
    rows = RPTEClassifier(l1=0.01).fit(X, y)._training_rows
    assert rows.table_rows == n
    assert rows.sampled == sampled
    assert rows.n_rows == (2000 if sampled else n)
    assert rows.weight.sum() == pytest.approx(rows.n_rows)
