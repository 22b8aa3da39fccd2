"""The approximate penalty path: near the exact one, under signs and factors, in any strides."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from approximate_designs import rough
from effort import examples
from rpte.estimation import approximate
from rpte.estimation.approximate import ApproximatePath, Blocks
from rpte.estimation.design import Design
from rpte.estimation.quadratic import Penalty
from rpte.estimation.solver import lambda_grid, path
from rpte.kernels import approximate_path as module
from rpte.kernels import term_products
from rpte.kernels.approximate_path import ENOUGH, ROUGH
from rpte.kernels.losses import BINOMIAL, loss_statistics
from rpte.kernels.term_products import deviances
from rpte.rows import scale
from rpte.rows.threads import worker_threads

LEFT = 10 * ENOUGH  # a step that gains little is the last; a few more may be left


def design_of(seed, n=200, d=12, leaves=4, signs=False, factors=False):
    """Return leaves of one tree beside correlated numbers; odd seeds have weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, leaves, (1 if leaves else 0, n)).astype(np.int32)
    x = rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(n, 1))
    score = x[:, : min(d, 3)].sum(axis=1) + (codes[0] - 1.5 if leaves else 0.0)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    y[:2] = 0.0, 1.0
    q = leaves + d
    return Design(
        codes,
        (leaves,) if leaves else (),
        np.asfortranarray((x - x.mean(axis=0)) / x.std(axis=0)),
        y,
        rng.uniform(0.2, 3.0, n) if seed % 2 else np.ones(n),
        rng.uniform(0.5, 3.0, q) if factors else np.ones(q),
        rng.integers(-1, 2, q).astype(np.int8) if signs else np.zeros(q, np.int8),
    )


def objective(design, l1, l1_ratio, fit):
    penalty = Penalty.of(design, l1, l1_ratio)
    return design.deviance(fit[0], fit[1:]) + penalty.value(fit[1:])


def residual(design, l1, l1_ratio, fit):
    """Return the largest violation of the optimality conditions, in units of lambda."""
    at_intercept, gradient = design.gradient(fit[0], fit[1:])
    terms = Penalty.of(design, l1, l1_ratio).residuals(gradient, fit[1:])
    return max(abs(at_intercept), terms.max(initial=0.0))


def is_near(design, l1_ratio, fit, exact):
    """Tell whether a fit is nearly optimal: by its residual, or by what is left to gain."""
    if residual(design, exact.l1, l1_ratio, fit) <= ROUGH * exact.l1:
        return True
    return objective(design, exact.l1, l1_ratio, fit) - exact.objective <= LEFT * exact.objective


CASES = [
    {},
    {"leaves": 0},
    {"d": 0},
    {"signs": True},
    {"factors": True},
    {"signs": True, "factors": True},
    {"n": 40, "d": 60},
]


@pytest.mark.parametrize("l1_ratio", [1.0, 0.15])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_near_the_exact_path(seed, case, l1_ratio):
    design = design_of(seed, **case)
    grid = lambda_grid(design, l1_ratio, length=15, ratio=1e-3)
    fits = ApproximatePath(rough(design), l1_ratio).to(grid)
    for l1, fit, exact in zip(grid.tolist(), fits, path(design, grid, l1_ratio), strict=True):
        assert is_near(design, l1_ratio, fit, exact)
        assert (design.permitted(fit[1:]) == fit[1:]).all()
        near = objective(design, l1, l1_ratio, fit)
        assert exact.objective - 1e-9 <= near <= 1.001 * exact.objective
    assert not fits[0, 1:].any()
    assert np.count_nonzero(fits[-1, 1:]) > 2


