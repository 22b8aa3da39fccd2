"""The values that a variable may take: range, step, spread, cost; gaps and special codes."""

import numpy as np
import pytest

from rpte import Actions, InputError
from rpte.columns.kinds import Hinge, Level, Missing, Pair, Scale, Step, Value
from rpte.counterfactual.choices import choices_of, known_of
from rpte.model.parts import Component, DirectTerm
from rpte.table.schema import OTHER, Schema, Variable
from small_models import PROFILE, SCHEMA, make

ROW = {"a": [2.0], "b": [None], "c": ["u"], "s": ["-9"], "z": [1.25]}


def model_of(*columns, profile=PROFILE, schema=SCHEMA):
    terms = tuple(DirectTerm("D", column, 1.0, 0.0, 2.0, 1, 0) for column in columns)
    return make((Component("C1", (), terms),), profile=profile, schema=schema)


EVERYTHING = model_of(*map(Value, "absz"), Level("c", ("u",)))


def choices(name, model=EVERYTHING, row=ROW, **actions):
    return choices_of(model, model.read(row), name, Actions(**actions))


def test_numbers_lie_on_the_printed_grid_inside_the_training_range():
    found = choices("a")
    assert found.values.tolist() == [2, 0, 1, 3, 4, 5, 6]
    assert found.costs.tolist() == pytest.approx(
        [0, *(0.1 + abs(v - 2) / 3 for v in (0, 1, 3, 4, 5, 6))]
    )


def test_an_own_value_off_the_grid_stays_possible_and_distances_count_from_it():
    found = choices("z", steps={"z": 0.5}, allowed={"z": (1, 2)}, per_change=0)
    assert found.values.tolist() == [1.25, 1.0, 1.5, 2.0]
    assert found.costs.tolist() == pytest.approx([0, 0.25 / 3, 0.25 / 3, 0.75 / 3])


def test_decimals_are_those_that_are_printed():
    found = choices("a", steps={"a": 0.1}, allowed={"a": (0, 1)})
    assert [repr(v) for v in found.values[1:].tolist()] == [repr(k / 10) for k in range(11)]


@pytest.mark.parametrize(
    ("quantiles", "step"),
    [
        ([0.0, 1.0, 2.0, 4.0, 6.0], 1.0),
        ([0.0, 1.0, 2.5, 4.0, 6.0], 0.1),
        ([0.1, 0.1234567, 0.2, 0.41, 0.6], 0.001),
        ([0.0, 10000.0, 20000.0, 40000.0, 60000.0], 100.0),
        ([None, 1.25, 2.5, 4.0, None], 0.01),
    ],
)
def test_the_step_follows_the_training_values_but_is_no_finer_than_centres(quantiles, step):
    profile = [{"name": "a", "kind": "number", "quantiles": quantiles, "extremes": None}]
    assert known_of(model_of(Value("a"), profile=profile), "a", 2.0, Actions()).step == step


def test_spread_falls_back_from_quartiles_to_what_the_file_knows():
    def spread(quantiles, column, own=5.0):
        profile = [{"name": "a", "kind": "number", "quantiles": quantiles, "extremes": None}]
        return known_of(model_of(column, profile=profile), "a", own, Actions()).spread

    log = Scale("a", "log", (0.5,))
    assert spread([0.0, 5.0, 5.0, 5.0, 8.0], log) == 8.0
    assert spread([None, 5.0, 5.0, 5.0, None], Step("a", 7.0)) == 2.0
    assert spread([None, None, None, None, None], Value("a")) == 5.0  # from the centre, 0
    assert spread([None, None, None, None, None], Value("a"), own=0.0) == 2.0  # the term's scale


def test_a_number_of_which_the_file_knows_no_other_value_stays():
    model = model_of(Scale("a", "log", (0.5,)), profile=None)
    assert len(choices("a", model).values) == 1
    assert model.counterfactuals(ROW).hidden == ("a",)
    assert model.counterfactuals(ROW, actions=Actions(keep=["a"])).hidden == ()
    told = {"spreads": {"a": 1}, "allowed": {"a": (0, 3)}, "steps": {"a": 1}}
    assert choices("a", model, **told).values.tolist() == [2, 0, 1, 3]
    assert len(choices("a", model, allowed={"a": (0, 3)}).values) > 3


def test_a_number_of_which_only_the_presence_counts_stays():
    assert len(choices("a", model_of(Missing("a"))).values) == 1


