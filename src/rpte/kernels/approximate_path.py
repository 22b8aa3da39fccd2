"""A stretch of the lambda path, solved roughly: enough to compare penalties.

The proximal Newton method of `rpte.estimation.newton` for columns that are rows of one matrix: a
working set that grows by violations, a Gram matrix that is kept and extended while it serves,
coordinate descent, and steps that are halved until the true objective falls. A fit stops at a
residual of `ROUGH` times lambda over all terms, or where the objective hardly falls any more.
Columns are in single precision, which is far finer than that.

The method is written once. `approximate_path` compiles it as a whole, for small problems and for
fits on one thread. `follow` is its source, which also runs as it is: what goes over rows is then
left to `blocks`, an object with the methods `gradients`, `moments`, `along` and `trial` that uses
threads. In what is compiled `blocks` is None, and numba leaves its branches out. Either way sums
over rows are added block by block, in the order of the blocks that begin at `starts` (b + 1,), so
that both find the same.
"""

from typing import Any

import numpy as np

from rpte.kernels.codes import stable_order
from rpte.kernels.compile import jitable, kernel
from rpte.kernels.coordinate_descent import penalised_minimum, violation
from rpte.kernels.design_products import CONSTANT
from rpte.kernels.losses import loss_statistics
from rpte.kernels.term_products import (
    Data,
    Terms,
    add_rows,
    gradients,
    moments_of_rows,
    put_moments,
    some_terms,
)
from rpte.utils.arrays import Floats, Index, Int8s, Mask

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


@jitable
def all_gradients(terms: Terms, residual: Floats, out: Floats, starts: Index, blocks: Any) -> None:
    """Fill `out` (k,) with the gradients of the terms."""
    if blocks is None:
        singles, part = residual.astype(np.float32), np.empty(out.size)
        for b in range(starts.size - 1):
            gradients(terms, singles, starts[b], starts[b + 1], part)
            for a in range(out.size):
                out[a] = part[a] if b == 0 else out[a] + part[a]
    else:
        blocks.gradients(terms, residual, out)


@jitable
def add_moments(
    terms: Terms,
    known: int,
    h: Floats,
    second: Floats,
    cross: Floats,
    starts: Index,
    blocks: Any,
) -> None:
    """Fill `second` (k, k) and `cross` (k,) with the moments of the terms under `h` (n,).

    Those of the first `known` terms are there already.
    """
    if blocks is None:
        found = np.zeros((cross.size - known, cross.size + 1))
        for b in range(starts.size - 1):
            part = np.zeros(found.shape)
            moments_of_rows(terms, known, h, starts[b], starts[b + 1], part)
            found += part
    else:
        found = blocks.moments(terms, known, h)
    put_moments(found, known, second, cross)


@jitable
def step_of_scores(terms: Terms, move: Floats, shift: float, out: Floats, blocks: Any) -> None:
    """Fill `out` (n,) with how far scores go where coefficients move (k,) and the intercept."""
    if blocks is None:
        for i in range(out.size):
            out[i] = shift
        add_rows(terms, move, 0, out.size, out)
    else:
        blocks.along(terms, move, shift, out)


@kernel
def try_rows(
    data: Data, fit: Fit, along: Floats, size: float, low: int, high: int, trial: Fit
) -> float:
    """Fill a trial with the fit after a step, between two rows; return the loss there."""
    (code, _, y, row_weight), (score, residual, curvature) = data, trial
    for i in range(low, high):
        score[i] = fit[0][i] + size * along[i]
    return loss_statistics(
        code,
        score[low:high],
        y[low:high],
        row_weight[low:high],
        residual[low:high],
        curvature[low:high],
    )


@kernel
def try_blocks(
    data: Data, fit: Fit, along: Floats, size: float, starts: Index, trial: Fit, out: Floats
) -> None:
    """Do as `try_rows` for blocks of rows that begin at `starts`; fill `out` (b, 1) with losses."""
    for block in range(out.shape[0]):
        low, high = starts[block], starts[block + 1]
        out[block, 0] = try_rows(data, fit, along, size, low, high, trial)


