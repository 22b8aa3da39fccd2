import math
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rpte.table.decimals import (
    edge_between,
    gap_between,
    in_single,
    middle_between,
    number_text,
    short_centre,
    shortest_between,
    thresholds_between,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


tenths = st.integers(-10_000, 10_000).map(lambda k: k / 10)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)


def step(x):
    """The distance of two neighbours in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        return abs(float(np.spacing(np.float32(x))))


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
    below, above = gap_between(low, high)
    middle = below / 2 + above / 2
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


@given(finite)
@example(1e-46)
@example(-1e-46)
@example(3.4028235677973366e38)
@example(-3.5e38)
@example(16777217.0)
@example(-0.0)
def test_single_precision_is_that_of_numpy(x):
    with np.errstate(over="ignore"):
        assert in_single(x) == float(np.float32(x))


@given(finite | tenths | singles, finite | tenths | singles)
@example(0.6, 0.7)
@example(0.7, 0.800000011920929)
@example(-1e-46, 1.0)
@example(-1.0, 1e-46)
@example(0.0, 1e-46)
@example(3.4028234663852886e38, 1e39)
@example(1e39, 2e39)
@example(16777216.0, 16777217.0)
@example(0.1, math.nextafter(0.1, 1.0))
@example(1.0 + 2.0**-24, math.nextafter(1.0 + 2.0**-24, 2.0))
def test_thresholds_separate_what_single_precision_can_tell_apart(a, b):
    low, high = sorted((a, b))
    assume(low < high)
    shortest, middle = shortest_between(low, high), middle_between(low, high)
    edge = edge_between(high, low, high)
    if in_single(low) == in_single(high):
        assert low <= shortest < high
        assert low <= middle < high
        assert low < edge <= high
        return
    for threshold in (shortest, middle):
        assert max(low, in_single(low)) <= threshold < min(high, in_single(high))
    assert max(low, in_single(low)) < edge <= min(high, in_single(high))


@given(singles, singles, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
@example(0.699999988079071, 0.800000011920929, 0.0, -0.2)
def test_thresholds_separate_the_unknown_originals_of_copies(a, b, shift, other):
    low, high = sorted((a, b))
    assume(high - low > 2 * max(step(low), step(high)))
    originals = low + shift * step(low), high + other * step(high)
    assume(in_single(originals[0]) == low)
    assume(in_single(originals[1]) == high)
    # A short decimal is its own original.
    first, second = (
        value if float(f"{value:.7g}") == value else original
        for value, original in zip((low, high), originals, strict=True)
    )
    for threshold in (shortest_between(low, high), middle_between(low, high)):
        assert max(low, first) <= threshold < min(high, second)
    edge = edge_between(high, low, high)
    assert max(low, first) < edge <= min(high, second)


@given(finite | tenths, finite | tenths)
def test_the_exact_middle_stays_where_values_are_two_steps_apart(a, b):
    low, high = sorted((a, b))
    assume(max(abs(low), abs(high)) < 3.4e38)
    assume(high - low > 2 * max(step(low), step(high)))
    assert middle_between(low, high) == low / 2 + high / 2


@given(finite | tenths | singles, finite | tenths | singles)
def test_the_present_threshold_comes_before_that_of_earlier_versions(a, b):
    low, high = sorted((a, b))
    assume(low < high)
    middle = low / 2 + high / 2
    present, before = thresholds_between(low, high, exact=True)
    assert present == middle_between(low, high)
    assert before == (middle if low <= middle < high else low)
    present, before = thresholds_between(low, high, exact=False)
    assert present == shortest_between(low, high)
    assert low <= before < high


@pytest.mark.parametrize(
    ("edge", "low", "high", "expected"),
    [
        (3.0, 2.0, 3.0, 3.0),
        (0.1, 0.0, 0.1, 0.1),  # in single precision it is above
        (0.7, 0.6, 0.7, 0.699999988079071),
        (0.65, 0.6, 0.7, 0.65),
        (0.10000000149011612, 0.0, 0.10000000149011612, 0.09999999776482582),
    ],
)
def test_known_edges(edge, low, high, expected):
    assert edge_between(edge, low, high) == expected


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
