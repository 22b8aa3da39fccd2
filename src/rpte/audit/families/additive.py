"""Additive models: our own, linear ones, EBM, RuleFit (rules and linear terms), FIGS (trees)."""

import operator
from typing import Any

import numpy as np

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.terms import (
    NOT_CONSULTED,
    Terms,
    consulted_where,
    direct_terms_consulted,
    linked_nodes,
    tree_arrays,
    tree_terms,
)
from rpte.columns.units import any_active, fitted, is_active
from rpte.model.given import model_of
from rpte.model.model import Model
from rpte.model.parts import TreeTerms
from rpte.structure.tree import path_conditions
from rpte.utils.arrays import Array, Floats, Ints

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def own(model: Any, X: Any | None) -> Terms:
    """Read the active leaves and direct terms of an RPTE model (or of the estimator around it)."""
    found = model_of(model, "audit_load")
    ours = found if isinstance(found, Model) else found.outline
    inputs = None if X is None else ours.read(X)
    unit = ours.target.factor  # numbers in small units have small coefficients
    conditions: list[int] = []
    reached = []
    for _, part in ours.parts():
        first = len(conditions)
        if isinstance(part, TreeTerms):
            active = is_active([leaf.coefficient / unit for leaf in part.leaves])
            paths = zip(part.tree.paths(), active, strict=True)
            conditions += [path_conditions(path, ours.schema) for path, counts in paths if counts]
            if inputs is not None:
                number = np.where(active, first + np.cumsum(active) - 1, NOT_CONSULTED)
                reached.append(number[part.tree.apply(inputs)])
        # Per standard deviation: a slope is no less there for being in units of millions.
        elif is_active(part.coefficient / unit * part.scale):
            conditions.append(part.column.conditions(ours.schema))
            if inputs is not None:
                values = part.column.evaluate(inputs)
                says = part.column.centred | ~np.isnan(values) & (values != 0)
                reached.append(np.where(says, first, NOT_CONSULTED))
    counts = np.array(conditions, np.int64)
    if inputs is None:
        return Terms(counts, bound=ours.bound)
    slots = np.reshape(np.array(reached, np.int64), (len(reached), inputs.n_rows))
    return Terms(counts, slots.T, bound=ours.bound)


def linear(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted linear model: a column with a non-zero coefficient in any class is a term."""
    coef = dense(fitted(model, "coef_"))
    used = np.flatnonzero(any_active(np.atleast_2d(coef).T))
    conditions = conditions_of(columns, used)
    if X is None:
        return Terms(conditions)
    if columns is None:  # every column is a slope
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # a sparse table refuses len()
        return Terms(conditions, consulted_where(np.ones((n_rows, len(used)), dtype=bool)))
    values = np.asarray(dense(X), dtype=np.float64)[:, used]
    return Terms(conditions, direct_terms_consulted(values, columns.slope[used]))


def dense(values: Any) -> Array:
    """Return an array, also of a scipy sparse matrix."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def ebm(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted EBM: non-zero cells (missing and unknown too), times the variables of each."""
    features = fitted(model, "term_features_")
    arity = np.array([conditions_of(columns, f).sum() for f in features], dtype=np.int64)
    # A cell may hold one score per class.
    shapes = (
        np.reshape(s, (-1, *np.shape(s)[len(f) :]))
        for s, f in zip(model.term_scores_, features, strict=True)
    )
    cells = np.array([any_active(s).sum() for s in shapes], dtype=np.int64)
    used = np.flatnonzero(cells)
    reached = None
    if X is not None:
        scores = is_active(model.eval_terms(X))[:, used]
        # One score per class: the term is read if any class uses it.
        reached = consulted_where(np.any(scores.reshape(*scores.shape[:2], -1), axis=2))
    return Terms((cells * arity)[used], reached, reading=arity[used])


def rulefit(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted RuleFit; a rule counts as the model prints it, a linear term in every row."""
    rules = fitted(model, "rules_without_feature_names_")
    active = is_active(np.asarray(model.coef, dtype=np.float64))
    n_linear = len(active) - len(rules)
    linear = np.flatnonzero(active[:n_linear])
    column = {name: j for j, name in enumerate(model.feature_placeholders)}
    literals = [
        [(column[name], symbol, float(value)) for (name, symbol), value in rule.agg_dict.items()]
        for rule, counts in zip(rules, active[n_linear:], strict=True)
        if counts
    ]
    conditions = [conditions_of(columns, [j for j, _, _ in rule]).sum() for rule in literals]
    counts = np.concatenate([conditions_of(columns, linear), np.asarray(conditions, np.int64)])
    if X is None:
        return Terms(counts)
    values = np.asarray(dense(X), dtype=np.float64)
    consulted = np.ones((len(values), len(counts)), dtype=bool)
    for r, rule in enumerate(literals, len(linear)):
        for j, symbol, number in rule:
            consulted[:, r] &= COMPARE[symbol](values[:, j], number)
    return Terms(counts, consulted_where(consulted))


def figs(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted FIGS model; its trees count like boosted ones."""
    encoded = hasattr(model, "_encoder")
    values = None
    if X is not None:
        if encoded:  # FIGS one-hot encodes by itself; its indicators are ordinary conditions
            X = model._encode_categories(X, model.categorical_features_, "_encoder")
        values = np.asarray(dense(X), dtype=np.float64)
    trees, leaves = [], []
    for root in fitted(model, "trees_"):
        nodes, children = linked_nodes(
            root, lambda node: [] if node.left is None else [node.left, node.right]
        )
        feature = [0 if node.left is None else node.feature for node in nodes]
        active = np.asarray([bool(is_active(node.value).any()) for node in nodes])
        trees.append(tree_arrays(children, feature, active, None if encoded else columns))
        if values is not None:
            leaves.append(_leaves(nodes, children, values))
    if values is None:
        return tree_terms(trees, None)
    return tree_terms(trees, np.reshape(leaves, (len(trees), len(values))).T)


def _leaves(nodes: list[Any], children: tuple[list[int], list[int]], values: Floats) -> Ints:
    """Return the positions of the leaves that rows reach; parents come before children."""
    at = np.zeros(len(values), dtype=np.int64)
    for n, (node, left, right) in enumerate(zip(nodes, *children, strict=True)):
        if node.left is not None:
            goes_left = values[:, node.feature] <= node.threshold
            at = np.where(at == n, np.where(goes_left, left, right), at)
    return at
