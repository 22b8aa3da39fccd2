"""Losses in kernels: dispatched by their integer code, once per call and never row by row.

A loss is a function of scores that returns its sum over rows and fills the first and second
derivatives; `rpte.losses` says the same in numpy, and a test compares the two. The codes are those
of `rpte.losses`.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Floats

BINOMIAL = 0


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


@kernel
def loss_statistics(
    code: int, score: Floats, y: Floats, weight: Floats, residual: Floats, curvature: Floats
) -> float:
    """Return the weighted loss, half the deviance; fill its derivatives by row (all (n,))."""
    if code == BINOMIAL:
        return binomial_statistics(score, y, weight, residual, curvature)
    return np.nan
