"""A text in a column of numbers: an export gives the model's score, or none."""

import json
import math
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest

from export_models import model_with
from rpte import InputError
from rpte.columns.kinds import Level, Value
from rpte.export.cells import Cells
from rpte.export.lower import make_form
from rpte.export.target import find_target, settle_options
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

pytest.importorskip("sqlglot", reason="sqlglot is not installed")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not on the PATH")
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the PATH")

NUMBERS = ("12", " 12.5", "12 ", "\t12\n", "1e3", "1E+3", "+5", "-5", ".5", "5.", "0", "0.5", "-9",
           " -9.0", "1" * 30, "1e-400")  # fmt: skip
NO_NUMBERS = ("", " ", "\t", "abc", "12abc", "12 13", "1_000", "1,5", "0x10", "0b1", "1e", "1e+",
              ".", "-", "--1", "12d", "12f", "nan", "NaN", "inf", "-Infinity", "1e301", "1e400",
              "9" * 400, "007", " 007", "00", "TRUE", "none ", "NONE", "12\0",
              "\ufeff12")  # fmt: skip


def a_model(codes=()):
    """Return a model of a number; one of its special codes may be 0, which bad casts give."""
    terms = [DirectTerm("D1", Value("n"), 0.5, 0.0, 1.0, 9.0, 4.0)]
    if codes:
        terms.append(DirectTerm("D2", Level("n", codes), 0.25, 0.0, 1.0, 9.0, 4.0))
    return model_with(terms, Schema((Variable("n", "number", codes, True),), True))


MODELS = {"plain": a_model(), "codes": a_model(("-9", "0")), "words": a_model(("-9", "none"))}


def truth(model, cell):
    """Return the score of the model, None where it refuses the cell."""
    try:
        return float(model.score({"n": [cell]})[0])
    except (InputError, TypeError):
        return None


def in_sqlite(model, cells, kind="", **options):
    target = find_target("sql")
    settled = settle_options(target, {"dialect": "sqlite", "keys": "id", **options})
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE cases (id INTEGER, n {kind})")
    connection.executemany("INSERT INTO cases VALUES (?, ?)", list(enumerate(cells)))
    found = connection.execute(target.write(make_form(model), settled)).fetchall()
    return [row[1:] for row in sorted(found, key=lambda row: row[0])]


@pytest.mark.parametrize("kind", ["", "TEXT", "TEXT COLLATE NOCASE"])
@pytest.mark.parametrize("name", MODELS)
def test_texts_in_sqlite(name, kind):
    model, cells = MODELS[name], [*NUMBERS, *NO_NUMBERS, "none", None]
    found = dict(zip(cells, in_sqlite(model, cells, kind), strict=True))
    assert {cell: score for cell, (score, _) in found.items()} == {
        cell: truth(model, cell) for cell in cells
    }
    assert all((score is None) == (chance is None) for score, chance in found.values())
    assert all(truth(model, cell) is not None for cell in NUMBERS)
    assert all(truth(model, cell) is None for cell in NO_NUMBERS)


@pytest.mark.parametrize("kind", ["REAL", "INTEGER", "NUMERIC"])
def test_texts_that_a_column_of_numbers_in_sqlite_keeps(kind):
    kept = [cell for cell in NO_NUMBERS if not cell.strip().startswith("00")]  # 007 becomes 7
    for name, model in MODELS.items():
        assert in_sqlite(model, kept, kind) == [(None, None)] * len(kept), name


def test_blobs_infinities_and_booleans_in_sqlite():
    cells = [b"12", b"", math.inf, -math.inf, 1e301, 1, 0, None, math.nan, 1e300]
    for model in MODELS.values():
        found = [score for score, _ in in_sqlite(model, cells)]
        assert found == [truth(model, cell) for cell in cells]
        assert found[:5] == [None] * 5
        assert in_sqlite(model, [True, False]) == in_sqlite(model, [1, 0])


def test_a_row_without_a_score_has_no_reasons():
    found = in_sqlite(MODELS["plain"], ["abc", 50.0], reasons=1)
    assert found[0] == (None,) * len(found[0])
    assert None not in found[1]


@pytest.mark.parametrize(
    ("dialect", "test"),
    [
        ("mysql", "REGEXP_INSTR("),
        ("singlestore", "REGEXP_INSTR("),
        ("tsql", "AS NVARCHAR(MAX)) <> ''"),
        ("teradata", "AS VARCHAR(4000)) <> ''"),
        ("spark", "<> 'NaN'"),
        ("hive", "<> 'NaN'"),
    ],
)
def test_other_databases_that_cast_any_text(dialect, test):
    target = find_target("sql")
    text = target.write(make_form(MODELS["words"]), settle_options(target, {"dialect": dialect}))
    assert test in text
    assert text.count("rpte_given_1") == 3  # where it is read, and in each of two terms


@pytest.mark.parametrize("name", MODELS)
def test_texts_in_python(name):
    model, names = MODELS[name], {}
    exec(find_target("python").write(make_form(model), {}), names)
    for cell in [*NUMBERS, "none"]:
        if truth(model, cell) is not None:
            assert names["predict"]({"n": cell})["score"] == truth(model, cell), cell
    for cell in [*NO_NUMBERS, b"12", b"-9", True, False]:
        with pytest.raises(ValueError, match=r"is no number|could not convert"):
            names["predict"]({"n": cell})


@needs_node
@pytest.mark.parametrize("name", MODELS)
def test_texts_in_javascript(name, tmp_path):
    model = MODELS[name]
    cells = [*NUMBERS, *NO_NUMBERS, "none", None, True, [], [12], {}]
    (tmp_path / "m.js").write_text(find_target("javascript").write(make_form(model), {}))
    code = f"""const {{ predict }} = require("./m.js");
      const score = (n) => {{ try {{ return predict({{ n }}).score }} catch {{ return null }} }};
      console.log(JSON.stringify({json.dumps(cells)}.map(score)));"""
    done = subprocess.run(
        ["node", "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [
        None if isinstance(cell, (list, dict)) else truth(model, cell) for cell in cells
    ]


def test_texts_in_onnx():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, target = MODELS["words"], find_target("onnx")
    graph = runtime.InferenceSession(target.write(make_form(model), settle_options(target, {})))
    # Missing by its rules, refused with the whole batch, or no text of its own.
    other = {"", "nan", "1e301", "1e400", "9" * 400, "1e-400", "12\0"}
    cells = [cell for cell in (*NUMBERS, *NO_NUMBERS, "none") if cell not in other]
    (found,) = graph.run(["score"], {"n": np.array(cells, object)})
    meant = [truth(model, cell) for cell in cells]
    np.testing.assert_array_equal(found, np.array(meant, np.float64))


@needs_cc
def test_words_in_c(tmp_path):
    model, target = MODELS["words"], find_target("c")
    (tmp_path / "m.c").write_text(target.write(make_form(model), {}))
    cells = Cells(4, {"n": ["none", "NONE", "", None]})
    found = target.run(tmp_path / "m.c", make_form(model), {}, cells).lines["score"]
    meant = [truth(model, "none"), math.nan, math.nan, truth(model, None)]
    np.testing.assert_array_equal(found, meant)
