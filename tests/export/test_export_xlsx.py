"""Excel: recomputed by LibreOffice, many workbooks in one call."""

import shutil
import warnings
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from export_models import (
    DATA,
    LEVELS,
    LINKS,
    NUMBERS,
    OFFICE,
    TABLES,
    classes_of,
    empty_case,
    every_kind,
    golden,
    hand_tree,
    hostile_rows,
    model_with,
    number_model,
    spelling_model,
    stored_model,
    suite_case,
    table_model,
    variables,
    with_gaps,
)
from model_files import stored
from rpte import InputError, RPTEWarning
from rpte.cli import app
from rpte.columns.kinds import Level, Missing, Value
from rpte.export.cells import Cells, probe_table, read_cells
from rpte.export.excel import run as xlsx_run
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.target import ROUNDING, Answers, find_target, settle_options
from rpte.model.file import from_dict
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.tree import Split
from rpte.table.schema import Schema, Variable

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: rpte[files]")
needs_office = pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not on the PATH")
ROWS = 24
TARGET = find_target("xlsx")


def office(test):
    """Mark a test that needs LibreOffice; all of them stay in one worker, which starts it once."""
    slow = pytest.mark.slow(reason="LibreOffice recomputes the workbooks")
    return needs_office(slow(pytest.mark.xdist_group("office")(test)))


def written(model, path, rows=40):
    form = make_form(model)
    settled = settle_options(TARGET, {"rows": rows})
    TARGET.check(form, settled)
    path.write_bytes(TARGET.write(form, settled))
    return form


def many_leaves():
    """Return a model whose tree does not fit into one formula."""
    splits = [Split(Value("a"), i / 7, i % 2 == 0) for i in range(120, 0, -1)]
    model = model_with([hand_tree(splits)], variables(("a", "b", "c"), "k", "f"))
    return model, probe_table(make_form(model), ROWS), {}


def typed_cells():
    """Return a model of levels that look like numbers or truths, and cells as people type them."""
    schema = Schema(
        (
            Variable("k", "category", ("2.5", "3", "a", *"bcdefghij"), True),
            Variable("f", "category", ("False", "True"), True),
        ),
        True,
    )
    levels = [("3",), ("2.5", "a"), ("3", "2.5", "a", *"bcdefgh")]
    columns = [*(Level("k", some) for some in levels), Level("f", ("True",)), Missing("f")]
    terms = [
        DirectTerm(f"D{i}", column, 1.5 * i, 0.0, 1.0, 9.0, 4.0)
        for i, column in enumerate(columns, 1)
    ]
    cells = Cells(6, {"k": [3.0, 2.5, "3", 4.0, 0.0, None],
                      "f": [True, False, "True", "False", "true", None]})  # fmt: skip
    return model_with(terms, schema), cells, {}


def of_labels(labels):
    model = classes_of(every_kind(), labels, seed=1)
    return model, with_gaps(hostile_rows(model, ROWS)), {}


def of_stored(name):
    model, X = stored_model(name)
    more = {"horizons": [1.0]} if model.task == "survival" else {}
    if not isinstance(X, dict):  # an array
        return model, X[:ROWS], more
    return model, with_gaps({name: cells[:20] + cells[-ROWS:] for name, cells in X.items()}), more


def of_table(name, published=False):
    model, X = table_model(name, published)
    return model, X.head(ROWS), {}


def of_tiny_hazards(intercept):
    """The text of a tiny number has fewer digits than the number."""
    model = replace(from_dict(stored("trial").copy()), intercept=intercept)
    return model, stored("trial").X.head(5), {"horizons": [5.0], "stratum": "north"}


SOME = ("array", "boosted", "class_numbers", "claims", "edited_times", "mixed", "products",
        "published", "shaped", "special", "squared")  # fmt: skip
CASES = {
    **{link: partial(suite_case, link, "xlsx") for link in LINKS},
    **{f"{link}, no inputs": partial(empty_case, link) for link in LINKS},
    **{f"stored {name}": partial(of_stored, name) for name in SOME},
    **{f"hazard {score}": partial(of_tiny_hazards, score) for score in (-30.0, -600.0)},
    "numbers": partial(of_labels, (-1, 0, 5)),
    "fractions": partial(of_labels, (1.0, 2.0, 3.5)),
    "leaves": many_leaves,
    "typed": typed_cells,
}
if DATA:
    CASES |= {name: partial(of_table, name) for name in list(TABLES)[1::2]}
    CASES["published table"] = partial(of_table, "hepatitis_uci.csv", True)
TOLD = (1, 7, 23, 45)  # cases on the sheet Explain; there is no case 45
CLASSES = classes_of(every_kind(), ("Adelie", "Chinstrap", "Gentoo"))


