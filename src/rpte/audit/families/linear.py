"""Linear models: each column with a non-zero coefficient is one term."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.terms import Terms, consulted_where, direct_terms_consulted
from rpte.columns.units import any_active, fitted


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted linear model; with several classes a column counts once, if any uses it."""
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


def dense(values: Any) -> NDArray[Any]:
    """Return an array, also of a scipy sparse matrix."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)
