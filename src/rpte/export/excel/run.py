"""Recompute a workbook in LibreOffice, with cases filled in."""

import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rpte.export.cells import Cells, refuse_texts, to_the_letter
from rpte.export.classes import CHOSEN, class_numbers
from rpte.export.evaluate import magnitudes
from rpte.export.excel.cases import fill
from rpte.export.excel.layout import CASES, FIRST, Layout
from rpte.export.excel.looks import put
from rpte.export.form import Form
from rpte.export.programs import failure, find_program, run_program
from rpte.export.target import Answers, Options
from rpte.utils.arrays import Floats

SECONDS = 1800
# LibreOffice writes 15 digits: a number is read as that of its text, which has fewer digits where
# the number is tiny, and what is left. SLN is (a - b) / c; a plain a - b would be 0.
DIGITS = {"Digits": 'VALUE({0}&"")', "Rest": 'SLN({0},VALUE({0}&""),1)'}


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Fill in the rows, as many at a time as the workbook has room for, and recompute them."""
    office = find_program("soffice", "libreoffice")
    refuse_texts(cells, lambda _, text: not text, "which a workbook cannot tell from an empty cell")
    with tempfile.TemporaryDirectory() as folder:
        filled = fill_workbook(path, form, cells, Path(folder))
        recompute(office, filled, Path(folder) / "computed")
        lines = read_lines(form, cells, [Path(folder) / "computed" / p.name for p in filled])
    return Answers(lines, engine_name(office), sizes=rounding_sizes(form, cells))


def rounding_sizes(form: Form, cells: Cells) -> dict[str, Floats]:
    """Return what differences of each line are relative to, since a workbook rounds its sums."""
    sizes = dict(magnitudes(form, cells))
    if form.classes:  # a difference of scores is rounded by their size
        most = np.max([sizes[line.name] for line in form.role("score")], axis=0)
        sizes |= dict.fromkeys([CHOSEN, *(p.name for p in form.role("probability"))], most)
    return sizes


@cache
def engine_name(office: str) -> str:
    """Return name and version of a LibreOffice, which takes a second to tell them."""
    return " ".join(run_program([office, "--version"]).split()[:2]) or "LibreOffice"


def fill_workbook(path: Path, form: Form, cells: Cells, folder: Path) -> list[Path]:
    """Write copies of a workbook that hold some cases, and return their paths.

    Levels are spelled as in training: in another spelling a workbook gives no score.
    """
    workbook, cells = _load(path), to_the_letter(form, cells)
    sheet = workbook[CASES]
    layout = Layout(form, sheet.max_row - FIRST + 1)
    for name, formula in DIGITS.items():
        _add_digits(workbook.create_sheet(name), layout, formula)
    found = []
    for start in range(0, cells.n_rows, layout.rows):
        stop = min(start + layout.rows, cells.n_rows)
        some = {name: column[start:stop] for name, column in cells.columns.items()}
        fill(sheet, layout, Cells(stop - start, some))
        found.append(folder / f"{path.stem}_{start}.xlsx")
        workbook.save(found[-1])
    return found


def _add_digits(sheet: Any, layout: Layout, formula: str) -> None:
    """Write a formula for every result that is a number."""
    for column in (column for name, column in layout.lines.items() if name != CHOSEN):
        for row in range(FIRST, layout.last + 1):
            cell = sheet.cell(row, column)
            cell.value = f"={formula.format(f'{CASES}!{cell.coordinate}')}"


def _load(path: Path) -> Any:
    """Return a workbook with all digits of its numbers."""
    from openpyxl import load_workbook

    with path.open("rb") as file:  # of a name without an ending openpyxl reads nothing
        workbook = load_workbook(file)
    for sheet in workbook:
        for cell in (cell for row in sheet.iter_rows() for cell in row):
            if isinstance(cell.value, float):
                put(cell, cell.value)
    return workbook


def recompute(office: str, workbooks: Sequence[Path], folder: Path) -> None:
    """Let LibreOffice compute some workbooks, in one call, and write them to a folder."""
    with tempfile.TemporaryDirectory() as profile:
        command = [office, f"-env:UserInstallation={Path(profile).as_uri()}", "--headless",
                   "--norestore", "--convert-to", "xlsx", "--outdir", str(folder),
                   *map(str, workbooks)]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", check=False, timeout=SECONDS
        )
    if done.returncode or not all((folder / path.name).is_file() for path in workbooks):
        raise failure(office, done.stderr)


def read_lines(form: Form, cells: Cells, workbooks: Sequence[Path]) -> dict[str, Floats]:
    """Return the lines that recomputed workbooks hold, for all rows."""
    layout = Layout(form, 1)
    sheets = ([r for path in workbooks for r in _rows(path, s)] for s in (CASES, *DIGITS))
    rows = list(zip(*sheets, strict=True))[: cells.n_rows]
    found = {
        name: np.array([_number(high[c - 1]) + _number(rest[c - 1]) for _, high, rest in rows])
        for name, c in layout.lines.items()
        if name != CHOSEN
    }
    if form.classes:
        place = layout.lines[CHOSEN] - 1
        found[CHOSEN] = class_numbers(form, [shown[place] for shown, _, _ in rows])
    return found


def _rows(path: Path, sheet: str) -> list[tuple[Any, ...]]:
    from openpyxl import load_workbook

    workbook = load_workbook(path, read_only=True, data_only=True)
    found = list(workbook[sheet].iter_rows(min_row=FIRST, values_only=True))
    workbook.close()
    return found


def _number(value: Any) -> float:
    """Return a result; NaN for an error or an empty text."""
    return float(value) if isinstance(value, (int, float)) else float("nan")
