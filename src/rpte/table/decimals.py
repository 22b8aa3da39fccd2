"""Short decimals: the thresholds that people read are the thresholds that score."""

from __future__ import annotations

import math

LARGE = 1e307  # rounding a larger number may overflow


def shortest_between(low: float, high: float) -> float:
    """Return the shortest decimal strictly between two floats, the nearest to their middle.

    Two neighbouring floats have nothing between them: then `low` itself is returned, which still
    separates them under ``x <= threshold``.

    Examples
    --------
    >>> shortest_between(0.1183, 0.1249)
    0.12
    >>> shortest_between(1495.0, 1510.0)
    1500.0
    """
    if low < 0 < high:
        return 0.0
    middle = low / 2 + high / 2
    for digits in range(17):
        number = float(f"{middle:.{digits}e}")
        if low < number < high:
            return number
    return low


def short_centre(value: float, spread: float) -> float:
    """Round a centre to about a hundredth of the spread of its values, so that it prints short."""
    if not (math.isfinite(value) and math.isfinite(spread)) or spread <= 0:
        return value
    if abs(value) > LARGE:
        return value
    places = 2 - math.floor(math.log10(spread))
    return round(value, places) + 0.0


def number_text(value: float) -> str:
    """Print a float in full, whole numbers without a decimal point.

    Examples
    --------
    >>> number_text(3.0), number_text(0.1)
    ('3', '0.1')
    """
    value = float(value)
    if math.isfinite(value) and abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return repr(value)
