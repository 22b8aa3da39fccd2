"""Hints: lines on what may be meant otherwise."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from effort import examples
from rpte import RPTEClassifier, RPTEWarning
from rpte.table.hints import USUAL, find_sentinels, hints_of
from rpte.table.read import read_training

N = 120


def hints(**columns):
    return hints_of(read_training(columns))


def test_few_whole_numbers_may_be_codes():
    (hint,) = hints(marriage=np.arange(N) % 4, thal=[3, 6, 7] * 40)
    assert hint.startswith("'marriage' (0 to 3), 'thal' (3, 6, 7): few whole numbers")


@pytest.mark.parametrize(
    "column",
    [
        np.arange(N) % 2,  # two values are yes/no
        np.arange(N) % 2 + 1,
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
    X = pd.DataFrame({"grade": np.arange(N) % 3 + 1, "age": np.arange(N) * 7 % 60})
    fitted = RPTEClassifier(l1=0.05).fit(X, np.arange(N) // 3 % 2)
    assert len(fitted.hints_) == 1
    assert fitted.sentinels_ == {}


def found_in(columns, specials=None):
    return dict(find_sentinels(read_training(columns, specials)).codes)


def planted(rest, code, share=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(rest)) < share, code, rest).astype(float)


COUNTS = np.random.default_rng(1).poisson(20, 500).astype(float)
AMOUNTS = np.random.default_rng(2).lognormal(3, 1, 500).round(2)
SCALED = np.random.default_rng(3).normal(size=500)
TEMPERATURES = np.random.default_rng(4).normal(8, 9, 500).round()


@pytest.mark.parametrize(
    ("rest", "code"),
    [(COUNTS, -9), (COUNTS, -1), (COUNTS, 999), (COUNTS, -99), (AMOUNTS, -1), (AMOUNTS, -9),
     (AMOUNTS, 9999), (SCALED, -9), (SCALED, 99), (SCALED, -999), (TEMPERATURES, -999),
     (TEMPERATURES, 9999), (COUNTS, -(2**31)), (COUNTS % 3, 99), (COUNTS % 2, -9)],
)  # fmt: skip
def test_a_planted_code_is_found(rest, code):
    assert found_in({"c": planted(rest, code)}) == {"c": (code,)}


def test_several_codes_of_one_column():
    column = planted(planted(COUNTS, -9), -8, 0.03, 1)
    column[:2] = -7  # too few by themselves, but on the way
    assert found_in({"c": planted(column, 999, 0.02, 2)}) == {"c": (-9, -8, -7, 999)}


@pytest.mark.parametrize(
    "column",
    [
        COUNTS,
        COUNTS - 20,
        AMOUNTS,
        SCALED,
        TEMPERATURES,
        COUNTS % 2 * 2 - 1,  # -1 and 1
        COUNTS % 3 - 1,  # -1, 0, 1
        COUNTS % 12 - 2,  # -2 to 9
        COUNTS % 100,  # with 99 next to 98
        np.minimum(COUNTS * 5, 99),  # cut off at 99
        np.where(COUNTS > 35, 999, COUNTS),  # only now and then
        np.full(500, -9.0),
        np.where(COUNTS > 20, -9.0, np.nan),
        np.where(COUNTS > 20, 0.0, 99.0),  # two values are no range
    ],
)
def test_ordinary_numbers_are_left_alone(column):
    assert found_in({"c": column}) == {}


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris, load_diabetes])
def test_real_tables_without_codes(load):
    assert found_in(load(as_frame=True).data) == {}


@examples(60)
@given(st.integers(0, 1000), st.sampled_from(["normal", "poisson", "lognormal", "uniform"]))
def test_no_false_alarm_on_smooth_numbers(seed, kind):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-2, 5)
    draw = {
        "normal": lambda: rng.normal(rng.normal() * scale, scale, 400),
        "poisson": lambda: rng.poisson(rng.exponential(scale), 400).astype(float),
        "lognormal": lambda: rng.lognormal(0, rng.exponential(2), 400) * scale,
        "uniform": lambda: rng.uniform(-scale, scale, 400),
    }[kind]()
    digits = int(rng.integers(0, 3))
    assert found_in({"c": draw.round(digits)}) == {}


def test_declared_codes_are_not_warned_of():
    column = planted(COUNTS, -9)
    assert found_in({"c": column}, {"c": [-9]}) == {}
    assert found_in({"c": planted(column, 999)}, {"c": [-9]}) == {}


@pytest.mark.parametrize("code", [-9, 9999])
def test_rows_that_are_one_code_throughout(code):
    """The code is within the range of one column, which alone would not tell."""
    X = pd.DataFrame({"a": SCALED * 9000, "b": COUNTS, "c": AMOUNTS, "d": COUNTS % 7, "e": SCALED})
    X.iloc[::50] = code
    found = find_sentinels(read_training(X))
    assert dict(found.codes) == dict.fromkeys("abcde", (code,))
    assert dict(found.rows) == {code: 10}
    assert f"10 rows are {code} throughout" in found.said()


def test_rows_of_equal_ordinary_numbers_are_no_codes():
    X = {name: np.where(np.random.default_rng(i).random(500) < 0.5, -1.0, 1.0)
         for i, name in enumerate("abcd")}  # fmt: skip
    assert found_in(X) == {}


def test_the_fit_warns_once_with_the_remedy_ready_to_paste():
    rng = np.random.default_rng(0)
    y = (COUNTS + rng.normal(size=500) * 3 > 20).astype(int)
    X = pd.DataFrame({"income": planted(COUNTS, -9), "debt": planted(AMOUNTS, 9999), "age": COUNTS})
    with pytest.warns(RPTEWarning) as caught:
        fitted = RPTEClassifier(l1=0.05).fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith("2 columns hold codes that stand apart from all their other numbers")
    assert text.endswith("special_values={'income': [-9], 'debt': [9999]}")
    assert fitted.sentinels_ == {"income": [-9], "debt": [9999]}
    again = RPTEClassifier(l1=0.05, special_values=fitted.sentinels_).fit(X, y)
    assert again.sentinels_ == {}
    assert again.model_.schema["income"].levels == ("-9",)


def test_the_usual_codes():
    assert {-1, -9, -99, -999, 99, 999, 9999, 88, -77, 997} <= USUAL
    assert not {0, 1, 9, 100, -10, 50} & USUAL
