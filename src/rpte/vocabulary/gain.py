"""Information gain of partitions from weighted counts, and weighted order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BITS = 1 / np.log(2)


def weighted_entropy(total: Any, events: Any) -> Floats:
    """Return total weight times the entropy of the label (nats) in each cell.

    Parameters
    ----------
    total, events : arrays of equal shape
        Weight of all rows and of the positive rows in each cell.
    """
    total, events = np.asarray(total, np.float64), np.asarray(events, np.float64)
    others = total - events
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = np.where(events > 0, events * np.log(events / total), 0.0)
        negative = np.where(others > 0, others * np.log(others / total), 0.0)
    return -(positive + negative)


def information_gain(total: NDArray[Any], events: NDArray[Any], axis: Any = -1) -> Floats:
    """Return the gain (nats) of the partition into the cells along `axis`."""
    n, n1 = total.sum(axis=axis), events.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (weighted_entropy(n, n1) - weighted_entropy(total, events).sum(axis=axis)) / n
    return np.where(n > 0, gain, 0.0)


def in_or_out_gain(covered: Any, covered_events: Any, total: float, events: float) -> Floats:
    """Return the gain (nats) of the indicators that cover these weights and events."""
    covered, covered_events = np.asarray(covered), np.asarray(covered_events)
    cells = np.stack([covered, total - covered], axis=-1)
    cell_events = np.stack([covered_events, events - covered_events], axis=-1)
    return information_gain(cells, cell_events)


class SortedColumn:
    """A numeric column's present values in order, with running weights.

    Parameters
    ----------
    x : array of shape (n,)
        Missing cells are left out.
    y, weight : arrays of shape (n,)
    """

    def __init__(self, x: Floats, y: Floats, weight: Floats) -> None:
        rows = np.flatnonzero(np.isfinite(x))
        rows = rows[np.argsort(x[rows], kind="stable")]
        self.values = x[rows]
        self.weight = np.concatenate([[0.0], np.cumsum(weight[rows])])
        self.events = np.concatenate([[0.0], np.cumsum(weight[rows] * y[rows])])

    @property
    def total(self) -> float:
        """Weight of the present cells."""
        return float(self.weight[-1])

    def at(self, position: Any) -> Floats:
        """Return the order statistic at 0-based positions, as if weights were repetitions."""
        index = np.searchsorted(self.weight[1:], position, side="right")
        return np.asarray(self.values[np.minimum(index, len(self.values) - 1)])

    def quantiles(self, fractions: Any) -> Floats:
        """Return linearly interpolated quantiles, as if weights were repetitions."""
        position = np.asarray(fractions) * max(self.total - 1.0, 0.0)
        below = np.floor(position)
        low, high = self.at(below), self.at(below + 1.0)
        return np.asarray(low + (high - low) * (position - below))

    def gain(self, inner_edges: Floats) -> float:
        """Return the gain (nats) of the bins cut at `inner_edges` (an edge's value goes right)."""
        cuts = np.searchsorted(self.values, inner_edges, side="left")
        cuts = np.concatenate([[0], cuts, [len(self.values)]])
        return float(information_gain(np.diff(self.weight[cuts]), np.diff(self.events[cuts])))
