"""imodels' RuleFit: literals of active rules, and active linear terms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.families.linear import dense, n_rows
from rpte.audit.terms import Terms, consulted_where
from rpte.columns.units import fitted, is_active

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted RuleFit; a rule counts as the model prints it, a linear term in every row.

    Parameters
    ----------
    model : RuleFit
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    rules = fitted(model, "rules_without_feature_names_")
    coef = np.asarray(model.coef, dtype=np.float64)
    n_linear = len(coef) - len(rules)
    linear = np.flatnonzero(is_active(coef[:n_linear]))
    column = {name: j for j, name in enumerate(model.feature_placeholders)}
    literals = [
        _literals(rule, column)
        for rule, weight in zip(rules, is_active(coef[n_linear:]), strict=True)
        if weight
    ]
    conditions = [conditions_of(columns, [j for j, _, _ in rule]).sum() for rule in literals]
    counts = np.concatenate(
        [conditions_of(columns, linear), np.asarray(conditions, dtype=np.int64)]
    )
    return Terms(counts, None if X is None else _consulted(literals, len(linear), X))


def _literals(rule: Any, column: dict[str, int]) -> list[tuple[int, str, float]]:
    """Read a rule as (column, comparison, number) triples."""
    return [(column[name], symbol, float(value)) for (name, symbol), value in rule.agg_dict.items()]


def _consulted(
    literals: list[list[tuple[int, str, float]]], n_linear: int, X: Any
) -> NDArray[np.int64]:
    """Say which terms each row consults: every linear term, and the rules that fire."""
    values = np.asarray(dense(X), dtype=np.float64)
    consulted = np.ones((n_rows(X), n_linear + len(literals)), dtype=bool)
    for r, rule in enumerate(literals):
        for j, symbol, number in rule:
            consulted[:, n_linear + r] &= COMPARE[symbol](values[:, j], number)
    return consulted_where(consulted)
