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


@jitable
def _child_gain(
    hists: Floats, sizes: Ints, is_category: Mask, rule: Floats, found: Floats
) -> float:
    """Return the gain of the best split of a child, 0 if none is allowed; `hists` (k, bins, 3)."""
    best = 0.0
    for v in range(sizes.size):
        total = np.zeros(3)
        for code in range(sizes[v] + 1):
            for s in range(3):
                total[s] += hists[v, code, s]
        scan(hists[v, : sizes[v] + 1], is_category[v], total, rule, found)
        best = max(best, found[GAIN])
    return best


@jitable
def _split_twice(
    joint: Floats, order: Ints, u: int, sizes: Ints, category: Mask, node: Node, found: Floats
) -> None:
    """Find the split of column u that gains most with the best split of each child.

    `joint` (k, bins of u + 1, bins + 1, 3) are sums by the code of u and of each column v; `order`
    are the codes of u that are present. As in `scan`, a split is tried with missing left and right.
    """
    total, rule = node[2], node[3]
    k, missing = joint.shape[0], sizes[u]
    absent = np.zeros(3)
    for code in range(sizes[u] + 1):
        for s in range(3):
            absent[s] += joint[u, missing, code, s]
    left, right = (
        np.zeros(joint.shape[:1] + joint.shape[2:]),
        np.empty(joint.shape[:1] + joint.shape[2:]),
    )
    child = np.empty(N_FOUND)
    sums = np.zeros(3)
    found[:] = 0.0
    found[GAIN] = -np.inf
    for place in range(order.size - 1):
        code = order[place]
        for v in range(k):
            for b in range(sizes[v] + 1):
                for s in range(3):
                    left[v, b, s] += joint[v, code, b, s]
        for b in range(sizes[u] + 1):
            for s in range(3):
                sums[s] += joint[u, code, b, s]
        for side in range(2 if absent[2] > 0.0 else 1):
            to_left = side == 0 if absent[2] > 0.0 else sums[2] >= total[2] - sums[2]
            extra = 1.0 if absent[2] > 0.0 and to_left else 0.0
            g, h, w = (
                sums[0] + extra * absent[0],
                sums[1] + extra * absent[1],
                sums[2] + extra * absent[2],
            )
            own = better(
                -np.inf, (g, h, w), (total[0], total[1], total[2]), (rule[RIDGE], rule[LEAST], 0.0)
            )
            if own == -np.inf:
                continue
            for v in range(k):
                for b in range(sizes[v] + 1):
                    for s in range(3):
                        whole = 0.0
                        for a in range(joint.shape[1]):
                            whole += joint[v, a, b, s]
                        left[v, b, s] += extra * joint[v, missing, b, s]
                        right[v, b, s] = whole - left[v, b, s]
            gain = own + _child_gain(left, sizes, category, rule, child)
            gain += _child_gain(right, sizes, category, rule, child)
            for v in range(k):
                for b in range(sizes[v] + 1):
                    for s in range(3):
                        left[v, b, s] -= extra * joint[v, missing, b, s]
            if gain > found[GAIN] + TIE * (rule[SCALE] + gain):
                found[GAIN], found[MISSING_LEFT] = gain, 1.0 if to_left else 0.0
                found[TEST] = LEVELS if category[u] else ORDERED
                found[BIN] = place + 1 if category[u] else code
                found[NEXT_BIN] = place + 2 if category[u] else order[place + 1]


@kernel
def two_level_splits(columns: Columns, chosen: Ints, node: Node, found: Floats) -> None:
    """Fill `found` (k, 5) with the split of each chosen column that is best two levels deep.

    Its gain is that of the split and of the best split of each child, on whichever column. A parity
    gains nothing at its first split, so one level alone would miss it. For few columns of few bins:
    time goes with the square of both.
    """
    (codes, n_bins, is_category), (rows, stats, total, rule) = columns, node
    k, width = chosen.size, 0
    sizes, category = np.empty(k, np.int64), np.empty(k, np.bool_)
    for v in range(k):
        sizes[v], category[v] = n_bins[chosen[v]], is_category[chosen[v]]
        width = max(width, sizes[v] + 1)
    for u in range(k):
        joint = np.zeros((k, sizes[u] + 1, width, 3))
        for i in range(rows.size):
            a = codes[chosen[u], rows[i]]
            for v in range(k):
                b = codes[chosen[v], rows[i]]
                for s in range(3):
                    joint[v, a, b, s] += stats[i, s]
        hist = np.zeros((sizes[u] + 1, 3))
        for a in range(sizes[u] + 1):
            for s in range(3):
                hist[a, s] = joint[u, a, a, s]
        if category[u]:
            order = level_order(hist, sizes[u], total, rule)
        else:
            order = np.flatnonzero(hist[: sizes[u], 2] > 0.0)
        _split_twice(joint, order, u, sizes, category, node, found[u])


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
