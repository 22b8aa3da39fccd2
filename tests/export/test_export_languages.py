"""Python, JavaScript and C: what is special to each; every kind of model is in the suite."""

import ast
import shutil
import subprocess
import sys

import numpy as np
import pytest

from export_models import (
    HOSTILE_NAMES,
    LINKS,
    STORED_NAMES,
    every_kind,
    golden,
    model_with,
    of_kind,
    stored_model,
)
from rpte import InputError
from rpte.columns.kinds import Level
from rpte.export.cells import read_cells
from rpte.export.language import bare, identifiers
from rpte.export.lower import make_form
from rpte.export.programs import run_rows
from rpte.export.target import find_target
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not on the PATH")
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the PATH")


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
def test_c_compiles_without_a_warning(tmp_path):
    models = [of_kind(every_kind(*HOSTILE_NAMES["odd"]), link) for link in LINKS]
    models += [(stored_model(name)[0], {}) for name in STORED_NAMES]
    for i, (model, options) in enumerate(models):
        text = find_target("c").write(make_form(model, options), {})
        assert "malloc" not in text
        (tmp_path / f"{i}.c").write_text(text)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    paths = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(["cc", *strict, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_c_cannot_hold_a_nul_in_a_text(tmp_path):
    schema = Schema((Variable("k", "category", ("a\0b", "c"), False),), True)
    term = DirectTerm("D1", Level("k", ("a\0b",)), 1.0, 0.0, 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="'k' has a level with a NUL character"):
        model_with([term], schema).export("c", tmp_path / "m.c")
    plain = Schema((Variable("k", "category", ("", "c"), False),), True)
    model = model_with([DirectTerm("D1", Level("k", ("",)), 1.0, 0.0, 1.0, 1.0, 1.0)], plain)
    with pytest.raises(InputError, match=r"column 'k' holds the text '\\x00' \(row 1\)"):
        model.export("c", tmp_path / "m.c", {"k": ["c", "\0"]})
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


def test_names_and_parentheses():
    assert identifiers(["a", "A", "a!", "", "1 %"]) == ["x_a", "x_A", "x_a_2", "x_", "x_1"]
    assert bare("(a) + (b)") == "(a) + (b)"
    assert bare("((a) + (b))") == "(a) + (b)"
