"""The exponential function, the same to the last bit on every machine.

Libraries differ in the last bits of theirs, and the hash of a training table has every bit of the
targets, from which exponentials of offsets were taken. So this one uses nothing but operations that
IEEE 754 rounds correctly.
"""

import numpy as np

from rpte.utils.arrays import Floats

PER_LN2 = 1.4426950408889634
LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # few digits: its multiples up to 1100 are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
TERMS = 17
LARGEST = 800.0  # beyond it there is nothing but infinity, and zero


def exponential(x: Floats) -> Floats:
    """Return exp(x), (n,): with x = k log(2) + r, 2^k (1 + r (1 + r / 2 (1 + r / 3 (...)))).

    Examples
    --------
    >>> import numpy as np
    >>> exponential(np.array([0.0, 1.0, -1000.0, 1000.0])).round(12).tolist()
    [1.0, 2.718281828459, 0.0, inf]
    """
    x = np.clip(x, -LARGEST, LARGEST)
    k = np.rint(x * PER_LN2)
    rest = (x - k * LN2_HIGH) - k * LN2_LOW
    series = np.ones_like(rest)
    for n in range(TERMS, 0, -1):
        series = 1.0 + rest * series / n
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(series, k.astype(np.int64)))
