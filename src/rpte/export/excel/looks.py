"""How the cells of a workbook are filled, and how they look."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from rpte.errors import InputError
from rpte.export.cells import Cell
from rpte.export.excel.layout import letter
from rpte.table.decimals import number_text

LONGEST_TEXT, LONGEST_FORMULA = 32767, 8192
SHOWN = 1000  # characters of a rule's text that people are shown
DARK, PALE, YELLOW, GREY, RED, AMBER = "1F3A5F", "E8EEF5", "FFF9DB", "7A7A7A", "F8C9C4", "FFE3B0"
RAISES, LOWERS = "B3261E", "1B7F3B"
POINTS = "+0.0000;-0.0000;0.0000"
# What spreadsheets decode in a text, and what XML cannot hold.
ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)|[\x01-\x08\x0b-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Look:
    """How a cell looks."""

    bold: bool = False
    size: int = 11
    colour: str = "000000"
    fill: str = ""
    format: str = ""
    wrap: bool = False
    centre: bool = False

    def on(self, cell: Any) -> None:
        """Give a cell this look."""
        name = f"rpte {crc32(repr(self).encode()):08x}"
        try:
            cell.style = name
        except ValueError:  # the workbook does not know it yet
            cell.parent.parent.add_named_style(self._style(name))
            cell.style = name

    def _style(self, name: str) -> Any:
        from openpyxl.styles import Alignment, Font, NamedStyle, PatternFill

        horizontal = "center" if self.centre else None
        return NamedStyle(
            name,
            font=Font(name="Calibri", bold=self.bold, size=self.size, color=self.colour),
            fill=PatternFill("solid", self.fill) if self.fill else PatternFill(),
            alignment=Alignment(horizontal, "center", wrap_text=self.wrap),
            number_format=self.format or "General",
            hidden=True,
        )


TITLE = Look(bold=True, size=16, colour=DARK)
NOTE = Look(colour=GREY)
CENTRED = Look(colour=GREY, centre=True)
HEADER = Look(bold=True, colour="FFFFFF", fill=DARK, wrap=True, centre=True)
INPUT_HEADER = Look(bold=True, colour=DARK, fill="FFE99A", wrap=True, centre=True)
KIND = Look(size=9, colour=GREY, wrap=True, centre=True)
ENTRY = Look(fill=YELLOW)
RESULT = Look(bold=True, fill=PALE, format="0.0000")
SHARE = Look(bold=True, fill=PALE, format="0.00%")
MEAN = Look(bold=True, fill=PALE, format="General")
LABELLED = Look(bold=True, fill=PALE, centre=True)
RESULTS = {  # by role
    "score": RESULT,
    "probability": SHARE,
    "mean": MEAN,
    "hazard_ratio": MEAN,
    "survival": SHARE,
    "class": LABELLED,
}
CONTRIBUTION = Look(format=POINTS)
LABEL = Look(bold=True)
PLAIN = Look(wrap=True)


def put(cell: Any, value: Cell | bool, look: Look | None = None) -> None:
    """Fill a cell: a text stays a text whatever it begins with, a number keeps all its digits."""
    if value is None or isinstance(value, bool):
        cell.value = value
    elif isinstance(value, str):
        cell.value = ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", value)
        cell.data_type = "s"
        cell.quotePrefix = value[:1] in ("=", "+", "-", "@", "'")
    else:
        cell.value = number_text(value)  # openpyxl itself writes 16 digits
        cell.data_type = "n"
    if look is not None:
        look.on(cell)


def put_formula(cell: Any, formula: str, what: str, look: Look | None = None) -> None:
    """Fill a cell with a formula, or refuse one that a cell cannot hold."""
    if len(formula) >= LONGEST_FORMULA:
        raise InputError(
            f"the formula of {what} has {len(formula)} characters; a cell holds "
            f"{LONGEST_FORMULA}: choose another target, or fit a smaller model"
        )
    cell.value = f"={formula}"
    if look is not None:
        look.on(cell)


def shortened(text: str) -> str:
    """Return a text for people, cut if it is very long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def head(sheet: Any, title: str, notes: list[str]) -> None:
    """Write the title and notes at the top of a sheet."""
    for row, (text, look) in enumerate([(title, TITLE), *((note, NOTE) for note in notes)], 1):
        put(sheet.cell(row, 1), text, look)
    sheet.row_dimensions[1].height = 26
    sheet.sheet_view.showGridLines = False


def headers(sheet: Any, row: int, names: Sequence[Cell], widths: list[int]) -> None:
    """Write the names of a table's columns."""
    for column, (name, wide) in enumerate(zip(names, widths, strict=True), 1):
        put(sheet.cell(row, column), name, HEADER)
        sheet.column_dimensions[letter(column)].width = wide
    sheet.row_dimensions[row].height = 32


def coloured(sheet: Any, cells: str) -> None:
    """Show points that raise the score in red and those that lower it in green."""
    first = cells.partition(":")[0]
    for sign, colour in ((">", RAISES), ("<", LOWERS)):
        mark(sheet, cells, f"IF(ISNUMBER({first}),{first}{sign}0,FALSE)", colour)


def mark(sheet: Any, cells: str, formula: str, colour: str, fill: bool = False) -> None:
    """Colour the text of cells, or fill them, where a formula holds."""
    from openpyxl.formatting.rule import FormulaRule
    from openpyxl.styles import Font, PatternFill

    look = {"fill": PatternFill("solid", bgColor=colour)} if fill else {"font": Font(color=colour)}
    sheet.conditional_formatting.add(cells, FormulaRule([formula], **look))


def printed(sheet: Any, head_row: int) -> None:
    """Set up a sheet for paper: across the page, headers on every page."""
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.paperSize = sheet.PAPERSIZE_A4
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.print_title_rows = f"1:{head_row}"
