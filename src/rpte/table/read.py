"""Reading the training table: any data frame (through narwhals), mapping, array or list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.inputs import (
    Inputs,
    as_array,
    as_codes,
    as_matrix,
    as_number,
    check_shapes,
    column_names,
    is_absent,
    level_text,
)
from rpte.table.schema import Kind, Schema, Variable

Array = NDArray[Any]


def read_training(X: Any) -> Inputs:
    """Read a training table and learn its schema.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow, ...), mapping from name to 1-D array, or 2-D array

    Returns
    -------
    Inputs
        Typed columns, with the schema that predictions are checked against.
    """
    names, columns, kinds = _split(X)
    variables, typed = [], []
    for name, column, kind in zip(names, columns, kinds, strict=True):
        variable, values = _learn(name, column, kind)
        variables.append(variable)
        typed.append(values)
    check_shapes(names, typed)
    schema = Schema(tuple(variables), named=column_names(X) is not None)
    return Inputs(schema, tuple(typed))


def _split(X: Any) -> tuple[list[str], list[Array], list[Kind]]:
    """Return names, raw columns and kinds of any table."""
    keys = column_names(X)
    if keys is None:
        matrix = as_matrix(X)
        columns = list(matrix.T)
        return [f"x{i}" for i in range(len(columns))], columns, [_array_kind(c) for c in columns]
    if isinstance(X, Mapping):
        columns = [as_array(column) for column in X.values()]
        return list(keys), columns, [_array_kind(c) for c in columns]
    frame = nw.from_native(X, eager_only=True)
    columns = [as_array(X[key]) for key in keys.values()]
    kinds = [_frame_kind(frame.schema[k], c) for k, c in zip(frame.columns, columns, strict=True)]
    return list(keys), columns, kinds


def _frame_kind(dtype: Any, column: Array) -> Kind:
    """Kind of a data frame's column by its declared type; by its cells where that says nothing."""
    if dtype.is_numeric():
        return "number"
    if dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Enum):
        return "category"
    return _array_kind(column)


def _array_kind(column: Array) -> Kind:
    """Kind of a numpy column: by dtype, and by its cells for object columns."""
    if column.dtype.kind in "fiuc":
        return "number"
    if column.dtype.kind in "bUS":
        return "category"
    if column.dtype.kind in "mM":
        raise InputError(
            f"a column holds dates or durations ({column.dtype}); turn them into numbers, such as "
            "days since a reference date, before fitting"
        )
    texts = any(isinstance(v, (str, bool, np.bool_)) for v in column if not is_absent(v))
    return "category" if texts else "number"


def _learn(name: str, column: Array, kind: Kind) -> tuple[Variable, Array]:
    """Return the variable and its typed training values."""
    if kind == "number":
        numbers = as_number(column, name)
        return Variable(name, "number", (), bool(np.isnan(numbers).any())), numbers
    levels = tuple(sorted({level_text(v) for v in column if not is_absent(v)}))
    codes = as_codes(column, Variable(name, "category", levels))
    return Variable(name, "category", levels, bool((codes < 0).any())), codes
