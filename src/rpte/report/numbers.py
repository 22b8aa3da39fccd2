"""Numbers as a report prints them."""

import math

from rpte.table.decimals import number_text

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


def known(value: float | None) -> str:
    """Return a number that a careful profile may have hidden."""
    return "hidden" if value is None else short(value)


def count(value: float | None) -> str:
    """Return a count; weights may make it a fraction."""
    return NONE if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def percent(value: float | str | None, digits: int = 1) -> str:
    """Return a share; a text (a hidden count) as it is."""
    if value is None or isinstance(value, str):
        return value or NONE
    return f"{100 * value:.{digits}f}%"


def exponential(value: float) -> float | None:
    """Return what a contribution to a logarithm multiplies by; None where that overflows."""
    return math.exp(value) if value < LARGEST_EXPONENT else None


def exact(value: float | None) -> str:
    """Return a number in full, as the file has it."""
    return NONE if value is None else number_text(value)
