"""Proximal Newton with a working set: the engine behind `solve` and `path`.

Each step minimises the second-order model of the deviance plus the penalty (`quadratic.py`) over
the working set, then backtracks on the true objective. The Gram matrix is the costly part, so it is
kept while steps made with it shrink the residual fast enough (a chord method), from one lambda to
the next too. The working set grows by violations of the optimality conditions over all terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.design import Design
from rpte.estimation.gram import Gram, weighted_gram
from rpte.estimation.quadratic import minimise_quadratic

__all__ = ["Outcome", "Penalty", "ProxNewton"]

Vector = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_STEPS = 400
PATIENCE = 6  # steps without progress, each with a fresh Gram matrix, before giving up
CHORD_STEPS = 5  # a Gram matrix is worth keeping when it is this close to the end
EARLY = 0.05  # share of the full residual to which a growing working set is solved
ROOM = 200  # terms that may always join the working set at once
MIN_STEP = 1e-12
FLOOR = 1e-10  # smallest curvature of a row, as a share of its weight: saturated rows must count


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """``sum_j threshold_j |theta_j| + ridge_j/2 theta_j^2`` with units `scale`, each (q,)."""

    threshold: Vector
    ridge: Vector
    scale: Vector

    @classmethod
    def of(cls, design: Design, l1: float, l1_ratio: float) -> Penalty:
        """Build the penalty of equation (5), with a ridge share when `l1_ratio` is below 1."""
        return cls(
            l1 * l1_ratio * design.penalty, l1 * (1 - l1_ratio) * design.penalty, design.penalty
        )

    def value(self, theta: Vector) -> float:
        """Penalty at `theta` (q,)."""
        return float(self.threshold @ np.abs(theta) + 0.5 * self.ridge @ theta**2)

    def residuals(self, gradient: Vector, theta: Vector) -> Vector:
        """Violation of the optimality conditions by term, in units of lambda, shape (q,)."""
        slope = gradient + self.ridge * theta
        active = np.abs(slope + self.threshold * np.sign(theta))
        idle = np.maximum(np.abs(slope) - self.threshold, 0.0)
        return np.asarray(np.where(theta != 0.0, active, idle) / self.scale)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: largest violation over all terms, and steps taken."""

    kkt: float
    steps: int


