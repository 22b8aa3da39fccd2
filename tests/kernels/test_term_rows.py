"""Terms as rows of one matrix: deviances and moments against plain sums."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from rpte.kernels.rough_path import add_moments, deviances


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(0, 6), st.integers(1, 4))
def test_deviances_are_twice_the_log_loss_by_block(compiled, seed, n, q, blocks):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q, n)).astype(np.float32)
    y, weight = rng.integers(0, 2, n).astype(float), rng.uniform(0.2, 3.0, n)
    fits = rng.normal(size=(3, q + 1)) * (rng.random((3, q + 1)) < 0.6)
    cuts = np.unique(np.concatenate([[0, n], rng.integers(0, n + 1, blocks)])).astype(np.intp)
    out = np.empty((len(cuts) - 1, 3))
    run = deviances if compiled else deviances.__wrapped__
    run(BINOMIAL, z[::-1].copy(), np.arange(q)[::-1].copy(), y, weight, cuts, fits, out)
    for b, (low, high) in enumerate(pairwise(cuts)):
        at = slice(low, high)
        for f, fit in enumerate(fits):
            p = 1 / (1 + np.exp(-(fit[0] + fit[1:] @ z[:, at].astype(float))))
            loss = log_loss(y[at], p, sample_weight=weight[at], labels=[0, 1])
            assert out[b, f] == pytest.approx(2 * loss, rel=1e-9)


def test_deviances_of_sure_scores_are_finite():
    y, one = np.array([0.0, 1.0]), np.ones(2)
    out = np.empty((1, 2))
    nothing = np.zeros((0, 2), np.float32)
    ends, fits = np.array([0, 2]), np.array([[800.0], [-800.0]])
    deviances(BINOMIAL, nothing, np.arange(0), y, one, ends, fits, out)
    assert out.tolist() == [[800.0, 800.0]]


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 120), st.integers(0, 120))
def test_moments_are_extended_as_if_taken_at_once(compiled, seed, k, known):
    """Also across panels: those of the terms that stay are not computed again."""
    rng = np.random.default_rng(seed)
    known = min(known, k)
    z, h = rng.normal(size=(130, 50)).astype(np.float32), rng.random(50)
    rows = rng.permutation(130)[:k].astype(np.intp)
    second, cross = np.full((k, k), np.nan), np.full(k, np.nan)
    second[:known, :known], cross[:known] = 7.0, 7.0
    run = add_moments if compiled else add_moments.__wrapped__
    run(z, rows, known, h, second, cross)
    x = z[rows].astype(float)
    expected, sums = (x * h) @ x.T, x @ h
    expected[:known, :known], sums[:known] = 7.0, 7.0
    np.testing.assert_allclose(second, expected, atol=1e-4)
    np.testing.assert_allclose(cross, sums, atol=1e-4)
