"""What variables add to the score, as plain values.

`shapes`: one variable over its range, its whole effect and its own terms alone. `surfaces`: two
variables that a direct term reads, over a grid of both; everything that reads one of them counts.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rpte.model.effect import (
    OUTER,
    Background,
    Cells,
    effect,
    joint_effect,
    own_parts,
    shared_parts,
)
from rpte.model.grid import bends, centres, columns_on, jumps, profile_of
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, sum_of
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats

Record = dict[str, Any]  # plain values, as JSON holds them
STEPS = 160  # points of a curve beside its corners
TOLERANCE = 1 / 2000  # share of a curve's height by which it may be drawn off
GRID_CELLS, MOST_GRID_LEVELS = 18, 12  # along a number, of a category
KEYS = ("whole", "own", "low", "high")


def shapes(model: Model, component: Component, rows: Background | None) -> list[Record]:
    """Return the shape of each variable of a component.

    The curves cover the training range. Shared terms are averaged over `rows`; without rows a
    variable's own terms are all that can be shown, and a variable without any is left out.
    """
    drawn = [s for s in component.sources if rows is not None or own_parts(component, s)]
    return [shape(model, component, source, rows) for source in drawn]


def shape(model: Model, component: Component, source: str, rows: Background | None) -> Record:
    """Return one variable's effect as plain values: a curve of a number, levels, missing."""
    variable = model.schema[source]
    found = {"source": source, "kind": variable.kind, **reading(component, (source,), rows)}
    found["unit"] = model.target.score_unit
    found["alone"] = not found["shared"]
    found["points"] = few_values(model, source)
    names = [*variable.levels, *([None] if variable.has_missing else [])]  # None: missing
    codes = [MISSING if name is None else place for place, name in enumerate(names)]
    values = effect(component, model.schema, source, Cells.of_codes(codes), rows)
    columns = {key: getattr(values, key) for key in KEYS}
    found["levels"] = [
        {"level": name, **{k: None if v is None else float(v[place]) for k, v in columns.items()}}
        for place, name in enumerate(names)
    ]
    if variable.kind == "number":
        grid = curve_grid(model, component, source, rows)
        heights = effect(component, model.schema, source, Cells.of_numbers(grid), rows)
        allowed = 0.0 if found["points"] else TOLERANCE
        found["curves"] = {key: _simplified(grid, getattr(heights, key), allowed) for key in KEYS}
    return found


def reading(component: Component, names: tuple[str, ...], rows: Background | None) -> Record:
    """Return what reads some variables: own terms, terms shared with others, averaged over what."""
    shared, over = shared_parts(component, *names), None
    if rows is not None and shared:
        over = {"rows": rows.n_rows, "table_rows": rows.table_rows, "sampled": rows.sampled}
    return {
        "terms": [part.name for part in own_parts(component, *names)],
        "shared": [part.name for part in shared],
        "others": sorted({source for part in shared for source in part.sources} - set(names)),
        "averaged": over,
    }


def curve_grid(model: Model, component: Component, source: str, rows: Background | None) -> Floats:
    """Return the numbers at which a curve is drawn: its range, and both sides of every corner.

    Of few different numbers in training, these.
    """
    if few_values(model, source):
        return np.array(profile_of(model, source)["values"])
    found = corners(component, source)
    low, high = covered(model, source, found, rows)
    inside = np.array([c for c in sorted(found) if low <= c <= high])
    beside = np.concatenate([np.nextafter(inside, -np.inf), inside, np.nextafter(inside, np.inf)])
    beside = beside[(beside >= low) & (beside <= high)]
    return np.unique(np.concatenate([np.linspace(low, high, STEPS), beside])) + 0.0


def few_values(model: Model, source: str) -> bool:
    """Tell whether the file has all different numbers of a variable, since they are few."""
    return bool(profile_of(model, source).get("values"))


def corners(component: Component, source: str) -> set[float]:
    """Return the numbers at which what a variable adds may bend or jump, and its centres."""
    read = list(columns_on([component], source))
    found = {*centres(component, source), *(at for column, _ in read for at in bends(column))}
    return found | {at for column, threshold in read for at in jumps(column, threshold)}


