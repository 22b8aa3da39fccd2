"""What a variable adds by itself: the sum of all terms that read it alone, over its range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs
from rpte.vocabulary.columns import Column, Hinge, Interval, Scale, Step, Value

Floats = NDArray[np.float64]
STEPS = 160  # points of a curve beside its corners
ROOM = 0.12  # share of its range by which a curve goes on at both ends


def shapes(model: Model, component: Component, inputs: Inputs | None) -> list[dict[str, Any]]:
    """Return the shape of each variable that has terms of its own in a component.

    Parameters
    ----------
    model : Model
    component : Component
    inputs : Inputs, optional
        Rows whose range the curves cover; the training profile's range without them.
    """
    found = []
    for source in component.sources:
        parts = [part for part in component.parts if part.sources == (source,)]
        if parts:
            shape = _shape(model, source, parts, inputs)
            found.append({**shape, "alone": len(parts) == len(_readers(component, source))})
    return found


def _readers(component: Component, source: str) -> list[TreeTerms | DirectTerm]:
    return [part for part in component.parts if source in part.sources]


def _shape(
    model: Model, source: str, parts: Sequence[TreeTerms | DirectTerm], inputs: Inputs | None
) -> dict[str, Any]:
    variable = model.schema[source]
    terms = [part.name for part in parts]
    shape: dict[str, Any] = {"source": source, "kind": variable.kind, "terms": terms}
    codes = np.array([*range(len(variable.levels)), MISSING])
    values = summed(parts, rows_of(model, {source: (np.full(len(codes), np.nan), codes)}))
    names = [*variable.levels, *([None] if variable.has_missing else [])]  # None: missing
    shape["levels"] = [
        {"level": name, "value": float(value)}
        for name, value in zip(names, values.tolist(), strict=False)
    ]
    if variable.kind == "number":
        grid = _grid(model, source, parts, inputs)
        nothing = np.full(len(grid), MISSING)
        heights = summed(parts, rows_of(model, {source: (grid, nothing)}))
        shape["points"] = _simplified(grid, heights)
    return shape


def summed(parts: Sequence[TreeTerms | DirectTerm], rows: Inputs) -> Floats:
    """Return what some parts add together."""
    total = np.zeros(rows.n_rows)
    for part in parts:
        total = total + part.contribution(rows)
    return total


def rows_of(model: Model, cells: Mapping[str, tuple[Floats, NDArray[Any]]]) -> Inputs:
    """Return rows in which some variables have these numbers and codes, every other is missing."""
    n = len(next(iter(cells.values()))[0])
    gone = np.full(n, np.nan), np.full(n, MISSING)
    columns: list[NDArray[Any]] = []
    specials = {}
    for position, variable in enumerate(model.schema.variables):
        numbers, codes = cells.get(variable.name, gone)
        if variable.kind == "category":
            columns.append(codes.astype(np.int32))
            continue
        columns.append(numbers)
        if variable.levels:
            specials[position] = codes.astype(np.int32)
    return Inputs(model.schema, tuple(columns), specials)


def _grid(
    model: Model, source: str, parts: Sequence[TreeTerms | DirectTerm], inputs: Inputs | None
) -> Floats:
    """Return the numbers at which a curve is drawn: its range, and both sides of every corner."""
    corners = sorted({corner for part in parts for corner in _corners(part)})
    low, high = covered(model, source, corners, inputs)
    inside = np.array([c for c in corners if low <= c <= high])
    beside = np.concatenate([np.nextafter(inside, -np.inf), inside, np.nextafter(inside, np.inf)])
    return np.unique(np.concatenate([np.linspace(low, high, STEPS), beside])) + 0.0


def covered(
    model: Model, source: str, corners: Sequence[float], inputs: Inputs | None
) -> tuple[float, float]:
    """Return where a curve begins and ends: some way beyond nine tenths of the cases.

    Not at the very extremes, which squeeze the rest and belong to single cases.
    """
    known = [*corners, *_profile_numbers(model, source)]
    floor = -np.inf
    if inputs is not None:
        numbers = inputs[source][~np.isnan(inputs[source])]
        if len(numbers):
            known = [*corners, *np.quantile(numbers, [0.05, 0.95]).tolist()]
            floor = 0.0 if numbers.min() >= 0 else floor
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    room = (high - low) * ROOM or 1.0
    return max(low - room, min(floor, low)), high + room


def _profile_numbers(model: Model, source: str) -> list[float]:
    for column in model.data.get("profile") or []:
        if column["name"] == source:
            found = [*(column["extremes"] or []), *(column["quantiles"] or [])]
            return [float(number) for number in found if number is not None]
    return []


def _corners(part: TreeTerms | DirectTerm) -> Iterator[float]:
    """Yield the numbers at which a part of one variable may jump or bend."""
    if isinstance(part, DirectTerm):
        yield from column_corners(part.column)
        if isinstance(part.column, Value):
            yield part.centre
        return
    for split in part.tree.splits:
        yield from column_corners(split.column)
        if split.threshold is not None and isinstance(split.column, Value):
            yield split.threshold


def column_corners(column: Column) -> Iterator[float]:
    """Yield the numbers at which a column of one variable jumps or bends."""
    if isinstance(column, Step):
        yield column.threshold
    elif isinstance(column, Hinge):
        yield column.knot
    elif isinstance(column, Interval):
        yield from (end for end in (column.low, column.high) if np.isfinite(end))
    elif isinstance(column, Scale):
        yield from column.numbers


def _simplified(x: Floats, y: Floats) -> list[list[float]]:
    """Keep the corners of a line: all else lies between them, to a two-thousandth of its height."""
    allowed = (float(y.max() - y.min()) or 1.0) / 2000.0
    kept, stack = {0, len(x) - 1}, [(0, len(x) - 1)]
    while stack:
        a, b = stack.pop()
        if b - a < 2:
            continue
        between = np.interp(x[a + 1 : b], x[[a, b]], y[[a, b]])
        gaps = np.abs(between - y[a + 1 : b])
        worst = a + 1 + int(gaps.argmax())
        if gaps[worst - a - 1] > allowed:
            kept.add(worst)
            stack += [(a, worst), (worst, b)]
    return [[float(x[k]), float(y[k])] for k in sorted(kept)]
