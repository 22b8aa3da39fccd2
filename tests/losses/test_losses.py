"""Every loss: derivatives against differences, kernels against numpy, the null score a minimum."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from effort import examples
from rpte import InputError
from rpte.kernels.losses import loss_statistics
from rpte.losses import BINOMIAL, LOSSES
from rpte.losses.tweedie import Tweedie

# Targets that each loss has a meaning for.
TARGETS = {
    "binomial": lambda rng, n: rng.permutation(np.arange(n) % 2).astype(float),
    "squared_error": lambda rng, n: rng.normal(size=n),
    "poisson": lambda rng, n: rng.permutation(np.arange(n) % 3).astype(float),
    "gamma": lambda rng, n: rng.gamma(2.0, 1.0, n) + 0.01,
    "tweedie": lambda rng, n: np.where(np.arange(n) % 3 > 0, rng.gamma(2.0, 1.0, n), 0.0),
    "cox": lambda rng, n: np.where(np.arange(n) % 3 > 0, 1.0 / rng.gamma(2.0, 1.0, n), 0.0),
    "discrete": lambda rng, n: np.where(np.arange(n) % 3 > 0, 1.0 / rng.gamma(2.0, 1.0, n), 0.0),
}
HAZARDS = "cox", "discrete"  # beside a baseline, to kernels they are Poisson losses


@st.composite
def rows(draw, name):
    """Draw scores, targets and weights of some rows."""
    rng, n = np.random.default_rng(draw(st.integers(0, 10_000))), draw(st.integers(2, 30))
    return rng.normal(0, 3, n), TARGETS[name](rng, n), rng.uniform(0.1, 3.0, n)


def test_every_loss_is_tested_and_has_a_code_of_its_own():
    assert set(TARGETS) == set(LOSSES)
    own = [loss.code for name, loss in LOSSES.items() if name not in HAZARDS]
    assert len(set(own)) == len(own)
    assert {LOSSES[name].code for name in HAZARDS} == {LOSSES["poisson"].code}


@pytest.mark.parametrize("name", LOSSES)
@examples(50)
@given(data=st.data())
def test_residuals_are_derivatives_of_half_the_deviance(name, data):
    loss, step = LOSSES[name], 1e-4
    score, y, weight = data.draw(rows(name))
    low, mid, high = (loss.unit_deviance(score + d, y) / 2 for d in (-step, 0.0, step))
    found = loss.residuals(score, y, weight)
    np.testing.assert_allclose(
        -found.gradient / weight, (high - low) / (2 * step), rtol=1e-5, atol=1e-7
    )
    bent = (high - 2 * mid + low) / step**2
    np.testing.assert_allclose(found.hessian / weight, bent, rtol=1e-4, atol=1e-5)
    if loss.curvature_bound is not None:
        assert (found.hessian <= loss.curvature_bound * weight * (1 + 1e-12)).all()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", LOSSES)
@examples(50)
@given(data=st.data())
def test_kernels_say_the_same(name, compiled, data):
    loss = LOSSES[name]
    score, y, weight = data.draw(rows(name))
    residual, curvature = np.empty(len(y)), np.empty(len(y))
    run = loss_statistics if compiled else loss_statistics.__wrapped__
    total = run(loss.code, score, y, weight, residual, curvature)
    assert total == pytest.approx(loss.deviance(score, y, weight) * weight.sum() / 2, rel=1e-12)
    found = loss.residuals(score, y, weight)
    np.testing.assert_allclose(residual, -found.gradient, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(curvature, found.hessian, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
@examples(50)
@given(data=st.data())
def test_the_null_score_is_the_best_constant(name, data):
    loss = LOSSES[name]
    _, y, weight = data.draw(rows(name))
    null = loss.null_score(y, weight)
    at = [loss.deviance(np.full(len(y), null + d), y, weight) for d in (-0.01, 0.0, 0.01)]
    assert at[1] <= min(at[0], at[2])
    assert abs(loss.residuals(np.full(len(y), null), y, weight).gradient.sum()) <= 1e-9
    assert loss.null_spread(y, weight) >= 0.0
    assert loss.varies(y)
    assert not loss.varies(y[:1])
    assert len(loss.strata(y)) == len(y)
    assert 0 < loss.effective_cases(y, weight) <= weight.sum()


def test_an_unknown_code_gives_no_number():
    one = np.ones(1)
    assert np.isnan(loss_statistics(-1, one, one, one, one.copy(), one.copy()))


@examples(50)
@given(rows("binomial"))
def test_the_binomial_deviance_is_twice_the_log_loss(case):
    score, y, weight = case
    expected = 2 * log_loss(y, BINOMIAL.response(score), sample_weight=weight, labels=[0, 1])
    assert BINOMIAL.deviance(score, y, weight) == pytest.approx(expected, rel=1e-9)


def test_binomial_scores_without_end_are_finite():
    score, y = np.array([-800.0, 800.0]), np.array([1.0, 0.0])
    assert BINOMIAL.unit_deviance(score, y).tolist() == [1600.0, 1600.0]
    assert BINOMIAL.response(score).tolist() == [0.0, 1.0]
    assert (BINOMIAL.residuals(score, y, np.ones(2)).hessian > 0).all()
    assert BINOMIAL.effect(1000.0) == np.inf


@pytest.mark.parametrize("y", [[0.0, 0.0], [0.0, 2.0], [0.0, np.nan]])
def test_binomial_refuses_other_targets(y):
    with pytest.raises(InputError, match="0 and 1"):
        BINOMIAL.check(np.array(y))


@pytest.mark.parametrize("name", LOSSES)
@examples(50)
@given(data=st.data())
def test_what_a_partition_gains_is_the_fall_of_half_the_deviance(name, data):
    loss = LOSSES[name]
    score, y, weight = data.draw(rows(name))
    cell = (score > 0).astype(int)
    apart = [
        loss.null_score(y[cell == c], weight[cell == c]) if (cell == c).any() else 0.0
        for c in (0, 1)
    ]
    one, two = np.full(len(y), loss.null_score(y, weight)), np.array(apart)[cell]
    half = 0.5 * weight.sum() * (loss.deviance(one, y, weight) - loss.deviance(two, y, weight))
    sums = [np.bincount(cell, each, 2) for each in (weight, weight * y)]
    gained = loss.least_deviance(*(s.sum() for s in sums)) - loss.least_deviance(*sums).sum()
    np.testing.assert_allclose(gained, half, rtol=1e-6, atol=6e-3)  # a rate of 0 has a least score
    assert half <= loss.explainable(y, weight) + 1e-3


@pytest.mark.parametrize("loss", [*LOSSES.values(), Tweedie(1.3)])
def test_a_loss_stays_one_object_in_other_processes(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss if loss.name == "tweedie" else again is loss
