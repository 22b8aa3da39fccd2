"""The sheets beside the cases: what the workbook is, the rules, one case explained, the lists."""

from collections.abc import Iterator, Mapping
from typing import Any

from rpte.export.excel import looks
from rpte.export.excel.formulas import FIRST_LISTED, Formulas, Lists
from rpte.export.excel.layout import FIRST_RULE, RULES, Layout, Rule
from rpte.export.excel.looks import Look, put, put_formula, shortened
from rpte.export.form import Form, Line, Node, Operation, plain
from rpte.export.inputs import CategoryInput
from rpte.export.language import find_template
from rpte.export.lower import ZERO
from rpte.model.parts import DirectTerm, TreeTerms, path_text

CHOSEN = "$B$3"  # on the sheet Explain: the number of the case
# What a score stands for, by link.
INVERSES = {
    "logit": "1 / (1 + exp(-score))",
    "log": "exp(score), of a score beyond 700 that of 700",
    "identity": "the score",
    "softmax": "exp(score - largest), 0 below exp(-700), as a share of the sum of these",
}
OBSERVED = {
    "probability": ("share positive", "0.0%"),
    "mean": ("observed mean", "General"),
    "hazard_ratio": ("share with event", "0.0%"),
}
SMALL, SCIENTIFIC = 1e-3, "+0.000E+00;-0.000E+00"


