"""One elastic-net fit: equation (5), certified by its optimality conditions."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rpte.estimation.newton import FLOOR, Outcome, ProxNewton
from rpte.estimation.problem import AnyProblem
from rpte.estimation.quadratic import Penalty
from rpte.kernels.blas import one_blas_thread
from rpte.utils.arrays import Floats

logger = logging.getLogger("rpte")

# Without any L1 penalty no lambda is large enough; the grid then starts as if the ratio were this.
MIN_L1_RATIO = 1e-3
# On some of the rows: more steps would go after what only these say.
FIRST_FLOOR, FIRST_STEPS = 0.01, 6
FIRST_RESIDUAL = 0.05  # of lambda: less than what the other rows change
SLACK = 3.0  # times the residual of many rows: still 300-fold inside what is promised
ROUNDING = 1e-14  # a null gradient below this fraction of the column's largest value is zero


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A solution of equation (5) with its certificate.

    The coefficients have exact zeros outside the support, and no sign that `Design` forbids. `kkt`
    is in units of lambda: term violations are divided by their relative penalty weights.
    """

    intercept: float  # not penalised
    coefficients: Floats  # in the order of `Design`, (q,)
    l1: float
    l1_ratio: float
    objective: float  # mean deviance plus penalty
    kkt: float  # largest violation of the optimality conditions, over the intercept and all terms
    iterations: int  # Newton steps taken
    converged: bool  # whether `kkt` is at most 1e-6 of lambda_max and 1e-3 of lambda
    gradient: Floats  # of the mean deviance, (q,)


def lambda_max(design: AnyProblem, l1_ratio: float = 1.0) -> float:
    """Smallest lambda at which every coefficient is zero; 0 when no term has a gradient."""
    null = design.null_model()
    pull = design.pull(null.gradient)
    sizes = np.where(pull > ROUNDING * null.peaks, pull, 0.0) / design.penalty
    return float(np.max(sizes, initial=0.0) / max(l1_ratio, MIN_L1_RATIO))


def lambda_grid(
    design: AnyProblem, l1_ratio: float = 1.0, length: int = 50, ratio: float = 1e-3
) -> Floats:
    """Descending geometric grid from lambda_max to `ratio` times it, shape (length,).

    Where no term has a gradient every lambda gives the model without terms; the grid starts at 1.
    """
    top = lambda_max(design, l1_ratio) or 1.0
    return np.asarray(top * np.geomspace(1.0, ratio, length))


def path(design: AnyProblem, l1s: Iterable[float], l1_ratio: float = 1.0) -> list[Fit]:
    """One fit per lambda of `l1s`, best in descending order, each started from the one before.

    The strong rule (Tibshirani and others, 2012) only chooses the first working set; every fit is
    checked against the optimality conditions of all terms.
    """
    top = before = lambda_max(design, l1_ratio)
    engine, fits = ProxNewton(design, design.null_score, np.zeros(design.n_terms)), []
    for l1 in map(float, l1s):
        check_penalty(l1, l1_ratio)
        with one_blas_thread():
            penalty = Penalty.of(design, l1, l1_ratio)
            least = (2 * l1 - before) * l1_ratio
            strong = design.pull(engine.gradient()[1]) >= least * design.penalty
            outcome = engine.run(penalty, strong, target_residual(l1, top))
        fits.append(fit_of(engine, penalty, outcome, l1, l1_ratio, top))
        before = l1
    return fits


def solve(design: AnyProblem, l1: float, l1_ratio: float = 1.0, start: Floats | None = None) -> Fit:
    """Minimise equation (5) at lambda = `l1` > 0, of which `l1_ratio` is L1 and the rest ridge.

    `start` (q + 1,) are the intercept and the coefficients to start from (forbidden signs count as
    zero), ignored where they are worse than the model without terms. When the residual is above
    tolerance, the fit has `converged` False and a warning is logged.
    """
    check_penalty(l1, l1_ratio)
    top = lambda_max(design, l1_ratio)
    penalty = Penalty.of(design, l1, l1_ratio)
    target = target_residual(l1, top)
    # A start of rows that come in blocks is a fit of their sample.
    few = None if design.by_blocks and start is not None else design.part()
    if design.by_blocks:
        target *= SLACK
    # Not to let the working set grow where each step is a pass.
    first = np.full(design.n_terms, design.by_blocks)
    with one_blas_thread():
        if few is not None:
            engine = _engine(few, penalty, start, FIRST_FLOOR)
            engine.run(penalty, first, FIRST_RESIDUAL * l1, most=FIRST_STEPS)
            start = np.array([engine.intercept, *engine.theta])
        engine = _engine(design, penalty, start)
        outcome = engine.run(penalty, first, target)
    told = design.n_rows, design.n_terms, outcome.steps, engine.grams, outcome.kkt
    logger.debug("Stage 3: %d rows, %d terms, %d steps, %d Gram matrices, residual %.3g", *told)
    return fit_of(engine, penalty, outcome, l1, l1_ratio, top)


def _engine(
    design: AnyProblem, penalty: Penalty, start: Floats | None, floor: float = FLOOR
) -> ProxNewton:
    """Begin at `start`, or without terms when that is the better point."""
    intercept, none = design.null_score, np.zeros(design.n_terms)
    if start is not None:
        warm = ProxNewton(design, float(start[0]), start[1:], floor)
        if warm.loss + penalty.value(warm.theta) < design.null_model().loss:
            return warm
    return ProxNewton(design, intercept, none, floor)


def check_penalty(l1: float, l1_ratio: float) -> None:
    """Raise on penalties for which equation (5) need not have a minimum."""
    if not (np.isfinite(l1) and l1 > 0.0):
        raise ValueError(f"lambda is {l1}; it must be positive and finite")
    if not 0.0 <= l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio is {l1_ratio}; it must lie in [0, 1]")


def target_residual(l1: float, top: float) -> float:
    """Residual at which the iteration stops: a thousandfold inside what is promised."""
    return min(1e-9 * top, 1e-6 * l1) if top > 0.0 else 1e-9 * l1


def allowed_residual(l1: float, top: float) -> float:
    """Largest residual of a fit that has converged."""
    return min(1e-6 * top, 1e-3 * l1) if top > 0.0 else 1e-6 * l1


def fit_of(
    engine: ProxNewton,
    penalty: Penalty,
    outcome: Outcome,
    l1: float,
    l1_ratio: float,
    top: float,
    steps_before: int = 0,
) -> Fit:
    """Freeze the state of the iteration; say so when it missed its tolerance."""
    tolerance = allowed_residual(l1, top)
    converged = outcome.kkt <= tolerance
    if not converged:
        text = "Stage 3 did not converge at lambda=%.6g: residual %.3g after %d steps, %.3g allowed"
        logger.warning(text, l1, *outcome, tolerance)
    objective, steps = engine.loss + penalty.value(engine.theta), steps_before + outcome.steps
    at = engine.intercept, engine.theta.copy(), float(l1), float(l1_ratio)
    return Fit(*at, objective, outcome.kkt, steps, converged, engine.gradient()[1])
