"""Losses of numbers: penalised fits against glum, deviances against scikit-learn, bad targets."""

from dataclasses import replace

import numpy as np
import pytest
from designs import make_design
from glum import GeneralizedLinearRegressor, TweedieDistribution
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

from rpte import InputError
from rpte.estimation.solver import lambda_max, solve
from rpte.losses import GAMMA, POISSON, SQUARED, TWEEDIE, loss_from_dict
from rpte.losses.numbers import value_strata
from rpte.losses.tweedie import Tweedie

FAMILIES = {"squared_error": "normal", "poisson": "poisson", "gamma": "gamma"}
KINDS = [SQUARED, POISSON, GAMMA, TWEEDIE, Tweedie(1.2)]


def problem(loss, seed=0, n=400):
    """Return a design of five numbers with targets that depend on three of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    score = 0.3 + x[:, 0] * 0.5 - 0.3 * x[:, 1] + 0.2 * x[:, 2]
    mean = np.exp(score)
    drawn = {
        "squared_error": score + rng.normal(size=n),
        "poisson": rng.poisson(mean).astype(float),
        "gamma": mean * rng.gamma(2.0, 0.5, n),
        "tweedie": rng.poisson(mean) * rng.gamma(2.0, 0.5, n),
    }[loss.name]
    weight = rng.integers(1, 4, n).astype(float)
    design = make_design([], x, np.arange(n) % 2.0)
    return replace(design, y=drawn, weight=weight, loss=loss), x


@pytest.mark.parametrize("share", [1e-7, 0.02, 0.2])
@pytest.mark.parametrize("loss", KINDS, ids=lambda loss: f"{loss.name} {loss.code}")
def test_coefficients_are_those_of_glum(loss, share):
    """Nearly without and with an L1 penalty; glum's deviance has no factor of two."""
    design, x = problem(loss)
    l1 = share * lambda_max(design, 1.0)
    fit = solve(design, l1, 1.0)
    family = FAMILIES.get(loss.name) or TweedieDistribution(loss.power)
    link = "identity" if loss is SQUARED else "log"
    peer = GeneralizedLinearRegressor(
        family=family, link=link, alpha=l1 / 2, l1_ratio=1.0, gradient_tol=1e-10, max_iter=5000
    ).fit(x, design.y, sample_weight=design.weight)
    assert fit.converged
    np.testing.assert_allclose(fit.coefficients, peer.coef_, atol=1e-6)
    assert fit.intercept == pytest.approx(peer.intercept_, abs=1e-6)


def test_deviances_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    score, y, weight = rng.normal(size=50), rng.gamma(2.0, 1.0, 50), rng.uniform(0.5, 2, 50)
    mean = np.exp(score)
    counts = np.round(y)
    pairs = [
        (SQUARED, y, np.average((y - score) ** 2, weights=weight)),
        (POISSON, counts, mean_poisson_deviance(counts, mean, sample_weight=weight)),
        (GAMMA, y, mean_gamma_deviance(y, mean, sample_weight=weight)),
        (TWEEDIE, counts, mean_tweedie_deviance(counts, mean, sample_weight=weight, power=1.5)),
    ]
    for loss, target, expected in pairs:
        assert loss.deviance(score, target, weight) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "y", "said"),
    [
        (POISSON, [1.0, -1.0], r"y\[1\] is -1.0; the loss needs counts"),
        (GAMMA, [1.0, 0.0], r"y\[1\] is 0.0; the loss needs amounts above 0"),
        (TWEEDIE, [-0.5, 1.0], r"y\[0\] is -0.5; the loss needs amounts"),
    ],
)
def test_targets_without_meaning_are_refused_by_row(loss, y, said):
    with pytest.raises(InputError, match=said):
        loss.check(np.array(y))


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5, 3, "1.5", 1.23456789])
def test_powers_outside_the_compound_family_are_refused(power):
    with pytest.raises(InputError, match="between 1 and 2"):
        Tweedie(power)


@pytest.mark.parametrize("loss", KINDS, ids=lambda loss: f"{loss.name} {loss.code}")
def test_a_loss_comes_back_from_its_record(loss):
    assert loss_from_dict(loss.to_dict()) == loss


def test_strata_keep_equal_targets_together():
    y = np.array([0.0] * 80 + [1.0] * 15 + [2.0, 3.0, 4.0, 5.0, 6.0])
    strata = value_strata(y)
    assert len(set(strata[:80])) == 1
    assert strata[-1] == strata.max() > strata[0]
    assert set(strata) == set(range(strata.max() + 1))
    assert np.bincount(value_strata(np.arange(100.0))).tolist() == [20] * 5


@pytest.mark.parametrize("loss", [POISSON, GAMMA, TWEEDIE], ids=lambda loss: loss.name)
def test_scores_without_end_stay_finite(loss):
    score, y = np.array([-900.0, 900.0]), np.array([1.0, 1.0])
    assert np.isfinite(loss.unit_deviance(score, y)).all()
    found = loss.residuals(score, y, np.ones(2))
    assert np.isfinite(found.gradient).all()
    assert (found.hessian > 0).all()
    assert loss.response(np.array([1000.0])).tolist() == [np.exp(700.0)]  # as in exports
