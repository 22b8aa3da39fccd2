"""Shorter and shorter models: drop what loses least for each of its conditions, again and again.

Around a good fit the deviance is quadratic in the coefficients. In a model with the coefficients
theta and the inverse Gram matrix A, dropping a column loses theta_j^2 / A_jj (half of it in nats),
and the others follow in closed form. Of several scores, what all lose is added. The splits of a
tree are columns too: what is on one side of a split against what is on the other. A split may be
dropped when none is left below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpte.estimation.one_shape import Moments
from rpte.structure.tree import Branch, Tree, leaf_numbers, path_conditions
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats, Index, Ints

SHRINK = 1e-3  # ridge on each column, of its own curvature
FLOOR = 1e-9  # of all curvature
LEAST_SPLIT = 4.0  # squared score test of a split, below which it is chance
DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False)
class TreeSplits:
    """The splits of a tree, parents before children."""

    tree: Tree
    leaves: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # on either side of each split
    schema: Schema

    @classmethod
    def of(cls, tree: Tree, schema: Schema) -> TreeSplits:
        """Return the splits of a tree."""
        found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        waiting: list[Branch | int] = [tree.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Branch):
                found.append((tuple(leaf_numbers(node.yes)), tuple(leaf_numbers(node.no))))
                waiting += [node.no, node.yes]
        return cls(tree, tuple(found), schema)

    def contrasts(self, mass: Floats) -> Floats:
        """Return the values of the leaves for each split, with the mean 0, (splits, leaves)."""
        found = np.zeros((len(self.leaves), len(mass)))
        for line, (yes, no) in zip(found, self.leaves, strict=True):
            first, second = mass[list(yes)].sum(), mass[list(no)].sum()
            both = max(first + second, 1e-300)
            line[list(yes)], line[list(no)] = second / both, -first / both
        return found

    def children(self) -> list[list[int]]:
        """Return the splits below each split."""
        every = [set(yes) | set(no) for yes, no in self.leaves]
        return [[j for j, other in enumerate(every) if other < own] for own in every]

    def pruned(self, kept: Sequence[int]) -> Tree | None:
        """Return the tree with some of its splits; None if it has none."""
        ends = {tuple(sorted(yes + no)) for yes, no in (self.leaves[k] for k in kept)}
        return self.tree.merge_leaves(lambda leaves: tuple(leaves) not in ends)[0]

    def conditions(self, kept: Sequence[int]) -> int:
        """Return what is read of the tree: all paths but the longest, whose effect is 0."""
        tree = self.pruned(kept)
        if tree is None:
            return 0
        read = [path_conditions(path, self.schema) for path in tree.paths()]
        return sum(read) - max(read)


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Nested models from long to short: conditions, direct terms, and the splits of each tree."""

    conditions: list[int]
    direct: list[Index]
    kept: list[tuple[tuple[int, ...], ...]]
    splits: Sequence[TreeSplits]

    def within(self, most: int | None) -> tuple[Index, list[Tree | None]]:
        """Return the longest model of at most so many conditions: direct terms, and trees."""
        at = next(i for i, n in enumerate(self.conditions) if most is None or n <= most)
        trees = [s.pruned(kept) for s, kept in zip(self.splits, self.kept[at], strict=True)]
        return self.direct[at], trees


