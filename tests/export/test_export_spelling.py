"""Every export reads a cell as the model does, or gives no score, and needs its columns."""

import json
import math
import re
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest

from export_models import TARGETS, check, model_with, spelling_model
from model_files import sealed, stored
from rpte import InputError
from rpte.columns.kinds import Level, Value
from rpte.export.cells import Cells, probe_table
from rpte.export.lower import make_form
from rpte.export.target import HOMES, find_target, settle_options
from rpte.model.file import from_dict
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not on the PATH")

FLAGS = ("True", "TRUE", "true", "t", "1", "1.0", "1.000", " 1", "False", "FALSE ", "f", "0",
         "-0.0", "0.0", "maybe", "true.", None)  # fmt: skip
CODES = ("10", "10.0", "10.00", " 10", "10 ", "0", "0.0", "-0", "2.5", "2.50", " 2.500 ", "007",
         "7", "7.0", " north", "north ", "north", "v1.0", "v1", "v1.00", "1e1", "+10", "nowhere",
         None)  # fmt: skip


def spelled():
    n = len(CODES) * len(FLAGS)
    return {
        "n": [0.5] * n,
        "flag": [f for f in FLAGS for _ in CODES],
        "k": [code for _ in FLAGS for code in CODES],
    }


MODELS = {
    "plain": spelling_model(),
    "pooled": spelling_model(pooled=True),
    "capitals": spelling_model(flag=("FALSE", "TRUE")),
    "blanks": spelling_model(levels=(" 10", "north ", "2.50")),
}
CARD = pytest.param("scorecard", {"format": "csv"}, id="scorecard")


@pytest.mark.parametrize("target", ["sql", "pmml"])
@pytest.mark.parametrize(
    ("levels", "alike"),
    [
        ((" ", "\r", ""), [" ", ""]),
        (("\r", ""), []),
        (("\r", " "), []),
        (("x\r", "x ", "x"), ["x ", "x"]),
    ],
)
def test_blank_levels_are_told_apart_or_refused(target, levels, alike, tmp_path):
    schema = Schema((Variable("k", "category", levels, False),), True)
    terms = [DirectTerm("D1", Level("k", levels[:1]), 1.0, 0.0, 1.0, 1.0, 1.0)]
    model, X = model_with(terms, schema), {"k": [*levels, "y", None]}
    if not alike:
        assert check(target, model, X, tmp_path).holds
        return
    says = re.escape(f"'k' has the levels {alike}, and {target.upper()} cannot tell")
    with pytest.raises(InputError, match=f"{says}.*make them one level, or rename them, and fit"):
        model.export(target, tmp_path / "m", X)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("target", "options"), [*TARGETS, CARD])
def test_other_spellings(target, options, name, tmp_path):
    """ONNX is given the levels to the letter; what it makes of others is below."""
    model, X = MODELS[name], spelled()
    made = probe_table(make_form(model), 200)
    X = {column: [*cells, *made[column]] for column, cells in X.items()}
    record = check(target, model, X, tmp_path, **options)
    assert record.rows == len(CODES) * len(FLAGS) + 200
    assert record.holds, record.differences


def written(target, model, folder, options):
    chosen, form = find_target(target), make_form(model)
    settled = settle_options(chosen, options)
    content = chosen.write(form, settled)
    path = folder / f"m{chosen.suffix}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path, form, settled


def scores_of(target, options, model, folder, cells):
    """Return the scores of rows as an export computes them in one run; NaN for none or an error."""
    path, form, settled = written(target, model, folder, options)
    rows = [{"n": 0.5, "flag": "True", "k": "north", **row} for row in cells]
    columns = {name: [row[name] for row in rows] for name in ("n", "flag", "k")}
    if target == "python":
        space = {}
        exec(path.read_text(), space)
        return [scored(space["predict"], row) for row in rows]
    if target == "javascript":
        code = f"""const {{ predict }} = require({json.dumps(str(path))});
          const score = (row) => {{ try {{ return predict(row).score }} catch {{ return null }} }};
          console.log(JSON.stringify({json.dumps(rows)}.map(score)));"""
        done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
        return [math.nan if score is None else score for score in json.loads(done.stdout)]
    if target == "onnx":
        import onnxruntime

        from rpte.export.onnx.graph import column_of

        session = onnxruntime.InferenceSession(path.read_bytes())
        fed = {given.name: column_of(given, columns[given.name]) for given in form.inputs}
        return session.run([f"{settled['prefix']}score"], fed)[0].tolist()
    found = find_target(target).run(path, form, settled, Cells(len(rows), columns))
    return found.lines["score"].tolist()


