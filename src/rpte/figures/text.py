"""How numbers, names and the marks of axes are written in all pictures."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from rpte.utils.arrays import Floats

MOST_NAME = 28  # characters of a name beside an axis
MOST_MARKS = 48  # characters of all ratios along an axis
RATIOS = (1.0, 2.0, 5.0)  # marks of a ratio, times powers of ten
FINE_RATIOS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)
FINEST_RATIOS = tuple(np.round(np.arange(1.0, 2.0, 0.05), 2).tolist())
MINUS = "\N{MINUS SIGN}"


def plain(text: object) -> str:
    """Return a text on one line, without characters that cannot be drawn."""
    found = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in found)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, with an ellipsis where something is gone."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def name(text: object, most: int = MOST_NAME) -> str:
    """Return a name as it is written beside an axis: on one line, not too long."""
    return shortened(plain(text), most)


def signed(value: float) -> str:
    """Return a number with its sign, to three digits; "0" for none.

    Examples
    --------
    >>> signed(0.12345), signed(12345.6), signed(0.0)
    ('+0.123', '+12,346', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    digits = min(3, max(0, 2 - math.floor(math.log10(abs(value)))))
    small = 1e-3 <= abs(value) < 1e8
    text = f"{value:+,.{digits}f}" if small else f"{value:+.2e}"
    return text.replace("-", MINUS, 1)


def number(value: float) -> str:
    """Return a number of a case or an axis: whole ones in full, others to four digits."""
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value)}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def share(value: float | None) -> str:
    """Return a share of rows in percent; nothing where it is not known."""
    if value is None:
        return ""
    if 0 < value < 0.001:
        return "<0.1%"
    return f"{value:.0%}" if value >= 0.0995 or value == 0 else f"{value:.1%}"


def share_between(low: float, high: float, value: float) -> float:
    """Return where a value lies between two ends, from 0 to 1."""
    return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)


def widened(low: float, high: float, room: float = 0.06) -> tuple[float, float]:
    """Return a range with some air at both ends; never empty."""
    air = (high - low) * room
    if not air > 0 or not math.isfinite(air):
        air = abs(low) * 0.05 or 0.5
    return low - air, high + air


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most about so many round numbers from `low` to `high`.

    Examples
    --------
    >>> ticks(0.0, 35.0, 4)
    [0.0, 10.0, 20.0, 30.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def decimals(marks: Sequence[float]) -> int:
    """Return the decimals that tell round numbers apart."""
    step = min((b - a for a, b in pairwise(marks)), default=0.01)
    return max(0, -math.floor(math.log10(step) + 1e-9))


def named_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round numbers between two ends with their texts."""
    if not high > low:
        return [(low, f"{low:g}")]
    marks = ticks(low, high, most)
    if len(marks) == 1:
        return [(marks[0], f"{marks[0]:.4g}")]
    if max(abs(low), abs(high)) >= 1e7 or decimals(marks) > 6:
        return [(at, f"{at:.4g}") for at in marks]
    return [(at, f"{at:,.{decimals(marks)}f}".replace("-", MINUS)) for at in marks]


def ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return where a logarithm has round ratios, with their text; nothing where fewer than two fit.

    Examples
    --------
    >>> [name for _, name in ratio_ticks(-1.5, 1.5)]
    ['0.5', '1', '2']
    """
    for steps in (RATIOS, FINE_RATIOS, FINEST_RATIOS):
        found = list(_ratios(low, high, steps))
        if len(found) >= 3:
            break
    while len(found) > 8 or sum(len(text) + 2 for _, text in found) > MOST_MARKS:
        one = next((k for k, (at, _) in enumerate(found) if at == 0.0), 0)
        found = found[one % 2 :: 2]
    return found if len(found) >= 2 else []


def _ratios(low: float, high: float, steps: Sequence[float]) -> Iterator[tuple[float, str]]:
    if high - low > 40:  # no ratio is worth reading
        return
    for power in range(math.floor(low / math.log(10)) - 1, math.ceil(high / math.log(10)) + 1):
        for step in steps:
            at = math.log(step) + power * math.log(10)
            if low <= at <= high:
                value = step * 10.0**power
                yield (0.0 if value == 1.0 else at), f"{value:g}"


def apart(heights: Floats, gap: float, top: float) -> Floats:
    """Return rising heights at least a gap apart, as near to those given as that allows."""
    found = heights.astype(np.float64).copy()
    for k in range(1, len(found)):
        found[k] = max(found[k], found[k - 1] + gap)
    found = found - max(0.0, float(found[-1] - top))
    for k in range(len(found) - 2, -1, -1):
        found[k] = min(found[k], found[k + 1] - gap)
    return found
