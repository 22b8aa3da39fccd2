"""The joint search for two-level splits, where no single split of a leaf helps.

Every column is reduced, within the leaf, to at most seven tests: `code <= edge` at weighted
quantiles, or `code == level` for the commonest levels of a category; missing rows go right. One
joint histogram of two columns then holds the counts of all 49 pairs of their tests.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rpte.kernels.growth import LEVELS, ORDERED, joint_counts
from rpte.losses.binomial import weighted_entropy
from rpte.structure.coded import CodedColumns, Split
from rpte.structure.grower import SourceBudget
from rpte.utils.arrays import Floats, Index, Int32s, Ints, Mask
from rpte.vocabulary.gain import BITS

MOST_TESTS, BEAM = 7, 64
# The search reads at most this many rows of a leaf, evenly spaced; the probe reads all of its own.
SEARCH_ROWS = 4096
_DIGITS = 9  # gains that agree to this many digits are equal


@dataclass(frozen=True, slots=True, eq=False)
class Microtree:
    """A root test and one test for each of its sides; numbers count the chosen columns.

    `gain` is the entropy gain of the four cells on the rows that were searched, in bits.
    """

    gain: float
    columns: tuple[int, int, int]
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Coarse:
    """A leaf's columns reduced to tests: `codes` (k, m) below 8 and `edges`, one per test."""

    codes: Int32s
    edges: tuple[Ints, ...]
    has_test: Mask
    is_category: Mask


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """Which columns may be a root, and which may follow which root."""

    chosen: Ints  # column numbers, (k,)
    roots: Mask  # (k,)
    children: Mask  # by root and child, (k, k)
    budget: SourceBudget  # knows the sources of the tree so far

    def admits(self, columns: tuple[int, ...]) -> bool:
        """Say whether the tree may test all these chosen columns."""
        return bool(self.budget.allows(self.budget.reads[list(columns)].reshape(-1)))


