"""A stretch of the lambda path in one call, solved roughly: enough to compare penalties.

The proximal Newton method of `rpte.estimation.newton` for columns that are rows of one matrix: a
working set that grows by violations, a Gram matrix that is kept and extended while it serves,
coordinate descent, and steps that are halved until the true objective falls. A fit stops at a
residual of `ROUGH` times lambda over all terms, or where the objective hardly falls any more.
Columns are in single precision, which is far finer than that.
"""

import numpy as np

from rpte.kernels.codes import stable_order
from rpte.kernels.compile import jitable, kernel
from rpte.kernels.coordinate_descent import penalised_minimum, violation
from rpte.kernels.design_products import CONSTANT
from rpte.kernels.losses import loss_statistics
from rpte.utils.arrays import Floats, Index, Int8s, Mask, Singles

# The loss: its code, the largest curvature of a row of weight one; targets, row weights (n,)
Data = tuple[int, float, Floats, Floats]
Fit = tuple[Floats, Floats, Floats]  # score, residual and curvature, (n,)
# L1 and L2 penalties, the sign that a coefficient may have (0: either), penalty factors, (k,)
Penalties = tuple[Floats, Floats, Int8s, Floats]
Moments = tuple[Floats, Floats, Floats]  # second (k, k) and cross (k,), under row weights (n,)
Step = tuple[Floats, Floats, float]  # of scores (n,) and coefficients (k,); expected change
# Penalty factors, the sign that a coefficient may have (q,), and the fraction that is L1
Rule = tuple[Floats, Int8s, float]
# `state` (3,), coefficients (q,), the fit, and the gradient (q,)
Point = tuple[Floats, Floats, Fit, Floats]
# The working set (k,), its moments, and the row weights (n,) under which they were taken
WorkingSet = tuple[Index, Floats, Floats, Floats]

ROUGH = 1e-2  # of lambda: the residual at which a fit stops
ENOUGH = 1e-5  # of the loss: a step or a wider working set that gains less is the last
INTERCEPT, LOSS, TOTAL = 0, 1, 2  # what `state` holds; the total of no Gram matrix is 0
ROUNDS = 12  # times that the working set may grow at one lambda
STEPS = 16  # Newton steps on one working set
KEEP = 0.3  # a Gram matrix is kept while a step with it shrinks the residual to this fraction
AT_ONCE = 16  # terms that may always join the working set at once
NEAR = 0.6  # fraction of the pull that a term needs, from which it may join the working set
FLOOR = 1e-10  # smallest curvature of a row, as a fraction of its weight
RAISED = 1e-3  # the floor where a step fails; ten times so if it fails again, up to the largest
# curvature there is: with that the objective falls.
SHORTEST = 1e-4  # step
SINGLE_TILE_ROWS = 4_096  # of a Gram matrix in single precision, which half the memory holds
PANEL = 48  # of its rows, so that only half of it is computed


@kernel
def gradients(z: Singles, rows: Index, values: Singles, out: Floats) -> None:
    """Fill `out` (k,) with the products of some rows of `z` (q, n) and `values` (n,)."""
    for a in range(rows.size):
        out[a] = np.dot(z[rows[a]], values)


@kernel
def exact_gradients(z: Singles, rows: Index, values: Floats, out: Floats) -> None:
    """Do as `gradients`, in double precision and row by row: the same on every machine."""
    for a in range(rows.size):
        row, total = z[rows[a]], 0.0
        for i in range(values.size):
            total += row[i] * values[i]
        out[a] = total


@kernel
def add_rows(z: Singles, rows: Index, coefficients: Floats, out: Floats) -> None:
    """Add some rows of `z` (q, n) times their coefficients (k,) to `out` (n,)."""
    for a in range(rows.size):
        factor = coefficients[a]
        if factor != 0.0:
            row = z[rows[a]]
            for i in range(out.size):
                out[i] += factor * row[i]


@kernel
def add_moments(
    z: Singles, rows: Index, known: int, h: Floats, second: Floats, cross: Floats
) -> None:
    """Fill `second` (k, k) and `cross` (k,) with the moments of some rows of `z` (q, n).

    Under the weights `h` (n,). Those of the first `known` rows are there already.
    """
    k, n = rows.size, h.size
    second[known:], cross[known:] = 0.0, 0.0
    root = np.sqrt(h).astype(np.float32)
    for low in range(0, n, SINGLE_TILE_ROWS):
        high = min(low + SINGLE_TILE_ROWS, n)
        block = np.empty((k, high - low), np.float32)
        for a in range(k):
            row = z[rows[a]]
            for i in range(low, high):
                block[a, i - low] = root[i] * row[i]
        for a in range(known, k):
            cross[a] += np.dot(block[a], root[low:high])
        for first in range(known, k, PANEL):
            last = min(first + PANEL, k)
            panel = np.dot(block[first:last], block[:last].T)
            for a in range(first, last):
                for b in range(last):
                    second[a, b] += panel[a - first, b]
    for a in range(known, k):
        for b in range(a):
            second[b, a] = second[a, b]