def test_a_gap_of_which_no_number_is_known_stays_a_gap():
    profile = [{"name": "b", "kind": "number", "quantiles": [None] * 5, "extremes": None}]
    hinge = model_of(Scale("b", "log", (0.5,)), profile=profile)
    assert len(choices("b", hinge).values) == 1
    slope = model_of(Value("b"), profile=profile)  # its centre, 0, is the training median
    assert choices("b", slope).values[1:].tolist() == [0.0]


def test_a_threshold_can_be_crossed_by_one_step():
    model = model_of(Step("a", 6.0))
    assert choices("a", model).values.max() == 7.0


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ([Scale("a", "clip", (1.0, 4.0))], [1, 3, 4]),
        ([Scale("a", "clip", (0.5, 4.5))], [1, 3, 4]),  # no half step more, beyond a limit
        ([Scale("a", "clip", (3.0, 5.0))], [3, 4, 5]),  # 2 itself lies beyond
        ([Scale("a", "clip", (2.2, 2.8))], [3]),  # between neighbours, as a threshold
        ([Scale("a", "clip", (4.2, 4.8))], [3, 4, 5]),
        ([Scale("a", "clip", (1.0, 3.0)), Step("a", 4.0)], [1, 3, 4, 5]),
        (
            [Scale("a", "clip", (1.0, 3.0)), Scale("a", "clip", (3.0, 9.0))],
            [1, 3, 4, 5, 6, 7, 8, 9],
        ),
        ([Hinge("a", 3.5, "below"), Hinge("a", 2.0, "above")], [0, 1, 3, 4, 5, 6]),
        ([Hinge("a", 3.5, "below")], [0, 1, 3]),
        ([Scale("a", "log", (1.0,))], [1, 3, 4, 5, 6]),
        ([Scale("a", "distance", (3.0,))], [0, 1, 3, 4, 5, 6]),
        ([Pair("product", Scale("a", "clip", (1.0, 4.0)), Value("z"))], [1, 3, 4]),
        ([Scale("a", "clip", (1.0, 4.0)), Missing("a")], [1, 3, 4]),
    ],
)
def test_no_number_lies_beyond_the_limits_of_every_shape(columns, values):
    model = model_of(*columns)
    assert choices("a", model).values.tolist() == [2, *values]
    allowed = choices("a", model, allowed={"a": (0, 9)}).values  # the user's word, searched whole
    assert allowed.tolist() == [2, 0, 1, *range(3, 10)]


def test_gaps_may_be_filled_but_not_made():
    filled = choices("b")
    assert np.isnan(filled.values[0])
    assert filled.values[1:].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert filled.costs[1:].tolist() == pytest.approx([1.1 + abs(v - 2) / 3 for v in range(7)])
    for name in "abcsz":
        found = choices(name, codes=["s"])
        gone = np.isnan(found.values[1:]) & (found.codes[1:] < 0)
        assert not gone.any()


def test_special_codes_become_numbers_and_numbers_become_them_only_if_asked():
    assert choices("s").codes.tolist()[0] == 0
    assert (choices("s").codes[1:] < 0).all()
    asked = choices("s", codes=["s"])
    assert asked.codes[-1] == 1
    assert asked.costs[-1] == pytest.approx(1.1)


def test_a_pooled_level_is_nothing_to_become():
    schema = Schema((Variable("c", "category", ("u", "v", OTHER), False, True),), named=True)
    model = model_of(Level("c", ("u",)), schema=schema)
    found = choices("c", model, {"c": ["unheard of"]})
    assert found.codes.tolist() == [2, 0, 1]


def test_one_way_and_keep():
    assert choices("a", one_way={"a": "increase"}).values.tolist() == [2, 3, 4, 5, 6]
    assert choices("a", one_way={"a": "decrease"}).values.tolist() == [2, 0, 1]
    assert len(choices("b", one_way={"b": "decrease"}).values) == 8  # a gap has no direction
    assert len(choices("a", keep=["a"]).values) == 1
    assert choices("c", allowed={"c": ["w"]}).codes.tolist() == [0, 2]
    assert choices("a", costs={"a": 3}).costs[-1] == pytest.approx(3 * (0.1 + 4 / 3))


def test_too_many_values_are_refused_with_the_remedy():
    with pytest.raises(InputError, match="larger step or a smaller range"):
        choices("a", steps={"a": 1e-6})
