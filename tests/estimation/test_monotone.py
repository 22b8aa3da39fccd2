"""Stage 3 under order: ties, the order of the result, and its optimality against an oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from designs import make_design, one_hot
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from effort import examples
from rpte.estimation.monotone import Ties, path_in_order, solve_in_order
from rpte.estimation.solver import lambda_max, solve

RATIOS = (1.0, 0.5)


def ordered_design(seed, trees=1, leaves=6, n=150, weighted=False, penalties=False):
    """Leaves whose effects rise, not quite; a slope beside them."""
    rng = np.random.default_rng(seed)
    codes, score = [], np.zeros(n)
    for _ in range(trees):
        code = rng.integers(0, leaves, n)
        code[:leaves] = np.arange(leaves)
        effect = np.sort(rng.normal(size=leaves)) + 0.7 * rng.normal(size=leaves)
        score += effect[code]
        codes.append(code)
    x = rng.normal(size=(n, 2))
    y = (rng.random(n) < 1 / (1 + np.exp(-score - x[:, 0]))).astype(float)
    y[:2] = 0.0, 1.0
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    design = make_design(codes, x, y, weight)
    if penalties:
        design = replace(design, penalty=rng.uniform(0.5, 2.0, design.n_terms))
    return design


def random_order(seed, trees, leaves):
    """Draw pairs (a, b) with a < b: an order without a circle, chains among them."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        return [list(combinations(range(leaves), 2)) for _ in range(trees)]
    every = list(combinations(range(leaves), 2))
    return [
        [every[i] for i in sorted(rng.choice(len(every), 6, replace=False))] for _ in range(trees)
    ]


def violations(design, order, coefficients):
    found = []
    for tree, pairs in enumerate(order):
        leaves = coefficients[design.starts[tree] : design.starts[tree + 1]]
        found += [leaves[a] - leaves[b] for a, b in pairs]
    return np.array(found)


def objective(design, l1, l1_ratio, intercept, theta):
    """Equation (5) from its definition, on the one-hot design."""
    score = intercept + one_hot(design) @ theta
    share = 2 * design.weight / design.weight.sum()
    loss = share @ (np.logaddexp(0, score) - design.y * score)
    size = design.penalty * (l1_ratio * np.abs(theta) + (1 - l1_ratio) * theta**2 / 2)
    return loss + l1 * size.sum()


def residual(design, fit):
    """Distance of zero from the subdifferential of equation (5), the worst term."""
    score = fit.intercept + one_hot(design) @ fit.coefficients
    share = 2 * design.weight / design.weight.sum()
    slope = share * (1 / (1 + np.exp(-score)) - design.y)
    gradient = one_hot(design).T @ slope
    worst = abs(slope.sum())
    for g, t, p, s in zip(gradient, fit.coefficients, design.penalty, design.sign, strict=True):
        bound, g = fit.l1 * fit.l1_ratio * p, g + fit.l1 * (1 - fit.l1_ratio) * p * t
        pull = max(-s * g, 0.0) if s else abs(g)
        worst = max(worst, abs(g + np.sign(t) * bound) if t else max(pull - bound, 0.0))
    return worst