@kernel
def take_over(trial: Fit, fit: Fit) -> None:
    """Make a trial the fit."""
    for i in range(fit[0].size):
        fit[0][i], fit[1][i], fit[2][i] = trial[0][i], trial[1][i], trial[2][i]


@kernel
def row_curvature(curvature: Floats, row_weight: Floats, floor: float, out: Floats) -> float:
    """Fill `out` with curvatures of at least a fraction of the weight, all (n,); return the sum."""
    total = 0.0
    for i in range(out.size):
        out[i] = max(curvature[i], floor * row_weight[i])
        total += out[i]
    return total


@jitable
def thresholds(size: float, sign: int) -> tuple[float, float]:
    """Return the L1 penalties of positive and of negative values."""
    return (np.inf if sign < 0 else size), (np.inf if sign > 0 else size)


@kernel
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


@kernel
def sum_of(values: Floats) -> float:
    """Return the sum of some numbers in their order, as numpy does not add them."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel
def inner(one: Floats, other: Floats) -> float:
    """Return the inner product of two vectors (k,), added in order."""
    total = 0.0
    for a in range(one.size):
        total += one[a] * other[a]
    return total


@kernel
def penalised(theta: Floats, l1: Floats, l2: Floats) -> float:
    """Return the elastic-net penalty of some coefficients; all (k,)."""
    total = 0.0
    for a in range(theta.size):
        total += l1[a] * abs(theta[a]) + 0.5 * l2[a] * theta[a] * theta[a]
    return total


@kernel
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


@kernel
def working_set(gradient: Floats, theta: Floats, l1: Floats, sign: Int8s) -> Index:
    """Return the active terms, and those of the others that are nearest to becoming so.

    As many more as there are, if their gradient (q,) is at least `NEAR` of what is needed.
    """
    pull = np.empty_like(gradient)
    for j in range(pull.size):
        pull[j] = abs(gradient[j]) if sign[j] == 0 else -sign[j] * gradient[j]
    wanted = theta != 0.0
    near = np.flatnonzero((theta == 0.0) & (pull >= NEAR * l1))
    room = max(AT_ONCE, wanted.sum())
    if near.size > room:
        near = near[stable_order(-pull[near] / l1[near])[:room]]
    wanted[near] = True
    return np.flatnonzero(wanted)


@kernel
def kept_moments(
    held: Index, wanted: Index, known: Mask, moments: Moments
) -> tuple[Index, int, Floats, Floats]:
    """Return another working set, how many of it were there, and its moments as far as known.

    The terms that stay come first. `known` (q,) tells which terms are in the set.
    """
    second, cross, _ = moments
    stays = np.zeros(known.size, np.bool_)
    stays[wanted] = True
    at = np.flatnonzero(stays[held])
    kept, joined = held[at], wanted[~known[wanted]]
    for j in range(known.size):
        known[j] = stays[j]
    terms = np.concatenate((kept, joined))
    new_second, new_cross = np.empty((terms.size, terms.size)), np.empty(terms.size)
    for a in range(at.size):
        new_cross[a] = cross[at[a]]
        for b in range(at.size):
            new_second[a, b] = second[at[a], at[b]]
    return terms, at.size, new_second, new_cross


@jitable
def line_search(
    data: Data,
    penalties: Penalties,
    step: Step,
    state: Floats,
    theta: Floats,
    fit: Fit,
    starts: Index,
    blocks: Any,
) -> float:
    """Halve a step until the objective falls enough; return its factor, 0 if none is taken."""
    (l1, l2, _, _), (along, move, promised), n = penalties, step, fit[0].size
    trial = np.empty(n), np.empty(n), np.empty(n)
    held = penalised(theta, l1, l2)
    size = 1.0
    while size >= SHORTEST:
        if blocks is None:
            loss = 0.0
            for b in range(starts.size - 1):
                loss += try_rows(data, fit, along, size, starts[b], starts[b + 1], trial)
        else:
            loss = blocks.trial(data, fit, along, size, trial)
        middle = theta + size * move
        most = state[LOSS] + held + 1e-4 * size * promised + 1e-12 * abs(state[LOSS])
        if loss + penalised(middle, l1, l2) <= most:
            for a in range(theta.size):
                theta[a] = middle[a]
            take_over(trial, fit)
            state[LOSS] = loss
            return size
        size *= 0.5
    return 0.0


@kernel
def bounds_of(l1: Floats, sign: Int8s) -> tuple[Floats, Floats]:
    """Return the L1 penalties of positive and of negative values, (k,)."""
    up, down = np.empty(l1.size), np.empty(l1.size)
    for a in range(l1.size):
        up[a], down[a] = thresholds(l1[a], sign[a])
    return up, down


@jitable
def newton_steps(
    terms: Terms,
    data: Data,
    penalties: Penalties,
    target: float,
    moments: Moments,
    state: Floats,
    theta: Floats,
    fit: Fit,
    starts: Index,
    blocks: Any,
) -> None:
    """Minimise over some terms (k,); what changes with them goes along.

    The moments are used as they are if `state` holds the total of their weights.
    """
    k, (_, bound, y, row_weight), (_, residual, curvature) = theta.size, data, fit
    (second, cross, weight), (l1, l2, sign, factor) = moments, penalties
    slope, excess, along = np.empty(k), np.empty(k), np.empty(y.size)
    up, down = bounds_of(l1, sign)
    previous, floor = np.inf, FLOOR
    gram = np.empty_like(second)
    if state[TOTAL] > 0.0:
        gram = centred(second, cross, state[TOTAL])
    for _ in range(STEPS):
        all_gradients(terms, residual, slope, starts, blocks)
        at_intercept = sum_of(residual)
        worst = max(abs(at_intercept), excesses(slope, theta, penalties, excess))
        if worst <= target:
            return
        if state[TOTAL] == 0.0 or worst > KEEP * previous:
            state[TOTAL] = row_curvature(curvature, row_weight, floor, weight)
            add_moments(terms, 0, weight, second, cross, starts, blocks)
            gram = centred(second, cross, state[TOTAL])
        previous = worst
        tilt = slope + l2 * theta - cross * (at_intercept / state[TOTAL])
        accuracy = max(0.03 * worst, 0.1 * target)
        there = penalised_minimum(gram, tilt, theta, l1, l2, up, down, factor, accuracy)
        move = there - theta
        shift = -(at_intercept + inner(cross, move)) / state[TOTAL]
        promised = at_intercept * shift + inner(slope, move)
        promised += penalised(there, l1, l2) - penalised(theta, l1, l2)
        if 0.0 <= -promised <= ENOUGH * state[LOSS]:
            return
        size = 0.0
        if promised < 0.0:
            step_of_scores(terms, move, shift, along, blocks)
            step = along, move, promised
            size = line_search(data, penalties, step, state, theta, fit, starts, blocks)
        if size == 0.0:
            if floor == bound:
                return
            floor = min(max(RAISED, 10.0 * floor), bound)
            state[TOTAL] = 0.0
        state[INTERCEPT] += size * shift


@jitable
def follow(
    terms: Terms,
    data: Data,
    rule: Rule,
    l1s: Floats,
    point: Point,
    work: WorkingSet,
    starts: Index,
    blocks: Any,
) -> tuple[Floats, WorkingSet]:
    """Go down some lambdas (f,), descending, from a point: all that belongs to it goes along.

    `data` has row weights that sum to 2. `state` holds the intercept, the loss, and the total of
    the weights of the moments, 0 if there are none. Return the intercept and the coefficients at
    each lambda, (f, q + 1), and the working set.
    """
    (penalty, sign, l1_ratio), (state, theta, fit, gradient) = rule, point
    (held, second, cross, weight), residual, q = work, fit[1], theta.size
    fits = np.empty((l1s.size, q + 1))
    excess, known = np.empty(q), np.zeros(q, np.bool_)
    known[held] = True
    for at in range(l1s.size):
        target = ROUGH * l1s[at]
        l1, l2 = l1s[at] * l1_ratio * penalty, l1s[at] * (1.0 - l1_ratio) * penalty
        for _ in range(ROUNDS):
            worst = excesses(gradient, theta, (l1, l2, sign, penalty), excess)
            if max(abs(sum_of(residual)), worst) <= target:
                break
            if np.any((excess > target) & ~known):
                wanted = working_set(gradient, theta, l1, sign)
                moments = (second, cross, weight)
                held, stayed, second, cross = kept_moments(held, wanted, known, moments)
                if state[TOTAL] > 0.0:
                    more = some_terms(terms, held)
                    add_moments(more, stayed, weight, second, cross, starts, blocks)
            here = theta[held]
            some = (l1[held], l2[held], sign[held], penalty[held])
            before = state[LOSS] + penalised(here, some[0], some[1])
            moments = (second, cross, weight)
            few = some_terms(terms, held)
            target_here = 0.5 * target
            newton_steps(few, data, some, target_here, moments, state, here, fit, starts, blocks)
            gain = before - state[LOSS] - penalised(here, some[0], some[1])
            for a in range(held.size):
                theta[held[a]] = here[a]
            all_gradients(terms, residual, gradient, starts, blocks)
            if gain <= ENOUGH * state[LOSS]:
                break
        fits[at, 0] = state[INTERCEPT]
        for j in range(q):
            fits[at, 1 + j] = theta[j]
    return fits, (held, second, cross, weight)


@kernel
def approximate_path(
    terms: Terms,
    data: Data,
    rule: Rule,
    l1s: Floats,
    point: Point,
    work: WorkingSet,
    starts: Index,
) -> tuple[Floats, WorkingSet]:
    """Do as `follow`, compiled as a whole."""
    return follow(terms, data, rule, l1s, point, work, starts, None)


@kernel
def log_sum_of_others(scores: Floats, k: int, out: Floats) -> None:
    """Fill `out` (n,) with log(sum over j of exp(scores[j])), all j of (K, n) but k."""
    for i in range(out.size):
        largest = -np.inf
        for j in range(scores.shape[0]):
            if j != k:
                largest = max(largest, scores[j, i])
        total = 0.0
        for j in range(scores.shape[0]):
            if j != k:
                total += np.exp(scores[j, i] - largest)
        out[i] = largest + np.log(total)


@kernel
def turn_of_class(
    terms: Terms,
    data: Data,
    rule: Rule,
    l1s: Floats,
    point: Point,
    work: WorkingSet,
    starts: Index,
    scores: Floats,
    k: int,
) -> tuple[Floats, WorkingSet]:
    """Do as `approximate_path` for class k of several, beside the scores (K, n) of the others.

    Its own scores there, from which it starts, become what they are at the end.
    """
    (state, _, fit, gradient), offset = point, np.empty(scores.shape[1])
    log_sum_of_others(scores, k, offset)
    for i in range(offset.size):
        fit[0][i] = scores[k, i] - offset[i]
    state[LOSS] = 0.0
    for b in range(starts.size - 1):
        state[LOSS] += try_rows(data, fit, offset, 0.0, starts[b], starts[b + 1], fit)
    all_gradients(terms, fit[1], gradient, starts, None)
    fits, work = follow(terms, data, rule, l1s, point, work, starts, None)
    for i in range(offset.size):
        scores[k, i] = fit[0][i] + offset[i]
    return fits, work
