"""Counterfactuals as a user meets them: the answer, its text, its failures."""

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from model_files import stored
from rpte import Actions, InputError
from rpte.columns.kinds import Level, Pair, Step, Value
from rpte.counterfactual.answers import Answer, Change, total_cost
from rpte.counterfactual.find import Asked
from rpte.counterfactual.solve import Solution
from rpte.model.file import build
from rpte.model.parts import Component, DirectTerm
from small_models import SCHEMA, make

ROW = {"a": [2.0], "b": [3.0], "c": ["u"], "s": [1.0], "z": [1.0]}


def term(column, coefficient, centre=0.0):
    return DirectTerm("D", column, coefficient, centre, 1.0, 1, 0)


def component(name, *terms):
    return Component(name, (), terms)


MODEL = make(
    (
        component("C1", term(Value("a"), 0.5)),
        component("C2", term(Step("b", 2.5), 1.0)),
        component("C3", term(Level("c", ("v",)), -1.2)),
    )
)


def test_old_and_new_values_cost_and_proof():
    found = MODEL.counterfactuals(ROW, to=0.7, answers=9)
    assert (found.side, found.probability) == ("below", pytest.approx(1 / (1 + math.exp(-2))))
    first = found.answers[0]
    assert [str(c) for c in first.changes] == ["a: 2 -> 1", "b: 3 -> 2"]
    assert first.cost == pytest.approx(0.2 + 2 / 3)
    assert first.optimal
    assert first.gap == 0
    assert first.probability == pytest.approx(1 / (1 + math.exp(-0.5)))
    sets = [{c.variable for c in answer.changes} for answer in found.answers]
    assert sets == [{"a", "b"}, {"c"}]
    text = str(found)
    assert "probability of 'yes' is 0.8808; to be at most 0.7" in text
    assert "proved cheapest" in text


def test_every_answer_is_what_the_model_scores():
    found = MODEL.counterfactuals(ROW, to=0.6)
    for answer in found.answers:
        row = {**ROW, **{c.variable: [c.new] for c in answer.changes}}
        assert MODEL.score(row)[0] == answer.score
        assert answer.probability <= 0.6


def test_a_row_that_is_there_already_needs_no_change():
    found = MODEL.counterfactuals(ROW, to=0.6, side="above")
    assert [answer.changes for answer in found.answers] == [()]
    assert found.answers[0].cost == 0
    assert found.answers[0].optimal


def test_what_cannot_be_reached_is_said_with_what_can():
    found = MODEL.counterfactuals(ROW, to=0.05, actions=Actions(keep=["c"]))
    assert found.answers == ()
    assert found.impossible
    assert found.reachable == pytest.approx(0.5)
    assert "no allowed change of at most 3 variables reaches it" in str(found)
    assert "lowest probability found is 0.5000" in found.reason
    one = MODEL.counterfactuals(ROW, to=0.05, most=1)
    assert "no allowed change of one variable reaches it" in one.reason


def test_one_way_variables_keep_their_way():
    found = MODEL.counterfactuals(
        ROW, to=0.7, actions=Actions(one_way={"a": "increase"}, keep=["b"])
    )
    assert [[str(c) for c in a.changes] for a in found.answers] == [["c: 'u' -> 'v'"]]


def test_json_holds_everything():
    record = MODEL.counterfactuals(ROW, to=0.7).to_dict()
    assert json.loads(json.dumps(record)) == record
    assert record["answers"][0]["optimal"] is True
    assert record["scales"]["a"] == {
        "spread": 3.0,
        "step": 1.0,
        "low": 0.0,
        "high": 6.0,
        "told": True,
    }
    assert record["scales"]["c"]["step"] is None


def test_fine_products_give_a_proof_or_an_honest_gap():
    product = Pair("product", Value("a"), Value("b"))
    model = make((component("C1", term(product, 0.2), term(Value("a"), -0.3)),))
    actions = Actions(steps={"a": 0.001, "b": 0.001})
    found = model.counterfactuals(ROW, to=0.9, actions=actions, answers=1)
    answer = found.answers[0]
    assert answer.bound <= answer.cost
    assert answer.optimal
    # Against a fine brute force over both variables.
    a, b = np.meshgrid(np.arange(0, 6.0001, 0.01), np.arange(0, 6.0001, 0.01))
    there = 0.2 * a * b - 0.3 * a >= math.log(9) + 1e-9
    size = np.abs(a - 2) / 3 + 0.1 * (np.abs(a - 2) > 1e-9)
    size += np.abs(b - 3) / 3 + 0.1 * (np.abs(b - 3) > 1e-9)
    assert answer.cost <= size[there].min() + 1e-9
    assert answer.cost >= size[there].min() - 0.02


