"""The sheet with one row per case: inputs to fill in, and what the model makes of them."""

from typing import Any

from rpte.errors import InputError
from rpte.export.cells import Cells
from rpte.export.classes import CHOSEN
from rpte.export.excel import looks
from rpte.export.excel.formulas import ROW, Formulas, Lists, any_of
from rpte.export.excel.layout import (
    CODED,
    FIRST,
    FIRST_RULE,
    HEAD,
    KINDS,
    RULES,
    Layout,
    as_typed,
    kind_of,
    letter,
    points_cell,
)
from rpte.export.excel.looks import put, put_formula
from rpte.export.form import Constant, Definition, Line, Node, Operation
from rpte.export.inputs import CategoryInput, Input
from rpte.export.language import bare
from rpte.model.parts import DirectTerm

MOST_COLUMNS, MOST_SHARED = 16384, 1024
OK = "ok"
NOTES = [
    "Type or paste cases into the yellow columns; leave a cell empty where the value is missing. "
    "A case needs at least one cell or a name.",
    "Red cells are no numbers: the case is not scored. Amber cells are levels that the model does "
    "not know by name.",
]


class Columns:
    """The formulas of a case by column; long parts of them get columns of their own."""

    def __init__(self, layout: Layout, lists: Lists) -> None:
        self.layout = layout
        self.extra: list[tuple[str, str]] = []
        self.line = ""  # whose formula is being written
        cells = {name: f"${letter(c)}{ROW}" for name, c in layout.inputs.items()}
        lines = {name: rule.points for name, rule in layout.rules.items()}
        lines |= {name: f"${letter(c)}{ROW}" for name, c in layout.lines.items()}
        self.writer = Formulas(layout.form, cells, lines, lists, self._spill)
        self.parts = {part.name: part for _, part in layout.form.structure.parts()}

    def _spill(self, formula: str) -> str:
        self.extra.append((f"part of {self.line}", formula))
        return f"${letter(self.layout.width + len(self.extra))}{ROW}"

    def formulas(self) -> dict[int, tuple[str, str]]:
        """Return what each computed column is called, and its formula."""
        layout = self.layout
        found = {layout.lines[v.name]: (v.name, self._formula(v)) for v in layout.form.lines}
        found |= {layout.width + i: extra for i, extra in enumerate(self.extra, 1)}
        # Of several classes, what stands last is needed for all: LibreOffice may have 1024 columns.
        most = MOST_SHARED if layout.form.classes else MOST_COLUMNS
        if max(found) > most:
            raise InputError(
                f"the model needs {max(found)} columns; a sheet has {most}: choose another "
                "target, or fit a smaller model"
            )
        ready = f'${letter(layout.status)}{ROW}="{OK}"'
        scored = {c: (name, f'IF({ready},{text},"")') for c, (name, text) in found.items()}
        return {layout.status: ("status", self._status()), **scored}

    def _formula(self, line: Definition) -> str:
        part, self.line = self.parts.get(line.name), line.name
        if self.layout.form.classes:
            return self._of_class(line)
        value = self.layout.values.get(line.name, line.value)
        if isinstance(part, DirectTerm):
            return self._direct(part, value)
        if line.role == "score" and isinstance(value, Operation):
            return self.writer.total(value.parts[1:], points_cell(FIRST_RULE))
        return bare(self.writer.node(value))

    def _of_class(self, line: Definition) -> str:
        """Return the formula of a line of several classes; labels and points stand in Rules."""
        rules, cells, place = self.layout.rules, self.writer.lines, line.place or 0
        match line.role, line.value:
            case "class", _:
                scores = [cells[score.name] for score in self.layout.form.role("score")]
                labels = [points_cell(FIRST_RULE - 1, k) for k in range(len(scores))]
                text = labels[-1]
                for score, label in reversed(list(zip(scores[:-1], labels[:-1], strict=True))):
                    text = f"IF(GESTEP({score},{cells['largest']})=1,{label},{text})"
                return text
            case "term", Operation(_, (_, Line(column))):
                return f"{points_cell(rules[column].row, place)}*{cells[column]}"
            case "term", Operation("if", (Operation(_, (Line(tree), _)), *_)):
                rows = [rule.row for rule in rules.values() if rule.part.name == tree]
                last = points_cell(rows[-1], place).partition("!")[2]
                # A dash in the place of a zero is a text, of which N is 0.
                return f"N(INDEX({points_cell(rows[0], place)}:{last},{cells[tree]}+1))"
            case "score", Operation(_, (_, *parts)):
                return self.writer.total(parts, points_cell(FIRST_RULE, place))
        return bare(self.writer.node(line.value))

    def _direct(self, part: DirectTerm, value: Node) -> str:
        assert isinstance(value, Operation)
        rule = self.layout.rules[part.name]
        weight = rule.points
        tests = self.writer.tests(value.parts[0])
        inside = self.writer.within(tests)
        match value.parts[1]:
            case Operation("*", (_, Operation("-", (number, Constant())))) if part.centre != 0:
                weight = f"{weight}*({inside.node(number)}-{RULES}!$F${rule.row})"
            case Operation("*", (_, number)):
                weight = f"{weight}*{inside.node(number)}"
        return self.writer.chosen(tests, weight, "0")

    def _status(self) -> str:
        """Return the formula that tells empty rows, and rows with a cell that is no number."""
        layout = self.layout
        first, last = letter(2), letter(layout.status - 1)
        across = f"${first}{ROW}:${last}{ROW}"
        kinds = f'${first}${KINDS}:${last}${KINDS}="number"'
        bad = f"SUMPRODUCT(({kinds})*(1-ISNUMBER({across}))*(LEN({across})>0))"
        coded = [given for given in layout.form.inputs if kind_of(given) == CODED]
        bad = "+".join([bad, *(f"IF({self.unreadable(given)},1,0)" for given in coded)])
        told = f'IF({bad}=0,"{OK}","a cell is no number")'
        odd = self._odd(across, kinds)
        told = f'IF({odd}=0,{told},"a level is spelled in another way")' if odd else told
        return f'IF(COUNTA({across})=0,"",{told})'

    def _odd(self, across: str, kinds: str) -> str:
        """Return how many cells may be levels in another spelling; empty if none can be."""
        inputs = [g for g in self.layout.form.inputs if isinstance(g, CategoryInput)]
        special = [g for g in inputs if kind_of(g) != "text"]
        asked = [g for g in special if g.closed or not g.boolean]
        texts = kinds.replace("number", "text")
        blanks = f'(LEFT({across})=" ")+(RIGHT({across})=" ")>0'
        parts = [f"SUMPRODUCT(({texts})*({blanks}))"] if len(special) < len(inputs) else []
        parts += [f"IF({self.writer.doubtful(g)},1,0)" for g in asked]
        return "+".join(parts)

    def unreadable(self, given: Input) -> str:
        """Return the test for a cell that is neither empty, a number, nor a special code."""
        cell = self.writer.names[given.name]
        codes = [self.writer.is_code(cell, code) for code in given.words]
        return f"NOT({any_of([f'LEN({cell})=0', f'ISNUMBER({cell})', *codes])})"


