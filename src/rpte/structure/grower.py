"""Growing one tree, best leaf first (Algorithm 1, "fit a tree h_m using the columns in E").

Every frontier leaf keeps the best split of *each* column, because an expansion elsewhere may use
up the tree's sources: the column of a leaf is decided when the leaf is split.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rpte.kernels.class_growth import best_class_splits, class_histogram, take_class
from rpte.kernels.growth import (
    BIN,
    GAIN,
    IS_MISSING,
    LEVELS,
    MISSING_LEFT,
    N_FOUND,
    NEXT_BIN,
    ORDERED,
    TEST,
    TIE,
    best_splits,
    histogram,
    level_order,
)
from rpte.rows.threads import has_threads, thread_map
from rpte.structure.coded import CodedColumns, CodeTree, Split, TreeBuilder
from rpte.table.table import WEIGHT_SLACK
from rpte.utils.arrays import Floats, Index, Int32s, Ints, Mask

# A thread takes this many columns at a time; below this many cells threads cost more than they do.
_CHUNK, _WORTH_THREADS = 8, 100_000


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """Bounds of one tree.

    `zero_gain` also splits impure nodes without gain, as scikit-learn does (g = w y, h = w).
    """

    max_leaves: int  # L_max
    max_depth: int  # D_max
    min_leaf_weight: float
    ridge: float  # added to every sum of hessians
    zero_gain: bool = False
    max_sources: int | None = None
    together: tuple[frozenset[int], ...] | None = None  # two or more sources are inside one of them

    @property
    def least(self) -> float:
        """Least weight of a leaf, less what sums lose by rounding."""
        return self.min_leaf_weight * (1 - WEIGHT_SLACK)


@dataclass(frozen=True, slots=True, eq=False)
class GrowthTask:
    """What stays the same while one tree grows.

    `chosen` is (k,), `stats` (n, 3) is g, h, w; of K classes (n, 2 K + 1), gradients, hessians, w.
    """

    columns: CodedColumns
    chosen: Ints
    stats: Floats
    limits: GrowthLimits


@dataclass(frozen=True, slots=True, eq=False)
class OpenLeaf:
    """A leaf that may be split: its `rows` and the best split of each chosen column.

    `total` (3,) is G, H, W, of K classes (2 K + 1,); `rule` (3,) the limits as the kernels need
    them; `found` (k, 5).
    """

    node: int
    rows: Int32s
    total: Floats
    rule: Floats
    found: Floats

    def best(self, admitted: Mask) -> int | None:
        """Return which admitted column splits best, of equals the first."""
        gain = np.where(admitted, self.found[:, GAIN], -np.inf)
        top = gain.max(initial=-np.inf)
        if top == -np.inf:
            return None
        return int(np.argmax(gain >= top - _tie(self.total, self.rule, top)))

    def most(self, admitted: Mask) -> float:
        """Return a gain that no split on an admitted column exceeds."""
        return float(self.found[:, GAIN].max(where=admitted, initial=-np.inf))


# A node with its rows and its depth.
Node = tuple[int, Int32s, int]
Opener = Callable[[OpenLeaf | None, Sequence[Node], Mask], list[OpenLeaf]]


class SourceBudget:
    """The sources a growing tree has used, and which columns it may still test."""

    def __init__(self, columns: CodedColumns, chosen: Ints, limits: GrowthLimits) -> None:
        sources = [columns.sources[j] for j in chosen]
        self.reads = np.array([(one[0], one[-1]) for one in sources], np.intp).reshape(-1, 2)
        self.used = np.zeros(self.reads.max(initial=-1) + 1, np.bool_)
        self.most = len(self.used) if limits.max_sources is None else limits.max_sources
        self.sets: list[Mask] | None = None
        if limits.together is not None:
            places = np.arange(len(self.used))
            self.sets = [np.isin(places, list(allowed)) for allowed in limits.together]

    def admits(self) -> Mask:
        """Return (k,) whether the tree may test each chosen column."""
        return self.allows(self.reads)

    def allows(self, sources: Index) -> Mask:
        """Return whether the tree may read sources (..., m), some perhaps equal, beside its own.

        All of them together must be few enough, and inside one set.
        """
        new = ~self.used[sources]
        for i in range(1, sources.shape[-1]):
            new[..., i] &= (sources[..., i, None] != sources[..., :i]).all(axis=-1)
        size = self.used.sum() + new.sum(axis=-1)
        fits = np.asarray(size <= self.most)
        if self.sets is None:
            return fits
        inside = size <= 1
        for allowed in self.sets:
            if allowed[self.used].all():
                inside |= allowed[sources].all(axis=-1)
        return np.asarray(fits & inside)

    def take(self, k: int) -> None:
        """Note that the tree tests chosen column k."""
        self.used[self.reads[k]] = True


def grow(
    columns: CodedColumns,
    eligible: Index,
    gradient: Floats,
    hessian: Floats,
    weight: Floats,
    limits: GrowthLimits,
) -> CodeTree | None:
    """Grow one tree on the eligible columns, without `root_only` ones; None if no split is valid.

    `gradient`, `hessian`, `weight` (n,) are the statistics of the gain, see `rpte.kernels.growth`;
    of several classes the first two are (K, n), and gains are summed over classes.
    """
    chosen = eligible[~columns.root_only[eligible]]
    task = GrowthTask(columns, chosen, stack(gradient, hessian, weight), limits)

    def opener(parent: OpenLeaf | None, nodes: Sequence[Node], admitted: Mask) -> list[OpenLeaf]:
        leaves = [open_leaf(task, *node, admitted) for node in nodes]
        return [leaf for leaf in leaves if leaf is not None]

    return best_first(task, opener)


def best_first(task: GrowthTask, opener: Opener) -> CodeTree | None:
    """Split the leaf with the best split, again and again; None if no split is valid.

    `opener` returns those of a split leaf's children (at first, the root) that may be split. It is
    told which columns (k,) the tree may still test: the others it will never be allowed again.
    """
    weight, limits = task.stats[:, -1], task.limits
    budget = SourceBudget(task.columns, task.chosen, limits)
    rows = np.flatnonzero(weight > 0).astype(np.int32)
    tree = TreeBuilder()
    admitted = budget.admits()
    frontier = opener(None, [(0, rows, 0)], admitted)
    scale = _size(task.stats)
    while tree.n_leaves < limits.max_leaves:
        choice = _next(frontier, admitted, scale)
        if choice is None:
            break
        leaf, k = choice
        frontier.remove(leaf)
        children = divide(task, tree, leaf.node, leaf.rows, read_split(task, leaf, k))
        budget.take(k)
        admitted = budget.admits()
        if tree.n_leaves < limits.max_leaves:
            frontier += opener(leaf, children, admitted)
    return tree.finish()


def stack(gradient: Floats, hessian: Floats, weight: Floats) -> Floats:
    """Return g, h, w side by side: (n, 3), or (n, 2 K + 1), for kernels that read row by row."""
    return np.ascontiguousarray(np.vstack([gradient, hessian, weight]).T, dtype=np.float64)


def _size(stats: Floats) -> float:
    """Return the sum of |g| over rows and classes."""
    return float(np.abs(stats[:, : stats.shape[1] // 2]).ravel().sum())


def divide(
    task: GrowthTask, tree: TreeBuilder, node: int, rows: Int32s, split: Split
) -> list[Node]:
    """Enter a split in the tree and return its children, left and right, rows in their order."""
    goes_left = split.table().take(task.columns.codes[split.column].take(rows))
    tree.split(node, split)
    sides = np.compress(goes_left, rows), np.compress(~goes_left, rows)  # faster than masks
    children = zip(tree.children[node], sides, strict=True)
    return [(child, inside, tree.depth[child]) for child, inside in children]


def open_leaf(
    task: GrowthTask, node: int, rows: Int32s, depth: int, admitted: Mask | None = None
) -> OpenLeaf | None:
    """Find the best split of every chosen column in a node; None if it must stay a leaf.

    Columns that are not `admitted` (k,) are left out.
    """
    columns, limits, stats = task.columns, task.limits, task.stats[rows]
    total = stats.sum(axis=0)
    if not may_split(limits, total, depth):
        return None
    rule = np.array([limits.ridge, limits.least, _size(stats)])
    every = admitted is None or bool(admitted.all())
    chosen = task.chosen if every else task.chosen[admitted]
    found = np.empty((len(chosen), N_FOUND))
    coded = columns.codes, columns.n_bins, columns.is_category
    search = best_splits if len(total) == 3 else best_class_splits

    def run(start: int, stop: int) -> None:
        search(coded, chosen[start:stop], (rows, stats, total, rule), found[start:stop])

    by_chunks(run, len(chosen), len(rows))
    gain = found[:, GAIN]
    tie = _tie(total, rule, gain.max(initial=0.0))
    gain[gain < -tie if limits.zero_gain else gain <= tie] = -np.inf
    if not every:
        some, found = found, np.full((len(task.chosen), N_FOUND), -np.inf)
        found[admitted] = some
    return OpenLeaf(node, rows, total, rule, found)


def may_split(limits: GrowthLimits, total: Floats, depth: int) -> bool:
    """Tell whether a node with the sums G, H, W may be split at all; `zero_gain` has one G."""
    pure = limits.zero_gain and (total[0] <= 0.0 or total[0] >= total[1])
    return depth < limits.max_depth and bool(total[-1] >= 2 * limits.least) and not pure


def by_chunks(run: Callable[[int, int], None], n_columns: int, n_rows: int) -> None:
    """Run over columns [start, stop), in several threads where that is worth it."""
    if not has_threads() or n_rows * n_columns < _WORTH_THREADS:
        run(0, n_columns)
        return
    starts = range(0, n_columns, _CHUNK)
    for _ in thread_map(run, starts, [start + _CHUNK for start in starts]):
        pass  # the loop re-raises what a thread raised


def _tie(total: Floats, rule: Floats, gain: float) -> float:
    """Return the difference below which gains in this node are equal, as in the kernel."""
    classes = len(total) // 2
    gradient, hessian = total[:classes], total[classes : 2 * classes]
    parent = (gradient * gradient / (hessian + rule[0])).sum()
    return float(TIE * (rule[2] + parent + max(gain, 0.0)))


def _next(
    frontier: Sequence[OpenLeaf], admitted: Mask, scale: float
) -> tuple[OpenLeaf, int] | None:
    """Return the leaf to split next and its column; of equal gains the earlier created leaf.

    A leaf that cannot gain as much as another is skipped.
    """
    bounds = [leaf.most(admitted) for leaf in frontier]
    found: list[tuple[OpenLeaf, int]] = []
    least = -np.inf
    for i in np.argsort(np.negative(bounds), kind="stable"):
        if bounds[i] < least:
            break
        k = frontier[i].best(admitted)
        if k is not None:
            gain = float(frontier[i].found[k, GAIN])
            least = max(least, gain - TIE * (scale + abs(gain)))
            found.append((frontier[i], k))
    if not found:
        return None
    gains = np.array([leaf.found[k, GAIN] for leaf, k in found])
    top = gains.max()
    equal = np.flatnonzero(gains >= top - TIE * (scale + abs(top)))
    return min((found[i] for i in equal), key=lambda choice: choice[0].node)


def read_split(task: GrowthTask, leaf: OpenLeaf, k: int) -> Split:
    """Turn a kernel's finding for chosen column k into a `Split`."""
    found, column = leaf.found[k], int(task.chosen[k])
    test = int(found[TEST])
    levels = _prefix(task, leaf, column, found) if test == LEVELS else ((), ())
    return Split(
        column=column,
        test=test,
        missing_code=int(task.columns.n_bins[column]),
        missing_left=bool(found[MISSING_LEFT]) or test == IS_MISSING,
        gain=max(float(found[GAIN]), 0.0),
        bin=int(found[BIN]) if test == ORDERED else -1,
        next_bin=int(found[NEXT_BIN]) if test == ORDERED else -1,
        left_levels=levels[0],
        right_levels=levels[1],
    )


def _prefix(
    task: GrowthTask, leaf: OpenLeaf, column: int, found: Floats
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Recover the levels that go left and right, ascending, from the length of the prefix.

    Of several classes it is in the order of one of them.
    """
    n_bins, length = int(task.columns.n_bins[column]), int(found[BIN])
    stats, total, hist = task.stats[leaf.rows], leaf.total, np.empty((n_bins + 1, 3))
    if len(total) == 3:
        histogram(task.columns.codes[column], leaf.rows, stats, hist)
    else:
        k, all_classes = int(found[NEXT_BIN]), np.empty((n_bins + 1, len(total)))
        class_histogram(task.columns.codes[column], leaf.rows, stats, all_classes)
        take_class(all_classes, k, hist)
        total = total[[k, len(total) // 2 + k, -1]]
    order = level_order(hist, n_bins, total, leaf.rule).tolist()
    return tuple(sorted(order[:length])), tuple(sorted(order[length:]))
