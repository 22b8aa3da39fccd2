"""C: one function in C99 that allocates nothing, for embedded use."""

import ctypes
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rpte.errors import InputError
from rpte.export.cells import Cells, refuse_texts
from rpte.export.code.script import filled
from rpte.export.form import Form, Missing, OneOf, Present, Value, all_nodes, plain
from rpte.export.inputs import CategoryInput, Input, NumberInput, has_words
from rpte.export.language import BRACES, Language, codes_text, functions
from rpte.export.programs import find_program, run_program
from rpte.export.target import Answers, Options, Target
from rpte.table.spelling import DECIMAL, plain_form

COMPILE = ["-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]


class C(Language):
    """How C writes a form; `row` and `out` are pointers to the structs."""

    spelled: ClassVar[Mapping[str, str]] = {
        **BRACES,
        **functions("{0}({{0}})"),
        "finite": "isfinite({0})",
        "present": "!isnan({0})",
    }

    def _operation(self, name: str, *parts: str) -> str:
        if name == "max":
            return reduce(lambda left, right: f"fmax({left}, {right})", parts)
        return super()._operation(name, *parts)

    def _line(self, name: str) -> str:
        return f"out->{name}"

    def _one_of(self, node: OneOf) -> str:
        given, name = self.form.input(node.input), self.names[node.input]
        if isinstance(given, NumberInput):
            asked = NumberInput(given.name, node.levels)
            tests = [f"row->{name} == {code!r}" for code in asked.numbers]
            tests += [f"rpte_is(row->{name}_code, {literal(word)})" for word in asked.words]
            return f"({' || '.join(tests)})"
        tests = [self._is_level(given, str(level)) for level in node.levels]
        if node.inside:
            return f"({' || '.join(tests)})"
        return " && ".join([f"row->{name} != NULL", *(f"!{test}" for test in tests)])

    def _is_level(self, given: CategoryInput, level: str) -> str:
        cell = f"row->{self.names[given.name]}"
        if level in given.doubtful:
            return f"rpte_is({cell}, {literal(level)})"
        form = given.form(level)
        if given.boolean:
            return f"(rpte_truth({cell}) == {int(form == 'True')})"
        return f"rpte_level({cell}, {literal(form)}, {int(form in given.numeric())})"

    def unreadable(self, given: Input) -> list[str]:
        """Return tests for texts that may be several levels, or none, or are no special code."""
        cell = f"row->{self.names[given.name]}"
        if isinstance(given, NumberInput):
            words = [f"{cell}_code != NULL", *self._not_words(given)]
            return [" && ".join(words)] if given.words else []
        if given.closed:
            return [f"rpte_truth({cell}) == -1"]
        exact = [f"!rpte_is({cell}, {literal(level)})" for level in given.doubtful]
        forms = dict.fromkeys(map(plain_form, given.doubtful))
        return [
            " && ".join(
                [f"rpte_level({cell}, {literal(f)}, {int(bool(DECIMAL.fullmatch(f)))})", *exact]
            )
            for f in forms
        ]

    def _not_words(self, given: NumberInput) -> list[str]:
        """Return tests that a number is none of its special codes that are texts."""
        cell = f"row->{self.names[given.name]}_code"
        return [f"!rpte_is({cell}, {literal(word)})" for word in given.words]

    def _no_code(self, given: NumberInput) -> list[str]:
        numbers = [f"row->{self.names[given.name]} != {code!r}" for code in given.numbers]
        return numbers + self._not_words(given)

    def _missing(self, name: str) -> str:
        given, known = self.form.input(name), self.names[name]
        if isinstance(given, CategoryInput):
            return f"row->{known} == NULL"
        return " && ".join([f"isnan({known})", *self._no_code(given)])

    def fields(self, given: Input) -> Iterator[str]:
        """Yield the fields of the row that hold an input."""
        name, said = self.names[given.name], plain(given.name)
        if isinstance(given, CategoryInput):
            yield f"const char *{name}; /* {said} */"
            return
        codes = f"; special codes: {codes_text(given.codes)}" if given.codes else ""
        yield f"double {name}; /* {said}{codes} */"
        if given.words:
            yield f"const char *{name}_code; /* the special code that is a text, or NULL */"

    def read(self, given: NumberInput) -> str:
        """Return the line that reads a number; NAN where it is missing or special."""
        name = self.names[given.name]
        usual = " && ".join([f"fabs(row->{name}) <= 1e300", *self._no_code(given)])
        return f"const double {name} = {usual} ? row->{name} : NAN;"


def literal(text: str) -> str:
    """Return a text as a C literal: UTF-8, in octal where it is not plain."""
    safe = re.compile(rb"[A-Za-z0-9 _.,:;<>=()+*/!#$%&@|~^{}\[\]'-]")
    parts = (bytes([byte]) for byte in text.encode())
    return '"' + "".join(p.decode() if safe.match(p) else f"\\{p[0]:03o}" for p in parts) + '"'


def check(form: Form, options: Options) -> None:
    """Refuse texts that a C string cannot hold."""
    for given in form.inputs:
        if any("\0" in level for level in given.words):
            raise InputError(
                f"'{given.name}' has a level with a NUL character, which no C string can hold; "
                "clean the column and fit again"
            )
    if any("\0" in str(label) for label in form.classes):
        raise InputError(
            "a class has a NUL character, which no C string can hold; clean the label and fit again"
        )


def write(form: Form, options: Options) -> str:
    """Return the file's text."""
    language = C(form)
    asked = {node.input for node in all_nodes(form) if isinstance(node, (Value, Present, Missing))}
    numbers = [given for given in form.inputs if isinstance(given, NumberInput)]
    return filled(
        "model.c.j2",
        language,
        read=[language.read(given) for given in numbers if given.name in asked],
        fields=[field for given in form.inputs for field in language.fields(given)],
        unreadable=[f"({t})" for given in form.inputs for t in language.unreadable(given)],
        labels=[literal(str(label)) for label in form.classes],
    )


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Compile the file and call it."""
    compiler = find_program("cc", "gcc", "clang")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "model.so"
        run_program([compiler, *COMPILE, "-x", "c", str(path), "-o", str(library), "-lm"])
        refuse_texts(cells, lambda _, text: "\0" in text, "which no C string can hold")
        lines = _call(ctypes.CDLL(str(library)).rpte_predict, form, cells)
    return Answers(lines, run_program([compiler, "--version"]).splitlines()[0])


def _call(predict: Any, form: Form, cells: Cells) -> dict[str, np.ndarray[Any, Any]]:
    fields: list[tuple[str, Any]] = []
    for i, given in enumerate(form.inputs):
        category = isinstance(given, CategoryInput)
        fields.append((f"x{i}", ctypes.c_char_p if category else ctypes.c_double))
        if has_words(given):
            fields.append((f"c{i}", ctypes.c_char_p))
    row_type = type("Row", (ctypes.Structure,), {"_fields_": fields or [("n", ctypes.c_int)]})
    names = [(line.name, ctypes.c_double) for line in form.lines]
    out = type("Result", (ctypes.Structure,), {"_fields_": names})()
    found: list[list[float]] = []
    for row in cells.rows():
        values: list[Any] = []
        for given in form.inputs:
            cell = row[given.name]
            text = cell.encode() if isinstance(cell, str) else None
            number = math.nan if cell is None or text is not None else cell
            values += [text] if isinstance(given, CategoryInput) else [number]
            values += [text] if has_words(given) else []
        predict(ctypes.byref(row_type(*values)), ctypes.byref(out))
        found.append([getattr(out, name) for name, _ in names])
    columns = np.array(found, np.float64).reshape(-1, len(names)).T
    return {name: column for (name, _), column in zip(names, columns, strict=True)}


TARGET = Target("c", ".c", write, run, check=check)
