"""What a form computes as formulas that Excel and LibreOffice read alike.

Spreadsheets compare two numbers by their first 15 digits or so; GESTEP (is a at least b?) and DELTA
(is a equal to b?) compare all of them. A number in a formula has 15 digits too, and a text at most
255 characters; a longer one stands in a cell of the sheet Lists. AND evaluates all of its parts, so
a test that needs a number stands behind ``IF(ISNUMBER(...), ..., FALSE)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar

from rpte.export.form import Form, Node, OneOf, Operation, Present, Value, nodes
from rpte.export.inputs import CategoryInput, Code, NumberInput
from rpte.export.language import Language, bare
from rpte.table.column import level_text, parse_number
from rpte.table.decimals import number_text
from rpte.table.spelling import TRUTHS, plain_form

LONGEST_LITERAL = 255
LONG = 2000  # characters from which a part of a formula gets a cell of its own
FEW = 8  # levels that a formula lists itself
DIGITS = 15
ROW = "\0"  # stands for the row's number in a formula of a case
COMPARED = {
    ">=": "GESTEP({0},{1})=1",
    "<": "GESTEP({0},{1})=0",
    "<=": "GESTEP({1},{0})=1",
    ">": "GESTEP({1},{0})=0",
    "==": "DELTA({0},{1})=1",
}
LISTS = "Lists"
FIRST_LISTED = 4  # row of the sheet Lists


def width(text: str) -> int:
    """Return the length of a text as spreadsheets count it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def level_number(level: str) -> float | None:
    """Return the number whose cell is read as this level, None if there is none."""
    number = parse_number(level)
    return number if number is not None and level_text(number) == plain_form(level) else None


@dataclass(slots=True)
class Lists:
    """The sheet of texts and numbers that formulas refer to: rows of use, text and number."""

    rows: list[tuple[str, str | None, float | None]] = field(default_factory=list)
    placed: dict[tuple[str, tuple[Code, ...]], int] = field(default_factory=dict)

    def number(self, value: float) -> str:
        """Return a number for a formula: itself if 15 digits are enough, or its cell."""
        literal = number_text(value).upper()
        if float(f"{value:.{DIGITS}g}") == value:
            return literal
        row = self._place("a number in full", (value,))
        return f"{LISTS}!$C${row}"

    def texts(self, name: str, levels: tuple[str, ...]) -> tuple[str, str]:
        """Return the ranges that hold some levels of a variable: as texts, and as numbers."""
        first = self._place(name, levels)
        ranges = [f"{LISTS}!${c}${first}:${c}${first + len(levels) - 1}" for c in "BC"]
        return ranges[0], ranges[1]

    def _place(self, use: str, values: tuple[Code, ...]) -> int:
        if (use, values) not in self.placed:
            self.placed[use, values] = FIRST_LISTED + len(self.rows)
            for value in values:
                known = (value, level_number(value)) if isinstance(value, str) else (None, value)
                self.rows.append((use, *known))
        return self.placed[use, values]


