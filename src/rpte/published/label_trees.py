"""Label trees from counts: the same trees as `rpte.structure.grower.grow`, in far fewer steps.

Splits on labels (g = w y, h = w) ask for sums of whole numbers, which are exact in any order. So
the counts of the root serve every round, a child's are its parent's less its sibling's, and a
column with very many values is first counted in blocks of them; `rpte.kernels.published` says
which blocks, and which columns, need a closer look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rpte.kernels.growth import BIN, GAIN, N_FOUND, NEXT_BIN, SCALE
from rpte.kernels.published import HALF, LOW, SLACK, UNKNOWN, count_blocks, scan_blocks, settle_best
from rpte.losses import Residuals
from rpte.structure.boosting import Grower
from rpte.structure.coded import CodedColumns, CodeTree
from rpte.structure.grower import (
    GrowthLimits,
    GrowthTask,
    Node,
    OpenLeaf,
    best_first,
    by_chunks,
    may_split,
    stack,
)
from rpte.utils.arrays import Floats, Index, Int32s, Ints, Mask

MOST_BLOCKS, FEWEST_BLOCKS = 1024, 16
MOST_WEIGHT = 2**31  # of all rows; two counts are packed in one integer


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What is known of the best split of each column in a node."""

    found: Floats  # (k, 5)
    bound: Floats  # what no split of a column exceeds, (k,)
    final: Mask  # where `found` is exact, (k,)

    def of(self, which: Ints) -> Scan:
        """Return what is known of some columns."""
        return Scan(self.found[which], self.bound[which], self.final[which])

    def learn(self, which: Ints, more: Scan) -> None:
        """Take over what is known of some columns."""
        self.found[which], self.final[which] = more.found, more.final


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts:
    """What all label trees of a table have in common."""

    columns: CodedColumns
    stats: Floats  # w y, w, w, (n, 3)
    counts: Ints  # what each row counts, see `rpte.kernels.published`, (n,)
    starts: Ints  # where the blocks of each column begin
    shifts: Ints  # low bits of a code that its block lacks
    fine: Ints  # memory for the counts of one column
    root: Ints  # counts of all rows
    # What is known of their splits, by the least weight of a leaf: every tree begins there.
    roots: dict[float, Scan] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: CodedColumns, y: Floats, weight: Floats) -> LabelCounts | None:
        """Count a table; None for fractional weights, categories, missing codes, or no columns."""
        n_bins = columns.n_bins
        whole = bool((weight == np.rint(weight)).all()) and float(weight.sum()) < MOST_WEIGHT
        if not whole or columns.is_category.any() or not columns.n_columns:
            return None
        if (columns.codes.max(axis=1, initial=0) >= n_bins).any():
            return None
        most = 2 ** round(np.log2(np.clip(2 * np.sqrt(len(y)), FEWEST_BLOCKS, MOST_BLOCKS)))
        shifts = np.ceil(np.log2(np.maximum(n_bins / most, 1.0))).astype(np.int64)
        blocks = ((n_bins - 1) >> shifts) + 1
        counts = ((weight * y).astype(np.int64) << HALF) + weight.astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(blocks)])
        fine = np.empty(int((blocks << shifts).max()), np.int64)
        stats = stack(weight * y, weight, weight)
        table = cls(columns, stats, counts, starts, shifts, fine, np.zeros(0, np.int64))
        rows = np.flatnonzero(weight > 0).astype(np.int32)
        return replace(table, root=table.blocks(np.arange(columns.n_columns), rows))

    def blocks(self, chosen: Ints, rows: Int32s) -> Ints:
        """Count some rows per block of the chosen columns; 0 in those of others."""
        out = np.zeros(int(self.starts[-1]), np.int64)
        codes, starts, shifts = self.columns.codes, self.starts, self.shifts
        counts = self.counts.take(rows)

        def run(start: int, stop: int) -> None:
            count_blocks(codes, chosen[start:stop], starts, shifts, rows, counts, out)

        by_chunks(run, len(chosen), len(rows))
        return out


