"""The tables of a card: of one or two variables cut into bins, or the leaves of a tree.

In every table exactly one line applies to a row, whatever its cells are. A bin of numbers is
``low < x <= high``, the outermost without an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Level
from rpte.model.parts import path_text
from rpte.structure.tree import Tree
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema

Points = NDArray[np.int64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Axis:
    """The attributes of one variable: bins of numbers, then sets of levels, codes and missing."""

    variable: str
    cuts: tuple[float, ...] | None  # between the bins of numbers; None for a category
    others: tuple[tuple[int, ...], ...]  # codes that share an attribute, MISSING and UNSEEN alone

    @property
    def bins(self) -> int:
        """How many bins of numbers there are."""
        return 0 if self.cuts is None else len(self.cuts) + 1

    def __len__(self) -> int:
        return self.bins + len(self.others)

    def places(self, inputs: Inputs) -> Places:
        """Return which attribute each row has."""
        variable = inputs.schema[self.variable]
        found = np.full(inputs.n_rows, -1, np.intp)
        if self.cuts is not None:
            x = inputs[self.variable]
            found = np.where(np.isnan(x), -1, np.searchsorted(np.array(self.cuts), x, "left"))
        special = bool(variable.levels) or variable.kind == "category"
        codes = inputs.codes(self.variable) if special else None
        for place, others in enumerate(self.others, self.bins):
            if others == (MISSING,):
                found[inputs.is_missing(self.variable)] = place
            elif codes is not None:
                found[np.isin(codes, others)] = place
        return found

    def texts(self, schema: Schema) -> list[str]:
        """Return each attribute in words."""
        ends = [] if self.cuts is None else [number_text(cut) for cut in self.cuts]
        lows, highs = [None, *ends], [*ends, None]
        numbers = [self._bin(low, high) for low, high in zip(lows, highs, strict=True)]
        others = [self._other(codes, schema) for codes in self.others]
        return [*(numbers if self.bins else []), *others]

    def _bin(self, low: str | None, high: str | None) -> str:
        if low is None and high is None:
            return f"{self.variable} is a number"
        if low is None:
            return f"{self.variable} <= {high}"
        return f"{self.variable} > {low}" if high is None else f"{low} < {self.variable} <= {high}"

    def _other(self, codes: tuple[int, ...], schema: Schema) -> str:
        variable = schema[self.variable]
        if codes == (MISSING,):
            return f"{self.variable} is missing"
        if codes == (UNSEEN,) or (variable.pooled and codes == (len(variable.levels) - 1,)):
            return f"{self.variable} is any other level"
        return Level(self.variable, tuple(variable.levels[code] for code in codes)).text

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as plain JSON values."""
        cuts = None if self.cuts is None else list(self.cuts)
        return {"variable": self.variable, "cuts": cuts, "others": [list(c) for c in self.others]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Axis:
        """Rebuild an axis from `to_dict`."""
        cuts = record["cuts"]
        others = tuple(tuple(codes) for codes in record["others"])
        return cls(record["variable"], None if cuts is None else tuple(cuts), others)


@dataclass(frozen=True, slots=True)
class Grid:
    """Points by the attributes of one variable, or of two at once."""

    axes: tuple[Axis, ...]
    points: Points  # one dimension for each axis

    @property
    def title(self) -> str:
        """The variables."""
        return " and ".join(axis.variable for axis in self.axes)

    def places(self, inputs: Inputs) -> Places:
        """Return which line applies to each row, shape (n_rows,)."""
        places = tuple(axis.places(inputs) for axis in self.axes)
        return np.asarray(np.ravel_multi_index(places, self.points.shape))

    def lines(self, schema: Schema) -> Iterator[tuple[str, int]]:
        """Yield each attribute, or pair of attributes, with its points."""
        texts = product(*(axis.texts(schema) for axis in self.axes))
        for text, points in zip(texts, self.points.reshape(-1).tolist(), strict=True):
            yield " and ".join(text), points

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain JSON values."""
        return {"axes": [axis.to_dict() for axis in self.axes], "points": self.points.tolist()}


@dataclass(frozen=True, slots=True)
class Leaves:
    """Points by the leaves of a tree of several variables, or by a condition on two."""

    name: str  # of the tree or term in the model
    tree: Tree
    points: Points  # of each leaf

    @property
    def title(self) -> str:
        """The variables."""
        *most, last = self.tree.sources
        return f"{', '.join(most)} and {last}" if most else last

    def places(self, inputs: Inputs) -> Places:
        """Return which line applies to each row, shape (n_rows,)."""
        active = self.points != 0
        line = np.where(active, np.cumsum(active) - 1, active.sum())
        return np.asarray(line[self.tree.apply(inputs)], np.intp)

    def lines(self, schema: Schema) -> Iterator[tuple[str, int]]:
        """Yield the conditions of each leaf that has points, then one line for all others."""
        for path, points in zip(self.tree.paths(), self.points.tolist(), strict=True):
            if points:
                yield path_text(path, schema), points
        if not self.points.all():
            yield "any other case", 0

    def to_dict(self) -> dict[str, Any]:
        """Return the leaves as plain JSON values."""
        return {"name": self.name, "tree": self.tree.to_dict(), "points": self.points.tolist()}


Table = Grid | Leaves


def table_from_dict(record: Mapping[str, Any]) -> Table:
    """Rebuild a table from its `to_dict`."""
    points = np.array(record["points"], np.int64)
    if "axes" in record:
        return Grid(tuple(Axis.from_dict(axis) for axis in record["axes"]), points)
    return Leaves(record["name"], Tree.from_dict(record["tree"]), points)
