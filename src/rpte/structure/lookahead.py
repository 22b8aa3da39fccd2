"""Bounded lookahead: two-level splits where no single split helps, as in parities.

After the published implementation (hugiml-core), simplified:

* Every fourth row of each class, by position, is the probe part; splits are found on the others,
  the grow part, and confirmed on the probe, which took no part in choosing them.
* A leaf's best single split (by the gain of the criterion) is *viable* if its probe gain (entropy
  of y, in bits) times the leaf's fraction of the probe is at least 0.01, and significant. If it is
  viable and its probe gain is at least 0.1 bits, it is taken (the reference has 0.02, which lets a
  chance split of a parity stand in the way of the pair that solves it).
* Otherwise the leaf has stalled, and `rpte.structure.microtrees` proposes the 64 best two-level
  splits by grow gain. One is confirmed if on the probe its four cells gain at least 0.05 bits, at
  least 0.03 more than its root alone, each cell weighs at least 2, and both gains are significant.
  The largest probe gain wins, also against a viable single split. If there is none, the leaf is
  closed. (The reference closes a leaf whose single split has a large but insignificant probe gain
  without this search.)
* Significant: G^2 = 2 n_probe IG ln 2 against chi-square, at 0.05 divided by the number of
  candidates that reached the probe. There is no third level and no sampling of pairs.

Leaves are split in the order of probe gain times this fraction. Once a split is chosen, its bins,
levels and gain are those of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from rpte.kernels.growth import IS_MISSING, LEVELS, ORDERED
from rpte.structure.coded import CodedColumns, CodeTree, Split, TreeBuilder
from rpte.structure.grower import (
    GrowthLimits,
    GrowthTask,
    Node,
    SourceBudget,
    divide,
    open_leaf,
    read_split,
    stack,
)
from rpte.structure.microtrees import Microtree, SearchSpace, search
from rpte.utils.arrays import Floats, Index, Int32s, Ints, Mask
from rpte.vocabulary.gain import BITS, information_gain

_STALLED, _WORTH = 0.1, 0.01
_CELLS_GAIN, _INCREMENT, _CELL_WEIGHT = 0.05, 0.03, 2.0
_ALPHA, _PROBE_EVERY = 0.05, 4


@dataclass(frozen=True, slots=True, eq=False)
class _Proposal:
    """What may be done to a leaf: one split, or a root and its two sides; `ks` count `chosen`."""

    leaf: Node
    splits: tuple[Split, ...]
    ks: tuple[int, ...]
    worth: float


class _Lookahead:
    """One tree while it grows; the two tasks differ in the columns: `chosen` has the roots too."""

    def __init__(self, task: GrowthTask, chosen: Ints, y: Floats) -> None:
        self.task = task
        self.chosen = chosen
        self.y = y
        self.weight = task.stats[:, 2]
        self.rows = np.flatnonzero(self.weight > 0).astype(np.int32)
        self.probe = np.zeros(len(y), dtype=np.bool_)
        self.probe[self.rows] = probe_rows(y[self.rows])
        self.probe_weight = float(self.weight[self.probe].sum())
        self.single = np.flatnonzero(~task.columns.root_only[chosen])
        self.budget = SourceBudget(task.columns, chosen, task.limits)
        reads = self.budget.reads
        self.overlap = (reads[:, None, :, None] == reads[None, :, None, :]).any(axis=(2, 3))
        self.tree = TreeBuilder()

    def grow(self) -> CodeTree | None:
        """Split leaves, best proposal first, until none is left."""
        frontier = self.propose_all([(0, self.rows, 0)])
        while frontier:
            best = max(frontier, key=lambda p: (round(p.worth, 12), -p.leaf[0]))
            frontier.remove(best)
            # others may have used up sources or leaves since this was proposed
            fits = self.space().admits(best.ks) and len(best.splits) <= self.free_leaves()
            frontier += self.propose_all(self.enter(best) if fits else [best.leaf])
        return self.tree.finish()

    def free_leaves(self) -> int:
        return self.task.limits.max_leaves - self.tree.n_leaves

    def space(self) -> SearchSpace:
        """Return which columns a microtree may have, given the sources used so far."""
        budget = self.budget
        admitted = budget.admits()
        child = np.zeros(len(self.chosen), dtype=np.bool_)
        child[self.single] = admitted[self.single]
        pairs = np.indices(self.overlap.shape).transpose(1, 2, 0)
        both = budget.reads[pairs].reshape(*self.overlap.shape, 4)
        children = ~self.overlap & child & budget.allows(both)
        return SearchSpace(self.chosen, admitted, children, budget)

    def propose_all(self, leaves: Sequence[Node]) -> list[_Proposal]:
        return [p for leaf in leaves if (p := self.propose(leaf)) is not None]

    def propose(self, leaf: Node) -> _Proposal | None:
        """Return the best that may be done to a leaf, or None to close it."""
        _, rows, depth = leaf
        at_probe = self.probe[rows]
        grown, probe = rows[~at_probe], rows[at_probe]
        depth_left = self.task.limits.max_depth - depth
        mixed = _mixed(self.y[grown]) and _mixed(self.y[probe])
        if depth_left < 1 or self.free_leaves() < 1 or not mixed:
            return None
        single = self.single_split(leaf, grown, probe)
        fraction = float(self.weight[probe].sum()) / self.probe_weight
        if single is not None and single.worth >= _STALLED * fraction:
            return single
        if depth_left < 2 or self.free_leaves() < 3:
            return single
        double = self.double_split(leaf, grown, probe)
        both = [p for p in (single, double) if p is not None]
        return max(both, key=lambda p: p.worth, default=None)

    def single_split(self, leaf: Node, grown: Int32s, probe: Int32s) -> _Proposal | None:
        """Return the best single split on the grow part if it is viable on the probe."""
        opened = open_leaf(self.task, leaf[0], grown, leaf[2])
        admitted = self.budget.admits()[self.single]
        k = None if opened is None else opened.best(admitted)
        if opened is None or k is None:
            return None
        split = read_split(self.task, opened, k)
        gain, lightest = self.gain(probe, self.sides(probe, split).astype(np.int64), 2)
        weight = float(self.weight[probe].sum())
        worth = gain * weight / self.probe_weight
        viable = lightest >= _CELL_WEIGHT and worth >= _WORTH
        if not viable or not significant(gain, weight, 1, int(admitted.sum())):
            return None
        return _Proposal(leaf, (split,), (int(self.single[k]),), worth)

    def double_split(self, leaf: Node, grown: Int32s, probe: Int32s) -> _Proposal | None:
        """Return the two-level split with the largest confirmed probe gain."""
        least, space = self.task.limits.min_leaf_weight, self.space()
        found = search(self.task.columns, space, grown, self.y, self.weight, least)
        gains = [
            self.confirmed_gain(probe, microtree, len(found))
            if self.cells_gain(grown, microtree)[1] >= self.task.limits.least
            else 0.0
            for microtree in found
        ]
        if not any(gains):
            return None
        best = found[int(np.argmax(np.round(gains, 12)))]
        worth = max(gains) * float(self.weight[probe].sum()) / self.probe_weight
        return _Proposal(leaf, best.splits, best.columns, worth)

    def confirmed_gain(self, probe: Int32s, microtree: Microtree, n_candidates: int) -> float:
        """Return the probe gain of a microtree's four cells, 0 if it is not confirmed."""
        gain, lightest = self.cells_gain(probe, microtree)
        at_root = self.sides(probe, microtree.splits[0])
        increment = gain - self.gain(probe, at_root.astype(np.int64), 2)[0]
        weight = float(self.weight[probe].sum())
        large = gain >= _CELLS_GAIN and increment >= _INCREMENT and lightest >= _CELL_WEIGHT
        sure = large and significant(gain, weight, 3, n_candidates)
        return gain if sure and significant(increment, weight, 2, n_candidates) else 0.0

    def cells_gain(self, rows: Int32s, microtree: Microtree) -> tuple[float, float]:
        """Return the entropy gain of a microtree's four cells and the weight of the lightest."""
        root, left, right = microtree.splits
        at_root = self.sides(rows, root)
        child = np.where(at_root, self.sides(rows, left), self.sides(rows, right))
        return self.gain(rows, 2 * at_root.astype(np.int64) + child, 4)

    def sides(self, rows: Int32s, split: Split) -> Mask:
        goes_left: Mask = split.table()[self.task.columns.codes[split.column, rows]]
        return goes_left

    def gain(self, rows: Int32s, cell: Ints, n_cells: int) -> tuple[float, float]:
        """Return the entropy gain in bits of a partition of rows, and its lightest cell."""
        weight, positive = self.weight[rows], (self.weight * self.y)[rows]
        cells = np.bincount(cell, weight, n_cells)
        gain = information_gain(cells, np.bincount(cell, positive, n_cells))
        return max(float(gain) * BITS, 0.0), float(cells.min())

    def enter(self, proposal: _Proposal) -> list[Node]:
        for k in proposal.ks:
            self.budget.take(k)
        leaves = self.divide(*proposal.leaf[:2], proposal.splits[0])
        if len(proposal.splits) == 1:
            return leaves
        opened = []
        for leaf, split in zip(leaves, proposal.splits[1:], strict=True):
            # a side that the root has made pure needs no test
            mixed = _mixed(self.y[leaf[1]])
            opened += self.divide(*leaf[:2], split) if mixed else [leaf]
        return opened

    def divide(self, node: int, rows: Int32s, split: Split) -> list[Node]:
        return divide(self.task, self.tree, node, rows, refit_split(self.task, rows, split))


