"""The nodes of a form as sqlglot expressions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from sqlglot import exp

from rpte.export.cells import has_words
from rpte.export.form import (
    MAX_FLOAT,
    CategoryInput,
    Code,
    Constant,
    Definition,
    Form,
    Input,
    Line,
    Node,
    NumberInput,
    OneOf,
    Operation,
    Translation,
    Value,
    all_nodes,
    nodes,
)
from rpte.export.sql.dialects import find_dialect
from rpte.export.sql.numbers import is_given, is_number, misread
from rpte.export.target import is_product
from rpte.table.column import LARGEST
from rpte.table.decimals import number_text
from rpte.table.spelling import NUMBER_BEGINS, TRUTHS

SIGNS: dict[str, type[exp.Expr]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "<=": exp.LTE,
    "<": exp.LT,
    ">": exp.GT,
    ">=": exp.GTE,
}
FUNCTIONS = {"log": exp.Ln, "sqrt": exp.Sqrt, "exp": exp.Exp}
# Logarithms between which a product is an ordinary number.
LEAST_LOG, MOST_LOG = -600.0, 709.782712893384
TINY = 1e-200


class Expressions(Translation[exp.Expr]):
    """How one dialect writes the nodes of a form.

    Parameters
    ----------
    form : Form
    dialect : str
    prefix : str
        Of the names of lines.
    quoted : bool
        Whether names are quoted.
    more : iterable of Node
        What the query computes beside the lines of the form.
    """

    def __init__(
        self, form: Form, dialect: str, prefix: str, quoted: bool, more: Iterable[Node] = ()
    ) -> None:
        self.form, self.prefix, self.quoted = form, prefix, quoted
        self.dialect, self.ways = dialect, find_dialect(dialect)
        below = [*all_nodes(form), *(node for number in more for node in nodes(number))]
        operations = [node for node in below if isinstance(node, Operation)]
        self.watched = {node.parts[0] for node in operations if node.name == "finite"}
        products = (node for node in operations if is_product(node) or node in self.watched)
        self.products = list(dict.fromkeys(products))

    def column(self, name: str, table: str | None = None) -> exp.Column:
        """Return a column by name."""
        return exp.column(self.identifier(name), table=table)

    def raw(self, name: str) -> exp.Column:
        """Return a column of the user's table: of that table, so that one it lacks is an error.

        SQLite would read an unknown name in quotes as a text.
        """
        return self.column(name, table=self.source)

    @property
    def source(self) -> str:
        """What the query calls the user's table."""
        return f"{self.prefix}table"

    def identifier(self, name: str) -> exp.Identifier:
        """Return a name as the dialect quotes it."""
        return exp.to_identifier(name, quoted=self.quoted)

    def line(self, name: str) -> exp.Column:
        """Return the column of a line."""
        return self.column(self.prefix + name)

    def literal(self, value: float) -> exp.Expr:
        """Return a float64, in as many digits as it takes to be the same number."""
        if value < 0:
            return exp.Neg(this=self.literal(-value))
        text = number_text(value).upper()
        if self.ways.to_number:
            wide = value != 0 and not 1e-120 < value < 1e120
            return self._made(exp.Literal.string(text)) if wide else exp.Literal.number(text)
        text = text if "E" in text else f"{text}E0"
        if self.dialect == "sqlite" and misread(text, value):
            near = float(f"{value:.15g}")
            return _wrap(exp.Add(this=self.literal(near), expression=self.literal(value - near)))
        return exp.Literal.number(text)

    def text(self, value: str) -> exp.Expr:
        """Return a text."""
        return exp.National(this=value) if self.ways.national else exp.Literal.string(value)

    def read(self, given: Input) -> list[tuple[str, exp.Expr]]:
        """Return the columns that an input is read into, by name.

        A number beyond 1e300, infinite or NaN is NULL; special codes have a column of their own,
        and so has whether there was anything to read, where a cast alone does not refuse texts.
        """
        raw = self.raw(given.name)
        if isinstance(given, CategoryInput):
            return [(given.name, self._category(given, raw))]
        words, numbers = given.words, given.numbers
        if words:
            known = self._in(self._exact(self._as_text(raw)), words)
            cell: exp.Expr = _joined(exp.Case().when(known, exp.null()), self._as_number(raw))
        else:
            cell = self._as_number(raw)
        most = self.literal(LARGEST)
        inside: exp.Expr = exp.Between(this=cell.copy(), low=exp.Neg(this=most), high=most)
        if numbers:
            inside = exp.and_(inside, self._not_in(cell.copy(), numbers))
        columns: list[tuple[str, exp.Expr]] = [(given.name, exp.Case().when(inside, cell))]
        if given.codes:
            columns.append((self.code_name(given), self._code(raw, cell, words, numbers)))
        if self.quiet:
            there = is_given(raw, self._as_text(raw), self.ways.text_numbers)
            columns.append((self.given_name(given), exp.Case().when(there, self.literal(1.0))))
        return columns

    @property
    def quiet(self) -> bool:
        """Whether the database casts texts that are no numbers without an error."""
        return self.ways.text_numbers != "error"

    def given_name(self, given: Input) -> str:
        """Return the column that is NULL where a number is missing from the user's table."""
        return f"{self.prefix}given_{self.form.inputs.index(given) + 1}"

    def code_name(self, given: Input) -> str:
        """Return the column that holds a number's special code."""
        return f"{self.prefix}code_{self.form.inputs.index(given) + 1}"

    def _code(
        self, raw: exp.Column, cell: exp.Expr, words: Iterable[Code], numbers: Iterable[Code]
    ) -> exp.Expr:
        """Return which special code a cell holds, as a text."""
        case = exp.Case()
        for word in words:
            cell_text = self._exact(self._as_text(raw))
            case = case.when(self._in(cell_text, [word]), self.text(str(word)))
        for number in numbers:
            case = case.when(self._in(cell.copy(), [number]), self.text(code_text(number)))
        return case

    def _category(self, given: CategoryInput, raw: exp.Column) -> exp.Expr:
        """Return the form of the level that a cell spells; any other text without its blanks."""
        text = exp.Trim(this=self._as_text(raw), expression=exp.Literal.string(" "))
        numbers = given.numeric()
        if not given.boolean and not numbers:
            return text
        bare = _without_last(_without_last(text.copy(), "0"), ".")
        point = exp.Like(this=text.copy(), expression=exp.Literal.string("%.%"))
        if given.boolean:
            case = exp.Case()
            for level, digits in (("True", ["1"]), ("False", ["0", "-0"])):
                words = [word for word, truth in TRUTHS.items() if truth == level]
                said = self._in(exp.Lower(this=text.copy()), dict.fromkeys([*words, *digits]))
                digit = exp.and_(point.copy(), self._in(bare.copy(), digits), copy=False)
                case = case.when(exp.or_(said, digit, copy=False), self.text(level))
            return case.else_(text)
        known = [*numbers, "-0"] if "0" in numbers else numbers
        spelled = exp.and_(point, self._in(bare, known), copy=False)
        return exp.Case().when(spelled, bare.copy()).else_(text)

    def readable(self, given: Input) -> exp.Expr:
        """Return whether a cell was read: a boolean is no number, a number or a code was found."""
        if isinstance(given, NumberInput):
            found = [self.column(given.name)]
            found += [self.column(self.code_name(given))] if given.codes else []
            absent = self.column(self.given_name(given)).is_(exp.null())
            return exp.or_(absent, *map(_there, found), copy=False)
        first = exp.Substring(
            this=self.column(given.name),
            start=exp.Literal.number(1),
            length=exp.Literal.number(1),
        )
        gone: exp.Expr = self.column(given.name).is_(exp.null())
        return exp.or_(gone, self._not_in(first, sorted(NUMBER_BEGINS)), copy=False)

    def defined(self, line: Definition) -> exp.Expr:
        """Return a line of the form; NULL where it reads a cell that cannot be read."""
        value = self.node(line.value)
        read = [self.form.input(name) for name in line.sources] if line.role == "term" else []
        doubtful = [g for g in read if (g.closed if isinstance(g, CategoryInput) else self.quiet)]
        if not doubtful:
            return value
        return exp.Case().when(exp.and_(*map(self.readable, doubtful), copy=False), value)

    def _as_text(self, raw: exp.Column) -> exp.Expr:
        return exp.cast(raw.copy(), exp.DataType.build(self.ways.text_type, dialect=self.dialect))

    def _as_number(self, raw: exp.Column) -> exp.Expr:
        number = self._made(raw.copy()) if self.ways.to_number else exp.cast(raw.copy(), "double")
        most = self.literal(LARGEST)
        test = is_number(raw, self._as_text(raw), most, self.ways.text_numbers)
        return number if test is None else exp.Case().when(test, number)

    def _made(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this=self.ways.to_number, expressions=[value])

    def _in(self, cell: exp.Expr, values: Iterable[Code]) -> exp.Expr:
        cells = [self.text(v) if isinstance(v, str) else self.literal(v) for v in values]
        if len(cells) == 1:
            return exp.EQ(this=cell, expression=cells[0])
        return exp.In(this=cell, expressions=cells)

    def _not_in(self, cell: exp.Expr, values: Iterable[Code]) -> exp.Expr:
        found = self._in(cell, values)
        if isinstance(found, exp.EQ):
            return exp.NEQ(this=found.this, expression=found.expression)
        return exp.not_(found)

    def node(self, node: Node) -> exp.Expr:
        """Return an expression; a product of two variables has a column of its own."""
        if node in self.products:
            return self.column(self.product_name(node))
        found = super().node(node)
        match node:
            case Operation("*", (_, right)) if not self.ways.underflows and _may_be_tiny(right):
                size = exp.Abs(this=self.node(right))
                small = exp.LT(this=size, expression=self.literal(TINY))
                return exp.Case().when(small, self.literal(0.0)).else_(found)
        return found

    def _operation(self, name: str, *parts: exp.Expr) -> exp.Expr:
        match name:
            case "if":
                holds, yes, no = parts
                return _joined(exp.Case().when(holds, yes, copy=False), no)
            case "sum":
                return reduce(lambda left, right: exp.Add(this=left, expression=right), parts)
            case "and":  # NULL stands for false
                return exp.and_(*parts, copy=False)
            case "finite":
                return _there(parts[0])
        if name in FUNCTIONS:
            return FUNCTIONS[name](this=parts[0])
        return SIGNS[name](this=_wrap(parts[0]), expression=_wrap(parts[1]))

    def _constant(self, value: float) -> exp.Expr:
        return self.literal(value)

    def _value(self, name: str) -> exp.Expr:
        return self.column(name)

    def _line(self, name: str) -> exp.Expr:
        return self.line(name)

    def _present(self, name: str) -> exp.Expr:
        return _there(self.column(name))

    def product_name(self, node: Operation) -> str:
        """Return the column of a product of two variables."""
        return f"{self.prefix}product_{self.products.index(node) + 1}"

    def factors(self) -> list[tuple[str, exp.Expr]]:
        """Return the columns of factors that are more than an input, by name."""
        return [
            (f"{self.product_name(node)}_{side}", self.node(factor))
            for node in self.products
            for side, factor in zip("ab", node.parts, strict=True)
            if not isinstance(factor, Value)
        ]

    def product(self, node: Operation) -> exp.Expr:
        """Return a product of two variables: NULL where it overflows."""
        left, right = (
            self.node(factor)
            if isinstance(factor, Value)
            else self.column(f"{self.product_name(node)}_{side}")
            for side, factor in zip("ab", node.parts, strict=True)
        )
        product = exp.Mul(this=left, expression=right)
        if node in self.watched and self.ways.infinities:
            most = self.literal(MAX_FLOAT)
            return exp.Case().when(
                exp.LTE(this=exp.Abs(this=product.copy()), expression=most), product
            )
        if self.ways.infinities or (node not in self.watched and self.ways.underflows):
            return product
        return self._careful(left, right, product)

    def _careful(self, left: exp.Expr, right: exp.Expr, product: exp.Expr) -> exp.Expr:
        """Return a product that is NULL where it would overflow, and 0 where it is too small."""
        zero = self.literal(0.0)
        none = exp.or_(*(exp.EQ(this=side.copy(), expression=zero) for side in (left, right)))
        sizes = [exp.Ln(this=exp.Abs(this=side.copy())) for side in (left, right)]
        size = exp.Add(this=sizes[0], expression=sizes[1])
        least = self.literal(LEAST_LOG)
        usual = exp.Between(this=size, low=least, high=self.literal(MOST_LOG))
        small = exp.LT(this=size.copy(), expression=least.copy())
        return exp.Case().when(none, zero.copy()).when(usual, product).when(small, zero.copy())

    def _missing(self, name: str) -> exp.Expr:
        given = self.form.input(name)
        gone: exp.Expr = self.column(name).is_(exp.null())
        if isinstance(given, NumberInput) and given.codes:
            return exp.and_(gone, self.column(self.code_name(given)).is_(exp.null()))
        return gone

    def _one_of(self, node: OneOf) -> exp.Expr:
        given = self.form.input(node.input)
        if isinstance(given, NumberInput):
            code: exp.Expr = self.column(self.code_name(given))
            code = self._exact(code) if has_words(given) else code
            return self._in(code, map(code_text, node.levels))
        if not node.levels:
            return _there(self.column(given.name))
        levels = list(given.forms(node.levels))
        levels += ["-0"] if "0" in given.numeric() and "0" in levels else []
        cell = self._exact(self.column(given.name))
        return self._in(cell, levels) if node.inside else self._not_in(cell, levels)

    def _exact(self, text: exp.Expr) -> exp.Expr:
        """Return a text that is compared byte by byte."""
        if not self.ways.collation:
            return text
        if self.ways.collation == "binary":
            return exp.cast(text, "binary")
        return exp.Collate(this=text, expression=exp.to_identifier(self.ways.collation))


def code_text(code: Code) -> str:
    """Return the name of a special code."""
    return code if isinstance(code, str) else number_text(code)


def _without_last(text: exp.Expr, character: str) -> exp.Expr:
    return exp.Trim(this=text, expression=exp.Literal.string(character), position="TRAILING")


def _there(expression: exp.Expr) -> exp.Expr:
    return exp.not_(expression.is_(exp.null()))


def _wrap(expression: exp.Expr) -> exp.Expr:
    """Put parentheses around an operation."""
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