def scored(predict, row):
    try:
        return predict(row)["score"]
    except ValueError as error:
        assert "neither true nor false" in str(error) or "may be one of" in str(error)  # noqa: PT017
        return math.nan


@pytest.mark.parametrize(("target", "options"), TARGETS)
def test_a_boolean_that_is_a_number_has_no_score(target, options, tmp_path):
    model, numbers = spelling_model(), ("2", "-1", "0.5", " 7")
    cells = [{}, *({"flag": flag} for flag in numbers)]
    first, *others = scores_of(target, options, model, tmp_path, cells)
    assert first == model.score({"n": [0.5], "flag": [1], "k": ["north"]})[0]
    assert np.isnan(others).all()
    for flag in numbers:
        with pytest.raises(InputError, match="true or false"):
            model.score({"n": [0.5], "flag": [flag], "k": ["north"]})


def test_a_graph_reads_a_level_as_the_model_does_or_gives_no_score(tmp_path):
    pytest.importorskip("onnxruntime")
    cells = [{"k": k} for k in (" north", "10.00", "2.500", "-0")]
    assert np.isnan(scores_of("onnx", {}, spelling_model(), tmp_path, cells)).all()


TWICE = spelling_model(levels=("1.1", "1.10", "north"))
TYPED = [param for param in TARGETS if param.values[0] in ("python", "javascript", "c", "onnx")]


@pytest.mark.parametrize(("target", "options"), TYPED)
def test_levels_that_are_one_number(target, options, tmp_path):
    cells = [{"k": k} for k in ("1.1", "1.10", "1.100", " 1.1")]
    found = scores_of(target, options, TWICE, tmp_path, cells)
    truth = TWICE.score({"n": [0.5] * 2, "flag": [True] * 2, "k": ["1.1", "1.10"]})
    assert found[:2] == truth.tolist()
    assert np.isnan(found[2:]).all()


@pytest.mark.parametrize("target", ["sql", "pmml"])
def test_levels_that_are_one_number_are_refused_where_cells_have_no_type(target, tmp_path):
    if target == "sql":
        pytest.importorskip("sqlglot")
    with pytest.raises(InputError, match=r"\['1.1', '1.10'\].*which of them a cell stands for"):
        TWICE.export(target, tmp_path / "m")


class TestWithoutAColumn:
    """A row without a column is an error that names it."""

    MODEL, ROW = spelling_model(), {"n": 0.5, "flag": "True", "k": "north"}

    @pytest.fixture(params=["n", "flag", "k"])
    def gone(self, request):
        return request.param

    def row(self, gone):
        return {name: cell for name, cell in self.ROW.items() if name != gone}

    @pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
    def test_sql(self, dialect, gone, tmp_path):
        pytest.importorskip("sqlglot")
        duckdb = pytest.importorskip("duckdb")
        connection = (duckdb if dialect == "duckdb" else sqlite3).connect(":memory:")
        kinds, row = {"n": "DOUBLE", "flag": "TEXT", "k": "TEXT"}, self.row(gone)
        connection.execute(f"CREATE TABLE cases ({', '.join(f'{n} {kinds[n]}' for n in row)})")
        connection.execute("INSERT INTO cases VALUES (?, ?)", list(row.values()))
        path, *_ = written("sql", self.MODEL, tmp_path, {"dialect": dialect})
        with pytest.raises((sqlite3.OperationalError, duckdb.BinderException), match=gone):
            connection.execute(path.read_text()).fetchall()

    def test_python(self, gone, tmp_path):
        space = {}
        exec(written("python", self.MODEL, tmp_path, {})[0].read_text(), space)
        with pytest.raises(KeyError, match=gone):
            space["predict"](self.row(gone))

    @needs_node
    def test_javascript(self, gone, tmp_path):
        path, *_ = written("javascript", self.MODEL, tmp_path, {})
        call = f"require({str(path)!r}).predict({json.dumps(self.row(gone))})"
        done = subprocess.run(["node", "-e", call], capture_output=True, text=True, check=False)
        assert f'the row has no column "{gone}"' in done.stderr

    def test_onnx(self, gone, tmp_path):
        onnxruntime = pytest.importorskip("onnxruntime")
        from rpte.export.onnx.graph import column_of

        path, form, _ = written("onnx", self.MODEL, tmp_path, {})
        session = onnxruntime.InferenceSession(path.read_bytes())
        row = self.row(gone)
        fed = {g.name: column_of(g, [row[g.name]]) for g in form.inputs if g.name in row}
        with pytest.raises(ValueError, match=gone):
            session.run(["score"], fed)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "oracle"])