@kernel
def deviances(z: Singles, rows: Index, data: Data, low: int, fits: Floats, out: Floats) -> None:
    """Fill `out` (f,) with the mean deviance of each fit on the columns of `z` from `low` on.

    `data` is of these columns; `fits` (f, q + 1) are intercepts and the coefficients of the terms
    in some `rows` (q,) of `z`.
    """
    code, _, y, weight = data
    residual, curvature, total = np.empty(y.size), np.empty(y.size), 0.0
    for i in range(y.size):
        total += weight[i]
    for at in range(fits.shape[0]):
        score = np.full(y.size, fits[at, 0])
        for a in range(rows.size):
            factor = fits[at, 1 + a]
            if factor != 0.0:
                row = z[rows[a], low : low + y.size]
                for i in range(y.size):
                    score[i] += factor * row[i]
        out[at] = 2.0 * loss_statistics(code, score, y, weight, residual, curvature) / total


@jitable
def thresholds(size: float, sign: int) -> tuple[float, float]:
    """Return the L1 penalties of positive and of negative values."""
    return (np.inf if sign < 0 else size), (np.inf if sign > 0 else size)


@jitable
def centred(second: Floats, cross: Floats, total: float) -> Floats:
    """Return second moments (k, k) from which the intercept is eliminated."""
    gram = np.empty_like(second)
    for a in range(cross.size):
        for b in range(cross.size):
            gram[a, b] = second[a, b] - cross[a] * (cross[b] / total)
    for a in range(cross.size):
        if gram[a, a] <= CONSTANT * second[a, a]:
            gram[a, :] = 0.0
            gram[:, a] = 0.0
    return gram


@jitable
def penalised(theta: Floats, l1: Floats, l2: Floats) -> float:
    """Return the elastic-net penalty of some coefficients; all (k,)."""
    total = 0.0
    for a in range(theta.size):
        total += l1[a] * abs(theta[a]) + 0.5 * l2[a] * theta[a] * theta[a]
    return total


@jitable
def excesses(gradient: Floats, theta: Floats, penalties: Penalties, out: Floats) -> float:
    """Fill `out` (k,) with violations of the optimality conditions, in units of lambda.

    Return the largest, 0 if there are no terms.
    """
    l1, l2, sign, factor = penalties
    largest = 0.0
    for a in range(theta.size):
        up, down = thresholds(l1[a], sign[a])
        out[a] = violation(gradient[a] + l2[a] * theta[a], theta[a], up, down) / factor[a]
        largest = max(largest, out[a])
    return largest


@jitable
def working_set(pull: Floats, theta: Floats, l1: Floats) -> Index:
    """Return the active terms, and those of the others that are nearest to becoming so.

    As many more as there are, if their pull (q,) is at least `NEAR` of what is needed.
    """
    wanted = theta != 0.0
    near = np.flatnonzero((theta == 0.0) & (pull >= NEAR * l1))
    room = max(AT_ONCE, wanted.sum())
    if near.size > room:
        near = near[stable_order(-pull[near] / l1[near])[:room]]
    wanted[near] = True
    return np.flatnonzero(wanted)


@kernel
def changed(
    z: Singles, rows: Index, held: Index, wanted: Index, known: Mask, moments: Moments, total: float
) -> tuple[Index, Floats, Floats]:
    """Return another working set with its moments: those known, if there are any, are kept.

    The terms that stay come first. `known` (q,) tells which terms are in the set.
    """
    second, cross, weight = moments
    stays = np.zeros(known.size, np.bool_)
    stays[wanted] = True
    at = np.flatnonzero(stays[held])
    kept, joined = held[at], wanted[~known[wanted]]
    for j in range(known.size):
        known[j] = stays[j]
    terms = np.concatenate((kept, joined))
    new_second, new_cross = np.empty((terms.size, terms.size)), np.empty(terms.size)
    if total > 0.0:
        for a in range(at.size):
            new_cross[a] = cross[at[a]]
            for b in range(at.size):
                new_second[a, b] = second[at[a], at[b]]
        add_moments(z, rows[terms], at.size, weight, new_second, new_cross)
    return terms, new_second, new_cross


@jitable
def line_search(
    data: Data, penalties: Penalties, step: Step, state: Floats, theta: Floats, fit: Fit
) -> float:
    """Halve a step until the objective falls enough; return its factor, 0 if none is taken."""
    (code, _, y, row_weight), (l1, l2, _, _) = data, penalties
    (along, move, promised), (score, residual, curvature) = step, fit
    trial, new_residual = np.empty_like(score), np.empty_like(score)
    new_curvature = np.empty_like(score)
    held = penalised(theta, l1, l2)
    size = 1.0
    while size >= SHORTEST:
        for i in range(score.size):
            trial[i] = score[i] + size * along[i]
        loss = loss_statistics(code, trial, y, row_weight, new_residual, new_curvature)
        middle = theta + size * move
        most = state[LOSS] + held + 1e-4 * size * promised + 1e-12 * abs(state[LOSS])
        if loss + penalised(middle, l1, l2) <= most:
            for a in range(theta.size):
                theta[a] = middle[a]
            for i in range(score.size):
                score[i], residual[i], curvature[i] = trial[i], new_residual[i], new_curvature[i]
            state[LOSS] = loss
            return size
        size *= 0.5
    return 0.0