@dataclass(frozen=True, slots=True, eq=False)
class CountedLeaf(OpenLeaf):
    """A leaf whose columns are searched code by code only when they may be the best.

    `blocks` are its counts; `scan` is what is known so far, with the same `found`.
    """

    table: LabelCounts
    chosen: Ints
    counts: Ints
    blocks: Ints
    scan: Scan

    def best(self, admitted: Mask) -> int | None:
        """Return which admitted column splits best, of equals the first."""
        waiting = np.flatnonzero(admitted & ~self.scan.final)
        if len(waiting):
            self._search(waiting, admitted & self.scan.final)
        k = OpenLeaf.best(self, admitted & self.scan.final)
        if k is not None and self.found[k, BIN] == UNKNOWN:
            codes = self.table.columns.codes[self.chosen[k]].take(self.rows)
            self.found[k, BIN] = codes.max(where=codes < self.found[k, NEXT_BIN], initial=0)
        return k

    def most(self, admitted: Mask) -> float:
        """Return a gain that no split on an admitted column exceeds."""
        gain = np.where(self.scan.final, self.found[:, GAIN], self.scan.bound)
        top = float(gain.max(where=admitted, initial=-np.inf))
        parent = float(self.total[0] ** 2 / self.total[1])
        return top + SLACK * (float(self.rule[SCALE]) + parent + max(top, 0.0))

    def _search(self, waiting: Index, known: Mask) -> None:
        """Search those of the `waiting` columns that may be better than the `known` ones."""
        table, node = self.table, (self.rows, self.counts, self.total, self.rule)
        counted = table.columns.codes, table.starts, table.shifts, table.fine
        order = waiting[np.argsort(-self.scan.bound[waiting], kind="stable")]
        out = self.found, self.scan.bound, self.scan.final
        top = float(self.found[known, GAIN].max(initial=-np.inf))
        settle_best(counted, self.chosen, order, self.blocks, node, out, top)


def grow_counted(table: LabelCounts, eligible: Index, limits: GrowthLimits) -> CodeTree | None:
    """Grow one label tree on the eligible columns; None if no split is valid."""
    chosen = eligible[~table.columns.root_only[eligible]]
    task = GrowthTask(table.columns, chosen, table.stats, limits)

    known = _root(table, limits)
    roots: list[CountedLeaf] = []

    def opener(parent: OpenLeaf | None, nodes: Sequence[Node], _: Mask) -> list[OpenLeaf]:
        if isinstance(parent, CountedLeaf):
            blocks = _siblings(task, parent, nodes)
            leaves = [_open(task, table, *pair) for pair in zip(nodes, blocks, strict=True)]
            return [leaf for leaf in leaves if leaf is not None]
        leaf = _open(task, table, nodes[0], table.root, known.of(chosen))
        roots.extend([] if leaf is None else [leaf])
        return [*roots]

    tree = best_first(task, opener)
    for leaf in roots:
        known.learn(chosen, leaf.scan)
    return tree


def _root(table: LabelCounts, limits: GrowthLimits) -> Scan:
    """Return what is known of splits of all rows, whatever the tree."""
    if limits.least not in table.roots:
        total = _total(table.counts)
        table.roots[limits.least] = _scan(
            table, np.arange(table.columns.n_columns), table.root, total, limits
        )
    return table.roots[limits.least]


def _siblings(task: GrowthTask, parent: CountedLeaf, nodes: Sequence[Node]) -> list[Ints]:
    """Count the smaller of two children; the other has the rest of their parent."""
    small = int(np.argmin([len(rows) for _, rows, _ in nodes]))
    counted = parent.table.blocks(task.chosen, nodes[small][1])
    both = [counted, parent.blocks - counted]
    return both if small == 0 else both[::-1]


def _open(
    task: GrowthTask, table: LabelCounts, at: Node, blocks: Ints, scan: Scan | None = None
) -> CountedLeaf | None:
    """Bound the best split of every chosen column in a node; None if it must stay a leaf.

    `scan` is what is known of it already.
    """
    node, rows, depth = at
    counts = table.counts.take(rows)
    total = _total(counts)
    if not may_split(task.limits, total, depth):
        return None
    if scan is None:
        scan = _scan(table, task.chosen, blocks, total, task.limits)
    rule = _rule(task.limits, total)
    return CountedLeaf(
        node, rows, total, rule, scan.found, table, task.chosen, counts, blocks, scan
    )


def _total(counts: Ints) -> Floats:
    w = float((counts & LOW).sum())
    return np.array([float((counts >> HALF).sum()), w, w])


def _rule(limits: GrowthLimits, total: Floats) -> Floats:
    return np.array([limits.ridge, limits.least, total[0]])


def _scan(
    table: LabelCounts, chosen: Ints, blocks: Ints, total: Floats, limits: GrowthLimits
) -> Scan:
    k, rule = len(chosen), _rule(limits, total)
    out = np.empty((k, N_FOUND)), np.empty(k), np.empty(k, bool)
    scan_blocks(blocks, chosen, table.starts, table.shifts, total, rule, out)
    return Scan(*out)


@dataclass(frozen=True, slots=True, eq=False)
class LabelGrower(Grower):
    """Splits on the Gini impurity of y: what the paper's target z = 1[r > 0] amounts to."""

    counts: LabelCounts | None = field(init=False)

    def __post_init__(self) -> None:
        counted = not self.settings.lookahead
        counts = LabelCounts.of(self.columns, self.y, self.weight) if counted else None
        object.__setattr__(self, "counts", counts)

    def grow(self, eligible: Index, residuals: Residuals) -> CodeTree | None:
        """Grow a tree on the eligible columns, whatever the residuals; None without a split."""
        limits = replace(self.settings.growth(), ridge=0.0, zero_gain=True)
        if self.counts is not None:
            return grow_counted(self.counts, eligible, limits)
        return self.tree(eligible, self.weight * self.y, self.weight, limits)
