"""A matrix that rows are added to."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.utils.growable import GrowableMatrix


@examples(50)
@given(st.lists(st.integers(0, 500), max_size=6), st.integers(0, 300), st.integers(0, 4))
def test_rows_stay_where_they_are(counts, capacity, width):
    matrix, rng = GrowableMatrix(width, np.float32, capacity), np.random.default_rng(0)
    added = [rng.random((count, width)).astype(np.float32) for count in counts]
    places = [matrix.add(rows) for rows in added]
    assert places == [0, *np.cumsum(counts)[:-1]] if counts else places == []
    assert matrix.rows.shape == (sum(counts), width)
    for first, rows in zip(places, added, strict=True):
        assert (matrix.rows[first : first + len(rows)] == rows).all()


def test_growing_within_the_capacity_copies_nothing():
    matrix = GrowableMatrix(3, capacity=5)
    matrix.add(np.zeros((2, 3)))
    before = matrix.rows
    assert matrix.extend(3) == 2
    matrix.memory[2:] = 1.0
    assert np.shares_memory(before, matrix.rows)
    matrix.extend(1)
    assert not np.shares_memory(before, matrix.rows)
    assert (matrix.rows[2:5] == 1.0).all()
