"""Additive models: linear ones, and InterpretML's EBM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.terms import Terms, consulted_where, direct_terms_consulted
from rpte.columns.units import any_active, fitted, is_active


def linear(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted linear model: each column with a non-zero coefficient is one term.

    With several classes a column counts once, if any uses it.
    """
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
