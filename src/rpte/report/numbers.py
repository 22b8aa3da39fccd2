"""Numbers as a report prints them."""

import math
from collections.abc import Sequence

from rpte.table.decimals import number_text
from rpte.table.fingerprint import HIDDEN

NONE = "-"
LARGEST_EXPONENT = 709.0


def fixed(value: float | None, digits: int = 3) -> str:
    """Return a number with so many decimals."""
    return NONE if value is None else f"{value:,.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """Return a number with its sign, to so many significant digits."""
    return NONE if value is None else "0" if value == 0 else f"{value:+.{digits}g}"


def short(value: float | None, digits: int = 4) -> str:
    """Return a number to so many significant digits."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.{digits}g}"


def quartiles(quantiles: Sequence[float | None] | None) -> str:
    """Say the median and the middle half of a column, as far as a careful profile tells them.

    Examples
    --------
    >>> quartiles([1.0, 2.0, 3.0, 5.0, 9.0])
    '3 (2 to 5)'
    >>> quartiles([None, None, 3.0, 5.0, None])
    '3 (up to 5)'
    """
    low, middle, high = [None, None, None] if quantiles is None else quantiles[1:4]
    if low is not None and high is not None:
        half = f"{short(low)} to {short(high)}"
    else:
        half = f"from {short(low)}" if high is None else f"up to {short(high)}"
        half = "" if low is None and high is None else half
    if middle is None:
        return f"middle half {half}" if half else "not shown"
    return f"{short(middle)} ({half})" if half else short(middle)


def count(value: float | str | None) -> str:
    """Return a count; weights may make it a fraction, and a careful profile a text."""
    if isinstance(value, str):
        return "not shown" if value == HIDDEN else value
    return NONE if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def percent(value: float | str | None, digits: int = 1) -> str:
    """Return a share; a text (a hidden count) as it is."""
    if value is None or isinstance(value, str):
        return count(value)
    return f"{100 * value:.{digits}f}%"


def exponential(value: float) -> float | None:
    """Return what a contribution to a logarithm multiplies by; None where that overflows."""
    return math.exp(value) if value < LARGEST_EXPONENT else None


def exact(value: float | None) -> str:
    """Return a number in full, as the file has it."""
    return NONE if value is None else number_text(value)
