"""What would have to change for some survival at a horizon."""

import itertools

import numpy as np
import pytest

from rpte import Actions
from rpte.errors import InputError
from survival_trial import FEATURES, fitted, trial

HORIZON = 365.0
FREE = Actions(may_change=["age"], steps={"age": 1.0})


def row(number=0, strata=None):
    return trial()[FEATURES if strata is None else [*FEATURES, strata]].iloc[[number]]


@pytest.mark.parametrize("loss", ["cox", "discrete"])
@pytest.mark.parametrize("side", ["above", "below"])
def test_answers_reach_the_survival(loss, side):
    model, one = fitted(loss), row()
    now = float(model.survival_at(one, HORIZON)[0, 0])
    to = now + (0.1 if side == "above" else -0.1)
    found = model.counterfactuals(one, to, horizon=HORIZON, actions=FREE)
    assert found.side == side
    assert found.response == now
    assert found.answers
    for answer in found.answers:
        changed = one.assign(**{change.variable: change.new for change in answer.changes})
        assert float(model.survival_at(changed, HORIZON)[0, 0]) == answer.response
        assert answer.response >= to if side == "above" else answer.response <= to
        assert answer.optimal
    text = str(found)
    assert f"survival at 365 days is {now:.4f}; to be at " in text
    record = found.to_dict()
    assert record["survival"] == now
    assert record["horizon"] == HORIZON
    assert record["event"] == "died"
    assert not {"probability", "positive", "exposure"} & set(record)


def test_the_cheapest_is_that_of_a_loop():
    """No single change of age, stage or treatment costs less, tried one by one."""
    model, one = fitted(), row(3)
    kept = Actions(keep=["crp"], may_change=["age"], steps={"age": 1.0})
    to = float(model.survival_at(one, HORIZON)[0, 0]) + 0.05
    found = model.counterfactuals(one, to, horizon=HORIZON, actions=kept, most=1, answers=1)
    scale = found.scales["age"]
    costs = [
        abs(age - float(one["age"].iloc[0])) / scale.spread + found.per_change
        for age in np.arange(scale.low, scale.high + 1.0)
        if float(model.survival_at(one.assign(age=age), HORIZON)[0, 0]) >= to
    ]
    levels = {"stage": ["I", "II", "III"], "treatment": ["new", "old"]}
    for name, level in itertools.chain(*([(n, v) for v in vs] for n, vs in levels.items())):
        changed = one.assign(**{name: level})
        if one[name].iloc[0] != level and model.survival_at(changed, HORIZON)[0, 0] >= to:
            costs.append(1.0 + found.per_change)
    assert found.answers[0].cost == pytest.approx(min(costs))


@pytest.mark.filterwarnings("ignore:the table has 1 columns")
def test_a_stratum_has_its_baseline():
    model = fitted(strata="centre")
    found = {}
    for centre in ("north", "south"):
        one = row(strata="centre").assign(centre=centre)
        asked = {"horizon": HORIZON, "actions": FREE, "answers": 1}
        by_name = model.counterfactuals(one, 0.7, strata="centre", **asked)
        by_label = model.counterfactuals(one[FEATURES], 0.7, strata=[centre], **asked)
        assert by_name.to_dict() == by_label.to_dict()
        assert by_name.stratum == centre
        (answer,) = by_name.answers
        changed = one.assign(**{change.variable: change.new for change in answer.changes})
        reached = model.survival_at(changed, HORIZON, strata="centre")[0, 0]
        assert reached == answer.response >= 0.7
        found[centre] = answer.cost
    assert found["south"] > found["north"]


def test_a_hazard_without_a_horizon():
    model, one = fitted(), row()
    to = 0.5 * float(model.response(one)[0])
    found = model.counterfactuals(one, to, actions=FREE, answers=1)
    assert found.side == "below"
    assert found.answers[0].response <= to
    assert found.to_dict()["horizon"] is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"horizon": HORIZON}, "to is not given; say which survival at 365 days"),
        ({"to": 1.0, "horizon": HORIZON}, "to=1.0; it must be a probability between 0 and 1"),
        ({"to": 0.5, "horizon": -1.0}, "outside of what was observed"),
        ({"to": 0.5, "horizon": 0.0}, "before the first event"),
        ({"to": 0.5, "horizon": HORIZON, "strata": ["north"]}, "has one baseline"),
        ({"to": 0.5, "horizon": HORIZON, "exposure": 1.0}, "for models of numbers"),
    ],
)
def test_refused(options, says):
    with pytest.raises(InputError, match=says):
        fitted().counterfactuals(row(), **options)
