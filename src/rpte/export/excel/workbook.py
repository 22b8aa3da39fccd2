"""Excel: a workbook whose formulas score one row per case, with its rules and an explanation."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rpte.errors import InputError
from rpte.export.cells import Cells, read_cells, to_the_letter
from rpte.export.excel.formulas import Lists, width
from rpte.export.excel.layout import ABOUT, CASES, EXPLAIN, FIRST, RULES, Layout
from rpte.export.excel.looks import LONGEST_TEXT
from rpte.export.excel.run import run
from rpte.export.form import Form
from rpte.export.parity import known_columns
from rpte.export.target import Options, Target

OPTIONS = {"rows": 200, "cases": None}
MOST_ROWS = 1048576 - FIRST


def check(form: Form, options: Options) -> None:
    """Refuse texts that a cell cannot hold, and a wrong number of rows."""
    rows = options["rows"]
    if not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise InputError(f"rows={rows!r}; it must be a whole number from 1 to {MOST_ROWS}")
    for what, text in _texts(form):
        for holds, why in _FAULTS:
            if holds(text):
                raise InputError(f"{what} {why}; clean the column and fit again")


_FAULTS = (
    (lambda text: "\0" in text, "has a NUL character, which no workbook can hold"),
    (
        lambda text: any("\ud800" <= c <= "\udfff" for c in text),
        "has half of a surrogate pair, which no workbook can hold",
    ),
    (
        lambda text: width(text) > LONGEST_TEXT,
        f"is longer than the {LONGEST_TEXT} characters that a cell holds",
    ),
    (lambda text: text == "", "is an empty text, which a workbook cannot tell from an empty cell"),
)


def _texts(form: Form) -> Iterator[tuple[str, str]]:
    """Yield every text that the workbook holds as it is, with what it is."""
    for given in form.inputs:
        yield f"the name {given.name[:40]!r}", given.name or " "
        for level in given.words:
            yield f"a level of '{given.name[:40]}'", level


def write(form: Form, options: Options) -> bytes:
    """Return the workbook."""
    workbook, layout, lists = _new_workbook(), Layout(form, options["rows"]), Lists()
    cells = _cases(form, options["cases"])
    if cells is not None and cells.n_rows > layout.rows:
        layout = Layout(form, cells.n_rows)
    from rpte.export.excel import sheets
    from rpte.export.excel.cases import cases_sheet

    sheets.about_sheet(workbook.active, form)
    workbook.active.title = ABOUT
    cases_sheet(workbook.create_sheet(CASES), layout, lists, cells)
    sheets.explain_sheet(workbook.create_sheet(EXPLAIN), layout, lists)
    sheets.rules_sheet(workbook.create_sheet(RULES), layout)
    sheets.lists_sheet(workbook.create_sheet("Lists"), lists)
    workbook.calculation.fullCalcOnLoad = True
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def _new_workbook() -> Any:
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise InputError(
            "xlsx needs openpyxl; install it with pip install 'rpte[files]'"
        ) from error
    return Workbook()


def _cases(form: Form, path: str | Path | None) -> Cells | None:
    """Return the rows of a table that the workbook should hold."""
    if path is None:
        return None
    from rpte.table.files import read_table

    cells = read_cells(form, known_columns(form.model, read_table(path, schema=form.model.schema)))
    if not 1 <= cells.n_rows <= MOST_ROWS:
        raise InputError(
            f"cases={str(path)!r} has {cells.n_rows} rows; a sheet has 1 to {MOST_ROWS}"
        )
    return to_the_letter(form, cells)


TARGET = Target("xlsx", ".xlsx", write, run, OPTIONS, check, packages=("openpyxl",))
