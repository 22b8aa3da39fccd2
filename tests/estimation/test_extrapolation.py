"""Fixed points of slow maps."""

import numpy as np
import pytest

from rpte.estimation.extrapolation import Extrapolation


def steps_to(find, point, goal):
    for count in range(500):
        if np.abs(point - goal).max() < 1e-10:
            return count
        point = find(point)
    return 500


def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_directions():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    contract = turn @ np.diag([0.97, 0.9, 0.5, 0.1]) @ turn.T
    goal = rng.normal(size=4)

    def image(point):
        return goal + contract @ (point - goal)

    steps = Extrapolation()
    assert steps_to(image, np.zeros(4), goal) > 400
    assert steps_to(lambda point: steps.next(point, image(point)), np.zeros(4), goal) <= 8


def test_after_a_restart_the_last_step_is_still_known():
    steps = Extrapolation()
    steps.next(np.array([0.0]), np.array([1.0]))
    steps.next(np.array([1.0]), np.array([1.5]))
    steps.restart()
    assert steps.next(np.array([1.5]), np.array([1.75])) == pytest.approx([2.0])
