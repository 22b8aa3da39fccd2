"""Targets that the columns give away: the optimum of every loss against that of scipy.

Losses are written here again, in plain numpy, from their definitions.
"""

from dataclasses import replace

import numpy as np
import pytest
from designs import make_design
from scipy.optimize import minimize
from scipy.special import logsumexp

from rpte.estimation.partial_likelihood import PartialLikelihood
from rpte.estimation.problem import AnyProblem
from rpte.estimation.softmax import ClassesProblem, solve_classes
from rpte.estimation.solver import lambda_max, solve
from rpte.losses import BINOMIAL, GAMMA, POISSON, SQUARED, Multinomial
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.losses.tweedie import Tweedie

ROWS = 80
SHARES = [0.3, 0.03, 0.003]
TIES = ["efron", "breslow"]
NOISES = [0.0, 0.1]
FORMS = ["plain", "entry", "strata"]


def columns(rng):
    a = rng.normal(size=ROWS)
    x = np.array([a, rng.normal(size=ROWS), np.maximum(a, 0.0), a > 0.5]).T
    return (x - x.mean(axis=0)) / x.std(axis=0)


def of_scipy(loss, x, scores, l1, l1_ratio, start):
    """Return the least mean deviance plus penalty over intercepts and coefficients (q + 1, k).

    `loss` gives the deviance and its gradient by scores (n, k). Coefficients are a difference of
    two that are not negative.
    """
    q, ones = x.shape[1], np.ones((len(x), 1))

    def value(flat):
        b, up, down = flat[:scores], *flat[scores:].reshape(2, q, scores)
        deviance, slope = loss(b + x @ (up - down))
        theta, at_b, at_theta = up - down, ones.T @ slope, x.T @ slope
        ridge = l1 * (1 - l1_ratio)
        total = deviance + l1 * l1_ratio * (up + down).sum() + 0.5 * ridge * (theta**2).sum()
        at_theta = at_theta + ridge * theta
        parts = at_b.ravel(), at_theta + l1 * l1_ratio, l1 * l1_ratio - at_theta
        return total, np.concatenate([part.ravel() for part in parts])

    first = np.concatenate([start[0], np.maximum(start[1:], 0.0).ravel()])
    first = np.concatenate([first, np.maximum(-start[1:], 0.0).ravel()])
    bounds = [(None, None)] * scores + [(0.0, None)] * (2 * q * scores)
    told = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    begin = value(first)[0]
    return begin, minimize(
        value, first, jac=True, method="L-BFGS-B", bounds=bounds, options=told
    ).fun


def assert_optimal(loss, x, fit, l1_ratio=1.0):
    """The objective is that of the definition, and scipy finds none that is lower."""
    b = np.atleast_1d(getattr(fit, "intercepts", getattr(fit, "intercept", None)))
    theta = fit.coefficients.reshape(len(b), -1)
    here = np.vstack([b, theta.T])
    value, nearby = of_scipy(loss, x, len(b), fit.l1, l1_ratio, here)
    _, far = of_scipy(loss, x, len(b), fit.l1, l1_ratio, np.zeros_like(here))
    assert fit.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert fit.objective <= min(nearby, far) * (1 + 1e-6) + 1e-12
    assert fit.converged
    return far


def by_rows(unit):
    """Return a loss from the deviance of a row and its derivative by the score."""

    def loss(s):
        value, slope = unit(s[:, 0])
        return value.mean(), slope[:, None] / len(s)

    return loss


def tweedie(y, p):
    def unit(s):
        first = y ** (2 - p) / ((1 - p) * (2 - p))
        lower, upper = np.exp((1 - p) * s), np.exp((2 - p) * s)
        return 2 * (first - y * lower / (1 - p) + upper / (2 - p)), 2 * (upper - y * lower)

    return unit


