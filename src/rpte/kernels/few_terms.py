"""The fit of a few terms by Newton steps, all of it compiled: it is asked for very often."""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.kernels.losses import loss_statistics
from rpte.utils.arrays import Floats

LEAST_CURVATURE = 1e-6  # of a row of weight one: saturated rows must count


@jitable
def deviance_at(
    code: int,
    terms: Floats,
    rows: tuple[Floats, Floats],
    theta: Floats,
    ridge: float,
    work: Floats,
) -> float:
    """Return the deviance and the ridge of coefficients (k,); `work` (3, n) is what goes with them.

    Scores, and first and second derivatives of the loss by row. `rows` are y and weights, (n,).
    """
    y, weight = rows
    score = work[0]
    for i in range(score.size):
        score[i] = theta[0] * terms[0, i]
    for k in range(1, theta.size):
        for i in range(score.size):
            score[i] += theta[k] * terms[k, i]
    deviance = 2.0 * loss_statistics(code, score, y, weight, work[1], work[2])
    for i in range(score.size):
        work[2, i] = max(work[2, i], LEAST_CURVATURE * weight[i])
    for k in range(1, theta.size):
        deviance += ridge * theta[k] * theta[k]
    return deviance


@jitable
def newton_step(
    terms: Floats, theta: Floats, ridge: float, dependent: float, work: Floats
) -> Floats:
    """Return the step (k,) to where the second-order model at `work` is least."""
    size = theta.size
    factor, step = np.zeros((size, size)), np.zeros(size)
    for a in range(size):
        slope = -ridge * theta[a] if a > 0 else 0.0
        for i in range(terms.shape[1]):
            slope -= terms[a, i] * work[1, i]
        for b in range(a + 1):  # Cholesky, a row after the other
            total = dependent + (ridge if a > 0 else 0.0) if a == b else 0.0
            for i in range(terms.shape[1]):
                total += terms[a, i] * terms[b, i] * work[2, i]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            factor[a, b] = np.sqrt(max(total, 1e-300)) if a == b else total / factor[b, b]
            if b < a:
                slope -= factor[a, b] * step[b]
        step[a] = slope / factor[a, a]
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            step[a] -= factor[b, a] * step[b]
        step[a] /= factor[a, a]
    return step


@kernel
def fit_few_terms(
    code: int,
    terms: Floats,
    rows: tuple[Floats, Floats],
    theta: Floats,
    rule: tuple[float, float, float, int],
) -> float:
    """Fit coefficients `theta` (k,) of terms (k, n), the intercept's first; return the deviance.

    `rule` is the ridge on all but the intercept, what is added to the Hessian's diagonal, the
    relative fall of the deviance that ends the fit, and the most steps, and halvings of a step. The
    ridge is in the deviance.
    """
    ridge, dependent, least_gain, steps = rule
    work = np.empty((3, terms.shape[1]))
    deviance = deviance_at(code, terms, rows, theta, ridge, work)
    for _ in range(steps):
        before = deviance
        step = newton_step(terms, theta, ridge, dependent, work)
        for _ in range(steps):
            tried = theta + step
            after = deviance_at(code, terms, rows, tried, ridge, work)
            if after < deviance:
                deviance = after
                for k in range(theta.size):
                    theta[k] = tried[k]
                break
            step /= 2.0
        if before - deviance <= least_gain * before:
            break
    return deviance
