"""One solution out of the equally good ones: few conditions, and no memory of the starting point.

At l1_ratio = 1 the score F and the gradient of an optimum are unique, the coefficients are not: the
leaves of a tree sum to one, and one-hot levels and trees over the same rows depend on each other.
All optima have their support in the equicorrelation set E (terms whose gradient is at the bound,
on a side of zero where they may be), with the signs the gradient gives them (R. J. Tibshirani,
2013). Of these a basic one is taken (Theorem 1(c): at most rank(Z) active terms), then trees and
one-hot groups are shifted.

Where E depends only through whole trees and groups, which sum to one, the optima differ by their
shifts alone, and shifting any of them gives the canonical one. Of many rows a few tell, or all of
them.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from rpte.estimation.newton import ProxNewton
from rpte.estimation.problem import AnyProblem
from rpte.estimation.quadratic import RANK, Penalty, spectrum
from rpte.estimation.solver import Fit, allowed_residual, fit_of, lambda_max
from rpte.kernels.blas import one_blas_thread
from rpte.rows import scale
from rpte.utils.arrays import Floats, Index, Mask

logger = logging.getLogger("rpte")
Conditions = NDArray[np.integer]
Point = tuple[float, Floats]  # intercept and coefficients

AT_BOUND = 1e-6  # relative distance of a gradient from its bound that still counts as reached
MARGIN = 100.0  # residuals of a fit that the gradient of a sum's last term may be off
ACTIVE = 1e-12  # the audit rule: a coefficient above this counts
NEGLIGIBLE = 1e-9  # fraction of the largest coefficient that is rounding error here
EQUAL_COST = 1e-9
INDEPENDENT = 1e-6  # fraction of the largest eigenvalue that the least one exceeds
GOLDEN = 0.6180339887498949


def canonical(design: AnyProblem, fit: Fit, conditions: Conditions, groups: Sequence[Index]) -> Fit:
    """Return the canonical optimum with the same score as `fit`, equal for every such `fit`.

    `design` has no exact duplicates and complements; `conditions` (q,) are those that a person
    reads for each active term; each of `groups` has the positions (in coefficient order) of direct
    0/1 terms that sum to one on every row. With `l1_ratio` below 1 the optimum is unique. Should
    rounding make the result fail the tolerance that `fit` met, `fit` is kept and a warning logged.
    """
    if fit.l1_ratio != 1.0 or not fit.coefficients.any():
        return fit
    top, penalty = lambda_max(design), Penalty.of(design, fit.l1, 1.0)
    trees = [np.arange(a, b) for a, b in pairwise(design.starts)]
    sums = [*trees, *groups]
    if design.n_rows > scale.LONG_ABOVE:
        whole = _whole(design, penalty, fit, sums)
        if _is_independent(design, penalty, fit, whole):
            point = _shifted(design, (fit.intercept, fit.coefficients), whole, conditions)
            return _moved(fit, penalty, top, *point)
    target = min(1e-13 * top, 1e-10 * fit.l1)
    with one_blas_thread():
        engine = _engine(design, fit.intercept, fit.coefficients)
        steps = engine.run(penalty, fit.coefficients != 0.0, target).steps
        point = _shifted(design, _basic(design, penalty, engine), sums, conditions)
        final = _engine(design, *point)
        outcome = final.run(penalty, final.theta != 0.0, target, grow=False)
    result = fit_of(final, penalty, outcome, fit.l1, 1.0, top, steps)
    return result if result.converged or not fit.converged else fit


def _engine(design: AnyProblem, intercept: float, theta: Floats) -> ProxNewton:
    """Begin at a solution, with the Gram matrix of all rows."""
    engine = ProxNewton(design, intercept, theta)
    engine.gram_fraction = 1.0
    return engine


def _at_bound(design: AnyProblem, penalty: Penalty, gradient: Floats, theta: Floats) -> Mask:
    """Find the terms that an optimum may use."""
    bound = design.pull(gradient) >= (1.0 - AT_BOUND) * penalty.threshold
    return np.asarray(bound | (theta != 0.0))


def _whole(design: AnyProblem, penalty: Penalty, fit: Fit, sums: Sequence[Index]) -> list[Index]:
    """Return the sums to one that an optimum may use all terms of.

    The gradients of these sum to nothing, so that of the last one has the errors of all others.
    """
    least = (1.0 - AT_BOUND) * penalty.threshold - MARGIN * fit.kkt * penalty.scale
    used = (design.pull(fit.gradient) >= least) | (fit.coefficients != 0.0)
    return [members for members in sums if used[members].all()]


def _is_independent(design: AnyProblem, penalty: Penalty, fit: Fit, whole: Sequence[Index]) -> bool:
    """Tell whether what an optimum may use is independent once `whole` sums have lost a term each.

    What is independent on some rows is so on all, and so is what is zero there if it is
    independent by itself.
    """
    mask = _at_bound(design, penalty, fit.gradient, fit.coefficients)
    for members in whole:
        mask[members] = True
    terms = design.select(mask)
    with one_blas_thread():
        for part in (True, False):
            gram = design.data_gram(terms, part)
            absent = (np.diag(gram.centred) == 0.0) & (gram.cross == 0.0)
            free = ~absent
            for members in whole:
                places = np.searchsorted(terms.terms, members)
                free[places[np.argmax(gram.cross[places])]] = False  # the others are least alike
            if _has_full_rank(gram.centred[np.ix_(free, free)]):
                rest = design.select(np.isin(np.arange(design.n_terms), terms.terms[absent]))
                return not rest.terms.size or _has_full_rank(design.data_gram(rest).centred)
    return False


def _has_full_rank(gram: Floats) -> bool:
    """Tell whether a Gram matrix is that of independent columns, by a wide margin."""
    values = spectrum(gram)[1]
    return not values.size or bool(np.diag(gram).all() and values[0] > INDEPENDENT * values[-1])


def _moved(fit: Fit, penalty: Penalty, top: float, intercept: float, theta: Floats) -> Fit:
    """Return the fit at another point of the same score, and so of the same gradient."""
    kkt = max(fit.kkt, float(penalty.residuals(fit.gradient, theta).max()))
    objective = fit.objective + (penalty.value(theta) - penalty.value(fit.coefficients))
    found = replace(fit, intercept=intercept, coefficients=theta, objective=objective, kkt=kkt)
    return replace(found, converged=fit.converged and kkt <= allowed_residual(fit.l1, top))


def _basic(design: AnyProblem, penalty: Penalty, engine: ProxNewton) -> Point:
    """Choose a basic optimum (independent active columns) by non-negative least squares.

    With signs s, all optima are theta = s u with u >= 0 and the same centred score. Under the data
    weights, that is R u = R u_fit for the square root R of the signed Gram matrix. The columns are
    scaled by factors without pattern, so that no exact tie is left for rounding errors to decide.
    """
    _, gradient = engine.gradient()
    chosen = design.select(_at_bound(design, penalty, gradient, engine.theta))
    terms = chosen.terms
    signs = np.where(engine.theta != 0.0, np.sign(engine.theta), -np.sign(gradient))[terms]
    gram = design.data_gram(chosen)
    size, values, vectors = spectrum(gram.centred)
    kept = values > RANK * values[-1]
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    goal = root @ (engine.theta[terms] * size)
    factors = 1.0 + 0.1 * np.mod(GOLDEN * np.arange(1, terms.size + 1), 1.0)
    try:
        found = nnls(root * (signs * factors), goal, maxiter=50 * terms.size + 100)[0]
    except RuntimeError:  # the iteration cap of scipy
        logger.warning("Stage 3 found no basic solution at %d terms; kept as solved", terms.size)
        return engine.intercept, engine.theta.copy()
    theta = np.zeros_like(engine.theta)
    theta[terms] = _without_dust(signs * factors * found) / size
    moved = float(gram.cross @ (engine.theta - theta)[terms]) / gram.total
    return engine.intercept + moved, theta


def _without_dust(values: Floats) -> Floats:
    """`values` with exact zeros in place of rounding errors."""
    return np.asarray(np.where(np.abs(values) > _rounding(values), values, 0.0))


def _rounding(values: Floats) -> float:
    return max(NEGLIGIBLE * float(np.abs(values).max(initial=0.0)), ACTIVE)


def _shifted(
    design: AnyProblem, point: Point, sums: Sequence[Index], conditions: Conditions
) -> Point:
    """Return the point of the same score whose terms that sum to one have fewest conditions."""
    intercept, theta = point[0], point[1].copy()
    for members in sums:
        shift = _best_shift(design, theta, members, conditions)
        theta[members] = _without_dust(theta[members] + shift)
        intercept -= shift
    return intercept, theta


def _best_shift(design: AnyProblem, theta: Floats, members: Index, conditions: Conditions) -> float:
    """Constant to add to terms that sum to one: same L1 cost, fewest active conditions.

    Candidates make one member zero (the smallest position wins a tie) or change nothing, and give
    no member a sign it may not have.
    """
    shifts = np.append(-theta[members], 0.0)
    shifted = theta[members] + shifts[:, None]
    cost = np.abs(shifted) @ design.penalty[members]
    limit = _rounding(theta[members])
    active = (np.abs(shifted) > limit) @ conditions[members]
    permitted = (design.sign[members] * shifted >= -limit).all(axis=1)
    allowed = (cost <= cost[-1] * (1.0 + EQUAL_COST)) & permitted
    return float(shifts[np.argmin(np.where(allowed, active, np.iinfo(np.int64).max))])
