"""Comparisons of models: over sets, and over the splits of one set.

Wilcoxon's signed-rank test over set means with Holm's correction, as in the paper. Over the splits
of one set, whose training rows overlap: the corrected resampled t-test (Nadeau and Bengio, 2003),
and its Bayesian reading, the correlated t-test with a region of practical equivalence (Corani and
Benavoli, 2015): the posterior of the mean difference is a Student t with the corrected variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

ROPE = 0.01


@dataclass(frozen=True)
class Signed:
    """A Wilcoxon test of first - second: W, p, median difference, wins, ties and losses."""

    statistic: float
    p: float
    median: float
    record: tuple[int, int, int]


def wilcoxon(first: Sequence[float], second: Sequence[float], digits: int = 6) -> Signed:
    """Compare set means; differences beyond so many digits are ties, as two perfect AUCs are."""
    apart = np.round(np.asarray(first), digits) - np.round(np.asarray(second), digits)
    apart = np.round(apart, digits)
    record = (int((apart > 0).sum()), int((apart == 0).sum()), int((apart < 0).sum()))
    moved = apart[apart != 0]
    if not len(moved):
        return Signed(0.0, 1.0, 0.0, record)
    ranks = stats.rankdata(np.abs(moved))
    statistic = float(min(ranks[moved > 0].sum(), ranks[moved < 0].sum()))
    return Signed(statistic, _exact_p(ranks, statistic), float(np.median(apart)), record)


def _exact_p(ranks: np.ndarray, statistic: float) -> float:
    """Return the two-sided p-value over all ways to give signs to the ranks; zeros are left out.

    Mid-ranks of ties are halves, so sums are counted in halves.
    """
    halves = np.round(2 * ranks).astype(int)
    ways = np.zeros(halves.sum() + 1)
    ways[0] = 1.0
    for rank in halves:
        ways[rank:] += ways[: len(ways) - rank].copy()
    below = ways[: round(2 * statistic) + 1].sum() / ways.sum()
    return float(min(1.0, 2.0 * below))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for all tests of a family."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected.tolist()


@dataclass(frozen=True)
class Paired:
    """The mean difference over the splits of a set, its corrected error, and what follows.

    Parameters
    ----------
    mean, error : float
    p : float
        Two-sided, of the corrected resampled t-test.
    worse, same, better : float
        Posterior probability that the first model is worse than, practically equal to, better than
        the second.
    """

    mean: float
    error: float
    p: float
    worse: float
    same: float
    better: float


def paired(
    first: Sequence[float], second: Sequence[float], test_share: float, rope: float = ROPE
) -> Paired:
    """Compare two models split by split.

    Parameters
    ----------
    first, second : the measure by split
    test_share : float
        Test rows divided by training rows, 1/4 for five folds.
    rope : float
        Differences up to this count as none.
    """
    apart = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    n, mean = len(apart), float(apart.mean())
    variance = float(apart.var(ddof=1)) if n > 1 else 0.0
    error = float(np.sqrt(variance * (1.0 / n + test_share)))
    if error == 0.0:
        side = (float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
        return Paired(mean, 0.0, float(mean == 0.0), *side)
    posterior = stats.t(n - 1, loc=mean, scale=error)
    worse, better = float(posterior.cdf(-rope)), float(posterior.sf(rope))
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return Paired(mean, error, p, worse, 1.0 - worse - better, better)


def mean_ranks(table: np.ndarray) -> np.ndarray:
    """Return the mean rank of each column over rows, 1 for the largest value, ties shared."""
    return np.mean([stats.rankdata(-row) for row in table], axis=0)


def critical_difference(n_models: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks (Demsar, 2006)."""
    q = stats.studentized_range.ppf(1 - alpha, n_models, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6.0 * n_sets)))
