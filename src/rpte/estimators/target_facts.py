"""Targets of rows that are read in blocks: a first look at them alone, and what it tells a fit.

A block is a batch of files or a partition on a cluster. A `Look` sums up the targets of one block;
of the sums of all blocks it makes `TargetFacts`, which read the targets of a block for the fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from rpte.errors import InputError
from rpte.estimators.labels import (
    ONE_CLASS,
    check_rare,
    class_factors,
    positive_class,
    read_labels,
    refuse_missing,
)
from rpte.estimators.training_data import of_classes, predicted
from rpte.model.class_target import ClassesTarget
from rpte.model.target import AnyTarget, NumberTarget, Target
from rpte.model.units import Moments, Plain
from rpte.rows.cache import Layout
from rpte.rows.labels import LabelCounts, Sides, numbers_of
from rpte.table.blockwise import TableFacts
from rpte.table.schema import Schema
from rpte.table.table import are_whole, check_total_weight
from rpte.table.target import warn_of_follow_up
from rpte.utils.arrays import Array, Floats


class BlockTargets(NamedTuple):
    """Of each row of a block: class or number, the user's weight, and a factor on it, (n,) each."""

    label: Array
    given: Floats
    factor: Floats

    @property
    def weight(self) -> Floats:
        """Weights as the fit sees them, (n,)."""
        return self.given * self.factor


