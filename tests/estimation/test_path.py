"""The lambda path: same optima as single fits, monotone, and deaf to the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from designs import make_design, random_design, tree_design
from threadpoolctl import threadpool_info, threadpool_limits

from rpte.estimation.canonical import canonical
from rpte.estimation.solver import lambda_grid, lambda_max, path, solve
from rpte.kernels.blas import one_blas_thread


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_path_equals_single_fits(seed, l1_ratio):
    design = random_design(seed, n=150, d=20)
    grid = lambda_grid(design, l1_ratio, length=12)
    for fit in path(design, grid, l1_ratio):
        alone = solve(design, fit.l1, l1_ratio)
        assert fit.converged
        assert fit.objective == pytest.approx(alone.objective, rel=1e-10)
        np.testing.assert_allclose(
            design.score(fit.intercept, fit.coefficients),
            design.score(alone.intercept, alone.coefficients),
            atol=1e-5,
        )


def test_deviance_falls_along_the_path():
    design = tree_design(1)[0]
    fits = path(design, lambda_grid(design))
    deviance = [design.deviance(f.intercept, f.coefficients) for f in fits]
    assert (np.diff(deviance) <= 1e-12).all()
    assert deviance[-1] < 0.9 * deviance[0]


def test_grid_spans_lambda_max_to_its_share():
    design = random_design(0)
    grid = lambda_grid(design, 0.5, length=7, ratio=0.01)
    assert grid.shape == (7,)
    assert grid[0] == lambda_max(design, 0.5)
    assert grid[-1] == pytest.approx(0.01 * grid[0])
    assert (np.diff(grid) < 0).all()


def test_terms_without_gradient_give_the_null_model():
    design = make_design([np.zeros(40, np.intp)], np.ones((40, 1)), np.arange(40) % 2 * 1.0)
    assert lambda_max(design) == 0.0
    fits = path(design, lambda_grid(design, length=3))
    assert all(f.converged and not f.coefficients.any() for f in fits)


def test_any_order_of_lambdas():
    design = random_design(6)
    grid = lambda_grid(design, length=6)
    for up, down in zip(path(design, grid[::-1])[::-1], path(design, grid), strict=True):
        assert up.converged
        assert up.objective == pytest.approx(down.objective, rel=1e-10)


def test_threads_do_not_change_a_bit():
    design = random_design(7, n=12_000, trees=4, d=60)
    ones = np.ones(design.n_terms, np.intp)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits = path(design, lambda_grid(design, length=8))
            fits.append(canonical(design, fits[-1], ones, []))
        found.append([(f.intercept, f.objective, f.kkt, f.coefficients.tobytes()) for f in fits])
    assert found[0] == found[1]


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_is_held_to_one_thread_until_the_last_user_leaves():
    with threadpool_limits(2):
        outside = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == outside == {2}
