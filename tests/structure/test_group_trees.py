"""Trees of groups: whatever a fit leaves of the rows, one is grown or there is none."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coded_tables import coded
from effort import examples
from rpte.losses.loss import Residuals
from rpte.structure.group_trees import grow_group
from rpte.structure.grower import GrowthLimits


@examples(60)
@given(st.integers(0, 9_999), st.floats(-12, 2), st.sampled_from([0.0, 0.02, 0.5]))
def test_a_tree_is_grown_whatever_a_fit_leaves(seed, certain, below):
    """Rows that a fit is certain of, rightly or wrongly, have gradients and hardly a curvature."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 200))
    gradient = np.where(rng.random(n) < below, -1.0, 1.0)
    curvature = 10.0 ** rng.uniform(certain - 3, certain, n)
    codes = rng.integers(0, 3, (2, n)).astype(np.uint8)
    columns = coded(codes, [3, 3])
    limits = GrowthLimits(8, 4, 5.0, 0.3)
    at = Residuals(gradient, curvature)
    tree = grow_group(columns, np.arange(2), at, np.ones(n), limits)
    if tree is not None:
        leaf = tree.apply(codes)
        assert 2 <= tree.n_leaves <= 8
        assert np.bincount(leaf, minlength=tree.n_leaves).min() >= 5
