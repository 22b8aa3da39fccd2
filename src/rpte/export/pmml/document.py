"""PMML 4.4: one document that decision engines read, checked in the JPMML evaluator.

The model is a `RegressionModel` for classification: a logistic regression whose one predictor is
the score. Every term, every component's subtotal and the score itself are derived fields above it,
each an expression with its sentence beside it, in the order in which a person reads the model.

Why not the alternatives: a `Scorecard` adds its characteristics up too, but it is a regression (no
class, no probability), and slopes, hinges and trees would be complex partial scores, which few
engines read; a `TreeModel` for each tree would need a chain of models, and hide the sum. Derived
fields and a logistic regression are what banks' engines read best, they say where missing values
go, and they keep the definition of the score: numbers added from left to right, in float64.

Comparisons are false where a value is missing (``mapMissingTo``). A number beyond 1e300 is missing
(``invalidValueTreatment="asMissing"``); a level that training did not see stays what it is
(``"asIs"``), so that it is the pooled level or none. Special codes are no numbers: a derived field
holds the number without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rpte.errors import InputError
from rpte.export.form import (
    MAX_FLOAT,
    CategoryInput,
    Code,
    Definition,
    Form,
    Input,
    NumberInput,
    OneOf,
    Translation,
    plain,
)
from rpte.export.pmml.cases import verification
from rpte.export.pmml.run import run
from rpte.export.target import Options, Target, check_levels, check_prefix
from rpte.table.column import LARGEST
from rpte.table.spelling import TRUTHS

OPTIONS = {"prefix": "rpte_"}
NUMBER = {"optype": "continuous", "dataType": "double"}
NAMESPACE = "http://www.dmg.org/PMML-4_4"
HEAD = "<?xml version='1.0' encoding='UTF-8'?>\n"
FUNCTIONS = {"<=": "lessOrEqual", "<": "lessThan", ">": "greaterThan", ">=": "greaterOrEqual",
             "log": "ln"}  # fmt: skip
# What is taken out of a text, and what of it stays; then zeros that a number does not need. PMML4S
# reads no pattern with brackets, and no empty text.
BLANKS = (r"(?s)^\x20*(.*?)\x20*$", "$1")
ZEROS = (
    (r"^(-?(?!0\d)\d+)\.0*$", "$1"),
    (r"^(-?(?!0\d)\d+\.\d*?)0+$", "$1"),
    ("^-0$", "0"),
)
NUMBER_BEGINS = r"(?s)^(\d|\+|-|\.).*$"
# What an XML 1.0 document cannot hold.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check(form: Form, options: Options) -> None:
    """Refuse names and texts that XML cannot hold."""
    check_prefix(options["prefix"], [given.name for given in form.inputs])
    check_levels("PMML", form)
    for given in form.inputs:
        levels = given.levels if isinstance(given, CategoryInput) else given.codes
        for kind, text in (("name", given.name), *(("level", str(level)) for level in levels)):
            _check_text(f"the column {given.name!r} has a {kind}", text)
    for label in form.model.classes:
        _check_text("the label has a class", str(label))


def _check_text(where: str, text: str) -> None:
    found = FORBIDDEN.search(text)
    if found:
        raise InputError(
            f"{where} with the character {found[0]!r}, which XML cannot hold; clean it and fit "
            "again"
        )


class Document(Translation[Element]):
    """The fields and expressions of one document.

    Parameters
    ----------
    form : Form
    prefix : str
        Of the names that are not the user's.
    """

    def __init__(self, form: Form, prefix: str) -> None:
        self.form, self.prefix = form, prefix
        self.target = f"{prefix}target"

    def line(self, name: str) -> str:
        """Return the derived field of a line."""
        line = next(line for line in self.form.lines if line.name == name)
        return f"{self.prefix}{line.role}_{name}" if name != "score" else f"{self.prefix}log_odds"

    def own(self, given: Input, what: str) -> str:
        """Return a derived field that holds an input in another way."""
        return f"{self.prefix}{what}_{self.form.inputs.index(given) + 1}"

    def number_field(self, given: NumberInput) -> str:
        """Return the field that holds a number and no special code."""
        return self.own(given, "number") if given.codes else given.name

    def cell_field(self, given: NumberInput) -> str:
        """Return the field that holds a number or a special code that is one."""
        return self.own(given, "cell") if given.words else given.name

    def read(self, given: Input) -> Iterator[Element]:
        """Yield the derived fields that an input is read into."""
        if isinstance(given, CategoryInput):
            yield self._level(given)
            return
        if not given.codes:
            return
        cell = self.cell_field(given)
        if given.words:
            said = f"{plain(given.name)}, where it is no text"
            number = _if(_among(given.name, given.words, False), _field(given.name))
            yield _derived(cell, said, number)
        inside = [_among(cell, given.numbers, False)] if given.numbers else []
        if given.words:
            inside += _between(_field(cell), LARGEST)
        said = f"{plain(given.name)} without special codes"
        yield _derived(self.number_field(given), said, _if(_and(inside), _field(cell)))

    def level_field(self, given: CategoryInput) -> str:
        """Return the field that holds the form of a level."""
        return self.own(given, "level")

    def _level(self, given: CategoryInput) -> Element:
        """Return the derived field of a category: texts as `rpte.table.spelling` reads them."""
        text = _replaced(_field(given.name), BLANKS)
        if given.boolean or given.numeric():
            text = _replaced(text, *ZEROS)
        if given.boolean:
            small = _apply("lowercase", text)
            for level in ("False", "True"):
                words = [word for word, truth in TRUTHS.items() if truth == level]
                text = _if(_test("isIn", small, *map(_constant, words)), _constant(level), text)
        kind = {"optype": "categorical", "dataType": "string"}
        said = f"{plain(given.name)}, as its levels are called"
        field = Element(
            "DerivedField", {"name": self.level_field(given), "displayName": said, **kind}
        )
        field.append(_if(_apply("isNotMissing", _field(given.name)), text))
        return field

    def defined(self, line: Definition) -> Element:
        """Return a line; missing where it reads a boolean that cannot be read."""
        read = (self.form.input(name) for name in line.sources)
        closed = [given for given in read if isinstance(given, CategoryInput) and given.closed]
        value = self.node(line.value)
        if not closed:
            return value
        odd = [
            _test("matches", _field(self.level_field(given)), _constant(NUMBER_BEGINS))
            for given in closed
        ]
        return _if(_apply("not", odd[0] if len(odd) == 1 else _apply("or", *odd)), value)

    def _operation(self, name: str, *parts: Element) -> Element:
        match name:
            case "finite":
                return _and(_between(parts[0], MAX_FLOAT))
            case "and":
                return _and(list(parts))
            case "<=" | "<" | ">" | ">=":  # false where something is missing, never missing
                return _test(FUNCTIONS[name], *parts)
        return _apply(FUNCTIONS.get(name, name), *parts)

    def _constant(self, value: float) -> Element:
        return _constant(value)

    def _value(self, name: str) -> Element:
        given = self.form.input(name)
        assert isinstance(given, NumberInput)
        return _field(self.number_field(given))

    def _line(self, name: str) -> Element:
        return _field(self.line(name))

    def _present(self, name: str) -> Element:
        return _apply("isNotMissing", self._value(name))

    def _missing(self, name: str) -> Element:
        given = self.form.input(name)
        gone = _apply("isMissing", _field(given.name))
        if isinstance(given, CategoryInput) or not given.words:
            return gone
        gone = _apply("isMissing", _field(self.number_field(given)))
        code = self._one_of(OneOf(given.name, given.codes))
        return _and([gone, _apply("not", code)])

    def _one_of(self, node: OneOf) -> Element:
        given = self.form.input(node.input)
        if isinstance(given, NumberInput):
            asked = NumberInput(given.name, node.levels)
            tests = [_among(self.cell_field(given), asked.numbers)] if asked.numbers else []
            tests += [_among(given.name, asked.words)] if asked.words else []
            return tests[0] if len(tests) == 1 else _apply("or", *tests)
        if not node.levels:
            return _apply("isNotMissing", _field(given.name))
        return _among(self.level_field(given), given.forms(node.levels), node.inside)


def _apply(function: str, *parts: Element) -> Element:
    element = Element("Apply", function=function)
    element.extend(parts)
    return element


def _test(function: str, *parts: Element) -> Element:
    """Return a test that is false where something is missing."""
    element = Element("Apply", function=function, mapMissingTo="false")
    element.extend(parts)
    return element


def _replaced(text: Element, *rules: tuple[str, str]) -> Element:
    for pattern, kept in rules:
        text = _apply("replace", text, _constant(pattern), _constant(kept))
    return text


def _and(conditions: list[Element]) -> Element:
    return conditions[0] if len(conditions) == 1 else _apply("and", *conditions)


def _if(condition: Element, *sides: Element) -> Element:
    """Return one of two numbers, missing where the second is not given."""
    return _apply("if", condition, *sides)


def _among(field: str, values: Iterable[Code], inside: bool = True) -> Element:
    return _test("isIn" if inside else "isNotIn", _field(field), *map(_constant, values))


def _between(number: Element, most: float) -> list[Element]:
    ends = (("lessOrEqual", most), ("greaterOrEqual", -most))
    return [_test(name, number, _constant(end)) for name, end in ends]


def _field(name: str) -> Element:
    return Element("FieldRef", field=name)


def _constant(value: Code) -> Element:
    element = Element("Constant", dataType="string" if isinstance(value, str) else "double")
    element.text = value if isinstance(value, str) else repr(float(value))
    return element


def _derived(name: str, said: str, value: Element) -> Element:
    element = Element("DerivedField", {"name": name, "displayName": said, **NUMBER})
    element.append(value)
    return element


def write(form: Form, options: Options) -> str:
    """Return the document's text."""
    document = Document(form, options["prefix"])
    root = Element("PMML", xmlns=NAMESPACE, version="4.4")
    root.append(_header(form))
    root.append(_data(document))
    transformations = SubElement(root, "TransformationDictionary")
    for given in form.inputs:
        transformations.extend(document.read(given))
    for line in _computed(form):
        name, said = document.line(line.name), plain(line.text)
        transformations.append(_derived(name, said, document.defined(line)))
    root.append(_model(document))
    indent(root)
    # A parser reads a bare carriage return as a line feed.
    return HEAD + tostring(root, encoding="unicode").replace("\r", "&#13;") + "\n"


