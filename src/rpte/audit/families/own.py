"""Our own models, counted by the rule that counts everybody's."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpte.audit.terms import NOT_CONSULTED, Terms
from rpte.columns.units import is_active
from rpte.model.model import Model
from rpte.model.parts import TreeTerms
from rpte.structure.tree import path_conditions


def terms(model: Any, X: Any | None) -> Terms:
    """Read the active leaves and direct terms of an RPTE model (or of the estimator around it)."""
    own: Model = model if isinstance(model, Model) else model.model_
    inputs = None if X is None else own.read(X)
    conditions: list[int] = []
    reached = []
    for _, part in own.parts():
        first = len(conditions)
        if isinstance(part, TreeTerms):
            active = is_active([leaf.coefficient for leaf in part.leaves])
            paths = zip(part.tree.paths(), active, strict=True)
            conditions += [path_conditions(path, own.schema) for path, counts in paths if counts]
            if inputs is not None:
                number = np.where(active, first + np.cumsum(active) - 1, NOT_CONSULTED)
                reached.append(number[part.tree.apply(inputs)])
        # Per standard deviation: a slope is no less there for being in units of millions.
        elif is_active(part.coefficient * part.scale):
            conditions.append(part.column.conditions(own.schema))
            if inputs is not None:
                values = part.column.evaluate(inputs)
                says = part.column.centred | ~np.isnan(values) & (values != 0)
                reached.append(np.where(says, first, NOT_CONSULTED))
    counts = np.array(conditions, np.int64)
    if inputs is None:
        return Terms(counts, bound=own.bound)
    slots = np.reshape(np.array(reached, np.int64), (len(reached), inputs.n_rows))
    return Terms(counts, slots.T, bound=own.bound)
