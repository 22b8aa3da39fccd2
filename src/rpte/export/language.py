"""Expressions as text, and templates: what programming languages and spreadsheets share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from rpte.export.form import Form, Node, Operation, Translation, plain
from rpte.export.inputs import Code

if TYPE_CHECKING:
    from jinja2 import Template

LONGEST_NAME = 40
# How languages with braces write what others write in their own way; conditions come bare.
BRACES = {
    "if": "({0} ? {1} : {2})",
    "and": " && ",
    "first branch": "if ({0}) {{",
    "next branch": "}} else if ({0}) {{",
    "last branch": "}} else {{",
    "end": "}}",
    "assign": "{0} = {1};",
}


def functions(call: str) -> dict[str, str]:
    """Return how a language calls the functions that all know by one name."""
    return {name: call.format(name) for name in ("log", "sqrt", "exp")}


class Language(Translation[str]):
    """How one language writes the nodes of a form, by a table of spellings."""

    spelled: ClassVar[Mapping[str, str]]
    tab: ClassVar[str] = "    "

    def __init__(self, form: Form) -> None:
        self.form = form
        names = [given.name for given in form.inputs]
        self.names = dict(zip(names, identifiers(names), strict=True))

    def say(self, what: str, *parts: str) -> str:
        """Return something in the words of the language."""
        return self.spelled[what].format(*parts)

    def _operation(self, name: str, *parts: str) -> str:
        if name == "sum":
            return f"({' + '.join(parts)})"
        if name == "and":
            return self.spelled["and"].join(parts)
        if name == "max":
            return self.say("max", ", ".join(parts))
        if name in self.spelled:
            return self.say(name, *parts) if name == "if" else self.say(name, bare(parts[0]))
        text = f"{parts[0]} {name} {parts[1]}"
        return f"({text})" if name in "+-*/" else text

    def _constant(self, value: float) -> str:
        return repr(value)

    def _value(self, name: str) -> str:
        return self.names[name]

    def _line(self, name: str) -> str:
        return name

    def _present(self, name: str) -> str:
        return self.say("present", self.names[name])

    def statements(self, name: str, node: Node, depth: int = 1) -> Iterator[str]:
        """Yield the lines that compute a number; a choice becomes branches."""
        deep, head = self.tab * depth, "first branch"
        while isinstance(node, Operation) and node.name == "if":
            condition, yes, node = node.parts
            yield deep + self.say(head, self.node(condition))
            yield from self.statements(name, yes, depth + 1)
            head = "next branch"
        if head == "first branch":
            yield deep + self.say("assign", self._line(name), bare(self.node(node)))
            return
        yield deep + self.say("last branch")
        yield from self.statements(name, node, depth + 1)
        if self.spelled["end"]:
            yield deep + self.say("end")


def find_template(family: str, name: str, finalize: Callable[[Any], Any] | None = None) -> Template:
    """Return a document with gaps; `finalize` makes a text of what fills one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(f"rpte.export.{family}"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=finalize,
    ).get_template(name)


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
        letters = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore")
        slug = re.sub(r"[^A-Za-z0-9]+", "_", letters.decode()).strip("_")[:LONGEST_NAME]
        chosen, number = f"x_{slug}", 2
        while chosen in taken:
            chosen, number = f"x_{slug}_{number}", number + 1
        taken[chosen] = None
    return list(taken)


def codes_text(codes: Iterable[Code]) -> str:
    """Say special codes in a comment."""
    texts = (plain(code) if isinstance(code, str) else f"{code:g}" for code in codes)
    return ", ".join(dict.fromkeys(texts))  # a code and its copy in single precision read alike