def _computed(form: Form) -> list[Definition]:
    """Return the lines that are derived fields; the probability is the regression's."""
    return [line for line in form.lines if line.role != "probability"]


def _header(form: Form) -> Element:
    titles = form.titles()
    header = Element("Header", description=titles["title"])
    SubElement(header, "Application", name="rpte", version=titles["version"])
    SubElement(header, "Annotation").text = f"Generated from the model {titles['hash']}."
    return header


def _data(document: Document) -> Element:
    fields = Element("DataDictionary", numberOfFields=str(len(document.form.inputs) + 1))
    for given in document.form.inputs:
        if isinstance(given, CategoryInput):
            _values(fields, given.name, given.levels)
        elif given.words:
            _values(fields, given.name, ())
        else:
            field = SubElement(fields, "DataField", {"name": given.name, **NUMBER})
            ends = {"leftMargin": repr(-LARGEST), "rightMargin": repr(LARGEST)}
            SubElement(field, "Interval", {"closure": "closedClosed", **ends})
    _values(fields, document.target, map(str, document.form.model.classes))
    return fields


def _values(fields: Element, name: str, levels: Iterable[str]) -> None:
    field = SubElement(fields, "DataField", name=name, optype="categorical", dataType="string")
    for level in levels:
        SubElement(field, "Value", value=level)


