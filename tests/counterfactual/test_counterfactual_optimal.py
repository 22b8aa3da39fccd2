"""No allowed change is cheaper: against every row that the actions allow, scored one by one."""

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.counterfactual import Actions
from rpte.counterfactual import solve as solving
from small_models import every_row, models, rows

STEPS = {"a": 1, "b": 1, "s": 2, "z": 1}
actions = st.builds(
    Actions,
    keep=st.sampled_from([(), (), ("a",), ("c", "z")]),
    one_way=st.sampled_from([{}, {"a": "increase"}, {"b": "decrease", "s": "increase"}]),
    allowed=st.sampled_from([{}, {"z": (1, 4), "c": ["u", "v"]}]),
    costs=st.sampled_from([{}, {"a": 3, "c": 0.25}]),
    steps=st.just(STEPS),
    codes=st.sampled_from([(), ("s",)]),
    per_change=st.sampled_from([0.0, 0.1]),
)
targets = st.sampled_from([0.2, 0.35, 0.5, 0.62, 0.8])


def cheapest(model, row, found, allowed, kept=()):
    """Return the least cost by brute force; some sets of variables may not all change."""
    inputs, cost, changed, names = every_row(model, row, allowed, found.most)
    target = math.log(found.target / (1 - found.target))
    score = model.score(inputs)
    sign = 1 if found.side == "above" else -1
    there = sign * (score - target) >= np.where(changed.any(axis=1), 0.9e-9, 0.0)
    for variables in kept:
        there &= ~changed[:, [names.index(v) for v in variables]].all(axis=1)
    return float(cost[there].min(initial=np.inf))


def check(model, row, to, side, allowed, most, answers=1):
    found = model.counterfactuals(row, to, side=side, actions=allowed, most=most, answers=answers)
    kept = []
    for answer in found.answers:
        best = cheapest(model, row, found, allowed, kept)
        assert answer.bound <= best + 1e-9
        assert answer.cost >= best - 1e-9
        if answer.optimal:
            assert answer.cost == pytest.approx(best, abs=2e-9)
        kept.append([change.variable for change in answer.changes])
    if len(found.answers) < answers and all(kept) and all(a.optimal for a in found.answers):
        best = cheapest(model, row, found, allowed, kept)
        assert best == np.inf or not (found.answers or found.impossible)
    return found


@examples(40)
@given(
    models(), rows(), targets, st.sampled_from([None, "below", "above"]), actions, st.integers(1, 4)
)
def test_the_answer_is_proved_and_cheapest(model, row, to, side, allowed, most):
    found = check(model, row, to, side, allowed, most)
    assert all(answer.optimal for answer in found.answers)
    if not found.answers:
        assert found.impossible
        assert cheapest(model, row, found, allowed) == np.inf


@examples(30)
@given(models(curved=True), rows(), targets, actions, st.integers(1, 4))
def test_with_products_and_curves_the_bound_holds(model, row, to, allowed, most):
    found = check(model, row, to, None, allowed, most)
    if found.impossible:
        assert cheapest(model, row, found, allowed) == np.inf


@examples(30)
@given(models(curved=True), rows(), targets, st.integers(1, 3))
def test_boxes_are_refined_to_the_same_answer(model, row, to, most):
    """With fine steps and no box small enough to be listed, halving must find the optimum."""
    allowed = Actions(steps=dict.fromkeys("abz", 0.5) | {"s": 1})
    with mock.patch.multiple(solving, SMALL=1.0, MOST_ON_LINES=0):
        found = check(model, row, to, None, allowed, most)
    assert all(answer.optimal for answer in found.answers)


@examples(30)
@given(models(curved=True), rows(), targets)
def test_boxes_that_were_put_off_are_opened_where_they_could_matter(model, row, to):
    with mock.patch.multiple(solving, affordable=lambda *asked: 1, SMALL=1.0, MOST_ON_LINES=0):
        found = check(model, row, to, None, Actions(steps=STEPS), 3)
    assert all(answer.optimal for answer in found.answers)


@examples(30)
@given(models(curved=True), rows(), targets)
def test_bounds_hold_when_effort_is_cut_short(model, row, to):
    with mock.patch.multiple(solving, SMALL=1.0, MOST_ON_LINES=0, ROUNDS=2, MOST_BOXES=12):
        check(model, row, to, None, Actions(steps=STEPS), 3)


@examples(30)
@given(models(), rows(), targets)
def test_further_answers_leave_something_of_each_earlier_one(model, row, to):
    found = check(model, row, to, None, Actions(steps=STEPS), 3, answers=3)
    costs = [answer.cost for answer in found.answers]
    assert costs == sorted(costs)
    sets = [{c.variable for c in answer.changes} for answer in found.answers]
    for i, later in enumerate(sets):
        assert not any(earlier <= later for earlier in sets[:i])
