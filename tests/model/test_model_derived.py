"""With the training table, no field that scores a possible case or promises something can move.

Of some models terms were found on a sample: `verify` draws it again, and pins every number too.
"""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from file_fuzz import changed, fields, others
from fit_tables import cases, mixed_case
from model_files import columns, direct, golden_files, sealed, stored, trees
from proof_models import (
    PROOFS,
    SAMPLED,
    SPLIT,
    claims,
    full_table,
    level_nodes,
    number_places,
    passes,
    passes_on,
    proof_model,
    with_other_levels,
)
from rpte import RPTEClassifier
from rpte.model.file import from_dict, to_dict
from rpte.model.ledger import DERIVED
from searches import call_large

NAMES = PROOFS + SAMPLED
CODES = {"special_values": {"codes": [-9]}}
each_model = pytest.mark.parametrize("name", NAMES)
any_model = st.sampled_from(NAMES)


def failing(document, name):
    return faults(from_dict(sealed(document)), *proof_model(name).given)


def faults(model, *given):
    return {check.name for check in model.verify(*given) if not check.holds}


@each_model
def test_they_pass_as_fitted(name):
    made = proof_model(name)
    checks = from_dict(made.copy()).verify(*made.given)
    assert [check for check in checks if not check.holds] == []
    evidence = next(check.evidence for check in checks if check.name == DERIVED)
    rows = made.document["training"]["validation"].get("learned_from_rows")
    assert (rows is not None) == (name in SAMPLED)
    assert (f"on the {rows} distinct rows that terms were found on" in evidence) == bool(rows)


def test_the_models_have_numbers_of_every_kind():
    for names in (PROOFS, SAMPLED):
        documents = [proof_model(name).document for name in names]
        found = {path[-1] for document in documents for path, _ in number_places(document)}
        assert found == {"at_most", "threshold", "knot", "low", "high", "centre"}


@examples(60)
@given(name=any_model, data=st.data())
def test_any_other_value_in_any_field_that_scores_or_promises(name, data):
    document = proof_model(name).document
    places = claims(document)
    if name in SAMPLED:  # a sample bounds lambda_max by the penalty alone
        places = [(path, value) for path, value in places if path[-1] != "lambda_max"]
    path, value = data.draw(st.sampled_from(places))
    assert not passes(changed(document, path, data.draw(st.sampled_from(others(value)))), name)


@examples(60)
@given(name=any_model, data=st.data())
def test_numbers_that_move_by_as_little_as_one_likes(name, data):
    """Inside a gap of the data no training row notices; the number still follows from its ends."""
    document = proof_model(name).document
    path, value = data.draw(st.sampled_from(number_places(document)))
    near = data.draw(st.floats(value - 1e-3, value + 1e-3).filter(lambda v: abs(v - value) > 1e-8))
    assert not passes(changed(document, path, near), name)


@each_model
def test_numbers_of_every_model_moved_by_little(name):
    document = proof_model(name).document
    places = number_places(document)
    for number, (path, value) in enumerate(places[:: 1 + len(places) // 8]):
        step = (1e-6, -1e-4)[number % 2]
        assert not passes(changed(document, path, value + step), name), (path, value)


@pytest.mark.parametrize("name", [*PROOFS[1:], *SPLIT])
def test_every_side_of_missing_cells(name):
    document = proof_model(name).document
    places = [(path, value) for path, value in fields(document) if path[-1] == "missing_holds"]
    assert places
    for path, value in places:
        assert not passes(changed(document, path, not value), name)


@pytest.mark.parametrize("name", PROOFS)
def test_pooled_both_ways(name):
    for number in range(len(proof_model(name).document["schema"]["variables"])):
        document = proof_model(name).copy()
        variable = document["schema"]["variables"][number]
        variable["pooled"] = not variable["pooled"]
        assert not passes(document, name)


@pytest.mark.parametrize("name", PROOFS[:2])
def test_fewer_conditions_than_there_are(name):
    document = proof_model(name).copy()
    document["settings"]["max_inspection_units"] = from_dict(proof_model(name).copy()).audit().miu
    assert passes(document, name)
    document["settings"]["max_inspection_units"] -= 1
    assert failing(document, name) == {"size as asked for"}


@pytest.mark.parametrize("name", PROOFS[:3])
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
    for names in (("proof_boosted",), SPLIT):
        forged = [(name, d) for name in names for d in with_other_levels(proof_model(name))]
        assert forged
        for name, document in forged:
            assert not passes(document, name)


def test_a_level_that_a_node_never_met():
    name = "proof_boosted"
    known = {v["name"]: v["levels"] for v in proof_model(name).document["schema"]["variables"]}
    for number, node in enumerate(level_nodes(proof_model(name).document)):
        listed = node["if"]["column"]
        for level in set(known[listed["source"]]) - set(listed["levels"]):
            document = proof_model(name).copy()
            list(level_nodes(document))[number]["if"]["column"]["levels"].append(level)
            assert not passes(document, name)


@pytest.mark.parametrize("name", PROOFS[1:])
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
    document = proof_model("proof_default").copy()
    objective = document["training"]["objective"]
    objective["lambda_max"] = 100.0
    objective["tolerance"] = max(min(1e-6 * 100.0, 1e-3 * objective["l1"]), 1e-12)
    assert "Stage 3 optimality of the active terms" in failing(document, "proof_default")


def test_a_column_that_says_the_same_of_training_rows():
    """A product of two conditions; a level that never met the other is added to one."""
    document = proof_model("proof_limited").copy()
    parts = [p for c in columns(document) for p in (c.get("left", {}), c.get("right", {}))]
    part = next(part for part in parts if part.get("kind") == "level")
    variables = {v["name"]: v["levels"] for v in document["schema"]["variables"]}
    part["levels"] = [*part["levels"], *variables[part["source"]]][:2]
    assert not passes(document, "proof_limited")


@pytest.mark.parametrize(
    "path", [p for p in golden_files("0.1.0") if p.stem != "shaped"], ids=lambda p: p.stem
)
def test_a_file_of_the_first_version_still_verifies(path):
    """Golden models were fitted on the tables of the same names."""
    assert not faults(from_dict(json.loads(path.read_text())), *stored(path.stem).given)


def test_the_order_of_rows_and_whole_weights_as_repetitions():
    for name in ("proof_default", "sampled_classes"):
        made = proof_model(name)
        times = np.ones(len(made.y), int) if made.weight is None else made.weight
        order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(made.y)), times))
        assert not faults(from_dict(made.copy()), made.X.iloc[order], made.y[order])


