"""Toward one of several classes: no allowed change is cheaper, and every class is left behind."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.columns.kinds import Level, Value
from rpte.counterfactual import Actions
from rpte.counterfactual import solve as solving
from rpte.errors import InputError
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel
from rpte.model.parts import Component, DirectTerm
from small_models import PROFILE, SCHEMA, every_row, models, rows, weights

STEPS = {"a": 1, "b": 1, "s": 2, "z": 1}
LABELS = ("p", "q", "r", "t")
ROW = {"a": [1.0], "b": [2.0], "c": ["u"], "s": [0.0], "z": [0.0]}


def of_classes(by_class, intercepts):
    """Return a model of as many classes as there are tuples of components."""
    named = []
    for components in by_class:
        numbers = iter(range(100))
        named.append(
            tuple(
                replace(c, direct=tuple(replace(t, name=f"D{next(numbers)}") for t in c.direct))
                for c in components
            )
        )
    names = [term.name for c in named[0] for term in c.direct]
    k = len(named)
    return ClassesModel(
        schema=SCHEMA,
        target=ClassesTarget(LABELS[:k], (1.0,) * k),
        intercepts=tuple(intercepts),
        by_class=tuple(named),
        ownership="component",
        settings={"limits": {"exclude": [], "monotone": {}}},
        bound=1,
        training={"rows": float(k), "mean_contributions": {n: [0.0] * k for n in names}},
        data={"profile": PROFILE},
    )


@st.composite
def several(draw, curved=False):
    """Draw a model of three or four classes."""
    first = tuple(replace(c, trees=()) for c in draw(models(curved)).components)
    classes = draw(st.integers(3, 4))

    def again(component):
        direct = tuple(replace(term, coefficient=draw(weights)) for term in component.direct)
        return replace(component, direct=direct)

    by_class = [first, *(tuple(map(again, first)) for _ in range(classes - 1))]
    return of_classes(by_class, draw(st.permutations([-0.6, -0.1, 0.2, 0.5][:classes])))


def cheapest(model, row, to, allowed, most, kept=()):
    """Return the least cost by brute force; some sets of variables may not all change."""
    inputs, cost, changed, names = every_row(model.outline, row, allowed, most)
    score, at = model.score(inputs), model.classes.index(to)
    lead = (score[:, [at]] - np.delete(score, at, axis=1)).min(axis=1)
    there = np.where(changed.any(axis=1), lead >= 0.9e-9, model.predict(inputs) == to)
    for variables in kept:
        there &= ~changed[:, [names.index(v) for v in variables]].all(axis=1)
    return float(cost[there].min(initial=np.inf))


def check(model, row, to, allowed, most, answers=1):
    found = model.counterfactuals(row, to, actions=allowed, most=most, answers=answers)
    kept = []
    for answer in found.answers:
        best = cheapest(model, row, to, allowed, most, kept)
        assert answer.bound <= best + 1e-9
        assert answer.cost >= best - 1e-9
        if answer.optimal:
            assert answer.cost == pytest.approx(best, abs=2e-9)
        assert max(answer.probabilities, key=answer.probabilities.get) == to
        kept.append([change.variable for change in answer.changes])
    if found.impossible:
        assert cheapest(model, row, to, allowed, most) == np.inf
    return found


@examples(40)
@given(several(), rows(), st.integers(0, 2), st.integers(1, 4))
def test_the_answer_is_proved_and_cheapest(model, row, to, most):
    found = check(model, row, LABELS[to], Actions(steps=STEPS), most)
    assert all(answer.optimal for answer in found.answers)
    assert found.answers or found.impossible


@examples(30)
@given(several(curved=True), rows(), st.integers(0, 2), st.integers(1, 3))
def test_boxes_are_refined_to_the_same_answer(model, row, to, most):
    allowed = Actions(steps=dict.fromkeys("abz", 0.5) | {"s": 1})
    with mock.patch.multiple(solving, SMALL=1.0, MOST_ON_LINES=0):
        found = check(model, row, LABELS[to], allowed, most)
    assert all(answer.optimal for answer in found.answers)


@examples(30)
@given(several(curved=True), rows(), st.integers(0, 2))
def test_bounds_hold_when_effort_is_cut_short(model, row, to):
    with mock.patch.multiple(solving, SMALL=1.0, MOST_ON_LINES=0, ROUNDS=2, MOST_BOXES=12):
        check(model, row, LABELS[to], Actions(steps=STEPS), 3)


@examples(30)
@given(several(), rows(), st.integers(0, 2))
def test_further_answers_leave_something_of_each_earlier_one(model, row, to):
    found = check(model, row, LABELS[to], Actions(steps=STEPS), 3, answers=3)
    changed = [{change.variable for change in answer.changes} for answer in found.answers]
    assert not any(old <= new for i, new in enumerate(changed) for old in changed[:i])


def three_classes():
    """Return a model in which 'r' passes 'p' by a, and stays above 'q' only by b."""

    def parts(on_a, on_b, on_u):
        terms = (Value("a"), on_a), (Value("b"), on_b), (Level("c", ("u",)), on_u)
        return tuple(
            Component(f"C{i}", (), (DirectTerm("D", column, size, 0.0, 1.0, 1.0, 0.0),))
            for i, (column, size) in enumerate(terms)
        )

    return of_classes([parts(0.0, 0.0, 0.0), parts(1.0, 0.0, 0.5), parts(0.9, 0.8, 0.0)], [3, 0, 0])


def test_the_class_is_above_all_others_not_above_the_first_alone():
    model = three_classes()
    found = model.counterfactuals(ROW, "q", actions=Actions(steps=STEPS))
    best = found.answers[0]
    assert found.predicted == "p"
    assert best.optimal
    assert set(found.compared) == {"p", "r"}
    assert {change.variable for change in best.changes} == {"a", "b"}
    # Against the class predicted alone, a change of a would be enough, and end at another class.
    alone = model.between("q", "p").counterfactuals(ROW, 0.5, actions=Actions(steps=STEPS))
    cells = {change.variable: [change.new] for change in alone.answers[0].changes}
    assert alone.answers[0].cost < best.cost
    assert model.predict({**ROW, **cells})[0] != "q"
    assert model.predict({**ROW, **{c.variable: [c.new] for c in best.changes}})[0] == "q"


def test_the_answer_is_told_in_words_and_as_plain_values():
    found = three_classes().counterfactuals(ROW, "q", actions=Actions(steps=STEPS), answers=1)
    text = str(found)
    assert "predicted is 'p'" in text
    assert "to be 'q'" in text
    assert "proved cheapest in the model, not advice), probability of 'q'" in text
    record = found.to_dict()
    assert record["classes"] == ["p", "q", "r"]
    assert sum(record["answers"][0]["probabilities"]) == pytest.approx(1.0)
    assert record["answers"][0]["optimal"] is True


def test_nothing_has_to_change_where_the_class_is_predicted_already():
    found = three_classes().counterfactuals(ROW, "p")
    assert [answer.changes for answer in found.answers] == [()]


def test_what_no_change_reaches_is_said():
    found = three_classes().counterfactuals(ROW, "q", actions=Actions(keep=["a"]))
    assert found.impossible
    assert "makes it 'q'" in found.reason


@pytest.mark.parametrize(("to", "words"), [(None, "to is not given"), ("x", "'x' is not a class")])
def test_a_class_has_to_be_named(to, words):
    with pytest.raises(InputError, match=words):
        three_classes().counterfactuals(ROW, to)
