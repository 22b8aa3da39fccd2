"""One model whatever the starting point, as good as the fit, and with few conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from designs import (
    assert_certified,
    make_design,
    one_hot,
    random_design,
    random_starts,
    standardised,
    tree_design,
    with_signs,
)

from rpte.estimation import solver
from rpte.estimation.canonical import canonical
from rpte.estimation.newton import ProxNewton
from rpte.estimation.solver import lambda_max, solve
from rpte.rows import scale


@pytest.fixture(autouse=True)
def starts_are_used(monkeypatch):
    """`solve` drops a start that is worse than the null model, and would make the tests easy."""
    begin = solver._engine

    def engine(design, penalty, start):
        if start is None:
            return begin(design, penalty, None)
        return ProxNewton(design, float(start[0]), start[1:])

    monkeypatch.setattr(solver, "_engine", engine)


def fits_from_random_points(design, l1, count, seed):
    starts = [None, *random_starts(design, count, seed)]
    return [solve(design, l1, start=start) for start in starts]


def active_conditions(fit, conditions):
    return int(conditions[np.abs(fit.coefficients) > 1e-12].sum())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.02, 0.002])
@pytest.mark.parametrize("seed", range(8))
def test_the_start_is_forgotten(seed, share, signed):
    design, conditions, groups = tree_design(seed)
    design = with_signs(design, seed) if signed else design
    fits = fits_from_random_points(design, share * lambda_max(design), 5, seed)
    models = [canonical(design, fit, conditions, groups) for fit in fits]
    for fit, model in zip(fits, models, strict=True):
        assert_certified(design, fit)
        assert_certified(design, model)
        assert model.objective == pytest.approx(fit.objective, rel=1e-10)
        np.testing.assert_allclose(model.coefficients, models[0].coefficients, atol=1e-7)
        np.testing.assert_array_equal(model.coefficients != 0, models[0].coefficients != 0)
        assert model.intercept == pytest.approx(models[0].intercept, abs=1e-7)


def test_raw_fits_do_remember_their_start():
    """Otherwise the test above could not fail."""
    spread = []
    for seed in range(12):
        design = tree_design(seed)[0]
        fits = fits_from_random_points(design, 0.02 * lambda_max(design), 5, seed)
        spread += [np.abs(f.coefficients - fits[0].coefficients).max() for f in fits]
    assert np.mean(np.array(spread) > 1e-4) > 0.3


@pytest.mark.parametrize("seed", range(6))
def test_active_terms_are_at_most_the_rank(seed):
    """Theorem 1(c)."""
    design, conditions, groups = tree_design(seed)
    z = one_hot(design)
    for fit in fits_from_random_points(design, 1e-3 * lambda_max(design), 2, seed):
        model = canonical(design, fit, conditions, groups)
        active = np.count_nonzero(model.coefficients)
        assert active <= np.linalg.matrix_rank(z - z.mean(axis=0))


def test_the_shift_saves_conditions():
    """A deep leaf and a shallow one say the same: the shallow one is kept."""
    code = np.repeat([0, 1], 20)
    y = np.where(np.arange(40) % 5 == 0, 1 - code, code).astype(float)
    design = make_design([code], np.zeros((40, 0)), y)
    fit = solve(design, 0.1 * lambda_max(design))
    for conditions, kept in (((3, 1), 1), ((1, 3), 0), ((2, 2), 1)):
        model = canonical(design, fit, np.array(conditions), [])
        assert np.flatnonzero(model.coefficients).tolist() == [kept]
        assert model.objective == pytest.approx(fit.objective, rel=1e-12)


def test_one_hot_groups_are_shifted_too():
    code = np.repeat([0, 1], 20)
    y = np.where(np.arange(40) % 5 == 0, 1 - code, code).astype(float)
    design = make_design([], np.eye(2)[code], y)
    fit = solve(design, 0.1 * lambda_max(design))
    model = canonical(design, fit, np.array([3, 1]), [np.array([0, 1])])
    assert np.flatnonzero(model.coefficients).tolist() == [1]


def test_elastic_net_is_left_alone():
    design = random_design(0)
    fit = solve(design, 0.1 * lambda_max(design, 0.5), 0.5)
    assert canonical(design, fit, np.ones(design.n_terms, np.intp), []) is fit


def test_fewer_conditions_than_raw_fits_on_average():
    saved = []
    for seed in range(8):
        design, conditions, groups = tree_design(seed)
        fits = fits_from_random_points(design, 0.01 * lambda_max(design), 3, seed)
        model = canonical(design, fits[0], conditions, groups)
        before = [active_conditions(f, conditions) for f in fits]
        saved.append(np.mean(before) - active_conditions(model, conditions))
    assert np.mean(saved) > 0


def two_trees(seed, more=0):
    """Two trees of which the first rows never reach one leaf, three columns, and sums of these."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 4, 900), rng.integers(0, 3, 900)]
    codes[0][:120] %= 3
    x = rng.normal(size=(900, 3))
    x = np.hstack([x, x[:, :more] + x[:, 1 : more + 1]])
    signal = x[:, 0] + 0.9 * (codes[0] - 1.5) + (codes[1] - 1.0)
    y = (rng.random(900) < 1 / (1 + np.exp(-signal))).astype(float)
    return make_design(codes, standardised(x), y)


def no_steps(*_):
    raise AssertionError("the solution was solved again")


@pytest.mark.parametrize("seed", range(5))
def test_where_only_trees_depend_a_shift_is_enough(seed, monkeypatch):
    design, moved = two_trees(seed), 0
    conditions = np.array([2, 2, 3, 3, 1, 2, 2, 1, 1, 1])
    for fit in fits_from_random_points(design, 2e-3 * lambda_max(design), 3, seed):
        expected = canonical(design, fit, conditions, [])
        with monkeypatch.context() as many:
            many.setattr(scale, "LONG_ABOVE", 100)
            many.setitem(canonical.__globals__, "ProxNewton", no_steps)
            found = canonical(design, fit, conditions, [])
        moved += not np.array_equal(found.coefficients, fit.coefficients)
        np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-6)
        np.testing.assert_array_equal(found.coefficients != 0, expected.coefficients != 0)
        assert found.intercept == pytest.approx(expected.intercept, abs=1e-6)
        assert found.objective == pytest.approx(expected.objective, rel=1e-12)
        assert found.converged
        at = design.gradient(found.intercept, found.coefficients)[1]
        np.testing.assert_allclose(found.gradient, at, atol=1e-14)
    assert moved


def test_where_other_terms_depend_shifts_are_not_enough(monkeypatch):
    design = two_trees(0, more=1)
    fit = solve(design, 1e-5 * lambda_max(design))
    theta = fit.coefficients.copy()
    spread = np.linalg.svd(one_hot(design)[:, 7:])[2][-1]  # changes no score
    theta[7:] += 0.01 * spread
    fit = replace(fit, coefficients=theta)
    conditions = np.ones(design.n_terms, np.intp)
    monkeypatch.setattr(scale, "LONG_ABOVE", 100)
    assert np.count_nonzero(canonical(design, fit, conditions, []).coefficients[7:]) == 3
    monkeypatch.setitem(canonical.__globals__, "ProxNewton", no_steps)
    with pytest.raises(AssertionError, match="solved again"):
        canonical(design, fit, conditions, [])
