"""Every format and every kind of model: all names, levels and cells in one model.

The workbook has its own file, because LibreOffice recomputes all of its cases in one call.
"""

import pytest

from export_models import (
    DIRTY,
    LINKS,
    STORED_NAMES,
    TARGETS,
    check,
    classes_of,
    empty_case,
    every_kind,
    hostile_rows,
    needs_data,
    stored_model,
    suite_case,
    table_model,
    with_gaps,
)
from rpte.export.form import OneOf, Operation, all_nodes
from rpte.export.lower import make_form
from rpte.export.parity import expected
from rpte.model.parts import DirectTerm


def assert_holds(record, model, X, options):
    """Every line that the model has was compared, and agrees."""
    truth = expected(model, X, make_form(model, options).horizons)
    assert record.rows == len(truth["chosen" if "chosen" in truth else "score"])
    assert record.holds, {name: d for name, d in record.differences.items() if d.rows}
    assert set(record.differences) == set(truth)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("target", "options"), TARGETS)
class TestKinds:
    def test_every_column_name_level_and_cell(self, target, options, link, tmp_path):
        model, X, more = suite_case(link, target)
        assert_holds(check(target, model, X, tmp_path, **options, **more), model, X, more)

    def test_a_model_without_inputs(self, target, options, link, tmp_path):
        model, X, more = empty_case(link)
        assert_holds(check(target, model, X, tmp_path, **options, **more), model, X, more)


@pytest.mark.parametrize(
    ("target", "link"),
    [
        ("scorecard", "logit"),
        ("relativities", "log"),
        ("relativities", "survival"),
    ],
)
def test_tables_that_are_read_again(target, link, tmp_path):
    model, X, more = suite_case(link, target)
    record = check(target, model, X, tmp_path, format="csv", **more)
    assert record.rows == 313
    assert record.holds, {name: d for name, d in record.differences.items() if d.rows}


@pytest.mark.parametrize(
    "labels",
    [(-1, 0, 5), (1.0, 2.0, 3.5), tuple(f"class {i}" for i in range(12))],
    ids=["numbers", "fractions", "many"],
)
@pytest.mark.parametrize(("target", "options"), TARGETS)
def test_classes_of_every_type(target, options, labels, tmp_path):
    model = classes_of(every_kind(), labels, seed=1)
    X = with_gaps(hostile_rows(model, 60))
    assert_holds(check(target, model, X, tmp_path, **options), model, X, {})


@pytest.mark.parametrize("name", STORED_NAMES)
@pytest.mark.parametrize(("target", "options"), TARGETS)
def test_stored_models(target, options, name, tmp_path):
    model, X = stored_model(name)
    more = {"horizons": [1.0]} if model.task == "survival" else {}
    X = with_gaps(X) if target == "onnx" and isinstance(X, dict) else X
    assert_holds(check(target, model, X, tmp_path, **options, **more), model, X, more)


FITTED = [
    ("credit_scoring_spain.csv.gz", False),
    ("cylinder_bands.csv", False),
    ("loan_eligibility.csv", True),
    ("pima_diabetes.csv", False),
    ("pima_diabetes.csv", True),
]
CARD = pytest.param("scorecard", {"format": "csv"}, id="scorecard")


@needs_data
@pytest.mark.slow(reason="fits models of real tables, one with 120 terms, for every format")
@pytest.mark.parametrize(("name", "published"), FITTED)
@pytest.mark.parametrize(("target", "options"), [*TARGETS, CARD])
def test_real_tables(target, options, name, published, tmp_path):
    model, X = table_model(name, published)
    record = check(target, model, X, tmp_path, **options)
    assert record.rows == DIRTY
    assert record.holds, record.differences
    assert record.differences["score"].largest < 1e-12


@needs_data
def test_the_tables_have_what_exports_must_handle():
    found = set()
    for name, published in FITTED:
        model, _ = table_model(name, published)
        form = make_form(model)
        found |= {v.kind for v in model.schema.variables}
        direct = [p.column for _, p in model.parts() if isinstance(p, DirectTerm)]
        found |= {c.kind for c in direct} | {getattr(c, "operation", "") for c in direct}
        trees = [tree for c in model.components for tree in c.trees]
        found |= {"tree" for _ in trees}
        found |= {split.column.kind for tree in trees for split in tree.tree.splits}
        found |= {"pooled" for v in model.schema.variables if v.pooled}
        found |= {n.name for n in all_nodes(form) if isinstance(n, Operation)}
        found |= {"special" for n in all_nodes(form) if isinstance(n, OneOf)
                  and model.schema[n.input].kind == "number"}  # fmt: skip
    wanted = {"category", "number", "missing", "special", "hinge", "pair", "pattern", "tree",
              "log", "product", "pooled", "level", "step", "value", "interval"}  # fmt: skip
    assert wanted <= found
