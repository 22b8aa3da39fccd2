"""The whole lambda path of equation (5): warm starts and the sequential strong rule."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.design import Design
from rpte.estimation.newton import ProxNewton
from rpte.estimation.quadratic import Penalty
from rpte.estimation.solver import (
    Fit,
    check_penalty,
    fit_of,
    lambda_max,
    null_intercept,
    target_residual,
)
from rpte.kernels.blas import one_blas_thread

__all__ = ["Walk", "lambda_grid", "path"]

Vector = NDArray[np.float64]


def lambda_grid(
    design: Design, l1_ratio: float = 1.0, length: int = 50, ratio: float = 1e-3
) -> Vector:
    """Descending geometric grid from lambda_max to `ratio` times it, shape (length,).

    Where no term has a gradient every lambda gives the model without terms; the grid starts at 1.
    """
    top = lambda_max(design, l1_ratio) or 1.0
    return np.asarray(top * np.geomspace(1.0, ratio, length))


class Walk:
    """A walk down the lambdas of one design, each fit started from the one before.

    The strong rule (Tibshirani and others, 2012) only chooses the first working set; every fit is
    checked against the optimality conditions of all terms.

    Parameters
    ----------
    design : Design
    l1_ratio : float
        Share of the penalty that is L1.
    """

    def __init__(self, design: Design, l1_ratio: float = 1.0) -> None:
        self.l1_ratio = l1_ratio
        self.top = self._before = lambda_max(design, l1_ratio)
        self._engine = ProxNewton(design, null_intercept(design), np.zeros(design.n_terms))

    def to(self, l1: float) -> Fit:
        """Go on to a lambda, best a smaller one than before."""
        check_penalty(l1, self.l1_ratio)
        engine, design = self._engine, self._engine.design
        with one_blas_thread():
            penalty = Penalty.of(design, l1, self.l1_ratio)
            _, gradient = engine.gradient()
            least = (2 * l1 - self._before) * self.l1_ratio
            strong = design.pull(gradient) >= least * design.penalty
            outcome = engine.run(penalty, strong, target_residual(l1, self.top))
        self._before = l1
        return fit_of(engine, penalty, outcome, l1, self.l1_ratio, self.top)


def path(design: Design, l1s: Iterable[float], l1_ratio: float = 1.0) -> list[Fit]:
    """One fit per lambda of `l1s`, in their order, which is best descending; see `Walk`."""
    walk = Walk(design, l1_ratio)
    return [walk.to(float(l1)) for l1 in l1s]
