"""ONNX: a graph from raw columns to score, probability or mean, and contributions, in float64.

Of several classes there are the label, and the probabilities and scores as (rows, classes); an
unreadable row has the label "", or -2**63 if labels are whole numbers.

Every operator is a standard one, of ai.onnx and ai.onnx.ml. A number is a float64, NaN where it is
missing; a category is a text, empty where it is missing; a number that has special codes in words
comes as a text too. Everything has the shape (rows,). The words None, nan and <NA> are missing too
unless training saw them as levels. A text that is a level with blanks around it, or a number with
zeros that it does not need, is not read: every output of its row is NaN. So it is for a text that
is neither a number nor one of its codes.
"""

import json
import math
import re
import sys
from collections.abc import Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.export.cells import NUMBER_TEXT, Cell, Cells, refuse_texts, to_the_letter
from rpte.export.classes import CHOSEN, class_numbers
from rpte.export.form import MAX_FLOAT, Definition, Form, OneOf, Role, Translation
from rpte.export.inputs import CategoryInput, Input, NumberInput, has_words
from rpte.export.target import Answers, CannotRunError, Options, Target
from rpte.model.labels import Label
from rpte.table.column import LARGEST
from rpte.table.decimals import number_text
from rpte.table.spelling import DECIMAL, TRUTHS, plain_form
from rpte.utils.arrays import Array

PROPERTIES = {"model_hash": "hash", "positive": "positive"}  # the second of two classes alone
OPTIONS = {"prefix": ""}
TINY_TEXT = "-?0x0[.][0-9a-f]{13}p-1022"  # how `_text` writes subnormal numbers
OPERATORS = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "log": "Log", "sqrt": "Sqrt", "exp": "Exp",
    "<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal",
    "if": "Where", "sum": "Add", "and": "And", "max": "Max",
}  # fmt: skip
SMALLEST = sys.float_info.min
# Outputs of several classes: the class, and by name what has a column for each.
LABEL = "label"
TABLES: dict[str, Role] = {"probabilities": "probability", "scores": "score"}
NO_LABEL = -(2**63)
WORDS = "a text that is a number or one of the codes"
# onnxruntime reads None, NaN and pandas' NA in a column of texts as these words.
GAPS = ("", "None", "nan", "<NA>")


