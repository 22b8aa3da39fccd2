"""What Stage 3 asks of its problem: terms, penalties, and the loss of equation (5) at a point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from rpte.columns.limits import ZERO
from rpte.losses import Loss
from rpte.utils.arrays import Floats, Index, Int8s, Mask

Slopes = tuple[float, Floats]  # the gradient of the intercept, and of all terms (q,)


class Selection(NamedTuple):
    """Some terms of a design: a mask (q,), their positions, the trees and columns among them."""

    mask: Mask
    terms: Index
    trees: Index
    columns: Index


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Coefficients, with the mean deviance there."""

    intercept: float
    theta: Floats
    loss: float
    slopes: Slopes | None  # where they cost no further pass


class NullModel(NamedTuple):
    """The model without terms: its mean deviance, the gradient there and the peaks of terms."""

    loss: float
    gradient: Floats  # (q,)
    peaks: Floats  # the largest absolute value of each term, (q,)


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Second moments of some columns of Z under row weights h."""

    selection: Selection
    centred: Floats  # Z'hZ - cross cross' / total, (k, k); exact zeros for constant columns
    cross: Floats  # Z'h, (k,)
    total: float  # sum of h

    def corrected(self, move: Floats, shift: float, bend: Floats, at_intercept: float) -> Gram:
        """Return the matrix that has the curvature met on a step (the BFGS formula).

        `move` (k,) and `shift` are the changes of coefficients and intercept, `bend` (k,) and
        `at_intercept` those of their gradients.
        """
        inside = float(self.cross @ move)
        first = self.total * shift + inside  # what the matrix says of the step
        others = self.centred @ move + self.cross * (shift + inside / self.total)
        said, seen = first * shift + others @ move, at_intercept * shift + bend @ move
        if not (said > 0.0 and seen > 0.0):
            return self
        total = self.total - first * first / said + at_intercept * at_intercept / seen
        cross = self.cross - others * (first / said) + bend * (at_intercept / seen)
        centred = self.centred + np.outer(self.cross, self.cross / self.total)
        centred += np.outer(bend, bend / seen) - np.outer(others, others / said)
        centred -= np.outer(cross, cross / total)
        constant = np.diag(self.centred) == 0.0
        centred[constant], centred[:, constant] = 0.0, 0.0
        return Gram(self.selection, centred, cross, float(total))


class Problem:
    """What exact and approximate designs share: permitted signs and a loss."""

    __slots__ = ()
    y: Floats
    weight: Floats
    sign: Int8s
    loss: Loss

    @property
    def null_score(self) -> float:
        """The score without terms."""
        return self.loss.null_score(self.y, self.weight)

    def pull(self, gradient: Floats) -> Floats:
        """Force of `gradient` (q,) on a zero coefficient towards a value it may have, (q,).

        Negative where only a forbidden value would lower the deviance.
        """
        return pull(self.sign, gradient)


def pull(sign: Int8s, gradient: Floats) -> Floats:
    """Return the force of a gradient on zero coefficients, each of a sign that it may have."""
    force = np.where(sign == 0, np.abs(gradient), -sign * gradient)
    return np.where(sign == ZERO, -np.inf, force)


P = TypeVar("P", bound=Point)


class ExactProblem(Problem, ABC, Generic[P]):
    """M trees and d direct columns whose coefficients equation (5) has: q together.

    They are ordered: leaves of tree 0, leaves of tree 1, ..., direct columns.
    """

    __slots__ = ()
    leaf_counts: tuple[int, ...]  # leaves per tree
    penalty: Floats  # positive relative penalty weights, (q,)
    # The sign that a coefficient may have: +1 not negative, -1 not positive, 0 either, (q,).
    sign: Int8s
    starts: Index  # first leaf of each tree, first direct term
    owner: Index  # tree of each leaf
    known: dict[str, Any]  # once for all
    by_blocks: bool  # whether each evaluation is a pass over rows that are not held

    def _count_terms(self, columns: int) -> None:
        """Keep where the leaves of each tree begin, and check signs and penalties once."""
        starts = np.concatenate(([0], np.cumsum(self.leaf_counts))).astype(np.intp)
        object.__setattr__(self, "starts", starts)
        owner = np.repeat(np.arange(len(self.leaf_counts)), np.diff(starts))
        object.__setattr__(self, "owner", owner)
        n_terms = int(starts[-1]) + columns
        if not self.sign.size:
            object.__setattr__(self, "sign", np.zeros(n_terms, np.int8))
        for name, kind in (("penalty", np.float64), ("sign", np.int8)):
            check_shape(name, getattr(self, name), (n_terms,), kind)
        if not (np.isfinite(self.penalty).all() and (self.penalty > 0.0).all()):
            raise ValueError("penalty must be positive and finite")
        if np.any(np.abs(self.sign) > 1):
            raise ValueError("sign must hold -1, 0 or 1")

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together: the position of the first direct term."""
        return int(self.starts[-1])

    @property
    def n_terms(self) -> int:
        """Number of coefficients q, the intercept not counted."""
        return len(self.penalty)

    def select(self, mask: Mask) -> Selection:
        """Find the terms of `mask` (q,)."""
        terms, leaves = np.flatnonzero(mask), self.n_leaves
        first = int(np.count_nonzero(mask[:leaves]))
        reached = np.zeros(len(self.leaf_counts), np.bool_)
        reached[self.owner[terms[:first]]] = True
        return Selection(mask, terms, np.flatnonzero(reached), terms[first:] - leaves)

    def permitted(self, coefficients: Floats) -> Floats:
        """`coefficients` (q,) with exact zeros in place of forbidden signs."""
        return np.where(self.sign * coefficients < 0.0, 0.0, coefficients)

    def null_model(self) -> NullModel:
        """Return the model without terms, computed once."""
        if "null" not in self.known:
            self.known["null"] = self._null_model()
        found: NullModel = self.known["null"]
        return found

    def gradient(self, intercept: float, coefficients: Floats) -> Slopes:
        """Gradient of the mean deviance: the intercept's entry, and the terms' (q,)."""
        return self.slopes(self.at(intercept, coefficients))

    def deviance(self, intercept: float, coefficients: Floats) -> float:
        """Mean deviance of equation (5)."""
        return self.at(intercept, coefficients).loss

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """F = intercept + Z coefficients, shape (n,)."""

    @abstractmethod
    def at(self, intercept: float, theta: Floats) -> P:
        """Return the point of some coefficients (q,)."""

    @abstractmethod
    def line(self, point: P, shift: float, change: Floats) -> Callable[[float], P]:
        """Return the points that a multiple of a change of intercept and coefficients leads to."""

    @abstractmethod
    def slopes(self, point: P, selection: Selection | None = None) -> Slopes:
        """Return the gradient at a point; with `selection`, the others are not all computed."""

    @abstractmethod
    def gram(
        self, selection: Selection, point: P, fraction: float, floor: float, exact: bool
    ) -> tuple[Gram, bool]:
        """Gram matrix of some terms under the curvature at a point, and whether it is of all rows.

        It may be that of a `fraction` of the rows, or of a sample, that stands for all. The least
        curvature is `floor` times half the weight of a row. Unless it is to be `exact`, products
        may be summed in single precision within a tile. Call it inside `one_blas_thread`.
        """

    @abstractmethod
    def data_gram(self, selection: Selection, part: bool = False) -> Gram:
        """Gram matrix under the weights of the data, or of a `part` of the rows."""

    @abstractmethod
    def part(self) -> ExactProblem[Any] | None:
        """Return the problem of some rows, whose solution is close; None if there are few."""

    @abstractmethod
    def tied(
        self,
        groups: Sequence[Index],
        counts: tuple[int, ...],
        penalty: Floats,
        sign: Int8s,
    ) -> ExactProblem[P]:
        """Return the problem in which each leaf of a tree is a group of leaves, by number."""

    @abstractmethod
    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some direct columns sum to one on every row."""

    @abstractmethod
    def _null_model(self) -> NullModel:
        """Compute the model without terms."""


AnyProblem = ExactProblem[Any]


def check_shape(name: str, array: Any, shape: tuple[int, ...], kind: type) -> None:
    """Raise unless `array` has exactly this shape and type."""
    if array.shape != shape or array.dtype != kind:
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}; "
            f"it must have shape {shape} and type {np.dtype(kind)}"
        )
