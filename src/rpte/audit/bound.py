"""The bound on the audit load that is known before training (Theorem 1, as it should be)."""

from __future__ import annotations

from rpte.audit.counting import level_set_conditions
from rpte.table.schema import Schema, Variable


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


def _raw_terms(variable: Variable) -> int:
    """Count the value or levels of a variable, and its missing flag if it has one."""
    return max(1, len(variable.levels)) + variable.has_missing


def _widest(variable: Variable) -> int:
    """Count the conditions of the widest split on a variable."""
    levels = len(variable.levels)
    return level_set_conditions(levels // 2, levels) if levels else 1
