"""Quadratics with penalties: steps over a support, and the minimum that they lead to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.kernels.coordinate_descent import gram_descent, penalised_minimum, support_step


@pytest.mark.parametrize("compiled", [True, False])
@examples(60)
@given(st.integers(0, 10_000), st.integers(1, 8), st.booleans())
def test_support_steps_end_at_the_minimum_over_signs(compiled, seed, k, twins):
    """The support only shrinks, no sign turns, the objective falls, and at the end it is flat."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(30, k))
    if twins and k > 1:
        columns[:, 1] = columns[:, 0]
    gram, l1 = columns.T @ columns / 30, rng.uniform(0.0, 0.5, k)
    begin = rng.normal(size=k) * (rng.random(k) < 0.7)
    slope = columns.T @ rng.normal(size=30) / 5
    theta, now = begin.copy(), slope.copy()

    def value(t):
        move = t - begin
        return slope @ move + 0.5 * move @ gram @ move + l1 @ np.abs(t)

    run = support_step if compiled else support_step.__wrapped__
    seen, shrinks = value(begin), True
    while shrinks:
        before = theta.copy()
        shrinks = run(gram, now, theta, l1)
        assert ((np.sign(theta) == np.sign(before)) | (theta == 0.0)).all()
        assert np.count_nonzero(theta) <= np.count_nonzero(before) - shrinks
        assert value(theta) <= seen + 1e-6
        seen = value(theta)
    np.testing.assert_allclose(now, slope + gram @ (theta - begin), atol=1e-6)
    active = theta != 0.0
    np.testing.assert_allclose((now + l1 * np.sign(theta))[active], 0.0, atol=1e-5)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_a_slow_descent_is_settled_over_its_support(compiled, l2):
    """Columns that are almost the same: a few sweeps are far from the minimum."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(200, 1))
    columns = common + 0.01 * rng.normal(size=(200, 6))
    gram, slope = columns.T @ columns / 200, -columns.T @ (columns @ np.arange(6.0)) / 200
    l1, ridge, one, start = np.full(6, 1e-4), np.full(6, l2), np.ones(6), np.zeros(6)
    run = penalised_minimum if compiled else penalised_minimum.__wrapped__
    found = run(gram, slope.copy(), start, l1, ridge, l1, l1, one, 1e-9)
    exact, left = start.copy(), slope.copy()
    gram_descent(gram + np.diag(ridge), left, exact, l1, l1, one, 1e-12, 2_000_000)
    np.testing.assert_allclose(found, exact, atol=1e-4)
    assert not start.any()
