"""Short decimals: the thresholds that people read are the thresholds that score.

A table may arrive in single precision (float32) although the model was learned in double precision,
or the other way round. A threshold therefore separates not only two neighbouring values but also
what either precision makes of them, wherever single precision can tell them apart.
"""

import math
import struct

Gap = tuple[float, float]

LARGE = 1e307  # rounding a larger number may overflow
EXACT_WHOLE = 2**24  # single precision holds every whole number up to here
LEAST_EXPONENT = -125  # of a normal number in single precision, as `math.frexp` counts
PRECISION = 24  # bits of a number in single precision
SHORT = 7  # digits; a decimal of no more than these is taken for the original, not for a copy


def shortest_between(low: float, high: float) -> float:
    """Return the shortest decimal strictly between two floats, the nearest to their middle.

    It lies between their copies in the other precision too (`gap_between`). Two neighbouring floats
    have nothing between them: then `low` itself is returned, which still separates them under
    ``x <= threshold``.

    Examples
    --------
    >>> shortest_between(0.1183, 0.1249)
    0.12
    >>> shortest_between(1495.0, 1510.0)
    1500.0

    In single precision 0.8 is 0.800000011920929; a threshold of 0.8 would part the two:

    >>> shortest_between(0.7, 0.800000011920929)
    0.75
    """
    return shortest_within(*gap_between(low, high))


def shortest_within(low: float, high: float) -> float:
    """Return the shortest decimal strictly between two floats as they are, or `low`."""
    if low < 0 < high:
        return 0.0
    middle = low / 2 + high / 2
    for digits in range(17):
        number = float(f"{middle:.{digits}e}")
        if low < number < high:
            return number
    return low


def middle_between(low: float, high: float, gap: Gap | None = None) -> float:
    """Return the middle of two floats as a threshold: `low` is at most the threshold, `high` above.

    Where a copy of either in the other precision would change sides, it is the nearest number for
    which none does: the nearest in the `gap`, by default that of `gap_between`.
    """
    below, above = gap or gap_between(low, high)
    middle = low / 2 + high / 2
    return min(max(middle, below), math.nextafter(above, -math.inf))


def thresholds_between(
    low: float, high: float, exact: bool, gap: Gap | None = None
) -> tuple[float, ...]:
    """Return every threshold between two neighbouring values that a version has chosen.

    The present one comes first; models of earlier versions may have the other. The published
    configuration is `exact`: it takes the midpoint. The `gap`, by default that of `gap_between`, is
    where copies leave room for it.
    """
    room = gap or gap_between(low, high)
    if exact:
        return middle_between(low, high, room), middle_between(low, high, (low, high))
    return shortest_within(*room), shortest_within(low, high)


def edge_between(edge: float, low: float, high: float) -> float:
    """Return an edge with `low` below it and `high` at or above it.

    Where a copy of either in the other precision would change sides, it is the nearest number for
    which none does.

    Examples
    --------
    >>> edge_between(0.7, 0.6, 0.7)  # what 0.7 is in single precision
    0.699999988079071
    >>> edge_between(3.0, 2.0, 3.0)
    3.0
    """
    below, above = gap_between(low, high)
    return min(max(edge, math.nextafter(below, math.inf)), above)


def gap_between(low: float, high: float) -> Gap:
    """Return the gap between two floats in which a threshold separates their copies as well.

    A value and what single precision makes of it lie on one side of the gap. So does every number
    that single precision cannot tell from a value with many digits: that value may be itself a copy
    in single precision, whose original is not known. Values that are next to each other in single
    precision keep only the former, values that are equal there have their own gap.

    Examples
    --------
    >>> gap_between(0.6, 0.7)
    (0.6000000238418579, 0.699999988079071)
    >>> gap_between(3.0, 4.0)
    (3.0, 4.0)
    """
    for original_known in (False, True):
        below, above = _copies(low, original_known)[1], _copies(high, original_known)[0]
        if below < above:
            return below, above
    return low, high


def _copies(value: float, original_known: bool) -> Gap:
    """Return the range of what copies of a value hold, which may be such a copy itself."""
    single = in_single(value)
    if original_known or math.isinf(single) or float(f"{value:.{SHORT}g}") == value:
        return min(value, single), max(value, single)
    exponent = math.frexp(single)[1] if single else LEAST_EXPONENT
    half_step = math.ldexp(0.5, max(exponent, LEAST_EXPONENT) - PRECISION)
    return single - half_step, single + half_step


def in_single(value: float) -> float:
    """Return what single precision (float32) makes of a number; an infinity beyond its range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0]) + 0.0
    except OverflowError:
        return math.copysign(math.inf, value)


def short_centre(value: float, spread: float) -> float:
    """Round a centre to about a hundredth of the spread of its values, so that it prints short."""
    if not (abs(value) <= LARGE and 0 < spread < math.inf):
        return value
    return round(value, 2 - math.floor(math.log10(spread))) + 0.0


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
