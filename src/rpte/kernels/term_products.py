"""Products of the terms of approximate fits over some rows: gradients, scores, moments, losses.

A term is a row of a matrix in single precision. Levels of one category exclude each other, and so
do leaves of one tree: such terms are also known by a code for every row, so that a pass over the
codes serves many of them at once. All products are over the rows from `low` to `high`, so that
whoever has many rows adds them up in blocks.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.kernels.losses import loss_statistics
from rpte.utils.arrays import Array, Floats, Index, Ints, Singles

# Values (m, n); codes (groups, n), 0 where no term of a group is 1, and the number of codes of each
# (groups,); then of each term (k,): its row, its group, -1 if it has none, and its code there.
Terms = tuple[Singles, Array, Ints, Index, Index, Index]
# The loss: its code, the largest curvature of a row of weight one; targets, row weights (n,)
Data = tuple[int, float, Floats, Floats]

FEW = 4  # terms of a group, from which its codes are read in their place
TILE = 4_096  # rows of a Gram matrix in single precision, which half the memory holds
PANEL = 48  # of its rows, so that only half of it is computed


@kernel
def some_terms(terms: Terms, which: Index) -> Terms:
    """Return some of the terms."""
    z, codes, widths, rows, group, level = terms
    return z, codes, widths, rows[which], group[which], level[which]


@jitable
def coded_groups(terms: Terms) -> Ints:
    """Return how many terms are in each group, 0 where they are too few for codes to pay."""
    counts = np.zeros(terms[2].size, np.int64)
    for g in terms[4]:
        if g >= 0:
            counts[g] += 1
    for g in range(counts.size):
        if counts[g] < FEW:
            counts[g] = 0
    return counts


@jitable
def is_coded(g: int, counts: Ints) -> bool:
    """Tell whether the codes of a group are read."""
    return g >= 0 and counts[g] > 0


@kernel
def gradients(terms: Terms, values: Singles, low: int, high: int, out: Floats) -> None:
    """Fill `out` (k,) with the products of the terms and `values` (n,)."""
    z, codes, widths, rows, group, level = terms
    counts = coded_groups(terms)
    for a in range(rows.size):
        if not is_coded(group[a], counts):
            out[a] = np.dot(z[rows[a], low:high], values[low:high])
    for g in range(counts.size):
        if counts[g] > 0:
            sums, code = np.zeros(widths[g]), codes[g]
            for i in range(low, high):
                sums[code[i]] += values[i]
            for a in range(rows.size):
                if group[a] == g:
                    out[a] = sums[level[a]]


@kernel
def gradients_of_blocks(terms: Terms, values: Singles, starts: Index, out: Floats) -> None:
    """Fill `out` (b, k) with the products over blocks of rows, which begin at `starts` (b + 1,)."""
    for block in range(out.shape[0]):
        gradients(terms, values, starts[block], starts[block + 1], out[block])


@kernel
def exact_gradients(terms: Terms, values: Floats, low: int, high: int, out: Floats) -> None:
    """Do as `gradients`, in double precision and row by row: the same on every machine."""
    z, rows = terms[0], terms[3]
    for a in range(rows.size):
        row, total = z[rows[a]], 0.0
        for i in range(low, high):
            total += row[i] * values[i]
        out[a] = total


@kernel
def add_rows(terms: Terms, coefficients: Floats, low: int, high: int, out: Floats) -> None:
    """Add the terms times their coefficients (k,) to `out` (n,)."""
    z, codes, widths, rows, group, level = terms
    counts = coded_groups(terms)
    for a in range(rows.size):
        factor = coefficients[a]
        if factor != 0.0 and not is_coded(group[a], counts):
            row, part = z[rows[a], low:high], out[low:high]
            for i in range(row.size):
                part[i] += factor * row[i]
    for g in range(counts.size):
        if counts[g] > 0:
            factors, code = np.zeros(widths[g]), codes[g]
            for a in range(rows.size):
                if group[a] == g:
                    factors[level[a]] = coefficients[a]
            for i in range(low, high):
                out[i] += factors[code[i]]


@jitable
def dense_moments(
    terms: Terms, places: Index, known: int, h: Floats, low: int, high: int, out: Floats
) -> None:
    """Add the moments of the terms at some places (d,), ascending."""
    z, rows, size = terms[0], terms[3], high - low
    root, block = np.empty(size, np.float32), np.empty((places.size, size), np.float32)
    for i in range(size):
        root[i] = np.sqrt(h[low + i])
    fresh = np.searchsorted(places, known)
    for d in range(places.size):
        row, line = z[rows[places[d]], low:high], block[d]
        for i in range(size):
            line[i] = root[i] * row[i]
    for d in range(fresh, places.size):
        out[places[d] - known, out.shape[1] - 1] += np.dot(block[d], root)
    for first in range(fresh, places.size, PANEL):
        last = min(first + PANEL, places.size)
        panel = np.dot(block[first:last], block[:last].T)
        for a in range(first, last):
            for b in range(a + 1):
                out[places[a] - known, places[b]] += panel[a - first, b]


@jitable
def add_table(table: Array, one: Index, other: Index, known: int, out: Floats) -> None:
    """Add the moments of terms at the places `one` (c,) and `other` (e,), -1 for none, (c, e)."""
    for c in range(one.size):
        for e in range(other.size):
            a, b = max(one[c], other[e]), min(one[c], other[e])
            if b >= 0 and a >= known:
                out[a - known, b] += table[c, e]


@jitable
def coded_moments(
    terms: Terms,
    places: Index,
    counts: Ints,
    known: int,
    h: Floats,
    low: int,
    high: int,
    out: Floats,
) -> None:
    """Add the moments of the terms in groups that have any `counts`, also with those at `places`.

    A pass over the codes of one group adds its sums, one over those of two their common ones.
    """
    z, codes, widths, rows, group, level = terms
    weighted = np.empty((high - low, places.size + 1), np.float32)
    for d in range(places.size):
        row = z[rows[places[d]], low:high]
        for i in range(row.size):
            weighted[i, d] = h[low + i] * row[i]
    for i in range(low, high):
        weighted[i - low, places.size] = h[i]
    coded = np.flatnonzero(counts)
    place = np.full((coded.size, widths.max()), -1, np.intp)  # of the term with each code
    new = np.zeros(coded.size, np.bool_)
    for a in range(rows.size):
        for m in range(coded.size):
            if group[a] == coded[m]:
                place[m, level[a]] = a
                new[m] |= a >= known
    fresh = np.searchsorted(places, known)
    for m in range(coded.size):
        code, width, begin = codes[coded[m]], widths[coded[m]], 0 if new[m] else fresh
        sums = np.zeros((width, places.size + 1 - begin), np.float32)
        for i in range(low, high):
            line, values = sums[code[i]], weighted[i - low]
            for d in range(line.size):
                line[d] += values[begin + d]
        add_table(sums[:, :-1], place[m, :width], places[begin:], known, out)
        for c in range(width):
            a = place[m, c]
            if a >= known:
                out[a - known, a] += sums[c, -1]
                out[a - known, out.shape[1] - 1] += sums[c, -1]
        for other in range(m):
            if new[m] or new[other]:
                table, second = np.zeros((width, widths[coded[other]])), codes[coded[other]]
                for i in range(low, high):
                    table[code[i], second[i]] += h[i]
                at = place[other, : table.shape[1]]
                add_table(table, place[m, :width], at, known, out)


@kernel
def tile_moments(terms: Terms, known: int, h: Floats, low: int, high: int, out: Floats) -> None:
    """Add to `out` (k - known, k + 1) the second moments of the terms under `h` (n,), then sums.

    Its lines are the terms but the first `known`. Only moments with terms before are filled.
    """
    group, counts = terms[4], coded_groups(terms)
    dense = np.empty(group.size, np.bool_)
    for a in range(group.size):
        dense[a] = not is_coded(group[a], counts)
    places = np.flatnonzero(dense)
    dense_moments(terms, places, known, h, low, high, out)
    if places.size < group.size:
        coded_moments(terms, places, counts, known, h, low, high, out)


@kernel
def moments_of_rows(terms: Terms, known: int, h: Floats, low: int, high: int, out: Floats) -> None:
    """Do as `tile_moments`, for any number of rows."""
    for first in range(low, high, TILE):
        tile_moments(terms, known, h, first, min(first + TILE, high), out)


@kernel
def put_moments(found: Floats, known: int, second: Floats, cross: Floats) -> None:
    """Put moments as `tile_moments` has them into `second` (k, k) and `cross` (k,)."""
    k = cross.size
    for a in range(known, k):
        cross[a] = found[a - known, k]
        for b in range(a + 1):
            second[a, b] = second[b, a] = found[a - known, b]


@kernel
def deviances(z: Singles, rows: Index, data: Data, low: int, fits: Floats, out: Floats) -> None:
    """Fill `out` (f,) with the mean deviance of each fit on the columns of `z` from `low` on.

    `data` is of these columns; `fits` (f, q + 1) are intercepts and the coefficients of the terms
    in some `rows` (q,) of `z`.
    """
    code, _, y, weight = data
    residual, curvature, total = np.empty(y.size), np.empty(y.size), 0.0
    for i in range(y.size):
        total += weight[i]
    for at in range(fits.shape[0]):
        score = np.full(y.size, fits[at, 0])
        for a in range(rows.size):
            factor = fits[at, 1 + a]
            if factor != 0.0:
                row = z[rows[a], low : low + y.size]
                for i in range(y.size):
                    score[i] += factor * row[i]
        out[at] = 2.0 * loss_statistics(code, score, y, weight, residual, curvature) / total
