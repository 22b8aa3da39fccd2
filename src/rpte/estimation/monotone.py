"""Stage 3 under order: leaves that would break a monotone limit share one coefficient.

The problem is solved without order first; where two leaves come out in the wrong order the worst
pair of each tree is tied, and the problem with ties is solved again until none is left. What is
recorded and certified is the last problem: equation (5) with these ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rpte.estimation.problem import AnyProblem
from rpte.estimation.solver import Fit, solve
from rpte.utils.arrays import Floats, Index

Order = Sequence[Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Ties:
    """The group of each leaf, by tree: leaves of a group have one coefficient.

    Groups are numbered from 0 by their first leaf.
    """

    group: tuple[Index, ...]

    @classmethod
    def none(cls, design: AnyProblem) -> Ties:
        """Return every leaf on its own."""
        return cls(tuple(np.arange(count) for count in design.leaf_counts))

    def tie(self, tree: int, a: int, b: int) -> Ties:
        """Return the ties with two leaves joined."""
        group = self.group[tree]
        joined = np.where(group == group[b], group[a], group)
        numbers = np.unique(joined, return_index=True)
        rank = np.argsort(np.argsort(numbers[1]))
        fresh = rank[np.searchsorted(numbers[0], joined)]
        return Ties((*self.group[:tree], fresh, *self.group[tree + 1 :]))

    @property
    def members(self) -> Index:
        """Position of each leaf's group among the terms of the tied design."""
        sizes = [int(group.max()) + 1 for group in self.group]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        parts = [start + group for start, group in zip(starts, self.group, strict=False)]
        return np.concatenate([np.zeros(0, np.intp), *parts]).astype(np.intp)

    def apply(self, design: AnyProblem) -> AnyProblem:
        """Return the design in which tied leaves are one term, its penalty the sum of theirs."""
        if all(len(np.unique(group)) == len(group) for group in self.group):
            return design
        members, leaves = self.members, design.n_leaves
        counts = tuple(int(group.max()) + 1 for group in self.group)
        in_groups = np.bincount(members, design.penalty[:leaves], sum(counts))
        penalty = np.concatenate([in_groups, design.penalty[leaves:]])
        sign = np.concatenate([np.zeros(sum(counts), np.int8), design.sign[leaves:]])
        return design.tied(self.group, counts, penalty, sign)

    def spread(self, fit: Fit) -> Fit:
        """Return a fit of the tied design with one coefficient per leaf again."""
        members = self.members
        groups = int(members.max(initial=-1)) + 1
        leaves, direct = fit.coefficients[:groups][members], fit.coefficients[groups:]
        return replace(fit, coefficients=np.concatenate([leaves, direct]))


def solve_in_order(
    design: AnyProblem,
    order: Order,
    l1: float,
    l1_ratio: float,
    finish: Callable[[AnyProblem, Fit, Ties], Fit] | None = None,
    ties: Ties | None = None,
    start: Floats | None = None,
) -> tuple[Fit, Ties]:
    """Solve equation (5) with as few ties as the order of leaves needs; return the ties too.

    `order` has for each tree pairs (a, b) of leaves: coefficient a must not exceed coefficient b.
    `finish` is applied to each solution of a tied design (the canonical solution). `ties` are those
    to begin with, `start` (q + 1,) the intercept and coefficients, where there are no ties. The fit
    has one coefficient per leaf of `design`.
    """
    ties = Ties.none(design) if ties is None else ties
    while True:
        tied = ties.apply(design)
        warm = start if tied.n_terms == design.n_terms else None
        fit = solve(tied, l1, l1_ratio, warm)
        if finish is not None:
            fit = finish(tied, fit, ties)
        fit = ties.spread(fit)
        further = _worst(design, order, fit.coefficients)
        if not further:
            return fit, ties
        for tree, a, b in further:
            ties = ties.tie(tree, a, b)


def _worst(design: AnyProblem, order: Order, coefficients: Floats) -> list[tuple[int, int, int]]:
    """Return the pair of leaves of each tree that is most out of order."""
    found = []
    for tree, pairs in enumerate(order):
        leaves = coefficients[design.starts[tree] : design.starts[tree + 1]]
        excess = [leaves[a] - leaves[b] for a, b in pairs]
        if excess and max(excess) > 0:
            found.append((tree, *pairs[int(np.argmax(excess))]))
    return found


def path_in_order(design: AnyProblem, order: Order, l1_ratio: float) -> Callable[[Floats], Floats]:
    """Return a function from lambdas (f,) to fits (f, q + 1), the intercept first."""

    def to(l1s: Floats) -> Floats:
        fits = [solve_in_order(design, order, float(l1), l1_ratio)[0] for l1 in l1s]
        return np.array([[fit.intercept, *fit.coefficients] for fit in fits])

    return to
