"""Our own models, counted by the rule that counts everybody's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.terms import NOT_CONSULTED, Terms, direct_terms_consulted
from rpte.columns.units import is_active
from rpte.model.model import Model
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.tree import path_conditions
from rpte.table.inputs import Inputs

Ints = NDArray[np.int64]


def terms(model: Any, X: Any | None) -> Terms:
    """Read the active leaves and direct terms of an RPTE model (or of the estimator around it)."""
    own: Model = model if isinstance(model, Model) else model.model_
    trees = [part for _, part in own.parts() if isinstance(part, TreeTerms)]
    direct = [part for _, part in own.parts() if isinstance(part, DirectTerm)]
    # Per standard deviation: a slope is no less there for being in units of millions.
    direct = [term for term in direct if is_active(term.coefficient * term.scale)]
    per_tree = [_leaf_conditions(own, tree) for tree in trees]
    singles = [term.column.conditions(own.schema) for term in direct]
    conditions = np.concatenate([np.zeros(0, np.int64), *per_tree, singles]).astype(np.int64)
    if X is None:
        return Terms(conditions, bound=own.bound)
    inputs, start, slots = own.read(X), 0, []
    for tree, counts in zip(trees, per_tree, strict=True):
        slots.append(_reached(tree, inputs, start))
        start += len(counts)
    reached = _direct_reached(direct, inputs, start)
    return Terms(conditions, np.column_stack([*slots, reached]), bound=own.bound)


def _active_leaves(tree: TreeTerms) -> NDArray[np.bool_]:
    return is_active([leaf.coefficient for leaf in tree.leaves])


def _leaf_conditions(model: Model, tree: TreeTerms) -> Ints:
    counts = np.array([path_conditions(path, model.schema) for path in tree.tree.paths()], np.int64)
    return counts[_active_leaves(tree)]


def _reached(tree: TreeTerms, inputs: Inputs, start: int) -> Ints:
    """Return the term number of each row's leaf, or that it says nothing."""
    active = _active_leaves(tree)
    number = np.where(active, start + np.cumsum(active) - 1, NOT_CONSULTED)
    return number[tree.tree.apply(inputs)]


def _direct_reached(direct: list[DirectTerm], inputs: Inputs, start: int) -> Ints:
    columns = [term.column.evaluate(inputs) for term in direct]
    values = np.column_stack(columns) if columns else np.zeros((inputs.n_rows, 0))
    slope = np.array([term.column.centred for term in direct], bool)
    says = ~np.isnan(values) & (values != 0)  # however small its unit
    consulted = direct_terms_consulted(says.astype(np.float64), slope)
    return np.where(consulted == NOT_CONSULTED, NOT_CONSULTED, consulted + start)
