"""What a model consists of: leaves, trees, direct terms, components."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rpte.columns.kinds import Column, Hinge, Scale, column_from_dict
from rpte.structure.tree import Condition, Tree
from rpte.table.decimals import number_text, short_centre
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats

# How a number is found from its log or square root, and the other way round.
INVERSES = {"log": (math.exp, math.log), "sqrt": (lambda root: root * root, math.sqrt)}


class Counted:
    """What leaves and direct terms say of the training rows that they speak of."""

    __slots__ = ()
    support: float
    target_total: float

    @property
    def events(self) -> float:
        """Training weight of the positive class."""
        return self.target_total

    @property
    def rate(self) -> float:
        """The share of the support that is positive, NaN where there is none."""
        return self.target_total / self.support if self.support else float("nan")


@dataclass(frozen=True, slots=True)
class Leaf(Counted):
    """One cell of a tree with its coefficient.

    Parameters
    ----------
    coefficient : float
        Zero for a leaf that says nothing.
    support, target_total : float
        Training weight in the leaf, and the sum of weight times target there.
    penalty : float
        Factor on the penalty of this coefficient in Stage 3.
    """

    coefficient: float
    support: float
    target_total: float
    penalty: float = 1.0


@dataclass(frozen=True, slots=True)
class TreeTerms:
    """A tree whose leaves have coefficients; exactly one of them counts for a row."""

    name: str
    tree: Tree
    leaves: tuple[Leaf, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the tree reads."""
        return self.tree.sources

    def contribution(self, inputs: Inputs) -> Floats:
        """Return the coefficient of the leaf that each row reaches."""
        coefficients = np.array([leaf.coefficient for leaf in self.leaves])
        return coefficients[self.tree.apply(inputs)]

    def leaf_name(self, number: int) -> str:
        """Return the name of a leaf, such as ``T1.L2``."""
        return f"{self.name}.L{number + 1}"

    def rules(self) -> Iterator[tuple[int, tuple[Condition, ...], Leaf]]:
        """Yield number, conditions and leaf, in order."""
        for number, (path, leaf) in enumerate(zip(self.tree.paths(), self.leaves, strict=True)):
            yield number, path, leaf

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain JSON values."""
        leaves = [asdict(leaf) for leaf in self.leaves]
        return {"name": self.name, **self.tree.to_dict(), "leaves": leaves}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> TreeTerms:
        """Rebuild a tree from `to_dict`."""
        leaves = tuple(Leaf(**{k: float(v) for k, v in leaf.items()}) for leaf in record["leaves"])
        return cls(record["name"], Tree.from_dict(record), leaves)


@dataclass(frozen=True, slots=True)
class DirectTerm(Counted):
    """A column with its own coefficient.

    Parameters
    ----------
    name : str
        Such as ``D3``.
    column : Column
    coefficient : float
        Per unit of the column.
    centre : float
        A numeric column contributes coefficient times (value - centre), and nothing where it is
        missing: the centre is the value that stands for missing. 0 unless `column.centred`.
    scale : float
        Units of the penalty: Stage 3 saw (value - centre) / scale.
    support, target_total : float
        Training weight where the column is true (binary) or present (numeric), and the sum of
        weight times target there.
    penalty : float
        Factor on the penalty of this coefficient in Stage 3.
    """

    name: str
    column: Column
    coefficient: float
    centre: float
    scale: float
    support: float
    target_total: float
    penalty: float = 1.0

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the term reads."""
        return self.column.sources

    def contribution(self, inputs: Inputs) -> Floats:
        """Return coefficient times (value - centre), 0 where missing."""
        return self.times(self.column.evaluate(inputs))

    def times(self, values: Floats) -> Floats:
        """Return the contributions of some values of the column."""
        if self.column.binary:
            return self.coefficient * values + 0.0
        product = self.coefficient * (values - self.centre)
        product[np.isnan(values)] = 0.0
        return product

    @property
    def text(self) -> str:
        """The term in words; a number says what it is counted from and what missing counts as.

        A log or a square root says both in the units of the variable: ``log of duration, from 18``.
        """
        return self._worded(True)

    def text_in(self, schema: Schema) -> str:
        """Return the text; what a missing cell does only where training had one, or a code."""
        read = [schema[source] for source in self.sources]
        return self._worded(any(v.has_missing or (v.kind == "number" and v.levels) for v in read))

    def _worded(self, missing: bool) -> str:
        column, centre = self.column, number_text(self.centre)
        adds = " (missing adds 0)" if missing else ""
        if column.binary:
            return column.text
        if isinstance(column, Hinge):
            way = "up" if column.side == "above" else "down"
            end = "" if column.end is None else f" to {number_text(column.end)}"
            return f"{column.source}, from {number_text(column.knot)} {way}{end}{adds}"
        if not column.centred:
            return f"{column.text}{adds}"
        if isinstance(column, Scale) and column.formula in INVERSES:
            start = _original(column, self.centre, self.scale)
            if start is None:
                return f"{column.text}, less {centre}{adds}"
            low, centre = number_text(column.numbers[0]), number_text(start)
            counts = [f"missing counts as {centre}"] if missing else []
            if not column.limited:
                counts.append(f"less than {low} as {low}")
            note = f" ({', '.join(counts)})" if counts else ""
            return f"{column.text if column.limited else column.bare_text}, from {centre}{note}"
        words = "less" if isinstance(column, Scale) and column.formula == "distance" else "from"
        known = f" (missing counts as {centre})" if missing else ""
        return f"{column.text}, {words} {centre}{known}"

    def to_dict(self) -> dict[str, Any]:
        """Return the term as plain JSON values."""
        return {**asdict(self), "column": self.column.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> DirectTerm:
        """Rebuild a term from `to_dict`."""
        numbers = {k: float(v) for k, v in record.items() if k not in ("name", "column")}
        return cls(name=record["name"], column=column_from_dict(record["column"]), **numbers)


def _original(column: Scale, value: float, scale: float) -> float | None:
    """Return the shortest number whose log or square root is a value, rounded as centres are.

    None where no number has it.
    """
    inverse, formula = INVERSES[column.formula]
    try:
        exact, centre = inverse(value), short_centre(value, scale)
        for digits in range(17):
            number = float(f"{exact:.{digits}e}")
            if short_centre(formula(number), scale) == centre:
                return number
    except (OverflowError, ValueError):
        pass
    return None


@dataclass(frozen=True, slots=True)
class Component:
    """Terms connected through shared sources; no two components share one.

    Under the policies "component", "separate" and "strict" a component holds at most one tree.
    """

    name: str
    trees: tuple[TreeTerms, ...]
    direct: tuple[DirectTerm, ...]

    @property
    def parts(self) -> tuple[TreeTerms | DirectTerm, ...]:
        """Trees, then direct terms: the order in which contributions are added."""
        return (*self.trees, *self.direct)

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the component reads, sorted."""
        return tuple(sorted({source for part in self.parts for source in part.sources}))

    def subtotal(self, inputs: Inputs) -> Floats:
        """Return the left-to-right sum of the parts' contributions."""
        return sum_of(self.parts, inputs)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain JSON values."""
        return {
            "name": self.name,
            "sources": list(self.sources),
            "trees": [tree.to_dict() for tree in self.trees],
            "direct": [term.to_dict() for term in self.direct],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Component:
        """Rebuild a component from `to_dict`."""
        trees = tuple(TreeTerms.from_dict(tree) for tree in record["trees"])
        direct = tuple(DirectTerm.from_dict(term) for term in record["direct"])
        return cls(record["name"], trees, direct)


def path_text(path: tuple[Condition, ...], schema: Schema) -> str:
    """Say the conditions on the way to a leaf."""
    return " and ".join(condition.text(schema) for condition in path)


def path_sources(path: tuple[Condition, ...]) -> tuple[str, ...]:
    """Return the variables that the conditions on the way to a leaf read, sorted."""
    return tuple(sorted({source for condition in path for source in condition.sources}))


def joined(sources: Iterable[Iterable[str]]) -> list[frozenset[str]]:
    """Return the connected parts of some sets of variables."""
    found: list[frozenset[str]] = []
    for group in map(frozenset, sources):
        touched = [other for other in found if other & group]
        found = [other for other in found if not other & group] + [group.union(*touched)]
    return found


def sum_of(parts: Iterable[TreeTerms | DirectTerm], inputs: Inputs) -> Floats:
    """Return the left-to-right sum of what some parts add to each row."""
    total = np.zeros(inputs.n_rows)
    for part in parts:
        total = total + part.contribution(inputs)
    return total
