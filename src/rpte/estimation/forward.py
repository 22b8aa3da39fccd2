"""Forward selection: which few terms say most, one after the other.

A path of L1 penalties lets terms in by the size of their gradients and shrinks them all, so the
models at its very beginning are poor ones. A person who can read one condition wants the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rpte.estimation.approximate import ApproximateDesign
from rpte.kernels.blas import one_blas_thread
from rpte.utils.arrays import Floats, Ints

FINALISTS = 6  # terms of the largest estimated gain, whose gain is computed
COLUMNS = 64  # evaluated together
STEPS = 12  # Newton steps at most
RIDGE = 1e-4  # of the total curvature, so that a separating term has a finite fit
DEPENDENT = 1e-8  # fraction of its curvature that a term must have beside those chosen
LEAST_GAIN = 1e-9  # of the deviance


def forward_order(
    design: ApproximateDesign, conditions: Ints, names: Sequence[str], most: int
) -> list[int]:
    """Return the places of terms in the order in which they are taken.

    Each is the one that lowers the deviance most for each of its conditions, beside those before
    it, all coefficients fitted again, signs kept; ties by name. `conditions` (q,) and `names` are
    those of the terms; `most` bounds the conditions of all together.
    """
    chosen: list[int] = []
    with one_blas_thread():
        fit = _Fit(design)
        while left := most - int(conditions[chosen].sum()):
            free = (conditions <= left) & ~np.isin(np.arange(len(names)), chosen)
            gains = np.where(free, fit.gains(), 0.0) / conditions
            useful: list[int] = np.flatnonzero(gains > 0).tolist()
            ranking = sorted(useful, key=lambda j: (-_rounded(gains[j]), names[j]))
            tried = [(j, fit.with_term(j)) for j in ranking[:FINALISTS]]
            drops = [(fit.deviance - other.deviance) / conditions[j] for j, other in tried]
            if not tried or max(drops) <= LEAST_GAIN * fit.deviance:
                break
            best = int(np.argmax([_rounded(drop) for drop in drops]))
            chosen.append(tried[best][0])
            fit = tried[best][1]
    return chosen


def _rounded(gain: Any) -> float:
    """Return a gain to nine digits, so that rounding decides no tie."""
    return float(f"{gain:.9g}")


class _Fit:
    """The fit of some terms (k, n), the intercept's ones first, with hardly any penalty.

    `start` (k,) are coefficients near the solution.
    """

    def __init__(
        self, design: ApproximateDesign, terms: Floats | None = None, start: Floats | None = None
    ) -> None:
        self.design, self.weight = design, design.weight / design.weight.sum()
        self.terms = np.ones((1, len(design.y))) if terms is None else terms
        self.theta = np.zeros(len(self.terms)) if start is None else start
        self.deviance = self._deviance(self.theta)
        for _ in range(STEPS):
            before = self.deviance
            self._step()
            if before - self.deviance <= LEAST_GAIN * before:
                break

    def _deviance(self, theta: Floats) -> float:
        """Return the mean deviance and the ridge of some coefficients."""
        deviance = self.design.loss.deviance(theta @ self.terms, self.design.y, self.weight)
        return deviance + float(RIDGE * (theta[1:] @ theta[1:]))

    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Return residuals and curvatures of the rows, and the terms times their curvature."""
        score = self.theta @ self.terms
        found = self.design.loss.residuals(score, self.design.y, self.weight)
        return found.gradient, found.hessian, self.terms * found.hessian

    def _step(self) -> None:
        """Take a Newton step, halved until the deviance falls."""
        residual, _, bent = self._moments()
        ridge = np.full(len(self.theta), RIDGE)
        ridge[0] = 0.0
        hessian = bent @ self.terms.T + np.diag(ridge + DEPENDENT)
        step = np.linalg.solve(hessian, self.terms @ residual - ridge * self.theta)
        for _ in range(STEPS):
            deviance = self._deviance(self.theta + step)
            if deviance < self.deviance:
                self.theta, self.deviance = self.theta + step, deviance
                return
            step = step / 2.0

    def with_term(self, j: int) -> _Fit:
        """Return the fit with one more term."""
        more = self.design.z[self.design.rows[j]].astype(np.float64)
        return _Fit(self.design, np.vstack([self.terms, more]), np.append(self.theta, 0.0))

    def gains(self) -> Floats:
        """Return how far each term of the design would lower the deviance, to second order, (q,).

        What a term shares with those fitted is projected out; 0 for a sign that it may not have.
        """
        residual, curvature, bent = self._moments()
        inverse = np.linalg.pinv(bent @ self.terms.T)
        design, gains = self.design, np.zeros(len(self.design.rows))
        for low in range(0, len(gains), COLUMNS):
            z = design.z[design.rows[low : low + COLUMNS]].astype(np.float64)
            gradient, shared = z @ residual, z @ bent.T
            total = (z * z) @ curvature
            own = total - np.einsum("ij,jk,ik->i", shared, inverse, shared)
            allowed = design.sign[low : low + COLUMNS] * gradient >= 0.0
            usable = allowed & (own > DEPENDENT * np.maximum(total, 1e-300))
            gains[low : low + COLUMNS] = np.where(
                usable, gradient**2 / np.where(usable, own + RIDGE, 1.0), 0.0
            )
        return gains
