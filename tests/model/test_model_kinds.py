"""Steps, hinges, scales and their pairs in a model: contributions, units and claims."""

from dataclasses import replace

import numpy as np
import pytest

import model_reader
from model_files import SHAPES, stored
from rpte import Limits, RPTEClassifier
from rpte.columns.kinds import Hinge, Level, Pair, Pattern, Scale, Step, Value
from rpte.columns.limits import column_effect, permissions
from rpte.model.file import from_dict
from rpte.model.ledger import DERIVED
from rpte.model.parts import Component, DirectTerm
from rpte.report.draw import draw_model

ABOVE, BELOW = Hinge("age", 50.0, "above"), Hinge("age", 50.0, "below")
STEP, ROOT = Step("age", 40.0), Scale("noise", "sqrt", (0.0,))
NORTH = Level("region", ("north",))
ROWS = {"age": [38.0, 50.0, 53.0, None], "noise": [4.0, 9.0, 4.0, 4.0]}


def term(name, column, coefficient, centre=0.0):
    return DirectTerm(name, column, coefficient, centre, 1.0, 10.0, 5.0)


def model_of(*terms, monotone=None):
    """Return a model of some direct terms in one component, maybe with a monotone claim."""
    model = from_dict(stored("shaped").copy())
    limits = {**model.settings["limits"], "monotone": monotone or {}}
    return replace(
        model,
        intercept=0.5,
        components=(Component("C1", (), terms),),
        settings={**model.settings, "limits": limits},
    )


def test_a_fit_with_these_columns_passes_every_check_but_that_they_are_the_table_s():
    model = from_dict(stored("shaped").copy())
    used = {part.column.kind for _, part in model.parts() if isinstance(part, DirectTerm)}
    assert {"step", "hinge", "scale", "pair", "pattern"} <= used
    assert sum(" where " in rule.conditions for rule in model.rules()) == 2
    checks = model.verify(*stored("shaped").given)
    assert [check.name for check in checks if not check.holds] == [DERIVED]
    for _, part in model.parts():
        if isinstance(part, DirectTerm) and isinstance(part.column, Hinge):
            assert part.centre == 0.0
            assert part.scale != 1.0


def test_the_second_reader_scores_the_same():
    case = stored("shaped")
    model = from_dict(case.copy())
    rows = model_reader.rows_of(case.X)
    read = [model_reader.score(case.document, row) for row in rows]
    np.testing.assert_allclose(model.score(case.X), read, rtol=0, atol=1e-12)
    assert model_reader.inspection_units(case.document) == model.audit().miu


def test_contributions_by_hand_add_up_to_the_last_bit():
    model = model_of(term("D1", STEP, 2.0), term("D2", ABOVE, 0.1), term("D3", ROOT, 1.0, 2.5))
    found = model.explain(ROWS)
    values = [[c.value for c in e.components[0].contributions] for e in found]
    assert values == [[0, 0, -0.5], [2, 0, 0.5], [2, 0.1 * 3, -0.5], [0, 0, -0.5]]
    for explanation, score in zip(found, model.score(ROWS), strict=True):
        total = 0.0
        for contribution in explanation.components[0].contributions:
            total = total + contribution.value
        assert 0.5 + total == explanation.score == score


def test_terms_in_words():
    product = Pair("product", ABOVE, Value("noise"))
    model = model_of(
        term("D1", STEP, 2.0), term("D2", ABOVE, 0.1), term("D3", ROOT, 1.0, 2.5),
        term("D4", product, -0.25),
    )  # fmt: skip
    texts = [
        "age > 40",
        "age, from 50 up",
        "square root of noise, from 6.25 (less than 0 as 0)",
        "(age above 50) * noise",
    ]  # no cell was missing in training
    assert [rule.conditions for rule in model.rules()] == texts
    assert all(text in model.summary(terms=True) for text in texts)
    assert "missing" not in draw_model(model)
    shown = [c.text for c in model.explain(ROWS)[0].components[0].contributions]
    assert shown == [
        texts[0],
        f"{texts[1]}: +0.8 for each 8 more",
        f"{texts[2]}: +0.88 for each 0.88 more of the root",
        f"{texts[3]}: -0.25 for each 1 more of the product",
    ]


def test_a_hinge_is_read_only_where_it_is_not_zero():
    product = Pair("product", ABOVE, Value("noise"))
    model = model_of(
        term("D1", STEP, 2.0), term("D2", ABOVE, 0.1), term("D3", ROOT, 1.0, 2.5),
        term("D4", product, 1.0),
    )  # fmt: skip
    load = model.audit(ROWS)
    assert (load.mu, load.miu) == (4, 5)
    assert load.per_row.tolist() == [1, 2, 5, 1]  # the slope always; the step; hinge and product
    tiny = model_of(term("D1", Hinge("age", 0.0, "above"), 1.0))
    assert tiny.audit({"age": [1e-15, 0.0]}).per_row.tolist() == [1, 0]


