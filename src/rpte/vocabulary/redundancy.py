"""Removing columns that say again what an earlier column says.

Constants, exact duplicates and exact complements go first; then one pass over variance inflation:
a pattern or a pair that the others nearly determine, and that one kept column nearly equals, goes.
Raw variables stay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_INFLATION = 5.0
NEARLY_EQUAL = 0.8  # squared correlation


def keep_distinct(values: Floats, binary: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the columns that are not constant, nor equal or complementary to an earlier one.

    Parameters
    ----------
    values : (n, q) Fortran order, missing cells as NaN
    binary : (q,)
        0/1 columns: only these have complements.
    """
    seen: set[bytes] = set()
    kept = []
    for j in range(values.shape[1]):
        column = values[:, j]
        present = column[~np.isnan(column)]
        if not len(present) or (len(present) == len(column) and (column == column[0]).all()):
            continue
        if len(present) < len(column) and (present == present[0]).all() and not binary[j]:
            continue
        if _key(column) in seen:
            continue
        seen.add(_key(column))
        if binary[j]:
            seen.add(_key(1.0 - column))
        kept.append(j)
    return np.array(kept, np.intp)


def _key(column: Floats) -> bytes:
    return np.where(np.isnan(column), np.nan, column + 0.0).tobytes()


def keep_independent(filled: Floats, weight: Floats, block: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the columns that the variance inflation pass keeps.

    Parameters
    ----------
    filled : (n, q), no missing cells, no constant columns
    weight : (n,)
    block : (q,)
        0 for raw variables (always kept), 1 for patterns, 2 for pairs.
    """
    if not filled.shape[1] or (block == 0).all():
        return np.arange(filled.shape[1])
    correlation = _correlations(filled, weight)
    inflated = _inflation(correlation) > MAX_INFLATION
    kept = list(np.flatnonzero(block == 0))
    for j in np.flatnonzero(block > 0):
        if inflated[j] and len(kept) and (correlation[j, kept] ** 2).max() >= NEARLY_EQUAL:
            continue
        kept.append(j)
    return np.array(sorted(kept), np.intp)


def _correlations(filled: Floats, weight: Floats) -> Floats:
    total = weight.sum()
    centred = filled - (weight @ filled) / total
    centred *= np.sqrt(weight)[:, None]
    norms = np.sqrt((centred * centred).sum(axis=0))
    centred /= np.where(norms > 0, norms, 1.0)
    return np.asarray(centred.T @ centred)


def _inflation(correlation: Floats) -> Floats:
    """Return the diagonal of the inverse correlation matrix, small eigenvalues floored."""
    values, vectors = np.linalg.eigh(correlation)
    floor = max(1e-12, values[-1] * len(values) * np.finfo(np.float64).eps)
    return np.asarray((vectors**2 / np.maximum(values, floor)).sum(axis=1))