class Graph(Translation[str]):
    """A graph; equal parts of the form become one node, `prefix` begins the outputs' names."""

    def __init__(self, form: Form, prefix: str) -> None:
        self.form, self.prefix = form, prefix
        self.outputs = {line.name for line in outputs_of(form)}
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}  # by name
        self.made: dict[Any, str] = {}

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node, unless it is there already, and return its output."""
        from onnx import helper

        key = (operator, inputs, name, tuple(sorted(map(repr, attributes.items()))))
        if key not in self.made:
            output = name or f"rpte:{len(self.nodes)}"
            domain = "ai.onnx.ml" if operator == "LabelEncoder" else ""
            node = helper.make_node(operator, inputs, [output], domain=domain, **attributes)
            self.nodes.append(node)
            self.made[key] = output
        return self.made[key]

    def constant(self, value: Any, kind: type = np.float64) -> str:
        """Return a constant: a number, a text, or a row of truths."""
        from onnx import numpy_helper

        array: Array = np.array(value, kind)
        key = (array.dtype.kind, repr(array.tolist()))
        if key not in self.made:
            self.made[key] = f"rpte:constant {len(self.constants)}"
            self.constants[self.made[key]] = numpy_helper.from_array(array, self.made[key])
        return self.made[key]

    _constant = constant

    def _operation(self, name: str, *parts: str) -> str:
        if name == "finite":
            size = self.add("Abs", *parts)
            return self.add("LessOrEqual", size, self.constant(MAX_FLOAT))
        if name in ("sum", "and"):
            return self._joined(OPERATORS[name], parts)
        return self.add(OPERATORS[name], *parts)

    def _line(self, name: str) -> str:
        return self.prefix + name if name in self.outputs else f"rpte:{name}"

    def _present(self, name: str) -> str:
        return self.add("Not", self.add("IsNaN", self._value(name)))

    def _one_of(self, node: OneOf) -> str:
        given = self.form.input(node.input)
        if isinstance(given, NumberInput):
            return self._joined("Or", [self._is_code(given, code) for code in node.levels])
        known = [(level in node.levels) == node.inside for level in given.levels]
        return self._truth(given, known, unseen=not node.inside)

    def _joined(self, operator: str, parts: Sequence[str]) -> str:
        return reduce(partial(self.add, operator), parts)

    def _read(self, given: NumberInput) -> str:
        """Return the number in a cell, special codes included; NaN beyond 1e300."""
        raw = given.name
        if has_words(given):
            digits = self.add("Where", self._spelled(given), raw, self.constant("nan", object))
            raw = self.add("Cast", digits, to=11)  # float64
        known = self.add("LessOrEqual", self.add("Abs", raw), self.constant(LARGEST))
        return self.add("Where", known, raw, self.constant(math.nan))

    def _spelled(self, given: Input) -> str:
        """Return where a text is a number as a whole; a cast reads how it begins."""
        return self.add("RegexFullMatch", given.name, pattern=f"{NUMBER_TEXT}|{TINY_TEXT}")

    def _value(self, name: str) -> str:
        """Return the number that an input holds, NaN where it is missing or a special code."""
        given = self.form.input(name)
        assert isinstance(given, NumberInput)
        number = self._read(given)
        for code in given.numbers:
            special = self.add("Equal", number, self.constant(code))
            number = self.add("Where", special, self.constant(math.nan), number)
        return number

    def _place(self, given: Input) -> str:
        """Return where a text stands in the list of known texts.

        What stands for missing comes after the known ones, any other text after that; for a number
        with codes in words, any other text is -1.
        """
        texts = given.words
        other = -1 if isinstance(given, NumberInput) else len(texts) + 1
        places = dict.fromkeys(gaps_of(given), len(texts))
        if isinstance(given, CategoryInput):
            places |= {text: texts.index(level) for text, level in spellings(given).items()}
        places |= {text: place for place, text in enumerate(texts)}
        keys, values = list(places), list(places.values())
        known: dict[str, Any] = {"keys_strings": keys, "values_int64s": values}
        return self.add("LabelEncoder", given.name, default_int64=other, **known)

    def _readable(self) -> str:
        """Return where every text is one that the graph can tell; empty if all are."""
        found = []
        for given in (given for given in self.form.inputs if isinstance(given, CategoryInput)):
            unseen = self.constant(len(given.levels) + 1, np.int64)
            strange = self.add("Equal", self._place(given), unseen)
            odd = self.add("RegexFullMatch", given.name, pattern=strange_pattern(given))
            found.append(self.add("Not", self.add("And", strange, odd)))
        for number in (given for given in self.form.inputs if has_words(given)):
            known = self.add("GreaterOrEqual", self._place(number), self.constant(0, np.int64))
            found.append(self.add("Or", known, self._spelled(number)))
        return self._joined("And", found) if found else ""

    def _is_code(self, given: NumberInput, code: Any) -> str:
        if not isinstance(code, str):
            return self.add("Equal", self._read(given), self.constant(code))
        place = self.constant(given.words.index(code), np.int64)
        return self.add("Equal", self._place(given), place)

    def _missing(self, name: str) -> str:
        given = self.form.input(name)
        if isinstance(given, CategoryInput):
            return self._truth(given, [False] * len(given.levels), empty=True)
        absent = self.add("IsNaN", self._read(given))
        words = [self._is_code(given, code) for code in given.words]
        if not words:
            return absent
        return self.add("And", absent, self.add("Not", self._joined("Or", words)))

    def _truth(
        self, given: Input, levels: list[bool], empty: bool = False, unseen: bool = False
    ) -> str:
        """Return a truth for each level of a category, for the empty text, and for any other."""
        table = self.constant([*levels, empty, unseen], np.bool_)
        return self.add("Gather", table, self._place(given))

    def lines(self) -> None:
        """Add every line as an output of one number per row; NaN where a cell cannot be read."""
        readable = self._readable()
        for line in self.form.lines:
            number = self.node(line.value)
            if readable:
                number = self.add("Where", readable, number, self.constant(math.nan))
            if number in self.constants and self.form.inputs:
                rows = self.add("Shape", self.form.inputs[0].name)
                number = self.add("Expand", number, rows)
            self.add("Identity", number, name=self._line(line.name))
        if self.form.classes:
            self._classes(readable)

    def _classes(self, readable: str) -> None:
        """Add the outputs of several classes that are not one number per row."""
        axis, labels = int(bool(self.form.inputs)), self.form.classes
        for output, role in TABLES.items():
            columns = [
                self.add("Unsqueeze", self._line(line.name), self.constant([axis], np.int64))
                for line in self.form.role(role)
            ]
            self.add("Concat", *columns, axis=axis, name=self.prefix + output)
        kind, _, unreadable = _label_kind(labels)
        number = self._line(CHOSEN)
        if readable:  # no number is no whole number
            last = self.constant(float(len(labels)))
            number = self.add("Where", readable, number, last)
        place = self.add("Cast", number, to=7)  # int64
        known = self.constant([*labels, unreadable], kind)
        self.add("Gather", known, place, name=self.prefix + LABEL)


def outputs_of(form: Form) -> tuple[Definition, ...]:
    """Return the lines that are outputs, one number per row: of several classes, the parts."""
    return form.role("term", "component") if form.classes else form.lines


def _label_kind(labels: Sequence[Label]) -> tuple[type, int, Label]:
    """Return the type of labels, in numpy and in ONNX, and what an unreadable row is given."""
    if isinstance(labels[0], str):
        return object, 8, ""
    return (np.float64, 11, math.nan) if isinstance(labels[0], float) else (np.int64, 7, NO_LABEL)


def gaps_of(given: Input) -> tuple[str, ...]:
    """Return the texts that stand for missing: none of them a level."""
    return tuple(text for text in GAPS if text not in given.words)


def spellings(given: CategoryInput) -> dict[str, str]:
    """Return texts that are read as a level without being it to the letter."""
    found: dict[str, str] = {}
    for level in (level for level in given.levels if level not in given.doubtful):
        form = given.form(level)
        forms = [form]
        if given.boolean:
            words = [word for word, truth in TRUTHS.items() if truth == form]
            forms = [spelled for w in words for spelled in (w, w.upper(), w.title())]
            forms.append("1.0" if form == "True" else "0.0")
        elif form in given.numeric():
            forms.append(f"{form}0" if "." in form else f"{form}.0")
        found |= dict.fromkeys(forms, level)
    return {text: level for text, level in found.items() if text}


def strange_pattern(given: CategoryInput) -> str:
    """Return what texts look like that may be a level, or none, in another spelling."""
    forms = dict.fromkeys(map(plain_form, given.doubtful))
    patterns = ["(?s: .*|.* )", *(f"(?:{re.escape(form)})" for form in forms)]
    if given.boolean:
        patterns.append("(?i:true|false|t|f)")
    if given.closed:
        patterns.append("(?s:[-+.0-9].*)")
    elif given.boolean or any(DECIMAL.fullmatch(plain_form(level)) for level in given.levels):
        patterns.append(r"-0|-?(0|[1-9][0-9]*)\.([0-9]*0)?")
    return "|".join(patterns)


def check(form: Form, options: Options) -> None:
    """Refuse names and texts that a graph cannot hold."""
    names = [line.name for line in outputs_of(form)]
    outputs = {options["prefix"] + name for name in (*names, *_of_classes(form))}
    for label in form.classes:
        fits = _is_held(label) if isinstance(label, str) else abs(label) < 2.0**63
        if not fits:
            raise InputError(
                f"the class {label!r} is a text or a number that ONNX cannot hold; clean the label "
                "and fit again"
            )
    for given in form.inputs:
        if not given.name or "\0" in given.name or given.name.startswith("rpte:"):
            raise InputError(
                f"the column {given.name!r} has a name that ONNX cannot hold (empty, with a NUL "
                "character, or beginning with 'rpte:'); rename it and fit again"
            )
        if given.name in outputs:
            raise InputError(
                f"the column '{given.name}' has the name of an output; choose a prefix for the "
                "outputs, such as --option prefix=rpte_"
            )
        for text in given.words:
            if not _is_held(text):
                raise InputError(
                    f"'{given.name}' has the level {text!r}, which ONNX cannot hold (an empty text "
                    "stands for missing, a NUL or half a surrogate pair for nothing); clean the "
                    "column and fit again"
                )


def _is_held(text: str) -> bool:
    return bool(text) and "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def _of_classes(form: Form) -> tuple[str, ...]:
    return (LABEL, *TABLES) if form.classes else ()


def write(form: Form, options: Options) -> bytes:
    """Return the graph, checked by the onnx package."""
    try:
        from onnx import checker, helper
    except ImportError as error:
        raise InputError("ONNX needs onnx; install it with pip install 'rpte[onnx]'") from error
    graph, titles = Graph(form, options["prefix"]), form.titles()
    graph.lines()
    values = [_value(given.name, _is_text(given), _told(given)) for given in form.inputs]
    some = bool(form.inputs)
    results = [*_class_values(form, graph.prefix)]
    results += [_value(graph.prefix + v.name, False, v.text, some) for v in outputs_of(form)]
    constants, told = list(graph.constants.values()), f"{titles['title']} {titles['note']}".strip()
    drawn = helper.make_graph(graph.nodes, "rpte", values, results, constants, told)
    # The second has no regular expressions, and is read by older engines.
    opset, version = (20, 9) if any(map(_is_text, form.inputs)) else (15, 8)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 2)]
    producer = {"producer_name": "rpte", "producer_version": titles["version"]}
    properties = {name: titles[key] for name, key in PROPERTIES.items() if key in titles}
    made = helper.make_model(drawn, **producer, opset_imports=opsets, ir_version=version)
    if form.classes:
        properties["classes"] = json.dumps(form.classes)
    helper.set_model_props(made, properties)
    checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString(deterministic=True))


def _is_text(given: Input) -> bool:
    return isinstance(given, CategoryInput) or has_words(given)


def _told(given: Input) -> str:
    if isinstance(given, CategoryInput):
        return "a text; empty where missing"
    codes = ", ".join(c if isinstance(c, str) else number_text(c) for c in given.codes)
    said = f"{WORDS}; empty where missing" if has_words(given) else "a number; NaN where missing"
    return f"{said}; special codes: {codes}" if codes else said


def _value(name: str, text: bool, told: str, rows: bool = True) -> Any:
    from onnx import TensorProto, helper

    kind = TensorProto.STRING if text else TensorProto.DOUBLE
    return helper.make_tensor_value_info(name, kind, ["rows"] if rows else [], told)


def _class_values(form: Form, prefix: str) -> list[Any]:
    """Return the outputs of several classes, the label first, as other libraries order them."""
    from onnx import TensorProto, helper

    if not form.classes:
        return []
    rows, said = ["rows"] if form.inputs else [], "the class of the largest score"
    kind = _label_kind(form.classes)[1]
    found = [helper.make_tensor_value_info(prefix + LABEL, kind, rows, said)]
    for name in TABLES:
        shape, said = [*rows, len(form.classes)], f"{name} of the classes, in their order"
        table = helper.make_tensor_value_info(prefix + name, TensorProto.DOUBLE, shape, said)
        found.append(table)
    return found


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Run the graph in onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        raise CannotRunError(
            "onnxruntime is not installed; install it with pip install 'rpte[onnx]'"
        ) from None
    gaps = {given.name: gaps_of(given) for given in form.inputs}
    missing = "which in ONNX stands for missing"
    refuse_texts(cells, lambda name, text: text in gaps[name], missing)
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    spelled = to_the_letter(form, cells).columns
    fed = {given.name: column_of(given, spelled[given.name]) for given in form.inputs}
    names = [line.name for line in outputs_of(form)]
    asked = [*names, *_of_classes(form)]
    found = dict(zip(asked, session.run([options["prefix"] + n for n in asked], fed), strict=True))
    if form.classes:
        names += [line.name for role in TABLES.values() for line in form.role(role)]
        for table, role in TABLES.items():
            columns = np.moveaxis(found[table], -1, 0)
            told = zip(form.role(role), columns, strict=True)
            found |= {line.name: column for line, column in told}
        names.append(CHOSEN)
        found[CHOSEN] = class_numbers(form, np.atleast_1d(found[LABEL]).tolist())
    lines = {
        name: np.broadcast_to(np.asarray(found[name], np.float64), cells.n_rows) for name in names
    }
    return Answers(lines, f"onnxruntime {onnxruntime.__version__}")


def column_of(given: Input, cells: list[Cell]) -> Array:
    """Return a column as the graph takes it."""
    if _is_text(given):
        return np.array([_text(cell) for cell in cells], object)
    return np.array([math.nan if cell is None else cell for cell in cells], np.float64)


def _text(cell: Cell) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    # C++ refuses the decimals of a number so small, but not its bits.
    return cell.hex() if 0 < abs(cell) < SMALLEST else repr(cell)


TARGET = Target("onnx", ".onnx", write, run, OPTIONS, check, packages=("onnx", "onnxruntime"))
