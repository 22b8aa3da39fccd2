"""The best few columns of a variable by second moments, added and replaced one by one.

With moments G and s of K scores, a column j gains sum over k of d_k^2 / ((1 + r) e_k) / 2 beside
the columns A that were chosen, where e_k = G_jj - G_jA M^-1 G_Aj, d_k = s_j - G_jA M^-1 s_A, and M
is G_AA with the ridge r G_aa on its diagonal: the fall of a quadratic model of the deviance.
"""

import numpy as np

from rpte.kernels.compile import jitable, kernel
from rpte.utils.arrays import Floats, Index, Mask

STEPS = 1e9  # gains are compared in steps of 1 / STEPS
TINY = 1e-300  # on a diagonal, so that a column that never varies has a finite fit

Moments = tuple[Floats, Floats]  # (K, q, q) and (K, q)
Rule = tuple[float, float, int]  # the ridge, the part that must be left of a column, and rounds


@jitable
def factorise(gram: Floats, slope: Floats, some: Index, ridge: float) -> tuple[Floats, Floats]:
    """Return a Cholesky factor of the moments of some columns, and the slopes divided by it."""
    size = some.size
    factor, half = np.zeros((size, size)), np.zeros(size)
    for a in range(size):
        half[a] = slope[some[a]]
        for b in range(a + 1):
            total = gram[some[a], some[b]]
            if a == b:
                total += ridge * total + TINY
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            factor[a, b] = np.sqrt(max(total, TINY)) if a == b else total / factor[b, b]
        for b in range(a):
            half[a] -= factor[a, b] * half[b]
        half[a] /= factor[a, a]
    return factor, half


@jitable
def gain_of(moments: Moments, some: Index, signs: Floats, ridge: float) -> float:
    """Return what the fit of some columns gains; -1 if a coefficient has a sign it may not have."""
    gram, slope = moments
    gain = 0.0
    for k in range(slope.shape[0]):
        factor, fit = factorise(gram[k], slope[k], some, ridge)
        for a in range(some.size - 1, -1, -1):
            for b in range(a + 1, some.size):
                fit[a] -= factor[b, a] * fit[b]
            fit[a] /= factor[a, a]
            if signs[some[a]] * fit[a] < 0.0:
                return -1.0
            gain += 0.5 * fit[a] * slope[k, some[a]]
    return gain


@jitable
def with_one_more(
    moments: Moments, own: Index, taken: Index, limits: tuple[Floats, Mask], rule: Rule
) -> tuple[Index, float]:
    """Return the `taken` columns and the one of `own` that gains most, and the gain of the fit.

    The gain is -1 if none may be added. `limits` are signs (q,), and which columns may not meet.
    """
    (gram, slope), (signs, apart), (ridge, least, _) = moments, limits, rule
    gains = np.zeros(own.size)
    for k in range(slope.shape[0]):
        factor, half = factorise(gram[k], slope[k], taken, ridge)
        part = np.empty(taken.size)
        for at in range(own.size):
            j = own[at]
            left, pull = gram[k, j, j], slope[k, j]
            for a in range(taken.size):
                part[a] = gram[k, taken[a], j]
                for b in range(a):
                    part[a] -= factor[a, b] * part[b]
                part[a] /= factor[a, a]
                left -= part[a] * part[a]
                pull -= part[a] * half[a]
            if left > least * gram[k, j, j] and left > 0.0 and signs[j] * pull >= 0.0:
                gains[at] += pull * pull / ((1.0 + ridge) * left)
    for at in range(own.size):
        for a in range(taken.size):
            if own[at] == taken[a] or apart[own[at], taken[a]]:
                gains[at] = 0.0
    longer = np.empty(taken.size + 1, np.intp)
    while True:
        best, most = -1, 0.0
        for at in range(own.size):
            if gains[at] > 0.0 and (best < 0 or np.rint(gains[at] * STEPS) > most):
                best, most = at, np.rint(gains[at] * STEPS)
        if best < 0:
            return longer, -1.0
        place, gains[best] = taken.size, 0.0
        while place > 0 and taken[place - 1] > own[best]:
            longer[place] = taken[place - 1]
            place -= 1
        longer[place] = own[best]
        for a in range(place):
            longer[a] = taken[a]
        gain = gain_of(moments, longer, signs, ridge)
        if gain >= 0.0:
            return longer, gain


@kernel
def best_columns(
    moments: Moments, own: Index, limits: tuple[Floats, Mask], rule: Rule, found: Index
) -> int:
    """Fill the rows of `found` (m, m) with the best column, the best two, ...; return how many.

    Columns are added one by one; then each is replaced while that gains, in some rounds.
    """
    shape = np.empty(0, np.intp)
    for count in range(found.shape[0]):
        shape, gain = with_one_more(moments, own, shape, limits, rule)
        if gain < 0.0:
            return count
        for _ in range(rule[2] if shape.size > 1 else 0):
            best, most = shape, gain
            for out in range(shape.size):
                others = np.empty(shape.size - 1, np.intp)
                for a in range(others.size):
                    others[a] = shape[a if a < out else a + 1]
                other, own_gain = with_one_more(moments, own, others, limits, rule)
                if own_gain > most * (1.0 + 1e-9):
                    best, most = other, own_gain
            if most == gain:
                break
            shape, gain = best, most
        for a in range(shape.size):
            found[count, a] = shape[a]
    return len(found)
