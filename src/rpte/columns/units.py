"""The counting rule of the audit load, and the bound on it that is known before training.

Every other part of the library counts with these functions.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rpte.table.schema import Schema
from rpte.utils.arrays import Mask

ACTIVE_ABOVE = 1e-12
LEVELS_PER_CONDITION = 8
MOST_CONDITIONS = 300  # that validation may choose where the user gives no number


def active_terms(fit: Any) -> Any:
    """Tell which terms of a fit are active, (q,).

    A fit (q + 1,) is an intercept with coefficients; of several scores it is (K, q + 1), and a term
    is active where it is so for any.
    """
    active = is_active(fit[..., 1:])
    return active.any(axis=0) if fit.ndim > 1 else active


def is_active(values: ArrayLike) -> Mask:
    """Tell which values, in an array of any shape, are active: |value| > 1e-12."""
    return np.asarray(np.abs(np.asarray(values, dtype=np.float64)) > ACTIVE_ABOVE)


def any_active(values: ArrayLike) -> Mask:
    """Tell which rows (n,) of `values` (n, ...) hold an active one, such as one value per class."""
    active = is_active(values)
    return np.asarray(active.any(axis=tuple(range(1, active.ndim))))


def level_set_conditions(n_in: int, n_total: int) -> int:
    """Count the conditions of a test "variable in a set of `n_in` of its `n_total` levels".

    The set is read as "in" or "not in", whichever is shorter; a condition lists at most 8 levels
    and every further 8 begun count one more.

    Examples
    --------
    >>> level_set_conditions(3, 20), level_set_conditions(9, 20), level_set_conditions(19, 20)
    (1, 2, 1)
    """
    if not 0 <= n_in <= n_total:
        raise ValueError(
            f"a set of {n_in} levels out of {n_total} is impossible: n_in must lie between 0 and "
            "n_total; count the levels of the variable again"
        )
    return max(1, -(-min(n_in, n_total - n_in) // LEVELS_PER_CONDITION))


def fitted(model: Any, attribute: str) -> Any:
    """Return an attribute that fitting creates, or say that the model has to be fitted."""
    if not hasattr(model, attribute):
        raise ValueError(
            f"{type(model).__qualname__} has no {attribute!r}, so there is nothing to count; "
            "fit the model first, or pass the fitted model inside it"
        )
    return getattr(model, attribute)


def bound_under(schema: Schema, settings: Mapping[str, Any]) -> int:
    """Return the most conditions (MIU) that a fit on this schema can end with.

    Theorem 1, as it should be: at most min(T, p0) trees with L_max leaves, each behind D_max
    conditions; a condition reads two sources at the most, or a set of levels. Every vocabulary
    column may become a direct term: each value, level and missing flag, and 2K derived columns of
    two sources each, where K is 0 if only raw variables are used. The settings are those of the
    model file.
    """
    budget = 0 if settings["vocabulary"] == "original" else settings["budget"]
    widest, raw = 2 if budget else 1, 0
    for variable in schema.variables:
        levels = len(variable.levels)
        widest = max(widest, level_set_conditions(levels // 2, levels))
        raw += (variable.kind == "number") + levels + variable.has_missing
    paths = settings["max_leaves"] * settings["max_depth"] * min(settings["max_trees"], len(schema))
    return int(paths * widest + raw + 2 * (2 * budget))
