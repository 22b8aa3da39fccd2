"""Where everything stands in a workbook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rpte.export.cells import Cell
from rpte.export.form import Form
from rpte.export.inputs import CategoryInput, Input
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.tree import Branch
from rpte.table.spelling import DECIMAL, plain_form, truth_form

CASES, RULES, EXPLAIN, ABOUT = "Cases", "Rules", "Explain", "Read me"
HEAD, FIRST = 5, 6  # rows of the sheet Cases: names of columns, and the first case
KINDS = HEAD - 1
FIRST_RULE = 5  # row of the sheet Rules that has the intercept
CODED = "number or code"


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
