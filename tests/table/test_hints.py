"""Hints: lines on what may be meant otherwise."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTEClassifier
from rpte.table.hints import hints_of
from rpte.table.read import read_training

N = 120


def hints(**columns):
    return hints_of(read_training(columns))


def test_few_whole_numbers_may_be_codes():
    (hint,) = hints(sex=np.arange(N) % 2 + 1.0, marriage=np.arange(N) % 4, thal=[3, 6, 7] * 40)
    assert hint.startswith("'sex' (1, 2), 'marriage' (0 to 3), 'thal' (3, 6, 7): few whole numbers")


@pytest.mark.parametrize(
    "column",
    [
        np.arange(N) % 2,  # 0 and 1 are the same either way
        np.arange(N),
        np.arange(N) % 4 / 2,
        np.arange(N) % 3 + 2007,  # years
        np.zeros(N),
    ],
)
def test_other_numbers_are_not_hinted_at(column):
    assert hints(c=column.astype(float)) == ()


def test_zeros_apart_from_all_other_numbers():
    rng = np.random.default_rng(0)
    pressure = np.where(rng.random(N) < 0.05, 0.0, rng.normal(75, 10, N).round())
    (hint,) = hints(pressure=pressure)
    assert hint.startswith("'pressure': 0 stands apart")
    assert hints(amount=np.where(rng.random(N) < 0.5, 0.0, rng.lognormal(3, 1, N))) == ()


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        (["yes", "YES", "no"], "YES/yes"),
        (["M", "m", "Male", "f"], "M/Male/m"),
        (["new york", "NewYork", "x"], "NewYork/new york"),
        (["a ", "a", "b"], "a/a "),
        (["F", "female", "b"], "F/female"),
    ],
)
def test_levels_that_differ_in_spelling(levels, shown):
    (hint,) = hints(c=np.array(levels * 40, object))
    assert hint.startswith(f"'c' ({shown}): levels that differ in spelling alone")


def test_ordinary_levels_are_left_alone():
    assert hints(c=np.array(["a", "b", "M", "L"] * 30, object)) == ()


def test_numbers_in_text():
    (hint,) = hints(c=np.array(["1", "2"] * 60, object))
    assert hint.startswith("'c': levels that are numbers")


def test_many_columns_are_counted():
    (hint,) = hints(**{f"c{i}": np.arange(N) % 3 for i in range(8)})
    assert "and 3 more: few whole numbers" in hint


def test_the_classifier_keeps_them_without_a_warning():
    X = pd.DataFrame({"sex": np.arange(N) % 2 + 1, "age": np.arange(N) * 7 % 60})
    fitted = RPTEClassifier(l1=0.05).fit(X, np.arange(N) // 3 % 2)
    assert len(fitted.hints_) == 1
    assert fitted.sentinels_ == {}