@pytest.mark.parametrize("name", ["mixed", "special", "products", "shaped", "chosen", "array"])
def test_fitted_models_are_answered(name):
    """On files of every kind the answers hold, by scoring again, and bounds lie below costs."""
    case = stored(name)
    model = build(case.document)
    for place in (0, 7, 21):
        row = (
            pd.DataFrame(case.X).iloc[[place]]
            if isinstance(case.X, pd.DataFrame)
            else case.X[[place]]
        )
        found = model.counterfactuals(row, answers=2, most=2)
        assert found.answers or found.reason
        for answer in found.answers:
            assert (answer.probability <= 0.5) == (found.side == "below")
            assert 0 <= answer.bound <= answer.cost + 1e-9
            assert 1 <= len(answer.changes) <= 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"to": 0.0}, "it must be a probability between 0 and 1"),
        ({"side": "left"}, "must be 'below' or 'above'"),
        ({"most": 0}, "most=0; it must be a whole number"),
        ({"answers": 1.5}, "answers=1.5"),
        ({"actions": Actions(keep=["q"])}, "no variable of the model"),
    ],
)
def test_mistakes_are_told(arguments, said):
    with pytest.raises(InputError, match=said):
        MODEL.counterfactuals(ROW, **arguments)


def test_one_row_is_needed():
    two = {name: cells * 2 for name, cells in ROW.items()}
    with pytest.raises(InputError, match="X has 2 rows; give one"):
        MODEL.counterfactuals(two)


def test_variables_that_the_model_does_not_read_never_change():
    found = MODEL.counterfactuals(ROW, to=0.7, answers=9, most=5)
    read = {c.variable for answer in found.answers for c in answer.changes}
    assert read <= {"a", "b", "c"}
    assert set(found.scales) == {"a", "b", "c"}
    assert len(SCHEMA) == 5


def test_a_number_whose_range_is_hidden_is_named():
    """A safe profile hides both values of a 0/1 number."""
    profile = [{"name": "a", "kind": "number", "quantiles": [None] * 5, "extremes": None}]
    model = make((component("C1", term(Value("a"), 3.0)),), profile=profile)
    found = model.counterfactuals({"a": [1.0]}, to=0.6)
    assert found.hidden == ("a",)
    assert "the file does not tell the range of a: say it with `allowed`" in str(found)
    told = model.counterfactuals({"a": [1.0]}, to=0.6, actions=Actions(allowed={"a": (0, 1)}))
    assert [str(c) for c in told.answers[0].changes] == ["a: 1 -> 0"]
    assert told.hidden == ()


def test_numpy_is_all_that_is_needed(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(stored("products").document))
    row = {k: [v] for k, v in stored("products").X.iloc[0].items()}
    code = f"""
import json, sys, rpte
model = rpte.load({str(path)!r})
row = json.loads({json.dumps(json.dumps(row, default=str))})
model.counterfactuals(row, answers=1)
model.what_if(row, {{"age": 3}})
print([m for m in ("numba", "sklearn", "scipy", "pandas") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_a_model_without_terms_can_reach_nothing_else():
    found = make((), intercept=1.0).counterfactuals(ROW)
    assert found.impossible
    assert found.reachable == pytest.approx(found.probability)


class Prepared(Asked):
    """Finds the first prepared answer that is allowed, as a search does among equal costs."""

    def __init__(self, *prepared):
        self.prepared = prepared

    def solve(self, fixed, below=math.inf):
        for number, found in enumerate(self.prepared):
            if not found.variables & fixed and found.cost < below:
                return Solution((np.array([number]),), found.cost, found.bound, 0.0)
        return Solution(None, math.inf, math.inf, 0.0)

    def answer(self, solution):
        return self.prepared[int(solution.positions[0][0])]


def prepared(bound, **costs):
    changes = tuple(Change(name, 0.0, 1.0, cost) for name, cost in costs.items())
    return Answer(changes, total_cost(changes), bound, 0.0, 0.5, None)


def test_answers_of_equal_cost_have_a_defined_order():
    together = prepared(1.5, a=1.0, b=1.0 + 1e-12)
    cheaper, fewer, later = prepared(2.0, z=2.0 - 1e-12), prepared(2.0, a=2.0), prepared(2.0, c=2.0)
    found, _ = Prepared(together, later, fewer, cheaper).answered(4)
    assert [sorted(answer.variables) for answer in found] == [["z"], ["a"], ["c"]]
    assert [answer.bound for answer in found] == [1.5, 1.5, 2.0]


def test_a_dearer_answer_with_fewer_changes_stands_beside_a_cheaper_one():
    cheaper, fewer = prepared(1.8, a=1.0, b=0.8), prepared(2.0, a=2.0)
    found, _ = Prepared(cheaper, fewer).answered(2)
    assert [(answer.cost, answer.bound) for answer in found] == [(1.8, 1.8), (2.0, 2.0)]


def test_a_cost_does_not_depend_on_the_order_of_its_sum():
    costs = {"a": 0.1, "b": 0.2, "c": 0.3}
    orders = [dict(order) for order in itertools.permutations(costs.items())]
    assert len({sum(order.values()) for order in orders}) > 1
    assert {prepared(0.0, **order).cost for order in orders} == {0.6}
