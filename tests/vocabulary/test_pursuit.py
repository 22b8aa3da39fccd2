"""Orthogonal matching pursuit: each column for what it says beside those before it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.vocabulary.pursuit import LEFT, RIDGE, pursue


def made(seed, m, b, n=60):
    rng = np.random.default_rng(seed)
    columns, beside = rng.normal(size=(m, n)), rng.normal(size=(b, n))
    columns[m // 2 :] += columns[: m - m // 2]  # neighbours that say much the same
    return columns, beside, rng.normal(size=n), rng.uniform(0.1, 1.0, n)


def pursue_beside(columns, beside, *given):
    """Pursue with one score, or with several where derivatives are (K, n)."""
    residual, curvature, most = given
    rows = np.vstack([beside, columns])
    return pursue(rows, len(beside), np.atleast_2d(residual), np.atleast_2d(curvature), most)


def loss_left(rows, residual, curvature):
    """Return the loss of the quadratic model after the best step along some rows and a constant."""
    root = np.sqrt(curvature)
    x = np.vstack([np.ones(len(root)), *rows]).T * root[:, None]
    rest = residual / root - x @ np.linalg.lstsq(x, residual / root, rcond=None)[0]
    return rest @ rest


@examples(40)
@given(st.integers(0, 9_999), st.integers(2, 9), st.integers(0, 3))
def test_each_choice_is_the_best_by_brute_force(seed, m, b):
    columns, beside, residual, curvature = made(seed, m, b)
    order = pursue_beside(columns, beside, residual, curvature, m)
    chosen = list(beside)
    for place, best in enumerate(order):
        losses = {
            j: loss_left([*chosen, columns[j]], residual, curvature)
            for j in range(m)
            if j not in order[:place]
        }
        least = min(losses.values())
        before = loss_left(chosen, residual, curvature)
        assert before - losses[best] >= (1 - 20 * RIDGE) * (before - least) - 1e-6
        chosen.append(columns[best])


def test_more_goes_on_where_fewer_stopped():
    columns, beside, residual, curvature = made(1, 8, 2)
    order = pursue_beside(columns, beside, residual, curvature, 8)
    assert len(set(order.tolist())) == len(order) == 8
    assert pursue_beside(columns, beside, residual, curvature, 3).tolist() == order[:3].tolist()


@pytest.mark.parametrize("share", [0.0, 0.1 * LEFT])
def test_what_is_explained_is_left_out(share):
    columns, beside, residual, curvature = made(2, 4, 1)
    columns[1] = 3.0 * columns[0] - 2.0 + np.sqrt(share) * columns[1]
    columns[2] = 1.0  # a constant says nothing
    columns[3] = beside[0] + 0.5
    order = pursue_beside(columns, beside, residual, curvature, 4).tolist()
    assert len(order) == 1
    assert order[0] in (0, 1)


def test_weights_in_another_unit_change_nothing():
    columns, beside, residual, curvature = made(3, 6, 1)
    order = pursue_beside(columns, beside, residual, curvature, 6).tolist()
    assert pursue_beside(columns, beside, 7.0 * residual, 7.0 * curvature, 6).tolist() == order


@examples(40)
@given(st.integers(0, 9_999), st.integers(2, 9), st.integers(0, 3), st.integers(2, 4))
def test_each_choice_gains_most_over_all_scores(seed, m, b, scores):
    """Where scores share their curvature, the gains of all of them add up."""
    columns, beside, _, curvature = made(seed, m, b)
    residuals = np.random.default_rng(seed + 1).normal(size=(scores, columns.shape[1]))
    order = pursue_beside(columns, beside, residuals, np.tile(curvature, (scores, 1)), m)

    def left(rows):
        return sum(loss_left(rows, residual, curvature) for residual in residuals)

    chosen = list(beside)
    for place, best in enumerate(order):
        losses = {j: left([*chosen, columns[j]]) for j in range(m) if j not in order[:place]}
        before = left(chosen)
        assert before - losses[best] >= (1 - 20 * RIDGE) * (before - min(losses.values())) - 1e-6
        chosen.append(columns[best])


def test_the_order_of_scores_changes_nothing_and_one_twice_is_one():
    columns, beside, residual, curvature = made(4, 7, 2)
    rng = np.random.default_rng(5)
    residuals = np.vstack([residual, rng.normal(size=(2, len(residual)))])
    curvatures = np.vstack([curvature, rng.uniform(0.1, 1.0, (2, len(residual)))])
    order = pursue_beside(columns, beside, residuals, curvatures, 7).tolist()
    turned = [2, 0, 1]
    again = pursue_beside(columns, beside, residuals[turned], curvatures[turned], 7).tolist()
    assert again == order
    one = pursue_beside(columns, beside, residual, curvature, 7).tolist()
    twice = pursue_beside(columns, beside, np.tile(residual, (2, 1)), np.tile(curvature, (2, 1)), 7)
    assert twice.tolist() == one
