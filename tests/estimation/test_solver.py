"""Equation (5): oracles, optimality conditions, and designs on which solvers break."""

from __future__ import annotations

import logging
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from designs import (
    assert_certified,
    make_design,
    objective,
    one_hot,
    random_design,
    standardised,
    tree_design,
    with_signs,
)
from glum import GeneralizedLinearRegressor
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from effort import examples
from rpte import RPTEClassifier
from rpte.estimation import newton
from rpte.estimation.design import Design
from rpte.estimation.solver import lambda_max, solve

RATIOS = (1.0, 0.5)


@pytest.mark.parametrize("l1_ratio", RATIOS)
@pytest.mark.parametrize("seed", range(10))
def test_same_objective_as_saga(seed, l1_ratio):
    design = random_design(seed)
    l1 = (0.3, 0.1, 0.03)[seed % 3] * lambda_max(design, l1_ratio)
    fit = solve(design, l1, l1_ratio)
    peer = LogisticRegression(
        solver="saga",
        C=2 / (design.weight.sum() * l1),
        l1_ratio=l1_ratio,
        tol=1e-7,
        max_iter=20_000,
        random_state=0,
    ).fit(one_hot(design), design.y, sample_weight=design.weight)
    other = objective(design, peer.intercept_[0], peer.coef_[0], l1, l1_ratio)
    assert fit.objective == pytest.approx(other, rel=1e-6)
    assert fit.objective <= other * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore:Line search failed", "ignore:IRLS failed to converge")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("l1_ratio", RATIOS)
@pytest.mark.parametrize("seed", range(12))
def test_same_model_as_glum(seed, l1_ratio, signed):
    design = random_design(seed, trees=2, d=6)
    design = with_signs(design, seed) if signed else design
    l1 = (0.3, 0.05, 0.005)[seed % 3] * lambda_max(design, l1_ratio)
    fit = solve(design, l1, l1_ratio)
    bounds = {
        "lower_bounds": np.where(design.sign > 0, 0.0, -np.inf),
        "upper_bounds": np.where(design.sign < 0, 0.0, np.inf),
    }
    peer = GeneralizedLinearRegressor(
        family="binomial",
        alpha=l1 / 2,
        l1_ratio=l1_ratio,
        gradient_tol=1e-9,
        max_iter=2000,
        **(bounds if signed else {}),
    ).fit(one_hot(design), design.y, sample_weight=design.weight)
    other = objective(design, peer.intercept_, peer.coef_, l1, l1_ratio)
    assert fit.objective <= other * (1 + 1e-12)
    assert fit.objective == pytest.approx(other, rel=1e-6)
    if l1_ratio < 1:
        np.testing.assert_allclose(fit.coefficients, peer.coef_, atol=2e-3)


@examples(80)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(10, 90),
    trees=st.integers(0, 4),
    d=st.integers(0, 30),
    share=st.floats(1e-4, 1.2),
    l1_ratio=st.sampled_from([1.0, 0.7, 0.1, 0.0]),
    signed=st.booleans(),
)
def test_optimality_conditions_hold(seed, n, trees, d, share, l1_ratio, signed):
    design = random_design(seed, n, trees, d)
    design = with_signs(design, seed, penalties=True) if signed else design
    top = lambda_max(design, l1_ratio) or 1.0
    fit = solve(design, share * top, l1_ratio)
    assert_certified(design, fit)
    direct = objective(design, fit.intercept, fit.coefficients, fit.l1, l1_ratio)
    assert fit.objective == pytest.approx(direct, rel=1e-12, abs=1e-15)
    if share >= 1 and l1_ratio > 0:
        assert not fit.coefficients.any()