class Batch:
    """Workbooks to recompute in one call of LibreOffice."""

    def __init__(self, folder):
        self.folder, self.paths, self.cases = folder, [], {}

    def add(self, name, model, X, options=None, change=None):
        """Write a workbook with cases filled in; `change` may edit it first."""
        path, form = self.folder / f"{len(self.cases)}.xlsx", make_form(model, options or {})
        cells = X if isinstance(X, Cells) else read_cells(form, X)
        settled = settle_options(TARGET, {"rows": cells.n_rows, **(options or {})}, model)
        path.write_bytes(TARGET.write(form, settled))
        if change is not None:
            edited(path, path, change)
        filled = xlsx_run.fill_workbook(path, form, cells, self.folder)
        self.cases[name] = form, X, cells, filled
        self.paths += filled
        return filled[0]

    def recompute(self):
        xlsx_run.recompute(OFFICE, self.paths, self.folder / "out")
        return self

    def differences(self, name):
        """Return how far the lines of a workbook are from the model's."""
        form, X, cells, filled = self.cases[name]
        lines = xlsx_run.read_lines(form, cells, [self.folder / "out" / p.name for p in filled])
        truth = expected(form.model, cells.columns if X is cells else X, form.horizons)
        answers = Answers(lines, "", sizes=xlsx_run.rounding_sizes(form, cells))
        found = compare(form, truth, answers, ROUNDING)
        assert set(found) == set(truth)
        return found

    def sheet(self, stem, name):
        path = self.folder / "out" / f"{stem}.xlsx"
        return openpyxl.load_workbook(path, data_only=True)[name]


def edited(source, path, change):
    workbook = openpyxl.load_workbook(source)
    change(workbook)
    workbook.save(path)
    return path


def people():
    """Return the cases of the workbook whose sheet Explain is read."""
    model, X = golden("special")
    return model, {name: list(cells) for name, cells in X.items()}


def spelled():
    """Return booleans in every spelling, and levels in other spellings."""
    return Cells(12, {
        "n": [0.5] * 12,
        "flag": [True, 1.0, "true", "T", "0", 0.0, "2", 2.0, True, True, True, "maybe"],
        "k": ["north"] * 8 + ["10.0", " north", 10.0, "north"],
    })  # fmt: skip


