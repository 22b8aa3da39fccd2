"""The best split of every column in a node, of several classes: gains are summed over classes.

As `rpte.kernels.growth`, with a gradient and a hessian of each class: K gradients, K hessians and
the weight of each row stand side by side, 2 K + 1 numbers.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.kernels.growth import (
    BIN,
    GAIN,
    IS_MISSING,
    LEAST,
    LEVELS,
    MISSING_LEFT,
    NEXT_BIN,
    ORDERED,
    RIDGE,
    SCALE,
    TEST,
    TIE,
    Columns,
    Node,
    level_order,
)
from rpte.utils.arrays import Array, Floats, Int32s, Ints


@kernel
def class_histogram(codes: Array, rows: Int32s, stats: Floats, out: Floats) -> None:
    """Sum the statistics (m, 2 K + 1) of a node per code of one column, as `histogram` does."""
    out[:] = 0.0
    for i in range(rows.size):
        code = codes[rows[i]]
        for s in range(stats.shape[1]):
            out[code, s] += stats[i, s]


@jitable
def better_of_classes(
    best: float, left: Floats, more: Floats, share: float, total: Floats, rule: Floats
) -> float:
    """Return the gain of a split if it is allowed and beats `best` beyond the tie, else -inf.

    Its left child sums to `left` and `share` times `more`, (2 K + 1,) each.
    """
    classes = (left.size - 1) // 2
    w = left[2 * classes] + share * more[2 * classes]
    if w < rule[LEAST] or total[2 * classes] - w < rule[LEAST]:
        return -np.inf
    children, parent = 0.0, 0.0
    for k in range(classes):
        g, h = left[k] + share * more[k], left[classes + k] + share * more[classes + k]
        h_left, h_right = h + rule[RIDGE], total[classes + k] - h + rule[RIDGE]
        if h_left <= 0.0 or h_right <= 0.0:
            return -np.inf
        g_right = total[k] - g
        children += g * g / h_left + g_right * g_right / h_right
        parent += total[k] * total[k] / (total[classes + k] + rule[RIDGE])
    gain = children - parent
    return gain if gain > best + TIE * (rule[SCALE] + children) else -np.inf


@jitable
def scan_classes(
    hist: Floats, order: Ints, by: int, total: Floats, rule: Floats, left: Floats, found: Floats
) -> None:
    """Put a better split in `found` (5,) if one has the first codes of an `order` on its left.

    They are levels in the order of class `by`, or the bins of a number where that is negative.
    Missing is tried left, then right; without missing, it goes to the heavier child.
    """
    n_bins, last = hist.shape[0] - 1, -1
    weight = hist.shape[1] - 1
    missing = hist[n_bins]
    some_missing = missing[weight] > 0.0
    left[:] = 0.0
    for place in range(order.size):
        code = order[place]
        if hist[code, weight] <= 0.0:
            continue
        if last >= 0:
            for side in range(2 if some_missing else 1):
                heavier = left[weight] >= total[weight] - left[weight]
                to_left = side == 0 if some_missing else heavier
                share = 1.0 if some_missing and to_left else 0.0
                gain = better_of_classes(found[GAIN], left, missing, share, total, rule)
                if gain > -np.inf:
                    found[GAIN], found[MISSING_LEFT] = gain, 1.0 if to_left else 0.0
                    found[TEST] = ORDERED if by < 0 else LEVELS
                    found[BIN] = last if by < 0 else place
                    found[NEXT_BIN] = code if by < 0 else by
        for s in range(left.size):
            left[s] += hist[code, s]
        last = code


@kernel
def best_class_splits(columns: Columns, chosen: Ints, node: Node, found: Floats) -> None:
    """Fill `found` (k, 5) with the best split in a node of each chosen column, as `best_splits`.

    Statistics of rows, and their sums, have 2 K + 1 numbers. Levels have an order in each class;
    the prefix of length bin of that of one class goes left, and next bin is the number of it.
    """
    (codes, n_bins, is_category), (rows, stats, total, rule) = columns, node
    width, classes = 0, (total.size - 1) // 2
    for j in chosen:
        width = max(width, n_bins[j] + 1)
    buffer, own = np.empty((width, total.size)), np.empty((width, 3))
    left, sums = np.empty(total.size), np.empty(3)
    for place in range(chosen.size):
        j = chosen[place]
        hist, best = buffer[: n_bins[j] + 1], found[place]
        class_histogram(codes[j], rows, stats, hist)
        best[:] = 0.0
        best[GAIN] = -np.inf
        if is_category[j]:
            for k in range(classes):
                take_class(hist, k, own)
                sums[0], sums[1], sums[2] = total[k], total[classes + k], total[2 * classes]
                order = level_order(own, n_bins[j], sums, rule)
                scan_classes(hist, order, k, total, rule, left, best)
        else:
            scan_classes(hist, np.arange(n_bins[j]), -1, total, rule, left, best)
        missing = hist[n_bins[j]]
        if missing[2 * classes] > 0.0:
            left[:] = 0.0
            gain = better_of_classes(best[GAIN], left, missing, 1.0, total, rule)
            if gain > -np.inf:
                best[GAIN], best[TEST], best[MISSING_LEFT] = gain, IS_MISSING, 1.0
                best[BIN], best[NEXT_BIN] = n_bins[j], n_bins[j]


@jitable
def take_class(hist: Floats, k: int, out: Floats) -> None:
    """Fill the first lines of `out` (b, 3) with the sums of class k: gradient, hessian, weight."""
    classes = (hist.shape[1] - 1) // 2
    for code in range(hist.shape[0]):
        out[code, 0] = hist[code, k]
        out[code, 1] = hist[code, classes + k]
        out[code, 2] = hist[code, 2 * classes]
