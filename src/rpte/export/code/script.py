"""What Python and JavaScript share: a function that reads a row and answers every line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from rpte.export.form import OneOf, plain
from rpte.export.inputs import CategoryInput, Input, NumberInput
from rpte.export.language import Language, called, codes_text


class Script(Language):
    """How one of these languages writes a form; each has the same helpers in its own words."""

    head: ClassVar[str]
    helpers: ClassVar[Mapping[str, str]]
    gap: ClassVar[str] = ""  # between the helpers and what calls them
    tail: ClassVar[str] = ""

    @abstractmethod
    def literal(self, value: Any) -> str:
        """Return a number, a text, a truth or some of them."""

    @abstractmethod
    def returned(self, parts: list[str]) -> list[str]:
        """Return the lines that end the function; `parts` are the names of contributions."""

    def _one_of(self, node: OneOf) -> str:
        given, name = self.form.input(node.input), self.names[node.input]
        if isinstance(given, NumberInput):
            return self.say("in", f"code_{name}", self.literal(node.levels))
        levels = self.literal(given.forms(node.levels))
        return self.say("in" if node.inside else "not in", name, levels)

    def _missing(self, name: str) -> str:
        given, known = self.form.input(name), self.names[name]
        if isinstance(given, CategoryInput):
            return self.say("empty", known)
        tests = [self.say("nan", known)]
        tests += [self.say("empty", f"code_{known}")] if given.codes else []
        return self.spelled["and"].join(tests)

    def read(self, given: Input) -> list[str]:
        """Return the lines that read an input."""
        name, said = self.names[given.name], self.literal(given.name)
        cell = self.say("cell", said)
        if isinstance(given, CategoryInput):
            more = given.closed if given.boolean else given.doubtful
            parts = [said, cell, *([self.literal(more)] if given.boolean or more else [])]
            helper = "truth" if given.boolean else "level"
            return [self.say("set", name, f"{helper}({', '.join(parts)})")]
        number, code = f"number({cell})", f"code_{name}"
        if not given.codes:
            return [self.say("set", name, number)]
        return [
            self.say("comment", f"special codes: {codes_text(given.codes)}"),
            self.say("set", code, f"code({cell}, {self.literal(given.codes)})"),
            self.say("set", name, self.say("without code", code, number)),
        ]

    def program(self) -> str:
        """Return the file's text."""
        body = [self.tab + line for given in self.form.inputs for line in self.read(given)]
        for line in self.form.lines:
            body += ["", self.tab + self.say("comment", f"{line.name}: {plain(line.text)}")]
            body += [self.tab + self.say("declare", line.name)] if "declare" in self.spelled else []
            body += self.statements(line.name, line.value)
        body += ["", *self.returned([v.name for v in self.form.role("term", "component")])]
        text = self.gap + "\n".join([*body, ""])
        return (
            self.head.format(**self.form.titles()) + called(self.helpers, text) + text + self.tail
        )