@pytest.mark.parametrize("stride", [1, 2, 7])
def test_strides_do_not_matter(stride):
    """Each call begins where the last one ended, within what is rough."""
    design = design_of(3)
    grid = lambda_grid(design, length=14)
    walk = ApproximatePath(rough(design))
    fits = np.vstack([walk.to(grid[at : at + stride]) for at in range(0, 14, stride)])
    whole = ApproximatePath(rough(design)).to(grid)
    for l1, one, other in zip(grid.tolist(), fits, whole, strict=True):
        a, b = (objective(design, l1, 1.0, fit) for fit in (one, other))
        assert a == pytest.approx(b, rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_any_start_leads_to_the_same_minimum(seed):
    """A fit that is carried over, or any other point, is only where the walk begins."""
    design = design_of(seed, signs=seed > 1)
    grid = lambda_grid(design, 0.5, length=8)[3:]
    rng = np.random.default_rng(seed)
    start = 0.3 * rng.normal(size=design.n_terms + 1)
    start[1:] = design.permitted(start[1:])
    kept = start.copy()
    fits = ApproximatePath(rough(design), 0.5, start).to(grid)
    assert (start == kept).all()
    for l1, fit, exact in zip(grid.tolist(), fits, path(design, grid, 0.5), strict=True):
        assert is_near(design, 0.5, fit, exact)
        assert objective(design, l1, 0.5, fit) <= 1.001 * exact.objective


def test_columns_without_use_stay_out():
    """Constants, a copy and a complement: the path is that of one of them, or of both in parts."""
    design = design_of(2, d=3, leaves=0)
    direct = np.column_stack([design.direct, design.direct[:, 0], np.zeros(200), np.ones(200)])
    wide = Design(
        design.leaf_codes, (), np.asfortranarray(direct), design.y, design.weight, np.ones(6)
    )
    grid = lambda_grid(design, length=8)
    fits, few = ApproximatePath(rough(wide)).to(grid), ApproximatePath(rough(design)).to(grid)
    assert not fits[:, 5:].any()
    for l1, one, other in zip(grid.tolist(), fits, few, strict=True):
        a, b = objective(wide, l1, 1.0, one), objective(design, l1, 1.0, other)
        assert a == pytest.approx(b, rel=1e-3)


def test_no_terms_and_no_gradient():
    y, one = np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.ones(5)
    none = Design(np.zeros((0, 5), np.int32), (), np.zeros((5, 0), order="F"), y, one, np.ones(0))
    rate = np.log(3 / 2)
    np.testing.assert_allclose(ApproximatePath(rough(none)).to(np.ones(1)), [[rate]])
    flat = Design(np.zeros((0, 5), np.int32), (), np.ones((5, 1), order="F"), y, one, np.ones(1))
    np.testing.assert_allclose(
        ApproximatePath(rough(flat)).to(lambda_grid(flat, length=3)), [[rate, 0.0]] * 3, atol=1e-6
    )


def test_a_start_whose_intercept_alone_is_wrong():
    design = design_of(0)
    (top,) = lambda_grid(design, length=1)
    start = np.append(2.0, np.zeros(design.n_terms))
    (fit,) = ApproximatePath(rough(design), 1.0, start).to(np.array([3 * top]))
    rate = np.log(design.y.sum() / (1 - design.y).sum())
    assert fit[0] == pytest.approx(rate, abs=0.05)
    assert not fit[1:].any()


@pytest.mark.slow(reason="compares compiled kernels with their Python source on many rows")
@pytest.mark.parametrize("cells", [0, np.inf])
def test_many_rows(monkeypatch, cells):
    """More than are taken together for a Gram matrix, in blocks or compiled as a whole."""
    assert max(term_products.TILE, scale.SEARCH_BLOCK_ROWS) < 20_000
    monkeypatch.setattr(approximate, "IN_BLOCKS", cells)
    design = design_of(5, n=20_000, d=6)
    grid = lambda_grid(design, length=6)
    fits = ApproximatePath(rough(design)).to(grid)
    for l1, fit, exact in zip(grid.tolist(), fits, path(design, grid), strict=True):
        assert is_near(design, 1.0, fit, exact)
        assert objective(design, l1, 1.0, fit) <= 1.001 * exact.objective


@pytest.mark.slow(reason="compares compiled kernels with their Python source on many rows")
def test_blocks_compute_what_is_compiled():
    design = rough(design_of(4, n=60, d=5, signs=True, factors=True))
    grid, found = lambda_grid(design_of(4, n=60, d=5, signs=True), 0.5, length=6), []
    for blocks in (None, Blocks(60), design.blocks):
        walk = ApproximatePath(design, 0.5)
        (state, theta, (score, *_), _), work = walk._point, walk._work
        starts = design.blocks.starts
        problem = design.terms, walk._data, walk._rule, grid, walk._point, work, starts
        run = (
            module.approximate_path(*problem) if blocks is None else module.follow(*problem, blocks)
        )
        fits, (terms, second, cross, _) = run
        assert set(np.flatnonzero(theta)) <= set(terms.tolist())
        assert second.shape == (len(terms), len(terms))
        assert cross.shape == terms.shape
        np.testing.assert_allclose(theta, fits[-1, 1:])
        np.testing.assert_allclose(score, design.score(state[module.INTERCEPT], theta), atol=1e-5)
        loss = loss_statistics(BINOMIAL, score, design.y, design.row_weight, *np.empty((2, 60)))
        assert state[module.LOSS] == pytest.approx(loss, rel=1e-5)
        found.append(fits)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert (found[1] == found[2]).all()


def test_one_thread_finds_what_several_do():
    """Sums over blocks have one order, in what is compiled and in threads."""
    design = rough(design_of(4, n=9_000, d=12, signs=True, factors=True))
    grid = lambda_grid(design_of(4, n=9_000, d=12, signs=True, factors=True), 0.5, length=6)
    found = []
    for n_jobs in (1, 2):
        with worker_threads(n_jobs):
            found.append(ApproximatePath(design, 0.5).to(grid))
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("n", [300, 9_000])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.15])
def test_dependent_leaves_and_rare_columns(n, l1_ratio):
    """Leaves of trees on the same numbers, steps and hinges of these, and cells that are rare."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 4))
    cuts = np.linspace(-1.5, 1.5, 5)
    codes = [np.digitize(x[:, j % 4] + 0.3 * rng.normal(size=n), cuts) for j in range(5)]
    steps = [(x[:, j % 4] > cut) + 0.0 for j, cut in enumerate(rng.normal(size=12))]
    hinges = [np.maximum(x[:, j % 4] - cut, 0) for j, cut in enumerate(rng.normal(size=12))]
    rare = [(rng.random(n) < 20 / n) + 0.0 for _ in range(5)]
    score = x[:, 0] + np.sin(2 * x[:, 1]) + (x[:, 2] > 0.5)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    direct = np.asfortranarray(np.column_stack([x, *steps, *hinges, *rare]))
    q = 5 * 6 + direct.shape[1]
    design = Design(np.array(codes, np.int32), (6,) * 5, direct, y, np.ones(n), np.ones(q))
    grid = lambda_grid(design, l1_ratio, 10, 1e-3)
    fits = ApproximatePath(rough(design), l1_ratio).to(grid)
    for l1, fit, exact in zip(grid.tolist(), fits, path(design, grid, l1_ratio), strict=True):
        near = objective(design, l1, l1_ratio, fit)
        assert exact.objective - 1e-9 <= near <= exact.objective * (1 + 2e-4)


def test_a_step_that_saturates_its_rows_is_no_dead_end():
    """Rare rows far out, all but one of a rare class: the first step leaves no curvature there."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=2_000), np.zeros(2_000)])
    x[:21, 1] = 60.0
    y = (rng.random(2_000) < 0.03).astype(float)
    y[:20], y[20] = 1.0, 0.0
    nothing = np.zeros((0, 2_000), np.int32)
    free = np.ones(2), np.zeros(2, np.int8)
    design = Design(nothing, (), np.asfortranarray(x), y, np.ones(2_000), *free)
    grid = lambda_grid(design, 1.0, length=8, ratio=1e-3)[4:]
    fits = ApproximatePath(rough(design)).to(grid)
    for fit, exact in zip(fits, path(design, grid), strict=True):
        assert is_near(design, 1.0, fit, exact)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_working_set_changes_and_keeps_what_it_knows(compiled):
    terms, known = np.array([5, 0, 3]), np.zeros(8, bool)
    known[terms] = True
    second, cross = np.arange(9.0).reshape(3, 3), np.arange(3.0)
    run = module.kept_moments if compiled else module.kept_moments.__wrapped__
    new, stayed, m, c = run(terms, np.array([0, 2, 5]), known, (second, cross, np.ones(4)))
    assert new.tolist() == [5, 0, 2]  # those that stay, in their order, then the others
    assert np.flatnonzero(known).tolist() == [0, 2, 5]
    assert (stayed, m.shape, c.shape) == (2, (3, 3), (3,))
    assert (m[:2, :2] == second[:2, :2]).all()
    assert (c[:2] == cross[:2]).all()


