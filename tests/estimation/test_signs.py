"""Coefficients held to one sign: oracles, optimality conditions, and never a forbidden sign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from designs import (
    assert_certified,
    kkt,
    make_design,
    objective_and_slope,
    penalties,
    random_design,
    random_starts,
    tree_design,
    with_signs,
)
from scipy.optimize import minimize

from rpte.estimation import solver
from rpte.estimation.canonical import canonical
from rpte.estimation.newton import ProxNewton
from rpte.estimation.solver import lambda_grid, lambda_max, path, solve

RATIOS = (1.0, 0.5)
SHARES = (0.3, 0.05, 0.005)


def split_minimum(design, l1, l1_ratio):
    """Minimum of equation (5) in theta = u - v with bounds, by a general solver."""
    bound, ridge = penalties(design, l1, l1_ratio)
    q = design.n_terms

    def value(x):
        u, v = x[1 : q + 1], x[q + 1 :]
        smooth, slope = objective_and_slope(design, x[0], u - v, ridge)
        return smooth + bound @ (u + v), np.concatenate(
            (slope[:1], slope[1:] + bound, -slope[1:] + bound)
        )

    may_rise = [(0, 0) if s < 0 else (0, None) for s in design.sign]
    may_fall = [(0, 0) if s > 0 else (0, None) for s in design.sign]
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    return minimize(
        value,
        np.zeros(2 * q + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None), *may_rise, *may_fall],
        options=options,
    ).fun


def test_forbidden_values_and_pulls():
    design = replace(random_design(0, trees=0, d=5), sign=np.array([1, 1, -1, -1, 0], np.int8))
    theta = np.array([2.0, -2.0, 2.0, -2.0, -2.0])
    np.testing.assert_array_equal(design.permitted(theta), [2.0, 0.0, 0.0, -2.0, -2.0])
    np.testing.assert_array_equal(ProxNewton(design, 0.0, theta).theta, design.permitted(theta))
    np.testing.assert_array_equal(design.pull(theta), [-2.0, 2.0, 2.0, -2.0, 2.0])


@pytest.mark.parametrize("l1_ratio", RATIOS)
@pytest.mark.parametrize("seed", range(20))
def test_same_objective_as_a_bounded_solver(seed, l1_ratio):
    design = with_signs(random_design(seed), seed, penalties=seed % 4 > 1)
    l1 = SHARES[seed % 3] * lambda_max(design, l1_ratio)
    fit = solve(design, l1, l1_ratio)
    assert_certified(design, fit)
    other = split_minimum(design, l1, l1_ratio)
    assert fit.objective == pytest.approx(other, rel=1e-7)
    assert fit.objective <= other * (1 + 1e-12)


@pytest.mark.parametrize("l1_ratio", RATIOS)
@pytest.mark.parametrize("seed", range(8))
def test_paths_are_certified(seed, l1_ratio):
    """Strong rule and chord steps included, on designs with many dependences."""
    design = with_signs(tree_design(seed)[0], seed)
    for fit in path(design, lambda_grid(design, l1_ratio, length=25), l1_ratio):
        assert_certified(design, fit)
        assert fit.objective == pytest.approx(solve(design, fit.l1, l1_ratio).objective, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_nearly_equal_columns_of_opposite_signs(seed):
    """The optimum is far out, at about 1e4, where one exact step at a time does not get."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 5))
    y = (x[:, 0] + rng.normal(size=200) > 0).astype(float)
    codes = [np.digitize(x[:, j], [-0.5, 0.5]) for j in (1, 0)]
    near = rng.normal(size=(200, 1)) + 1e-5 * rng.normal(size=(200, 40))
    design = with_signs(make_design(codes, near, y), 1)
    top = lambda_max(design)
    fit = solve(design, 1e-5 * top)
    assert fit.converged
    assert (design.sign * fit.coefficients >= 0).all()
    assert kkt(design, fit) <= min(1e-6 * top, 1e-3 * fit.l1)


@pytest.mark.parametrize("seed", range(6))
def test_all_zero_from_lambda_max_and_not_before(seed):
    free = random_design(seed)
    design = with_signs(free, seed)
    top = lambda_max(design)
    assert 0 < top <= lambda_max(free)
    assert not solve(design, top).coefficients.any()
    assert solve(design, 0.999 * top).coefficients.any()


def test_lambda_max_is_zero_when_no_term_may_follow_its_gradient():
    design = random_design(2, trees=0)
    _, gradient = design.gradient(design.null_score, np.zeros(design.n_terms))
    blocked = replace(design, sign=np.sign(gradient).astype(np.int8))
    assert lambda_max(blocked) == 0.0
    fits = path(blocked, lambda_grid(blocked, length=3))
    assert all(f.converged and not f.coefficients.any() for f in fits)


@pytest.mark.parametrize("l1_ratio", RATIOS)
@pytest.mark.parametrize("seed", range(8))
def test_signs_that_do_not_bind_change_nothing(seed, l1_ratio, monkeypatch):
    # Solved to rounding, so that what is left of the difference would be a real one.
    monkeypatch.setattr(solver, "target_residual", lambda _, top: 1e-13 * top)
    design = random_design(seed, d=20)
    for share in SHARES:
        free = solve(design, share * lambda_max(design, l1_ratio), l1_ratio)
        sign = np.sign(free.coefficients).astype(np.int8)
        held = solve(replace(design, sign=sign), free.l1, l1_ratio)
        assert np.count_nonzero(sign) > 1
        assert held.objective == pytest.approx(free.objective, rel=1e-13)
        scores = [design.score(f.intercept, f.coefficients) for f in (free, held)]
        np.testing.assert_allclose(*scores, atol=1e-9)
        if l1_ratio < 1:  # at 1 the coefficients are not unique
            np.testing.assert_allclose(held.coefficients, free.coefficients, atol=1e-9)


def test_no_sign_is_the_default_to_the_last_bit():
    design = random_design(3)
    zeros = replace(design, sign=np.zeros(design.n_terms, np.int8))
    for one, other in zip(*(path(d, lambda_grid(d)) for d in (design, zeros)), strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


@pytest.mark.parametrize("seed", range(8))
def test_the_start_is_forgotten_by_the_elastic_net(seed):
    design = with_signs(random_design(seed), seed)
    l1 = 0.02 * lambda_max(design, 0.5)
    fits = [solve(design, l1, 0.5, start) for start in random_starts(design, 4, seed)]
    for fit in fits:
        np.testing.assert_allclose(fit.coefficients, fits[0].coefficients, atol=1e-6)


def test_the_canonical_shift_keeps_the_signs():
    """Leaf 1 alone would be cheaper to read, but may not be positive; leaf 0 must carry it."""
    code = np.repeat([0, 1], 20)
    y = np.where(np.arange(40) % 5 == 0, 1 - code, code).astype(float)
    design = random_design(0, n=40, trees=0, d=0)
    design = replace(
        design,
        leaf_codes=code[None].astype(np.int32),
        leaf_counts=(2,),
        y=y,
        penalty=np.ones(2),
        sign=np.zeros(2, np.int8),
    )
    for sign, kept in (((0, 0), 1), ((0, -1), 0), ((-1, 0), 1), ((-1, -1), 0), ((1, 1), 1)):
        held = replace(design, sign=np.array(sign, np.int8))
        fit = solve(held, 0.1 * lambda_max(design))
        model = canonical(held, fit, np.array([3, 1]), [])
        assert np.flatnonzero(model.coefficients).tolist() == [kept]
        assert model.objective == pytest.approx(fit.objective, rel=1e-12)
        assert_certified(held, model)
