"""The intermediate form: what a model computes, in the fewest words that every target has.

A `Form` is a list of named lines, each a number computed from the inputs and from lines above it:
terms, component subtotals, the score, and what it stands for: a probability, the mean of a number
for one unit of exposure and no offset, or a hazard ratio, with survival at some horizons. Several
classes share the values of columns, and have terms, subtotals, a score and a probability each
(`rpte.export.classes`). Numbers are float64.
A line is a tree whose leaves are constants, inputs, other lines and tests of inputs, and whose
inner nodes are operations:

* ``+ - * /`` of two numbers; ``sum`` of numbers, at least one, added from left to right;
* ``log sqrt exp`` of a number; the natural logarithm is of a positive one; ``max`` of numbers;
* ``if`` of a condition, the number where it holds, and the number where it does not;
* conditions: ``<= < > >= ==`` of two numbers, false where one is not there; ``finite`` of a product
  that has not overflowed, false where a factor is missing; ``and`` of conditions, at least one.

The rules:

* A number input is a number, one of its special codes, or missing; a category is a text or missing.
  `Value` is asked for only where the input holds a number, except inside a comparison.
* A comparison with a number that is not there (missing or special) is false, and so is `OneOf` of a
  missing cell. Nothing is ever negated, so "unknown" (NULL in SQL) may stand for false.
* ``if`` evaluates the side it takes; the other one need not have a value.

A `Translation` walks these trees for a target.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

from rpte.export.inputs import Code, Input
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel, one_score
from rpte.model.labels import Label
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, NumberTarget

if TYPE_CHECKING:
    from rpte.model.model import Model

MAX_FLOAT = sys.float_info.max
Role = Literal[
    "column",
    "term",
    "component",
    "score",
    "largest",
    "odds",
    "total",
    "probability",
    "mean",
    "hazard_ratio",
    "survival",
    "class",
]
RESPONSES: dict[str, Role] = {  # by task
    "binary": "probability",
    "regression": "mean",
    "survival": "hazard_ratio",
}
SURVIVAL = (
    "Survival until a time is exp(-hazard * hazard ratio), where hazard is the cumulated baseline "
    "hazard at that time."
)
Made = TypeVar("Made")


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
class Present:
    """A condition: a number input holds a number, neither missing nor a special code."""

    input: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A condition: an input of either kind has no value, not even a special code."""

    input: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """A condition: a category is one of some texts (`inside`), or a text that is none of them.

    Of a number, the texts and numbers are special codes, and `inside` is true.
    """

    input: str
    levels: tuple[Code, ...]
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """What is computed from other nodes; the module lists the names and their parts."""

    name: str
    parts: tuple[Node, ...]


Node = Constant | Value | Line | Present | Missing | OneOf | Operation


def apply(name: str, *parts: Node) -> Operation:
    """Return an operation on some parts."""
    return Operation(name, parts)


class Translation(Protocol[Made]):
    """One walk over the nodes of a form; a target says what it makes of each.

    Leaves are made from their fields, an operation from its name and what was made of its parts.
    """

    def node(self, node: Node) -> Made:
        """Return what a node becomes."""
        match node:
            case Operation(name, parts):
                return self._operation(name, *map(self.node, parts))
            case Constant(value):
                return self._constant(value)
            case Value(name):
                return self._value(name)
            case Line(name):
                return self._line(name)
            case Present(name):
                return self._present(name)
            case Missing(name):
                return self._missing(name)
            case OneOf():
                return self._one_of(node)

    def _operation(self, name: str, *parts: Made) -> Made: ...
    def _constant(self, value: float) -> Made: ...
    def _value(self, name: str) -> Made: ...
    def _line(self, name: str) -> Made: ...
    def _present(self, name: str) -> Made: ...
    def _missing(self, name: str) -> Made: ...
    def _one_of(self, node: OneOf) -> Made: ...


@dataclass(frozen=True, slots=True)
class Definition:
    """A named line: a term, a component's subtotal, the score, or what follows from it.

    Of several classes, `place` is the number of the one that it is of, None if it is of all.
    """

    name: str
    role: Role
    value: Node
    sources: tuple[str, ...]
    text: str
    place: int | None = None


class Horizon(NamedTuple):
    """A time at which an export tells survival: the name of the line, and the baseline there."""

    name: str
    time: float
    stratum: Label | None  # None where the model has one baseline for all rows
    hazard: float  # cumulated, of the baseline


