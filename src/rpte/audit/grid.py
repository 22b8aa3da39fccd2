"""The values of a variable between which a component can tell a difference (numpy only).

Every level, every number that the component names (on both sides of a threshold), and the ends of
the range that the model file knows of the training values: the extremes of a full profile, else
the outermost quantiles that are shown, else none. Missing and special codes are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import Column, Hinge, Interval, Pair, Pattern, Scale, Step, Value
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs

Floats = NDArray[np.float64]
Values = list[float] | list[int]


def grid(model: Model, component: Component, source: str) -> Values:
    """Return the values of one variable: numbers ascending, or the codes of all levels."""
    variable = model.schema[source]
    if variable.kind == "category":
        return list(range(len(variable.levels)))
    ends = known_range(model, source)
    named = set(_named(component, source))
    if ends is not None:
        named = {number for number in named if ends[0] <= number <= ends[1]} | set(ends)
    return sorted(named) or [0.0]


def known_range(model: Model, source: str) -> tuple[float, float] | None:
    """Return the ends of a number's training values as far as the file tells, None if it does not.

    The hidden extremes of a safe profile lie outside of it.
    """
    for column in model.data["profile"] or ():
        if column["name"] == source:
            told = column["extremes"] or [q for q in column["quantiles"] or () if q is not None]
            return (min(told), max(told)) if told else None
    return None


def changed(inputs: Inputs, source: str, values: NDArray[np.float64] | NDArray[np.int32]) -> Inputs:
    """Return rows in which one variable has other values (codes of levels for a category)."""
    position = inputs.schema.position(source)
    kind = inputs.columns[position].dtype
    columns = (
        *inputs.columns[:position],
        values.astype(kind),
        *inputs.columns[position + 1 :],
    )
    specials = dict(inputs.specials)
    if position in specials:
        specials[position] = np.full(inputs.n_rows, MISSING, np.int32)
    return Inputs(inputs.schema, columns, specials)


def _named(component: Component, source: str) -> Iterator[float]:
    """Yield the numbers that a component compares a variable with, on both sides."""
    for part in component.parts:
        if isinstance(part, DirectTerm):
            yield from _column_numbers(part.column, source)
            if part.column == Value(source):
                yield part.centre
            continue
        for split in part.tree.splits:
            yield from _column_numbers(split.column, source)
            if split.column == Value(source) and split.threshold is not None:
                yield from _around(split.threshold)


def _column_numbers(column: Column, source: str) -> Iterator[float]:
    if isinstance(column, (Pattern, Pair)):
        yield from _column_numbers(column.left, source)
        yield from _column_numbers(column.right, source)
    elif source in column.sources:
        if isinstance(column, Interval):
            yield from (*_around(column.low), *_around(column.high))
        elif isinstance(column, Step):
            yield from _around(column.threshold)
        elif isinstance(column, Hinge):
            yield column.knot
        elif isinstance(column, Scale):
            yield from column.numbers


def _around(number: float) -> tuple[float, ...]:
    """Return a number and its two neighbours: one of them is on the other side."""
    if not np.isfinite(number):
        return ()  # the open end of an interval, whose neighbour is no value of anything
    return float(np.nextafter(number, -np.inf)), number, float(np.nextafter(number, np.inf))