def test_a_product_counts_only_where_its_condition_holds():
    rows = {**ROWS, "region": ["north", "north", "north", None]}
    given_north = Pair("product", Value("age"), NORTH)
    wide = Pair("product", Level("region", ("north", "west")), ABOVE)
    model = model_of(
        term("D1", given_north, 0.5), term("D2", wide, 1.0), term("D3", Pattern(STEP, NORTH), 2.0)
    )
    texts = [
        "age where region is 'north' (missing adds 0)",
        "(age above 50) where region in {'north', 'west'} (missing adds 0)",
        "age > 40 and region is 'north'",
    ]
    assert [rule.conditions for rule in model.rules()] == texts
    assert model.audit(rows).per_row.tolist() == [2, 4, 6, 0]
    elsewhere = {**rows, "region": [None, "east", "west", "west"]}
    assert model.audit(elsewhere).per_row.tolist() == [0, 0, 2, 0]
    found = model.explain(rows)
    values = [[c.value for c in e.components[0].contributions] for e in found]
    assert values == [[19, 0, 0], [25, 0, 2], [26.5, 3, 2], [0, 0, 0]]
    assert found[0].components[0].contributions[0].text == f"{texts[0]}: +0.5 for each 1 more"


def test_only_the_variables_that_it_reads_are_needed():
    model = model_of(term("D1", ABOVE, 0.1))
    assert model.score({"age": [60.0]}).tolist() == [0.5 + 0.1 * 10]


MONOTONE = "monotone: increasing in age"
SUM, DIFFERENCE = (Pair(op, Value("noise"), BELOW) for op in ("sum", "difference"))


@pytest.mark.parametrize(
    ("column", "effect"),
    [
        (STEP, 1),
        (ABOVE, 1),
        (BELOW, -1),
        (Scale("age", "log", (1.0,)), 1),
        (Scale("age", "sqrt", (1.0,)), 1),
        (Scale("age", "clip", (1.0, 60.0)), 1),
        (Scale("age", "distance", (45.0,)), None),
        (Scale("age", "distance", (45.0, 30.0, 60.0)), None),
        (Scale("age", "log", (30.0, 60.0)), 1),
        (Hinge("age", 60.0, "below", 30.0), -1),
        (Pair("product", Hinge("age", 40.0, "above", 60.0), Hinge("noise", 0.0, "above", 1.0)), 1),
        (SUM, -1),
        (DIFFERENCE, 1),
        (Pair("difference", BELOW, Value("noise")), -1),
        (Pair("sum", Scale("age", "distance", (45.0,)), Value("noise")), None),
        (Pair("product", ABOVE, Hinge("noise", 0.0, "above")), 1),
        (Pair("product", BELOW, NORTH), -1),
        (Pair("product", STEP, Value("noise")), None),
        (Pair("product", STEP, ROOT), 1),
        (Pattern(STEP, NORTH), 1),
        (Pair("absolute difference", ABOVE, Value("noise")), None),
    ],
)
def test_monotone_claims_hold_or_fail_as_the_scores_do(column, effect):
    assert column_effect(column, "age") == effect
    for coefficient in (1.0, -1.0):
        model = model_of(term("D1", column, coefficient), monotone={"age": "increasing"})
        holds = {check.name: check.holds for check in model.verify()}[MONOTONE]
        assert holds == (effect is not None and effect * coefficient > 0)
        age = np.arange(20.0, 80.0, 0.5)
        steps = np.diff(
            model.score(
                {"age": age, "noise": np.full(len(age), 0.3), "region": ["north"] * len(age)}
            )
        )
        assert (steps >= 0).all() or not holds


def test_linear_only_forbids_them():
    schema = from_dict(stored("shaped").copy()).schema
    limits = permissions(Limits(linear_only=["age"]), schema)
    assert limits.admits(Value("age"))
    for column in (STEP, ABOVE, Scale("age", "log", (1.0,)), DIFFERENCE):
        assert not limits.admits(column)
        assert permissions(None, schema).admits(column)
    model = model_of(term("D1", ABOVE, 1.0))
    settings = {**model.settings, "limits": {**model.settings["limits"], "linear_only": ["age"]}}
    checks = replace(model, settings=settings).verify()
    assert not next(check for check in checks if check.name == "linear only").holds


def test_a_fit_obeys_a_monotone_limit_with_these_columns(monkeypatch):
    admitted = [c for c in SHAPES if column_effect(c, "age") is not None or "age" not in c.sources]
    monkeypatch.setattr("rpte.published.vocabulary.mine_pairs", lambda *_: tuple(admitted))
    case = stored("shaped")
    made = RPTEClassifier(l1=0.002, max_trees=1, limits=Limits(monotone={"age": "decreasing"}))
    model = made.fit(case.X, case.y, case.weight).model_
    assert any(part.column.kind == "hinge" or part.column.kind == "scale"
               for _, part in model.parts() if isinstance(part, DirectTerm))  # fmt: skip
    assert all(check.holds for check in model.verify(*case.given))
