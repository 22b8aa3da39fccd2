"""Losses in kernels: dispatched by their integer code, once per call and never row by row.

A loss is a function of scores that returns its sum over rows and fills the first and second
derivatives; `rpte.losses` says the same in numpy, and a test compares the two. The codes are those
of `rpte.losses`.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Floats

BINOMIAL, SQUARED, POISSON, GAMMA, TWEEDIE = range(5)
CODES = 8  # a code modulo this is the loss; the rest is the power of a Tweedie loss in millionths
MILLION = 1e6
LARGEST_SCORE = 500.0  # as in `rpte.losses.numbers`


@jitable
def binomial_statistics(
    score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Weighted logistic loss, written in the margin against the label.

    So a row fitted almost perfectly keeps its full relative precision.
    """
    loss = 0.0
    for i in range(score.shape[0]):
        positive = y[i] > 0.5
        margin = -score[i] if positive else score[i]
        e = np.exp(-abs(margin))
        loss += weight[i] * (max(margin, 0.0) + np.log1p(e))
        miss = 1.0 / (1.0 + e) if margin >= 0.0 else e / (1.0 + e)
        residual[i] = -weight[i] * miss if positive else weight[i] * miss
        curvature[i] = weight[i] * e / ((1.0 + e) * (1.0 + e))
    return loss


@jitable
def squared_statistics(
    score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Half the weighted squared error."""
    loss = 0.0
    for i in range(score.shape[0]):
        miss = score[i] - y[i]
        loss += 0.5 * weight[i] * miss * miss
        residual[i] = weight[i] * miss
        curvature[i] = weight[i]
    return loss


@jitable
def poisson_statistics(
    score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Half the weighted Poisson deviance of means exp(score)."""
    loss = 0.0
    for i in range(score.shape[0]):
        at = min(max(score[i], -LARGEST_SCORE), LARGEST_SCORE)
        mean = np.exp(at)
        own = y[i] * np.log(y[i]) - y[i] if y[i] > 0.0 else 0.0
        loss += weight[i] * max(own - y[i] * at + mean, 0.0)
        residual[i] = weight[i] * (mean - y[i])
        curvature[i] = weight[i] * mean
    return loss


@jitable
def gamma_statistics(
    score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Half the weighted gamma deviance of means exp(score)."""
    loss = 0.0
    for i in range(score.shape[0]):
        at = min(max(score[i], -LARGEST_SCORE), LARGEST_SCORE)
        ratio = y[i] * np.exp(-at)
        loss += weight[i] * max(at - np.log(y[i]) + ratio - 1.0, 0.0)
        residual[i] = weight[i] * (1.0 - ratio)
        curvature[i] = weight[i] * ratio
    return loss


@jitable
def tweedie_statistics(
    power: float, score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Half the weighted Tweedie deviance of means exp(score), of a power between 1 and 2."""
    loss, one, two = 0.0, 1.0 - power, 2.0 - power
    for i in range(score.shape[0]):
        at = min(max(score[i], -LARGEST_SCORE), LARGEST_SCORE)
        claims, costs = y[i] * np.exp(one * at), np.exp(two * at)
        own = y[i] ** two / (one * two)
        loss += weight[i] * max(own - claims / one + costs / two, 0.0)
        residual[i] = weight[i] * (costs - claims)
        curvature[i] = weight[i] * (two * costs - one * claims)
    return loss


@kernel
def loss_statistics(
    code: int, score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Return the weighted loss, half the deviance; fill its derivatives by row (all (n,))."""
    if code == BINOMIAL:
        return binomial_statistics(score, y, weight, residual, curvature)
    if code == SQUARED:
        return squared_statistics(score, y, weight, residual, curvature)
    if code == POISSON:
        return poisson_statistics(score, y, weight, residual, curvature)
    if code == GAMMA:
        return gamma_statistics(score, y, weight, residual, curvature)
    if code > 0 and code % CODES == TWEEDIE:
        power = (code // CODES) / MILLION
        return tweedie_statistics(power, score, y, weight, residual, curvature)
    return np.nan