@dataclass(frozen=True)
class TargetFacts(ABC):
    """What the first look at targets and weights alone has told."""

    alike: ClassVar[str | None] = None  # why targets that are all the same are refused
    n_rows: int
    group: Mapping[Any, int] = field(kw_only=True, default_factory=dict)
    whole_weights: bool = field(kw_only=True, default=True)  # as in `Training`

    @property
    @abstractmethod
    def predicts(self) -> AnyTarget | ClassesTarget:
        """What the model is of, its total not yet counted."""

    @property
    @abstractmethod
    def layout(self) -> dict[str, Any]:
        """How targets are written, beside the cells of `Layout`."""

    @abstractmethod
    def read(self, sides: Sides) -> BlockTargets:
        """Read the targets of a block."""

    @abstractmethod
    def target(self, label: Array) -> Floats:
        """Return targets as the loss takes them."""

    def check(self, y: Floats) -> None:
        """Refuse targets of rows that count which no model can learn from."""
        if self.alike is not None and not self.predicts.loss.varies(y):
            raise InputError(self.alike)

    def told(self, notes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return fitted attributes, and what the model file keeps beside the record of the fit."""
        return notes, {}

    def cells(
        self, schema: Schema, facts: TableFacts, weighted: bool = False, grouped: bool = False
    ) -> Layout:
        """Return how rows are written."""
        columns = zip(facts.names, facts.columns, strict=True)
        single = frozenset(name for name, column in columns if column.single)
        return Layout(schema, single, weighted, grouped, **self.layout)


@dataclass(frozen=True)
class ClassFacts(TargetFacts):
    """Classes: which of them each label is, and factors on their weights."""

    alike: ClassVar[str | None] = ONE_CLASS
    known: Array
    factors: Floats
    positive: int | None  # of two; several have none
    label: Mapping[Any, int]  # number of the class of each label
    name: str | None = None  # of the target

    @property
    def predicts(self) -> Target | ClassesTarget:
        """The classes."""
        return predicted(self.known, self.positive, self.name)

    @property
    def layout(self) -> dict[str, Any]:
        """Factors by class, and which of them is positive."""
        factors = tuple(self.factors.tolist())
        return {"factors": factors, "positive": self.positive, "loss": self.predicts.loss}

    def read(self, sides: Sides) -> BlockTargets:
        """Return the class of each row; refuse a label that was not there at the first look."""
        label = numbers_of(*sides.labels(), self.label, "label")
        return BlockTargets(label, sides.weights(), self.factors[label])

    def target(self, label: Array) -> Floats:
        """Return 1.0 for the positive class of two, the number of the class of several."""
        return np.asarray(label if self.positive is None else label == self.positive, np.float64)

    def told(self, notes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the classes, and the factors on their weights."""
        return of_classes(self.known, self.factors, notes)


@dataclass(frozen=True)
class NumberFacts(TargetFacts):
    """Numbers, in units that all rows have settled."""

    number: NumberTarget

    @property
    def predicts(self) -> NumberTarget:
        """The number, in its units."""
        return self.number

    @property
    def layout(self) -> dict[str, Any]:
        """Numbers are written as the fit sees them, with what exposures make of weights."""
        return {"exposed": self.exposed, "factors": None, "loss": self.predicts.loss}

    @property
    def exposed(self) -> bool:
        """Whether rows have a factor on their weight."""
        beside = self.number.exposure, self.number.offset
        return self.number.multiplies and beside != (None, None)

    def read(self, sides: Sides) -> BlockTargets:
        """Return targets and weights as the fit sees them."""
        plain = _plain(self.number, sides)
        one = np.ones(len(plain.y))
        y, factor = self.number.scaled(plain._replace(given=one))
        return BlockTargets(y, plain.given, factor if self.exposed else one)

    def target(self, label: Array) -> Floats:
        """Return numbers as they are."""
        return np.asarray(label, np.float64)


def _plain(target: NumberTarget, sides: Sides) -> Plain:
    """Return the targets of a block without exposure and offset."""
    weight = sides.weights()
    beside = [sides.numbers(role) for role in ("exposure", "offset")]
    return target.plain(target.read(sides.numbers("y"), len(weight)), weight, *beside)


class Sums(Protocol):
    """What a look tells of some rows."""

    @property
    def total(self) -> int:
        """Number of rows."""

    @property
    def hopeless(self) -> bool:
        """Whether further rows cannot make these targets ones that are fitted."""

    def plus(self, other: Any) -> Any:
        """Return what it tells of these rows and of others behind them."""


class Look(Protocol):
    """A first look at targets; it goes to the workers of a cluster, so it holds no rows."""

    def __call__(self, sides: Sides) -> Any:
        """Return the `Sums` of a block."""

    def facts(self, found: Any, dtype: Any, features: Sequence[str]) -> TargetFacts:
        """Return what all rows tell; `dtype` is the type of the targets where they are numbers."""


@dataclass(frozen=True)
class LabelLook:
    """Counts the labels of classes, of which one of two is positive; factors on their weights."""

    class_weight: Any
    positive: Any
    name: str | None  # of the target

    def __call__(self, sides: Sides) -> LabelCounts:
        """Count the labels of a block, and weigh them."""
        found = LabelCounts()
        found.add(*sides.labels(), sides.weights())
        return found

    def facts(self, found: LabelCounts, dtype: Any, features: Sequence[str]) -> ClassFacts:
        """Return what the labels of all rows tell; numbers among them are of some type."""
        if found.total < 2:
            raise InputError(
                f"Found array with {found.total} sample(s) while a minimum of 2 is required; "
                "give rows of both classes"
            )
        refuse_missing(found.missing, found.first_missing)
        cells = found.labels(dtype)
        labels, known = read_labels(cells, len(cells), features)
        weight = np.array([*found.weight.values()])
        factors = class_factors(self.class_weight, labels, known, weight)
        place = np.searchsorted(known, labels)
        weight = weight * factors[place]
        check_total_weight(float(weight.sum()), found.counted)
        cases = np.bincount(place, [*found.cases.values()] * (weight > 0), len(known))
        check_rare(known, cases.tolist(), self.name, features)
        label = dict(zip(found.rows, place.tolist(), strict=True))
        warn_of_follow_up(self.name, features)
        positive = None if len(known) > 2 else positive_class(self.positive, known)
        return ClassFacts(found.total, known, factors, positive, label, name=self.name)


@dataclass(frozen=True)
class NumberSums:
    """What some rows tell of numeric targets."""

    total: int
    counted: int  # rows of positive weight
    moments: Moments
    whole: bool  # whether the weights given are whole numbers
    hopeless: bool = False

    def plus(self, other: NumberSums) -> NumberSums:
        """Return what these rows and others tell."""
        rows = self.total + other.total, self.counted + other.counted
        return NumberSums(*rows, self.moments.plus(other.moments), self.whole and other.whole)


@dataclass(frozen=True)
class NumberLook:
    """Checks numbers, and sums them up for their units."""

    target: NumberTarget

    def __call__(self, sides: Sides) -> NumberSums:
        """Look at one block."""
        plain = _plain(self.target, sides)
        counted = int((plain.given > 0).sum())
        return NumberSums(len(plain.y), counted, Moments.of(plain), are_whole(plain.given))

    def facts(self, found: NumberSums, dtype: Any, features: Sequence[str]) -> NumberFacts:
        """Return the targets with the units of all rows."""
        recurs = found.whole and found.moments.given >= 2  # one row of weight 2 is two cases
        if found.total < 2 and not recurs:
            raise InputError(
                f"Found array with {found.total} sample(s) while a minimum of 2 is required; "
                "give more rows, with targets that differ"
            )
        check_total_weight(found.moments.given, found.counted)
        number = self.target.with_units(found.moments)
        whole = found.whole or not number.has_exposure
        return NumberFacts(found.total, number, whole_weights=whole)


def with_groups(facts: TargetFacts, group: Mapping[Any, int]) -> TargetFacts:
    """Return the facts with numbers of groups."""
    return replace(facts, group=group)