def unit_of(name, y):
    def binomial(s):
        sign = 2 * y - 1
        return 2 * np.logaddexp(0.0, -sign * s), -2 * sign * np.exp(-np.logaddexp(0.0, sign * s))

    def poisson(s):
        own = y * np.log(np.where(y > 0, y, 1.0)) - y
        return 2 * (own - y * s + np.exp(s)), 2 * (np.exp(s) - y)

    return {
        "binomial": binomial,
        "squared": lambda s: ((y - s) ** 2, -2 * (y - s)),
        "poisson": poisson,
        "gamma": lambda s: (2 * (s - np.log(y) + y * np.exp(-s) - 1), 2 * (1 - y * np.exp(-s))),
        "tweedie": tweedie(y, 1.5),
    }[name]


SINGLE = {
    "binomial": (BINOMIAL, lambda a, noise: (a + noise > 0).astype(float)),
    "squared": (SQUARED, lambda a, noise: 3 * a + noise),
    "poisson": (POISSON, lambda a, noise: np.round(np.exp(3 * a + noise))),
    "gamma": (GAMMA, lambda a, noise: np.exp(4 * a + noise)),
    "tweedie": (Tweedie(1.5), lambda a, noise: np.where(a < -0.5, 0.0, np.exp(3 * a + noise))),
}


def check_one_score(name, share, noise, seed=1):
    rng = np.random.default_rng(seed)
    x, (loss, target) = columns(rng), SINGLE[name]
    y = target(x[:, 0], noise * rng.normal(size=ROWS))
    design = replace(make_design([], x, np.arange(ROWS) % 2.0), y=y, loss=loss)
    for l1_ratio in (1.0, 0.5):
        fit = solve(design, share * lambda_max(design, l1_ratio), l1_ratio)
        assert_optimal(by_rows(unit_of(name, y)), x, fit, l1_ratio)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", SINGLE)
def test_one_score(name, share, noise):
    check_one_score(name, share, noise)


def check_several_classes(share, noise, seed=2):
    rng = np.random.default_rng(seed)
    x = columns(rng)
    y = np.searchsorted([-0.5, 0.5], x[:, 0] + noise * rng.normal(size=ROWS))
    given = x.T.copy(), y.astype(float), np.ones(ROWS), np.ones(4), np.zeros(4, np.int8)
    problem = ClassesProblem(*given, Multinomial(3))

    def loss(s):
        p = np.exp(s - logsumexp(s, axis=1, keepdims=True))
        own = np.arange(ROWS), y
        slope = p.copy()
        slope[own] -= 1.0
        return -2 * np.log(p[own]).mean(), 2 * slope / ROWS

    assert_optimal(loss, x, solve_classes(problem, share * problem.lambda_max()))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share", SHARES)
def test_several_classes(share, noise):
    check_several_classes(share, noise)


def steps_of(rows, ties):
    """Return a row for each event: how much every row counts in its risk set, (events, n)."""
    since = np.full(len(rows.time), -np.inf) if rows.entry is None else rows.entry
    found = []
    for k in np.unique(rows.strata):
        for t in np.unique(rows.time[rows.event & (rows.strata == k)]):
            at_risk = (rows.strata == k) & (rows.time >= t) & (since < t)
            dying = at_risk & rows.event & (rows.time == t)
            m = int(dying.sum())
            for place in range(m):
                part = place / m if ties == "efron" else 0.0
                found.append(np.where(dying, 1.0 - part, 1.0) * at_risk)
    return np.array(found)


def partial_likelihood(rows, ties):
    """Return the loss of Cox's model, from the risk sets of its events."""
    counted, n = steps_of(rows, ties), len(rows.time)

    def loss(s):
        with np.errstate(divide="ignore"):
            logs = np.log(counted) + s[:, 0]
        sums = logsumexp(logs, axis=1, keepdims=True)
        pull = np.exp(logs - sums).sum(axis=0) - rows.event
        return 2 * (sums.sum() - s[rows.event].sum()) / n, 2 * pull[:, None] / n

    return loss


def timed(rng, x, noise, share, tied, form):
    """Return times that fall with the first column, and in `form` entry or strata."""
    log_time = -2 * x[:, 0] + noise * rng.normal(size=ROWS)
    time = np.exp(np.round(2 * log_time) / 2 if tied else log_time)
    entry = time * rng.uniform(0.0, 0.9, ROWS) if form == "entry" else None
    stratum = np.arange(ROWS) % 2 if form == "strata" else None
    return FollowUp(time, rng.random(ROWS) < share, entry, stratum)


