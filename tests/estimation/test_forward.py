"""Forward selection against brute force: the best term, then the best beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from effort import examples
from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.forward import forward_order
from rpte.kernels.few_terms import fit_few_terms
from rpte.losses import BINOMIAL


def design_of(z, y, weight=None, sign=None):
    q, n = z.shape
    return ApproximateDesign(
        z.astype(np.float32),
        np.arange(q),
        y.astype(float),
        np.ones(n) if weight is None else weight,
        np.ones(q),
        np.zeros(q, np.int8) if sign is None else np.array(sign, np.int8),
    )


def made(seed, n=300, q=8):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q, n))
    z[q // 2 :] = z[q // 2 :] > 0.5
    y = rng.random(n) < 1 / (1 + np.exp(-1.5 * z[1] + 2 * z[q - 1] - 0.3))
    return z, y


def deviance(z, y, weight=None):
    """Return what scikit-learn leaves unexplained, without a penalty."""
    fit = LogisticRegression(C=1e4, tol=1e-8).fit(z.T, y, weight)
    p = fit.predict_proba(z.T)[:, 1]
    return -2 * np.average(np.log(np.where(y, p, 1 - p)), weights=weight)


@examples(15)
@given(st.integers(0, 999), st.booleans())
def test_each_term_is_the_best_beside_those_before_it(seed, weighted):
    z, y = made(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, 300) if weighted else None
    order = forward_order(design_of(z, y, weight), np.ones(8, int), list("abcdefgh"), 3)
    assert len(order) == 3
    for k, j in enumerate(order):
        rest = [c for c in range(8) if c not in order[:k]]
        found = {c: deviance(z[[*order[:k], c]], y, weight) for c in rest}
        assert found[j] <= min(found.values()) + 1e-4


def test_a_term_of_two_conditions_must_be_worth_two():
    z, y = made(1)
    z = np.vstack([z, z[1] + 0.05 * np.random.default_rng(0).normal(size=300)])
    conditions = np.array([1] * 8 + [2])
    names = list("abcdefghi")
    order = forward_order(design_of(z, y), conditions, names, 2)
    assert 8 not in order
    assert conditions[order].sum() == 2
    assert forward_order(design_of(z[8:], y), conditions[8:], names[8:], 1) == []


def test_signs_are_kept():
    z, y = made(2)
    free = forward_order(design_of(z, y), np.ones(8, int), list("abcdefgh"), 2)
    assert set(free) == {1, 7}
    held = forward_order(design_of(z, y, sign=[0] * 7 + [1]), np.ones(8, int), list("abcdefgh"), 2)
    assert 7 not in held


def test_equal_terms_go_by_name_and_repeats_are_left_out():
    z, y = made(3)
    z = np.vstack([z[1], z[1], -z[1], np.zeros(300)])
    assert forward_order(design_of(z, y), np.ones(4, int), list("badc"), 3) == [1]


@pytest.mark.parametrize("n", [6, 40])
def test_terms_that_separate_the_classes_have_a_finite_fit(n):
    y = np.arange(n) % 2
    z = np.vstack([y * 2.0 - 1, np.arange(n) / n])
    assert forward_order(design_of(z, y), np.ones(2, int), ["a", "b"], 2)[0] == 0


def test_nothing_to_take():
    y = np.array([0, 1] * 10)
    assert forward_order(design_of(np.zeros((0, 20)), y), np.zeros(0, int), [], 3) == []
    assert forward_order(design_of(np.zeros((2, 20)), y), np.ones(2, int), ["a", "b"], 3) == []


def test_the_compiled_fit_is_that_of_numpy():
    z, y = made(5)
    terms, weight = np.vstack([np.ones(300), z[[1, 7]]]), np.random.default_rng(1).random(300)
    rows, rule = (y.astype(float), weight / weight.sum()), (1e-4, 1e-8, 1e-12, 30)
    theta = np.zeros(3)
    deviance = fit_few_terms(BINOMIAL.code, terms, rows, theta, rule)
    at = BINOMIAL.residuals(theta @ terms, *rows)
    np.testing.assert_allclose(terms @ at.gradient, [0.0, *(1e-4 * theta[1:])], atol=1e-7)
    told = BINOMIAL.deviance(theta @ terms, *rows) + 1e-4 * (theta[1:] @ theta[1:])
    assert deviance == pytest.approx(told, rel=1e-12)