@dataclass(frozen=True, slots=True)
class Form:
    """A model as inputs and lines; see the module for what the nodes mean.

    The lines are each component's terms and then its subtotal, in file order; the score; the
    response, which is the probability, the mean or the hazard ratio; survival at the horizons
    (`rpte.export.survival`). For several classes see `rpte.export.classes`.
    """

    model: Model | ClassesModel
    inputs: tuple[Input, ...]  # the variables that the model reads, in the order of its schema
    lines: tuple[Definition, ...]
    horizons: tuple[Horizon, ...] = ()  # of the lines of survival, in their order

    def role(self, *roles: Role) -> tuple[Definition, ...]:
        """Return the lines of some kinds, in their order."""
        return tuple(line for line in self.lines if line.role in roles)

    @property
    def response(self) -> Definition:
        """What the score stands for; of several classes, the number of the one predicted."""
        return next(line for line in reversed(self.lines) if line.role != "survival")

    @property
    def results(self) -> tuple[Definition, ...]:
        """What an export of one score tells beside contributions: the score first."""
        return (*self.role("score"), self.response, *self.role("survival"))

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes, where there are several; none for two classes and for a number."""
        return self.model.classes if isinstance(self.model, ClassesModel) else ()

    @property
    def structure(self) -> Model:
        """The model, or the outline of several classes, where each term stands once."""
        return self.model.outline

    def of_class(self, place: int, *roles: Role) -> tuple[Definition, ...]:
        """Return the lines of some kinds that are of one class of several."""
        return tuple(line for line in self.role(*roles) if line.place == place)

    def one_score(self, what: str) -> Model:
        """Return the model, refusing one of several classes where `what` has nothing for it."""
        return one_score(self.model, what)

    def titles(self) -> dict[str, str]:
        """Return what the head of an export says of the model.

        The `title`; a `note` on how the mean is used, empty where there is nothing to say; the
        `scale` of the score, and what its `points` are; what the `response` is called, and in
        words (`result`).
        """
        from rpte.model.file import content_hash, to_dict

        return {
            **_told(self.model.target),
            **({"note": SURVIVAL} if self.horizons else {}),
            "response": self.response.name,
            "result": plain(self.response.text),
            "version": self.model.library_version,
            "hash": content_hash(to_dict(self.model)),
        }

    def input(self, name: str) -> Input:
        """Return an input by name."""
        return next(given for given in self.inputs if given.name == name)


def _told(target: AnyTarget | ClassesTarget) -> dict[str, str]:
    """Return what depends on the kind of target; of two classes also which one is `positive`."""
    if isinstance(target, ClassesTarget):
        return {
            "title": f"The scores of {len(target.classes)} classes, and their probabilities.",
            "note": "",
            "scale": "score",
            "points": "parts of the score of a class: red raises it, green lowers it.",
        }
    if isinstance(target, NumberTarget):
        scale = "mean" if target.is_linear else "logarithm"
        return {
            "title": f"The {plain(target.score_text)}.",
            "note": " ".join(_uses(target)),
            "scale": scale,
            "points": f"parts of the {plain(target.score_text)}: red raises it, green lowers it.",
        }
    if isinstance(target, SurvivalTarget):
        return {
            "title": f"The {plain(target.score_text)}.",
            "note": "",
            "scale": "logarithm",
            "points": f"log hazard ratios of {plain(target.outcome)}: red raises the hazard, green "
            "lowers it.",
        }
    positive = plain(str(target.outcome))
    return {
        "title": f"The log odds of {positive} against {plain(str(target.other))}.",
        "note": "",
        "scale": "log odds",
        "points": f"log odds of {positive}: red raises them, green lowers them.",
        "positive": positive,
    }


def _uses(target: NumberTarget) -> Iterator[str]:
    """Yield how the mean of a row follows from that of the export."""
    if target.exposure is not None:
        said = plain(target.exposure)
        yield f"The mean is for one unit of {said}: multiply it by the {said} of a row."
    if target.offset is not None:
        said = plain(target.offset)
        what = f"add the {said} to it" if target.is_linear else f"multiply it by exp({said})"
        yield f"The mean is for an offset of 0: {what}."


def plain(text: str) -> str:
    """Return a text for use in any language's comment: nothing in it ends one."""
    return "".join(c if c.isalnum() or c in " _-.,<>=()+*{}|:'%" else " " for c in text)


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and every node below it, parents first."""
    yield node
    for part in node.parts if isinstance(node, Operation) else ():
        yield from nodes(part)


def all_nodes(form: Form) -> Iterator[Node]:
    """Yield every node of every line."""
    for line in form.lines:
        yield from nodes(line.value)
