"""The values of a variable between which a component can tell a difference (numpy only).

A component *jumps* where a test on the variable turns, and *bends* at a knot or at a number of a
formula. The grid of a variable has every level, or every such number (both sides of a jump) and the
ends of the range that the model file knows of the training values: the extremes of a full profile,
else the outermost quantiles that are shown, else none. Missing and special codes are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.kinds import Column, Hinge, Interval, Scale, Step, Value, one_source
from rpte.model.parts import Component
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable
from rpte.utils.arrays import Floats, Int32s

if TYPE_CHECKING:
    from rpte.model.model import Model

Cells = Floats | Int32s


def grid(model: Model, component: Component, source: str) -> list[float] | list[int]:
    """Return the values of one variable: numbers ascending, or the codes of all levels."""
    variable = model.schema[source]
    if variable.kind == "category":
        return list(range(len(variable.levels)))
    named = set(centres(component, source))
    for column, threshold in columns_on([component], source):
        named.update(bends(column))
        for number in jumps(column, threshold):
            named |= {number, *np.nextafter(number, [-np.inf, np.inf]).tolist()}
    profile = profile_of(model, source)
    told = profile.get("extremes") or [q for q in profile.get("quantiles") or () if q is not None]
    if told:
        ends = min(told), max(told)
        named = {number for number in named if ends[0] <= number <= ends[1]} | set(ends)
    return sorted(named) or [0.0]


def profile_of(model: Model, name: str) -> Mapping[str, Any]:
    """Return what the model file tells of a variable's training values; empty if nothing."""
    columns = model.data.get("profile") or ()
    return next((column for column in columns if column["name"] == name), {})


def columns_on(
    components: Iterable[Component], source: str
) -> Iterator[tuple[Column, float | None]]:
    """Yield the one-source columns that read a variable, with the threshold of a test on them.

    None stands for a direct term, for part of a two-source column and for a 0/1 test.
    """
    for component in components:
        terms = [(term.column, None) for term in component.direct]
        splits = [split for tree in component.trees for split in tree.tree.splits]
        for column, threshold in [*terms, *((s.column, s.threshold) for s in splits)]:
            for part in one_source(column):
                if part.source == source:
                    yield part, threshold if part is column else None


def jumps(column: Column, threshold: float | None) -> Iterator[float]:
    """Yield the numbers of its variable at which a one-source column, or a test on it, jumps."""
    if isinstance(column, Interval):
        yield from (end for end in (column.low, column.high) if np.isfinite(end))
    elif isinstance(column, Step):
        yield column.threshold
    elif isinstance(column, Value) and threshold is not None:
        yield threshold


def bends(column: Column) -> tuple[float, ...]:
    """Return the numbers of its variable at which a one-source column bends."""
    if isinstance(column, Hinge):
        return (column.knot,) if column.end is None else (column.knot, column.end)
    return column.numbers if isinstance(column, Scale) else ()


def centres(component: Component, source: str) -> Iterator[float]:
    """Yield the centre of a slope of a number: its training median."""
    yield from (term.centre for term in component.direct if term.column == Value(source))


def changed(inputs: Inputs, source: str, values: Cells) -> Inputs:
    """Return rows in which one variable has other values (codes of levels for a category)."""
    position = inputs.schema.position(source)
    columns, specials = list(inputs.columns), dict(inputs.specials)
    columns[position] = values.astype(columns[position].dtype)
    if position in specials:
        specials[position] = np.full(inputs.n_rows, MISSING, np.int32)
    return Inputs(inputs.schema, tuple(columns), specials)


def rows_of(
    variables: Sequence[Variable], columns: Iterable[Cells], codes: Sequence[Int32s]
) -> Inputs:
    """Return rows of some variables alone; `codes` are special codes, for numbers that have any."""
    specials = {
        place: codes[place]
        for place, variable in enumerate(variables)
        if variable.kind == "number" and variable.levels
    }
    return Inputs(Schema(tuple(variables), named=True), tuple(columns), specials)
