"""Rough fits: near the path, from rows of a larger matrix, on a grid of their own."""

from dataclasses import replace

import numpy as np
import pytest
from designs import random_design

from approximate_designs import rough
from rpte.estimation.approximate import ApproximatePath
from rpte.estimation.quadratic import Penalty
from rpte.estimation.solver import lambda_grid, lambda_max, path


@pytest.mark.parametrize("l1_ratio", [1.0, 0.15])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stride", [1, 5, 12])
def test_a_rough_walk_is_near_the_path(seed, l1_ratio, stride):
    design = random_design(seed, n=150, d=20)
    grid = lambda_grid(design, l1_ratio, length=12)
    walk = ApproximatePath(rough(design), l1_ratio)
    fits = np.vstack([walk.to(grid[at : at + stride]) for at in range(0, 12, stride)])
    gaps = []
    for near, exact in zip(fits, path(design, grid, l1_ratio), strict=True):
        penalty = Penalty.of(design, exact.l1, l1_ratio)
        objective = design.deviance(near[0], near[1:]) + penalty.value(near[1:])
        gaps.append(objective / exact.objective - 1.0)
    assert min(gaps) > -1e-9
    assert max(gaps) < 1e-3
    assert max(gaps) > 1e-9  # rough it is


def test_the_score_is_the_designs():
    design = random_design(1, n=80, d=6)
    rng = np.random.default_rng(1)
    coefficients = rng.normal(size=design.n_terms) * (rng.random(design.n_terms) < 0.6)
    np.testing.assert_allclose(
        rough(design).score(0.3, coefficients), design.score(0.3, coefficients), atol=1e-5
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l1_ratio", [1.0, 0.15, 0.0])
def test_the_grid_begins_just_above_the_largest_lambda_with_a_term(seed, l1_ratio):
    design = random_design(seed, n=120, d=90)
    grid = rough(design).grid(l1_ratio, 7, 0.01)
    top = lambda_max(design, l1_ratio)
    assert top < grid[0] < top * (1 + 1e-5)
    np.testing.assert_allclose(grid, grid[0] * np.geomspace(1.0, 0.01, 7))


def test_signs_and_factors_bound_the_grid():
    design = random_design(0, n=120, d=5)
    _, gradient = design.gradient(
        float(np.log(design.y.mean() / (1 - design.y.mean()))), 0 * design.penalty
    )
    forbidden = replace(design, sign=np.where(gradient < 0, -1, 1).astype(np.int8))
    assert rough(forbidden).grid(1.0, 3, 0.1)[0] == 1.0  # no term may move where it wants
    halved = replace(design, penalty=2.0 * design.penalty)
    assert rough(halved).grid(1.0, 2, 0.1)[0] == pytest.approx(
        0.5 * rough(design).grid(1.0, 2, 0.1)[0]
    )
