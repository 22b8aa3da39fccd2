"""Removing columns that repeat an earlier column.

Constants, exact duplicates and exact complements go first; then one pass over variance inflation:
a pattern or a pair that the others nearly determine, and that one kept column nearly equals, goes.
Raw variables stay.
"""

import math
from functools import lru_cache
from threading import Lock

import numpy as np

from rpte.kernels.screening import fingerprints
from rpte.rows.threads import chunks, thread_map
from rpte.utils.arrays import Floats, Index
from rpte.vocabulary.pursuit import correlations

MAX_INFLATION = 5.0
NEARLY_EQUAL = 0.8  # squared correlation
PER_TASK = 16  # columns
GAP = 0.7853981633974483  # takes the place of missing cells where columns are compared


class Registry:
    """Numbers columns by their content: equal or complementary ones get one number.

    A column is known by its products with two random vectors. Different columns agree in both only
    by an accident of rounding, about once in 1e30.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[float, float], int] = {}
        self.count = 0
        self._lock = Lock()

    def copy(self) -> "Registry":
        """Return a registry that knows the same columns."""
        other = Registry()
        other._known, other.count = dict(self._known), self.count
        return other

    def number(self, x: Floats) -> int:
        """Return the number of a column (missing cells NaN), -1 if it is constant where present."""
        return self.numbers(np.ascontiguousarray(x)[None], np.zeros(1, np.intp))[0]

    def numbers(self, x: Floats, which: Index) -> list[int]:
        """Return the numbers of some rows of x (p, n)."""
        found, probes = np.empty((len(which), 4)), _probes(x.shape[1])

        def fill(some: slice) -> None:
            fingerprints(x, which[some], probes, GAP, found[some])

        list(thread_map(fill, chunks(len(which), PER_TASK)))
        with self._lock:
            return [self._number(*line) for line in found.tolist()]

    def _number(self, first: float, second: float, *complement: float) -> int:
        if math.isnan(first):
            return -1
        key = first, second
        if key not in self._known:
            self._known[key] = self.count
            if not math.isnan(complement[0]):
                self._known[complement[0], complement[1]] = self.count
            self.count += 1
        return self._known[key]


@lru_cache(maxsize=2)
def _probes(n: int) -> Floats:
    return np.random.default_rng(0).random((2, n))


def keep_independent(z: Floats, weight: Floats, block: Index) -> Index:
    """Return the columns that the variance inflation pass keeps.

    `z` (q, n) has no missing cells and no constant columns; `block` (q,) is 0 for raw variables
    (always kept), 1 for patterns, 2 for pairs.
    """
    if (block == 0).all():
        return np.arange(len(z))
    correlation, _ = correlations(z, weight, weight[None])
    inflated = _inflation(correlation) > MAX_INFLATION
    kept = list(np.flatnonzero(block == 0))
    for j in np.flatnonzero(block > 0):
        nearest = (correlation[j, kept] ** 2).max(initial=0.0)
        if not inflated[j] or nearest < NEARLY_EQUAL:
            kept.append(j)
    return np.array(sorted(kept), np.intp)


def _inflation(correlation: Floats) -> Floats:
    """Return the diagonal of the inverse correlation matrix, small eigenvalues floored."""
    values, vectors = np.linalg.eigh(correlation)
    floor = max(1e-12, values[-1] * len(values) * np.finfo(np.float64).eps)
    return np.asarray((vectors**2 / np.maximum(values, floor)).sum(axis=1))
