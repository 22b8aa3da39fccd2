"""Excel: recomputed by LibreOffice, many workbooks in one call."""

import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from export_models import (
    HOSTILE_NAMES,
    TABLES,
    every_kind,
    golden,
    hand_tree,
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
from rpte.columns.kinds import Level, Missing, Value
from rpte.export.cells import Cells, probe_table, read_cells
from rpte.export.evaluate import magnitudes
from rpte.export.excel import run as xlsx_run
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.target import ROUNDING, Answers, find_target, settle_options
from rpte.model.parts import DirectTerm
from rpte.structure.tree import Split
from rpte.table.schema import Schema, Variable

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: rpte[files]")
OFFICE = shutil.which("soffice") or shutil.which("libreoffice")
needs_office = pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not on the PATH")
ROWS = 24
TARGET = find_target("xlsx")


def written(model, path, rows=40):
    form = make_form(model)
    settled = settle_options(TARGET, {"rows": rows})
    TARGET.check(form, settled)
    path.write_bytes(TARGET.write(form, settled))
    return form


def computed(cases, folder):
    """Return the differences of some models on some rows: by name, in one call of LibreOffice."""
    filled = {}
    for i, (name, (model, X)) in enumerate(cases.items()):
        path = folder / f"model{i}.xlsx"
        form = make_form(model)
        cells = X if isinstance(X, Cells) else read_cells(form, X)
        written(model, path, cells.n_rows)
        filled[name] = form, cells, xlsx_run.fill_workbook(path, form, cells, folder)
    xlsx_run.recompute(OFFICE, [p for *_, paths in filled.values() for p in paths], folder / "out")
    found = {}
    for name, (form, cells, paths) in filled.items():
        lines = xlsx_run.read_lines(form, cells, [folder / "out" / p.name for p in paths])
        X = cells.columns if isinstance(cases[name][1], Cells) else cases[name][1]
        truth = expected(form.model, X)
        answers = Answers(lines, "", sizes=magnitudes(form, cells))
        found[name] = compare(form, truth, answers, ROUNDING)
        assert set(found[name]) == {line.name for line in form.lines}
    return found


def assert_equal(found):
    for name, differences in found.items():
        wrong = {line: d for line, d in differences.items() if d.rows}
        assert not wrong, (name, wrong)


def far_out():
    term = DirectTerm("D1", Value("a"), 1.0, 0.0, 1.0, 1.0, 1.0)
    model = model_with([term], variables(("a", "b", "c"), "k", "f"), intercept=0.0)
    values = [-1e300, -5000.0, -746.0, -720.0, -700.0, -36.0, 0.0, 36.0, 710.0, 1e300]
    return model, {n: [None] * len(values) for n in model.schema.names} | {"a": values}


STRANGE = (
    "=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "#N/A", "TRUE", 'a "b" c', "_x0041_", "a\x01b",
    "line\r\nbreak", " blank ", "Ä", "ä", "é", "e\u0301", "x" * 256, "y" * 5000, "3", "2.5", "007",
    "*", "?", "~", "🙂" * 130,
)  # fmt: skip


def strange_levels():
    """Return a model of levels that spreadsheets like to read as something else."""
    schema = Schema((Variable("=k", "category", tuple(sorted(STRANGE)), True),), True)
    terms = [
        DirectTerm(f"D{i}", Level("=k", (level,)), i + 0.25, 0.0, 1.0, 9.0, 4.0)
        for i, level in enumerate(sorted(STRANGE), 1)
    ]
    several = Level("=k", tuple(sorted(STRANGE))[::2])
    terms.append(DirectTerm("D90", several, 100.5, 0.0, 1.0, 9.0, 4.0))
    cells = [*STRANGE, None, "never seen", "X" * 256, "=1+2", "A", "a"]
    return model_with(terms, schema), {"=k": cells}


def many_leaves():
    """Return a model whose tree does not fit into one formula."""
    splits = [Split(Value("a"), i / 7, i % 2 == 0) for i in range(120, 0, -1)]
    model = model_with([hand_tree(splits)], variables(("a", "b", "c"), "k", "f"))
    return model, probe_table(make_form(model), ROWS)


@pytest.mark.slow
@needs_office
def test_every_kind_of_model(tmp_path):
    cases = {}
    for name in ("array", "boosted", "products", "published", "shaped", "special", "mixed"):
        model, rows = golden(name)
        made = probe_table(make_form(model), ROWS)
        if isinstance(rows, dict):  # not an array
            made = {column: [*rows[column], *cells] for column, cells in made.items()}
        cases[name] = model, made
    for name in ("quotes", "unicode", "blanks", "ours"):
        model = every_kind(*HOSTILE_NAMES[name])
        cases[name] = model, with_gaps(hostile_rows(model, ROWS))
    model = every_kind(("=A1", "+a1", "-A1"), "@a1", "=a1")
    cases["signs"] = model, with_gaps(hostile_rows(model, 200))
    cases["far out"], cases["strange"], cases["leaves"] = far_out(), strange_levels(), many_leaves()
    X = np.arange(40.0).reshape(-1, 1)
    cases["no inputs"] = RPTEClassifier(l1=1e6).fit(X, X[:, 0] > 9).model_, X
    for seed in range(2):
        case = make_case(seed, [KINDS[(seed + i) % len(KINDS)] for i in range(3)], 60, clear=True)
        case = without_empty_texts(case)
        made = RPTEClassifier.paper() if seed % 2 else RPTEClassifier(l1="4/n")
        cases[f"fitted {seed}"] = case.fit(made).model_, case.X
    found = computed(cases, tmp_path)
    assert_equal(found)
    assert found["mixed"]["score"].largest < 1e-12
    assert found["leaves"]["T1"].largest == 0


@pytest.mark.slow
@needs_data
@needs_office
def test_real_tables(tmp_path):
    cases = {}
    for name in TABLES:
        for published in (False, True) if name in list(TABLES)[:3] else (False,):
            model, X = table_model(name, published)
            cases[f"{name}, {published}"] = model, X.head(ROWS)
    found = computed(cases, tmp_path)
    assert_equal(found)
    assert max(differences["score"].largest for differences in found.values()) < 1e-12


@pytest.mark.slow
@needs_office
def test_cells_as_people_type_them(tmp_path):
    schema = Schema(
        (
            Variable("k", "category", ("2.5", "3", "a", *"bcdefghij"), True),
            Variable("f", "category", ("False", "True"), True),
        ),
        True,
    )
    levels = [("3",), ("2.5", "a"), ("3", "2.5", "a", *"bcdefgh")]
    terms = [
        DirectTerm(f"D{i}", Level("k", chosen), i + 0.5, 0.0, 1.0, 9.0, 4.0)
        for i, chosen in enumerate(levels, 1)
    ]
    terms += [DirectTerm("D4", Level("f", ("True",)), 9.0, 0.0, 1.0, 9.0, 4.0)]
    terms += [DirectTerm("D5", Missing("f"), 20.0, 0.0, 1.0, 9.0, 4.0)]
    cells = Cells(6, {"k": [3.0, 2.5, "3", 4.0, 0.0, None],
                      "f": [True, False, "True", "False", "true", None]})  # fmt: skip
    assert_equal(computed({"typed": (model_with(terms, schema), cells)}, tmp_path))


def sheet_values(path, name):
    return openpyxl.load_workbook(path, data_only=True)[name]


@pytest.mark.slow
@needs_office
def test_the_sheet_for_people(tmp_path):
    """A case is explained as the model does; a cell that is no number is told, not scored."""
    model, X = golden("special")
    X = {name: list(cells) for name, cells in X.items()}
    form = written(model, tmp_path / "m.xlsx", rows=50)
    cells = read_cells(form, X)
    (filled,) = xlsx_run.fill_workbook(tmp_path / "m.xlsx", form, cells, tmp_path)
    paths = []
    for case in (1, 7, 23, 45):
        workbook = openpyxl.load_workbook(filled)
        workbook["Explain"]["B3"] = case
        workbook["Cases"]["C7"] = "12,5"
        paths.append(tmp_path / f"case{case}.xlsx")
        workbook.save(paths[-1])
    xlsx_run.recompute(OFFICE, paths, tmp_path / "out")
    for case, told in zip(
        (1, 7, 23),
        model.explain({n: [c[i] for i in (0, 6, 22)] for n, c in X.items()}),
        strict=True,
    ):
        sheet = sheet_values(tmp_path / "out" / f"case{case}.xlsx", "Explain")
        assert sheet["B5"].value == pytest.approx(told.score, rel=1e-14)
        rows = {row[1]: row for row in sheet.iter_rows(min_row=15, values_only=True) if row[1]}
        for component in told.components:
            for term in component.contributions:
                assert rows[term.term][4] == pytest.approx(term.value, abs=1e-14)
                if ".L" in term.term:
                    assert rows[term.term][3] == "yes"
                    tree = term.term.split(".")[0] + ".L"
                    others = [r for name, r in rows.items() if name.startswith(tree)]
                    assert sum(r[3] == "yes" for r in others) == 1
        last = [row for row in sheet.iter_rows(values_only=True) if row[3] == "agrees"]
        assert len(last) == 1
    assert (
        sheet_values(paths[3].parent / "out" / paths[3].name, "Explain")["B4"].value
        == "no such case"
    )
    cases = sheet_values(tmp_path / "out" / "case1.xlsx", "Cases")
    status = 3 + len(form.inputs)
    assert [cases.cell(row, status).value for row in (6, 7, 8)] == [
        "ok",
        "a cell is no number",
        "ok",
    ]
    assert not cases.cell(7, status + 1).value


def test_texts_are_never_formulas(tmp_path):
    model, _ = strange_levels()
    form = written(model, tmp_path / "m.xlsx")
    workbook = openpyxl.load_workbook(tmp_path / "m.xlsx")
    listed = [cell for row in workbook["Lists"].iter_rows(min_row=4) for cell in row]
    risky = [cell for cell in listed if isinstance(cell.value, str) and cell.value[0] in "=+-@"]
    assert len(risky) > 4
    assert all(cell.data_type == "s" and cell.quotePrefix for cell in risky)
    head = workbook["Cases"].cell(5, 3)
    assert (head.value, head.data_type) == ("=k", "s")
    formulas = [c for sheet in workbook for row in sheet.iter_rows() for c in row
                if c.data_type == "f"]  # fmt: skip
    assert all("1+1" not in cell.value.replace('"=1+1"', "") for cell in formulas)
    assert max(len(cell.value) for cell in formulas) <= 8192
    assert len(form.inputs) == 1
    with zipfile.ZipFile(tmp_path / "m.xlsx") as archive:
        assert not [n for n in archive.namelist() if "vba" in n.lower() or "external" in n.lower()]


def level_model(levels):
    schema = Schema((Variable("k", "category", levels, False),), True)
    return model_with([DirectTerm("D1", Level("k", levels[:1]), 1.0, 0.0, 1.0, 1.0, 1.0)], schema)


def coded_model(codes):
    schema = Schema((Variable("n", "number", codes, False),), True)
    return model_with([DirectTerm("D1", Value("n"), 1.0, 0.0, 1.0, 1.0, 1.0)], schema)


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (level_model(("a\0b", "c")), {}, "a level of 'k' has a NUL character"),
        (level_model(("a\ud800", "c")), {}, "a level of 'k' has half of a surrogate pair"),
        (level_model(("", "c")), {}, "a level of 'k' is an empty text, which a workbook cannot"),
        (level_model(("a" * 32768, "c")), {}, "is longer than the 32767 characters that a cell"),
        (
            coded_model(tuple(str(i) for i in range(900))),
            {},
            "the formula of part of D1 has .* characters",
        ),
        (golden("mixed")[0], {"rows": 0}, "rows=0; it must be a whole number from 1 to"),
        (golden("mixed")[0], {"rows": "ten"}, "rows='ten'; it must be a whole number"),
        (golden("mixed")[0], {"cases": "absent.csv"}, "absent.csv"),
        (
            golden("mixed")[0],
            {"sheets": 1},
            "xlsx has no option 'sheets'; its options: rows, cases",
        ),
    ],
)
def test_what_is_refused_before_writing(model, options, says, tmp_path):
    with pytest.raises((InputError, FileNotFoundError), match=says):
        model.export("xlsx", tmp_path / "m.xlsx", **options)
    assert not list(tmp_path.iterdir())


