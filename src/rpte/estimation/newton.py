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

from rpte.estimation.design import Design, Selection
from rpte.estimation.gram import Gram, weighted_gram
from rpte.estimation.quadratic import Penalty, minimise_quadratic

__all__ = ["Outcome", "ProxNewton"]

Vector = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

MAX_STEPS = 400
PATIENCE = 6  # steps without progress, each with a fresh Gram matrix, before giving up
CHORD_STEPS = 5  # a Gram matrix is worth keeping when it is this close to the end
EARLY = 0.05  # share of the full residual to which a growing working set is solved
ROOM = 200  # terms that may always join the working set at once
MIN_STEP = 1e-12
FLOOR = 1e-10  # smallest curvature of a row, as a share of its weight: saturated rows must count


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: largest violation over all terms, and steps taken."""

    kkt: float
    steps: int


class ProxNewton:
    """State of the iteration: the point, its score, and the Gram matrix in use."""

    def __init__(self, design: Design, intercept: float, theta: Vector) -> None:
        self.design = design
        self.intercept, self.theta = float(intercept), design.permitted(theta)
        self.score = design.score(self.intercept, self.theta)
        self.loss, self.residual, self.curvature = design.statistics(self.score)
        self.slopes: tuple[float, Vector] | None = None  # full gradient, if known at this point
        self.gram: Gram | None = None
        self.fresh = False

    def gradient(self, selection: Selection | None = None) -> tuple[float, Vector]:
        """Gradient of the deviance: intercept, and terms (q,) (only `selection` if given)."""
        if self.slopes is not None:
            return self.slopes
        slopes = float(self.residual.sum()), self.design.transposed(self.residual, selection)
        if selection is None:
            self.slopes = slopes
        return slopes

    def run(self, penalty: Penalty, first: Mask, target: float, grow: bool = True) -> Outcome:
        """Minimise, starting with the working set `first` (q,), to a residual of `target`."""
        work = first | (self.theta != 0.0)
        steps, kkt = 0, self._violations(penalty)[0]
        # A working set that is still to grow need not be solved to the end.
        inner = max(target, EARLY * kkt) if grow else target
        while True:
            selection = self._selection(work)
            steps += self._descend(penalty, selection, inner, MAX_STEPS - steps)
            kkt, violations = self._violations(penalty)
            wanted = np.flatnonzero((violations > target) & ~selection.mask)
            if steps >= MAX_STEPS or (inner <= target and not (grow and wanted.size)):
                return Outcome(kkt, steps)
            inner = max(target, EARLY * kkt) if wanted.size else target
            work = _grown(work, wanted, violations)

    def _violations(self, penalty: Penalty) -> tuple[float, Vector]:
        """Largest violation over intercept and terms, and those of all terms (q,)."""
        at_intercept, gradient = self.gradient()
        violations = penalty.residuals(gradient, self.theta)
        return max(abs(at_intercept), float(violations.max(initial=0.0))), violations

    def _selection(self, work: Mask) -> Selection:
        """Terms free to move: those of the Gram matrix in use, when it covers `work`."""
        if self.gram is not None and not np.any(work > self.gram.selection.mask):
            return self.gram.selection
        return self.design.select(work)

    def _descend(self, penalty: Penalty, free: Selection, target: float, budget: int) -> int:
        """Newton steps over the terms `free` until their residual is `target`; their number."""
        best, previous, waited, full = np.inf, np.inf, 0, True
        local = penalty.take(free.terms)
        for step in range(budget):
            at_intercept, gradient = self.gradient(free)
            slope, theta = gradient[free.terms], self.theta[free.terms]
            violations = local.residuals(slope, theta)
            kkt = max(abs(at_intercept), float(violations.max(initial=0.0)))
            waited = 0 if kkt < 0.9 * best else waited + self.fresh
            best = min(best, kkt)
            if kkt <= target or waited >= PATIENCE:
                return step
            gram = self._use_gram(free, renew=not full or _slow(kkt, previous, target))
            previous = kkt
            inner = slope - gram.cross * (at_intercept / gram.total)
            accuracy = max(0.03 * kkt, 0.1 * target)
            move = minimise_quadratic(gram.centred, inner, theta, local, accuracy) - theta
            full = self._search(penalty, gram, move, at_intercept, float(slope @ move))
        return budget

    def _use_gram(self, free: Selection, renew: bool) -> Gram:
        """Return the Gram matrix of `free`: the one at hand, or one at the present curvature."""
        gram = self.gram
        self.fresh = renew or gram is None or gram.selection is not free
        if gram is None or self.fresh:
            floor = 0.5 * FLOOR * self.design.share
            gram = weighted_gram(self.design, free, np.maximum(self.curvature, floor))
        self.gram = gram
        return gram

    def _search(
        self, penalty: Penalty, gram: Gram, move: Vector, at_intercept: float, promised: float
    ) -> bool:
        """Backtrack until the true objective falls as it should; True for the full step.

        `move` (k,) is that of the terms of `gram`, `promised` what it promises to first order. The
        intercept follows. Both ends have permitted signs, and so has, as rounding is monotone,
        every point between.
        """
        change = np.zeros_like(self.theta)
        change[gram.selection.terms] = move
        shift = -(at_intercept + float(gram.cross @ move)) / gram.total
        along, held = self.design.score(shift, change), penalty.value(self.theta)
        here = self.loss + held
        promised += at_intercept * shift + penalty.value(self.theta + change) - held
        size = 1.0
        while size > MIN_STEP:
            theta, score = self.theta + size * change, self.score + size * along
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


def _grown(work: Mask, wanted: Index, violations: Vector) -> Mask:
    """Working set with the worst violations added: enough to finish soon, not all of q."""
    room = max(ROOM, 2 * int(np.count_nonzero(work)))
    grown = work.copy()
    grown[wanted[np.argsort(-violations[wanted], kind="stable")[:room]]] = True
    return grown
