"""Proximal Newton with a working set: the engine behind `solve` and `path`.

Each step minimises the second-order model of the deviance plus the penalty (`quadratic.py`) over
the working set, then backtracks on the true objective. The Gram matrix is the costly part, so it is
kept while steps made with it shrink the residual fast enough (a chord method), from one lambda to
the next too. Where rows are many it is that of some, which stand for all (the first of those in
random order, or a sample), and of more only when the residual shrinks too slowly; gradients are
always those of all rows. Where a step is a pass that gives the gradient too, it corrects the matrix
by the change of the gradient that it met, and with a ridge sums of products need only single
precision within a tile; without one, directions that leave the score as it is must be told from
others. The working set grows by violations of the optimality conditions over all terms.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rpte.estimation.problem import AnyProblem, Gram, Point, Selection, Slopes
from rpte.estimation.quadratic import Penalty, minimise_quadratic
from rpte.rows import scale
from rpte.utils.arrays import Floats, Index, Mask

MAX_STEPS = 400
STALLED_STEPS = 6  # steps without progress, each with a fresh Gram matrix, before giving up
FALL = 1e-6  # relative fall of the objective that is progress, whatever the residual says
CHORD_STEPS = 5  # a Gram matrix is worth keeping when it is this close to the end
TERMS_PER_STEP = 25  # evaluated terms whose Gram matrix costs as much as a step
EARLY = 0.05  # fraction of the full residual to which a growing working set is solved
ROOM = 200  # terms that may always join the working set at once
MIN_STEP = 1e-12
NEARER = 0.05  # fraction of the residual at which the curvature is another
MORE_ROWS = 8  # times as many when these do not do
SLACK = 1e-14  # fraction of the objective that is rounding error, of few rows
FLOOR = 1e-10  # saturated rows must count
# Where full steps with a fresh Gram matrix leave more of the residual than this, the floor is what
# holds them back: it falls a hundredfold, to where no row's curvature is rounding error.
HELD_BACK, LOWERED, LEAST_FLOOR = 0.5, 0.01, 1e-20
MOST_ENDS = 20  # coefficients that may become zero in one step beyond the full one


class Outcome(NamedTuple):
    """How a run ended: largest violation over all terms, and steps taken."""

    kkt: float
    steps: int


class ProxNewton:
    """State of the iteration: the point, and the Gram matrix in use.

    `floor` is the smallest curvature of a row, as a fraction of its weight. Far from the optimum a
    larger one keeps a few extreme cells, whose rows are saturated, from shortening every step.
    """

    def __init__(
        self, design: AnyProblem, intercept: float, theta: Floats, floor: float = FLOOR
    ) -> None:
        self.design, self.floor = design, floor
        self.point: Point = design.at(float(intercept), design.permitted(theta))
        self.known_slopes: Slopes | None = (
            self.point.slopes
        )  # full gradient, if known at this point
        self.gram: Gram | None = None
        self.fresh = False  # whether the Gram matrix is that of all rows at this point
        # Of the rows; where these come in blocks, less than the smallest part of a block.
        self.gram_fraction = 1 / MORE_ROWS**2 if design.by_blocks else 1 / MORE_ROWS
        # Whether these are summed in double precision throughout.
        self.exact = design.n_rows <= scale.GRAM_ROWS or not design.by_blocks
        self.grams, self.made_at = 0, np.inf  # matrices made so far, and the residual at the last

    @property
    def intercept(self) -> float:
        """The intercept of the point."""
        return self.point.intercept

    @property
    def theta(self) -> Floats:
        """Its coefficients, (q,)."""
        return self.point.theta

    @property
    def loss(self) -> float:
        """Its mean deviance."""
        return self.point.loss

    def gradient(self, selection: Selection | None = None) -> Slopes:
        """Gradient of the deviance: intercept, and terms (q,) (only `selection` if given)."""
        if self.known_slopes is not None:
            return self.known_slopes
        slopes: Slopes = self.design.slopes(self.point, selection)
        if selection is None:
            self.known_slopes = slopes
        return slopes

    def run(
        self,
        penalty: Penalty,
        first: Mask,
        target: float,
        grow: bool = True,
        most: int | None = None,
    ) -> Outcome:
        """Minimise from the working set `first` (q,) to a residual of `target`, in `most` steps."""
        most = MAX_STEPS if most is None else most
        self.exact |= not penalty.ridge.any()
        work = first | (self.theta != 0.0)
        steps, kkt = 0, self._violations(penalty)[0]
        # A working set that is still to grow need not be solved to the end.
        inner = max(target, EARLY * kkt) if grow else target
        while True:
            selection = self._selection(work)
            steps += self._descend(penalty, selection, inner, most - steps)
            kkt, violations = self._violations(penalty)
            wanted = np.flatnonzero((violations > target) & ~selection.mask)
            if steps >= most or (inner <= target and not (grow and wanted.size)):
                return Outcome(kkt, steps)
            inner = max(target, EARLY * kkt) if wanted.size else target
            work = _grown(work, wanted, violations)

    def _violations(self, penalty: Penalty) -> tuple[float, Floats]:
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
        best, least, previous, waited, full = np.inf, np.inf, np.inf, 0, True
        local = penalty.take(free.terms)
        for step in range(budget):
            at_intercept, gradient = self.gradient(free)
            slope, theta = gradient[free.terms], self.theta[free.terms]
            violations = local.residuals(slope, theta)
            kkt = max(abs(at_intercept), float(violations.max(initial=0.0)))
            objective = self.loss + penalty.value(self.theta)
            onward = kkt < 0.9 * best or objective < (1.0 - FALL) * least
            waited = 0 if onward else waited + self.fresh
            best, least = min(best, kkt), min(least, objective)
            if kkt <= target or waited >= STALLED_STEPS:
                return step
            self.exact |= 2 * waited >= STALLED_STEPS
            if self.fresh and full and kkt > HELD_BACK * previous:
                self.floor = max(LOWERED * self.floor, LEAST_FLOOR)
            renew = not full or self._slow(kkt, previous, target, free)
            gram = self._use_gram(free, renew, kkt)
            previous = kkt
            inner = slope - gram.cross * (at_intercept / gram.total)
            accuracy = max(0.03 * kkt, 0.1 * target)
            move = minimise_quadratic(gram.centred, inner, theta, local, accuracy) - theta
            full = self._search(penalty, gram, move, at_intercept, float(slope @ move), waited > 0)
        return budget

    def _use_gram(self, free: Selection, renew: bool, kkt: float) -> Gram:
        """Return the Gram matrix of `free`: the one at hand, or one at the present curvature.

        One that has become too slow far from where it was made is made again of as many rows, and
        otherwise of more.
        """
        gram, self.fresh = self.gram, False
        if gram is None or gram.selection is not free or renew:
            if renew and gram is not None and kkt > NEARER * self.made_at:
                self.gram_fraction = min(1.0, MORE_ROWS * self.gram_fraction)
            given = self.gram_fraction, self.floor, self.exact
            self.gram, self.fresh = self.design.gram(free, self.point, *given)
            self.grams, self.made_at = self.grams + 1, kkt
            return self.gram
        return gram

    def _search(
        self,
        penalty: Penalty,
        gram: Gram,
        move: Floats,
        at_intercept: float,
        promised: float,
        beyond: bool,
    ) -> bool:
        """Backtrack until the true objective falls as it should; True for the full step.

        `move` (k,) is that of the terms of `gram`, `promised` what it promises to first order. The
        intercept follows. Both ends have permitted signs, and so has, as rounding is monotone,
        every point between. With `beyond` a full step goes on while the objective falls.
        """
        change = np.zeros_like(self.theta)
        change[gram.selection.terms] = move
        shift = -(at_intercept + float(gram.cross @ move)) / gram.total
        to, held = self.design.line(self.point, shift, change), penalty.value(self.theta)
        here = self.loss + held
        slack = SLACK * max(1.0, self.design.n_rows / scale.GRAM_ROWS) * abs(here)
        promised += at_intercept * shift + penalty.value(self.theta + change) - held
        size = 1.0
        while size > MIN_STEP:
            there = to(size)
            # Close to the optimum the gain is below rounding error; the slack lets such steps pass.
            if there.loss + penalty.value(there.theta) <= here + 1e-4 * size * promised + slack:
                if there.slopes is not None and size == 1.0:
                    self._learn(gram, move, shift, there.slopes)
                if beyond and size == 1.0:
                    there = self._go_on(penalty, change, to, there)
                self.point, self.known_slopes = there, there.slopes
                return size == 1.0
            size *= 0.5
        return False

    def _go_on(
        self, penalty: Penalty, change: Floats, to: Callable[[float], Point], there: Point
    ) -> Point:
        """Go on from a full step from one coefficient that becomes zero to the next.

        Along a direction in which columns nearly cancel the Gram matrix is rounding error, and only
        the penalty falls, until a coefficient is zero: a step of any other length does not end it.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -self.theta / change
        least = there.loss + penalty.value(there.theta)
        for end in np.unique(ends[(ends > 1.0) & np.isfinite(ends)])[:MOST_ENDS]:
            theta = np.where(ends == end, 0.0, self.theta + end * change)
            if np.any(self.design.permitted(theta) != theta):
                break
            further = self.design.at(to(float(end)).intercept, theta)
            value = further.loss + penalty.value(theta)
            if not value < least:
                break
            there, least = further, value
        return there

    def _slow(self, kkt: float, previous: float, target: float, free: Selection) -> bool:
        """Tell whether steps like the last one would take longer than with a new Gram matrix.

        Where each step corrects the matrix it is worth keeping for longer, by its size.
        """
        if not np.isfinite(previous):
            return False
        steps = CHORD_STEPS + (0 if self.known_slopes is None else free.terms.size / TERMS_PER_STEP)
        return kkt * (kkt / previous) ** steps > target

    def _learn(self, gram: Gram, move: Floats, shift: float, slopes: Slopes) -> None:
        """Correct the Gram matrix by the gradient at the end of a step."""
        at_intercept, gradient = self.gradient()
        bend = (slopes[1] - gradient)[gram.selection.terms]
        self.gram = gram.corrected(move, shift, bend, slopes[0] - at_intercept)


def _grown(work: Mask, wanted: Index, violations: Floats) -> Mask:
    """Working set with the worst violations added: enough to finish soon, not all of q."""
    room = max(ROOM, 2 * int(np.count_nonzero(work)))
    grown = work.copy()
    grown[wanted[np.argsort(-violations[wanted], kind="stable")[:room]]] = True
    return grown
