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
from rpte.kernels.few_terms import fit_few_terms
from rpte.rows.threads import chunks, thread_map
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
            finalists = _largest(gains, names)
            tried = [*zip(finalists, thread_map(fit.with_term, finalists), strict=True)]
            drops = [(fit.deviance - other.deviance) / conditions[j] for j, other in tried]
            if not tried or max(drops) <= LEAST_GAIN * fit.deviance:
                break
            best = int(np.argmax([_rounded(drop) for drop in drops]))
            chosen.append(tried[best][0])
            fit = tried[best][1]
    return chosen


def _largest(gains: Floats, names: Sequence[str]) -> list[int]:
    """Return the places of the largest gains above 0, at most `FINALISTS`, ties by name."""
    useful = np.flatnonzero(gains > 0)
    if len(useful) > FINALISTS:  # as good as the last of them before rounding
        last = np.partition(gains[useful], -FINALISTS)[-FINALISTS]
        useful = useful[gains[useful] >= last * (1.0 - 1e-8)]
    ranking: list[int] = useful.tolist()
    return sorted(ranking, key=lambda j: (-_rounded(gains[j]), names[j]))[:FINALISTS]


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
        rows, rule = (design.y, self.weight), (RIDGE, DEPENDENT, LEAST_GAIN, STEPS)
        self.deviance = fit_few_terms(design.loss.code, self.terms, rows, self.theta, rule)

    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Return residuals and curvatures of the rows, and the terms times their curvature."""
        score = self.theta @ self.terms
        found = self.design.loss.residuals(score, self.design.y, self.weight)
        return found.gradient, found.hessian, self.terms * found.hessian

    def with_term(self, j: int) -> _Fit:
        """Return the fit with one more term."""
        more = self.design.z[self.design.rows[j], : len(self.design.y)].astype(np.float64)
        return _Fit(self.design, np.vstack([self.terms, more]), np.append(self.theta, 0.0))

    def gains(self) -> Floats:
        """Return how far each term of the design would lower the deviance, to second order, (q,).

        What a term shares with those fitted is projected out; 0 for a sign that it may not have.
        """
        residual, curvature, bent = self._moments()
        inverse = np.linalg.pinv(bent @ self.terms.T)
        design = self.design

        def gains(some: slice) -> Floats:
            z = design.z[design.rows[some], : len(design.y)].astype(np.float64)
            gradient, shared = z @ residual, z @ bent.T
            total = (z * z) @ curvature
            own = total - np.einsum("ij,jk,ik->i", shared, inverse, shared)
            allowed = design.sign[some] * gradient >= 0.0
            usable = allowed & (own > DEPENDENT * np.maximum(total, 1e-300))
            return np.where(usable, gradient**2 / np.where(usable, own + RIDGE, 1.0), 0.0)

        columns = chunks(len(design.rows), COLUMNS)
        return np.concatenate([np.zeros(0), *thread_map(gains, columns)])