def oracle(design, order, l1, l1_ratio):
    """Minimise equation (5) over ordered, signed coefficients with a general solver."""
    z, q = one_hot(design), design.n_terms
    share = 2 * design.weight / design.weight.sum()
    size = l1 * l1_ratio * design.penalty

    def value(point):
        intercept, plus, minus = point[0], point[1 : 1 + q], point[1 + q :]
        theta = plus - minus
        score = intercept + z @ theta
        slope = share * (1 / (1 + np.exp(-score)) - design.y)
        ridge = l1 * (1 - l1_ratio) * design.penalty * theta
        gradient = z.T @ slope + ridge
        loss = share @ (np.logaddexp(0, score) - design.y * score) + ridge @ theta / 2
        return loss + size @ (plus + minus), np.concatenate(
            [[slope.sum()], gradient + size, size - gradient]
        )

    rows = []
    for tree, pairs in enumerate(order):
        for a, b in pairs:
            row = np.zeros(1 + 2 * q)
            first, second = 1 + design.starts[tree] + a, 1 + design.starts[tree] + b
            row[[second, q + first]], row[[first, q + second]] = 1.0, -1.0
            rows.append(row)
    rows = np.array(rows)
    upper = [(0, 0 if s < 0 else None) for s in design.sign]
    lower = [(0, 0 if s > 0 else None) for s in design.sign]
    return minimize(
        value,
        np.zeros(1 + 2 * q),
        jac=True,
        method="SLSQP",
        bounds=[(None, None), *upper, *lower],
        constraints={"type": "ineq", "fun": lambda p: rows @ p, "jac": lambda p: rows},
        options={"maxiter": 1000, "ftol": 1e-13},
    ).fun


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("l1_ratio", RATIOS)
def test_one_tree_reaches_the_best_ordered_solution(seed, l1_ratio):
    design = ordered_design(seed, weighted=bool(seed % 2), penalties=seed % 4 == 1)
    order = random_order(seed, 1, 6)
    l1 = (0.003, 0.01, 0.03)[seed % 3]
    fit, _ = solve_in_order(design, order, l1, l1_ratio)
    assert violations(design, order, fit.coefficients).max() <= 0.0
    assert fit.objective == pytest.approx(oracle(design, order, l1, l1_ratio), abs=1e-8)
    found = objective(design, l1, l1_ratio, fit.intercept, fit.coefficients)
    assert fit.objective == pytest.approx(found, abs=1e-12)


@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(RATIOS), st.sampled_from([0.3, 0.05, 0.005]))
def test_the_order_holds_and_the_tied_problem_is_optimal(seed, l1_ratio, share):
    design = ordered_design(seed, trees=3, leaves=5, weighted=True, penalties=True)
    sign = np.zeros(design.n_terms, np.int8)
    sign[-2:] = 1, -1
    design, order = replace(design, sign=sign), random_order(seed, 3, 5)
    l1 = share * lambda_max(design, l1_ratio)
    fit, ties = solve_in_order(design, order, l1, l1_ratio)
    assert violations(design, order, fit.coefficients).max() <= 0.0
    assert (sign * fit.coefficients >= 0).all()
    for tree, group in enumerate(ties.group):
        leaves = fit.coefficients[design.starts[tree] : design.starts[tree + 1]]
        for number in np.unique(group):
            assert len(set(leaves[group == number])) == 1
    tied = ties.apply(design)
    at = np.concatenate(
        [np.unique(ties.members, return_index=True)[1], np.arange(design.n_leaves, design.n_terms)]
    )
    assert residual(tied, replace(fit, coefficients=fit.coefficients[at])) <= max(1e-3 * l1, 1e-9)
    free = solve(design, l1, l1_ratio)
    assert fit.objective >= free.objective - 1e-10


def test_ties_do_not_lie_far_from_the_best_with_several_trees():
    """The ties of one tree are chosen while others move: near the optimum, and never below it."""
    gaps = []
    for seed in range(12):
        design, order = ordered_design(seed, trees=2, leaves=5), random_order(seed, 2, 5)
        fit, _ = solve_in_order(design, order, 0.01, 1.0)
        gaps.append(fit.objective - oracle(design, order, 0.01, 1.0))
    assert min(gaps) > -1e-8
    assert max(gaps) < 1e-3


def test_a_solution_in_order_is_left_alone():
    design = ordered_design(0)
    free = solve(design, 0.01)
    rank = np.argsort(free.coefficients[:6], kind="stable")
    order = [[(int(a), int(b)) for a, b in pairwise(rank)]]
    fit, ties = solve_in_order(design, order, 0.01, 1.0)
    assert (fit.coefficients == free.coefficients).all()
    assert ties.group[0].tolist() == list(range(6))
    fit, ties = solve_in_order(design, [[]], 0.01, 1.0)
    assert (fit.coefficients == free.coefficients).all()


