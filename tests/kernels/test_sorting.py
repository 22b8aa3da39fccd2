"""The order of values, against numpy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte.kernels.codes import stable_order


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([-np.inf, -2.5, -0.0, 0.0, 1e-300, 1.0, 3.0, np.inf]), max_size=40))
def test_the_smallest_comes_first_and_equal_ones_keep_their_places(compiled, values):
    run = stable_order if compiled else stable_order.__wrapped__
    values = np.array(values, float)
    assert run(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_many_values():
    values = np.random.default_rng(0).integers(0, 500, 3001).astype(float)
    assert (stable_order(values) == np.argsort(values, kind="stable")).all()
