"""The whole lambda path of equation (5): warm starts and the sequential strong rule."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.design import Design
from rpte.estimation.gram import one_blas_thread
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

__all__ = ["lambda_grid", "path"]

Vector = NDArray[np.float64]


def lambda_grid(
    design: Design, l1_ratio: float = 1.0, length: int = 50, ratio: float = 1e-3
) -> Vector:
    """Descending geometric grid from lambda_max to `ratio` times it, shape (length,).

    Where no term has a gradient every lambda gives the model without terms; the grid starts at 1.
    """
    top = lambda_max(design, l1_ratio) or 1.0
    return np.asarray(top * np.geomspace(1.0, ratio, length))


def path(design: Design, l1s: Iterable[float], l1_ratio: float = 1.0) -> list[Fit]:
    """One fit per lambda of `l1s`, each started from the one before.

    Parameters
    ----------
    design : Design
    l1s : iterable of float
        Lambdas, best in descending order.
    l1_ratio : float
        Share of the penalty that is L1.

    Returns
    -------
    list of Fit
        In the order of `l1s`. The strong rule (Tibshirani and others, 2012) only chooses the first
        working set; every fit is checked against the optimality conditions of all terms.
    """
    top = lambda_max(design, l1_ratio)
    fits: list[Fit] = []
    before = top
    with one_blas_thread():
        engine = ProxNewton(design, null_intercept(design), np.zeros(design.n_terms))
        for l1 in l1s:
            check_penalty(l1, l1_ratio)
            penalty = Penalty.of(design, l1, l1_ratio)
            _, gradient = engine.gradient()
            strong = design.pull(gradient) >= (2 * l1 - before) * l1_ratio * design.penalty
            outcome = engine.run(penalty, strong, target_residual(l1, top))
            fits.append(fit_of(engine, penalty, outcome, l1, l1_ratio, top))
            before = l1
    return fits
