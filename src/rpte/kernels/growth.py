"""The hot loops of Stage 2: the best split of every column in a node, and the leaf of every row.

A node is an array of row numbers. Its statistics are three numbers per row: the gradient g, the
hessian h and the weight w. Both criteria of Stage 2 are one gain formula in (g, h),

    GL^2 / (HL + ridge) + GR^2 / (HR + ridge) - G^2 / (H + ridge),

with g = w y, h = w and no ridge for the paper's Gini splits on labels (half the weighted Gini
decrease), and g = w (y - p), h = w p (1 - p) for second-order splits on the deviance.
"""

import numpy as np

from rpte.kernels.codes import stable_order
from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Array, Floats, Int32s, Ints, Mask

# Two gains closer than this, relative to the node's scale, are equal: float noise decides nothing.
TIE = 1e-12
# The kinds of test, shared with `rpte.structure.coded`.
ORDERED, LEVELS, IS_MISSING = 0, 1, 2
# What a row of `found` holds: the best split of one column.
GAIN, TEST, BIN, NEXT_BIN, MISSING_LEFT, N_FOUND = 0, 1, 2, 3, 4, 5
# What `rule` holds: ridge, least weight of a child, and the node's scale, the sum of |g|.
RIDGE, LEAST, SCALE = 0, 1, 2
Sums = tuple[float, float, float]
Columns = tuple[Array, Ints, Mask]  # codes (V, n), numbers of bins and whether a category, (V,)
Node = tuple[Int32s, Floats, Floats, Floats]  # rows (m,), g, h, w (m, 3), their sums and rule (3,)
# Of each node: the row of `codes` that it reads, -1 for a leaf; right and left child (nodes, 2);
# where its answers begin among those of all, one for every code of its column; number of the leaf
CodeTree = tuple[Int32s, Int32s, Ints, Mask, Int32s]


@kernel
def histogram(codes: Array, rows: Int32s, stats: Floats, out: Floats) -> None:
    """Sum the statistics of a node per code of one column, in row order.

    `codes` (n,) are unsigned, `rows` (m,) are those of the node, `stats` (m, 3) their g, h and w;
    `out` (n_bins + 1, 3) is overwritten, its last line with the missing rows.
    """
    out[:] = 0.0
    for i in range(rows.size):
        code = codes[rows[i]]
        out[code, 0] += stats[i, 0]
        out[code, 1] += stats[i, 1]
        out[code, 2] += stats[i, 2]


@kernel
def level_order(hist: Floats, n_bins: int, total: Floats, rule: Floats) -> Ints:
    """Sort the levels present in a node by G / (H + ridge); equal ones by code.

    Prefixes of this order hold the best set of levels for Gini on 0/1 labels (Breiman et al. 1984,
    theorem 4.5). Means equal up to float noise count as equal, or noise would choose the set.
    """
    present = np.flatnonzero(hist[:n_bins, 2] > 0.0)
    mean = np.empty(present.size)
    for k in range(present.size):
        mean[k] = hist[present[k], 0] / (hist[present[k], 1] + rule[RIDGE])
    order: Ints = stable_order(mean)
    unit = rule[SCALE] / (total[1] + rule[RIDGE])
    start = 0
    for k in range(1, present.size + 1):
        if k < present.size:
            high, low = mean[order[k]], mean[order[k - 1]]
            if high - low <= TIE * (unit + abs(high)):
                continue
        for place in range(start + 1, k):  # by code: near ties are few
            code, at = order[place], place
            while at > start and order[at - 1] > code:
                order[at] = order[at - 1]
                at -= 1
            order[at] = code
        start = k
    return present[order]


@jitable
def better(best: float, left: Sums, total: Sums, rule: Sums) -> float:
    """Return the gain of a split whose left child sums to (g, h, w) if it beats `best`, else -inf.

    To beat it, the split must be allowed and gain more beyond the tie. Tuples and no arrays are
    passed, because a compiled call with arrays costs more than the arithmetic.
    """
    (g, h, w), (total_g, total_h, total_w), (ridge, least, scale) = left, total, rule
    if w < least or total_w - w < least:
        return -np.inf
    h_left, h_right = h + ridge, total_h - h + ridge
    if h_left <= 0.0 or h_right <= 0.0:
        return -np.inf
    g_right = total_g - g
    children = g * g / h_left + g_right * g_right / h_right
    gain = children - total_g * total_g / (total_h + ridge)
    return gain if gain > best + TIE * (scale + children) else -np.inf


