"""ONNX: run by onnxruntime and, where it is quick, by the reference of the onnx package."""

import sys
import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from export_models import (
    DIRTY,
    HOSTILE_NAMES,
    NAMES,
    TABLES,
    check,
    every_kind,
    golden,
    hostile_rows,
    model_with,
    needs_data,
    table_model,
    variables,
    with_gaps,
    without_empty_texts,
)
from fit_tables import KINDS, make_case
from rpte import InputError, RPTEClassifier
from rpte.cli import app
from rpte.columns.kinds import Level, Value
from rpte.export.cells import probe_table, read_cells, to_the_letter
from rpte.export.lower import make_form
from rpte.export.onnx.graph import column_of
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'rpte[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: rpte[onnx]")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_golden_models(name, tmp_path):
    model, rows = golden(name)
    assert check("onnx", model, rows, tmp_path).holds
    record = check("onnx", model, probe_table(make_form(model)), tmp_path)
    assert record.holds, record.differences
    assert record.rows == 400
    assert record.tolerance == 1e-12
    parts = {part.name for _, part in model.parts()} | {c.name for c in model.components}
    assert set(record.differences) == parts | {"score", "probability"}


@pytest.mark.parametrize("names", HOSTILE_NAMES)
def test_hostile_names_and_cells(names, tmp_path):
    model = every_kind(*HOSTILE_NAMES[names])
    record = check("onnx", model, with_gaps(hostile_rows(model)), tmp_path, prefix="rpte_")
    assert record.rows == 300
    assert record.holds, record.differences


def test_names_that_differ_in_case(tmp_path):
    model = every_kind(("Age", "age", "AGE"), "aGe", "AgE")
    assert check("onnx", model, with_gaps(hostile_rows(model)), tmp_path).holds


STRANGE = ("=1+1", "nan", "NaN", "inf", "_x0041_", "a\x01b", "\r\n", " ", "Ä", "ä", "é", "e\u0301",
           "y" * 5000, "3", "2.5", "🙂", "None")  # fmt: skip


def test_levels_that_look_like_something_else(tmp_path):
    schema = Schema((Variable("k", "category", tuple(sorted(STRANGE)), True),), True)
    terms = [
        DirectTerm(f"D{i}", Level("k", (level,)), i + 0.25, 0.0, 1.0, 9.0, 4.0)
        for i, level in enumerate(sorted(STRANGE), 1)
    ]
    record = check("onnx", model_with(terms, schema), {"k": [*STRANGE, None, "n"]}, tmp_path)
    assert record.holds, record.differences


def test_scores_far_out_have_a_probability(tmp_path):
    term = DirectTerm("D1", Value("a"), 1.0, 0.0, 1.0, 1.0, 1.0)
    model = model_with([term], variables(("a", "b", "c"), "k", "f"), intercept=0.0)
    values = [-1e300, -5000.0, -746.0, -720.0, -700.0, -36.0, 0.0, 36.0, 710.0, 1e300]
    X = {name: [None] * len(values) for name in model.schema.names} | {"a": values}
    record = check("onnx", model, X, tmp_path)
    assert record.holds
    assert record.differences["probability"].largest < 1e-15


def test_a_model_without_inputs(tmp_path):
    X = np.arange(40.0).reshape(-1, 1)
    model = RPTEClassifier(l1=1e6).fit(X, X[:, 0] > 9).model_
    assert check("onnx", model, X, tmp_path).holds


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("published", [False, True], ids=["default", "published"])
def test_real_tables(name, published, tmp_path):
    model, X = table_model(name, published)
    record = check("onnx", model, X, tmp_path)
    assert record.rows == DIRTY
    assert record.holds, record.differences
    assert record.differences["score"].largest < 1e-12


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1000),
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=4),
    paper=st.booleans(),
)
def test_fitted_models(seed, kinds, paper):
    case = without_empty_texts(make_case(seed, kinds, 60, clear=True))
    model = case.fit(RPTEClassifier.paper() if paper else RPTEClassifier(l1="4/n")).model_
    with tempfile.TemporaryDirectory() as folder:
        assert check("onnx", model, case.X, folder).holds


