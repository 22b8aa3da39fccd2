"""Stage 1 once more, naively, from a description of the published method and nothing else.

Plain loops over rows (whole weights are repetitions), covers as Python integers used as bit sets.
Where the library differs from the reference on purpose the oracle follows the library:

* ties go by the canonical order of variables and their items (the reference: by traversal);
* of two pairs that share an item and cover the same rows the one of higher utility stands (the
  reference: the first met within one root item);
* an item whose utility rounds to 0 is dropped (the reference: whose raw utility is 0);
* gains and scores are rounded to 12 decimals, so that ties and zeros do not hang on the last bit.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import combinations

import numpy as np

BIN_COUNTS = (2, 3, 5, 7, 10, 15)


def absent(cell):
    return cell is None or cell != cell


def entropy(counts, log=math.log):
    total = sum(counts)
    return -sum(c / total * log(c / total) for c in counts if c)


def gain_of(codes, y, log):
    """Information gain of the partition that gives row i the code codes[i]."""
    cells = {}
    for code, label in zip(codes, y, strict=True):
        cells.setdefault(code, [0, 0])[int(label)] += 1
    n = len(y)
    inside = sum(sum(cell) / n * entropy(cell, log) for cell in cells.values())
    return entropy([y.count(0), y.count(1)], log) - inside


def unique(values):
    return sorted(set(values))


# 1.2 adaptive binning


def scoring_edges(x, bins):
    x, last = sorted(x), len(x) - 1
    return unique(x[round(i / bins * last)] for i in range(bins + 1))[1:-1]


def bin_count(x, y):
    if len(x) < 10:
        return 7
    chosen, previous = BIN_COUNTS[0], 0.0
    for bins in BIN_COUNTS:
        edges = scoring_edges(x, bins)
        score = round(gain_of([bisect_right(edges, v) for v in x], y, math.log2), 12)
        if previous > 0 and (score - previous) / (previous + 1e-9) < 0.02:
            break
        chosen, previous = bins, score
    return chosen


def final_edges(x, y):
    bins = bin_count(x, y)
    return unique(np.quantile(x, [i / bins for i in range(bins + 1)]).tolist())


# 1.3 items and utilities


def pearson(a, b):
    n = len(a)
    a, b = [v - sum(a) / n for v in a], [v - sum(b) / n for v in b]
    scale = math.sqrt(sum(v * v for v in a) * sum(v * v for v in b))
    return sum(v * w for v, w in zip(a, b, strict=True)) / scale if scale else 0.0


def number_items(cells, y):
    """Return [(cover, raw utility)] of the bins of a number."""
    rows = [i for i, v in enumerate(cells) if not absent(v)]
    if len({cells[i] for i in rows}) < 2:
        return []
    edges = final_edges([cells[i] for i in rows], [y[i] for i in rows])
    bins = len(edges) - 1
    codes = [0 if absent(v) else min(bisect_right(edges[1:-1], v), bins - 1) for v in cells]
    raw = abs(pearson(codes, y)) / bins
    covers = [sum(1 << i for i in rows if codes[i] == k) for k in range(bins)]
    return [(cover, raw) for cover in covers]


def category_items(cells, y):
    """Return [(cover, raw utility)] of the levels of a category."""
    levels = unique(str(v) for v in cells if not absent(v))
    if len(levels) < 2:
        return []
    out, n = [], len(y)
    for level in levels:
        inside = [int(not absent(v) and str(v) == level) for v in cells]
        norm = math.sqrt(
            entropy([sum(inside), n - sum(inside)]) * entropy([y.count(0), y.count(1)])
        )
        share = min(max(gain_of(inside, y, math.log) / norm, 0.0), 1.0) if norm else 0.0
        joint = sum(a * b for a, b in zip(inside, y, strict=True))
        factor = 1.0 if n * joint > sum(inside) * sum(y) else 0.05
        out.append((sum(1 << i for i in range(n) if inside[i]), share * factor))
    return out


def all_items(columns, y):
    """Return [(variable, cover, utility)] in canonical order."""
    items = []
    for name in sorted(columns):
        cells = columns[name]
        make = category_items if any(isinstance(v, str) for v in cells) else number_items
        items += [(name, cover, round(raw, 12)) for cover, raw in make(cells, y)]
    top = max((raw for *_, raw in items), default=0.0)
    scaled = [(name, cover, round(raw / top, 6)) for name, cover, raw in items] if top else []
    return [item for item in scaled if item[2] > 0]


# 1.4 and 1.5 patterns


def patterns(columns, y, order, budget, min_gain):
    """Return the patterns as tuples of (variable, cover), best first."""
    n, positive = len(y), sum(1 << i for i, label in enumerate(y) if label)
    base = entropy([y.count(0), y.count(1)])

    def gain(cover):
        inside, events = cover.bit_count(), (cover & positive).bit_count()
        outside, others = n - inside, positive.bit_count() - events
        parts = [(inside, events), (outside, others)]
        return round(base - sum(m / n * entropy([e, m - e]) for m, e in parts if m), 12)

    def passes(cover):
        return 0 < cover.bit_count() < n and gain(cover) > min_gain

    items = all_items(columns, y)
    if not items:
        return []
    worth = sorted((cover.bit_count() * u for _, cover, u in items), reverse=True)
    floor = worth[min(budget, len(worth)) - 1]
    good = [k for k, (_, cover, _) in enumerate(items) if passes(cover)]
    found = [((k,), items[k][1], items[k][1].bit_count() * items[k][2]) for k in good]
    if order > 1:
        for a, b in combinations(good, 2):
            cover = items[a][1] & items[b][1]
            if items[a][0] != items[b][0] and passes(cover):
                found.append(((a, b), cover, cover.bit_count() * (items[a][2] + items[b][2])))
    found = [f for f in found if f[2] >= floor]
    found.sort(key=lambda f: (-f[2], f[0][0], f[0][1] if len(f[0]) > 1 else -1))
    taken = []
    for which, cover, u in found:
        rivals = [t for t in taken if len(which) > 1 and len(t[0]) > 1 and t[1] == cover]
        if len(taken) < budget and not any(set(which) & set(t[0]) for t in rivals):
            taken.append((which, cover, u))
    if order > 1:
        taken.sort(key=lambda t: (-gain(t[1]), -t[2]))
        seen = set()
        taken = [t for t in taken if not (t[1] in seen or seen.add(t[1]))]
    return [tuple((items[k][0], items[k][1]) for k in which) for which, *_ in taken]


# 1.6 pairs


def coarse(cells):
    present = [v for v in cells if not absent(v)]
    values = unique(present)
    edges = values[1:]
    if len(values) > 4:
        edges = unique(np.quantile(present, [0.25, 0.5, 0.75]).tolist())
    return [None if absent(v) else bisect_right(edges, v) for v in cells]


def ranked_sources(columns, y):
    numbers = [n for n in sorted(columns) if not any(isinstance(v, str) for v in columns[n])]
    codes = {name: coarse(columns[name]) for name in numbers}
    best = dict.fromkeys(numbers, 0.0)
    for a, b in combinations(numbers, 2):
        rows = [i for i in range(len(y)) if codes[a][i] is not None and codes[b][i] is not None]
        if len(rows) < 3:
            continue
        labels, first, second = ([v[i] for i in rows] for v in (y, codes[a], codes[b]))
        joint = gain_of(list(zip(first, second, strict=True)), labels, math.log2)
        extra = joint - gain_of(first, labels, math.log2) - gain_of(second, labels, math.log2)
        best[a], best[b] = max(best[a], extra), max(best[b], extra)

    def own(name):
        rows = [i for i in range(len(y)) if codes[name][i] is not None]
        labels = [y[i] for i in rows]
        return gain_of([codes[name][i] for i in rows], labels, math.log2) if rows else 0.0

    key = {n: (-round(best[n] / math.log2(math.e), 12), -round(own(n) / math.log2(math.e), 12), n)
           for n in numbers}  # fmt: skip
    return sorted(numbers, key=key.__getitem__)[:10]


OPERATIONS = {
    "{} * {}": lambda a, b: a * b,
    "|{} - {}|": lambda a, b: abs(a - b),
    "{} + {}": lambda a, b: a + b,
    "{} - {}": lambda a, b: a - b,
}


def pair_gain(values, y):
    rows = [i for i, v in enumerate(values) if math.isfinite(v)]
    if len(rows) < 3:
        return None
    x, labels = [values[i] for i in rows], [y[i] for i in rows]
    distinct, best = unique(x), 0.0
    for bins in range(2, min(12, len(distinct)) + 1):
        edges = unique(np.quantile(distinct, [i / bins for i in range(1, bins)]).tolist())
        best = max(best, gain_of([bisect_right(edges, v) for v in x], labels, math.log2))
    return round(best, 12)


def pairs(columns, y, budget):
    """Return the texts of the pairs, best first."""
    scored = []
    for a, b in combinations(ranked_sources(columns, y), 2):
        for text, operation in OPERATIONS.items():
            cells = zip(columns[a], columns[b], strict=True)
            values = [math.nan if absent(v) or absent(w) else operation(v, w) for v, w in cells]
            score = pair_gain(values, y)
            if score is not None:
                scored.append((-score, text.format(a, b)))
    return [text for _, text in sorted(scored)[:budget]]


# 1.8 redundancy


def distinct(values, binary):
    """Return the columns that are no constants, duplicates or complements of earlier ones."""
    kept = []
    for j, column in enumerate(values):
        present = [v for v in column if not absent(v)]
        earlier = [values[i] for i in kept]
        turned = [[1 - v for v in values[i]] for i in kept if binary[i] and binary[j]]
        if len(set(present)) > 1 and not any(same(column, other) for other in earlier + turned):
            kept.append(j)
    return kept


def same(a, b):
    return all((absent(v) and absent(w)) or v == w for v, w in zip(a, b, strict=True))


def independent(values, block):
    """Return the columns that one pass over variance inflation keeps; values (rows, columns)."""
    correlation = np.corrcoef(values, rowvar=False)
    roots, vectors = np.linalg.eigh(correlation)
    floor = max(1e-12, roots.max() * len(roots) * np.finfo(float).eps)
    inflation = np.diag(vectors @ np.diag(1 / np.maximum(roots, floor)) @ vectors.T)
    kept = [j for j in range(len(block)) if block[j] == 0]
    for j in (j for wanted in (1, 2) for j in range(len(block)) if block[j] == wanted):
        nearest = max((correlation[j, i] ** 2 for i in kept), default=0.0)
        if not (inflation[j] > 5 and nearest >= 0.8):
            kept.append(j)
    return sorted(kept)