def fill_letters(workbook, form, cells):
    """Fill in cells as they are, in other spellings too."""
    layout = xlsx_run.Layout(form, cells.n_rows)
    for name, column in cells.columns.items():
        for row, cell in enumerate(column):
            workbook["Cases"].cell(6 + row, layout.inputs[name]).value = cell


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    made = Batch(tmp_path_factory.mktemp("workbooks"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        for name, case in CASES.items():
            made.add(name, *case())
    model, rows = golden("mixed")

    def move(workbook):
        workbook["Rules"]["E5"] = float(model.intercept) + 1e-9

    made.add("changed", model, rows, change=move)
    filled = made.add("people", *people(), {"rows": 50})
    for case in TOLD:

        def ask(workbook, case=case):
            workbook["Explain"]["B3"] = case
            workbook["Cases"]["C7"] = "12,5"

        made.paths.append(edited(filled, made.folder / f"case{case}.xlsx", ask))
    made.add("sheets", CLASSES, with_gaps(hostile_rows(CLASSES, 3)))
    form, empty = (
        make_form(spelling_model()),
        Cells(12, dict.fromkeys(("n", "flag", "k"), [None] * 12)),
    )
    filled = made.add("spelled", form.model, empty)
    path = edited(filled, made.folder / "spelled.xlsx", lambda w: fill_letters(w, form, spelled()))
    made.paths.append(path)
    return made.recompute()


@office
@pytest.mark.parametrize("name", CASES)
def test_every_workbook_is_the_model(batch, name):
    found = batch.differences(name)
    wrong = {line: difference for line, difference in found.items() if difference.rows}
    assert not wrong, wrong
    if name in ("stored mixed", *TABLES):
        assert found["score"].largest < 1e-12
    if name == "leaves":
        assert found["T1"].largest == 0


@office
def test_a_workbook_that_was_changed_is_found(batch):
    """What is compared is the file, not what it was made from."""
    found = batch.differences("changed")
    assert found["score"].rows == 40
    assert replace(found["C1"], relative=0.0).largest < 1e-12


@office
@pytest.mark.parametrize("case", TOLD[:3])
def test_the_sheet_for_people(batch, case):
    """A case is explained as the model does."""
    model, X = people()
    (told,) = model.explain({name: [cells[case - 1]] for name, cells in X.items()})
    sheet = batch.sheet(f"case{case}", "Explain")
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
    assert len([row for row in sheet.iter_rows(values_only=True) if row[3] == "agrees"]) == 1


@office
def test_cells_and_cases_that_are_not_there(batch):
    """A cell that is no number is told, not scored."""
    assert batch.sheet("case45", "Explain")["B4"].value == "no such case"
    cases = batch.sheet("case1", "Cases")
    status = 3 + len(make_form(people()[0]).inputs)
    told = [cases.cell(row, status).value for row in (6, 7, 8)]
    assert told == ["ok", "a cell is no number", "ok"]
    assert not cases.cell(7, status + 1).value


@office
def test_the_sheets_of_several_classes(batch):
    form, X, _, filled = batch.cases["sheets"]
    model, labels = form.model, list(form.model.classes)
    rules, explain = (batch.sheet(filled[0].stem, name) for name in ("Rules", "Explain"))
    assert [cell.value for cell in rules[4]][4:7] == labels
    assert [cell.value for cell in rules[5]][4:7] == list(model.intercepts)
    assert explain["B5"].value == model.predict(X)[0]
    told = {row[2].value: [c.value for c in row[4:7]] for row in explain.iter_rows(min_row=9)}
    assert told["the sum of the points: the score"] == pytest.approx(model.score(X)[0].tolist())
    assert told["probability"] == pytest.approx(model.predict_proba(X)[0].tolist())
    assert told["the scores of the sheet Cases"][0] == "agrees"
    texts = [str(c.value) for sheet in (rules, explain) for row in sheet.iter_rows() for c in row]
    assert not any("log odds" in text or "#" in text for text in texts)


@office
def test_booleans_in_every_spelling(batch):
    """Another spelling of a level gives no score."""
    form, cells = make_form(spelling_model()), spelled()
    path = batch.folder / "out" / "spelled.xlsx"
    found = xlsx_run.read_lines(form, cells, [path])["score"]
    refused = [6, 7, 8, 9]
    assert np.isnan(found[refused]).all()
    kept = [i for i in range(12) if i not in refused]
    meant = {name: [column[i] for i in kept] for name, column in cells.columns.items()}
    truth = form.model.score(form.model.read(meant, allow_unknown=True))
    np.testing.assert_allclose(found[kept], truth, rtol=1e-12)


@pytest.mark.parametrize("loss", NUMBERS)
def test_a_workbook_of_a_mean_says_so(loss, tmp_path):
    model = number_model(loss)[0]
    written(model, tmp_path / "m.xlsx")
    book = openpyxl.load_workbook(tmp_path / "m.xlsx")
    cases, rules, about = book["Cases"], book["Rules"], book["Read me"]
    names = [cell.value for cell in cases[5]]
    mean = cases.cell(6, names.index("mean") + 1)
    assert ("EXP(" in mean.value) == (loss != "squared_error")
    assert mean.number_format == "General"
    said = make_form(model).lines[-2].text
    assert rules["A2"].value.startswith(f"Points are parts of the {said}: red raises it")
    assert [cell.value for cell in rules[4]][-1] == "observed mean"
    first = model.components[0].parts[0]
    term = first.leaves[0] if isinstance(first, TreeTerms) else first
    assert rules["H6"].value == pytest.approx(term.rate)
    told = {row[0].value: row[1].value for row in about.iter_rows()}
    assert told["Mean"].startswith("Of claims")
    assert ("one unit of exposure" in told["Mean"]) == (loss != "squared_error")
    texts = [str(c.value) for sheet in book for row in sheet.iter_rows() for c in row]
    assert not any("robability" in text or "log odds" in text for text in texts)


def strange_levels():
    """Return a model of levels that spreadsheets like to read as something else."""
    schema = Schema((Variable("=k", "category", tuple(sorted(LEVELS)), True),), True)
    terms = [
        DirectTerm(f"D{i}", Level("=k", (level,)), i + 0.25, 0.0, 1.0, 9.0, 4.0)
        for i, level in enumerate(sorted(LEVELS), 1)
    ]
    return model_with(terms, schema)


def test_texts_are_never_formulas(tmp_path):
    model = strange_levels()
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
        (
            level_model(("a\r\nb", "a\nb")),
            {},
            "the same without the carriage return, which a workbook reads as one",
        ),
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


@office
def test_the_command(tmp_path):
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


@office
@pytest.mark.parametrize("name", ["model", "model.book"])
def test_the_ending_of_the_name_does_not_matter(name, tmp_path):
    made = stored("mixed")
    assert from_dict(made.copy()).export("xlsx", tmp_path / name, made.X.head(5)).holds