@needs_office
def test_an_empty_text_to_compare_on_is_refused(tmp_path):
    model, rows = golden("mixed")
    with pytest.raises(InputError, match=r"'region' holds the text '' \(row 0\), which a workb"):
        model.export("xlsx", tmp_path / "m.xlsx", {**rows, "region": [""] * 40})
    assert not list(tmp_path.iterdir())


def test_without_the_office_nothing_is_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    record = golden("mixed")[0].export("xlsx", tmp_path / "m.xlsx", rows=5)
    assert str(record) == "Not compared: soffice or libreoffice is not on the PATH"
    assert (tmp_path / "m.xlsx").is_file()


def test_without_openpyxl_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"xlsx needs openpyxl; install it with pip .*rpte\[files"):
        golden("mixed")[0].export("xlsx", tmp_path / "m.xlsx")


@pytest.mark.slow
@needs_office
def test_the_command(tmp_path):
    import pandas as pd

    model, rows = golden("mixed")
    model.save(tmp_path / "model.json")
    table, out = tmp_path / "rows.csv", tmp_path / "model.xlsx"
    pd.DataFrame(rows).assign(label=1).to_csv(table, index=False)
    export = ["export", str(tmp_path / "model.json"), "-o", str(out)]
    written = [*export, "--to", "xlsx", "--option", "rows=25", "--option", f"cases={table}"]
    done = CliRunner().invoke(app, [*written, "--check", str(table)])
    assert done.exit_code == 0, done.output
    assert "Compared 40 rows (rows.csv) in LibreOffice" in done.output
    sheet = openpyxl.load_workbook(out)["Cases"]
    assert [sheet.cell(row, 1).value for row in (6, 45, 46)] == [1, 40, None]
    assert sheet.cell(6, 2).value == "row 1"
    done = CliRunner().invoke(app, [*export, "--check", str(table)])
    assert done.exit_code == 0, done.output
    assert "Compared 40 rows (rows.csv) in LibreOffice" in done.output


@pytest.mark.slow
@needs_office
def test_a_workbook_that_was_changed_is_found(tmp_path):
    """What is compared is the file, not what it was made from."""
    model, rows = golden("mixed")
    form = written(model, tmp_path / "m.xlsx")
    workbook = openpyxl.load_workbook(tmp_path / "m.xlsx")
    workbook["Rules"]["E5"] = float(model.intercept) + 1e-9
    workbook.save(tmp_path / "m.xlsx")
    answers = TARGET.run(tmp_path / "m.xlsx", form, {}, read_cells(form, rows))
    found = compare(form, expected(model, rows), answers, ROUNDING)
    assert found["score"].rows == 40
    assert replace(found["C1"], relative=0.0).largest < 1e-12
