"""Every export reads a cell as the model does, or gives no score, and needs its columns."""

import shutil
import sqlite3
import subprocess

import duckdb
import numpy as np
import pytest

from export_models import check, model_with
from rpte import InputError
from rpte.columns.kinds import Level, Value
from rpte.export.cells import Cells, probe_table
from rpte.export.code import c
from rpte.export.excel import run as xlsx_run
from rpte.export.lower import make_form
from rpte.export.onnx import graph as onnx
from rpte.export.pmml import run as pmml_run
from rpte.export.programs import run_rows
from rpte.export.sql.run import ENGINES
from rpte.export.target import HOMES, find_target, settle_options
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

needs_java = pytest.mark.skipif(not shutil.which("java"), reason="java is not on the PATH")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not on the PATH")
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the PATH")
OFFICE = shutil.which("soffice")
LEVELS = ("0", "10", "2.5", "007", "north", "v1.0")


def a_model(flag=("False", "True"), levels=LEVELS, pooled=False):
    """Return a model of a number, a boolean and a category whose levels look like numbers."""
    schema = Schema(
        (
            Variable("n", "number", (), True),
            Variable("flag", "category", flag, True),
            Variable("k", "category", (*levels, "(other)") if pooled else levels, True, pooled),
        ),
        True,
    )
    columns = [Value("n"), *(Level("flag", (level,)) for level in flag)]
    columns += [Level("k", (level,)) for level in schema["k"].levels]
    terms = [
        DirectTerm(f"D{i}", column, 1 / 2**i, 0.0, 1.0, 9.0, 4.0)
        for i, column in enumerate(columns, 1)
    ]
    return model_with(terms, schema)


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
    "plain": a_model(),
    "pooled": a_model(pooled=True),
    "capitals": a_model(flag=("FALSE", "TRUE")),
    "blanks": a_model(levels=(" 10", "north ", "2.50")),
}
RUN = [
    ("sql", {"dialect": "sqlite"}),
    ("sql", {"dialect": "duckdb"}),
    ("python", {}),
    pytest.param("javascript", {}, marks=needs_node),
    pytest.param("c", {}, marks=needs_cc),
    pytest.param("pmml", {}, marks=needs_java),
    ("onnx", {}),
    ("scorecard", {"format": "csv"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("target", "options"), RUN)
def test_other_spellings(target, options, name, tmp_path):
    """ONNX is given the levels to the letter; what it makes of others is below."""
    model = MODELS[name]
    record = check(target, model, spelled(), tmp_path, **options)
    assert record.rows == len(CODES) * len(FLAGS)
    assert record.holds, record.differences
    record = check(target, model, probe_table(make_form(model), 200), tmp_path, **options)
    assert record.holds, record.differences


def written(target, model, folder, **options):
    chosen, form = find_target(target), make_form(model)
    settled = settle_options(chosen, options)
    content = chosen.write(form, settled)
    path = folder / f"m{chosen.suffix}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path, form, settled


def score_of(target, model, folder, **cells):
    """Return the score of one row as an export computes it; NaN for none, or its error."""
    row = {"n": 0.5, "flag": "True", "k": "north", **cells}
    rows = Cells(1, {name: [cell] for name, cell in row.items()})
    dialect = {"dialect": target} if target in ENGINES else {}
    path, form, _ = written("sql" if dialect else target, model, folder, **dialect)
    if dialect:
        kinds = [(name, "text" if name != "n" else "number", [cell]) for name, cell in row.items()]
        names, found, _ = ENGINES[target](path.read_text(), "cases", kinds)
        return dict(zip(names, found[0], strict=True))["rpte_score"]
    if target == "python":
        space = {}
        exec(path.read_text(), space)
        return space["predict"](row)["score"]
    if target == "javascript":
        from rpte.export.code.javascript import RUNNER

        return run_rows([shutil.which("node"), "-e", RUNNER, str(path)], form, rows)["score"][0]
    if target == "c":
        return c.run(path, form, {}, rows).lines["score"][0]
    if target == "pmml":
        return pmml_run.run_documents([(path, rows)])[0]["rpte_score"][0]
    return graph_score(path, form, row)


def graph_score(path, form, row):
    import onnxruntime

    session = onnxruntime.InferenceSession(path.read_bytes())
    fed = {given.name: onnx.column_of(given, [row[given.name]]) for given in form.inputs}
    return session.run(["score"], fed)[0][0]


SCORERS = [
    "sqlite",
    "duckdb",
    "python",
    pytest.param("javascript", marks=needs_node),
    pytest.param("c", marks=needs_cc),
    pytest.param("pmml", marks=needs_java),
    "onnx",
]


def is_none(answer):
    return answer is None or bool(np.isnan(answer))


@pytest.mark.slow
@pytest.mark.parametrize("target", SCORERS)
@pytest.mark.parametrize("flag", ["2", "-1", "0.5", " 7"])
def test_a_boolean_that_is_a_number_has_no_score(target, flag, tmp_path):
    model = a_model()
    assert score_of(target, model, tmp_path) == model.score(
        {"n": [0.5], "flag": [1], "k": ["north"]}
    )
    with pytest.raises(InputError, match="true or false"):
        model.score({"n": [0.5], "flag": [flag], "k": ["north"]})
    try:
        assert is_none(score_of(target, model, tmp_path, flag=flag))
    except (ValueError, InputError) as error:
        assert "neither true nor false" in str(error) or target == "javascript"  # noqa: PT017


@pytest.mark.parametrize("k", [" north", "10.00", "2.500", "-0"])
def test_a_graph_reads_a_level_as_the_model_does_or_gives_no_score(k, tmp_path):
    assert is_none(score_of("onnx", a_model(), tmp_path, k=k))


TWICE = a_model(levels=("1.1", "1.10", "north"))


@pytest.mark.parametrize("target", ["python", pytest.param("javascript", marks=needs_node),
                                    pytest.param("c", marks=needs_cc), "onnx"])  # fmt: skip
def test_levels_that_are_one_number(target, tmp_path):
    for level in ("1.1", "1.10"):
        expected = TWICE.score({"n": [0.5], "flag": [True], "k": [level]})[0]
        assert score_of(target, TWICE, tmp_path, k=level) == expected
    for cell in ("1.100", " 1.1"):
        try:
            assert is_none(score_of(target, TWICE, tmp_path, k=cell))
        except (ValueError, InputError) as error:
            assert "which may be one of" in str(error) or target == "javascript"  # noqa: PT017


@pytest.mark.parametrize("target", ["sql", "pmml"])
def test_levels_that_are_one_number_are_refused_where_cells_have_no_type(target, tmp_path):
    with pytest.raises(InputError, match=r"\['1.1', '1.10'\].*which of them a number stands for"):
        TWICE.export(target, tmp_path / "m")


@pytest.mark.slow
@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
def test_a_workbook(tmp_path):
    """Booleans in every spelling; another spelling of a level gives no score."""
    model = a_model()
    form = make_form(model)
    cells = {
        "n": [0.5] * 12,
        "flag": [True, 1.0, "true", "T", "0", 0.0, "2", 2.0, True, True, True, "maybe"],
        "k": ["north"] * 8 + ["10.0", " north", 10.0, "north"],
    }
    path, _, _ = written("xlsx", model, tmp_path, rows=12)
    from openpyxl import load_workbook

    workbook = load_workbook(path)
    layout = xlsx_run.Layout(form, 12)
    xlsx_run._add_digits(workbook.create_sheet(xlsx_run.DIGITS), layout)
    for name, column in cells.items():
        for row, cell in enumerate(column):
            workbook["Cases"].cell(6 + row, layout.inputs[name]).value = cell
    workbook.save(tmp_path / "filled.xlsx")
    xlsx_run.recompute(OFFICE, [tmp_path / "filled.xlsx"], tmp_path / "out")
    rows = Cells(12, cells)
    found = xlsx_run.read_lines(form, rows, [tmp_path / "out" / "filled.xlsx"])["score"]
    refused = [6, 7, 8, 9]
    assert np.isnan(found[refused]).all()
    kept = [i for i in range(12) if i not in refused]
    meant = {name: [column[i] for i in kept] for name, column in cells.items()}
    expected = model.score(model.read(meant, allow_unknown=True))
    np.testing.assert_allclose(found[kept], expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["n", "flag", "k"])
@pytest.mark.parametrize("target", SCORERS)
def test_a_table_without_a_column_is_an_error(target, gone, tmp_path):
    model, row = a_model(), {"n": 0.5, "flag": "True", "k": "north"}
    del row[gone]
    if target in ENGINES:
        connection = (duckdb if target == "duckdb" else sqlite3).connect(":memory:")
        kinds = {"n": "DOUBLE", "flag": "TEXT", "k": "TEXT"}
        connection.execute(f"CREATE TABLE cases ({', '.join(f'{n} {kinds[n]}' for n in row)})")
        connection.execute("INSERT INTO cases VALUES (?, ?)", list(row.values()))
        path, *_ = written("sql", model, tmp_path, dialect=target)
        with pytest.raises((sqlite3.OperationalError, duckdb.BinderException), match=gone):
            connection.execute(path.read_text()).fetchall()
        return
    if target == "python":
        space = {}
        exec(written("python", model, tmp_path)[0].read_text(), space)
        with pytest.raises(KeyError, match=gone):
            space["predict"](row)
        return
    if target == "javascript":
        path, *_ = written("javascript", model, tmp_path)
        call = f"require({str(path)!r}).predict({{{', '.join(f'{n!r}: 1' for n in row)}}})"
        done = subprocess.run(["node", "-e", call], capture_output=True, text=True, check=False)
        assert f'the row has no column "{gone}"' in done.stderr
        return
    if target == "onnx":
        path, form, _ = written("onnx", model, tmp_path)
        import onnxruntime

        session = onnxruntime.InferenceSession(path.read_bytes())
        fed = {g.name: onnx.column_of(g, [row[g.name]]) for g in form.inputs if g.name in row}
        with pytest.raises(ValueError, match=gone):
            session.run(["score"], fed)
        return
    pytest.skip(f"{target}: a row always has all fields")


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "oracle"])
def test_columns_that_every_table_has_are_refused(dialect, tmp_path):
    name = "xmin" if dialect == "postgres" else "RowId"
    schema = Schema((Variable(name, "number", (), True),), True)
    model = model_with([DirectTerm("D1", Value(name), 1.0, 0.0, 1.0, 1.0, 1.0)], schema)
    with pytest.raises(InputError, match=f"'{name}' has the name of a column that every table"):
        model.export("sql", tmp_path / "m.sql", dialect=dialect)


