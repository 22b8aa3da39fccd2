"""The kinds of vocabulary column: each knows its sources, how to say itself and how to evaluate.

A column has a `name`, which ties between columns are broken by and which never changes, and a
`text`, which people read. It is *binary* (0/1, and 0 where a part is missing) or numeric (NaN where
missing). A numeric column of one variable is missing exactly where the variable has no number.
Model files keep a column as the record that `to_dict` writes and `column_from_dict` reads: its kind
and its fields.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from rpte.columns.logarithm import logarithm
from rpte.columns.units import level_set_conditions
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.table.spelling import DECIMAL
from rpte.utils.arrays import Floats, Mask

Operation = Literal["product", "absolute difference", "sum", "difference"]
Side = Literal["above", "below"]
Formula = Literal["log", "sqrt", "clip", "distance"]

# The numbers that each formula needs, by the names they have in the model file, and those that it
# has where it is flat beyond limits.
FORMULAS: dict[str, tuple[str, ...]] = {
    "log": ("low",),
    "sqrt": ("low",),
    "clip": ("low", "high"),
    "distance": ("centre",),
}
LIMITED: dict[str, tuple[str, ...]] = {
    "log": ("low", "high"),
    "sqrt": ("low", "high"),
    "clip": ("low", "high"),
    "distance": ("centre", "low", "high"),
}
LARGEST = float(np.finfo(np.float64).max)


def said_level(level: str) -> str:
    """Return a level as people read it: a number as it is, any other text in quotes."""
    return level if DECIMAL.fullmatch(level) else repr(level)


class Column:
    """What every vocabulary column can do; model files keep it as its kind and its fields."""

    __slots__ = ()
    kind: ClassVar[str]
    binary: ClassVar[bool] = False

    @property
    def centred(self) -> bool:
        """Whether a direct term counts the column from a centre.

        If not, the column is zero where it says nothing, and its centre is 0.
        """
        return False

    @property
    def sources(self) -> tuple[str, ...]:
        """The raw variables that the column reads, one or two."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What tells the column from others: ties are broken by it, so it stays as it is."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The column as people read it."""
        return self.name

    def conditions(self, schema: Schema) -> int:
        """Return how many conditions a person reads to check the column."""
        raise NotImplementedError

    def evaluate(self, inputs: Inputs) -> Floats:
        """Return the column's values, shape (n_rows,)."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain JSON values; an infinite end of an interval is null."""
        column: Any = self
        values = {field.name: getattr(self, field.name) for field in fields(column)}
        return {"kind": self.kind, **{k: _plain(v) for k, v in values.items() if v is not None}}


def _plain(value: Any) -> Any:
    if isinstance(value, Column):
        return value.to_dict()
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and math.isinf(value) else value


