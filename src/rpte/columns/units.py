"""The counting rule: what is active, and how many conditions a set of levels is.

Numpy and the standard library only; every other part of the library counts with these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

ACTIVE_ABOVE = 1e-12
LEVELS_PER_CONDITION = 8


def is_active(values: ArrayLike) -> NDArray[np.bool_]:
    """Tell which values are active: |value| > 1e-12.

    Parameters
    ----------
    values : array of any shape

    Returns
    -------
    ndarray of bool, same shape
    """
    return np.asarray(np.abs(np.asarray(values, dtype=np.float64)) > ACTIVE_ABOVE)


def any_active(values: ArrayLike) -> NDArray[np.bool_]:
    """Tell which rows of `values` hold an active value (a leaf or cell with one value per class).

    Parameters
    ----------
    values : array of shape (n, ...)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    active = is_active(values)
    return np.asarray(active.reshape(len(active), -1).any(axis=1))


def level_set_conditions(n_in: int, n_total: int) -> int:
    """Count the conditions of a test "variable in a set of levels".

    The set is read as "in" or "not in", whichever is shorter; a condition lists at most 8 levels
    and every further 8 begun count one more.

    Parameters
    ----------
    n_in : int
        Levels in the set.
    n_total : int
        Levels of the variable.

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
    """Return a fitted attribute, or say that the model has to be fitted.

    Parameters
    ----------
    model : object
    attribute : str
        Name of an attribute that fitting creates.
    """
    if not hasattr(model, attribute):
        raise ValueError(
            f"{type(model).__qualname__} has no {attribute!r}, so there is nothing to count; "
            "fit the model first, or pass the fitted model inside it"
        )
    return getattr(model, attribute)