ODD_NAMES = ("a\nb", "a\r\nb", "a\rb", "a\\b", 'a"b', "a'b", " a ", "é漢😀", "a\tb", "a;--b",
             "${x}", "a\u2028b", "a\x01b", "a\0b", "__proto__")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize(
    "target",
    [t for t in HOMES if t not in ("xlsx", "pmml", "relativities")],  # of numbers alone
)
def test_any_name_works_or_is_refused_with_words(target, name, tmp_path):
    schema = Schema(
        (Variable(name, "number", (), True), Variable(f"{name}k", "category", ("x", "y"))), True
    )
    terms = [
        DirectTerm("D1", Value(name), 0.5, 0.0, 1.0, 1.0, 1.0),
        DirectTerm("D2", Level(f"{name}k", ("x",)), 0.25, 0.0, 1.0, 1.0, 1.0),
    ]
    model = model_with(terms, schema)
    for options in [{"dialect": d} for d in ("sqlite", "duckdb")] if target == "sql" else [{}]:
        path = tmp_path / f"m{find_target(target).suffix}"
        rows = {name: [0.0, 1.0, 2.0], f"{name}k": ["x", "y", "x"]}
        try:
            record = model.export(target, path, rows if target == "scorecard" else None, **options)
        except InputError as error:
            assert "\0" in name
            assert repr(name)[1:-1] in str(error)  # noqa: PT017
            continue
        assert record.holds
        assert record.rows or "not on the PATH" in record.engine
