import math
from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpte.columns.logarithm import logarithm

POSITIVE = st.floats(5e-324, 1.7e308)


def log(x):
    return float(logarithm(np.array([x]))[0])


@given(POSITIVE)
def test_against_exact_decimals(x):
    exact = float(Decimal(x).ln())
    assert abs(log(x) - exact) <= math.ulp(exact)


def test_by_hand():
    assert log(1.0) == 0.0
    assert log(2.0) == math.log(2)
    assert np.isnan(log(math.nan))
    assert log(5e-324) == -1074 * math.log(2)


@given(POSITIVE)
def test_neighbours_never_fall(x):
    numbers = (np.float64(x).view(np.int64) + np.arange(200)).view(np.float64)
    assert (np.diff(logarithm(numbers[np.isfinite(numbers)])) >= 0).all()


def test_any_shape_and_many_cells():
    x = np.random.default_rng(0).uniform(0.1, 9.0, (3, 5_000))
    assert logarithm(x).shape == (3, 5_000)
    assert (logarithm(x) == np.array([logarithm(row) for row in x])).all()
    assert logarithm(np.zeros((2, 0))).shape == (2, 0)
