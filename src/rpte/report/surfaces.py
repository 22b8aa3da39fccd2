"""What two variables add together: the sum of all direct terms that read both, over a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm
from rpte.report.curves import covered, rows_of, summed
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs

Floats = NDArray[np.float64]
CELLS = 18  # along a number
MOST_LEVELS = 12


def surfaces(model: Model, component: Component, inputs: Inputs | None) -> list[dict[str, Any]]:
    """Return a grid for each pair of variables that direct terms read together, strongest first.

    Parameters
    ----------
    model : Model
    component : Component
    inputs : Inputs, optional
        Rows whose range (without the outer twentieths) the grids cover.
    """
    groups: dict[tuple[str, ...], list[DirectTerm]] = {}
    for term in component.direct:
        if len(set(term.sources)) == 2:
            groups.setdefault(tuple(sorted(term.sources)), []).append(term)
    found = [_surface(model, names, terms, inputs) for names, terms in groups.items()]
    return sorted(
        found, key=lambda s: -max((abs(v) for row in s["values"] for v in row), default=0.0)
    )


def _surface(
    model: Model, names: tuple[str, ...], terms: list[DirectTerm], inputs: Inputs | None
) -> dict[str, Any]:
    across, up = (_axis(model, name, inputs) for name in names)
    n, m = len(across["codes"]), len(up["codes"])
    cells = {
        names[0]: (np.tile(across["numbers"], m), np.tile(across["codes"], m)),
        names[1]: (np.repeat(up["numbers"], n), np.repeat(up["codes"], n)),
    }
    values = summed(terms, rows_of(model, cells)).reshape(m, n)
    return {
        "sources": list(names),
        "terms": [term.name for term in terms],
        "x": across["said"],
        "y": up["said"],
        "values": [[round(float(v), 6) for v in row] for row in values],
    }


def _axis(model: Model, name: str, inputs: Inputs | None) -> dict[str, Any]:
    """Return the cells along one variable, and what is written at them."""
    variable = model.schema[name]
    if variable.kind == "category":
        levels = variable.levels[:MOST_LEVELS]
        numbers, codes = np.full(len(levels), np.nan), np.arange(len(levels))
        return {"numbers": numbers, "codes": codes, "said": {"levels": list(levels)}}
    low, high = covered(model, name, [], inputs)
    if inputs is not None:
        present = inputs[name][~np.isnan(inputs[name])]
        ends = np.quantile(present, [0.05, 0.95]) if len(present) else (low, high)
        low, high = (float(ends[0]), float(ends[1])) if ends[0] < ends[1] else (low, high)
    edges = np.linspace(low, high, CELLS + 1)
    numbers = (edges[1:] + edges[:-1]) / 2
    codes = np.full(CELLS, MISSING)
    return {"numbers": numbers, "codes": codes, "said": {"range": [float(low), float(high)]}}
