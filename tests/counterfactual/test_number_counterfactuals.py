"""Counterfactuals of numbers: the mean of a case is brought to a target, at the least cost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from export_models import NUMBERS, number_model
from model_files import stored
from rpte.counterfactual import Actions
from rpte.errors import InputError
from rpte.losses import POISSON, SQUARED
from rpte.model.file import from_dict
from rpte.model.target import NumberTarget
from rpte.model.units import TargetUnits
from small_models import every_row, models, rows

STEPS = {"a": 1, "b": 1, "s": 2, "z": 1}


def of_number(model, loss, unit=1.0):
    """Return a small model that predicts a number, its score in other units."""
    units = TargetUnits(0.0, unit) if loss is SQUARED else TargetUnits()
    target = NumberTarget(loss, 1.0, "claims", units=units)
    if unit == 1.0:
        return replace(model, target=target)
    components = tuple(
        replace(
            component,
            trees=tuple(
                replace(tree, leaves=tuple(_times(leaf, unit) for leaf in tree.leaves))
                for tree in component.trees
            ),
            direct=tuple(_times(term, unit) for term in component.direct),
        )
        for component in model.components
    )
    return replace(model, target=target, intercept=unit * model.intercept, components=components)


def _times(term, unit):
    return replace(term, coefficient=unit * term.coefficient)


def cheapest(model, row, found, allowed, **beside):
    """Return the least cost by brute force, of all rows that the actions allow."""
    inputs, cost, changed, _ = every_row(model, row, allowed, found.most)
    mean = model.predict(inputs, **beside)
    sign = 1 if found.side == "above" else -1
    far = 1e-8 * (abs(found.target) + model.target.factor)
    there = sign * (mean - found.target) >= np.where(changed.any(axis=1), far, 0.0)
    return float(cost[there].min(initial=np.inf))


@examples(25)
@given(
    models(),
    rows(),
    st.sampled_from([0.37, 0.61, 1.13, 2.17]),
    st.sampled_from([None, "below", "above"]),
    st.sampled_from([(SQUARED, {}), (POISSON, {}), (POISSON, {"exposure": 0.25, "offset": 0.3})]),
)
def test_no_allowed_change_is_cheaper(model, row, to, side, kind):
    loss, beside = kind
    model, allowed = of_number(model, loss), Actions(steps=STEPS)
    to = to * beside.get("exposure", 1.0)
    found = model.counterfactuals(row, to, side=side, actions=allowed, answers=1, **beside)
    best = cheapest(model, row, found, allowed, **beside)
    if not found.answers:
        assert found.impossible
        assert best == np.inf
        return
    assert found.answers[0].optimal
    assert found.answers[0].cost == pytest.approx(best, abs=2e-9)


@examples(10)
@given(models(curved=True), rows(), st.sampled_from([0.37, 0.61, 1.13]))
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_the_target_change_nothing(unit, model, row, to):
    one, other = of_number(model, SQUARED), of_number(model, SQUARED, unit)
    asked = {"side": "below", "actions": Actions(steps=STEPS), "answers": 1}
    found = [m.counterfactuals(row, t, **asked) for m, t in ((one, to), (other, to * unit))]
    assert found[0].impossible == found[1].impossible
    assert [[c.variable for c in a.changes] for a in found[0].answers] == [
        [c.variable for c in a.changes] for a in found[1].answers
    ]
    assert [a.optimal for a in found[0].answers] == [a.optimal for a in found[1].answers]


@pytest.mark.parametrize("loss", NUMBERS)
def test_every_loss(loss):
    model, X, exposure = number_model(loss)
    row, beside = X.iloc[[5]], {} if exposure is None else {"exposure": float(exposure[5])}
    now = float(model.predict(row, **beside)[0])
    to = now - 0.2 * abs(now) - 0.01 * model.target.factor
    found = model.counterfactuals(row, to, actions=Actions(may_change=["age"]), **beside)
    assert found.side == "below"
    assert found.response == now
    assert found.answers
    for answer in found.answers:
        assert answer.response <= to
        changed = row.assign(**{change.variable: change.new for change in answer.changes})
        assert float(model.predict(changed, **beside)[0]) == answer.response
    text = str(found)
    assert "probability" not in text
    assert f"is {now:.6g}; to be at most {to:g}" in text
    record = found.to_dict()
    assert record["mean"] == now
    assert record["exposure"] == beside.get("exposure")
    assert not {"probability", "positive"} & set(record)
    with pytest.raises(InputError, match="the model predicts no class"):
        found.probability  # noqa: B018


def test_an_exposure_is_that_of_the_case():
    made = stored("counts")
    model, row = from_dict(made.copy()), made.X.iloc[[5]]
    table, free = row.assign(exposure=0.5), {"actions": Actions(may_change=["age"]), "answers": 1}
    to = 0.7 * float(model.predict(row, exposure=1)[0])
    unit = model.counterfactuals(row, to, **free)
    for given_as in ("exposure", 0.5, [0.5]):
        asked = {"exposure": given_as, "offset": 0.0, **free}
        found = model.counterfactuals(table, to / 2, **asked)
        assert [a.changes for a in found.answers] == [a.changes for a in unit.answers]
        assert found.answers[0].response == pytest.approx(unit.answers[0].response / 2)
        assert "= 0.5" in str(found)


class TestRefused:
    def test_what_is_no_mean(self):
        made = stored("counts")
        model, row = from_dict(made.copy()), made.X.iloc[[5]]
        for options, says in (
            ({}, "to is not given; say which mean of"),
            ({"to": 0.0}, "to=0.0; it must be a mean above 0"),
            ({"to": np.inf}, "to=inf; it must be a mean above 0"),
            ({"to": 1.0, "exposure": 0.0}, "exposures must be finite and above 0"),
            ({"to": 1.0, "exposure": [1.0, 2.0]}, "exposure has 2"),
            ({"to": 1.0, "offset": np.nan, "side": "below"}, "offsets must be finite"),
        ):
            with pytest.raises(InputError, match=says):
                model.counterfactuals(row, **options)

    def test_an_exposure_of_squared_error_and_of_classes(self):
        made = stored("squared")
        model, row = from_dict(made.copy()), made.X.iloc[[5]]
        with pytest.raises(InputError, match="exposure multiplies a mean"):
            model.counterfactuals(row, 3.0, exposure=1.0)
        assert model.counterfactuals(row, -3.0, side="above").answers is not None
        made = stored("mixed")
        with pytest.raises(InputError, match="exposure and offset are for models of numbers"):
            from_dict(made.copy()).counterfactuals(made.X.iloc[[5]], exposure=1.0)
