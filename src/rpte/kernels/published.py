"""What only the published configuration counts: splits on labels, and pairs of items by bits.

With g = w y, h = w and no ridge the gain of a split is a convex function of what lies on its left.
All splits inside a block of neighbouring codes lie between "its positive rows come first" and "its
negative rows come first", so their gains are at most the largest at the four corners. A column is
searched block by block, and code by code only where these bounds leave a chance.

Weights are whole numbers, so every sum is exact, in any order and by subtraction too. A count is
one integer: the positive weight times 2^32, plus the weight.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rpte.kernels.compile import jitable, kernel
from rpte.kernels.growth import BIN, GAIN, LEAST, MISSING_LEFT, NEXT_BIN, SCALE, better
from rpte.utils.arrays import Array, Floats, Int32s, Ints, Mask, Words

# Bounds are compared with slack for rounding; far above `TIE`, far below any difference of counts.
SLACK = 1e-9
NONE, UNKNOWN = -1, -2
HALF, LOW = 32, 2**32 - 1  # where the positive weight begins, and the bits of the weight
CHUNK = 5  # codes are looked at in chunks of 2^5 before they are looked at one by one
Node = tuple[Int32s, Ints, Floats, Floats]  # rows and their counts (m,); sums and rule (3,)
# The best splits (k, 5), what no split of a column exceeds (k,), and which are final (k,)
Found = tuple[Floats, Floats, Mask]
# Codes (V, n), where blocks begin (V + 1,), low bits of a code that its block lacks (V,), and room
# for the counts of one column
Counted = tuple[Array, Ints, Ints, Ints]


@kernel
def count_blocks(
    codes: Array, chosen: Ints, starts: Ints, shifts: Ints, rows: Int32s, counts: Ints, out: Ints
) -> None:
    """Add the `counts` (m,) of a node's `rows` (m,) to the blocks of each chosen column, `out`.

    The blocks of the columns, rows of `codes` (V, n), begin at `starts` (V + 1,); a code's block is
    the code without the low bits that `shifts` (V,) counts.
    """
    for j in chosen:
        column, shift, first = codes[j], shifts[j], starts[j]
        for i in range(rows.size):
            out[first + (np.int64(column[rows[i]]) >> shift)] += counts[i]


@jitable
def gain_of(g: float, w: float, total_g: float, total_w: float) -> float:
    """Return the gain of a split with these sums on its left; an empty side adds nothing."""
    g_right, w_right = total_g - g, total_w - w
    left = g * g / w if w > 0.0 else 0.0
    right = g_right * g_right / w_right if w_right > 0.0 else 0.0
    return left + right - total_g * total_g / total_w


@jitable
def most_inside(before: int, block: int, total_g: float, total_w: float) -> float:
    """Return the most that a split inside a block gains, with these counts before and in it."""
    g, w = np.float64(before >> HALF), np.float64(before & LOW)
    positive, weight = np.float64(block >> HALF), np.float64(block & LOW)
    positive_first = gain_of(g + positive, w + positive, total_g, total_w)
    negative_first = gain_of(g, w + weight - positive, total_g, total_w)
    at_start = gain_of(g, w, total_g, total_w)
    at_end = gain_of(g + positive, w + weight, total_g, total_w)
    return max(positive_first, negative_first, at_start, at_end)


@jitable
def better_count(
    best: float, before: int, total_g: float, total_w: float, least: float, scale: float
) -> float:
    """Return the gain of the split with these counts on its left if it beats `best`, else -inf."""
    g, w = np.float64(before >> HALF), np.float64(before & LOW)
    return better(best, (g, w, w), (total_g, total_w, total_w), (0.0, least, scale))


@jitable
def enter(found: Floats, gain: float, last: int, code: int, before: int, total_w: float) -> None:
    """Note a split as the best: between two codes, missing with the heavier child."""
    w = np.float64(before & LOW)
    found[GAIN], found[BIN], found[NEXT_BIN] = gain, last, code
    found[MISSING_LEFT] = 1.0 if w >= total_w - w else 0.0


@kernel
def scan_blocks(
    blocks: Ints, chosen: Ints, starts: Ints, shifts: Ints, total: Floats, rule: Floats, out: Found
) -> None:
    """Find the best split of each column whose blocks are codes; bound the others from both sides.

    `total` (3,) is G, W, W of the node, `rule` (3,) as in `rpte.kernels.growth`. A split of `out`
    that is not final has the best gain between two blocks.
    """
    found, bound, settled = out
    total_g, total_w, least, scale = total[0], total[2], rule[LEAST], rule[SCALE]
    for k in range(chosen.size):
        j = chosen[k]
        best, most = -np.inf, -np.inf
        found[k, :] = 0.0
        settled[k] = shifts[j] == 0
        before, last = 0, NONE
        for b in range(starts[j + 1] - starts[j]):
            block = blocks[starts[j] + b]
            if block == 0:
                continue
            if last != NONE:
                gain = better_count(best, before, total_g, total_w, least, scale)
                if gain > -np.inf:
                    best = gain
                    enter(found[k], gain, last, b, before, total_w)
            if shifts[j] > 0:
                most = max(most, most_inside(before, block, total_g, total_w))
            before += block
            last = b
        found[k, GAIN] = best
        bound[k] = most


@jitable
def search_codes(
    column: Array, shift: int, blocks: Ints, node: Node, fine: Ints, found: Floats
) -> None:
    """Find the best split of one column, where the bounds of blocks and chunks leave a chance.

    `fine` (codes,) is room to work in; `found` (5,) holds the best gain between two blocks. The
    last code on the left is `UNKNOWN` if it was passed over.
    """
    rows, counts, total, rule = node
    total_g, total_w, least, scale = total[0], total[2], rule[LEAST], rule[SCALE]
    room = SLACK * (scale + total_g * total_g / total_w + max(found[GAIN], 0.0))
    floor = found[GAIN] - room
    is_open = np.zeros(blocks.size, np.bool_)
    before = 0
    for b in range(blocks.size):
        if blocks[b] != 0 and most_inside(before, blocks[b], total_g, total_w) >= floor:
            is_open[b] = True
            fine[b << shift : (b + 1) << shift] = 0
        before += blocks[b]
    for i in range(rows.size):
        value = np.int64(column[rows[i]])
        if is_open[value >> shift]:
            fine[value] += counts[i]
    best, before, last, size = -np.inf, 0, NONE, 1 << min(shift, CHUNK)
    for b in range(blocks.size):
        if not is_open[b]:
            before += blocks[b]
            last = last if blocks[b] == 0 else UNKNOWN
            continue
        for start in range(b << shift, (b + 1) << shift, size):
            chunk = 0
            for code in range(start, start + size):
                chunk += fine[code]
            if chunk == 0:
                continue
            if most_inside(before, chunk, total_g, total_w) < max(floor, best - room):
                before += chunk
                last = UNKNOWN
                continue
            for code in range(start, start + size):
                if fine[code] != 0:
                    if last != NONE:
                        gain = better_count(best, before, total_g, total_w, least, scale)
                        if gain > -np.inf:
                            best = gain
                            enter(found, gain, last, code, before, total_w)
                    before += fine[code]
                    last = code
    found[GAIN] = best


@kernel
def settle_best(
    table: Counted, chosen: Ints, order: Ints, blocks: Ints, node: Node, out: Found, top: float
) -> None:
    """Settle columns in `order`, by falling bound, until no other can reach the best gain.

    `top` is the best gain so far; `order` holds places in `chosen` that are not settled.
    """
    (codes, starts, shifts, fine), (found, bound, settled) = table, out
    _, _, total, rule = node
    parent = total[0] * total[0] / total[1]
    for k in order:
        if bound[k] < top - SLACK * (rule[SCALE] + parent + max(top, 0.0)):
            return
        j = chosen[k]
        own = blocks[starts[j] : starts[j + 1]]
        search_codes(codes[j], shifts[j], own, node, fine, found[k])
        settled[k] = True
        top = max(top, found[k, GAIN])


def popcount(word: Any) -> Any:
    """Return the number of ones among 64 bits."""
    return int(word).bit_count()


@overload(popcount)  # type: ignore[untyped-decorator]
def _compiled_popcount(word: Any) -> Callable[[Any], Any]:
    """Spell it out in the form that compilers know and turn into one instruction."""

    def count(word: Any) -> Any:
        word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
        pairs = np.uint64(0x3333333333333333)
        word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)

    return count


@kernel
def joint_bits(
    sets: Words, starts: Ints, planes: Words, first: int, others: Ints, out: Floats
) -> None:
    """Do as `rpte.kernels.growth.joint_counts` for small whole weights, by bits.

    `sets` (codes, words) are the rows that hold each code of all columns, whose codes begin there
    at `starts` (columns + 1,). `planes` (bits, 2, words) are the rows whose weight has each bit,
    and the positive ones among them.
    """
    here, positive = np.empty_like(sets[0]), np.empty_like(sets[0])
    for a in range(starts[first + 1] - starts[first]):
        own = sets[starts[first] + a]
        for bit in range(planes.shape[0]):
            for i in range(own.size):
                here[i] = own[i] & planes[bit, 0, i]
                positive[i] = own[i] & planes[bit, 1, i]
            for k in range(others.size):
                start = starts[others[k]]
                for b in range(starts[others[k] + 1] - start):
                    rows = sets[start + b]
                    weight, events = np.uint64(0), np.uint64(0)
                    for i in range(rows.size):
                        weight += popcount(here[i] & rows[i])
                        events += popcount(positive[i] & rows[i])
                    out[k, a, b, 0] += np.float64(weight) * 2.0**bit
                    out[k, a, b, 1] += np.float64(events) * 2.0**bit
