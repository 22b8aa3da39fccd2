"""The rules and the explanation of a case, of several classes: points in a column for each."""

from typing import Any

from rpte.export.classes import CHOSEN
from rpte.export.excel import looks
from rpte.export.excel.formulas import Formulas, Lists
from rpte.export.excel.layout import FIRST_RULE, POINTS, RULES, Layout, Rule, letter, points_cell
from rpte.export.excel.looks import Look, put, shortened
from rpte.export.excel.sheets import (
    choose_case,
    held,
    of_case,
    put_if_ready,
    put_values,
    value_cells,
)
from rpte.export.form import Definition, Form
from rpte.model.parts import DirectTerm, path_text

FIRST_POINTS = 5  # column of the sheet Explain
DASH = Look(colour=looks.GREY, centre=True)


def class_rules_sheet(sheet: Any, layout: Layout) -> None:
    """Write every rule with its points for each class; a dash where it says nothing of one."""
    form = layout.form
    looks.head(sheet, RULES, [f"Points are {form.titles()['points']}"])
    labels, terms = form.classes, _coefficients(layout)
    names = ["component", "rule", "variables", "when", *labels, "times (value minus)",
             "training weight"]  # fmt: skip
    looks.headers(sheet, FIRST_RULE - 1, names, [12, 10, 26, 70, *([14] * len(labels)), 14, 14])
    _write_row(sheet, FIRST_RULE, ["", "intercept", "", "every case"], terms["intercept"], [])
    for rule in layout.rules.values():
        when, centre, support = _told(rule, form)
        said = [rule.component, rule.name, shortened(", ".join(rule.part.sources)), when]
        _write_row(sheet, rule.row, said, terms[rule.name], [centre, support])
    last = letter(POINTS + len(labels) - 1)
    looks.coloured(sheet, f"E{FIRST_RULE}:{last}{FIRST_RULE + len(layout.rules)}")
    sheet.freeze_panes = sheet.cell(FIRST_RULE, POINTS)
    looks.printed(sheet, FIRST_RULE - 1)


def _told(rule: Rule, form: Form) -> tuple[str, float | None, float]:
    """Return when a rule holds, what its number is counted from, and its training weight."""
    part = rule.part
    if isinstance(part, DirectTerm):
        centre = None if part.column.binary else part.centre
        return shortened(part.text), centre, part.support
    _, path, leaf = list(part.rules())[rule.leaf or 0]
    return shortened(path_text(path, form.model.schema)), None, leaf.support


def _coefficients(layout: Layout) -> dict[str, list[float]]:
    """Return the coefficients of each rule, and the intercepts, in the order of the classes."""
    from rpte.model.classes import ClassesModel

    model = layout.form.model
    assert isinstance(model, ClassesModel)
    found = {term.name: list(term.coefficients) for _, term in model.terms()}
    return {"intercept": list(model.intercepts), **found}


