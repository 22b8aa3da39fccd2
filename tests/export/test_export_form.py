"""The intermediate form says what the model says."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from export_models import (
    NAMES,
    NUMBERS,
    classes_of,
    every_kind,
    golden,
    hostile_rows,
    model_with,
    of_number,
    of_time,
    variables,
)
from fit_tables import KINDS, make_case
from rpte import InputError, RPTEClassifier
from rpte.columns.kinds import Hinge, Value
from rpte.export.cells import probe_table, read_cells
from rpte.export.evaluate import OPERATIONS, evaluate
from rpte.export.form import Constant, Node, Operation, all_nodes, nodes
from rpte.export.lower import make_form
from rpte.export.parity import expected
from rpte.model.parts import DirectTerm


def assert_same(model, X, **options):
    form = make_form(model, options)
    truth, found = expected(model, X, form.horizons), evaluate(form, read_cells(form, X))
    assert set(truth) <= set(found)  # models of several classes have lines in between
    assert "score" not in truth or set(found) == set(truth)
    steep = np.abs(truth.get("score", np.zeros(1))) > 700
    for name, values in truth.items():
        if name.startswith("survival"):
            np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-300)
        elif name == "probability":
            np.testing.assert_array_equal(found[name][~steep], values[~steep])
            np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-300)
        else:
            np.testing.assert_array_equal(found[name], values, name)


@pytest.mark.parametrize("name", NAMES)
def test_golden_models_to_the_last_bit(name):
    model, rows = golden(name)
    assert_same(model, rows)
    assert_same(model, probe_table(make_form(model)))


@pytest.mark.parametrize("kind", [*NUMBERS, "classes", "times"])
def test_models_of_other_tasks_on_hostile_cells(kind):
    if kind == "classes":
        model, options = classes_of(every_kind(), ("Adelie", "Chinstrap", "Gentoo")), {}
    elif kind == "times":
        model, options = of_time(every_kind()), {"horizons": [0.5, 1.0, 12.0, 40.0]}
    else:
        model, options = of_number(every_kind(), kind), {}
    assert_same(model, hostile_rows(model, 2000), **options)


def test_every_kind_of_column_on_hostile_cells():
    model = every_kind()
    rows = hostile_rows(model, 2000)
    score = expected(model, rows)["score"]
    assert len(set(score)) > 500
    assert_same(model, rows)
    several = make_form(classes_of(model, ("a", "b", "c")))
    found = [node for form in (make_form(model), several) for node in all_nodes(form)]
    assert {type(node) for node in found} == set(get_args(Node))
    assert {node.name for node in found if isinstance(node, Operation)} == set(OPERATIONS)


@pytest.mark.slow(reason="a model is fitted per example")
@examples(10)
@given(
    seed=st.integers(0, 1000),
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=4),
    paper=st.booleans(),
)
def test_fitted_models_to_the_last_bit(seed, kinds, paper):
    case = make_case(seed, kinds, 60, clear=True)
    model = case.fit(RPTEClassifier.paper() if paper else RPTEClassifier(l1="4/n")).model_
    assert_same(model, case.X)
    assert_same(model, probe_table(make_form(model)))


def test_a_model_without_terms():
    case = make_case(0, ["number"], 30)
    model = RPTEClassifier(l1=1e6).fit(case.X, case.y).model_
    assert not model.components
    form = make_form(model)
    assert form.inputs == ()
    assert_same(model, case.X)


def test_lines_stand_in_the_order_of_the_file():
    model, _ = golden("products")
    form = make_form(model)
    assert [line.name for line in form.role("component")] == [c.name for c in model.components]
    assert [line.name for line in form.role("term")] == [part.name for _, part in model.parts()]
    assert [line.name for line in form.lines[-2:]] == ["score", "probability"]


def test_only_products_that_may_overflow_are_watched():
    form = make_form(every_kind())
    watched = {
        line.name
        for line in form.lines
        if any(isinstance(n, Operation) and n.name == "finite" for n in nodes(line.value))
    }
    assert watched == {"T1", "D24"}


def test_a_hinge_is_one_choice():
    term = DirectTerm("D1", Hinge("a", 2.0, "above"), 0.5, 0.0, 1.0, 1.0, 1.0)
    model = model_with([term], variables(("a", "b", "c"), "k", "f"))
    line = make_form(model).lines[0]
    condition, _, otherwise = line.value.parts
    assert (line.value.name, condition.name) == ("if", ">")
    assert otherwise == Constant(0.0)


def test_numbers_that_could_overflow_are_refused():
    term = DirectTerm("D1", Value("a"), 0.5, 1.5e308, 1.0, 1.0, 1.0)
    model = model_with([term], variables(("a", "b", "c"), "k", "f"))
    with pytest.raises(InputError, match=r"D1 .*1.5e\+308.*up to 1e\+300.*rescaled"):
        make_form(model)


def test_probes_try_every_threshold_from_both_sides():
    form = make_form(every_kind())
    table = probe_table(form)
    for t in (0.5, 0.1, 0.25):
        assert {t, np.nextafter(t, 1), np.nextafter(t, 0)} <= set(table["a"])
    assert {None, "n/a", -9.0, 7.5} <= set(table["c"])
    assert {None, "3", "a level never seen"} <= set(table["k"])
    assert max(v for v in table["a"][:300] if v is not None) < 1e10
    assert {1e300, 5e-324} <= set(table["a"][300:])