def covered(
    model: Model, source: str, corners: Iterable[float], rows: Background | None
) -> tuple[float, float]:
    """Return the ends of a curve: of the training values, as far as the file has them.

    Where an older file or one without a profile has none, those of the rows, or of corners.
    """
    profile = profile_of(model, source)
    told = [*(profile.get("extremes") or ()), *(profile.get("quantiles") or ())]
    known = profile.get("equal_parts") or ([] if rows is None else rows.quantiles(source, 0.0, 1.0))
    known = known or [*corners, *(float(number) for number in told if number is not None)]
    return (min(known), max(known)) if known else (0.0, 0.0)


def dense(model: Model, source: str, rows: Background | None) -> tuple[float, float]:
    """Return the ends of a map along a number: nine tenths of the values, as far as known."""
    parts = profile_of(model, source).get("equal_parts")
    shares = np.linspace(0.0, 1.0, len(parts or ()))
    ends = [] if rows is None else rows.quantiles(source, OUTER, 1.0 - OUTER)
    if parts:
        ends = np.interp([OUTER, 1.0 - OUTER], shares, parts).tolist()
    return (ends[0], ends[1]) if ends and ends[0] < ends[1] else covered(model, source, [], rows)


def _simplified(x: Floats, y: Floats | None, tolerance: float) -> list[list[float]] | None:
    """Keep the corners of a line: all else lies between them, to a share of its height."""
    if y is None:
        return None
    if not tolerance:
        return [[float(at), float(height)] for at, height in zip(x, y, strict=True)]
    allowed = (float(y.max() - y.min()) or 1.0) * tolerance
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


def surfaces(model: Model, component: Component, rows: Background | None) -> list[Record]:
    """Return a grid for each pair of variables that direct terms read together, strongest first.

    The grids cover the range of `rows` without its outer twentieths, and terms shared with further
    variables are averaged over them; without rows such terms are left out: `averaged` is None.
    """
    groups: dict[tuple[str, ...], list[DirectTerm]] = {}
    for term in component.direct:
        if len(set(term.sources)) == 2:  # the one with more levels last: names need room upwards
            placed = sorted(term.sources, key=lambda name: (len(model.schema[name].levels), name))
            groups.setdefault(tuple(placed), []).append(term)
    found = sorted(groups, key=lambda names: -_reach(groups[names], rows))
    return [_surface(model, component, names, rows) for names in found]


def _reach(terms: list[DirectTerm], rows: Background | None) -> float:
    """Return how far the terms of a pair move a row, for the order of the pictures."""
    if rows is None:
        return sum(abs(term.coefficient) * term.scale for term in terms)
    total = sum_of(terms, rows.inputs)
    return float(rows.mean(np.abs(total - rows.mean(total))))


def _surface(
    model: Model, component: Component, names: tuple[str, ...], rows: Background | None
) -> Record:
    axes = {name: _axis(model, name, rows) for name in names}
    cells = {name: axis[0] for name, axis in axes.items()}
    values = joint_effect(component, model.schema, cells, rows)
    return {
        "sources": list(names),
        **reading(component, names, rows),
        "unit": model.target.score_unit,
        "x": axes[names[0]][1],
        "y": axes[names[1]][1],
        "values": [[round(float(v), 6) for v in row] for row in values],
    }


def _axis(model: Model, name: str, rows: Background | None) -> tuple[Cells, Record]:
    """Return the cells along one variable, and what is written at them."""
    variable = model.schema[name]
    if variable.kind == "category":
        levels = variable.levels[:MOST_GRID_LEVELS]
        return Cells.of_codes(range(len(levels))), {"levels": list(levels)}
    low, high = dense(model, name, rows)
    edges = np.linspace(low, high, GRID_CELLS + 1)
    return Cells.of_numbers((edges[1:] + edges[:-1]) / 2), {"range": [float(low), float(high)]}
