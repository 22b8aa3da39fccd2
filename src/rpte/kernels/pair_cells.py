"""How much a small tree over two variables gains beyond what each of them says alone.

For a pair of variables with few codes each, all that counts of the rows are the sums of their
gradients g and curvatures h in each cell of the two codes: G and H. From the cells of the training
folds

1. the main effects r_a + c_b of the pair are taken out by a few rounds of backfitting,
   r_a = sum_b (G_ab - H_ab c_b) / (sum_b H_ab + ridge) and the same for c, because the score that
   the gradients come from may not say all of them;
2. the best tree of two levels is found: a cut of one variable, then on each side a cut of the
   other, which maximises the sum over leaves of G^2 / (H + ridge). A parity has no gain at its
   first cut, so both levels are chosen together;
3. leaves get values v = shrink G / (H + ridge), and the held-out fold says what they are worth:
   sum over leaves of G_out v - H_out v^2 / 2, in nats. This may be negative.

Under the additive score the cells' gradients have the mean 0 and, in units of the dispersion, the
curvature H as their variance; no two cells share a row. So they are independent and nearly normal,
and draws of them are a parametric bootstrap at a cost that does not depend on the number of rows.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Array, Floats, Index, Ints

ROUNDS = 4  # of backfitting
# Increment and multipliers of splitmix64 (Steele, Lea and Flood 2014).
STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
UNIT = 1.0 / 9007199254740992.0  # 2^-53
# What `rule` holds: ridge, least curvature of a leaf, factor on leaf values.
RIDGE, LEAST, SHRINK = 0, 1, 2


@jitable
def _mixed(state: np.uint64) -> np.uint64:
    z = (state ^ (state >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@jitable
def _draw(variance: Floats, state: np.uint64, out: Floats) -> np.uint64:
    """Fill `out` with normal numbers of some variances (Box and Muller); return the next state."""
    for i in range(out.size):
        state += STEP
        first = (np.float64(_mixed(state) >> np.uint64(11)) + 0.5) * UNIT
        state += STEP
        second = (np.float64(_mixed(state) >> np.uint64(11)) + 0.5) * UNIT
        normal = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
        out[i] = normal * np.sqrt(variance[i])
    return state


@jitable
def _without_main_effects(g: Floats, h: Floats, ridge: float, row: Floats, column: Floats) -> None:
    """Take the main effects of a table of cells (a, b) out of its gradients; keep them."""
    for a in range(g.shape[0]):
        row[a] = 0.0
    for b in range(g.shape[1]):
        column[b] = 0.0
    for _ in range(ROUNDS):
        for a in range(g.shape[0]):
            top, bottom = 0.0, ridge
            for b in range(g.shape[1]):
                top += g[a, b] - h[a, b] * column[b]
                bottom += h[a, b]
            row[a] = top / bottom
        for b in range(g.shape[1]):
            top, bottom = 0.0, ridge
            for a in range(g.shape[0]):
                top += g[a, b] - h[a, b] * row[a]
                bottom += h[a, b]
            column[b] = top / bottom
    for a in range(g.shape[0]):
        for b in range(g.shape[1]):
            g[a, b] -= h[a, b] * (row[a] + column[b])


@jitable
def _best_cut(g: Floats, h: Floats, rule: Floats) -> tuple[float, int]:
    """Return the gain of the best cut of a line of cells, (scores, b), and the cell before it.

    The gain is that of the leaves, not of the split; -1 stands for no cut.
    """
    scores, size = g.shape
    best, at = 0.0, -1
    total_g, total_h = np.zeros(scores), np.zeros(scores)
    for k in range(scores):
        for b in range(size):
            total_g[k] += g[k, b]
            total_h[k] += h[k, b]
        best += total_g[k] ** 2 / (total_h[k] + rule[RIDGE])
    left_g, left_h = np.zeros(scores), np.zeros(scores)
    for b in range(size - 1):
        gain, left, right = 0.0, 0.0, 0.0
        for k in range(scores):
            left_g[k] += g[k, b]
            left_h[k] += h[k, b]
            rest_g, rest_h = total_g[k] - left_g[k], total_h[k] - left_h[k]
            gain += left_g[k] ** 2 / (left_h[k] + rule[RIDGE])
            gain += rest_g**2 / (rest_h + rule[RIDGE])
            left += left_h[k]
            right += rest_h
        if left >= rule[LEAST] * scores and right >= rule[LEAST] * scores and gain > best:
            best, at = gain, b
    return best, at


@jitable
def _best_tree(g: Floats, h: Floats, rule: Floats, flip: bool) -> tuple[float, int, int, int]:
    """Return gain and cuts of the best tree of two levels: of the first variable, then the other.

    `g` and `h` are (scores, a, b); with `flip` the second variable is cut first.
    """
    scores, first, second = g.shape
    if flip:
        first, second = second, first
    low_g, low_h = np.zeros((scores, second)), np.zeros((scores, second))
    high_g, high_h = np.zeros((scores, second)), np.zeros((scores, second))
    for k in range(scores):
        for a in range(first):
            for b in range(second):
                high_g[k, b] += g[k, b, a] if flip else g[k, a, b]
                high_h[k, b] += h[k, b, a] if flip else h[k, a, b]
    best, at, below, above = -1.0, -1, -1, -1
    for a in range(first - 1):
        for k in range(scores):
            for b in range(second):
                one_g = g[k, b, a] if flip else g[k, a, b]
                one_h = h[k, b, a] if flip else h[k, a, b]
                low_g[k, b] += one_g
                low_h[k, b] += one_h
                high_g[k, b] -= one_g
                high_h[k, b] -= one_h
        gain_low, cut_low = _best_cut(low_g, low_h, rule)
        gain_high, cut_high = _best_cut(high_g, high_h, rule)
        if gain_low + gain_high > best:
            best, at, below, above = gain_low + gain_high, a, cut_low, cut_high
    return best, at, below, above


@jitable
def _held_out_gain(g: Floats, h: Floats, fold: int, rule: Floats) -> float:
    """Return the gain on a fold of the tree that the others choose; cells (scores, folds, a, b)."""
    scores, folds, first, second = g.shape
    train_g, train_h = np.zeros((scores, first, second)), np.zeros((scores, first, second))
    held_g = g[:, fold].copy()
    row, column = np.empty(first), np.empty(second)
    for k in range(scores):
        for f in range(folds):
            if f != fold:
                for a in range(first):
                    for b in range(second):
                        train_g[k, a, b] += g[k, f, a, b]
                        train_h[k, a, b] += h[k, f, a, b]
        _without_main_effects(train_g[k], train_h[k], rule[RIDGE], row, column)
        for a in range(first):
            for b in range(second):
                held_g[k, a, b] -= h[k, fold, a, b] * (row[a] + column[b])
    plain = _best_tree(train_g, train_h, rule, False)
    flipped = _best_tree(train_g, train_h, rule, True)
    flip = flipped[0] > plain[0]
    _, cut, below, above = flipped if flip else plain
    if cut < 0:
        return 0.0
    gain = 0.0
    for k in range(scores):
        sums = np.zeros((4, 4))  # by leaf: G and H of the training folds, then of the held-out one
        for a in range(first):
            for b in range(second):
                one, other = (b, a) if flip else (a, b)
                after = below if one <= cut else above
                leaf = (0 if one <= cut else 2) + (1 if after >= 0 and other > after else 0)
                sums[leaf, 0] += train_g[k, a, b]
                sums[leaf, 1] += train_h[k, a, b]
                sums[leaf, 2] += held_g[k, a, b]
                sums[leaf, 3] += h[k, fold, a, b]
        for leaf in range(4):
            value = rule[SHRINK] * sums[leaf, 0] / (sums[leaf, 1] + rule[RIDGE])
            gain += sums[leaf, 2] * value - 0.5 * sums[leaf, 3] * value * value
    return gain


@jitable
def _gain(g: Floats, h: Floats, rule: Floats) -> float:
    total = 0.0
    for fold in range(g.shape[1]):
        total += _held_out_gain(g, h, fold, rule)
    return total


@jitable
def _add_cells(codes: Array, pair: Index, folds: Ints, values: Floats, out: Floats) -> None:
    """Add values (scores, n) of the rows to their cells (scores, folds, a, b)."""
    for i in range(codes.shape[1]):
        a, b, f = codes[pair[0], i], codes[pair[1], i], folds[i]
        for k in range(values.shape[0]):
            out[k, f, a, b] += values[k, i]


@kernel
def pair_gains(
    codes: Array,
    n_codes: Ints,
    folds: tuple[Ints, int],
    values: tuple[Floats, Floats],
    rule: Floats,
    pairs: Index,
    draws: int,
    place: int,
    out: Floats,
) -> None:
    """Fill `out` (m, 1 + draws) with the gain of each pair, and with those of chance.

    `codes` are (variables, n), `n_codes` how many of each; `folds` the fold of each row, (n,), and
    their number; `values` gradients and curvatures, (scores, n) each; `pairs` (m, 2).
    The first of these has a `place` among all pairs, which what is drawn depends on.
    """
    (fold, n_folds), (gradient, curvature) = folds, values
    scores = gradient.shape[0]
    for m in range(pairs.shape[0]):
        first, second = n_codes[pairs[m, 0]], n_codes[pairs[m, 1]]
        g = np.zeros((scores, n_folds, first, second))
        h = np.zeros((scores, n_folds, first, second))
        _add_cells(codes, pairs[m], fold, gradient, g)
        _add_cells(codes, pairs[m], fold, curvature, h)
        out[m, 0] = _gain(g, h, rule)
        if draws == 0:
            continue
        variance = h.reshape(h.size)
        drawn = np.empty(h.size)
        state = _mixed(np.uint64(place + m + 1) * STEP)
        for d in range(draws):
            state = _draw(variance, state, drawn)
            out[m, 1 + d] = _gain(drawn.reshape(h.shape), h, rule)