@jitable
def scan(hist: Floats, category: bool, total: Floats, rule: Floats, found: Floats) -> None:
    """Find the best split of one column from its histogram.

    A split is tried with missing left, then right; without missing, it goes to the heavier child.
    `hist` is (n_bins + 1, 3), `total` (3,) G, H and W of the node. `found` (5,) is overwritten; its
    gain is -inf if no split is allowed. Bin and next bin are neighbouring non-empty ones; for a
    category, whose levels have no order, the prefix of `level_order` of length bin goes left.
    """
    n_bins = hist.shape[0] - 1
    node, limits = (total[0], total[1], total[2]), (rule[RIDGE], rule[LEAST], rule[SCALE])
    g_missing, h_missing, w_missing = hist[n_bins, 0], hist[n_bins, 1], hist[n_bins, 2]
    order = level_order(hist, n_bins, total, rule) if category else np.empty(0, np.int64)
    best, missing_left, at, following = -np.inf, 0.0, 0, 0
    test = LEVELS if category else ORDERED
    g, h, w, last, n_left = 0.0, 0.0, 0.0, -1, 0
    for place in range(order.size if category else n_bins):
        code = order[place] if category else place
        if hist[code, 2] <= 0.0:
            continue
        if n_left > 0:
            for side in range(2 if w_missing > 0.0 else 1):
                to_left = side == 0 if w_missing > 0.0 else w >= total[2] - w
                left = (g, h, w)
                if w_missing > 0.0 and to_left:
                    left = (g + g_missing, h + h_missing, w + w_missing)
                gain = better(best, left, node, limits)
                if gain > -np.inf:
                    best, missing_left = gain, 1.0 if to_left else 0.0
                    at = n_left if category else last
                    following = n_left + 1 if category else code
        g += hist[code, 0]
        h += hist[code, 1]
        w += hist[code, 2]
        last = code
        n_left += 1
    if w_missing > 0.0 and n_left > 0:
        gain = better(best, (g_missing, h_missing, w_missing), node, limits)
        if gain > -np.inf:
            best, missing_left, test, at, following = gain, 1.0, IS_MISSING, n_bins, n_bins
    found[:] = 0.0
    found[GAIN] = best
    if best > -np.inf:
        found[TEST], found[BIN], found[NEXT_BIN] = test, at, following
        found[MISSING_LEFT] = missing_left


@kernel
def best_splits(columns: Columns, chosen: Ints, node: Node, found: Floats) -> None:
    """Fill `found` (k, 5) with the best split in a node of each of the k `chosen` columns.

    One buffer serves all columns in turn, so that memory does not grow with their number.
    """
    (codes, n_bins, is_category), (rows, stats, total, rule) = columns, node
    width = 0
    for j in chosen:
        width = max(width, n_bins[j] + 1)
    buffer = np.empty((width, 3))
    for k in range(chosen.size):
        j = chosen[k]
        hist = buffer[: n_bins[j] + 1]
        histogram(codes[j], rows, stats, hist)
        scan(hist, is_category[j], total, rule, found[k])


@kernel
def joint_counts(
    codes: Array, first: int, others: Ints, weight: Floats, events: Floats, out: Floats
) -> None:
    """Count rows by the codes of one column, `first`, jointly with each of `others` (k,).

    The columns are rows of `codes` (columns, n), from 0; what is not to be counted has a code of
    its own. `out` (k, a, b, 2), zero on entry, gains the weight of each row and its positive part,
    `events`, by other column, code of the first and code of the other.
    """
    for k in range(others.size):
        other = others[k]
        for i in range(codes.shape[1]):
            a, b = codes[first, i], codes[other, i]
            out[k, a, b, 0] += weight[i]
            out[k, a, b, 1] += events[i]


@kernel
def reached_leaves(codes: Array, tree: CodeTree, out: Int32s) -> None:
    """Fill `out` (n,) with the leaf of a code tree that each row reaches from the root."""
    column, children, starts, goes_left, leaf = tree
    for i in range(codes.shape[1]):
        node = 0
        while column[node] >= 0:
            answer = goes_left[starts[node] + codes[column[node], i]]
            node = children[node, 1 if answer else 0]
        out[i] = leaf[node]