def _write_row(sheet: Any, row: int, said: list[str], points: list[float], more: list[Any]) -> None:
    styles = [looks.PLAIN, looks.LABEL, looks.PLAIN, looks.PLAIN]
    for column, (text, look) in enumerate(zip(said, styles, strict=True), 1):
        put(sheet.cell(row, column), text or None, look)
    for column, value in enumerate(points, POINTS):
        zero = value == 0.0 and said[0] != ""
        put(sheet.cell(row, column), "-" if zero else value, DASH if zero else looks.CONTRIBUTION)
    formats = (Look(format="General"), Look(format="#,##0"))
    for column, (value, look) in enumerate(zip(more, formats, strict=False), POINTS + len(points)):
        put(sheet.cell(row, column), value, look)
    sheet.row_dimensions[row].height = 16 * (1 + max(len(said[3]) // 65, len(said[2]) // 26))


def class_explain_sheet(sheet: Any, layout: Layout, lists: Lists) -> None:
    """Write the sheet that takes the scores of one case apart."""
    looks.head(sheet, "One case, rule by rule", ["Type the number of a case from the sheet Cases."])
    styles = {"status": Look(centre=True), CHOSEN: looks.LABELLED}
    choose_case(sheet, layout, styles, {CHOSEN: "class"})
    row, labels = put_values(sheet, layout) + 2, layout.form.classes
    names = ["component", "rule", "when", "holds", *labels]
    looks.headers(sheet, row, names, [26, 18, 70, 10, *([14] * len(labels))])
    writer = Formulas(layout.form, value_cells(layout), {}, lists)
    holds = {k: v for name, node in layout.values.items() for k, v in held(writer, name, node)}
    first, terms = row + 1, _coefficients(layout)
    _explained(sheet, first, ["", "intercept", "every case"], '"yes"', [
        points_cell(FIRST_RULE, place) for place in range(len(labels))
    ])  # fmt: skip
    for rule in layout.rules.values():
        row = first + rule.row - FIRST_RULE
        said = [rule.component, rule.name, _told(rule, layout.form)[0]]
        if isinstance(rule.part, DirectTerm):
            points = [
                of_case(layout, layout.lines[line.name]) if line else ""
                for line in _terms(layout, rule.name, terms[rule.name])
            ]
        else:
            points = [
                f'IF($D{row}="yes",{points_cell(rule.row, place)},0)' if size else ""
                for place, size in enumerate(terms[rule.name])
            ]
        _explained(sheet, row, said, f'IF({holds[rule.name]},"yes","no")', points)
    last = first + len(layout.rules)
    looks.coloured(sheet, f"E{first}:{letter(FIRST_POINTS + len(labels) - 1)}{last}")
    _sums(sheet, layout, first, last)
    sheet.freeze_panes = sheet.cell(layout.first_value - 1, 1)
    looks.printed(sheet, 3)


def _terms(layout: Layout, name: str, coefficients: list[float]) -> list[Definition | None]:
    """Return the line of a term in each class, None where it says nothing of one."""
    known = {(line.place, line.name.partition("_")[0]): line for line in layout.form.role("term")}
    return [known.get((place, name)) for place in range(len(coefficients))]


def _explained(sheet: Any, row: int, said: list[str], holds: str, points: list[str]) -> None:
    for column, text in enumerate(said, 1):
        put(sheet.cell(row, column), text or None, looks.PLAIN)
    put_if_ready(sheet.cell(row, 4), holds, said[1], Look(centre=True))
    for column, text in enumerate(points, FIRST_POINTS):
        if text:
            look = Look(bold=True, format=looks.POINTS)
            put_if_ready(sheet.cell(row, column), text, said[1], look)
        else:
            put(sheet.cell(row, column), "-", DASH)
    sheet.row_dimensions[row].height = 16 * (1 + len(said[2]) // 65)
    looks.mark(sheet, f"A{row}:{letter(FIRST_POINTS + len(points) - 1)}{row}", f'$D{row}="no"',
               looks.GREY)  # fmt: skip


def _sums(sheet: Any, layout: Layout, first: int, last: int) -> None:
    """Write below the points their sums, which are the scores, and the probabilities."""
    form, row = layout.form, last + 1
    put(sheet.cell(row, 3), "the sum of the points: the score", looks.LABEL)
    put(sheet.cell(row + 1, 3), "probability", looks.LABEL)
    scores, probabilities = form.role("score"), form.role("probability")
    pairs = list(zip(scores, probabilities, strict=True))
    agree = []
    for column, (score, probability) in enumerate(pairs, FIRST_POINTS):
        name = letter(column)
        total = f"SUM(${name}${first}:${name}${last})"
        put_if_ready(sheet.cell(row, column), total, "the sum", looks.RESULT)
        found = of_case(layout, layout.lines[score.name])
        agree.append(f"(ABS(${name}${row}-{found})<=1E-9*(1+ABS({found})))")
        told = of_case(layout, layout.lines[probability.name])
        put_if_ready(sheet.cell(row + 1, column), told, "the probability", looks.SHARE)
    # A formula holds some thousand characters; many classes are compared in several cells.
    for place in range(0, len(agree), 20):
        some = "*".join(agree[place : place + 20])
        cell = sheet.cell(row + 2, FIRST_POINTS + place)
        put_if_ready(cell, f'IF({some}=1,"agrees","differs")', "the sum", looks.CENTRED)
    put(sheet.cell(row + 2, 3), "the scores of the sheet Cases", looks.NOTE)