def grow_with_lookahead(
    columns: CodedColumns,
    eligible: Index,
    y: Floats,
    gradient: Floats,
    hessian: Floats,
    weight: Floats,
    limits: GrowthLimits,
) -> CodeTree | None:
    """Grow one tree like `rpte.structure.grower.grow`, with lookahead; y (n,) is 0 or 1.

    Columns that are `root_only` may be the root of a two-level split.
    """
    single = eligible[~columns.root_only[eligible]]
    task = GrowthTask(columns, single, stack(gradient, hessian, weight), limits)
    return _Lookahead(task, eligible, y).grow()


def probe_rows(y: Floats) -> Mask:
    """Mark every fourth row of each class, by position; rows come in a canonical order: (n,)."""
    probe = np.zeros(len(y), dtype=np.bool_)
    for label in (0.0, 1.0):
        probe[np.flatnonzero(y == label)[_PROBE_EVERY - 1 :: _PROBE_EVERY]] = True
    return probe


def significant(gain: float, weight: float, freedom: int, n_candidates: int) -> bool:
    """Test an entropy gain in bits by G^2 = 2 n IG ln 2, Bonferroni over the candidates."""
    chance = chi2.sf(2.0 * weight * gain * np.log(2.0), freedom)
    return bool(chance * n_candidates <= _ALPHA)


