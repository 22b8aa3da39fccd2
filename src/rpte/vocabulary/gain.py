"""What partitions gain, from sums of weights and targets, and weighted order statistics.

Of two classes that is the information gain. For any loss it is the fall of half the deviance, for
each unit of weight, where every cell of the partition has a mean of its own.
"""

from functools import cached_property
from typing import Any

import numpy as np

from rpte.losses import BINOMIAL, Loss
from rpte.utils.arrays import Array, Floats, Index

BITS = 1 / np.log(2)


def information_gain(total: Array, events: Array, axis: Any = -1, loss: Loss = BINOMIAL) -> Floats:
    """Return the gain (nats) of the partition into the cells along `axis`.

    `total` and `events` are sums of weights, and of weight times target, in each cell.
    """
    n, n1 = total.sum(axis=axis), events.sum(axis=axis)
    least = loss.least_deviance
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (least(n, n1) - least(total, events).sum(axis=axis)) / n
    return np.where(n > 0, gain, 0.0)


def in_or_out_gain(
    covered: Any, covered_events: Any, total: float, events: float, loss: Loss = BINOMIAL
) -> Floats:
    """Return the gain (nats) of the indicators that cover these weights and events."""
    covered, covered_events = np.asarray(covered), np.asarray(covered_events)
    cells = np.stack([covered, total - covered], axis=-1)
    cell_events = np.stack([covered_events, events - covered_events], axis=-1)
    return information_gain(cells, cell_events, loss=loss)


def median(x: Floats, weight: Floats) -> float:
    """Return the interpolated median of the present cells, as if weights were repetitions."""
    present = x[np.isfinite(x)] if not np.isfinite(x).all() else x
    if not len(present) or not (weight == 1.0).all():
        return float(SortedColumn(x, weight, weight).quantiles(0.5))
    below = (len(present) - 1) // 2
    parted = np.partition(present, below)  # a third of the time of a sort
    low = parted[below]
    high = parted[below + 1 :].min(initial=np.inf) if len(present) % 2 == 0 else low
    return float(low + (high - low) * (0.5 * (len(present) - 1) - below))


class SortedColumn:
    """The present values of a numeric column x (n,) in order, with running weights.

    Where every row weighs one, running weights are places in the order, and running events of two
    classes places among the events: two sorts of plain numbers, several times faster than an order
    of rows.
    """

    def __init__(self, x: Floats, y: Floats, weight: Floats, loss: Loss = BINOMIAL) -> None:
        present = np.isfinite(x)
        if not present.all():
            x, y, weight = x[present], y[present], weight[present]
        self._x, self._y, self._weight, self._loss = x, y, weight, loss
        self._plain = bool((weight == 1.0).all())
        self.values = np.sort(x) if self._plain else x[self._order]

    @cached_property
    def _order(self) -> Index:
        """The rows by value; equal values by row, because sums of weights may be rounded."""
        whole = bool((self._weight == np.rint(self._weight)).all())
        return np.argsort(self._x, kind=None if whole else "stable")

    @cached_property
    def weight(self) -> Floats:
        """The weight of the rows before each place, (n + 1,)."""
        if self._plain:
            return np.arange(len(self.values) + 1.0)
        return np.concatenate([[0.0], np.cumsum(self._weight[self._order])])

    @cached_property
    def events(self) -> Floats:
        """The weight times target of the rows before each place, (n + 1,)."""
        return np.concatenate([[0.0], np.cumsum((self._weight * self._y)[self._order])])

    @cached_property
    def _event_values(self) -> Floats:
        return np.sort(np.compress(self._y > 0, self._x))  # faster than a mask

    @property
    def total(self) -> float:
        """Weight of the present cells."""
        return float(len(self.values) if self._plain else self.weight[-1])

    def at(self, position: Any) -> Floats:
        """Return the order statistic at 0-based positions, as if weights were repetitions."""
        if self._plain:
            index = np.asarray(position).astype(np.intp)
        else:
            index = np.searchsorted(self.weight[1:], position, side="right")
        return np.asarray(self.values[np.minimum(index, len(self.values) - 1)])

    def quantiles(self, fractions: Any) -> Floats:
        """Return linearly interpolated quantiles, as if weights were repetitions."""
        position = np.asarray(fractions) * max(self.total - 1.0, 0.0)
        below = np.floor(position)
        low, high = self.at(below), self.at(below + 1.0)
        return np.asarray(low + (high - low) * (position - below))

    def gains(self, inner_edges: Floats) -> Floats:
        """Return the gain (nats) of each of several partitions, `inner_edges` (..., m), ascending.

        An edge's own value goes right; equal edges make an empty bin, which changes nothing.
        """
        weight, events = self._below(inner_edges)
        return information_gain(np.diff(weight), np.diff(events), loss=self._loss)

    def _below(self, edges: Floats) -> tuple[Floats, Floats]:
        """Return weight, and weight times target, below -inf, the edges and inf."""
        margin = np.broadcast_to(np.inf, (*edges.shape[:-1], 1))
        edges = np.concatenate([-margin, edges, margin], axis=-1)
        cuts = np.searchsorted(self.values, edges, side="left")
        if not self._plain or self._loss is not BINOMIAL:
            return self.weight[cuts], self.events[cuts]
        events = np.searchsorted(self._event_values, edges, side="left")
        return cuts.astype(np.float64), events.astype(np.float64)