def _model(document: Document) -> Element:
    """Return the logistic regression on the score."""
    form = document.form
    classes = [str(label) for label in form.model.classes]
    positive, other = classes[form.model.positive], classes[1 - form.model.positive]
    kinds = {"functionName": "classification", "normalizationMethod": "logit"}
    model = Element("RegressionModel", {"modelName": "rpte", **kinds})
    schema = SubElement(model, "MiningSchema")
    SubElement(schema, "MiningField", name=document.target, usageType="target")
    for given in form.inputs:
        number = isinstance(given, NumberInput) and not given.words
        treatment = "asMissing" if number else "asIs"
        SubElement(schema, "MiningField", name=given.name, invalidValueTreatment=treatment)
    model.append(_output(document, positive))
    table = SubElement(model, "RegressionTable", targetCategory=positive, intercept="0")
    SubElement(table, "NumericPredictor", name=document.line("score"), coefficient="1")
    SubElement(model, "RegressionTable", targetCategory=other, intercept="0")
    model.append(verification(form, document.prefix))
    return model


def _output(document: Document, positive: str) -> Element:
    """Return the output: score, probability, then every contribution in the order of the file."""
    form = document.form
    output = Element("Output")
    parts = (line for line in form.lines if line.role in ("term", "component"))
    for line in (*form.role("score"), *form.role("probability"), *parts):
        named = {"name": document.prefix + line.name, "displayName": plain(line.text)}
        field = SubElement(output, "OutputField", {**named, **NUMBER})
        if line.role == "probability":
            field.set("feature", "probability")
            field.set("value", positive)
        else:
            field.set("feature", "transformedValue")
            field.append(_field(document.line(line.name)))
    return output


TARGET = Target("pmml", ".pmml", write, run, OPTIONS, check, packages=("jpmml_evaluator",))
