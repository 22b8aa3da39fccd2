"""With the training table, no field that scores a possible case or promises something can move."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_fuzz import changed, fields, others
from fit_tables import mixed_case
from model_files import columns, direct, sealed, stored, trees
from proof_models import (
    MAKERS,
    claims,
    level_nodes,
    number_places,
    passes,
    passes_on,
    proof_model,
    with_other_levels,
)
from rpte import RPTEClassifier
from rpte.model.file import from_dict, to_dict

THOROUGH = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def failing(document, name):
    model = from_dict(sealed(document))
    return {check.name for check in model.verify(*proof_model(name).given) if not check.holds}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_they_pass_as_fitted(name):
    model = from_dict(proof_model(name).copy())
    checks = model.verify(*proof_model(name).given)
    assert [check for check in checks if not check.holds] == []


@pytest.mark.slow
@THOROUGH
@given(name=st.sampled_from(list(MAKERS)), data=st.data())
def test_any_other_value_in_any_field_that_scores_or_promises(name, data):
    document = proof_model(name).document
    path, value = data.draw(st.sampled_from(claims(document)))
    assert not passes(changed(document, path, data.draw(st.sampled_from(others(value)))), name)


@pytest.mark.slow
@THOROUGH
@given(name=st.sampled_from(list(MAKERS)), data=st.data())
def test_numbers_that_move_by_as_little_as_one_likes(name, data):
    """Inside a gap of the data no training row notices; the number still follows from its ends."""
    document = proof_model(name).document
    path, value = data.draw(st.sampled_from(number_places(document)))
    near = data.draw(st.floats(value - 1e-3, value + 1e-3).filter(lambda v: abs(v - value) > 1e-8))
    assert not passes(changed(document, path, near), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["limited", "paper", "boosted"])
def test_every_side_of_missing_cells(name):
    places = [p for p, _ in fields(proof_model(name).document) if p[-1] == "missing_holds"]
    assert len(places) > 3
    for path in places:
        document = proof_model(name).copy()
        value = next(v for p, v in fields(document) if p == path)
        assert not passes(changed(document, path, not value), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_pooled_both_ways(name):
    for number in range(len(proof_model(name).document["schema"]["variables"])):
        document = proof_model(name).copy()
        variable = document["schema"]["variables"][number]
        variable["pooled"] = not variable["pooled"]
        assert not passes(document, name)


@pytest.mark.parametrize("name", ["default", "limited"])
def test_fewer_conditions_than_there_are(name):
    document = proof_model(name).copy()
    document["settings"]["max_inspection_units"] = from_dict(proof_model(name).copy()).audit().miu
    assert passes(document, name)
    document["settings"]["max_inspection_units"] -= 1
    assert failing(document, name) == {"size as asked for"}


@pytest.mark.parametrize("name", ["default", "limited", "paper"])
def test_a_centre_that_the_intercept_makes_up_for(name):
    """Only missing cells, of a column that had none in training, would notice."""
    document = proof_model(name).copy()
    gaps = {v["name"] for v in document["schema"]["variables"] if v["has_missing"]}
    terms = [t for t in direct(document) if t["column"]["kind"] in ("value", "scale")]
    term = next(t for t in terms if t["column"]["source"] not in gaps | {"codes"})
    term["centre"] += 1.0
    document["intercept"] += term["coefficient"]
    document["training"]["mean_contributions"][term["name"]] -= term["coefficient"]
    assert failing(document, name) == {"thresholds, levels, knots and centres"}


def test_the_other_levels_named_and_the_sides_exchanged():
    """Every training row goes where it went; missing cells and new levels do not."""
    forged = list(with_other_levels(proof_model("boosted")))
    assert forged
    for document in forged:
        assert not passes(document, "boosted")


@pytest.mark.slow
def test_a_level_that_a_node_never_met():
    name = "boosted"
    known = {v["name"]: v["levels"] for v in proof_model(name).document["schema"]["variables"]}
    for number, node in enumerate(level_nodes(proof_model(name).document)):
        listed = node["if"]["column"]
        for level in set(known[listed["source"]]) - set(listed["levels"]):
            document = proof_model(name).copy()
            list(level_nodes(document))[number]["if"]["column"]["levels"].append(level)
            assert not passes(document, name)


@pytest.mark.parametrize("name", ["limited", "paper", "boosted"])
def test_a_test_that_no_training_row_fails(name):
    """A leaf of nobody's, that says nothing, would take cases beyond the training range."""
    document = proof_model(name).copy()
    tree = trees(document)[0]
    test = {"column": {"kind": "value", "source": "dense"}, "at_most": 1e6, "missing_holds": True}
    tree["root"] = {"if": test, "yes": tree["root"], "no": {"leaf": len(tree["leaves"])}}
    empty = {"coefficient": 0.0, "support": 0.0, "target_total": 0.0, "penalty": 1.0}
    tree["leaves"].append(empty)
    document["settings"]["max_leaves"] += 1
    document["settings"]["max_depth"] += 1
    assert not passes(document, name)


def test_a_coarser_certificate():
    """The tolerance rests on lambda_max, which the table bounds."""
    document = proof_model("default").copy()
    objective = document["training"]["objective"]
    objective["lambda_max"] = 100.0
    objective["tolerance"] = max(min(1e-6 * 100.0, 1e-3 * objective["l1"]), 1e-12)
    assert "Stage 3 optimality of the active terms" in failing(document, "default")


def test_a_column_that_says_the_same_of_training_rows():
    """A product of two conditions; a level that never met the other is added to one."""
    document = proof_model("default").copy()
    part = next(
        p
        for c in columns(document)
        for p in (c.get("left", {}), c.get("right", {}))
        if p.get("kind") == "level"
    )
    variables = {v["name"]: v["levels"] for v in document["schema"]["variables"]}
    part["levels"] = [*part["levels"], *variables[part["source"]]][:2]
    assert not passes(document, "default")


def test_a_file_of_the_first_version_still_verifies():
    """Golden models were fitted on the tables of the same names."""
    from test_model_golden import FILES

    for path in (p for p in FILES if p.parent.name == "0.1.0" and p.stem != "shaped"):
        model = from_dict(json.loads(path.read_text()))
        checks = model.verify(*stored(path.stem).given)
        assert [check for check in checks if not check.holds] == []


def test_the_order_of_rows_does_not_matter():
    made = proof_model("default")
    model = from_dict(made.copy())
    order = np.random.default_rng(0).permutation(len(made.y))
    checks = model.verify(made.X.iloc[order], made.y[order])
    assert all(check.holds for check in checks)


@pytest.mark.slow
def test_a_long_table_whose_sample_is_drawn_again(monkeypatch):
    """Every number of a model whose terms were found on a part of 25,000 of its rows."""
    monkeypatch.setattr("rpte.rows.scale.SAMPLE_ROWS", 25_000)
    case = mixed_case(30_000)
    model = RPTEClassifier(max_trees=2, l1_ratio=1.0).fit(case.X, case.y, case.weight).model_
    monkeypatch.undo()  # the file says how many rows were searched
    assert 19_000 < model.training["validation"]["learned_from_rows"] < 21_000
    document, given = json.loads(json.dumps(to_dict(model))), (case.X, case.y, case.weight)
    assert passes_on(document, given)
    places = number_places(document)
    assert len(places) > 5
    for path, value in places[:: max(1, len(places) // 12)]:
        assert not passes_on(changed(document, path, value + 1e-6), given), path