def hazards(x, rows, ties, weight=None) -> AnyProblem:
    weight = np.ones(ROWS) if weight is None else weight
    design = make_design([], x, np.arange(ROWS) % 2.0)
    return PartialLikelihood(design, RiskSets.of(rows, weight, ties))


def check_times(ties, tied, noise, form, seed=3):
    rng = np.random.default_rng(seed)
    x = columns(rng)
    rows = timed(rng, x, noise, 0.8, tied, form)
    problem = hazards(x, rows, ties)
    for share, l1_ratio in ((0.3, 1.0), (0.03, 1.0), (0.03, 0.5)):
        fit = solve(problem, share * lambda_max(problem, l1_ratio), l1_ratio)
        assert_optimal(partial_likelihood(rows, ties), x, fit, l1_ratio)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_times(ties, tied, noise, form):
    check_times(ties, tied, noise, form)


@pytest.mark.parametrize("ties", [*TIES, "grouped"])
@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives_of_times(form, ties):
    """Those of single times are differences of gradients; taken together they are larger."""
    rng = np.random.default_rng(4)
    x = columns(rng)
    tied = ties == "grouped"
    problem = hazards(x, timed(rng, x, 1.0, 0.8, tied, form), ties, rng.uniform(0.3, 1.0, ROWS))
    theta, step = np.array([0.5, -0.2, 0.1, 0.3]), 1e-5
    every = problem.select(np.ones(4, bool))
    expected = np.empty((4, 4))
    for j in range(4):
        ends = (problem.at(0.0, theta + step * side * np.eye(4)[j]) for side in (1, -1))
        high, low = (problem.slopes(end)[1] for end in ends)
        expected[j] = (high - low) / (2 * step)
    found = problem.gram(every, problem.at(0.0, theta), 1.0, 0.0, True)[0].centred
    np.testing.assert_allclose(found, expected, atol=1e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rpte.estimation.partial_likelihood.MOST_TIMES", 6)
        rough = problem.gram(every, problem.at(0.0, theta), 1.0, 0.0, True)[0].centred
    assert np.linalg.eigvalsh(rough - found).min() > -1e-9
    assert np.linalg.eigvalsh(rough - found).max() < 0.5 * np.linalg.eigvalsh(found).max()


def intervals(rows):
    """Return the loss of grouped times; the best hazard of each interval is found by halving."""
    n, ends = len(rows.time), np.unique(rows.time[rows.event])[:, None]
    dying = rows.event & (rows.time == ends)
    staying = (rows.time >= ends) & ~dying
    dying, staying = (each[staying.any(axis=1)] for each in (dying, staying))

    def loss(s):
        s, (low, high) = s[:, 0], np.array([[-400.0], [400.0]]) + np.zeros(len(dying))
        rest = logsumexp(np.where(staying, s, -np.inf), axis=1)
        for _ in range(70):
            at = 0.5 * (low + high)
            u = np.exp(np.minimum(at[:, None] + s, 300.0))
            kept = np.where(u < 1e-12, 1.0, u / np.expm1(np.minimum(u, 700.0))) * dying
            more = np.log(np.maximum(kept.sum(axis=1), 1e-300)) > at + rest
            low, high = np.where(more, at, low), np.where(more, high, at)
        came = np.log(-np.expm1(-u), where=dying, out=np.zeros_like(u))
        slope = (u * staying - kept).sum(axis=0)
        return 2 * ((u * staying).sum() - came.sum()) / n, 2 * slope[:, None] / n

    return loss


def check_intervals(noise, seed=5):
    rng = np.random.default_rng(seed)
    x = columns(rng)
    time = -2 * x[:, 0] + noise * rng.normal(size=ROWS)
    rows = FollowUp(
        1.0 + np.searchsorted([-3.0, -1.0, 0.0, 1.0, 3.0], time), rng.random(ROWS) < 0.8
    )
    problem = hazards(x, rows, "grouped")
    fit = solve(problem, 0.03 * lambda_max(problem))
    assert_optimal(intervals(rows), x, fit)


@pytest.mark.parametrize("noise", NOISES)
def test_intervals(noise):
    check_intervals(noise)
