"""Python, JavaScript and C: compiled and run, on every kind of model."""

import ast
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export_models import (
    HOSTILE_NAMES,
    NAMES,
    check,
    every_kind,
    golden,
    hostile_rows,
    model_with,
    variables,
)
from fit_tables import KINDS, make_case
from rpte import InputError, RPTEClassifier
from rpte.columns.kinds import Level, Value
from rpte.export.cells import probe_table, read_cells
from rpte.export.language import bare, identifiers
from rpte.export.lower import make_form
from rpte.export.programs import run_rows
from rpte.export.target import find_target
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not on the PATH")
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the PATH")
LANGUAGES = [
    "python",
    pytest.param("javascript", marks=needs_node),
    pytest.param("c", marks=needs_cc),
]


@pytest.mark.slow
@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_golden_models(target, name, tmp_path):
    model, rows = golden(name)
    assert check(target, model, rows, tmp_path).holds
    record = check(target, model, probe_table(make_form(model), 100), tmp_path)
    assert record.holds, record.differences
    assert record.rows == 100
    parts = {part.name for _, part in model.parts()} | {c.name for c in model.components}
    assert set(record.differences) == parts | {"score", "probability"}


@pytest.mark.slow
@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize("names", HOSTILE_NAMES)
def test_hostile_names_and_cells(target, names, tmp_path):
    model = every_kind(*HOSTILE_NAMES[names])
    record = check(target, model, hostile_rows(model), tmp_path)
    assert record.rows == 300
    assert record.holds, record.differences


@pytest.mark.parametrize("target", LANGUAGES)
def test_case_colliding_names(target, tmp_path):
    model = every_kind(("Age", "age", "AGE"), "aGe", "AgE")
    assert check(target, model, hostile_rows(model), tmp_path).holds


@pytest.mark.parametrize("target", LANGUAGES)
def test_scores_far_out_have_a_probability(target, tmp_path):
    term = DirectTerm("D1", Value("a"), 1.0, 0.0, 1.0, 1.0, 1.0)
    model = model_with([term], variables(("a", "b", "c"), "k", "f"), intercept=0.0)
    values = [-1e300, -5000.0, -746.0, -720.0, -700.0, -36.0, 0.0, 36.0, 710.0, 1e300]
    X = {name: [None] * len(values) for name in model.schema.names} | {"a": values}
    record = check(target, model, X, tmp_path)
    assert record.holds
    assert record.differences["probability"].largest < 1e-15


@pytest.mark.parametrize("target", LANGUAGES)
def test_a_model_without_inputs(target, tmp_path):
    X = np.arange(40.0).reshape(-1, 1)
    model = RPTEClassifier(l1=1e6).fit(X, X[:, 0] > 9).model_
    assert check(target, model, X, tmp_path).holds


def test_the_python_function_reads_what_people_have(tmp_path):
    model, _ = golden("special")
    model.export("python", tmp_path / "m.py")
    names: dict = {}
    exec((tmp_path / "m.py").read_text(), names)
    row = {"age": "51", "income": np.float64("nan"), "region": "north", "smoker": True,
           "noise": 1, "points": "-9.0"}  # fmt: skip
    table = {name: [cell] for name, cell in row.items()}
    assert names["predict"](row)["score"] == model.score(table)[0]
    with pytest.raises(KeyError, match="points"):
        names["predict"]({k: v for k, v in row.items() if k != "points"})
    assert names["predict"](row | {"age": 1e301}) == names["predict"](row | {"age": None})


def test_python_text_is_python(tmp_path):
    text = find_target("python").write(make_form(every_kind(*HOSTILE_NAMES["quotes"])), {})
    *imports, made = ast.parse(text).body[1:]
    assert isinstance(made, ast.FunctionDef)
    assert [alias.name for node in imports for alias in node.names] == ["math", "re"]


@needs_node
def test_javascript_reads_booleans_and_names_the_absent(tmp_path):
    model, _ = golden("mixed")
    model.export("javascript", tmp_path / "m.js")
    code = """
      const { predict } = require("./m.js");
      const row = { age: 50, income: 20, region: "north", smoker: true, noise: undefined };
      console.log(predict(row).score);
      try { predict({}) } catch (error) { console.log(error.message) }
    """
    done = subprocess.run(
        ["node", "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    row = {"age": [50], "income": [20], "region": ["north"], "smoker": [True], "noise": [None]}
    score, message = done.stdout.splitlines()
    assert float(score) == model.score(row)[0]
    assert message == 'the row has no column "age"'


@needs_cc
@pytest.mark.parametrize("name", ["every kind", *NAMES])
def test_c_compiles_without_a_warning(name, tmp_path):
    model = every_kind(*HOSTILE_NAMES["odd"]) if name == "every kind" else golden(name)[0]
    path = tmp_path / "m.c"
    path.write_text(find_target("c").write(make_form(model), {}))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    done = subprocess.run(["cc", *strict, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "malloc" not in path.read_text()


def test_c_cannot_hold_a_nul_in_a_text(tmp_path):
    schema = Schema((Variable("k", "category", ("a\0b", "c"), False),), True)
    term = DirectTerm("D1", Level("k", ("a\0b",)), 1.0, 0.0, 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="'k' has a level with a NUL character"):
        model_with([term], schema).export("c", tmp_path / "m.c")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", ["javascript", "c"])
def test_without_the_program_nothing_is_compared(target, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    record = golden("mixed")[0].export(target, tmp_path / "m")
    assert record.rows == 0
    assert "is not on the PATH" in str(record)


def test_a_program_that_fails_is_told(tmp_path):
    model, rows = golden("mixed")
    form = make_form(model)
    with pytest.raises(InputError, match="could not run the export: it said nothing; nothing was"):
        run_rows([sys.executable, "-c", "raise SystemExit(3)"], form, read_cells(form, rows))


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1000),
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=4),
    paper=st.booleans(),
)
def test_fitted_models(seed, kinds, paper):
    case = make_case(seed, kinds, 60, clear=True)
    model = case.fit(RPTEClassifier.paper() if paper else RPTEClassifier(l1="4/n")).model_
    with tempfile.TemporaryDirectory() as folder:
        for target in ("python", "c") if shutil.which("cc") else ("python",):
            assert check(target, model, case.X, folder).holds


def test_names_and_parentheses():
    assert identifiers(["a", "A", "a!", "", "1 %"]) == ["x_a", "x_A", "x_a_2", "x_", "x_1"]
    assert bare("(a) + (b)") == "(a) + (b)"
    assert bare("((a) + (b))") == "(a) + (b)"
