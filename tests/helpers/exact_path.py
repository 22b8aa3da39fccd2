"""The exact lambda path, which approximate ones are compared with."""

import numpy as np

from rpte.estimation import solver
from rpte.estimation.newton import ProxNewton
from rpte.estimation.quadratic import Penalty
from rpte.kernels.blas import one_blas_thread


def lambda_grid(design, l1_ratio=1.0, length=50, ratio=1e-3):
    """Return a descending geometric grid from lambda_max to `ratio` times it, shape (length,).

    Where no term has a gradient every lambda gives the model without terms; the grid starts at 1.
    """
    top = solver.lambda_max(design, l1_ratio) or 1.0
    return np.asarray(top * np.geomspace(1.0, ratio, length))


def path(design, l1s, l1_ratio=1.0):
    """Return one fit per lambda of `l1s`, best in descending order, each from the one before.

    The strong rule (Tibshirani and others, 2012) only chooses the first working set; every fit is
    checked against the optimality conditions of all terms.
    """
    top = before = solver.lambda_max(design, l1_ratio)
    engine, fits = ProxNewton(design, design.null_score, np.zeros(design.n_terms)), []
    for l1 in map(float, l1s):
        solver.check_penalty(l1, l1_ratio)
        with one_blas_thread():
            penalty = Penalty.of(design, l1, l1_ratio)
            least = (2 * l1 - before) * l1_ratio
            strong = design.pull(engine.gradient()[1]) >= least * design.penalty
            outcome = engine.run(penalty, strong, solver.target_residual(l1, top))
        fits.append(solver.fit_of(engine, penalty, outcome, l1, l1_ratio, top))
        before = l1
    return fits
