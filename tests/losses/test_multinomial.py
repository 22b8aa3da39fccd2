"""The multinomial loss against definitions of others, and by differences."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.metrics import log_loss

from effort import examples
from rpte import InputError
from rpte.losses import BINOMIAL, Multinomial
from rpte.losses.multinomial import log_sum


@st.composite
def rows(draw):
    """Draw scores (K, n), classes and weights of some rows."""
    rng, n = np.random.default_rng(draw(st.integers(0, 10_000))), draw(st.integers(3, 30))
    classes = draw(st.integers(2, 6))
    n = max(n, classes)
    y = rng.permutation(np.arange(n) % classes).astype(float)
    return Multinomial(classes), rng.normal(0, 3, (classes, n)), y, rng.uniform(0.1, 3.0, n)


@examples(50)
@given(rows())
def test_probabilities_and_deviance_are_those_of_others(drawn):
    loss, score, y, weight = drawn
    np.testing.assert_allclose(loss.response(score), softmax(score, axis=0), rtol=1e-12)
    np.testing.assert_allclose(log_sum(score), logsumexp(score, axis=0), rtol=1e-12, atol=1e-12)
    own = -2.0 * log_softmax(score, axis=0)[y.astype(int), np.arange(len(y))]
    np.testing.assert_allclose(loss.unit_deviance(score, y), own, rtol=1e-10, atol=1e-10)
    labels = np.arange(loss.n_scores)
    told = 2.0 * log_loss(y, softmax(score, axis=0).T, sample_weight=weight, labels=labels)
    assert loss.deviance(score, y, weight) == pytest.approx(told, rel=1e-9)


@examples(50)
@given(rows())
def test_residuals_are_derivatives_of_half_the_deviance(drawn):
    loss, score, y, weight = drawn
    found, step = loss.residuals(score, y, weight), 1e-4
    for k in range(loss.n_scores):
        moved = [score + d * (np.arange(loss.n_scores) == k)[:, None] for d in (-step, step)]
        low, high = (loss.unit_deviance(each, y) / 2 for each in moved)
        mid = loss.unit_deviance(score, y) / 2
        slope, bend = (high - low) / (2 * step), (high - 2 * mid + low) / step**2
        np.testing.assert_allclose(-found.gradient[k] / weight, slope, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.hessian[k] / weight, bend, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.gradient.sum(axis=0), 0.0, atol=1e-12)
    assert (found.hessian <= loss.curvature_bound * weight * (1 + 1e-12)).all()


@examples(30)
@given(rows())
def test_null_scores_are_the_best_constants_and_add_up_to_zero(drawn):
    loss, _, y, weight = drawn
    null = loss.null_scores(y, weight)
    assert null.sum() == pytest.approx(0.0, abs=1e-12)
    score = np.repeat(null[:, None], len(y), axis=1)
    assert np.abs(loss.residuals(score, y, weight).gradient.sum(axis=1)).max() < 1e-9
    np.testing.assert_array_equal(loss.null_rows(y, weight), score)


@examples(30)
@given(rows())
def test_beside_the_others_a_score_is_binomial(drawn):
    loss, score, y, weight = drawn
    for k, is_class in enumerate(loss.is_class(y)):
        alone = score[k] - log_sum(np.delete(score, k, axis=0))
        p = BINOMIAL.response(alone)
        np.testing.assert_allclose(p, loss.response(score)[k], rtol=1e-9, atol=1e-12)
        one, all_of = BINOMIAL.residuals(alone, is_class, weight), loss.residuals(score, y, weight)
        np.testing.assert_allclose(one.gradient, all_of.gradient[k], rtol=1e-9, atol=1e-12)


def test_large_scores_do_not_overflow():
    loss, score = Multinomial(3), np.array([[1e4, -1e4, 800.0], [0.0, 0.0, 800.0], [-1e4, 1e4, 0]])
    y = np.array([0.0, 2.0, 1.0])
    with np.errstate(all="raise", under="ignore"):
        assert loss.response(score).sum(axis=0).tolist() == [1.0, 1.0, 1.0]
        np.testing.assert_allclose(loss.unit_deviance(score, y), [0.0, 0.0, 2 * np.log(2)])


@pytest.mark.parametrize("y", [[0.0, 1.0, 3.0], [0.5, 1.0, 2.0], [1.0, 1.0], [-1.0, 0.0]])
def test_what_is_no_class_is_refused(y):
    with pytest.raises(InputError, match="whole numbers from 0 to 2"):
        Multinomial(3).check(np.array(y))


def test_counts_and_copies():
    loss, y, weight = Multinomial(3), np.array([0.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert loss.effective_cases(y, weight) == 3.0
    np.testing.assert_allclose(loss.rates(y, weight), [0.1, 0.2, 0.7])
    assert loss.strata(y).tolist() == [0, 1, 2, 2]
