"""The nodes of a form as sqlglot expressions."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from sqlglot import exp

from rpte.export.cells import NUMBER_TEXT
from rpte.export.form import (
    MAX_FLOAT,
    Constant,
    Definition,
    Form,
    Line,
    Node,
    OneOf,
    Operation,
    Translation,
    Value,
    all_nodes,
    nodes,
)
from rpte.export.inputs import CategoryInput, Code, Input, NumberInput, has_words
from rpte.export.sql.dialects import CLASS, find_dialect
from rpte.model.labels import Label
from rpte.table.column import LARGEST
from rpte.table.decimals import number_text
from rpte.table.spelling import NUMBER_BEGINS, TRUTHS

Columns = list[tuple[str, exp.Expr]]  # by name
SIGNS: dict[str, type[exp.Expr]] = {
    "+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div,
    "<=": exp.LTE, "<": exp.LT, ">": exp.GT, ">=": exp.GTE, "==": exp.EQ,
}  # fmt: skip
FUNCTIONS = {"log": exp.Ln, "sqrt": exp.Sqrt, "exp": exp.Exp}
# Logarithms between which a product is an ordinary number.
LEAST_LOG, MOST_LOG = -600.0, 709.782712893384
TINY = 1e-200
MOST_ARGUMENTS = 50  # of LEAST; SQLite takes no more than some hundred
# Of a text that is a number: a zero before another digit, with nothing before it but blanks.
LEADING_ZERO = "*[^-+.0-9eE]0[0-9]*"


class Expressions(Translation[exp.Expr]):
    """How one dialect writes the nodes of a form.

    `prefix` begins the names of lines; `more` is what the query computes beside them.
    """

    def __init__(
        self, form: Form, dialect: str, prefix: str, quoted: bool, more: Iterable[Node] = ()
    ) -> None:
        self.form, self.prefix, self.quoted = form, prefix, quoted
        self.source = f"{prefix}table"  # what the query calls the user's table
        self.dialect, self.traits = dialect, find_dialect(dialect)
        # Whether the database casts texts that are no numbers without an error.
        self.quiet = self.traits.text_numbers != "error"
        below = [*all_nodes(form), *(node for number in more for node in nodes(number))]
        operations = [node for node in below if isinstance(node, Operation)]
        self.watched = {node.parts[0] for node in operations if node.name == "finite"}
        products = (node for node in operations if _is_product(node) or node in self.watched)
        self.products = list(dict.fromkeys(products))

    def column(self, name: str, table: str | None = None) -> exp.Column:
        """Return a column by name."""
        return exp.column(self.identifier(name), table=table)

    def raw(self, name: str) -> exp.Column:
        """Return a column of the user's table: of that table, so that one it lacks is an error.

        SQLite would read an unknown name in quotes as a text.
        """
        return self.column(name, table=self.source)

    def identifier(self, name: str) -> exp.Identifier:
        """Return a name as the dialect quotes it."""
        return exp.to_identifier(name, quoted=self.quoted)

    def line(self, name: str) -> exp.Column:
        """Return the column of a line, or another one of the query's own."""
        return self.column(self.prefix + name)

    def literal(self, value: float) -> exp.Expr:
        """Return a float64, in as many digits as it takes to be the same number."""
        if value < 0:
            return exp.Neg(this=self.literal(-value))
        text = number_text(value).upper()
        if self.traits.to_number:
            wide = value != 0 and not 1e-120 < value < 1e120
            return self._made(exp.Literal.string(text)) if wide else exp.Literal.number(text)
        text = text if "E" in text else f"{text}E0"
        if self.dialect == "sqlite" and _misread(text, value):
            near = float(f"{value:.15g}")
            return _wrap(exp.Add(this=self.literal(near), expression=self.literal(value - near)))
        return exp.Literal.number(text)

    def text(self, value: str) -> exp.Expr:
        """Return a text."""
        return exp.National(this=value) if self.traits.national else exp.Literal.string(value)

    def read(self, given: Input) -> Columns:
        """Return the columns that an input is read into.

        A number beyond 1e300, infinite or NaN is NULL; special codes have a column of their own,
        and so has whether there was anything to read, where a cast alone does not refuse texts.
        """
        raw = self.raw(given.name)
        if isinstance(given, CategoryInput):
            return [(given.name, self._category(given, raw))]
        cell = self._as_number(raw)
        if given.words:
            known = self._in(self._exact(self._as_text(raw)), given.words)
            cell = _joined(exp.Case().when(known, exp.null()), cell)
        most = self.literal(LARGEST)
        inside: exp.Expr = exp.Between(this=cell.copy(), low=exp.Neg(this=most), high=most)
        if given.numbers:
            inside = exp.and_(inside, self._in(cell.copy(), given.numbers, inside=False))
        columns: Columns = [(given.name, exp.Case().when(inside, cell))]
        if given.codes:
            columns.append((self._own(given, "code"), self._code(given, cell)))
        if self.quiet:
            there = _there(raw.copy())
            if self.traits.text_numbers == "null":
                word = exp.NEQ(this=self._as_text(raw), expression=exp.Literal.string("NaN"))
                there = exp.and_(there, word, copy=False)
            columns.append((self._own(given, "given"), exp.Case().when(there, self.literal(1.0))))
        return columns

    def _own(self, given: Input, what: str) -> str:
        """Return the column of a number's special code (code), or whether it was given (given)."""
        return f"{self.prefix}{what}_{self.form.inputs.index(given) + 1}"

    def _code(self, given: NumberInput, cell: exp.Expr) -> exp.Expr:
        case = exp.Case()
        for word in given.words:
            text = self._exact(self._as_text(self.raw(given.name)))
            case = case.when(self._in(text, [word]), self.text(word))
        for number in given.numbers:
            case = case.when(self._in(cell.copy(), [number]), self.text(number_text(number)))
        return case

    def _category(self, given: CategoryInput, raw: exp.Column) -> exp.Expr:
        """Return the form of the level that a cell spells; any other text without its blanks."""
        text = exp.Trim(this=self._as_text(raw), expression=exp.Literal.string(" "))
        numbers = given.numeric()
        if not given.boolean and not numbers:
            return text
        bare = _without_last(_without_last(text.copy(), "0"), ".")
        point = exp.Like(this=text.copy(), expression=exp.Literal.string("%.%"))
        case = exp.Case()
        if not given.boolean:
            known = [*numbers, "-0"] if "0" in numbers else numbers
            spelled = exp.and_(point, self._in(bare, known), copy=False)
            return case.when(spelled, bare.copy()).else_(text)
        for level, digits in (("True", ["1"]), ("False", ["0", "-0"])):
            words = [word for word, truth in TRUTHS.items() if truth == level]
            said = self._in(exp.Lower(this=text.copy()), dict.fromkeys([*words, *digits]))
            digit = exp.and_(point.copy(), self._in(bare.copy(), digits), copy=False)
            case = case.when(exp.or_(said, digit, copy=False), self.text(level))
        return case.else_(text)

    def _readable(self, given: Input) -> exp.Expr:
        """Return whether a cell was read: a boolean is no number, a number or a code was found."""
        if isinstance(given, NumberInput):
            names = [given.name, *([self._own(given, "code")] if given.codes else [])]
            absent = self.column(self._own(given, "given")).is_(exp.null())
            return exp.or_(absent, *(_there(self.column(name)) for name in names), copy=False)
        cell, one = self.column(given.name), exp.Literal.number(1)
        first = exp.Substring(this=cell, start=one, length=one.copy())
        begins = self._in(first, sorted(NUMBER_BEGINS), inside=False)
        return exp.or_(cell.copy().is_(exp.null()), begins, copy=False)

    def name(self, line: Definition) -> str:
        """Return the column of a line without its prefix; a class is told by its label."""
        return CLASS if line.role == "class" else line.name

    def defined(self, line: Definition) -> exp.Expr:
        """Return a line of the form; NULL where it reads a cell that cannot be read."""
        if line.role == "class":
            return self._label()
        value = self.node(line.value)
        first = "column" if self.form.classes else "term"  # what reads the inputs
        read = [self.form.input(name) for name in line.sources] if line.role == first else []
        doubtful = [g for g in read if (g.closed if isinstance(g, CategoryInput) else self.quiet)]
        if not doubtful:
            return value
        return exp.Case().when(exp.and_(*map(self._readable, doubtful), copy=False), value)

    def _label(self) -> exp.Expr:
        """Return the label of the class of the largest score; NULL where there are no scores."""
        case = exp.Case()
        for score, label in zip(self.form.role("score"), self.form.classes, strict=True):
            largest = exp.GTE(this=self.line(score.name), expression=self.line("largest"))
            case = case.when(largest, self._label_literal(label), copy=False)
        return exp.Case().when(_there(self.line("total")), case, copy=False)

    def _label_literal(self, label: Label) -> exp.Expr:
        if isinstance(label, str):
            return self.text(label)
        return self.literal(label) if isinstance(label, float) else exp.Literal.number(int(label))

    def extreme(self, values: Sequence[exp.Expr], least: bool = False) -> exp.Expr:
        """Return the largest of some numbers, or the least."""
        names = ("MIN", "MAX") if self.dialect == "sqlite" else ("LEAST", "GREATEST")
        name = names[0] if least else names[1]
        while len(values) > 1:
            parts = [values[i : i + MOST_ARGUMENTS] for i in range(0, len(values), MOST_ARGUMENTS)]
            values = [
                exp.Anonymous(this=name, expressions=part) if len(part) > 1 else part[0]
                for part in parts
            ]
        return values[0]

    def _as_text(self, raw: exp.Column) -> exp.Expr:
        return exp.cast(raw.copy(), exp.DataType.build(self.traits.text_type, dialect=self.dialect))

    def _as_number(self, raw: exp.Column) -> exp.Expr:
        number = self._made(raw.copy()) if self.traits.to_number else exp.cast(raw.copy(), "double")
        test = self._is_number(raw)
        return number if test is None else exp.Case().when(test, number)

    def _is_number(self, raw: exp.Column) -> exp.Expr | None:
        """Return the test for a cell that a cast reads as the model does; None if all are."""
        match self.traits.text_numbers:
            case "affinity":
                # Beside a cast to REAL, SQLite compares a text that is a number to its last
                # character as that number, and any other text, or a blob, is larger than every
                # number.
                most = exp.cast(self.literal(LARGEST), "double")
                padded = exp.DPipe(this=exp.Literal.string(" "), expression=raw.copy(), safe=True)
                zero = exp.Glob(this=padded, expression=exp.Literal.string(LEADING_ZERO))
                number = exp.LTE(this=raw.copy(), expression=most)
                return exp.and_(number, exp.not_(zero), copy=False)
            case "pattern":  # by a function that MySQL and MariaDB share
                parts = [self._as_text(raw), exp.Literal.string(NUMBER_TEXT)]
                place = exp.Anonymous(this="REGEXP_INSTR", expressions=parts)
                return exp.EQ(this=place, expression=exp.Literal.number(1))
            case "blank":
                return exp.NEQ(this=self._as_text(raw), expression=exp.Literal.string(""))
        return None

    def _made(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this=self.traits.to_number, expressions=[value])

    def _in(self, cell: exp.Expr, values: Iterable[Code], inside: bool = True) -> exp.Expr:
        cells = [self.text(v) if isinstance(v, str) else self.literal(v) for v in values]
        if len(cells) == 1:
            return (exp.EQ if inside else exp.NEQ)(this=cell, expression=cells[0])
        found = exp.In(this=cell, expressions=cells)
        return found if inside else exp.not_(found)

    def node(self, node: Node) -> exp.Expr:
        """Return an expression; a product of two variables has a column of its own."""
        if isinstance(node, Operation) and node in self.products:
            return self.column(self.product_name(node))
        found = super().node(node)
        match node:
            case Operation("*", (_, right)) if self._may_underflow(right):
                small = exp.Abs(this=self.node(right)) < self.literal(TINY)
                return exp.Case().when(small, self.literal(0.0)).else_(found)
        return found

    def _may_underflow(self, factor: Node) -> bool:
        """Tell whether a coefficient times a number may be an error, being too small."""
        if isinstance(factor, Line):  # the value of a column that several classes weigh
            factor = next(line.value for line in self.form.lines if line.name == factor.name)
        return not self.traits.underflows and _may_be_tiny(factor)

    def _operation(self, name: str, *parts: exp.Expr) -> exp.Expr:
        match name:
            case "if":
                holds, yes, no = parts
                return _joined(exp.Case().when(holds, yes, copy=False), no)
            case "sum":
                inner = [_wrap(part) if isinstance(part, exp.Add) else part for part in parts]
                return reduce(lambda left, right: exp.Add(this=left, expression=right), inner)
            case "and":  # NULL stands for false
                return exp.and_(*parts, copy=False)
            case "finite":
                return _there(parts[0])
            case "max":
                return self.extreme(parts)
        if name in FUNCTIONS:
            return FUNCTIONS[name](this=parts[0])
        return SIGNS[name](this=_wrap(parts[0]), expression=_wrap(parts[1]))

    _constant, _value, _line = literal, column, line

    def _present(self, name: str) -> exp.Expr:
        return _there(self.column(name))

    def _missing(self, name: str) -> exp.Expr:
        given = self.form.input(name)
        gone: exp.Expr = self.column(name).is_(exp.null())
        if isinstance(given, NumberInput) and given.codes:
            return exp.and_(gone, self.column(self._own(given, "code")).is_(exp.null()))
        return gone

    def _one_of(self, node: OneOf) -> exp.Expr:
        given = self.form.input(node.input)
        if isinstance(given, NumberInput):
            code: exp.Expr = self.column(self._own(given, "code"))
            code = self._exact(code) if has_words(given) else code
            names = (c if isinstance(c, str) else number_text(c) for c in node.levels)
            return self._in(code, names)
        if not node.levels:
            return _there(self.column(given.name))
        levels = list(given.forms(node.levels))
        levels += ["-0"] if "0" in given.numeric() and "0" in levels else []
        return self._in(self._exact(self.column(given.name)), levels, node.inside)

    def _exact(self, text: exp.Expr) -> exp.Expr:
        if not self.traits.collation:
            return text
        if self.traits.collation == "binary":
            return exp.cast(text, "binary")
        return exp.Collate(this=text, expression=exp.to_identifier(self.traits.collation))

    def product_name(self, node: Operation) -> str:
        """Return the column of a product of two variables."""
        return f"{self.prefix}product_{self.products.index(node) + 1}"

    def factors(self, node: Operation) -> Iterator[tuple[str, Node]]:
        """Yield the column and the node of each factor of a product."""
        for side, factor in zip("ab", node.parts, strict=True):
            own = f"{self.product_name(node)}_{side}"
            yield factor.input if isinstance(factor, Value) else own, factor

    def product(self, node: Operation) -> exp.Expr:
        """Return a product of two variables: NULL where it overflows."""
        left, right = (self.column(name) for name, _ in self.factors(node))
        product = exp.Mul(this=left, expression=right)
        if node in self.watched and self.traits.infinities:
            return exp.Case().when(exp.Abs(this=product.copy()) <= self.literal(MAX_FLOAT), product)
        if self.traits.infinities or (node not in self.watched and self.traits.underflows):
            return product
        # NULL where it would overflow, and 0 where it is too small.
        zero, least = self.literal(0.0), self.literal(LEAST_LOG)
        none = exp.or_(left.eq(zero), right.eq(zero))
        size = exp.Ln(this=exp.Abs(this=left.copy())) + exp.Ln(this=exp.Abs(this=right.copy()))
        usual = exp.Between(this=size, low=least, high=self.literal(MOST_LOG))
        small = exp.LT(this=size.copy(), expression=least.copy())
        return exp.Case().when(none, zero).when(usual, product).when(small, zero)


