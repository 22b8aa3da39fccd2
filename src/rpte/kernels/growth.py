"""The hot loops of Stage 2: histograms of a node, and the best split of every column in it.

A node is an array of row numbers. Its statistics are three numbers per row: the gradient g, the
hessian h and the weight w. Both criteria of Stage 2 are one gain formula in (g, h),

    GL^2 / (HL + ridge) + GR^2 / (HR + ridge) - G^2 / (H + ridge),

with g = w y, h = w and no ridge for the paper's Gini splits on labels (half the weighted Gini
decrease), and g = w (y - p), h = w p (1 - p) for second-order splits on the deviance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import inner, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Two gains closer than this, relative to the node's scale, are equal: float noise decides nothing.
TIE = 1e-12
# The kinds of test, shared with `rpte.structure.coded`.
ORDERED, LEVELS, IS_MISSING = 0, 1, 2
# What a row of `found` holds: the best split of one column.
GAIN, TEST, BIN, NEXT_BIN, MISSING_LEFT, N_FOUND = 0, 1, 2, 3, 4, 5
# What `rule` holds: ridge, least weight of a child, and the node's scale, the sum of |g|.
RIDGE, LEAST, SCALE = 0, 1, 2


@kernel
def histogram(codes: NDArray[Any], rows: NDArray[np.int32], stats: Floats, out: Floats) -> None:
    """Sum the statistics of a node per code of one column, in row order.

    Parameters
    ----------
    codes : (n,) unsigned integers
    rows : (m,) row numbers of the node
    stats : (m, 3) g, h, w of these rows
    out : (n_bins + 1, 3), overwritten; the last line holds the missing rows
    """
    out[:] = 0.0
    for i in range(rows.size):
        code = codes[rows[i]]
        out[code, 0] += stats[i, 0]
        out[code, 1] += stats[i, 1]
        out[code, 2] += stats[i, 2]


@kernel
def level_order(hist: Floats, n_bins: int, total: Floats, rule: Floats) -> Integers:
    """Sort the levels present in a node by G / (H + ridge); equal ones by code.

    Prefixes of this order hold the best set of levels for Gini on 0/1 labels (Breiman et al. 1984,
    theorem 4.5). Means equal up to float noise count as equal, or noise would choose the set.
    """
    present = np.flatnonzero(hist[:n_bins, 2] > 0.0)
    mean = np.empty(present.size)
    for k in range(present.size):
        mean[k] = hist[present[k], 0] / (hist[present[k], 1] + rule[RIDGE])
    order = np.argsort(mean)
    unit = rule[SCALE] / (total[1] + rule[RIDGE])
    start = 0
    for k in range(1, present.size + 1):
        if k < present.size:
            high, low = mean[order[k]], mean[order[k - 1]]
            if high - low <= TIE * (unit + abs(high)):
                continue
        order[start:k].sort()
        start = k
    return present[order]


_histogram = inner(histogram)
_level_order = inner(level_order)


@kernel
def offer(
    found: Floats,
    total: Floats,
    rule: Floats,
    g: float,
    h: float,
    w: float,
    test: int,
    last: int,
    following: int,
    missing_left: bool,
) -> None:
    """Keep the split whose left child sums to (g, h, w) if it beats `found` beyond the tie."""
    if w < rule[LEAST] or total[2] - w < rule[LEAST]:
        return
    h_left, h_right = h + rule[RIDGE], total[1] - h + rule[RIDGE]
    if h_left <= 0.0 or h_right <= 0.0:
        return
    g_right = total[0] - g
    children = g * g / h_left + g_right * g_right / h_right
    gain = children - total[0] * total[0] / (total[1] + rule[RIDGE])
    if gain > found[GAIN] + TIE * (rule[SCALE] + children):
        found[GAIN] = gain
        found[TEST] = test
        found[BIN] = last
        found[NEXT_BIN] = following
        found[MISSING_LEFT] = 1.0 if missing_left else 0.0


_offer = inner(offer)


@kernel
def offer_sides(
    found: Floats,
    missing: Floats,
    total: Floats,
    rule: Floats,
    left: Floats,
    test: int,
    last: int,
    following: int,
) -> None:
    """Offer one split with missing left, then right; without missing, to the heavier child."""
    g, h, w = left[0], left[1], left[2]
    if missing[2] > 0.0:
        g_m, h_m, w_m = g + missing[0], h + missing[1], w + missing[2]
        _offer(found, total, rule, g_m, h_m, w_m, test, last, following, True)
        _offer(found, total, rule, g, h, w, test, last, following, False)
    else:
        _offer(found, total, rule, g, h, w, test, last, following, w >= total[2] - w)


_offer_sides = inner(offer_sides)


@kernel
def scan(hist: Floats, category: bool, total: Floats, rule: Floats, found: Floats) -> None:
    """Find the best split of one column from its histogram.

    Parameters
    ----------
    hist : (n_bins + 1, 3)
    category : whether the codes are unordered levels
    total : (3,) G, H, W of the node
    rule : (3,) ridge, least child weight, scale
    found : (5,), overwritten; the gain is -inf if no split is allowed. Ordered: `bin` and
        `next_bin` are neighbouring non-empty bins; levels: `bin` is the length of the prefix of
        `level_order` that goes left.
    """
    n_bins = hist.shape[0] - 1
    missing = hist[n_bins]
    found[GAIN] = -np.inf
    found[1:] = 0.0
    left = np.zeros(3)
    order = _level_order(hist, n_bins, total, rule) if category else np.arange(n_bins)
    last, n_left = -1, 0
    for code in order:
        if hist[code, 2] <= 0.0:
            continue
        if category and n_left > 0:
            _offer_sides(found, missing, total, rule, left, LEVELS, n_left, n_left + 1)
        elif last >= 0:
            _offer_sides(found, missing, total, rule, left, ORDERED, last, code)
        left += hist[code]
        last = code
        n_left += 1
    if missing[2] > 0.0 and n_left > 0:
        g, h, w = missing[0], missing[1], missing[2]
        _offer(found, total, rule, g, h, w, IS_MISSING, n_bins, n_bins, True)


_scan = inner(scan)


@kernel
def best_splits(
    codes: NDArray[Any],
    chosen: Integers,
    rows: NDArray[np.int32],
    stats: Floats,
    total: Floats,
    rule: Floats,
    n_bins: Integers,
    is_category: NDArray[np.bool_],
    found: Floats,
) -> None:
    """Fill `found` (k, 5) with the best split in a node of each of the k `chosen` columns.

    One buffer serves all columns in turn, so that memory does not grow with their number.
    """
    width = 0
    for j in chosen:
        width = max(width, n_bins[j] + 1)
    buffer = np.empty((width, 3))
    for k in range(chosen.size):
        j = chosen[k]
        hist = buffer[: n_bins[j] + 1]
        _histogram(codes[j], rows, stats, hist)
        _scan(hist, is_category[j], total, rule, found[k])