def test_columns_that_every_table_has_are_refused(dialect, tmp_path):
    pytest.importorskip("sqlglot")
    name = "xmin" if dialect == "postgres" else "RowId"
    schema = Schema((Variable(name, "number", (), True),), True)
    model = model_with([DirectTerm("D1", Value(name), 1.0, 0.0, 1.0, 1.0, 1.0)], schema)
    with pytest.raises(InputError, match=f"'{name}' has the name of a column that every table"):
        model.export("sql", tmp_path / "m.sql", dialect=dialect)


@pytest.mark.parametrize("target", [t for t in HOMES if t not in ("xlsx", "pmml", "relativities")])
def test_a_name_with_a_nul_works_or_is_refused_with_words(target, tmp_path):
    """All other names are in the model of the suite."""
    if target in ("sql", "onnx"):
        pytest.importorskip({"sql": "sqlglot", "onnx": "onnx"}[target])
    schema = Schema((Variable("a\0b", "number", (), True),), True)
    model = model_with([DirectTerm("D1", Value("a\0b"), 0.5, 0.0, 1.0, 1.0, 1.0)], schema)
    path, rows = tmp_path / f"m{find_target(target).suffix}", {"a\0b": [0.0, 1.0, 2.0]}
    try:
        record = model.export(target, path, rows)
    except InputError as error:
        assert "a\\x00b" in str(error)  # noqa: PT017
    else:
        assert record.holds
        assert record.rows or "not on the PATH" in record.engine


STRANGE = ("first\u2028line", "next\x85line", "page\x0cbreak")  # ends of a line to `str.splitlines`


@pytest.mark.parametrize("target", ["python", pytest.param("javascript", marks=needs_node)])
@pytest.mark.parametrize("several", [False, True])
def test_names_with_other_ends_of_line(target, several, tmp_path):
    """Names of classes and of the target with every end of a line that Unicode knows."""
    made = stored("classes" if several else "mixed")
    document = made.copy()
    labels = sorted(STRANGE)[: 3 if several else 2]
    document["target"] |= {"classes": labels, "name": "a\u2029\x0b\x1cb"}
    model = from_dict(sealed(document))
    assert model.export(target, tmp_path / f"m{find_target(target).suffix}").holds


def test_a_workbook_of_a_target_with_a_zero_character(tmp_path):
    """A sheet cannot hold it, and the name of a target is there for people only."""
    openpyxl = pytest.importorskip("openpyxl")
    for name, field in (("squared", "name"), ("counts", "name"), ("visits", "event")):
        document = stored(name).copy()
        document["target"][field] = "cl\0aim"
        form = make_form(from_dict(sealed(document)), {})
        chosen = find_target("xlsx")
        path = tmp_path / f"{name}.xlsx"
        path.write_bytes(chosen.write(form, settle_options(chosen, {}, form.model)))
        texts = [c.value for row in openpyxl.load_workbook(path)["Cases"] for c in row if c.value]
        assert any("cl aim" in str(text) for text in texts)
