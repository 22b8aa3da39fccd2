"""The search across components: what is dropped, and the best sum against every sum."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.counterfactual.search import Points, search


def points_of(rows):
    component, cost, gain, changes = (np.array(column) for column in zip(*rows, strict=True))
    return Points(component, cost * 1.0, gain * 1.0, changes, np.arange(len(rows)))


def test_a_dearer_point_with_fewer_changes_is_kept():
    kept = points_of([(0, 1.0, 2.0, 2), (0, 1.5, 2.0, 1), (0, 2.0, 1.9, 2), (0, 1.6, 1.0, 1)])
    assert sorted(kept.undominated().place.tolist()) == [0, 1]


amounts = st.integers(1, 30).map(lambda k: k / 8)  # whose sums are exact in any order


def test_a_sum_that_is_just_enough_is_an_answer_in_any_order():
    points = points_of([(0, 1 / 7, 6 / 7, 1), (1, 1 / 7, 3 / 7, 1), (2, 1 / 7, 19 / 7, 1)])
    found = search(points, 4.0, 3)
    assert found.places == (0, 1, 2)
    assert found.cost == pytest.approx(3 / 7)


@examples(150)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), amounts, amounts, st.integers(1, 2)), min_size=1, max_size=14
    ),
    st.integers(1, 40).map(lambda k: k / 5),
    st.integers(1, 4),
)
def test_the_best_sum_is_found(rows, need, most):
    points = points_of(sorted(rows))
    best = np.inf
    by_component = [
        [None, *group] for _, group in itertools.groupby(sorted(rows), key=lambda row: row[0])
    ]
    for chosen in itertools.product(*by_component):
        taken = [row for row in chosen if row is not None]
        if sum(r[3] for r in taken) <= most and sum(r[2] for r in taken) >= need:
            best = min(best, sum(r[1] for r in taken))
    found = search(points, need, most)
    assert found.cost == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-8)
    assert (found.places is None) == np.isinf(best)