class Formulas(Language):
    """How a workbook writes a form.

    `cells` and `lines` are the cells of inputs and lines by name; `spill` puts a long part of a
    formula elsewhere and returns its cell.
    """

    spelled: ClassVar = {"log": "LN({0})", "sqrt": "SQRT({0})", "exp": "EXP({0})",
                         "max": "MAX({0})"}  # fmt: skip

    def __init__(
        self,
        form: Form,
        cells: Mapping[str, str],
        lines: Mapping[str, str],
        lists: Lists,
        spill: Callable[[str], str] = str,
    ) -> None:
        self.form, self.lists, self.spill = form, lists, spill
        self.names, self.lines = dict(cells), lines
        self.known: frozenset[str] = frozenset()

    def within(self, known: Iterable[str]) -> Formulas:
        """Return the same for use where some conditions are known to hold."""
        other = copy(self)
        other.known = self.known | frozenset(known)
        return other

    def _line(self, name: str) -> str:
        return self.lines[name]

    def _constant(self, value: float) -> str:
        return self.lists.number(value)

    def node(self, node: Node) -> str:
        """Return an expression for a number, or for a condition that is never an error."""
        match node:
            case Operation("if", (condition, yes, no)):
                tests = self.tests(condition)
                return self.chosen(tests, self.within(tests).node(yes), self.node(no))
            case Operation("sum", parts):
                return f"({self.total(parts)})"
            case Operation("and" | "finite" | "<=" | "<" | ">" | ">=" | "==") | Present():
                return self.both(self.tests(node))
        return super().node(node)

    def chosen(self, tests: Iterable[str], yes: str, no: str) -> str:
        """Return one of two numbers, in a cell of its own if the text is long."""
        condition = self.both(tests)
        if condition == "TRUE":
            return yes
        text = f"IF({condition},{bare(yes)},{bare(no)})"
        return self.spill(text) if len(text) > LONG else text

    def total(self, parts: Iterable[Node], text: str = "") -> str:
        """Return a sum from left to right, after what stands there already."""
        for part in parts:
            text = f"{text}+{self.node(part)}" if text else self.node(part)
            text = self.spill(text) if len(text) > LONG else text
        return text

    def tests(self, node: Node) -> tuple[str, ...]:
        """Return the tests that a condition consists of, each safe where those before hold."""
        match node:
            case Operation("and", conditions):
                found: list[str] = []
                for part in conditions:
                    found += [t for t in self.within(found).tests(part) if t not in found]
                return tuple(found)
            case Present(name):
                return self._there([name])
            case Operation("finite", (product,)):  # an overflow is an error
                there = self._there(_read(product))
                return (*there, f"ISNUMBER({bare(self.within(there).node(product))})")
            case Operation(sign, sides):
                there = self._there(_read(*sides))
                texts = [bare(self.within(there).node(side)) for side in sides]
                return (*there, COMPARED[sign].format(*texts))
        return (super().node(node),)

    def both(self, tests: Iterable[str]) -> str:
        """Join tests; one that may fail is not evaluated unless those before hold."""
        *before, text = [test for test in tests if test not in self.known] or ["TRUE"]
        for test in reversed(before):
            text = f"IF({test},{text},FALSE)"
        return text

    def _there(self, names: Iterable[str]) -> tuple[str, ...]:
        found = []
        for name in names:
            given, cell = self.form.input(name), self.names[name]
            assert isinstance(given, NumberInput)
            found.append(f"ISNUMBER({cell})")
            found += [f"DELTA({cell},{self.lists.number(code)})=0" for code in given.numbers]
        return tuple(found)

    def _one_of(self, node: OneOf) -> str:
        given, cell = self.form.input(node.input), self.names[node.input]
        if isinstance(given, NumberInput):
            return any_of([self.is_code(cell, code) for code in node.levels])
        levels = tuple(map(str, node.levels))
        found = self._listed(node.input, levels)
        if found is None:
            found = any_of([self._is_level(cell, level, given) for level in levels])
        return found if node.inside else f"IF({self._missing(node.input)},FALSE,NOT({found}))"

    def _listed(self, name: str, levels: tuple[str, ...]) -> str | None:
        """Return the test of levels that stand on their sheet; None if the formula lists them."""
        if len(levels) <= FEW and all(map(literal, levels)):
            return None
        cell, (_, numbers) = self.names[name], self.lists.texts(name, levels)
        found = self._listed_texts(name, levels)
        if all(level_number(level) is None for level in levels):
            return found
        return f"IF(ISNUMBER({cell}),SUMPRODUCT(--({cell}={numbers}))>0,{found})"

    def _listed_texts(self, name: str, levels: tuple[str, ...]) -> str:
        texts, _ = self.lists.texts(name, levels)
        return f"SUMPRODUCT(--EXACT({self.names[name]},{texts}))>0"

    def is_code(self, cell: str, code: Code) -> str:
        """Return the test for one special code of a number."""
        if not isinstance(code, str):
            return f"IF(ISNUMBER({cell}),DELTA({cell},{self.lists.number(code)})=1,FALSE)"
        text = literal(code) or self.lists.texts("a special code", (code,))[0]
        return f"EXACT({cell},{text})"

    def _is_level(self, cell: str, level: str, given: CategoryInput) -> str:
        if given.boolean:
            return self.is_truth(cell, given.form(level))
        exact = f"EXACT({cell},{literal(level)})"
        number = level_number(level)
        if number is None or level in given.doubtful:
            return exact
        return f"IF(ISNUMBER({cell}),DELTA({cell},{self.lists.number(number)})=1,{exact})"

    def is_truth(self, cell: str, truth: str) -> str:
        """Return the test for a cell that is true, or for one that is false."""
        logical = cell if truth == "True" else f"NOT({cell})"
        digit = "1" if truth == "True" else "0"
        words = [word for word, meant in TRUTHS.items() if meant == truth] + [f"{digit}.0"]
        said = any_of([f'EXACT(LOWER(TRIM({cell})),"{word}")' for word in words])
        number = f"IF(ISNUMBER({cell}),{cell}={digit},{said})"
        return f"IF(LEN({cell})=0,FALSE,IF(ISLOGICAL({cell}),{logical},{number}))"

    def doubtful(self, given: CategoryInput) -> str:
        """Return the test for a cell that may be a level, or none, in another spelling."""
        cell = self.names[given.name]
        begins = f'ISNUMBER(FIND(LEFT(TRIM({cell})&"x"),"0123456789+-."))'
        if given.boolean:
            known = any_of([self.is_truth(cell, truth) for truth in ("True", "False")])
            return f"IF(OR(LEN({cell})=0,{known}),FALSE,{begins})" if given.closed else "FALSE"
        found = [f'LEFT({cell})=" "', f'RIGHT({cell})=" "']
        numbers = {level_number(plain_form(level)) for level in given.levels} - {None}
        if numbers:
            ends = f'OR(RIGHT({cell})="0",RIGHT({cell})=".")'
            found.append(f'AND(ISTEXT({cell}),{begins},ISNUMBER(FIND(".",{cell})),{ends})')
        strange = any_of(found)
        odd = [level for level in given.levels if plain_form(level) != level]
        if odd:  # only the letter tells them
            exact = self._listed_texts(given.name, tuple(odd))
            strange = f"AND(ISTEXT({cell}),{strange},NOT({exact}))"
        shared = {level_number(plain_form(level)) for level in given.doubtful} - {None}
        same = [f"{cell}={self.lists.number(number)}" for number in sorted(shared)]  # type: ignore[type-var, arg-type]
        return f"IF(ISNUMBER({cell}),{any_of(same)},{strange})"

    def _missing(self, name: str) -> str:
        """Return the test for an input without a value; an empty text is none."""
        return f"LEN({self.names[name]})=0"


def _read(*sides: Node) -> list[str]:
    found = (node for side in sides for node in nodes(side))
    return list(dict.fromkeys(node.input for node in found if isinstance(node, Value)))


def any_of(tests: list[str]) -> str:
    """Join tests of which one is enough."""
    return "FALSE" if not tests else tests[0] if len(tests) == 1 else f"OR({','.join(tests)})"


def literal(text: str) -> str:
    """Return a text as a literal; empty if it has to stand in a cell."""
    doubled = text.replace('"', '""')
    # Excel reads _x0041_ in a file as the letter A.
    plain = text.isprintable() and "_x" not in text.lower()
    return f'"{doubled}"' if plain and width(doubled) <= LONGEST_LITERAL else ""
