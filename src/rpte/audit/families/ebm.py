"""InterpretML's EBM: all non-zero cells of the shape functions, times the variables of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpte.audit.columns import Columns, conditions_of
from rpte.audit.terms import Terms, consulted_where
from rpte.columns.units import any_active, fitted, is_active


def terms(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    """Read a fitted EBM; the cells for missing and unknown values count if they are not zero."""
    features = fitted(model, "term_features_")
    arity = np.array([conditions_of(columns, f).sum() for f in features], dtype=np.int64)
    cells = np.array(
        [_active_cells(s, len(f)) for s, f in zip(model.term_scores_, features, strict=True)],
        dtype=np.int64,
    )
    used = np.flatnonzero(cells)
    reached = None
    if X is not None:
        scores = is_active(model.eval_terms(X))[:, used]
        # One score per class: the term is read if any class uses it.
        reached = consulted_where(np.any(scores.reshape(*scores.shape[:2], -1), axis=2))
    return Terms((cells * arity)[used], reached, reading=arity[used])


def _active_cells(scores: Any, n_dims: int) -> int:
    """Count the cells with a non-zero score; a cell may hold one score per class."""
    values = np.asarray(scores)
    n_cells = int(np.prod(values.shape[:n_dims]))
    return int(any_active(values.reshape(n_cells, -1)).sum())
