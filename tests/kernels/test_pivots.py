"""Pivots by the gain, against a projection of every column at every turn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte.kernels.screening import pivots


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 9_999), st.integers(1, 8), st.integers(0, 9))
def test_each_pivot_gains_most_beside_those_before(compiled, seed, m, most):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, m)), rng.normal(size=30)
    x /= np.linalg.norm(x, axis=0)
    chosen = np.full(min(most, m), -1, np.intp)
    run = pivots if compiled else pivots.__wrapped__
    assert run(x.T @ x, x.T @ y, 1e-3, 1e9, chosen) == len(chosen)
    for place, best in enumerate(chosen):
        before = x[:, chosen[:place]]

        def left(columns, y=y):
            return np.linalg.norm(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0])

        others = [j for j in range(m) if j not in chosen[:place]]
        losses = {j: left(np.column_stack([before, x[:, j]])) for j in others}
        assert losses[best] == pytest.approx(min(losses.values()), rel=1e-6)


def test_ties_go_to_the_first_and_what_is_explained_is_left_out():
    chosen = np.empty(3, np.intp)
    gram = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert pivots(gram, np.array([1.0, 1.0, 0.5]), 1e-3, 1e9, chosen) == 2
    assert chosen[:2].tolist() == [0, 2]
