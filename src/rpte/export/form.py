"""The intermediate form: what a model computes, in the fewest words that every target has.

A `Form` is a list of named lines, each a number computed from the inputs and from lines above it:
terms, component subtotals, the score, the probability. Numbers are float64. The rules:

* A number input is a number, one of its special codes, or missing; a category is a text or missing.
  `Value` is asked for only where the input holds a number, except inside a comparison.
* A comparison with a number that is not there (missing or special) is false, and so is `OneOf` of a
  missing cell. Nothing is ever negated, so "unknown" (NULL in SQL) may stand for false.
* `Choice` evaluates the side it takes; the other one need not have a value.
* `Total` adds from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from rpte.table.spelling import DECIMAL, forms_of, is_boolean, plain_form, truth_form

if TYPE_CHECKING:
    from rpte.model.model import Model

Code = float | str  # a special code of a number: a number or a text
Sign = Literal["+", "-", "*", "/"]
Comparison = Literal["<=", "<", ">", ">="]
Name = Literal["log", "sqrt", "exp"]
Role = Literal["term", "component", "score", "probability"]


@dataclass(frozen=True, slots=True)
class NumberInput:
    """A column of numbers; `codes` are cells that are no measurements."""

    name: str
    codes: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class CategoryInput:
    """A column of texts; `rpte.table.spelling` says which level a cell is.

    Parameters
    ----------
    name : str
    levels : tuple of str
        The levels that training saw, without the one that stands for rare levels.
    pooled : bool
        Whether any other text counts as the pooled level; if not, it is an unseen level.
    """

    name: str
    levels: tuple[str, ...]
    pooled: bool = False

    @property
    def boolean(self) -> bool:
        """Whether the levels are those of a boolean."""
        return is_boolean(self.levels)

    @property
    def closed(self) -> bool:
        """Whether a number other than 1 and 0 is no cell of the column."""
        return self.boolean and not self.pooled

    @property
    def doubtful(self) -> tuple[str, ...]:
        """The levels that share their plain form; a cell is one of them to the letter only."""
        alike = (levels for levels in forms_of(self.levels).values() if len(levels) > 1)
        return tuple(level for levels in alike for level in levels)

    def form(self, level: str) -> str:
        """Return what a cell of a level becomes when it is read: the level itself if doubtful."""
        if level in self.doubtful:
            return level
        return (truth_form(level) if self.boolean else None) or plain_form(level)

    def numeric(self) -> tuple[str, ...]:
        """Return the forms of levels that are numbers and not doubtful."""
        forms = map(self.form, (level for level in self.levels if level not in self.doubtful))
        return () if self.boolean else tuple(form for form in forms if DECIMAL.fullmatch(form))


Input = NumberInput | CategoryInput


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, finite."""

    value: float


@dataclass(frozen=True, slots=True)
class Value:
    """The number that an input holds."""

    input: str


@dataclass(frozen=True, slots=True)
class Line:
    """The number that a line above has computed."""

    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers added, subtracted, multiplied or divided."""

    sign: Sign
    left: Number
    right: Number


@dataclass(frozen=True, slots=True)
class Function:
    """Natural logarithm (of a positive number), square root, exponential."""

    name: Name
    of: Number


@dataclass(frozen=True, slots=True)
class Choice:
    """One number where a condition holds, another where it does not."""

    condition: Condition
    yes: Number
    no: Number


@dataclass(frozen=True, slots=True)
class Total:
    """Numbers added from left to right, at least one."""

    parts: tuple[Number, ...]


Number = Constant | Value | Line | Arithmetic | Function | Choice | Total


@dataclass(frozen=True, slots=True)
class Present:
    """A number input holds a number: neither missing nor a special code."""

    input: str


@dataclass(frozen=True, slots=True)
class Missing:
    """An input of either kind has no value, not even a special code."""

    input: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """A category is one of some texts (`inside`), or has a text that is none of them.

    Of a number, the texts and numbers are special codes, and `inside` is true.
    """

    input: str
    levels: tuple[Code, ...]
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Compare:
    """One number compared with another; false where one is not there."""

    sign: Comparison
    left: Number
    right: Number


@dataclass(frozen=True, slots=True)
class Finite:
    """A product has not overflowed; false also where a factor is missing."""

    product: Arithmetic


@dataclass(frozen=True, slots=True)
class All:
    """Every one of some conditions holds; at least one."""

    conditions: tuple[Condition, ...]


Condition = Present | Missing | OneOf | Compare | Finite | All
Node = Number | Condition


@dataclass(frozen=True, slots=True)
class Definition:
    """A named line: a term, a component's subtotal, the score or the probability."""

    name: str
    role: Role
    value: Number
    sources: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """A model as inputs and lines; see the module for what the nodes mean.

    Parameters
    ----------
    model : Model
        What the form was made from.
    inputs : tuple of Input
        The variables that the model reads, in the order of its schema.
    lines : tuple of Definition
        Each component's terms and then its subtotal, in file order; the score; the probability.
    """

    model: Model
    inputs: tuple[Input, ...]
    lines: tuple[Definition, ...]

    def role(self, role: Role) -> tuple[Definition, ...]:
        """Return the lines of one kind."""
        return tuple(line for line in self.lines if line.role == role)

    def titles(self) -> dict[str, str]:
        """Return what the head of an export says of the model."""
        from rpte.model.file import content_hash, to_dict

        classes = tuple(str(label) for label in self.model.classes)
        positive, other = classes[self.model.positive], classes[1 - self.model.positive]
        return {
            "title": f"The log odds of {plain(positive)} against {plain(other)}.",
            "positive": plain(positive),
            "version": self.model.library_version,
            "hash": content_hash(to_dict(self.model)),
        }

    def input(self, name: str) -> Input:
        """Return an input by name."""
        return next(given for given in self.inputs if given.name == name)


def plain(text: str) -> str:
    """Return a text for use in any language's comment: nothing in it ends one."""
    return "".join(c if c.isalnum() or c in " _-.,<>=()+*{}|:'%" else " " for c in text)


def nodes(node: Any) -> Iterator[Any]:
    """Yield a node and every node below it, parents first."""
    yield node
    for field in fields(node):
        below = getattr(node, field.name)
        for part in below if isinstance(below, tuple) else (below,):
            if isinstance(part, (*NUMBERS, *CONDITIONS)):
                yield from nodes(part)


def all_nodes(form: Form) -> Iterator[Any]:
    """Yield every node of every line."""
    for line in form.lines:
        yield from nodes(line.value)


NUMBERS = (Constant, Value, Line, Arithmetic, Function, Choice, Total)
CONDITIONS = (Present, Missing, OneOf, Compare, Finite, All)
