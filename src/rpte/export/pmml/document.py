"""PMML 4.4: one document that decision engines read, checked in the JPMML evaluator.

The model is a `RegressionModel` for classification: a logistic regression whose one predictor is
the score; for several classes a softmax of one such regression for each, which gives the class too.
Every term, every component's subtotal and the score itself are derived fields above it, each an
expression with its sentence beside it, in the order in which a person reads the model. For a number
it is a `RegressionModel` for regression, whose one predictor is the mean: a derived field too,
since the exponential of a large score is limited. For a time until an event that predictor is the
hazard ratio, and survival at the horizons are further derived fields; PMML's `CoxRegression` would
need the baseline as a table, which few engines read.

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

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from xml.etree.ElementTree import Element, fromstring, indent, tostring
from xml.sax.saxutils import escape

from rpte.errors import InputError
from rpte.export.cells import Cell, probe_table, read_cells
from rpte.export.evaluate import evaluate
from rpte.export.form import MAX_FLOAT, Definition, Form, OneOf, Translation, plain
from rpte.export.inputs import CategoryInput, Code, Input, NumberInput
from rpte.export.language import find_template, identifiers
from rpte.export.pmml.run import CLASS, run
from rpte.export.target import Options, Target, check_levels, check_prefix
from rpte.model.class_target import ClassesTarget
from rpte.model.target import Target as TwoClasses
from rpte.table.column import LARGEST
from rpte.table.spelling import TRUTHS

OPTIONS = {"prefix": "rpte_"}
CASES = 30  # that the document carries
PROBES = 40  # of which the last quarter holds the largest and smallest numbers
# Lines that are the regression's own: a probability, and all between the scores and the class.
REGRESSION = ("largest", "odds", "total", "probability", "class")
OF_CLASSES = (TwoClasses, ClassesTarget)
NUMBER = {"optype": "continuous", "dataType": "double"}
TEXT = {"optype": "categorical", "dataType": "string"}
NAMESPACE = "http://www.dmg.org/PMML-4_4"
ESCAPES = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
HEAD = "<?xml version='1.0' encoding='UTF-8'?>\n"
FUNCTIONS = {"<=": "lessOrEqual", "<": "lessThan", ">": "greaterThan", ">=": "greaterOrEqual",
             "==": "equal", "log": "ln"}  # fmt: skip
# What is taken out of a text, and what of it stays; then zeros that a number does not need. PMML4S
# reads no pattern with brackets, and no empty text.
BLANKS = (r"(?s)^\x20*(.*?)\x20*$", "$1")
ZEROS = ((r"^(-?(?!0\d)\d+)\.0*$", "$1"), (r"^(-?(?!0\d)\d+\.\d*?)0+$", "$1"), ("^-0$", "0"))
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
    for label in _classes(form):
        _check_text("the label has a class", label)


def _classes(form: Form) -> tuple[str, ...]:
    """Return the classes as texts; none for a number."""
    target = form.model.target
    return tuple(map(str, target.classes)) if isinstance(target, OF_CLASSES) else ()


def _check_text(where: str, text: str) -> None:
    found = FORBIDDEN.search(text)
    if found:
        raise InputError(
            f"{where} with the character {found[0]!r}, which XML cannot hold; clean it and fit "
            "again"
        )


class Expressions(Translation[Element]):
    """How a document writes the nodes of a form; `prefix` begins the names of its own fields."""

    def __init__(self, form: Form, prefix: str) -> None:
        self.form, self.prefix = form, prefix

    def line(self, name: str) -> str:
        """Return the derived field of a line."""
        line = next(line for line in self.form.lines if line.name == name)
        score = "log_odds" if self.form.response.name == "probability" else "linear_predictor"
        own = {"score": score, "mean": "response", "hazard_ratio": "response"}
        if line.role == "score" and self.form.classes:
            return f"{self.prefix}linear_{name}"
        if line.role == "survival":
            return f"{self.prefix}response_{name}"
        return self.prefix + own.get(name, f"{line.role}_{name}")

    def _own(self, given: Input, what: str) -> str:
        """Return a derived field that holds an input in another way."""
        return f"{self.prefix}{what}_{self.form.inputs.index(given) + 1}"

    def _cell_field(self, given: NumberInput) -> str:
        return self._own(given, "cell") if given.words else given.name

    def read(self, given: Input) -> Iterator[Element]:
        """Yield the derived fields that an input is read into."""
        if isinstance(given, CategoryInput):
            yield self._level(given)
        elif given.codes:
            cell = self._cell_field(given)
            inside = [_among(cell, given.numbers, False)] if given.numbers else []
            if given.words:
                number = _apply("if", _among(given.name, given.words, False), _field(given.name))
                yield _derived(cell, f"{plain(given.name)}, where it is no text", number)
                inside += _between(_field(cell), LARGEST)
            number = _apply("if", _joined("and", inside), _field(cell))
            said = f"{plain(given.name)} without special codes"
            yield _derived(self._own(given, "number"), said, number)

    def _level(self, given: CategoryInput) -> Element:
        """Return the derived field of a category: texts as `rpte.table.spelling` reads them."""
        text = _field(given.name)
        for rule in (BLANKS, *ZEROS) if given.boolean or given.numeric() else (BLANKS,):
            text = _apply("replace", text, *map(_constant, rule))
        if given.boolean:
            small = _apply("lowercase", text)
            for level in ("False", "True"):
                words = [word for word, truth in TRUTHS.items() if truth == level]
                known = _test("isIn", small, *map(_constant, words))
                text = _apply("if", known, _constant(level), text)
        value = _apply("if", _apply("isNotMissing", _field(given.name)), text)
        said = f"{plain(given.name)}, as its levels are called"
        return _derived(self._own(given, "level"), said, value, TEXT)

    def defined(self, line: Definition) -> Element:
        """Return the derived field of a line; missing where a boolean of it cannot be read."""
        value = self.node(line.value)
        read = (self.form.input(name) for name in line.sources)
        closed = [given for given in read if isinstance(given, CategoryInput) and given.closed]
        if closed:
            fields = (_field(self._own(given, "level")) for given in closed)
            odd = [_test("matches", field, _constant(NUMBER_BEGINS)) for field in fields]
            value = _apply("if", _apply("not", _joined("or", odd)), value)
        return _derived(self.line(line.name), plain(line.text), value)

    def _operation(self, name: str, *parts: Element) -> Element:
        match name:
            case "finite":
                return _joined("and", _between(parts[0], MAX_FLOAT))
            case "and":
                return _joined("and", parts)
            case "<=" | "<" | ">" | ">=" | "==":
                return _test(FUNCTIONS[name], *parts)
        return _apply(FUNCTIONS.get(name, name), *parts)

    def _constant(self, value: float) -> Element:
        return _constant(value)

    def _value(self, name: str) -> Element:
        given = self.form.input(name)
        coded = isinstance(given, NumberInput) and given.codes
        return _field(self._own(given, "number") if coded else name)

    def _line(self, name: str) -> Element:
        return _field(self.line(name))

    def _present(self, name: str) -> Element:
        return _apply("isNotMissing", self._value(name))

    def _missing(self, name: str) -> Element:
        given = self.form.input(name)
        if isinstance(given, CategoryInput) or not given.words:
            return _apply("isMissing", _field(name))
        code = self._one_of(OneOf(name, given.codes))
        return _apply("and", _apply("isMissing", self._value(name)), _apply("not", code))

    def _one_of(self, node: OneOf) -> Element:
        given = self.form.input(node.input)
        if isinstance(given, NumberInput):
            asked = NumberInput(given.name, node.levels)
            tests = [_among(self._cell_field(given), asked.numbers)] if asked.numbers else []
            tests += [_among(given.name, asked.words)] if asked.words else []
            return _joined("or", tests)
        if not node.levels:
            return _apply("isNotMissing", _field(given.name))
        return _among(self._own(given, "level"), given.forms(node.levels), node.inside)


def _element(tag: str, /, *children: Element, **attributes: str) -> Element:
    element = Element(tag, attributes)
    element.extend(children)
    return element


def _apply(function: str, *parts: Element) -> Element:
    """Return a function of some parts; an ``if`` without its last part is missing there."""
    return _element("Apply", *parts, function=function)


def _test(function: str, *parts: Element) -> Element:
    """Return a test that is false where something is missing."""
    return _element("Apply", *parts, function=function, mapMissingTo="false")


def _joined(function: str, conditions: Sequence[Element]) -> Element:
    return conditions[0] if len(conditions) == 1 else _apply(function, *conditions)


def _among(field: str, values: Iterable[Code], inside: bool = True) -> Element:
    return _test("isIn" if inside else "isNotIn", _field(field), *map(_constant, values))


def _between(number: Element, most: float) -> list[Element]:
    ends = (("lessOrEqual", most), ("greaterOrEqual", -most))
    return [_test(name, number, _constant(end)) for name, end in ends]


def _field(name: str) -> Element:
    return _element("FieldRef", field=name)


def _constant(value: Code) -> Element:
    element = _element("Constant", dataType="string" if isinstance(value, str) else "double")
    element.text = value if isinstance(value, str) else repr(float(value))
    return element


def _derived(name: str, said: str, value: Element, kind: Mapping[str, str] = NUMBER) -> Element:
    return _element("DerivedField", value, name=name, displayName=said, **kind)


def write(form: Form, options: Options) -> str:
    """Return the document's text."""
    fields, inputs = Expressions(form, options["prefix"]), [given.name for given in form.inputs]
    computed = [line for line in form.lines if line.role not in REGRESSION]
    results = form.role("score", "probability", "mean", "hazard_ratio", "survival")
    shown = (*results, *form.role("term", "component"))
    tags = dict(zip(inputs, identifiers(inputs), strict=True))
    names = [line.name for line in results]
    text = find_template("pmml", "model.pmml.j2", lambda cell: escape(str(cell), ESCAPES)).render(
        **form.titles(),
        prefix=fields.prefix,
        columns=[_column(given) for given in form.inputs],
        largest=LARGEST,
        classes=_classes(form),
        told=CLASS if form.classes else "",
        outputs=[_output(fields, line, line in computed) for line in shown],
        tables=_tables(fields),
        tags=tags,
        results=names,
        cases=_cases(form, tags, names),
    )
    root = _element("PMML", *fromstring(text), xmlns=NAMESPACE, version="4.4")
    derived = [field for given in form.inputs for field in fields.read(given)]
    derived += [fields.defined(line) for line in computed]
    next(root.iter("TransformationDictionary")).extend(derived)
    indent(root)
    # A parser reads a bare carriage return as a line feed.
    return HEAD + tostring(root, encoding="unicode").replace("\r", "&#13;") + "\n"