def test_opposite_orders_leave_one_value():
    design = ordered_design(1)
    order = [[(a, b) for a in range(6) for b in range(6) if a != b]]
    fit, _ = solve_in_order(design, order, 0.003, 1.0)
    assert len(set(fit.coefficients[:6])) == 1
    assert len(set(solve(design, 0.003).coefficients[:6])) > 1


def test_every_solution_is_finished_and_beginnings_are_kept():
    design, seen = ordered_design(3), []
    order = random_order(0, 1, 6)

    def finish(tied, fit, ties):
        assert len(fit.coefficients) == tied.n_terms == ties.apply(design).n_terms
        seen.append(tied.n_leaves)
        return fit

    begin = Ties.none(design).tie(0, 4, 5)
    fit, ties = solve_in_order(design, order, 0.003, 1.0, finish, begin)
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 5
    assert ties.group[0][4] == ties.group[0][5]
    assert fit.coefficients[4] == fit.coefficients[5]


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_ties_are_unions_numbered_by_their_first_leaf(pairs):
    design = ordered_design(5, trees=2, leaves=5)
    ties = Ties.none(design)
    sets = [{(t, leaf)} for t in range(2) for leaf in range(5)]
    for tree, a, b in pairs:
        ties = ties.tie(tree, a, b)
        one = next(s for s in sets if (tree, a) in s)
        two = next(s for s in sets if (tree, b) in s)
        if one is not two:
            sets.remove(two)
            one |= two
    for tree in range(2):
        groups = [sorted(leaf for t, leaf in s if t == tree) for s in sets]
        groups = sorted(g for g in groups if g)
        expected = [next(i for i, g in enumerate(groups) if leaf in g) for leaf in range(5)]
        assert ties.group[tree].tolist() == expected
    members = ties.members
    tied = ties.apply(design)
    assert tied.n_leaves == len(sets) == members.max() + 1
    sums = [one_hot(design)[:, :10][:, members == m].sum(axis=1) for m in range(len(sets))]
    np.testing.assert_array_equal(one_hot(tied)[:, : len(sets)], np.array(sums).T)
    assert tied.penalty[: len(sets)].tolist() == np.bincount(members).tolist()
    assert tied.penalty[len(sets) :].tolist() == design.penalty[10:].tolist()


def test_spreading_gives_every_leaf_its_group_coefficient():
    design = ordered_design(6, trees=2, leaves=3)
    ties = Ties.none(design).tie(1, 0, 2)
    fit = solve(ties.apply(design), 0.01)
    spread = ties.spread(fit)
    assert spread.coefficients[3] == spread.coefficients[5] == fit.coefficients[3]
    assert spread.coefficients[4] == fit.coefficients[4]
    assert (spread.coefficients[6:] == fit.coefficients[5:]).all()
    np.testing.assert_allclose(
        design.score(spread.intercept, spread.coefficients),
        ties.apply(design).score(fit.intercept, fit.coefficients),
    )


def test_paths_are_in_order_at_every_lambda():
    design = ordered_design(7, trees=2, leaves=5)
    l1s = lambda_max(design) * np.geomspace(1.0, 0.01, 8)
    order = random_order(3, 2, 5)
    solve_path = path_in_order(design, order, 1.0)
    fits = np.vstack([solve_path(l1s[:3]), solve_path(l1s[3:])])
    assert fits.shape == (8, design.n_terms + 1)
    for l1, fit in zip(l1s.tolist(), fits, strict=True):
        assert violations(design, order, fit[1:]).max() <= 0.0
        one, _ = solve_in_order(design, order, l1, 1.0)
        assert fit.tolist() == [one.intercept, *one.coefficients]
    assert (path_in_order(design, [[], []], 1.0)(l1s) != fits).any()