@dataclass(frozen=True, slots=True)
class OneSource(Column):
    """What columns of one variable share: one cell to read."""

    source: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The variable."""
        return (self.source,)

    @property
    def limits(self) -> tuple[float, float]:
        """Between which numbers the column changes, but for jumps: beyond them it is flat."""
        return -math.inf, math.inf

    def conditions(self, schema: Schema) -> int:
        """One cell to look at."""
        return 1


class Flag:
    """What 0/1 columns share."""

    __slots__ = ()
    binary: ClassVar[bool] = True

    def holds(self, inputs: Inputs) -> Mask:
        """Return where the column is 1, shape (n_rows,)."""
        raise NotImplementedError

    def evaluate(self, inputs: Inputs) -> Floats:
        """Return 1.0 where the column holds."""
        return self.holds(inputs).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Value(OneSource):
    """A number as it is."""

    kind: ClassVar[str] = "value"
    centred: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.source

    def evaluate(self, inputs: Inputs) -> Floats:
        """Return the numbers, NaN where missing."""
        return inputs[self.source]


@dataclass(frozen=True, slots=True)
class Level(Flag, OneSource):
    """A category is one of some levels; false where missing or unseen."""

    levels: tuple[str, ...]
    kind: ClassVar[str] = "level"

    @property
    def name(self) -> str:
        """``region is north`` or ``region in {north, west}``."""
        if len(self.levels) == 1:
            return f"{self.source} is {self.levels[0]}"
        return f"{self.source} in {{{', '.join(self.levels)}}}"

    @property
    def text(self) -> str:
        """``region is 'north'``, ``smoker = 1`` or ``region in {'north', 'west'}``."""
        if len(self.levels) == 1:
            said = said_level(self.levels[0])
            return f"{self.source} {'=' if said == self.levels[0] else 'is'} {said}"
        return f"{self.source} in {{{', '.join(map(said_level, self.levels))}}}"

    def conditions(self, schema: Schema) -> int:
        """One condition for each eight levels listed, in or out, the shorter."""
        return level_set_conditions(len(self.levels), len(schema[self.source].levels))

    def holds(self, inputs: Inputs) -> Mask:
        """Return where the level is one of these."""
        known = inputs.schema[self.source].levels
        listed = np.zeros(len(known) - min(MISSING, UNSEEN), bool)  # these two count from the end
        listed[[known.index(level) for level in self.levels]] = True
        return listed[inputs.codes(self.source)]


@dataclass(frozen=True, slots=True)
class Missing(Flag, OneSource):
    """A variable has no value."""

    kind: ClassVar[str] = "missing"

    @property
    def name(self) -> str:
        """``age is missing``."""
        return f"{self.source} is missing"

    def holds(self, inputs: Inputs) -> Mask:
        """Return where the cell is empty."""
        return inputs.is_missing(self.source)


@dataclass(frozen=True, slots=True)
class Interval(Flag, OneSource):
    """A number lies in [low, high); either end may be infinite; false where missing."""

    low: float
    high: float
    kind: ClassVar[str] = "interval"

    @property
    def unbounded(self) -> bool:
        """Whether every number lies inside: false only where there is none."""
        return math.isinf(self.low) and math.isinf(self.high)

    @property
    def name(self) -> str:
        """``20 <= age < 35``, ``age < 20`` or ``age >= 35``."""
        if self.unbounded:
            return f"{self.source} is present"
        if math.isinf(self.low):
            return f"{self.source} < {number_text(self.high)}"
        if math.isinf(self.high):
            return f"{self.source} >= {number_text(self.low)}"
        return f"{number_text(self.low)} <= {self.source} < {number_text(self.high)}"

    def holds(self, inputs: Inputs) -> Mask:
        """Return where the number lies inside."""
        x = inputs[self.source]
        return np.asarray((x >= self.low) & (x < self.high))


@dataclass(frozen=True, slots=True)
class Step(Flag, OneSource):
    """A number lies above a threshold; false where missing."""

    threshold: float
    kind: ClassVar[str] = "step"

    @property
    def name(self) -> str:
        """``age > 40``."""
        return f"{self.source} > {number_text(self.threshold)}"

    def holds(self, inputs: Inputs) -> Mask:
        """Return where the number lies above the threshold."""
        return np.asarray(inputs[self.source] > self.threshold)


@dataclass(frozen=True, slots=True)
class Hinge(OneSource):
    """How far a number lies above (or below) a knot, 0 on the other side; flat beyond an end."""

    knot: float
    side: Side
    end: float | None = None
    kind: ClassVar[str] = "hinge"

    @property
    def name(self) -> str:
        """``age above 40``, ``age below 40``, ``age above 40 up to 58``."""
        return " ".join([f"{self.source} {self.side} {number_text(self.knot)}", *self._end])

    @property
    def text(self) -> str:
        """``age above 40``, ``age below 40``, ``age above 40, up to 58``."""
        return ", ".join([f"{self.source} {self.side} {number_text(self.knot)}", *self._end])

    @property
    def _end(self) -> list[str]:
        way = "up to" if self.side == "above" else "down to"
        return [] if self.end is None else [f"{way} {number_text(self.end)}"]

    @property
    def limited(self) -> bool:
        """Whether it is flat beyond both the knot and an end."""
        return self.end is not None

    @property
    def limits(self) -> tuple[float, float]:
        """The knot and the end."""
        if self.side == "above":
            return self.knot, math.inf if self.end is None else self.end
        return -math.inf if self.end is None else self.end, self.knot

    def evaluate(self, inputs: Inputs) -> Floats:
        """Return max(0, min(x, end) - knot) or max(0, knot - max(x, end))."""
        x = inputs[self.source]
        if self.end is not None:
            x = (np.minimum if self.side == "above" else np.maximum)(x, self.end)
        gap = _gap(x, self.knot)
        if self.side == "below":
            np.negative(gap, out=gap)
        np.maximum(gap, 0.0, out=gap)
        gap += 0.0  # no zero is negative
        return gap


@dataclass(frozen=True, slots=True)
class Scale(OneSource):
    """A formula of a number; `numbers` are those that `FORMULAS` or `LIMITED` names, in order."""

    formula: Formula
    numbers: tuple[float, ...]
    kind: ClassVar[str] = "scale"
    centred: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """``log of max(x, 0.5)``, ``square root of ...``, ``x clipped to 1..9`` and so on."""
        x, first = self.source, number_text(self.numbers[0])
        if self.limited:
            x = f"{x} clipped to {'..'.join(map(number_text, self.limits))}"
        if self.formula == "clip":
            return x
        if self.formula == "distance":
            return f"distance of {x} from {first}"
        word = "log" if self.formula == "log" else "square root"
        return f"{word} of {x}" if self.limited else f"{word} of max({x}, {first})"

    @property
    def text(self) -> str:
        """``log of x (at least 0.5)``, ``log of x, kept between 1 and 9`` and so on."""
        x, kept = self.source, " and ".join(map(number_text, self.limits))
        if self.formula == "clip":
            return f"{x} kept between {kept}"
        if self.formula == "distance" and self.limited:
            return f"distance of {x} (kept between {kept}) from {number_text(self.numbers[0])}"
        if self.formula == "distance":
            return self.name
        if self.limited:
            return f"{self.bare_text}, kept between {kept}"
        return f"{self.bare_text} (at least {number_text(self.numbers[0])})"

    @property
    def limited(self) -> bool:
        """Whether it is flat beyond limits at both ends."""
        return len(self.numbers) == len(LIMITED[self.formula])

    @property
    def limits(self) -> tuple[float, float]:
        """Between which numbers the formula changes; beyond them it is flat."""
        if self.limited:
            return self.numbers[-2], self.numbers[-1]
        return -math.inf if self.formula == "distance" else self.numbers[0], math.inf

    @property
    def bare_text(self) -> str:
        """``log of x``: the text without limits."""
        words = {"log": "log of ", "sqrt": "square root of "}
        return words[self.formula] + self.source if self.formula in words else self.text

    def evaluate(self, inputs: Inputs) -> Floats:
        """Return the formula's value, of the number kept between its limits."""
        x, (low, high) = inputs[self.source], self.limits
        if self.limited or self.formula != "distance":
            x = np.maximum(x, low)
        if self.limited:
            x = np.minimum(x, high)
        if self.formula == "distance":
            gap = _gap(x, self.numbers[0])
            return np.abs(gap, out=gap)
        kept = x + 0.0
        if self.formula == "clip":
            return kept
        return logarithm(kept) if self.formula == "log" else np.sqrt(kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain JSON values, its numbers by name."""
        names = (LIMITED if self.limited else FORMULAS)[self.formula]
        numbers = dict(zip(names, self.numbers, strict=True))
        return {"kind": self.kind, "source": self.source, "formula": self.formula, **numbers}


def _gap(x: Floats, number: float) -> Floats:
    """Return x - number; a number and no infinity even where the difference overflows."""
    with np.errstate(over="ignore"):
        gap: Floats = x - number
    np.minimum(gap, LARGEST, out=gap)
    return np.maximum(gap, -LARGEST, out=gap)


Item = Level | Interval | Step
Number = Value | Hinge | Scale
RAW = (Value, Level, Missing)  # what a variable is by itself; every other kind is derived


class TwoSources(Column):
    """What columns of two variables share: two parts, both of which are read."""

    __slots__ = ()
    left: Number | Item
    right: Number | Item

    @property
    def sources(self) -> tuple[str, ...]:
        """Both variables."""
        return (self.left.source, self.right.source)

    def conditions(self, schema: Schema) -> int:
        """Both parts are read."""
        return self.left.conditions(schema) + self.right.conditions(schema)


@dataclass(frozen=True, slots=True)
class Pattern(Flag, TwoSources):
    """Two conditions on two sources, both true."""

    left: Item
    right: Item
    kind: ClassVar[str] = "pattern"

    @property
    def name(self) -> str:
        """``20 <= age < 35 and region is north``."""
        return f"{self.left.name} and {self.right.name}"

    @property
    def text(self) -> str:
        """``20 <= age < 35 and region is 'north'``."""
        return f"{self.left.text} and {self.right.text}"

    def holds(self, inputs: Inputs) -> Mask:
        """Return where both parts hold."""
        return self.left.holds(inputs) & self.right.holds(inputs)


@dataclass(frozen=True, slots=True)
class Pair(TwoSources):
    """Arithmetic of two numbers; missing where a part is missing or the result overflows.

    One part of a product may be a 0/1 column instead: the product is the number where that holds, 0
    where it does not, and missing only where the number is.
    """

    operation: Operation
    left: Number | Item
    right: Number | Item
    kind: ClassVar[str] = "pair"

    @property
    def centred(self) -> bool:
        """No product with a hinge or a 0/1 column is: it is zero where that is."""
        return self.operation != "product" or (self.left.centred and self.right.centred)

    @property
    def conditional(self) -> bool:
        """Whether it is a number that counts only where a 0/1 column holds."""
        return self.left.binary or self.right.binary

    @property
    def name(self) -> str:
        """As its text, of the names of its parts."""
        return self._of(operand_name(self.left), operand_name(self.right))

    @property
    def text(self) -> str:
        """``a * b`` (``a where b`` if b is a 0/1 column), ``|a - b|``, ``a + b`` or ``a - b``."""
        return self._of(operand_text(self.left), operand_text(self.right))

    def _of(self, a: str, b: str) -> str:
        if self.conditional:
            return f"{b} where {a}" if self.left.binary else f"{a} where {b}"
        texts = {"product": f"{a} * {b}", "sum": f"{a} + {b}", "difference": f"{a} - {b}"}
        return texts.get(self.operation, f"|{a} - {b}|")

    def evaluate(self, inputs: Inputs) -> Floats:
        """Return the result, NaN where it has none."""
        return combine(self.operation, self.left.evaluate(inputs), self.right.evaluate(inputs))


def is_true(column: Column, inputs: Inputs) -> Mask:
    """Return where a column is above 0: for a 0/1 column, where it holds."""
    return column.holds(inputs) if isinstance(column, Flag) else column.evaluate(inputs) > 0.0


def one_source(column: Column) -> tuple[OneSource, ...]:
    """Return the columns of one variable that a column is made of."""
    if isinstance(column, TwoSources):
        return column.left, column.right
    assert isinstance(column, OneSource)
    return (column,)


def goes_on(column: Column) -> bool:
    """Tell whether a column changes, but for jumps, however large or small a number becomes."""
    parts = (part for part in one_source(column) if not part.binary)
    return any(math.isinf(limit) for part in parts for limit in part.limits)


def operand_text(column: Column) -> str:
    """Return a column's text for use beside a sign, words in parentheses: ``(age above 40)``."""
    return f"({column.text})" if _is_wordy(column) else column.text


def operand_name(column: Column) -> str:
    """Return a column's name for use beside a sign, words in parentheses."""
    return f"({column.name})" if _is_wordy(column) else column.name


def _is_wordy(column: Column) -> bool:
    return column.conditional if isinstance(column, Pair) else isinstance(column, (Hinge, Scale))


def combine(operation: Operation, a: Floats, b: Floats) -> Floats:
    """Apply one of the four pair operations; an overflow counts as missing."""
    apply = {"product": np.multiply, "sum": np.add}.get(operation, np.subtract)
    with np.errstate(over="ignore", invalid="ignore"):
        result: Floats = apply(a, b)
    if operation == "absolute difference":
        np.abs(result, out=result)
    result += 0.0
    finite = np.isfinite(result)
    if not finite.all():
        result[~finite] = np.nan
    return result


KINDS = (Value, Level, Missing, Interval, Step, Hinge, Scale, Pattern, Pair)


def column_from_dict(record: Mapping[str, Any]) -> Column:
    """Rebuild a column from its `to_dict`."""
    kind: Any = {kind.kind: kind for kind in KINDS}.get(record["kind"])
    if kind is None:
        raise ValueError(f"a column of unknown kind {record['kind']!r}")
    if kind is Scale:
        names = (LIMITED if "high" in record else FORMULAS)[record["formula"]]
        numbers = tuple(float(record[name]) for name in names)
        return Scale(record["source"], record["formula"], numbers)
    known = [field.name for field in fields(kind) if field.name in record]
    column: Column = kind(*(_read(name, record[name]) for name in known))
    return column


def _read(name: str, value: Any) -> Any:
    """Return the value of a field from what a record holds."""
    if isinstance(value, Mapping):
        return column_from_dict(value)
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if value is None:  # an end of an interval
        return -math.inf if name == "low" else math.inf
    return value if isinstance(value, str) else float(value)
