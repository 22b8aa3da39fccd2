"""The natural logarithm, the same to the last bit on every machine, and never falling.

Libraries differ in the last bits of their logarithms, and none promises that a larger number has no
smaller one. A score must be reproducible everywhere and a monotone claim exact, so this one uses
nothing but operations that IEEE 754 rounds correctly.
"""

import numpy as np

from rpte.utils.arrays import Floats

SQRT_HALF = 0.7071067811865476
LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # few digits: its multiples up to 1100 are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
TERMS = 12
BLOCK = 4_096  # cells whose steps stay near the processor


def logarithm(x: Floats) -> Floats:
    """Return log(x) in the shape of x, NaN where x is NaN.

    With x = 2^k m and s = (m - 1) / (m + 1), log(x) = k log(2) + 2 (s + s^3 / 3 + s^5 / 5 + ...).
    The largest parts are exact and the others off by less than 2^-57, while neighbouring numbers
    have logarithms at least 2^-53 apart: rounding the sum once cannot put them in the wrong order.

    Parameters
    ----------
    x : array of any shape
        Positive, finite.
    """
    cells = x.ravel()
    found = np.empty(cells.size)
    for at in range(0, cells.size, BLOCK):
        found[at : at + BLOCK] = _logarithm(cells[at : at + BLOCK])
    return found.reshape(x.shape)


def _logarithm(x: Floats) -> Floats:
    m, exponent = np.frexp(x)
    small = m < SQRT_HALF
    m[small] *= 2.0
    k = (exponent - small).astype(np.float64)
    high, low = _ratio(m)
    s = high + low
    z = s * s
    series = np.zeros_like(z)
    for n in range(TERMS, 0, -1):
        series += 1.0 / (2 * n + 1)
        series *= z
    whole = k * LN2_HIGH
    high *= 2.0
    total = whole + high
    lost = high - (total - whole)
    return total + (2.0 * s * series + (2.0 * low + (lost + k * LN2_LOW)))


def _ratio(m: Floats) -> tuple[Floats, Floats]:
    """Return (m - 1) / (m + 1) as a short number and the rest, for m from 0.7 to 1.42."""
    top, bottom = m - 1.0, m + 1.0
    lost = m - (bottom - 1.0)
    short = bottom.astype(np.float32).astype(np.float64)
    high = (top / bottom).astype(np.float32).astype(np.float64)
    rest = ((top - high * short) - high * (bottom - short)) - high * lost
    return high, rest / bottom
