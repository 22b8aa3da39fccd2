"""ONNX: the graph, its types and what it refuses; every kind of model is in the suite."""

import sys

import numpy as np
import pandas as pd
import pytest

from export_models import (
    every_kind,
    golden,
    model_with,
)
from rpte import InputError
from rpte.columns.kinds import Level
from rpte.export.cells import probe_table, read_cells, to_the_letter
from rpte.export.lower import make_form
from rpte.export.onnx.graph import column_of
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'rpte[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: rpte[onnx]")


@pytest.mark.parametrize("name", ["mixed", "special", "shaped"])
def test_the_reference_evaluator_agrees(name, tmp_path):
    """Another engine, written from the standard."""
    from onnx.reference import ReferenceEvaluator

    model = golden(name)[0]
    form = make_form(model)
    X = probe_table(form, 60)
    assert model.export("onnx", tmp_path / "m.onnx", X).tolerance == 1e-12
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
    assert types == {"a": number, "b": number, "c": text, "k": text, "f": text, "f2": number}
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
    fed = {
        "a": np.ones(4),
        "b": np.full(4, np.nan),
        "c": gaps,
        "k": gaps,
        "f": gaps,
        "f2": np.full(4, np.nan),
    }
    X = {"a": [1.0], "b": [None], "c": [None], "k": [None], "f": [None], "f2": [None]}
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
