"""Approximate fits: good enough to compare penalties on held-out rows, and no better."""

from dataclasses import dataclass

import numpy as np

from rpte.estimation.problem import Problem
from rpte.estimation.solver import MIN_L1_RATIO
from rpte.kernels.approximate_path import add_rows, approximate_path, exact_gradients, gradients
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.losses import loss_statistics
from rpte.losses import BINOMIAL, Loss
from rpte.utils.arrays import Floats, Index, Int8s, Singles

ROUNDING = 1e-6  # a smaller gradient of values in single precision may be none
UNBOUNDED = 1e6  # curvature, where the loss has no bound
ABOVE = 1.0 + 1e-6  # times the largest lambda with a term: where a grid begins


@dataclass(frozen=True, slots=True, eq=False)
class ApproximateDesign(Problem):
    """A `Design` whose terms are some `rows` (q,) of a larger matrix `z` (m, n)."""

    z: Singles
    rows: Index
    y: Floats
    weight: Floats
    penalty: Floats
    sign: Int8s
    loss: Loss = BINOMIAL

    @property
    def row_weight(self) -> Floats:
        """Row weights as the mean deviance has them, 2 w / W."""
        return np.asarray(self.weight * (2.0 / self.weight.sum()))

    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """Return the score of every row, (n,)."""
        out = np.full(len(self.y), float(intercept))
        add_rows(self.z, self.rows, coefficients, out)
        return out

    def grid(self, l1_ratio: float, length: int, ratio: float) -> Floats:
        """Return descending lambdas, the first just above the largest with a term.

        Where no term has a gradient the grid starts at 1.
        """
        score, gradient = np.full(len(self.y), self.null_score), np.empty(len(self.rows))
        pulls = -self.loss.residuals(score, self.y, self.row_weight).gradient
        exact_gradients(self.z, self.rows, pulls, gradient)
        pull = self.pull(gradient)
        size = np.where(pull > ROUNDING, pull, 0.0) / self.penalty
        top = size.max(initial=0.0) * ABOVE / max(l1_ratio, MIN_L1_RATIO) or 1.0
        return np.asarray(top * np.geomspace(1.0, ratio, length))


class ApproximatePath:
    """The penalty path of one design, each fit started from the one before.

    `start` (q + 1,) are intercept and coefficients at the lambda before the first; None: no terms.
    """

    def __init__(
        self, design: ApproximateDesign, l1_ratio: float = 1.0, start: Floats | None = None
    ) -> None:
        self.design, n, weight = design, len(design.y), design.row_weight
        if start is None:
            start = np.array([design.null_score, *np.zeros(len(design.rows))])
        theta, residual, curvature = np.array(start[1:]), np.empty(n), np.empty(n)
        score, gradient = design.score(float(start[0]), theta), np.empty(len(design.rows))
        loss = loss_statistics(design.loss.code, score, design.y, weight, residual, curvature)
        gradients(design.z, design.rows, residual.astype(np.float32), gradient)
        bound = design.loss.curvature_bound or UNBOUNDED
        self._data = design.loss.code, bound, design.y, weight
        self._rule = design.penalty, design.sign, float(l1_ratio)
        state = np.array([start[0], loss, 0.0])
        self._point = state, theta, (score, residual, curvature), gradient
        self._work = np.zeros(0, np.intp), np.zeros((0, 0)), np.zeros(0), np.zeros(n)

    def to(self, l1s: Floats) -> Floats:
        """Go on to some lambdas, descending; return intercepts and coefficients, (f, q + 1)."""
        design, held = self.design, (self._point, self._work)
        l1s = np.ascontiguousarray(l1s)
        with one_blas_thread():
            fits, self._work = approximate_path(
                design.z, design.rows, self._data, self._rule, l1s, *held
            )
        return fits
