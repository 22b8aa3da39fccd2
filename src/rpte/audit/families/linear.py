"""Linear models: each column with a non-zero coefficient is one term."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.terms import Terms, direct_terms_consulted
from rpte.columns.units import any_active, fitted


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted linear model; with several classes a column counts once, if any uses it.

    Parameters
    ----------
    model : object with `coef_`
    X : table, optional
    columns : Columns, optional

    Returns
    -------
    Terms
    """
    coef = dense(fitted(model, "coef_"))
    used = np.flatnonzero(any_active(np.atleast_2d(coef).T))
    conditions = conditions_of(columns, used)
    if X is None:
        return Terms(conditions)
    if columns is None:
        slope = np.ones(len(used), dtype=bool)
        values = np.zeros((n_rows(X), len(used)))
    else:
        slope = columns.slope[used]
        values = np.asarray(dense(X), dtype=np.float64)[:, used]
    return Terms(conditions, direct_terms_consulted(values, slope))


def dense(values: Any) -> NDArray[Any]:
    """Return an array, also of a scipy sparse matrix."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def n_rows(X: Any) -> int:
    """Count the rows of a table; a sparse one refuses len()."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