@pytest.mark.parametrize("compiled", [True, False])
@examples(40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(0, 6), st.integers(1, 4))
def test_deviances_are_twice_the_log_loss_by_block(compiled, seed, n, q, blocks):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q, n)).astype(np.float32)
    y, weight = rng.integers(0, 2, n).astype(float), rng.uniform(0.2, 3.0, n)
    fits = rng.normal(size=(3, q + 1)) * (rng.random((3, q + 1)) < 0.6)
    cuts = np.unique(np.concatenate([[0, n], rng.integers(0, n + 1, blocks)])).astype(np.intp)
    out = np.empty((len(cuts) - 1, 3))
    run = deviances if compiled else deviances.__wrapped__
    terms = z[::-1].copy(), np.arange(q)[::-1].copy()
    for b, (low, high) in enumerate(pairwise(cuts)):
        at = slice(low, high)
        run(*terms, (BINOMIAL, 0.25, y[at], weight[at]), low, fits, out[b])
        for f, fit in enumerate(fits):
            p = 1 / (1 + np.exp(-(fit[0] + fit[1:] @ z[:, at].astype(float))))
            loss = log_loss(y[at], p, sample_weight=weight[at], labels=[0, 1])
            assert out[b, f] == pytest.approx(2 * loss, rel=1e-9)


def test_deviances_of_sure_scores_are_finite():
    y, one = np.array([0.0, 1.0]), np.ones(2)
    out, fits = np.empty(2), np.array([[800.0], [-800.0]])
    nothing = np.zeros((0, 2), np.float32)
    deviances(nothing, np.arange(0), (BINOMIAL, 0.25, y, one), 0, fits, out)
    assert out.tolist() == [800.0, 800.0]