def search(
    columns: CodedColumns, space: SearchSpace, rows: Int32s, y: Floats, weight: Floats, least: float
) -> list[Microtree]:
    """Return the best microtrees of a leaf by entropy gain, at most `BEAM`.

    `rows` (m,) are those of the leaf in the grow part; y, weight (n,); `least` weight of a cell.
    """
    step = -(-len(rows) // SEARCH_ROWS)
    rows = rows[::step]
    coarse = _coarsen(columns, space.chosen, rows, weight)
    target, w = y[rows], weight[rows]
    before = float(weighted_entropy(w.sum(), (w * target).sum())) * BITS
    found = []
    for root in np.flatnonzero(space.roots):
        children = np.flatnonzero(space.children[root])
        if len(children):
            cost = _side_costs(coarse, int(root), children, target, w, least / step)
            found += list(_candidates(coarse, space, int(root), children, cost))
    # stable: among equals the order of the search, lowest column and test first
    found.sort(key=lambda candidate: round(candidate[0], _DIGITS))
    return [
        Microtree(
            (before - cost) / w.sum(),
            (tests[0][0], tests[1][0], tests[2][0]),
            tuple(_split(columns, space, coarse, test) for test in tests),
        )
        for cost, tests in found[:BEAM]
    ]


# A test is (number of the chosen column, number of its edge).
Test = tuple[int, int]


def _coarsen(columns: CodedColumns, chosen: Ints, rows: Int32s, weight: Floats) -> _Coarse:
    codes = np.full((len(chosen), len(rows)), MOST_TESTS, dtype=np.int32)
    edges = []
    for k, j in enumerate(chosen):
        own, n_bins = columns.codes[j, rows], int(columns.n_bins[j])
        counts: Floats = np.bincount(own, weight[rows], n_bins + 1)[:n_bins].astype(np.float64)
        if columns.is_category[j]:
            edge = _common_levels(counts)
            place = np.full(n_bins + 1, MOST_TESTS, dtype=np.int32)
            place[edge] = np.arange(len(edge))
        else:
            edge = _quantile_edges(counts)
            # the code of missing lies beyond every edge: it goes right
            place = np.searchsorted(edge, np.arange(n_bins + 1)).astype(np.int32)
        codes[k] = place[own]
        edges.append(edge)
    has_test = np.array([np.arange(MOST_TESTS) < len(edge) for edge in edges])
    return _Coarse(codes, tuple(edges), has_test, columns.is_category[chosen])


def _common_levels(counts: Floats) -> Ints:
    """Return the commonest levels, ties by code; of two levels one test is enough."""
    present = np.flatnonzero(counts > 0)
    ordered = present[np.argsort(-counts[present], kind="stable")]
    return ordered[: 1 if len(present) == 2 else MOST_TESTS].astype(np.int64)


def _quantile_edges(counts: Floats) -> Ints:
    """Return the last bins on the left: all of them, or those at the weighted eighths."""
    present = np.flatnonzero(counts > 0)
    if len(present) <= MOST_TESTS + 1:
        return present[:-1].astype(np.int64)
    fraction = np.cumsum(counts[present]) / counts.sum()
    at = np.searchsorted(fraction, np.arange(1, MOST_TESTS + 1) / (MOST_TESTS + 1))
    return np.unique(present[np.minimum(at, len(present) - 2)]).astype(np.int64)


def _side_costs(
    coarse: _Coarse, root: int, children: Index, y: Floats, w: Floats, least: float
) -> Floats:
    """Return the impurity left on each side of each root test by each child test.

    The result is (2, root tests, children, child tests), inf where a cell is too light.
    """
    size = MOST_TESTS + 1
    joint = np.zeros((len(children), size, size, 2))
    joint_counts(coarse.codes, root, children.astype(np.int64), w, w * y, joint)
    cells = _left_sums(joint, np.full(len(children), coarse.is_category[root]), axis=1)
    both = _left_sums(cells, coarse.is_category[children], axis=2)[:, :-1, :-1]
    root_left = cells.sum(axis=2)[:, :-1, None]
    child_left = _left_sums(joint, coarse.is_category[children], axis=2).sum(axis=1)[:, None, :-1]
    total = joint.sum(axis=(1, 2))[:, None, None]
    sides = ((both, root_left - both), (child_left - both, total - root_left - child_left + both))
    valid = coarse.has_test[root][None, :, None] & coarse.has_test[children][:, None, :]
    cost = [np.where(valid, _pair_cost(first, second, least), np.inf) for first, second in sides]
    return np.stack(cost).transpose(0, 2, 1, 3)


def _left_sums(joint: Floats, is_category: Mask, axis: int) -> Floats:
    """Sum the codes that each test sends left: all up to the edge, or the one level."""
    return np.where(is_category[:, None, None, None], joint, np.cumsum(joint, axis=axis))


def _pair_cost(first: Floats, second: Floats, least: float) -> Floats:
    cells = np.maximum([first, second], 0.0)
    cost = weighted_entropy(cells[..., 0], cells[..., 1]).sum(axis=0) * BITS
    light = np.minimum(first[..., 0], second[..., 0]) < least
    return np.where(light, np.inf, cost)


def _candidates(
    coarse: _Coarse, space: SearchSpace, root: int, children: Index, cost: Floats
) -> Iterator[tuple[float, tuple[Test, Test, Test]]]:
    """Yield per root test the best child shared by both sides, and the best one for each side."""
    for edge in np.flatnonzero(coarse.has_test[root]):
        at = (root, int(edge))
        left, right = cost[0, edge], cost[1, edge]
        shared, both = _least(left + right, children)
        if np.isfinite(shared):
            yield shared, (at, both, both)
        (low, first), (high, second) = _least(left, children), _least(right, children)
        better = round(low + high, _DIGITS) < round(shared, _DIGITS)
        if better and space.admits((root, first[0], second[0])):
            yield low + high, (at, first, second)


def _least(cost: Floats, children: Index) -> tuple[float, Test]:
    """Return the least of (children, tests) and where it is, among equals the first."""
    flat = np.round(cost.ravel(), _DIGITS)
    child, edge = divmod(int(np.argmin(flat)), cost.shape[1])
    return float(flat.min()), (int(children[child]), edge)


def _split(columns: CodedColumns, space: SearchSpace, coarse: _Coarse, test: Test) -> Split:
    k, number = test
    j, edge = int(space.chosen[k]), int(coarse.edges[k][number])
    n_bins = int(columns.n_bins[j])
    if coarse.is_category[k]:
        rest = tuple(level for level in range(n_bins) if level != edge)
        return Split(j, LEVELS, n_bins, False, 0.0, left_levels=(edge,), right_levels=rest)
    return Split(j, ORDERED, n_bins, False, 0.0, bin=edge)
