"""Excel: a workbook whose formulas score one row per case, with its rules and an explanation."""

import io
from collections.abc import Callable
from itertools import product
from pathlib import Path

from rpte.errors import InputError
from rpte.export.cells import Cells, read_cells, to_the_letter
from rpte.export.excel import sheets
from rpte.export.excel.cases import cases_sheet
from rpte.export.excel.class_sheets import class_explain_sheet, class_rules_sheet
from rpte.export.excel.formulas import Lists, width
from rpte.export.excel.layout import ABOUT, CASES, EXPLAIN, FIRST, RULES, Layout
from rpte.export.excel.looks import LONGEST_TEXT
from rpte.export.excel.run import run
from rpte.export.form import Form
from rpte.export.parity import known_columns
from rpte.export.target import Options, Target

OPTIONS = {"rows": 200, "cases": None}
MOST_ROWS = 1048576 - FIRST
# What a text of a cell cannot be, and how it is told.
FAULTS: dict[str, Callable[[str], bool]] = {
    "has a NUL character, which no workbook can hold": lambda text: "\0" in text,
    "has half of a surrogate pair, which no workbook can hold": lambda text: any(
        "\ud800" <= c <= "\udfff" for c in text
    ),
    f"is longer than the {LONGEST_TEXT} characters that a cell holds": lambda text: (
        width(text) > LONGEST_TEXT
    ),
    "is an empty text, which a workbook cannot tell from an empty cell": lambda text: not text,
}


def check(form: Form, options: Options) -> None:
    """Refuse texts that a cell cannot hold, and a wrong number of rows."""
    rows = options["rows"]
    if not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise InputError(f"rows={rows!r}; it must be a whole number from 1 to {MOST_ROWS}")
    labels = [label for label in form.classes if isinstance(label, str)]
    for label, (why, holds) in product(labels, FAULTS.items()):
        if holds(label):
            raise InputError(f"the class {label[:40]!r} {why}; clean the label and fit again")
    for given in form.inputs:
        texts = [(f"the name {given.name[:40]!r}", given.name or " ")]
        texts += [(f"a level of '{given.name[:40]}'", level) for level in given.words]
        for (what, text), (why, holds) in product(texts, FAULTS.items()):
            if holds(text):
                raise InputError(f"{what} {why}; clean the column and fit again")
        alike = [level for level in given.words if level.replace("\r\n", "\n") in given.words]
        if merged := [level for level in alike if "\r\n" in level]:
            raise InputError(
                f"'{given.name}' has the level {merged[0]!r} and the same without the carriage "
                "return, which a workbook reads as one; make them one level and fit again"
            )


def write(form: Form, options: Options) -> bytes:
    """Return the workbook."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise InputError(
            "xlsx needs openpyxl; install it with pip install 'rpte[files]'"
        ) from error
    cells, lists, workbook = _cases(form, options["cases"]), Lists(), Workbook()
    layout = Layout(form, max(options["rows"], cells.n_rows if cells else 0))
    sheets.about_sheet(workbook.active, form)
    workbook.active.title = ABOUT
    cases_sheet(workbook.create_sheet(CASES), layout, lists, cells)
    explain, rules = workbook.create_sheet(EXPLAIN), workbook.create_sheet(RULES)
    if form.classes:
        class_explain_sheet(explain, layout, lists)
        class_rules_sheet(rules, layout)
    else:
        sheets.explain_sheet(explain, layout, lists)
        sheets.rules_sheet(rules, layout)
    sheets.lists_sheet(workbook.create_sheet("Lists"), lists)
    workbook.calculation.fullCalcOnLoad = True
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def _cases(form: Form, path: str | Path | None) -> Cells | None:
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