@jitable
def newton_steps(
    z: Singles,
    rows: Index,
    data: Data,
    penalties: Penalties,
    target: float,
    moments: Moments,
    state: Floats,
    theta: Floats,
    fit: Fit,
) -> None:
    """Minimise over the terms in some rows (k,) of `z`; what changes with them goes along.

    The moments are used as they are if `state` holds the total of their weights.
    """
    k, (_, bound, y, row_weight), (_, residual, curvature) = rows.size, data, fit
    (second, cross, weight), (l1, l2, sign, factor) = moments, penalties
    slope, excess, along = np.empty(k), np.empty(k), np.empty(y.size)
    up, down = np.empty(k), np.empty(k)
    for a in range(k):
        up[a], down[a] = thresholds(l1[a], sign[a])
    previous, floor = np.inf, FLOOR
    gram = np.empty_like(second)
    if state[TOTAL] > 0.0:
        gram = centred(second, cross, state[TOTAL])
    for _ in range(STEPS):
        gradients(z, rows, residual.astype(np.float32), slope)
        at_intercept = residual.sum()
        worst = max(abs(at_intercept), excesses(slope, theta, penalties, excess))
        if worst <= target:
            return
        if state[TOTAL] == 0.0 or worst > KEEP * previous:
            for i in range(weight.size):
                weight[i] = max(curvature[i], floor * row_weight[i])
            state[TOTAL] = weight.sum()
            add_moments(z, rows, 0, weight, second, cross)
            gram = centred(second, cross, state[TOTAL])
        previous = worst
        tilt = slope + l2 * theta - cross * (at_intercept / state[TOTAL])
        accuracy = max(0.03 * worst, 0.1 * target)
        there = penalised_minimum(gram, tilt, theta, l1, l2, up, down, factor, accuracy)
        move = there - theta
        shift = -(at_intercept + np.dot(cross, move)) / state[TOTAL]
        along[:] = shift
        add_rows(z, rows, move, along)
        promised = at_intercept * shift + np.dot(slope, move)
        promised += penalised(there, l1, l2) - penalised(theta, l1, l2)
        if 0.0 <= -promised <= ENOUGH * state[LOSS]:
            return
        size = 0.0
        if promised < 0.0:
            size = line_search(data, penalties, (along, move, promised), state, theta, fit)
        if size == 0.0:
            if floor == bound:
                return
            floor = min(max(RAISED, 10.0 * floor), bound)
            state[TOTAL] = 0.0
        state[INTERCEPT] += size * shift


@kernel
def approximate_path(
    z: Singles, rows: Index, data: Data, rule: Rule, l1s: Floats, point: Point, work: WorkingSet
) -> tuple[Floats, WorkingSet]:
    """Go down some lambdas (f,), descending, from a point: all that belongs to it goes along.

    The terms are the `rows` (q,) of `z` (m, n); `data` has row weights that sum to 2. `state` holds
    the intercept, the loss, and the total of the weights of the moments, 0 if there are none.
    Return the intercept and the coefficients at each lambda, (f, q + 1), and the working set.
    """
    (penalty, sign, l1_ratio), (state, theta, fit, gradient) = rule, point
    (terms, second, cross, weight), residual, q = work, fit[1], rows.size
    fits = np.empty((l1s.size, q + 1))
    excess, pull, known = np.empty(q), np.empty(q), np.zeros(q, np.bool_)
    known[terms] = True
    for at in range(l1s.size):
        target = ROUGH * l1s[at]
        l1, l2 = l1s[at] * l1_ratio * penalty, l1s[at] * (1.0 - l1_ratio) * penalty
        for _ in range(ROUNDS):
            worst = excesses(gradient, theta, (l1, l2, sign, penalty), excess)
            if max(abs(residual.sum()), worst) <= target:
                break
            if np.any((excess > target) & ~known):
                for j in range(q):
                    pull[j] = abs(gradient[j]) if sign[j] == 0 else -sign[j] * gradient[j]
                wanted = working_set(pull, theta, l1)
                moments = (second, cross, weight)
                terms, second, cross = changed(z, rows, terms, wanted, known, moments, state[TOTAL])
            here = theta[terms]
            some = (l1[terms], l2[terms], sign[terms], penalty[terms])
            before = state[LOSS] + penalised(here, some[0], some[1])
            moments = (second, cross, weight)
            newton_steps(z, rows[terms], data, some, 0.5 * target, moments, state, here, fit)
            gain = before - state[LOSS] - penalised(here, some[0], some[1])
            for a in range(terms.size):
                theta[terms[a]] = here[a]
            gradients(z, rows, residual.astype(np.float32), gradient)
            if gain <= ENOUGH * state[LOSS]:
                break
        fits[at, 0] = state[INTERCEPT]
        for j in range(q):
            fits[at, 1 + j] = theta[j]
    return fits, (terms, second, cross, weight)
