"""The bound on the audit load that is known before training (Theorem 1, as it should be)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpte.columns.units import level_set_conditions
from rpte.table.schema import Schema, Variable

MOST_CONDITIONS = 300  # that validation may choose where the user gives no number


def audit_bound(schema: Schema, *, trees: int, leaves: int, depth: int, budget: int) -> int:
    """Return the most conditions (MIU) that a fit on this schema can end with.

    At most min(T, p0) trees with L_max leaves, each behind D_max conditions; a condition reads two
    sources at the most, or a set of levels. Every vocabulary column may become a direct term: each
    value, level and missing flag, and 2K derived columns of two sources each.

    Parameters
    ----------
    schema : Schema
    trees, leaves, depth : int
        T, L_max and D_max.
    budget : int
        K; 0 when only raw variables are used.
    """
    widest = max((_widest(variable) for variable in schema.variables), default=1)
    in_trees = min(trees, len(schema)) * leaves * depth * max(widest, 2 if budget else 1)
    raw = sum(_raw_terms(variable) for variable in schema.variables)
    return in_trees + raw + 2 * (2 * budget)


def bound_under(schema: Schema, settings: Mapping[str, Any]) -> int:
    """Return the bound of a fit with these parameters (as the model file holds them)."""
    return audit_bound(
        schema,
        trees=settings["max_trees"],
        leaves=settings["max_leaves"],
        depth=settings["max_depth"],
        budget=0 if settings["vocabulary"] == "original" else settings["budget"],
    )


def _raw_terms(variable: Variable) -> int:
    """Count the value, levels or special codes, and missing flag of a variable."""
    return (variable.kind == "number") + len(variable.levels) + variable.has_missing


def _widest(variable: Variable) -> int:
    """Count the conditions of the widest split on a variable."""
    levels = len(variable.levels)
    return level_set_conditions(levels // 2, levels) if levels else 1