def _without_last(text: exp.Expr, character: str) -> exp.Expr:
    return exp.Trim(this=text, expression=exp.Literal.string(character), position="TRAILING")


def _there(expression: exp.Expr) -> exp.Expr:
    return exp.not_(expression.is_(exp.null()))


def _wrap(expression: exp.Expr) -> exp.Expr:
    simple = (exp.Column, exp.Literal, exp.Func, exp.Neg)
    return expression if isinstance(expression, simple) else exp.Tuple(expressions=[expression])


def _joined(case: exp.Case, no: exp.Expr) -> exp.Case:
    """Return a CASE with an alternative; another CASE becomes further branches."""
    if not isinstance(no, exp.Case) or no.this is not None:
        return case.else_(no, copy=False)
    for branch in no.args["ifs"]:
        case = case.when(branch.this, branch.args["true"], copy=False)
    default = no.args.get("default")
    return case if default is None else case.else_(default, copy=False)


def _may_be_tiny(node: Node) -> bool:
    """Tell whether a number other than 0 may be near the smallest float."""
    match node:
        case Constant() | Line() | Operation("log" | "sqrt" | "exp" | "*"):
            return False  # a careful product is not
        case Operation("-", parts):
            ends = [part.value for part in parts if isinstance(part, Constant)]
            return not ends or abs(ends[0]) < TINY
        case Operation("if", (_, *sides)):
            return any(map(_may_be_tiny, sides))
    return True


def _is_product(node: Node) -> bool:
    """Tell whether two numbers that vary are multiplied."""
    if not isinstance(node, Operation) or node.name != "*":
        return False
    return not any(isinstance(part, Constant) for part in node.parts)


def _misread(text: str, value: float) -> bool:
    """Tell whether SQLite reads a decimal as a neighbour of the float that it stands for."""
    if len(text) < 17:
        return False
    with sqlite3.connect(":memory:") as connection:
        return bool(connection.execute(f"SELECT {text}").fetchone()[0] != value)