class ProxNewton:
    """State of the iteration: the point, its score, and the Gram matrix in use."""

    def __init__(self, design: Design, intercept: float, theta: Vector) -> None:
        self.design = design
        self.intercept, self.theta = float(intercept), theta.copy()
        self.score = design.score(intercept, theta)
        self.loss, self.residual, self.curvature = design.statistics(self.score)
        self.slopes: tuple[float, Vector] | None = None  # full gradient, if known at this point
        self.gram: Gram | None = None
        self.fresh = False

    def gradient(self, terms: Index | None = None) -> tuple[float, Vector]:
        """Gradient of the deviance: intercept, and terms (q,) (only `terms` if given)."""
        if self.slopes is not None:
            return self.slopes
        slopes = float(self.residual.sum()), self.design.transposed(self.residual, terms)
        if terms is None:
            self.slopes = slopes
        return slopes

    def run(self, penalty: Penalty, terms: Index, target: float, grow: bool = True) -> Outcome:
        """Minimise, starting with the working set `terms`, to a residual of `target`."""
        terms = np.union1d(terms, np.flatnonzero(self.theta)).astype(np.intp)
        steps, kkt = 0, self._violations(penalty)[0]
        # A working set that is still to grow need not be solved to the end.
        inner = max(target, EARLY * kkt) if grow else target
        while True:
            steps += self._descend(penalty, terms, inner, MAX_STEPS - steps)
            kkt, violations = self._violations(penalty)
            wanted = np.setdiff1d(np.flatnonzero(violations > target), self._members(terms))
            if steps >= MAX_STEPS or (inner <= target and not (grow and wanted.size)):
                return Outcome(kkt, steps)
            inner = max(target, EARLY * kkt) if wanted.size else target
            terms = _grown(terms, wanted, violations)

    def _violations(self, penalty: Penalty) -> tuple[float, Vector]:
        """Largest violation over intercept and terms, and those of all terms (q,)."""
        at_intercept, gradient = self.gradient()
        violations = penalty.residuals(gradient, self.theta)
        return max(abs(at_intercept), float(violations.max(initial=0.0))), violations

    def _members(self, terms: Index) -> Index:
        """Terms free to move: those of the Gram matrix in use, when it covers `terms`."""
        if self.gram is not None and np.isin(terms, self.gram.terms).all():
            return self.gram.terms
        return terms

    def _descend(self, penalty: Penalty, terms: Index, target: float, budget: int) -> int:
        """Newton steps over the working set until its residual is `target`; their number."""
        best, previous, waited, full = np.inf, np.inf, 0, True
        for step in range(budget):
            terms = self._members(terms)
            at_intercept, gradient = self.gradient(terms)
            violations = penalty.residuals(gradient, self.theta)[terms]
            kkt = max(abs(at_intercept), float(violations.max(initial=0.0)))
            waited = 0 if kkt < 0.9 * best else waited + self.fresh
            best = min(best, kkt)
            if kkt <= target or waited >= PATIENCE:
                return step
            if not full or _slow(kkt, previous, target):
                self.gram = None
            previous = kkt
            full = self._step(penalty, terms, at_intercept, gradient, max(0.03 * kkt, 0.1 * target))
        return budget

    def _step(
        self, penalty: Penalty, terms: Index, at_intercept: float, gradient: Vector, tol: float
    ) -> bool:
        """One step over `terms`; False when the full step was not taken."""
        gram = self._use_gram(terms)
        slope = gradient[terms] - gram.cross * (at_intercept / gram.total)
        ridge = penalty.ridge[terms]
        matrix = gram.centred.copy()
        matrix[np.diag_indices_from(matrix)] += ridge
        theta = self.theta[terms]
        goal = minimise_quadratic(
            matrix,
            slope + ridge * theta,
            theta,
            penalty.threshold[terms],
            penalty.scale[terms],
            tol,
        )
        change = np.zeros_like(self.theta)
        change[terms] = goal - theta
        shift = -(at_intercept + float(gram.cross @ (goal - theta))) / gram.total
        promised = at_intercept * shift + float(gradient @ change)
        return self._search(penalty, shift, change, promised)

    def _use_gram(self, terms: Index) -> Gram:
        """Return the Gram matrix of `terms`: the one at hand, or one at the present curvature."""
        if self.gram is not None and np.array_equal(self.gram.terms, terms):
            self.fresh = False
            return self.gram
        floor = FLOOR * self.design.weight / self.design.weight.sum()
        self.gram = weighted_gram(self.design, terms, np.maximum(self.curvature, floor))
        self.fresh = True
        return self.gram

    def _search(self, penalty: Penalty, shift: float, change: Vector, promised: float) -> bool:
        """Backtrack until the true objective falls as it should; True for the full step."""
        here, base = self.loss + penalty.value(self.theta), self.score
        along = self.design.score(shift, change)
        promised += penalty.value(self.theta + change) - penalty.value(self.theta)
        size = 1.0
        while size > MIN_STEP:
            theta = self.theta + size * change
            score = base + size * along
            loss, residual, curvature = self.design.statistics(score)
            # Close to the optimum the gain is below rounding error; the slack lets such steps pass.
            if loss + penalty.value(theta) <= here + 1e-4 * size * promised + 1e-14 * abs(here):
                self.intercept, self.slopes = self.intercept + size * shift, None
                self.theta, self.score = theta, score
                self.loss, self.residual, self.curvature = loss, residual, curvature
                return size == 1.0
            size *= 0.5
        return False


def _slow(kkt: float, previous: float, target: float) -> bool:
    """Tell whether steps like the last one would need more than `CHORD_STEPS` to the target."""
    if not np.isfinite(previous):
        return False
    return kkt * (kkt / previous) ** CHORD_STEPS > target


def _grown(terms: Index, wanted: Index, violations: Vector) -> Index:
    """Working set with the worst violations added: enough to finish soon, not all of q."""
    room = max(ROOM, 2 * terms.size)
    worst = wanted[np.argsort(-violations[wanted], kind="stable")[:room]]
    return np.union1d(terms, worst).astype(np.intp)
