"""Stage 3 of several classes: equation (5) with a coefficient for each term and class.

The mean deviance of the softmax, plus an elastic net over all coefficients: a term drops out for
one class, or for all. By proximal Newton steps over a working set of coefficients, with the whole
matrix of second derivatives, which couples the classes; intercepts are eliminated from it.

Adding a number to the coefficients of a term in all classes changes no probability. With a ridge
the optimum is unique. Without one every optimum has as many coefficients of a term at or above zero
as at or below, and of two such places, where the number of classes is even, the canonical form is
the one of the smaller squares, with a zero in the middle. Where limits by class give a term signs,
these leave one place only. Intercepts add up to zero.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rpte.columns.limits import ZERO
from rpte.estimation.problem import pull
from rpte.estimation.quadratic import Penalty, minimise_quadratic
from rpte.estimation.solver import (
    ROUNDING,
    allowed_residual,
    check_penalty,
    target_residual,
)
from rpte.kernels.blas import one_blas_thread
from rpte.losses import Multinomial
from rpte.rows.passes import RowBlocks, add
from rpte.utils.arrays import Floats, Index, Int8s, Mask

logger = logging.getLogger("rpte")

MAX_STEPS = 200
ROUNDS = 50  # times that the working set may grow
EARLY = 0.1  # of the largest violation: to that a growing working set is solved
MIN_STEP = 1e-10
RANK = 1e-12  # of the largest eigenvalue: less is a direction that changes no probability
SLACK = 1e-14  # fraction of the objective that is rounding error
TIE = 1e-9  # relative difference of squares that decides nothing


class ClassesPoint(NamedTuple):
    """Intercepts (K,) and coefficients (K, q), the scores there (K, n) and the mean deviance."""

    intercepts: Floats
    theta: Floats
    score: Floats
    loss: float


@dataclass(frozen=True, slots=True, eq=False)
class ClassesFit:
    """A solution with its certificate, as `Fit` has it for one score."""

    intercepts: Floats  # (K,)
    coefficients: Floats  # (K, q)
    l1: float
    l1_ratio: float
    objective: float
    kkt: float
    iterations: int
    converged: bool
    lambda_max: float


@dataclass(frozen=True, slots=True, eq=False)
class ClassesProblem:
    """q columns on n rows, with the number of the class of each row."""

    z: Floats  # as the penalty sees them, no NaN, (q, n)
    y: Floats  # (n,)
    weight: Floats  # positive, (n,)
    penalty: Floats  # positive factors on the penalty of a term, (q,)
    sign: Int8s  # that a coefficient may have, 0 for either, (q,), or of each class (K, q)
    loss: Multinomial

    @property
    def n_terms(self) -> int:
        """Number of terms, each with a coefficient for every class."""
        return len(self.penalty)

    @property
    def row_weight(self) -> Floats:
        """Row weights as the mean deviance has them, 2 w / W."""
        return np.asarray(self.weight * (2.0 / self.weight.sum()))

    def at(self, intercepts: Floats, theta: Floats) -> ClassesPoint:
        """Return the point of some coefficients."""
        return self._point(intercepts, theta, self._score(intercepts, theta))

    def _score(self, intercepts: Floats, theta: Floats) -> Floats:
        score = np.repeat(intercepts[:, None], len(self.y), axis=1)
        used = np.flatnonzero(theta.any(axis=0))
        if used.size:
            for rows in RowBlocks(len(self.y)):
                score[:, rows] += theta[:, used] @ self.z[used, rows]
        return score

    def _point(self, intercepts: Floats, theta: Floats, score: Floats) -> ClassesPoint:
        deviance = self.loss.deviance(score, self.y, self.weight)
        return ClassesPoint(intercepts, theta, score, deviance)

    def null(self) -> ClassesPoint:
        """Return the point without terms."""
        scores = self.loss.null_scores(self.y, self.weight)
        return self.at(scores, np.zeros((self.loss.n_scores, self.n_terms)))

    def line(
        self, point: ClassesPoint, shift: Floats, change: Floats
    ) -> Callable[[float], ClassesPoint]:
        """Return the points that a multiple of a change of intercepts and coefficients leads to."""
        along = self._score(shift, change)

        def to(size: float) -> ClassesPoint:
            there = point.intercepts + size * shift, point.theta + size * change
            return self._point(*there, point.score + size * along)

        return to

    def slopes(self, point: ClassesPoint) -> tuple[Floats, Floats]:
        """Return the gradient of the mean deviance: of intercepts (K,), of coefficients (K, q)."""
        pulls = -self.loss.residuals(point.score, self.y, self.row_weight).gradient

        def sums(rows: slice) -> Floats:
            return pulls[:, rows] @ self.z[:, rows].T

        return np.asarray(pulls.sum(axis=1)), add(sums, RowBlocks(len(self.y)))

    def second(self, point: ClassesPoint, chosen: Mask) -> Floats:
        """Return the second derivatives by all intercepts, then by chosen coefficients (K, q)."""
        p, weight = self.loss.response(point.score), self.row_weight
        places = [np.flatnonzero(mask) for mask in chosen]
        starts = self.loss.n_scores + np.cumsum([0, *map(len, places)])
        own = [np.concatenate([[k], np.arange(*starts[k : k + 2])]) for k in range(len(places))]

        def moments(rows: slice) -> Floats:
            found = np.zeros((starts[-1], starts[-1]))
            ones = np.ones((1, len(weight[rows])))
            z = [np.vstack([ones, self.z[at, rows]]) for at in places]
            for k, here in enumerate(z):
                for m in range(k + 1):
                    h = weight[rows] * p[k, rows] * ((k == m) - p[m, rows])
                    part = (here * h) @ z[m].T
                    found[np.ix_(own[k], own[m])] = part
                    found[np.ix_(own[m], own[k])] = part.T
            return found

        return add(moments, RowBlocks(len(self.y)))

    def lambda_max(self, l1_ratio: float = 1.0) -> float:
        """Return the smallest lambda at which every coefficient is zero."""
        gradient = self.slopes(self.null())[1]
        force = pull(self.sign, gradient)
        peaks = np.abs(self.z).max(axis=1, initial=0.0)
        sizes = np.where(force > ROUNDING * peaks, force, 0.0) / self.penalty
        return float(np.max(sizes, initial=0.0) / max(l1_ratio, 1e-3))


def solve_classes(
    problem: ClassesProblem, l1: float, l1_ratio: float = 1.0, start: Floats | None = None
) -> ClassesFit:
    """Minimise equation (5) at lambda = `l1`, of which `l1_ratio` is L1 and the rest ridge.

    `start` (K, q + 1) are intercepts and coefficients to start from. The result is the canonical
    form of the optimum.
    """
    check_penalty(l1, l1_ratio)
    with one_blas_thread():
        top = problem.lambda_max(l1_ratio)
        newton = _Newton.begin(problem, l1, l1_ratio, start)
        kkt, steps = newton.run(target_residual(l1, top))
        if l1_ratio == 1.0:
            newton.point = _canonical(problem, newton.point)
            kkt = newton.worst()
    tolerance = allowed_residual(l1, top)
    if kkt > tolerance:
        text = "Stage 3 did not converge at lambda=%.6g: residual %.3g after %d steps, %.3g allowed"
        logger.warning(text, l1, kkt, steps, tolerance)
    point = newton.point
    intercepts = point.intercepts - point.intercepts.mean()
    given = intercepts, point.theta, l1, l1_ratio, newton.objective(point), kkt, steps
    return ClassesFit(*given, kkt <= tolerance, top)


def _canonical(problem: ClassesProblem, point: ClassesPoint) -> ClassesPoint:
    """Return the same probabilities with a zero among the middle coefficients of every term."""
    theta, middle = point.theta.copy(), (len(point.theta) - 1) // 2
    free = ~np.atleast_2d(problem.sign).any(axis=0)
    for j in np.flatnonzero(theta.any(axis=0) & free):
        ranked = np.sort(theta[:, j])
        moved = [theta[:, j] - ranked[at] for at in {middle, len(ranked) // 2}]
        squares = [float(each @ each) for each in moved]
        theta[:, j] = moved[int(squares[-1] < squares[0] * (1.0 - TIE))]
    return problem.at(point.intercepts, theta)


@dataclass(slots=True)
class _Newton:
    """The state of the iteration."""

    problem: ClassesProblem
    penalty: Penalty  # by coefficient, (K q,)
    point: ClassesPoint
    steps: int = 0

    @classmethod
    def begin(
        cls, problem: ClassesProblem, l1: float, l1_ratio: float, start: Floats | None
    ) -> _Newton:
        """Begin at a start, or without terms where that is better."""
        classes = problem.loss.n_scores
        threshold, ridge = l1 * l1_ratio * problem.penalty, l1 * (1 - l1_ratio) * problem.penalty
        sign = np.broadcast_to(problem.sign, (classes, problem.n_terms))
        up = np.where((sign < 0) | (sign == ZERO), np.inf, threshold)
        down = np.where(sign > 0, np.inf, threshold)
        same = (np.tile(part, classes) for part in (threshold, ridge, problem.penalty))
        threshold, ridge, factors = same
        penalty = Penalty(threshold, up.ravel(), down.ravel(), ridge, factors)
        newton = cls(problem, penalty, problem.null())
        if start is not None:
            forbidden = (sign * start[:, 1:] < 0.0) | (sign == ZERO)
            theta = np.where(forbidden, 0.0, start[:, 1:])
            warm = problem.at(start[:, 0].copy(), theta)
            if newton.objective(warm) < newton.objective(newton.point):
                newton.point = warm
        return newton

    def objective(self, point: ClassesPoint) -> float:
        """Return the mean deviance plus the penalty."""
        return point.loss + self.penalty.value(point.theta.ravel())

    def violations(self) -> tuple[Floats, Floats, Floats]:
        """Return gradients of intercepts and coefficients, and violations (K q,), at the point."""
        at_intercepts, slope = self.problem.slopes(self.point)
        found = self.penalty.residuals(slope.ravel(), self.point.theta.ravel())
        return at_intercepts, slope.ravel(), found

    def worst(self) -> float:
        """Return the largest violation over all intercepts and coefficients."""
        at_intercepts, _, found = self.violations()
        return max(float(np.abs(at_intercepts).max()), float(found.max(initial=0.0)))

    def run(self, target: float) -> tuple[float, int]:
        """Minimise to a residual; return that reached, and the steps taken."""
        work = self.point.theta.ravel() != 0.0
        for _ in range(ROUNDS):
            at_intercepts, _, found = self.violations()
            worst = max(float(np.abs(at_intercepts).max()), float(found.max(initial=0.0)))
            if worst <= target or self.steps >= MAX_STEPS:
                return worst, self.steps
            work = (self.point.theta.ravel() != 0.0) | (found > target)
            if not self._descend(np.flatnonzero(work), max(target, EARLY * worst), target):
                return self.worst(), self.steps
        return self.worst(), self.steps

    def _descend(self, work: Index, enough: float, target: float) -> bool:
        """Take Newton steps on a working set until it is solved; tell whether any was taken."""
        moved = False
        while self.steps < MAX_STEPS:
            at_intercepts, slope, found = self.violations()
            worst = max(float(np.abs(at_intercepts).max()), float(found[work].max(initial=0.0)))
            if worst <= enough:
                return True
            if not self._step(work, at_intercepts, slope[work], max(0.01 * worst, 0.1 * target)):
                return moved
            moved = True
        return moved

    def _step(self, work: Index, at_intercepts: Floats, slope: Floats, accuracy: float) -> bool:
        """Go to the minimum of the quadratic model, or as far towards it as the objective falls."""
        problem, point, self.steps = self.problem, self.point, self.steps + 1
        classes, q = point.theta.shape
        chosen = np.zeros(classes * q, np.bool_)
        chosen[work] = True
        second = problem.second(point, chosen.reshape(classes, q))
        across, bend = second[classes:, :classes], second[classes:, classes:]
        solved = np.linalg.pinv(second[:classes, :classes], rcond=RANK, hermitian=True)
        gram = bend - across @ solved @ across.T
        tilt, here = slope - across @ (solved @ at_intercepts), point.theta.ravel()[work]
        there = minimise_quadratic(gram, tilt, here, self.penalty.take(work), accuracy)
        change = np.zeros(classes * q)
        change[work] = there - here
        shift = -solved @ (at_intercepts + across.T @ (there - here))
        before, size = self.objective(point), 1.0
        to = problem.line(point, shift, change.reshape(classes, q))
        while size >= MIN_STEP:
            trial = to(size)
            if size == 1.0:  # exact zeros
                trial = replace_theta(trial, work, there)
            if self.objective(trial) <= before + SLACK * abs(before):
                self.point = trial
                return bool(size * np.abs(change).max(initial=0.0) > 0.0 or shift.any())
            size *= 0.5
        return False


def replace_theta(point: ClassesPoint, work: Index, values: Floats) -> ClassesPoint:
    """Return a point with exactly these coefficients in some places."""
    theta = point.theta.copy()
    theta.ravel()[work] = values
    return point._replace(theta=theta)