def drop_in_turn(
    moments: Moments, splits: Sequence[TreeSplits], read: Ints, ridge: float
) -> Ladder:
    """Return the ladder of models of some leaves and direct terms.

    The moments are those of all columns, centred, leaves first; `read` are the conditions of each
    direct term, `ridge` the penalty on all columns.
    """
    moments, owner = _with_contrasts(moments, splits, len(read))
    units = _Units(splits, owner, read)
    size = np.einsum("kjj->kj", moments.gram)
    total = size.sum(axis=0)
    left = np.flatnonzero(total > FLOOR * max(total.max(initial=0.0), 1e-300))
    gram = moments.gram + (SHRINK * size + ridge)[..., None] * np.eye(len(total))
    inverse = np.linalg.inv(gram[:, left[:, None], left])
    fit = (inverse @ moments.slope[:, left, None])[..., 0]
    found = Ladder([], [], [], splits)
    grown = True  # splits that say no more than chance go before the first model is recorded
    while True:
        own, prices = np.einsum("kjj->kj", inverse), units.prices(left)
        loss = np.where(prices > 0, (fit * fit / own).sum(axis=0), np.inf)
        weak = np.where(left < len(owner), loss, np.inf)
        grown = grown and bool(weak.min(initial=np.inf) < LEAST_SPLIT)
        if not grown:
            units.record(found, left)
            if not len(left):
                return found
            weak = loss / np.maximum(prices, 1)
        at = int(np.round(weak, DIGITS).argmin())
        pivot = inverse[:, at] / own[:, at, None]
        fit = np.delete(fit - fit[:, at, None] * pivot, at, 1)
        inverse = inverse - inverse[:, :, at, None] * pivot[:, None]
        inverse = np.delete(np.delete(inverse, at, 1), at, 2)
        left = np.delete(left, at)


def _with_contrasts(
    moments: Moments, splits: Sequence[TreeSplits], n_direct: int
) -> tuple[Moments, list[tuple[int, int]]]:
    """Return the moments with splits in place of leaves, and the tree and number of each split."""
    gram, slope = moments.gram, moments.slope
    n_leaves = slope.shape[1] - n_direct
    blocks, owner, start = [], [], 0
    for t, tree in enumerate(splits):
        size = tree.tree.n_leaves
        mass = np.einsum("kjj->j", gram)[start : start + size]
        block = np.zeros((len(tree.leaves), n_leaves))
        block[:, start : start + size] = tree.contrasts(mass)
        blocks.append(block)
        owner += [(t, k) for k in range(len(tree.leaves))]
        start += size
    change = np.zeros((len(owner) + n_direct, slope.shape[1]))
    if owner:
        change[: len(owner), :n_leaves] = np.vstack(blocks)
    change[len(owner) :, n_leaves:] = np.eye(n_direct)
    return Moments(change @ gram @ change.T, slope @ change.T), owner


class _Units:
    """What dropping a column saves, and whether it may be dropped."""

    def __init__(
        self, splits: Sequence[TreeSplits], owner: list[tuple[int, int]], read: Ints
    ) -> None:
        self.splits, self.owner, self.read = splits, owner, read
        self.below = [s.children() for s in splits]
        self.costs: dict[tuple[int, tuple[int, ...]], int] = {}

    def _kept(self, left: Index) -> list[tuple[int, ...]]:
        kept: list[list[int]] = [[] for _ in self.splits]
        for j in left[left < len(self.owner)].tolist():
            tree, number = self.owner[j]
            kept[tree].append(number)
        return [tuple(each) for each in kept]

    def _direct(self, left: Index) -> Index:
        """Return the places of the direct terms that are left; `left` ascends, splits first."""
        return left[left >= len(self.owner)] - len(self.owner)

    def _cost(self, tree: int, kept: tuple[int, ...]) -> int:
        if (tree, kept) not in self.costs:
            self.costs[tree, kept] = self.splits[tree].conditions(kept)
        return self.costs[tree, kept]

    def prices(self, left: Index) -> Floats:
        """Return the conditions that dropping each column saves; 0 where it may not be dropped."""
        kept, splits = self._kept(left), left[left < len(self.owner)]
        found = np.empty(len(left))
        found[len(splits) :] = self.read[self._direct(left)]
        for at, j in enumerate(splits.tolist()):
            tree, number = self.owner[j]
            if set(self.below[tree][number]) & set(kept[tree]):
                found[at] = 0.0
                continue
            without = tuple(k for k in kept[tree] if k != number)
            found[at] = max(self._cost(tree, kept[tree]) - self._cost(tree, without), 1)
        return found

    def record(self, ladder: Ladder, left: Index) -> None:
        """Add a model to the ladder."""
        kept, direct = self._kept(left), self._direct(left)
        total = int(self.read[direct].sum())
        ladder.conditions.append(total + sum(self._cost(t, k) for t, k in enumerate(kept)))
        ladder.direct.append(direct)
        ladder.kept.append(tuple(kept))