def _output(
    fields: Expressions, line: Definition, computed: bool
) -> tuple[str, str, str | None, str]:
    """Return name and text of an output, and its derived field or whose probability it is."""
    field = fields.line(line.name) if computed else None
    label = "" if computed else _of_class(fields.form, line)
    return line.name, plain(line.text), field, label


def _of_class(form: Form, line: Definition) -> str:
    """Return the class that a line is of; of two classes, the positive one."""
    place = getattr(form.model.target, "positive", 0) if line.place is None else line.place
    return _classes(form)[place]


def _tables(fields: Expressions) -> list[tuple[str, str]]:
    """Return the regression tables: the class, empty for a number, and the predictor if any."""
    form, scores = fields.form, fields.form.role("score")
    if form.classes:
        return [(_of_class(form, line), fields.line(line.name)) for line in scores]
    classes = _classes(form)
    if not classes:
        return [("", fields.line(form.response.name))]
    positive = _of_class(form, form.response)
    others = [(label, "") for label in classes if label != positive]
    return [(positive, fields.line(scores[0].name)), *others]


def _column(given: Input) -> tuple[str, bool, tuple[str, ...]]:
    if isinstance(given, CategoryInput):
        return given.name, False, given.levels
    return given.name, not given.words, ()


def _cases(form: Form, tags: Mapping[str, str], results: Iterable[str]) -> list[dict[str, Cell]]:
    """Return cases with their score and response, made from the model's thresholds and levels.

    An engine that reads them checks them whenever it loads the document, so that a model which it
    computes in another way is never put to work.
    """
    cells = read_cells(form, probe_table(form, PROBES))
    lines = evaluate(form, cells)
    found: list[dict[str, Cell]] = []
    for place, row in enumerate(islice(cells.rows(), CASES)):
        found.append({tags[name]: cell for name, cell in row.items()})
        found[-1] |= {name: float(lines[name][place]) for name in results}
    return found


TARGET = Target("pmml", ".pmml", write, run, OPTIONS, check, packages=("jpmml_evaluator",))
