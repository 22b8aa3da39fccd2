"""The columns of single variables that a table offers, shared by all who learn from its rows.

Shapes, centres and scales come from cells and weights alone, so they are made once. Only which of
them are kept when there are more than the budget is learned from labels, anew for each set of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.moments import knot_moments
from rpte.limits import Permissions
from rpte.table.decimals import short_centre
from rpte.table.table import Table
from rpte.vocabulary.columns import Column, Hinge, Step, Value
from rpte.vocabulary.gain import SortedColumn
from rpte.vocabulary.redundancy import Registry
from rpte.vocabulary.screening import Label, promising, strongest
from rpte.vocabulary.shapes import shapes_of

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Middle = Literal["zero", "mean", "median"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A column on all rows of a table.

    Parameters
    ----------
    z : (n,)
        (value - centre) / scale, 0 where missing; binary columns as they are.
    centre, scale : float
    alike : int
        The same number for columns that say the same on this table; -1 for a constant.
    """

    z: Floats
    centre: float
    scale: float
    alike: int


def evaluate(table: Table, column: Column, middle: Middle, exact: bool, seen: Registry) -> Entry:
    """Evaluate a column on a table, and choose its centre and scale."""
    x = column.evaluate(table.inputs)
    alike = seen.number(x)
    if column.binary:
        return Entry(x, 0.0, 1.0, alike)
    centre, scale = _location(x, table.weight, middle if column.centred else "zero", exact)
    return Entry(standardise(x, centre, scale), centre, scale, alike)


def standardise(x: Floats, centre: float, scale: float) -> Floats:
    """Return (x - centre) / scale, 0 where missing."""
    z = (x - centre) / scale
    z[np.isnan(z)] = 0.0
    return z


def _location(x: Floats, weight: Floats, middle: Middle, exact: bool) -> tuple[float, float]:
    """Return the value that stands for missing, and the standard deviation with it filled in."""
    present = ~np.isnan(x)
    if not present.any():
        return 0.0, 1.0
    centre = 0.0
    if middle == "mean":
        centre = float(np.average(x[present], weights=weight[present]))
    elif middle == "median":
        centre = float(SortedColumn(x, weight, weight).quantiles(0.5))
    filled = np.where(present, x, centre)
    about = float(np.average(filled, weights=weight))
    biggest = float(np.abs(filled - about).max())
    if biggest == 0.0:
        return centre, 1.0
    # Dividing by the largest deviation first keeps the squares of values near 1e300 finite.
    scale = biggest * float(np.sqrt(np.average(((filled - about) / biggest) ** 2, weights=weight)))
    return (centre if exact else short_centre(centre, scale)), scale


@dataclass(frozen=True, slots=True)
class ShapeBook:
    """All shapes of a table's numbers, each evaluated when it is first asked for.

    Parameters
    ----------
    table : Table
    least : float
        Weight that must lie on either side of a knot.
    limits : Permissions
    """

    table: Table
    least: float
    limits: Permissions
    _shapes: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    _entries: dict[Column, Entry] = field(default_factory=dict)
    _texts: dict[Column, str] = field(default_factory=dict)
    _seen: Registry = field(default_factory=Registry)

    def shapes(self, name: str) -> tuple[Column, ...]:
        """Return the shapes of a number that the limits allow."""
        if name not in self._shapes:
            found = shapes_of(self.table, name, self.least)
            self._shapes[name] = tuple(c for c in found if self.limits.admits(c))
        return self._shapes[name]

    def entry(self, column: Column) -> Entry:
        """Return a column on all rows."""
        if column not in self._entries:
            self._entries[column] = evaluate(self.table, column, "median", False, self._seen)
        return self._entries[column]

    def strongest(self, part: Table, rows: Rows, most: int) -> tuple[Column, ...]:
        """Return at most so many shapes: those that go most with the label in `part`.

        `rows` are those of `part` in the book's table.
        """
        among = promising(part, self.limits)
        variables = [part.schema.variables[i] for i in part.schema.canonical()]
        names = [v.name for v in variables if v.kind == "number" and v.name in among]
        columns = [column for name in names for column in self.shapes(name)]
        if len(columns) <= most:
            return tuple(columns)
        label = Label.of(part)
        scores = np.concatenate([self._scores(name, rows, label) for name in names])
        texts = [self._text(column) for column in columns]
        return tuple(columns[j] for j in strongest(columns, texts, scores, most))

    def _text(self, column: Column) -> str:
        if column not in self._texts:
            self._texts[column] = column.text
        return self._texts[column]

    def _scores(self, name: str, rows: Rows, label: Label) -> Floats:
        """Return the squared correlation of each shape of a number with the label."""
        x, shapes = self.table.inputs[name][rows], self.shapes(name)
        kinked = [column for column in shapes if isinstance(column, (Step, Hinge))]
        knots = np.unique([c.threshold if isinstance(c, Step) else c.knot for c in kinked])
        about = self.entry(Value(name))
        sums = np.empty((len(knots) + 1, 5))
        knot_moments(x, about.centre, about.scale, knots, label.weight, label.residual, sums)
        at = label.beside(sums, (knots - about.centre) / about.scale)
        found = np.empty(len(shapes))
        for place, column in enumerate(shapes):
            if isinstance(column, Step):
                found[place] = at["step"][np.searchsorted(knots, column.threshold)]
            elif isinstance(column, Hinge):
                found[place] = at[column.side][np.searchsorted(knots, column.knot)]
            else:
                found[place] = label.alone(self.entry(column).z[rows], sums.sum(axis=0))
        return found
