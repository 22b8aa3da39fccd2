"""Where everything stands in a workbook, and how its cells are filled and look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from rpte.export.cells import Cell
from rpte.export.excel.formulas import checked
from rpte.export.form import CategoryInput, Form, Input
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.tree import Branch
from rpte.table.decimals import number_text
from rpte.table.spelling import DECIMAL, plain_form, truth_form

CASES, RULES, EXPLAIN, ABOUT = "Cases", "Rules", "Explain", "Read me"
HEAD, FIRST = 5, 6  # rows of the sheet Cases: names of columns, and the first case
KINDS = HEAD - 1
FIRST_RULE = 5  # row of the sheet Rules that has the intercept
LONGEST_TEXT = 32767
CODED = "number or code"
SHOWN = 1000  # characters of a rule's text that people are shown
DARK, PALE, YELLOW, GREY, RED, AMBER = "1F3A5F", "E8EEF5", "FFF9DB", "7A7A7A", "F8C9C4", "FFE3B0"
RAISES, LOWERS = "B3261E", "1B7F3B"
POINTS = "+0.0000;-0.0000;0.0000"
# What spreadsheets decode in a text, and what XML cannot hold.
ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)|[\x01-\x08\x0b-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the sheet Rules: a leaf of a tree (`leaf` its number) or a direct term."""

    row: int
    component: str
    part: TreeTerms | DirectTerm
    leaf: int | None = None

    @property
    def name(self) -> str:
        """Such as ``T1.L2`` or ``D3``."""
        if isinstance(self.part, TreeTerms) and self.leaf is not None:
            return self.part.leaf_name(self.leaf)
        return self.part.name


class Layout:
    """The columns of the sheet Cases and the rows of the sheet Rules.

    Parameters
    ----------
    form : Form
    rows : int
        Rows for cases.
    """

    def __init__(self, form: Form, rows: int) -> None:
        self.form, self.rows = form, rows
        self.last = FIRST + rows - 1
        order = [line for role in ("component", "term") for line in form.role(role)]
        results = ["score", "probability", *(line.name for line in order)]
        self.inputs = {given.name: 3 + i for i, given in enumerate(form.inputs)}
        self.status = 3 + len(form.inputs)
        self.lines = {name: self.status + 1 + i for i, name in enumerate(results)}
        self.terms = self.status + 3 + len(form.role("component"))  # where their columns begin
        self.width = self.status + len(results)
        self.rules = {(rule.part.name, rule.leaf): rule for rule in _rules(form)}

    def coefficient(self, part: str, leaf: int | None = None) -> str:
        """Return the cell of a coefficient."""
        return f"{RULES}!$E${self.rules[part, leaf].row}"

    def range(self, column: int) -> str:
        """Return all cases of one column, for use on another sheet."""
        return f"{CASES}!${letter(column)}${FIRST}:${letter(column)}${self.last}"


def _rules(form: Form) -> Iterator[Rule]:
    row = FIRST_RULE
    for component, part in form.model.parts():
        for leaf in range(len(part.leaves)) if isinstance(part, TreeTerms) else [None]:
            row += 1
            yield Rule(row, component.name, part, leaf)


def letter(column: int) -> str:
    """Return a column's letters."""
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column))


def put(cell: Any, value: Cell | bool) -> None:
    """Fill a cell: a text stays a text whatever it begins with, a number keeps all its digits."""
    if value is None or isinstance(value, bool):
        cell.value = value
        return
    if isinstance(value, str):
        cell.value = ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", value)
        cell.data_type = "s"
        cell.quotePrefix = value[:1] in ("=", "+", "-", "@", "'")
        return
    cell.value = number_text(value)  # openpyxl itself writes 16 digits
    cell.data_type = "n"


def put_formula(cell: Any, formula: str, what: str) -> None:
    """Fill a cell with a formula."""
    cell.value = checked(formula, what)


def as_typed(given: Input, cell: Cell) -> Cell | bool:
    """Return a cell as a person would type it: booleans as such."""
    if isinstance(given, CategoryInput) and given.boolean and cell in given.levels:
        return truth_form(str(cell)) == "True"
    return cell


def kind_of(given: Input) -> str:
    """Say what an input's cells hold."""
    if isinstance(given, CategoryInput):
        return "true or false" if given.boolean else "text or number" if is_coded(given) else "text"
    return CODED if given.words else "number"


def is_coded(given: CategoryInput) -> bool:
    """Tell whether some level of a category is a number, or differs from its plain form."""
    forms = map(plain_form, given.levels)
    return any(
        level != form or DECIMAL.fullmatch(form)
        for level, form in zip(given.levels, forms, strict=True)
    )


def sides_of(node: Branch) -> tuple[Branch | int, Branch | int]:
    """Return what follows where the choice of a split in the form is taken, and where not."""
    return (node.no, node.yes) if node.split.missing_holds else (node.yes, node.no)


def shortened(text: str) -> str:
    """Return a text for people, cut if it is very long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


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
ENTRY = Look(fill=YELLOW)
RESULT = Look(bold=True, fill=PALE, format="0.0000")
SHARE = Look(bold=True, fill=PALE, format="0.00%")
CONTRIBUTION = Look(format=POINTS)
LABEL = Look(bold=True)
PLAIN = Look(wrap=True)


def head(sheet: Any, title: str, notes: list[str]) -> None:
    """Write the title and notes at the top of a sheet."""
    for row, (text, look) in enumerate([(title, TITLE), *((note, NOTE) for note in notes)], 1):
        put(sheet.cell(row, 1), text)
        look.on(sheet.cell(row, 1))
    sheet.row_dimensions[1].height = 26
    sheet.sheet_view.showGridLines = False


def headers(sheet: Any, row: int, names: list[str], widths: list[int]) -> None:
    """Write the names of a table's columns."""
    for column, (name, wide) in enumerate(zip(names, widths, strict=True), 1):
        put(sheet.cell(row, column), name)
        HEADER.on(sheet.cell(row, column))
        sheet.column_dimensions[letter(column)].width = wide
    sheet.row_dimensions[row].height = 32


def coloured(sheet: Any, cells: str) -> None:
    """Show points that raise the score in red and those that lower it in green."""
    from openpyxl.formatting.rule import FormulaRule
    from openpyxl.styles import Font

    first = cells.partition(":")[0]
    for sign, colour in ((">", RAISES), ("<", LOWERS)):
        rule = FormulaRule([f"IF(ISNUMBER({first}),{first}{sign}0,FALSE)"], font=Font(color=colour))
        sheet.conditional_formatting.add(cells, rule)


def printed(sheet: Any, head_row: int) -> None:
    """Set up a sheet for paper: across the page, headers on every page."""
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.paperSize = sheet.PAPERSIZE_A4
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.print_title_rows = f"1:{head_row}"
