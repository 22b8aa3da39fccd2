"""What exports to programming languages share: expressions, branches, names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.export.cells import Cells
from rpte.export.form import (
    All,
    Arithmetic,
    CategoryInput,
    Choice,
    Code,
    Compare,
    Condition,
    Constant,
    Finite,
    Form,
    Function,
    Line,
    Missing,
    Number,
    OneOf,
    Present,
    Total,
    Value,
    plain,
)
from rpte.export.target import CannotRunError

Floats = NDArray[np.float64]
LONGEST_NAME = 40


class Language(ABC):
    """How one language writes the nodes of a form; braces and ``?:`` unless it says otherwise.

    Parameters
    ----------
    form : Form
    """

    tab: ClassVar[str] = "    "
    also: ClassVar[str] = " && "
    functions: ClassVar[dict[str, str]]

    def __init__(self, form: Form) -> None:
        self.form = form
        names = [given.name for given in form.inputs]
        self.names = dict(zip(names, identifiers(names), strict=True))

    @abstractmethod
    def one_of(self, node: OneOf) -> str:
        """Return the test of a category's levels or a number's special codes."""

    @abstractmethod
    def missing(self, name: str) -> str:
        """Return the test for an input without a value."""

    @abstractmethod
    def present(self, name: str) -> str:
        """Return the test for a number input that holds a number."""

    @abstractmethod
    def finite(self, product: str) -> str:
        """Return the test for a product that has not overflowed."""

    def line(self, name: str) -> str:
        """Return how a line above is called."""
        return name

    def choice(self, condition: str, yes: str, no: str) -> str:
        """Return an expression that takes one of two values."""
        return f"({condition} ? {yes} : {no})"

    def branch(self, condition: str, deep: str, following: bool) -> str:
        """Return the head of a branch; `following` another one."""
        return f"{deep}}} else if ({condition}) {{" if following else f"{deep}if ({condition}) {{"

    def otherwise(self, deep: str) -> str:
        """Return the head of the last branch."""
        return f"{deep}}} else {{"

    def end(self, deep: str) -> list[str]:
        """Return what closes the branches."""
        return [f"{deep}}}"]

    def assign(self, name: str, value: str) -> str:
        """Return a statement that gives a line its value."""
        return f"{self.line(name)} = {value};"

    def number(self, node: Number) -> str:
        """Return an expression for a number."""
        match node:
            case Constant(value):
                return repr(value)
            case Value(name):
                return self.names[name]
            case Line(name):
                return self.line(name)
            case Arithmetic(sign, left, right):
                return f"({self.number(left)} {sign} {self.number(right)})"
            case Function(name, of):
                return f"{self.functions[name]}({bare(self.number(of))})"
            case Choice(condition, yes, no):
                return self.choice(self.condition(condition), self.number(yes), self.number(no))
            case Total(parts):
                return f"({' + '.join(map(self.number, parts))})"

    def condition(self, node: Condition) -> str:
        """Return an expression for a condition."""
        match node:
            case Present(name):
                return self.present(name)
            case Missing(name):
                return self.missing(name)
            case OneOf():
                return self.one_of(node)
            case Compare(sign, left, right):
                return f"{self.number(left)} {sign} {self.number(right)}"
            case Finite(product):
                return self.finite(bare(self.number(product)))
            case All(conditions):
                return self.also.join(map(self.condition, conditions))

    def statements(self, name: str, node: Number, depth: int = 1) -> Iterator[str]:
        """Yield the lines that compute a number; a choice becomes branches."""
        deep = self.tab * depth
        if not isinstance(node, Choice):
            yield deep + self.assign(name, bare(self.number(node)))
            return
        following = False
        while isinstance(node, Choice):
            yield self.branch(self.condition(node.condition), deep, following)
            yield from self.statements(name, node.yes, depth + 1)
            node, following = node.no, True
        yield self.otherwise(deep)
        yield from self.statements(name, node, depth + 1)
        yield from self.end(deep)


def run_rows(command: list[str], cells: Cells) -> dict[str, Floats]:
    """Give a program one JSON row per line, and return the lines that it answers in JSON."""
    rows = "\n".join(json.dumps(row) for row in cells.rows())
    done = subprocess.run(command, input=rows, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise failure(command[0], done.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    names = found[0] if found else {}
    return {name: np.array([answer[name] for answer in found], np.float64) for name in names}


def failure(program: str, said: str) -> InputError:
    """Return the error for an export that a program cannot run: its last words."""
    words = (said.strip().splitlines() or ["it said nothing"])[-1]
    return InputError(f"{program} could not run the export: {words}; nothing was written")


def find_program(*names: str) -> str:
    """Return the path of the first program that is installed."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise CannotRunError(f"{' or '.join(names)} is not on the PATH")


def bare(text: str) -> str:
    """Return an expression without parentheses around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]


def identifiers(names: Iterable[str]) -> list[str]:
    """Return a name for each input that every language can hold, such as ``x_mean_radius``.

    Examples
    --------
    >>> identifiers(["age", "Größe (cm)", "age!"])
    ['x_age', 'x_Grosse_cm', 'x_age_2']
    """
    taken: dict[str, None] = {}
    for name in names:
        plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore")
        slug = re.sub(r"[^A-Za-z0-9]+", "_", plain.decode()).strip("_")[:LONGEST_NAME]
        chosen, number = f"x_{slug}", 2
        while chosen in taken:
            chosen, number = f"x_{slug}_{number}", number + 1
        taken[chosen] = None
    return list(taken)


def called(helpers: Mapping[str, str], program: str) -> str:
    """Return the helpers that a program calls, in their order, with those that they call."""
    used: set[str] = set()
    texts = [program]
    while texts:
        text = texts.pop()
        new = {name for name in helpers if re.search(rf"\b{name}\(", text)} - used
        used |= new
        texts += [helpers[name] for name in new]
    return "".join(text for name, text in helpers.items() if name in used)


def read_levels(form: Form, node: OneOf) -> tuple[Code, ...]:
    """Return the levels of a test as their cells are read; special codes as they are."""
    given = form.input(node.input)
    if not isinstance(given, CategoryInput):
        return node.levels
    return tuple(dict.fromkeys(given.form(str(level)) for level in node.levels))


def codes_text(codes: Iterable[Code]) -> str:
    """Say special codes in a comment."""
    texts = (plain(code) if isinstance(code, str) else f"{code:g}" for code in codes)
    return ", ".join(dict.fromkeys(texts))  # a code and its copy in single precision read alike
