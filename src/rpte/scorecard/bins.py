"""Few attributes for many values: contiguous bins of numbers whose effects differ least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
MOST_BINS = 8
NEGLIGIBLE = 0.05  # mean squared error in points; rounding to whole points alone makes 0.08


def segment(
    effects: Floats, weights: Floats, most: int = MOST_BINS, negligible: float = NEGLIGIBLE
) -> Places:
    """Cut values in order into at most `most` bins with the least squared error of their means.

    Where the effect is a slope over evenly spread values, every bin covers the same effect. Fewer
    bins are made where they do as well.

    Parameters
    ----------
    effects, weights : (n, d)
        In points; the effect and the weight of each value beside each value of another variable.
    most : int
    negligible : float
        Mean squared error that needs no further bin.

    Returns
    -------
    (n,)
        The bin of each value, from 0.

    Examples
    --------
    >>> segment(np.array([[0.0], [1.0], [40.0], [41.0]]), np.ones((4, 1)), 2)
    array([0, 0, 1, 1])
    """
    centred = effects - np.average(effects, axis=0, weights=weights)
    cost = _costs(centred, weights)
    n = len(effects)
    best, starts = [cost[0]], [np.zeros(n + 1, np.intp)]
    while len(best) < most and best[-1][n] > negligible * weights.sum():
        through = best[-1][:, None] + cost
        starts.append(np.argmin(through, axis=0))
        best.append(through[starts[-1], np.arange(n + 1)])
    bins, end = np.zeros(n, np.intp), n
    for number in range(len(best) - 1, 0, -1):
        end = int(starts[number][end])
        bins[end:] += 1
    return np.unique(bins, return_inverse=True)[1].reshape(-1)


def _costs(effects: Floats, weights: Floats) -> Floats:
    """Return the squared error of one bin from each value to before another, (n + 1, n + 1)."""
    n, zero = len(effects), np.zeros((1, effects.shape[1]))
    total, sums, squares = (
        np.concatenate([zero, np.cumsum(weights * effects**power, axis=0)]) for power in range(3)
    )
    cost = np.full((n + 1, n + 1), np.inf)
    for end in range(1, n + 1):
        between = (sums[end] - sums[:end]) ** 2 / np.maximum(total[end] - total[:end], 1e-300)
        inside = squares[end] - squares[:end] - between
        cost[:end, end] = np.maximum(inside, 0.0).sum(axis=1)
    cost[n, n] = 0.0
    return cost
