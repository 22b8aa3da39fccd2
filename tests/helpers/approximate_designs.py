"""A Stage 3 problem as rough fits see it."""

import numpy as np

from rpte.estimation.approximate import ApproximateDesign


def rows_of(design):
    """Return all terms as rows of memory in single precision, leaves as 0/1: (q, n)."""
    leaves = [
        codes == leaf
        for codes, count in zip(design.leaf_codes, design.leaf_counts, strict=True)
        for leaf in range(count)
    ]
    return np.vstack([np.zeros((0, len(design.y))), *leaves, design.direct.T], dtype=np.float32)


def rough(design):
    """Return the problem with its terms in another order of memory, other rows between them."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(2 * design.n_terms)[: design.n_terms].astype(np.intp)
    z = rng.normal(size=(2 * design.n_terms, len(design.y))).astype(np.float32)
    z[rows] = rows_of(design)
    return ApproximateDesign(z, rows, design.y, design.weight, design.penalty, design.sign)