def refit_split(task: GrowthTask, rows: Int32s, split: Split) -> Split:
    """Fit a split found on part of a node to all its rows: bins, levels, missing and gain."""
    stats, codes = task.stats[rows], task.columns.codes[split.column, rows]
    counts = np.bincount(codes, stats[:, 2], split.missing_code + 1)
    goes_left = split.table()
    left = stats[goes_left[codes]].sum(axis=0)
    total = stats.sum(axis=0)
    seen = np.flatnonzero(counts[:-1] > 0)
    low, high = seen[goes_left[seen]], seen[~goes_left[seen]]
    if split.test == ORDERED and not len(high):  # only missing rows are on the right
        return refit_split(task, rows, replace(split, test=IS_MISSING, missing_left=True, bin=-1))
    saw_missing = counts[-1] > 0
    return replace(
        split,
        missing_left=split.missing_left if saw_missing else bool(2 * left[2] >= total[2]),
        gain=_gain(left, total, task.limits.ridge),
        bin=int(low[-1]) if split.test == ORDERED else -1,
        next_bin=int(high[0]) if split.test == ORDERED else -1,
        left_levels=tuple(low.tolist()) if split.test == LEVELS else (),
        right_levels=tuple(high.tolist()) if split.test == LEVELS else (),
    )


def _gain(left: Floats, total: Floats, ridge: float) -> float:
    score = [part[0] ** 2 / (part[1] + ridge) for part in (left, total - left, total)]
    return max(float(score[0] + score[1] - score[2]), 0.0)


def _mixed(y: Floats) -> bool:
    return bool(len(y) and y.min() != y.max())