@pytest.mark.parametrize("name", ["mixed", "special", "shaped"])
def test_the_reference_evaluator_agrees(name, tmp_path):
    """Another engine, written from the standard."""
    from onnx.reference import ReferenceEvaluator

    model = golden(name)[0]
    form = make_form(model)
    X = probe_table(form, 60)
    model.export("onnx", tmp_path / "m.onnx", X)
    cells = to_the_letter(form, read_cells(form, X))
    fed = {given.name: column_of(given, cells.columns[given.name]) for given in form.inputs}
    with np.errstate(all="ignore"):
        score, chance = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(
            ["score", "probability"], fed
        )
    assert np.allclose(score, model.score(X), rtol=1e-12, atol=1e-12)
    assert np.allclose(chance, model.predict_proba(X)[:, model.positive], atol=1e-12)


def test_the_graph_is_standard_and_says_what_it_is(tmp_path):
    model = every_kind()
    model.export("onnx", tmp_path / "m.onnx")
    graph = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} <= {"", "ai.onnx.ml"}
    facts = {item.key: item.value for item in graph.metadata_props}
    assert len(facts["model_hash"]) == 64
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    types = {given.name: given.type for given in session.get_inputs()}
    number, text = "tensor(double)", "tensor(string)"
    assert types == {"a": number, "b": number, "c": text, "k": text, "f": text}
    assert {found.type for found in session.get_outputs()} == {number}
    told = {given.name: given.doc_string for given in graph.graph.input}
    assert told["c"].endswith("empty where missing; special codes: -9, 7.5, n/a, o'hara")
    first = (tmp_path / "m.onnx").read_bytes()
    model.export("onnx", tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == first


def one_level(name, level):
    schema = Schema((Variable(name, "category", (level, "c"), False),), True)
    return model_with([DirectTerm("D1", Level(name, (level,)), 1.0, 0.0, 1.0, 1.0, 1.0)], schema)


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (one_level("k", ""), {}, "'k' has the level '', which ONNX cannot hold"),
        (one_level("k", "a\0"), {}, r"'k' has the level 'a\\x00', which ONNX cannot hold"),
        (one_level("", "a"), {}, "the column '' has a name that ONNX cannot hold"),
        (one_level("rpte:3", "a"), {}, "the column 'rpte:3' has a name that ONNX cannot hold"),
        (one_level("score", "a"), {}, "'score' has the name of an output; choose a prefix"),
        (one_level("x_D1", "a"), {"prefix": "x_"}, "'x_D1' has the name of an output"),
        (one_level("k", "a"), {"opset": 9}, "onnx has no option 'opset'; its options: prefix"),
    ],
)
def test_what_is_refused_before_writing(model, options, says, tmp_path):
    with pytest.raises(InputError, match=says):
        model.export("onnx", tmp_path / "m.onnx", **options)
    assert not list(tmp_path.iterdir())


def test_an_empty_text_to_compare_on_is_refused(tmp_path):
    model, rows = golden("mixed")
    with pytest.raises(InputError, match=r"'region' holds the text '' \(row 0\), which in ONNX"):
        model.export("onnx", tmp_path / "m.onnx", {**rows, "region": [""] * 40})
    assert not list(tmp_path.iterdir())


def test_none_and_nan_are_missing(tmp_path):
    """As onnxruntime passes them on: in words."""
    model = every_kind()
    model.export("onnx", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    gaps = np.array([None, np.nan, pd.NA, ""], object)
    fed = {"a": np.ones(4), "b": np.full(4, np.nan), "c": gaps, "k": gaps, "f": gaps}
    X = {"a": [1.0], "b": [None], "c": [None], "k": [None], "f": [None]}
    assert session.run(["score"], fed)[0] == pytest.approx(model.score(X)[0], abs=1e-12)


def test_without_the_packages_it_says_what_to_install(tmp_path, monkeypatch):
    model, _ = golden("mixed")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    record = model.export("onnx", tmp_path / "m.onnx")
    assert str(record).startswith("Not compared: onnxruntime is not installed; install it with")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"ONNX needs onnx; install it with pip .*rpte\[onnx"):
        model.export("onnx", tmp_path / "other.onnx")
    assert not (tmp_path / "other.onnx").exists()


def test_the_command(tmp_path):
    model, rows = golden("mixed")
    model.save(tmp_path / "model.json")
    table, out = tmp_path / "rows.csv", tmp_path / "model.onnx"
    pd.DataFrame(rows).assign(label=1).to_csv(table, index=False)
    export = ["export", str(tmp_path / "model.json"), "-o", str(out)]
    done = CliRunner().invoke(app, [*export, "--to", "onnx", "--option", "prefix=rpte_"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, [*export, "--check", str(table)])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Compared 40 rows (rows.csv) in onnxruntime")