def hard_designs() -> dict[str, Design]:
    rng = np.random.default_rng(0)
    n = 200
    x = rng.normal(size=(n, 5))
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(float)
    codes = [np.digitize(x[:, 1], [-0.5, 0.5]), np.digitize(x[:, 0], [-0.5, 0.5])]
    near = rng.normal(size=(n, 1)) + 1e-5 * rng.normal(size=(n, 40))
    wild = 10.0 ** np.array([-8, -3, 0, 3, 8])
    wide = rng.normal(size=(40, 600))
    constant = np.column_stack([x, np.ones(n), np.full(n, 1e6), np.zeros(n)])
    rare = (rng.random((200, 250)) < 0.02).astype(float)
    few = (np.arange(10) % 3 == 0).astype(float)
    steps = (rng.random((n, 1)) > np.linspace(0, 1, 102)[1:-1]).astype(float)
    return {
        "separable": make_design(codes, x, (x[:, 0] > 0).astype(float)),
        "duplicates": make_design(codes + codes, np.hstack([x, x, -x]), y),
        "constant": make_design([*codes, np.zeros(n, np.intp)], constant, y),
        "nearly collinear": make_design(codes, near, y),
        "wild scales": make_design(codes, x * wild, y),
        "ten rows": make_design([np.arange(10) // 3], rng.normal(size=(10, 4)), few),
        "more terms than rows": make_design([np.arange(40) // 10], wide, (wide[:, 0] > 0) * 1.0),
        "rare binary": make_design([], rare, (rare[:, :20].sum(axis=1) > 0) * 1.0),
        "steps": make_design([], standardised(steps), y),
        "no trees": make_design([], x, y),
        "no direct terms": make_design(codes, np.zeros((n, 0)), y),
        "wild weights": make_design(codes, x, y, 10.0 ** rng.uniform(-3, 3, n)),
        "penalties": make_design(codes, x, y, None, 10.0 ** rng.uniform(-1, 1, 11)),
        "dependent trees": tree_design(3)[0],
    }


HARD = hard_designs()


@pytest.mark.parametrize("l1_ratio", RATIOS)
@pytest.mark.parametrize("share", [0.1, 1e-3, 1e-5])
@pytest.mark.parametrize("name", HARD)
def test_hard_designs_are_certified(name, share, l1_ratio):
    design = HARD[name]
    assert_certified(design, solve(design, share * lambda_max(design, l1_ratio), l1_ratio))


@pytest.mark.parametrize("name", HARD)
def test_all_zero_from_lambda_max(name):
    design = HARD[name]
    top = lambda_max(design)
    rate = np.average(design.y, weights=design.weight)
    fit = solve(design, top)
    assert not fit.coefficients.any()
    assert fit.intercept == pytest.approx(np.log(rate / (1 - rate)), abs=1e-12)
    assert solve(design, 0.999 * top).coefficients.any()


def test_integer_weight_is_repetition():
    design = random_design(2)
    counts = np.random.default_rng(0).integers(1, 4, design.y.size)
    weighted = make_design(list(design.leaf_codes), design.direct, design.y, counts.astype(float))
    rows = np.repeat(np.arange(design.y.size), counts)
    repeated = make_design(list(design.leaf_codes[:, rows]), design.direct[rows], design.y[rows])
    l1 = 0.05 * lambda_max(weighted)
    assert lambda_max(repeated) == pytest.approx(lambda_max(weighted), rel=1e-12)
    assert solve(repeated, l1).objective == pytest.approx(solve(weighted, l1).objective, rel=1e-11)


def test_far_start_still_converges():
    design = random_design(4)
    l1 = 0.02 * lambda_max(design)
    far = np.append(500.0, np.full(design.n_terms, -300.0))
    fit = solve(design, l1, start=far)
    assert_certified(design, fit)
    assert fit.objective == pytest.approx(solve(design, l1).objective, rel=1e-10)


def test_missed_tolerance_is_reported(monkeypatch, caplog):
    monkeypatch.setattr(newton, "MAX_STEPS", 1)
    design = random_design(5)
    l1 = 0.01 * lambda_max(design)
    with caplog.at_level(logging.WARNING, logger="rpte"):
        fit = solve(design, l1)
    assert not fit.converged
    assert f"lambda={l1:.6g}" in caplog.text
    assert f"residual {fit.kkt:.3g}" in caplog.text


@pytest.mark.parametrize("l1", [0.0, -1.0, np.nan, np.inf])
def test_lambda_must_be_positive(l1):
    with pytest.raises(ValueError, match="lambda is"):
        solve(random_design(0), l1)


def test_l1_ratio_must_be_a_share():
    with pytest.raises(ValueError, match=r"l1_ratio is 1\.5"):
        solve(random_design(0), 0.1, 1.5)


@pytest.mark.parametrize("seed", [7, 9])
def test_nearly_dependent_ramps_converge_at_very_small_penalties(seed):
    """Along what nearly cancels only the penalty falls: full steps alone never ended."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 2)).round(2)
    columns = []
    for z in x.T:
        for low, high in combinations(np.quantile(z, np.linspace(0.02, 0.98, 6)), 2):
            near = (high, high + 10.0 ** -rng.integers(2, 9)) if rng.random() < 0.3 else (high,)
            columns += [np.clip(z, low, end) for end in near]
    score = 2.0 * np.clip(x[:, 0], -0.5, 0.7) + np.abs(x[:, 1])
    y = (score - score.mean() + rng.logistic(size=len(x)) > 0).astype(float)
    design = make_design([], standardised(np.column_stack(columns)), y)
    assert solve(design, 1e-8 * lambda_max(design)).converged


def test_separable_classes_converge_at_a_penalty_of_one_in_ten_billion():
    """All rows are saturated: their least curvature was above that of the rows that decide."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.integers(18, 90, 600).astype(float),
            "b": rng.normal(27, 4, 600).round(1),
            "c": rng.gamma(2, 3, 600).round(2),
        }
    )
    score = 0.06 * np.clip(X["a"], 30, 58) - 0.15 * abs(X["b"] - 25) + 0.5 * np.log(X["c"] + 0.5)
    made = RPTEClassifier(l1=1e-10).fit(X, score > np.median(score))
    assert made.model_.training["objective"]["converged"]
