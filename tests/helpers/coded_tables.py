"""Tables in code space for the tests, and a brute-force search for splits."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from rpte.published.label_trees import LabelGrower
from rpte.structure.boosting import NewtonGrower
from rpte.structure.coded import CodedColumns, CodeTree


def coded(codes, n_bins=None, category=None, sources=None, root_only=None, dtype=np.uint8):
    """Build `CodedColumns`; by default ordered, no missing, one source per column."""
    codes = np.ascontiguousarray(codes, dtype=dtype)
    n = len(codes)
    if n_bins is None:
        n_bins = codes.max(axis=1).astype(np.int64) + 1
    return CodedColumns(
        codes,
        np.asarray(n_bins, dtype=np.int64),
        np.zeros(n, bool) if category is None else np.asarray(category, bool),
        tuple((j,) for j in range(n)) if sources is None else tuple(map(tuple, sources)),
        np.zeros(n, bool) if root_only is None else np.asarray(root_only, bool),
    )


def one_bin_per_value(X):
    """Code a numeric table exactly, as uint16."""
    return coded([np.unique(x, return_inverse=True)[1] for x in X.T], dtype=np.uint16)


def random_table(seed, n, missing=True, categories=True, bins=4, n_columns=4):
    """Mixed columns with missing values, labels that depend on them, and integer weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, bins + (1 if missing else 0), (n_columns, n))
    category = (np.arange(n_columns) % 2 == 1) & categories
    chance = 0.15 + 0.7 * ((codes[0] > 1) ^ (codes[1] % 3 == 1))
    y = (rng.random(n) < chance).astype(float)
    y[:2] = 0.0, 1.0
    weight = rng.integers(1, 4, n).astype(float)
    return coded(codes, n_bins=np.full(n_columns, bins), category=category), y, weight


def candidate_masks(code, n_bins, category, subsets):
    """All left sides (m, rows) a column allows in a node, missing on either side."""
    seen = np.unique(code[code < n_bins])
    missing = code == n_bins
    if not category:
        masks = [code <= b for b in seen[:-1]]
    elif subsets:
        sets = [s for k in range(1, len(seen)) for s in combinations(seen, k)]
        masks = [np.isin(code, s) for s in sets]
    else:
        masks = []
    masks = [m & ~missing for m in masks]
    if missing.any():
        masks = [m | missing for m in masks] + masks
        masks += [missing] if len(seen) else []
    return np.array(masks, dtype=bool).reshape(len(masks), len(code))


def prefix_masks(code, n_bins, g, h, ridge):
    """The left sides of a category: prefixes of the levels sorted by G / (H + ridge)."""
    seen = np.unique(code[code < n_bins])
    mean = [round(g[code == s].sum() / (h[code == s].sum() + ridge), 10) for s in seen]
    ordered = [s for _, s in sorted(zip(mean, seen, strict=True))]
    masks = [np.isin(code, ordered[:k]) for k in range(1, len(ordered))]
    missing = code == n_bins
    both = [m | missing for m in masks] if missing.any() else []
    return np.array(both + masks, dtype=bool).reshape(-1, len(code))


def mask_gains(masks, g, h, w, ridge, least):
    """Gains of left sides, -inf where a child is too light."""
    if not len(masks):
        return np.empty(0)
    left = [masks @ a for a in (g, h, w)]
    right = [a.sum() - x for a, x in zip((g, h, w), left, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = left[0] ** 2 / (left[1] + ridge) + right[0] ** 2 / (right[1] + ridge)
    gain = score - g.sum() ** 2 / (h.sum() + ridge)
    return np.where((left[2] >= least) & (right[2] >= least), gain, -np.inf)


def all_splits(columns, rows, g, h, w, ridge, least, subsets=True):
    """Every split of a node by brute force: gains (m,) and left sides (m, rows)."""
    masks = []
    for j in range(columns.n_columns):
        code, n_bins = columns.codes[j, rows], columns.n_bins[j]
        category = columns.is_category[j]
        masks.append(candidate_masks(code, n_bins, category, subsets))
        if category and not subsets:
            masks.append(prefix_masks(code, n_bins, g[rows], h[rows], ridge))
    stacked = np.concatenate(masks)
    return mask_gains(stacked, g[rows], h[rows], w[rows], ridge, least), stacked


def node_rows(tree: CodeTree, codes):
    """Rows of every node."""
    rows = {0: np.arange(codes.shape[1])}
    for node, split in enumerate(tree.splits):
        if split is not None:
            here = rows[node]
            left = split.table()[codes[split.column, here]]
            rows[int(tree.left[node])] = here[left]
            rows[int(tree.right[node])] = here[~left]
    return rows


def same_tree(first: CodeTree, second: CodeTree, exact=True) -> bool:
    """Whether two trees agree; if not exact, gains only up to rounding."""
    places = all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("left", "right", "leaf")
    )
    if exact or not places:
        return places and first.splits == second.splits
    pairs = [(a, b) for a, b in zip(first.splits, second.splits, strict=True) if a is not None]
    return all(
        a == replace(b, gain=a.gain) and np.isclose(a.gain, b.gain, rtol=1e-9, atol=1e-9)
        for a, b in pairs
    )


def depth_of(tree: CodeTree) -> int:
    """The most tests on the way to a leaf."""
    depth = [0] * len(tree.splits)
    for node in np.flatnonzero(tree.left >= 0):
        depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1
    return max(depth)


def grower_of(criterion, columns, y, weight, options):
    """Return what grows trees by a criterion: "label" or "newton"."""
    kind = LabelGrower if criterion == "label" else NewtonGrower
    return kind(columns, y, weight, options)
