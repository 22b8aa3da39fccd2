"""Where everything stands in a workbook."""

from collections.abc import Iterator
from dataclasses import dataclass

from rpte.export.cells import Cell
from rpte.export.form import Form, Line
from rpte.export.inputs import CategoryInput, Input
from rpte.export.lower import tree_node
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.table.spelling import DECIMAL, plain_form, truth_form

CASES, RULES, EXPLAIN, ABOUT = "Cases", "Rules", "Explain", "Read me"
HEAD, FIRST = 5, 6  # rows of the sheet Cases: names of columns, and the first case
KINDS = HEAD - 1
FIRST_RULE = 5  # row of the sheet Rules that has the intercept
POINTS = 5  # column of the sheet Rules that has the points, of several classes of the first
FIRST_VALUE = 9  # row of the sheet Explain, of a model with two results
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

    @property
    def points(self) -> str:
        """The cell of the rule's coefficient."""
        return points_cell(self.row)


class Layout:
    """The columns of the sheet Cases, with `rows` for cases, and the rows of the sheet Rules."""

    def __init__(self, form: Form, rows: int) -> None:
        self.form, self.rows = form, rows
        self.last = FIRST + rows - 1
        order = [*form.role("component"), *form.role("term")]
        order += form.role("column", "largest", "odds", "total")
        self.results = [*form.role("class"), *form.role("probability"), *form.role("score")]
        if not form.classes:
            self.results = list(form.results)
        # row of the sheet Explain that has the first variable, below the results of the case
        self.first_value = FIRST_VALUE + (0 if form.classes else len(form.horizons))
        results = [line.name for line in (*self.results, *order)]
        self.inputs = {given.name: 3 + i for i, given in enumerate(form.inputs)}
        self.status = 3 + len(form.inputs)
        self.lines = {name: self.status + 1 + i for i, name in enumerate(results)}
        shown = len(self.results) + len(form.role("component"))
        self.terms = self.status + 1 + shown  # where their columns begin
        self.width = self.status + len(results)
        self.rules = {rule.name: rule for rule in _rules(form)}
        read = form.role("column" if form.classes else "term")
        self.values = {line.name: line.value for line in read}
        for _, tree in form.structure.parts():  # a leaf is a line: it has a cell of its own
            if isinstance(tree, TreeTerms):
                leaves = [Line(tree.leaf_name(i)) for i in range(len(tree.leaves))]
                self.values[tree.name] = tree_node(tree.tree.root, leaves, form.model.schema)

    def range(self, column: int) -> str:
        """Return all cases of one column, for use on another sheet."""
        return f"{CASES}!${letter(column)}${FIRST}:${letter(column)}${self.last}"


def _rules(form: Form) -> Iterator[Rule]:
    row = FIRST_RULE
    for component, part in form.structure.parts():
        for leaf in range(len(part.leaves)) if isinstance(part, TreeTerms) else [None]:
            row += 1
            yield Rule(row, component.name, part, leaf)


def points_cell(row: int, place: int = 0) -> str:
    """Return the cell of a coefficient, of the intercept or of a label, of one class of several."""
    return f"{RULES}!${letter(POINTS + place)}${row}"


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
    if not isinstance(given, CategoryInput):
        return CODED if given.words else "number"
    if given.boolean:
        return "true or false"
    forms = zip(given.levels, map(plain_form, given.levels), strict=True)
    special = any(level != form or DECIMAL.fullmatch(form) for level, form in forms)
    return "text or number" if special else "text"
