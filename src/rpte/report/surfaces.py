"""What two variables that a direct term reads add together, over a grid of both.

Everything that reads one of them counts, their own terms as well as those with others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpte.model.effect import Background, Cells, joint_effect, own_parts, shared_parts, sum_of
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm
from rpte.report.curves import averaged, covered

CELLS = 18  # along a number
MOST_LEVELS = 12


def surfaces(model: Model, component: Component, rows: Background | None) -> list[dict[str, Any]]:
    """Return a grid for each pair of variables that direct terms read together, strongest first.

    Parameters
    ----------
    model : Model
    component : Component
    rows : Background, optional
        Rows whose range (without the outer twentieths) the grids cover, and that terms shared with
        further variables are averaged over; without them such terms are left out, and `averaged`
        is None.
    """
    groups: dict[tuple[str, ...], list[DirectTerm]] = {}
    for term in component.direct:
        if len(set(term.sources)) == 2:
            groups.setdefault(_placed(model, term.sources), []).append(term)
    found = [
        (_size(terms, rows), _surface(model, component, names, rows))
        for names, terms in groups.items()
    ]
    return [surface for _, surface in sorted(found, key=lambda pair: -pair[0])]


def _placed(model: Model, sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return two variables, the one with more levels last: names need room, which is upwards."""
    return tuple(sorted(sources, key=lambda name: (len(model.schema[name].levels), name)))


def _size(terms: list[DirectTerm], rows: Background | None) -> float:
    """Return how far the terms of a pair move a row, for the order of the pictures."""
    if rows is None:
        return sum(abs(term.coefficient) * term.scale for term in terms)
    total = sum_of(terms, rows.inputs)
    return float(rows.mean(np.abs(total - rows.mean(total))))


def _surface(
    model: Model, component: Component, names: tuple[str, ...], rows: Background | None
) -> dict[str, Any]:
    axes = {name: _axis(model, name, rows) for name in names}
    cells = {name: axis[0] for name, axis in axes.items()}
    shared = shared_parts(component, *names)
    values = joint_effect(component, model.schema, cells, rows)
    return {
        "sources": list(names),
        "terms": [part.name for part in own_parts(component, *names)],
        "shared": [part.name for part in shared],
        "others": sorted({s for part in shared for s in part.sources} - set(names)),
        "averaged": averaged(rows) if shared else None,
        "x": axes[names[0]][1],
        "y": axes[names[1]][1],
        "values": [[round(float(v), 6) for v in row] for row in values],
    }


def _axis(model: Model, name: str, rows: Background | None) -> tuple[Cells, dict[str, Any]]:
    """Return the cells along one variable, and what is written at them."""
    variable = model.schema[name]
    if variable.kind == "category":
        levels = variable.levels[:MOST_LEVELS]
        return Cells.of_codes(range(len(levels))), {"levels": list(levels)}
    low, high = covered(model, name, [], rows)
    ends = [] if rows is None else rows.quantiles(name, 0.05, 0.95)
    if ends and ends[0] < ends[1]:
        low, high = ends
    edges = np.linspace(low, high, CELLS + 1)
    return Cells.of_numbers((edges[1:] + edges[:-1]) / 2), {"range": [float(low), float(high)]}