@pytest.mark.parametrize(
    ("field", "value"),
    [("learned_from_rows", n) for n in (None, 1, 100)] + [("folds", n) for n in (1, 2, 10**30)],
)
def test_another_sample_or_number_of_folds_than_the_file_says(field, value):
    document = proof_model("sampled_patterns").copy()
    document["training"]["validation"][field] = value
    if value is None:
        del document["training"]["validation"][field]
    assert DERIVED in failing(document, "sampled_patterns")


def test_groups_are_said_not_to_be_checked(monkeypatch):
    call_large(monkeypatch)
    X, y = full_table()
    found = RPTEClassifier(**CODES).fit(X, y, groups=np.arange(len(y)) // 5)
    checks = found.model_.verify(X, y)
    assert all(check.holds for check in checks)
    assert [c.evidence for c in checks if c.name == "not checked" and "groups" in c.evidence]


def test_a_table_up_to_the_size_of_a_sample_is_searched_on_one_fold_of_all_rows(monkeypatch):
    call_large(monkeypatch)
    monkeypatch.setattr("rpte.rows.scale.SAMPLE_ROWS", 500)
    X, y = full_table()
    model = RPTEClassifier(**CODES).fit(X, y).model_
    validation = model.training["validation"]
    assert validation["searched_rows"] == model.training["distinct_rows"]
    assert 0.7 < validation["learned_from_rows"] / validation["searched_rows"] < 0.9
    checks = model.verify(X, y)
    assert [check for check in checks if not check.holds] == []
    assert DERIVED in {check.name for check in checks}


def test_a_long_tail_that_the_sample_does_not_hold(monkeypatch):
    """In units of the sample a column of all rows may have any variance, and lambda_max be large.

    The tolerance of Stage 3 is bounded by the penalty all the same.
    """
    rng = np.random.default_rng(5)
    call_large(monkeypatch)
    monkeypatch.setattr("rpte.rows.scale.OUTSIDE", 1)  # else rows outside tell of the tail
    tail = rng.standard_t(1.2, size=600).round(2)
    X = pd.DataFrame({"tail": tail, "other": rng.normal(size=600).round(2)})
    y = np.arctan(tail) + X["other"] + rng.normal(size=600) > 0
    found = RPTEClassifier(vocabulary="original", max_trees=1).fit(X, y)
    models = found.model_, *found.frontier_models_
    assert max(model.training["objective"]["lambda_max"] for model in models) > 5
    for model in models:
        assert not faults(model, X, y)


@pytest.mark.slow(reason="fits a classifier with inner validation on each of 12 random tables")
@examples(12)
@given(
    cases(rows=(320, 400), clear=True),
    st.sampled_from(["shapes", "hug", "original"]),
    st.sampled_from([None, "balanced"]),
    st.sampled_from([2, 5]),
)
@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
def test_any_table_gives_a_model_that_holds(case, vocabulary, class_weight, cv):
    made = RPTEClassifier(
        vocabulary=vocabulary, class_weight=class_weight, cv=cv, budget=20, max_trees=2,
        l1_ratio=1.0, audit_price=0.0005,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        call_large(patch)
        found = case.fit(made)
        for model in (found.model_, *found.frontier_models_):
            assert not faults(model, case.X, case.y, case.weight)


@pytest.mark.slow(reason="fits and verifies 30,000 rows, which a smaller table would not sample")
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
        if "interactions" not in path:  # evidence of the search, which no table proves
            assert not passes_on(changed(document, path, value + 1e-6), given), path