def cases_sheet(sheet: Any, layout: Layout, lists: Lists, cells: Cells | None) -> None:
    """Write the sheet."""
    looks.head(sheet, "Cases", NOTES)
    columns = Columns(layout, lists)
    formulas = columns.formulas()
    _names(sheet, layout, {c: name for c, (name, _) in formulas.items()})
    styles = {layout.lines[line.name]: looks.RESULTS[line.role] for line in layout.results}
    styles[layout.status] = looks.CENTRED
    for i in range(layout.rows):
        row = FIRST + i
        put(sheet.cell(row, 1), i + 1, looks.CENTRED)
        for column in range(2, layout.status):
            looks.ENTRY.on(sheet.cell(row, column))
        for column, (name, text) in formulas.items():
            formula, look = text.replace(ROW, str(row)), styles.get(column, looks.CONTRIBUTION)
            put_formula(sheet.cell(row, column), formula, name, look)
    if cells is not None:
        fill(sheet, layout, cells)
    _mark(sheet, layout, columns, lists)
    if layout.rules:
        first, last = letter(layout.status + len(layout.results) + 1), letter(max(formulas))
        looks.coloured(sheet, f"{first}{FIRST}:{last}{layout.last}")
    sheet.freeze_panes = sheet.cell(FIRST, 3)
    sheet.print_area = f"A1:{letter(layout.terms - 1)}{layout.last}"
    looks.printed(sheet, HEAD)


def fill(sheet: Any, layout: Layout, cells: Cells) -> None:
    """Write cases into the sheet, the first at the top; other rows become empty."""
    for i in range(layout.rows):
        inside = i < cells.n_rows
        put(sheet.cell(FIRST + i, 2), f"row {i + 1}" if inside else None)
        for given in layout.form.inputs:
            cell = as_typed(given, cells.columns[given.name][i]) if inside else None
            put(sheet.cell(FIRST + i, layout.inputs[given.name]), cell)


def _names(sheet: Any, layout: Layout, computed: dict[int, str]) -> None:
    """Write the names of the columns, above them what they hold."""
    said = {1: "case", 2: "name", **computed}
    if layout.form.classes:
        said[layout.lines[CHOSEN]] = "class"
    kinds = {layout.lines[line.name]: line.text for line in layout.form.lines}
    for given in layout.form.inputs:
        said[layout.inputs[given.name]] = given.name
        kinds[layout.inputs[given.name]] = kind_of(given)
    for column, name in said.items():
        inputs = 1 < column < layout.status
        put(sheet.cell(HEAD, column), name, looks.INPUT_HEADER if inputs else looks.HEADER)
        kind = kinds.get(column, "")[:60].replace("\0", " ")  # which no workbook can hold
        put(sheet.cell(KINDS, column), kind or None, looks.KIND)
        wide = 7 if column == 1 else min(26, max(12, len(name) + 2))
        sheet.column_dimensions[letter(column)].width = wide
    sheet.row_dimensions[HEAD].height = 32
    sheet.row_dimensions[KINDS].height = 36
    for column in range(layout.terms, max(said) + 1):
        sheet.column_dimensions[letter(column)].outlineLevel = 1


def _mark(sheet: Any, layout: Layout, columns: Columns, lists: Lists) -> None:
    """Colour cells that are no numbers or no known levels, and offer the levels to choose from."""
    from openpyxl.worksheet.datavalidation import DataValidation

    for given in layout.form.inputs:
        column = letter(layout.inputs[given.name])
        where = f"{column}{FIRST}:{column}{layout.last}"
        cell, colour = columns.writer.names[given.name], looks.RED
        test = columns.unreadable(given)
        if isinstance(given, CategoryInput):
            if not given.levels:
                continue
            levels, _ = lists.texts(given.name, given.levels)
            test, colour = f"AND(LEN({cell})>0,SUMPRODUCT(--EXACT({cell},{levels}))=0)", looks.AMBER
            if given.boolean:
                truths = [columns.writer.is_truth(cell, truth) for truth in ("True", "False")]
                test = f"AND(LEN({cell})>0,NOT({any_of(truths)}))"
            offer = DataValidation("list", levels, allow_blank=True, showErrorMessage=False)
            sheet.add_data_validation(offer)
            offer.add(where)
        looks.mark(sheet, where, test.replace(ROW, str(FIRST)), colour, fill=True)