def about_sheet(sheet: Any, form: Form) -> None:
    """Say what the workbook is and how it is used."""
    titles, parts = form.titles(), sum(1 for _ in form.structure.parts())
    counts = {"variables": len(form.inputs), "components": len(form.structure.components)}
    inverse = INVERSES[form.model.loss.link]
    words = {"said": plain(form.role("score")[0].text), "inverse": inverse}
    words |= {"name": form.response.name.replace("_", " ")}
    told = find_template("excel", "about.txt.j2").render(
        **titles,
        **words,
        **counts,
        parts=parts,
        classes=len(form.classes),
        horizons=len(form.horizons),
    )
    looks.head(sheet, titles["title"], [])
    for row, line in enumerate(told.splitlines(), 3):
        name, _, text = line.partition(": ")
        put(sheet.cell(row, 1), name, looks.LABEL if text else Look(bold=True, size=13))
        put(sheet.cell(row, 2), text or None, looks.PLAIN)
        sheet.row_dimensions[row].height = 16 * (1 + len(text) // 95) + (0 if text else 8)
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 22, 100
    looks.printed(sheet, 1)


def rules_sheet(sheet: Any, layout: Layout) -> None:
    """Write every rule with its points."""
    form = layout.form
    notes = [
        f"Points are {form.titles()['points']} "
        "Of a tree (T1.L1, T1.L2, ...) exactly one line applies."
    ]
    looks.head(sheet, RULES, notes)
    names = ["component", "rule", "variables", "when", "points", "times (value minus)",
             "training weight", OBSERVED[form.response.name][0]]  # fmt: skip
    looks.headers(sheet, FIRST_RULE - 1, names, [12, 10, 26, 70, 14, 14, 14, 12])
    _rule_row(sheet, FIRST_RULE, ["", "intercept", "", "every case", form.structure.intercept])
    for rule in layout.rules.values():
        _rule_row(sheet, rule.row, _described(rule, form), OBSERVED[form.response.name][1])
    looks.coloured(sheet, f"E{FIRST_RULE}:E{FIRST_RULE + len(layout.rules)}")
    sheet.freeze_panes = sheet.cell(FIRST_RULE, 1)
    looks.printed(sheet, FIRST_RULE - 1)


def _described(rule: Rule, form: Form) -> list[Any]:
    part = rule.part
    sources = shortened(", ".join(part.sources))
    if isinstance(part, TreeTerms):
        _, path, leaf = list(part.rules())[rule.leaf or 0]
        when = shortened(path_text(path, form.model.schema)) or "every case"
        told = [when, leaf.coefficient, None, leaf.support, _share(leaf.events, leaf.support)]
    else:
        centre = None if part.column.binary else part.centre
        share = _share(part.events, part.support)
        told = [shortened(part.text), part.coefficient, centre, part.support, share]
    return [rule.component, rule.name, sources, *told]


def _share(events: float, support: float) -> float | None:
    return events / support if support else None


def _rule_row(sheet: Any, row: int, cells: list[Any], observed: str = "") -> None:
    formats = [Look(format=name) for name in ("General", "#,##0", observed)]
    texts = [looks.PLAIN, looks.LABEL, looks.PLAIN, looks.PLAIN]
    styles = [*texts, looks.CONTRIBUTION, *formats]
    for column, (value, look) in enumerate(zip(cells, styles, strict=False), 1):
        put(sheet.cell(row, column), value, look)
    if 0 < abs(cells[4]) < SMALL:
        Look(format=SCIENTIFIC).on(sheet.cell(row, 5))
    tall = max(len(str(cells[3])) // 65, len(str(cells[2])) // 26)
    sheet.row_dimensions[row].height = 16 * (1 + tall)


def lists_sheet(sheet: Any, lists: Lists) -> None:
    """Write the levels and the long numbers that formulas refer to."""
    looks.head(sheet, "Lists", ["Formulas refer to these cells."])
    looks.headers(sheet, FIRST_LISTED - 1, ["for", "text", "number"], [34, 50, 26])
    for row, (use, text, number) in enumerate(lists.rows, FIRST_LISTED):
        # An empty cell would be equal to 0.
        for column, value in enumerate((use, text, "no number" if number is None else number), 1):
            put(sheet.cell(row, column), value)
    sheet.freeze_panes = sheet.cell(FIRST_LISTED, 1)
    looks.printed(sheet, FIRST_LISTED - 1)


def explain_sheet(sheet: Any, layout: Layout, lists: Lists) -> None:
    """Write the sheet that takes one case apart."""
    looks.head(sheet, "One case, rule by rule", ["Type the number of a case from the sheet Cases."])
    styles = {"status": Look(centre=True)}
    styles |= {line.name: looks.RESULTS[line.role] for line in layout.results}
    choose_case(sheet, layout, styles, {})
    row = put_values(sheet, layout) + 2
    names = ["component", "rule", "when", "holds", "points", "component adds"]
    looks.headers(sheet, row, names, [26, 18, 70, 10, 14, 14])
    writer = Formulas(layout.form, value_cells(layout), {}, lists)
    holds = {k: v for name, node in layout.values.items() for k, v in held(writer, name, node)}
    first = row + 1
    _explained(sheet, first, ["", "intercept", "every case", '"yes"', f"{RULES}!$E${FIRST_RULE}"])
    for rule in layout.rules.values():
        row = first + rule.row - FIRST_RULE
        told = _described(rule, layout.form)
        truth = f'IF({holds[rule.name]},"yes","no")'
        points = f'IF($D{row}="yes",{rule.points},0)'
        if isinstance(rule.part, DirectTerm):
            points = of_case(layout, layout.lines[rule.part.name])
        _explained(sheet, row, [rule.component, rule.name, told[3], truth, points])
    _subtotals(sheet, layout, first)
    looks.coloured(sheet, f"E{first}:F{first + len(layout.rules)}")
    _sum_up(sheet, first, first + len(layout.rules))
    sheet.freeze_panes = sheet.cell(layout.first_value - 1, 1)
    looks.printed(sheet, 3)


def of_case(layout: Layout, column: int) -> str:
    """Return a column of the sheet Cases for the case that is chosen."""
    return f"INDEX({layout.range(column)},{CHOSEN})"


READY = '$B$4="ok"'


def choose_case(
    sheet: Any, layout: Layout, styles: Mapping[str, Look], called: Mapping[str, str]
) -> None:
    """Write the cell to type in, and below what the case comes to, each in its style.

    `called` are other names than those of the lines.
    """
    from openpyxl.worksheet.datavalidation import DataValidation

    chosen = Look(bold=True, size=14, fill=looks.YELLOW, format="0", centre=True)
    put(sheet["A3"], "case number", looks.LABEL)
    put(sheet["B3"], 1.0, chosen)
    rule = DataValidation("whole", formula1="1", formula2=str(layout.rows))
    rule.error = f"a whole number from 1 to {layout.rows}"
    sheet.add_data_validation(rule)
    rule.add("B3")
    put_formula(sheet["C3"], of_case(layout, 2), "the name", looks.NOTE)
    columns = {"status": layout.status, **layout.lines}
    for row, (name, look) in enumerate(styles.items(), 4):
        put(sheet.cell(row, 1), called.get(name, name), looks.LABEL)
        found = of_case(layout, columns[name])
        put_formula(sheet.cell(row, 2), f'IF(LEN({found})=0,"no such case",{found})', name, look)


def value_cells(layout: Layout) -> dict[str, str]:
    """Return the cells of the sheet Explain that hold the inputs, by name."""
    return {name: f"$B${layout.first_value + i}" for i, name in enumerate(layout.inputs)}


def put_values(sheet: Any, layout: Layout) -> int:
    """Write the case's inputs, an empty text where missing; return the last row."""
    looks.headers(sheet, layout.first_value - 1, ["variable", "value"], [26, 18])
    for given, cell in zip(layout.form.inputs, value_cells(layout).values(), strict=True):
        place = sheet[cell.replace("$", "")]
        found = of_case(layout, layout.inputs[given.name])
        value = found
        if isinstance(given, CategoryInput) and given.boolean:
            value = f'IF(ISLOGICAL({found}),IF({found},"True","False"),{found})'
        put(sheet.cell(place.row, 1), shortened(given.name))
        put_formula(place, f'IF(LEN({found})=0,"",{value})', given.name, Look(centre=True))
        missing = f'IF(LEN({cell})=0,"missing","")'
        put_formula(sheet.cell(place.row, 3), missing, given.name, looks.NOTE)
    return layout.first_value + len(layout.inputs) - 1


def held(writer: Formulas, name: str, node: Node, *path: str) -> Iterator[tuple[str, str]]:
    """Yield each rule of a tree or a direct term, and the formula that tells whether it holds."""
    match node:
        case Operation(_, (condition, yes, no)) if no == ZERO:  # a direct term
            yield name, writer.node(condition)
        case Operation(_, (condition, yes, no)):
            test = writer.node(condition)
            yield from held(writer, name, yes, *path, test)
            yield from held(writer, name, no, *path, f"NOT({test})")
        case Line(leaf):
            yield leaf, path[0] if len(path) == 1 else f"AND({','.join(path) or 'TRUE'})"


def put_if_ready(cell: Any, formula: str, what: str, look: Look) -> None:
    """Fill a cell with a formula that is empty unless the case has a score."""
    put_formula(cell, f'IF({READY},{formula},"")', what, look)


def _explained(sheet: Any, row: int, cells: list[str]) -> None:
    for column, text in enumerate(cells[:3], 1):
        put(sheet.cell(row, column), text or None, looks.PLAIN)
    styles = (Look(centre=True), Look(bold=True, format=looks.POINTS))
    for column, (text, look) in enumerate(zip(cells[3:], styles, strict=True), 4):
        put_if_ready(sheet.cell(row, column), text, cells[1], look)
    sheet.row_dimensions[row].height = 16 * (1 + len(cells[2]) // 65)
    looks.mark(sheet, f"A{row}:E{row}", f'$D{row}="no"', looks.GREY)


def _subtotals(sheet: Any, layout: Layout, first: int) -> None:
    rows: dict[str, int] = {}
    for rule in layout.rules.values():
        rows.setdefault(rule.component, first + rule.row - FIRST_RULE)
    for name, row in rows.items():
        found = of_case(layout, layout.lines[name])
        put_if_ready(sheet.cell(row, 6), found, name, looks.CONTRIBUTION)


def _sum_up(sheet: Any, first: int, last: int) -> None:
    """Write the sum of the points below them: the score again."""
    row, points = last + 1, f"$E${first}:$E${last}"
    put(sheet.cell(row, 3), "the sum of the points: the score", looks.LABEL)
    put_if_ready(sheet.cell(row, 5), f"SUM({points})", "the sum", looks.RESULT)
    agrees = f'IF(ABS($E{row}-$B$5)<=1E-9*(1+ABS($B$5)),"agrees","differs")'
    put_if_ready(sheet.cell(row, 4), agrees, "the sum", looks.CENTRED)
