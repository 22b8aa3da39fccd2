"""Random numbers from uniform ones and elementary arithmetic.

The streams of `Generator.random` are the same in every version of numpy and on every machine;
those of its other methods are not promised to be.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rpte.errors import InputError
from rpte.utils.arrays import Array, Floats, Ints

ROWS, OUTCOME, DIRT = 0, 1, 2  # each draws from a stream of its own
MOST = 100  # counts end here, far beyond what is drawn of small means
Random = np.random.Generator


def streams(n_rows: int, random_state: int) -> tuple[Random, Random, Random]:
    """Return the streams of the rows, of the outcome and of the dirt, or refuse the numbers."""
    for name, value, least in (("n_rows", n_rows, 1), ("random_state", random_state, 0)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least:
            raise InputError(f"{name}={value!r} must be a whole number from {least} on")
    rows, outcome, dirt = (
        np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(random_state), purpose])))
        for purpose in (ROWS, OUTCOME, DIRT)
    )
    return rows, outcome, dirt


def normal(random: Random, n: int) -> Floats:
    """Return numbers that are nearly normal, of mean 0 and variance 1: sums of twelve, (n,)."""
    total = np.full(n, -6.0)
    for _ in range(12):
        total += random.random(n)
    return total


def whole(random: Random, n: int, low: int, high: int) -> Ints:
    """Return whole numbers from `low` to `high`, both included, equally likely, (n,)."""
    return (low + np.floor(random.random(n) * (high - low + 1))).astype(np.int64)


def choose(random: Random, n: int, weights: Mapping[str, float]) -> Array:
    """Return texts, each as likely as its weight says, (n,) of objects."""
    ends = np.cumsum(list(weights.values()))
    places = np.searchsorted(ends[:-1] / ends[-1], random.random(n), side="right")
    return np.array(list(weights), dtype=object)[places]


def poisson(random: Random, mean: Floats) -> Ints:
    """Return counts of the given means, by inversion of one uniform number each, (n,)."""
    drawn = random.random(len(mean))
    counts = np.zeros(len(mean), dtype=np.int64)
    mass: Floats = np.exp(-mean)
    below = mass.copy()
    while (more := drawn > below).any() and counts.max() < MOST:
        counts += more
        mass = mass * mean / counts.max()
        below = below + mass
    return counts


def exponential(random: Random, n: int) -> Floats:
    """Return numbers of the exponential distribution of mean 1, (n,)."""
    return -np.log1p(-random.random(n))
