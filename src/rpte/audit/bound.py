"""The bound on the audit load that is known before training (Theorem 1, as it should be)."""

from __future__ import annotations

from typing import Protocol

from rpte.audit.counting import level_set_conditions
from rpte.table.schema import Schema, Variable


class Limits(Protocol):
    """The settings that the bound depends on."""

    @property
    def vocabulary(self) -> str: ...
    @property
    def pattern_order(self) -> int: ...
    @property
    def budget(self) -> int: ...
    @property
    def max_trees(self) -> int: ...
    @property
    def max_leaves(self) -> int: ...
    @property
    def max_depth(self) -> int: ...


def audit_bound(schema: Schema, limits: Limits) -> int:
    """Return the most conditions (MIU) that a fit on this schema can end with.

    At most min(T, p0) trees with L_max leaves, each behind D_max conditions; a condition reads two
    sources at the most, or a set of levels. Every vocabulary column may become a direct term: each
    value, level and missing flag, and 2K derived columns of two sources each.
    """
    trees = min(limits.max_trees, len(schema)) * limits.max_leaves * limits.max_depth
    widest = max((_widest(variable) for variable in schema.variables), default=1)
    derived = 0 if limits.vocabulary == "original" else 2 * limits.budget
    raw = sum(_raw_terms(variable) for variable in schema.variables)
    return trees * max(widest, 2 if derived else 1) + raw + 2 * derived


def _raw_terms(variable: Variable) -> int:
    """Count the value or levels of a variable, and its missing flag if it has one."""
    return max(1, len(variable.levels)) + variable.has_missing


def _widest(variable: Variable) -> int:
    """Count the conditions of the widest split on a variable."""
    levels = len(variable.levels)
    return level_set_conditions(levels // 2, levels) if levels else 1
