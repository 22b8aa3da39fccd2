"""The text of a program: a template, and what Python and JavaScript share to fill it in."""

import re
from collections.abc import Iterable
from itertools import chain
from typing import ClassVar

from rpte.export.classes import class_keys
from rpte.export.form import Form, OneOf, plain
from rpte.export.inputs import CategoryInput, Input, NumberInput
from rpte.export.language import Language, codes_text, find_template


def filled(template: str, language: Language, read: Iterable[str], **more: Iterable[str]) -> str:
    """Return a program; `read` are its lines that read the inputs, `more` other lists of texts."""
    form = language.form
    texts = {"read": list(read), **{name: list(given) for name, given in more.items()}}
    lines = [
        (line.name, plain(line.text), "\n".join(language.statements(line.name, line.value)))
        for line in form.lines
    ]
    program = "\n".join([*chain(*texts.values()), *(statements for _, _, statements in lines)])

    def calls(*names: str) -> bool:
        return any(re.search(rf"\b{name}\(", program) for name in names)

    parts = [line.name for line in form.role("term", "component")]
    given = {"lines": lines, "parts": parts, "classes": class_parts(form), "calls": calls}
    given |= {"results": [line.name for line in form.results]}
    given["told"] = "survival at the horizons, " if form.horizons else ""
    return find_template("code", template).render(**form.titles(), **texts, **given)


def class_parts(form: Form) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return of each of several classes its score, its probability, and what the score adds up.

    The last are pairs of a name without the class (D1), and of the line (D1_setosa).
    """
    found = []
    for place, key in enumerate(class_keys(form.classes)):
        score, probability = (line.name for line in form.of_class(place, "score", "probability"))
        parts = (line.name for line in form.of_class(place, "term", "component"))
        found.append((score, probability, [(part.removesuffix(f"_{key}"), part) for part in parts]))
    return found


class Script(Language):
    """How one of these languages writes a form; each has the same helpers in its own words."""

    template: ClassVar[str]
    literal = staticmethod(repr)  # of a number, a text, a truth or some of them

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
        read = [line for given in self.form.inputs for line in self.read(given)]
        labels = self.form.classes
        texts = [self.literal(str(label)) for label in labels]
        return filled(self.template, self, read, labels=map(self.literal, labels), texts=texts)
