import math
import sys
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rpte.table.decimals import number_text, short_centre, shortest_between

finite = st.floats(allow_nan=False, allow_infinity=False)


def digits(x):
    """Significant digits of the shortest decimal that reads back as x."""
    return len(Decimal(repr(x)).normalize().as_tuple().digits)


@given(finite, finite)
@example(5e-324, 1.5e-323)
@example(-1.5e-323, -5e-324)
@example(0.0, 1e-323)
@example(-1.7976931348623157e308, -1.797e308)
@example(1.0, 1.0000000000000004)
@example(9.999999, 10.000001)
@example(-0.3, -0.1)
def test_lies_strictly_between_and_is_no_longer_than_the_middle(a, b):
    low, high = sorted((a, b))
    assume(math.nextafter(low, math.inf) < high)
    number = shortest_between(low, high)
    assert low < number < high
    middle = low / 2 + high / 2
    assert digits(number) <= digits(middle)
    assert len(repr(number)) <= len(repr(middle)) + 1  # 9.5 may become 10.0
    assert float(number_text(number)) == number


@given(finite)
def test_neighbours_are_separated_by_the_lower_one(low):
    assume(low < 1.7e308)
    high = math.nextafter(low, math.inf)
    assert shortest_between(low, high) == low


@given(st.integers(-9999, 9999), st.integers(-9999, 9999), st.integers(-3, 3))
def test_no_decimal_between_has_fewer_digits(a, b, power):
    low, high = (float(f"{v}e{power}") for v in sorted((a, b)))
    assume(low < high)
    number = shortest_between(low, high)
    found = digits(number) if number else 0
    for places in range(found - 1):
        for exponent in range(-8, 8):
            step = 10.0 ** (exponent - places)
            if (high - low) / step > 50:
                assert not low < 0 < high or number == 0.0
                continue
            for k in range(math.floor(low / step), math.ceil(high / step) + 1):
                candidate = float(f"{k}e{exponent - places}")
                short = len(str(abs(k)).strip("0")) <= places + 1
                assert not (short and low < candidate < high), candidate


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1183, 0.1249, 0.12),
        (1495.0, 1510.0, 1500.0),
        (-3.0, 8.0, 0.0),
        (-1510.0, -1495.0, -1500.0),
        (99.0, 104.0, 100.0),
        (0.0, 1.0, 0.5),
        (1e300, 3e300, 2e300),
    ],
)
def test_known_decimals(low, high, expected):
    assert shortest_between(low, high) == expected


@given(finite, st.floats(min_value=1e-3, max_value=1e6))
def test_centres_move_by_less_than_a_hundredth_of_the_spread(value, spread):
    assume(abs(value) < 1e9)
    centre = short_centre(value, spread)
    assert abs(centre - value) <= spread / 100
    assert len(repr(centre)) <= max(len(repr(value)) + 1, 4) or abs(value) < 1e-4


@pytest.mark.parametrize("spread", [0.0, -1.0, math.nan, math.inf])
def test_centres_without_a_spread_stay(spread):
    assert short_centre(0.123456789, spread) == 0.123456789


def test_centres_near_the_largest_float_stay_finite():
    largest = sys.float_info.max
    assert math.isfinite(short_centre(largest, largest))
    assert short_centre(-1e-9, 1.0) == 0.0
    assert math.copysign(1.0, short_centre(-1e-9, 1.0)) == 1.0


@given(finite)
@example(-0.0)
@example(1e15)
@example(999999999999999.0)
def test_number_text_reads_back(value):
    text = number_text(value)
    assert float(text) == value
    assert not text.endswith(".0") or abs(value) >= 1e15


def test_number_text_of_negative_zero_has_no_sign():
    assert number_text(-0.0) == "0"
