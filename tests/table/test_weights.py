"""Weights: numbers, none negative, of a sum in which a row counts."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rpte import InputError, RPTEClassifier
from rpte.table.table import read_weights


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1e300, 1e300], "sums to 2e\\+300"),
        ([1.7e308, 1.7e308], "sums to inf"),
        ([2.0**53, 2.0], "beyond 2\\*\\*53"),
        ([10**400, 1], r"\[0\] is inf"),
        ([1.0, None], r"\[1\] is nan"),
        ([1.0, -1.0], r"\[1\] is -1"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), r"\[1\] is nan"),
        (np.ma.array([1, 2], mask=[0, 1]), r"\[1\] is nan"),
        (pd.array([1, None], "Int64"), r"\[1\] is nan"),
        ([1j, 1j], "complex128"),
        (["1", "2"], "'1'"),
        (np.array(["1", "2"]), "<U1"),
        (np.array(["2020-01-01"] * 2, "datetime64[D]"), "datetime64"),
        (np.array([1, 2], "timedelta64[D]"), "timedelta64"),
        ([1.0], "expected \\(2,\\)"),
        ([[1.0], [1.0]], "expected \\(2,\\)"),
    ],
)
def test_what_is_refused(weight, message):
    with pytest.raises(InputError, match=message):
        read_weights(weight, 2)


@pytest.mark.parametrize(
    "weight", [2, [2, 2], [2.0, 2], np.array([2, 2], np.uint8), [Decimal(2), 2], pd.Series([2, 2])]
)
def test_what_is_read(weight):
    found = read_weights(weight, 2)
    assert found.tolist() == [2.0, 2.0]
    assert found.dtype == np.float64


def test_class_weights_count_in_the_sum():
    x = np.arange(20.0)[:, None]
    with pytest.raises(InputError, match=r"sample_weight \(times class_weight\) sums to"):
        RPTEClassifier(class_weight={1: 1e300}).fit(x, np.arange(20) % 2)
