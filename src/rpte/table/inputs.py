"""From any table to typed columns, with numpy alone.

A number becomes float64 with NaN for missing; a category becomes int32 codes into the schema's
levels, `MISSING` for a missing cell and `UNSEEN` for a level that training did not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.schema import Schema, Variable

MISSING = -1
UNSEEN = -2

Array = NDArray[Any]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Typed columns of some rows, by variable.

    Parameters
    ----------
    schema : Schema
    columns : tuple of arrays, each of shape (n_rows,)
        In schema order: float64 for numbers, int32 codes for categories.
    """

    schema: Schema
    columns: tuple[Array, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Array:
        return self.columns[self.schema.position(name)]

    def is_missing(self, name: str) -> NDArray[np.bool_]:
        """Return which rows have no value for the variable `name`."""
        column = self[name]
        return np.isnan(column) if column.dtype.kind == "f" else column == MISSING

    def head(self, count: int) -> Inputs:
        """Return the first rows."""
        return Inputs(self.schema, tuple(column[:count] for column in self.columns))

    def level_code(self, name: str, level: str) -> int:
        """Return the code of a level of the category `name`."""
        return self.schema[name].levels.index(level)


def read_inputs(X: Any, schema: Schema) -> Inputs:
    """Read the schema's columns from a mapping, a 2-D array, or a table with columns by name."""
    if isinstance(X, Inputs):
        return X
    raw = columns_of(X, schema)
    typed = tuple(
        as_number(column, v.name) if v.kind == "number" else as_codes(column, v)
        for column, v in zip(raw, schema.variables, strict=True)
    )
    check_shapes(schema.names, typed)
    return Inputs(schema, typed)


def check_shapes(names: Sequence[str], columns: Sequence[Array]) -> None:
    """Refuse columns that are not 1-D, or not all of one length."""
    nested = [name for name, column in zip(names, columns, strict=True) if column.ndim != 1]
    if nested:
        raise InputError(f"columns {nested[:10]} hold more than one value per row; split them up")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InputError(f"columns have different lengths {sorted(lengths)}; give one row per case")


def columns_of(X: Any, schema: Schema) -> list[Array]:
    """Return the schema's columns of `X` as 1-D arrays, matched by name where there are names."""
    names = column_names(X)
    if names is not None and schema.named:
        absent = [name for name in schema.names if name not in names]
        if absent:
            raise InputError(
                f"the table lacks {len(absent)} of the model's {len(schema)} columns: "
                f"{absent[:10]}; add or rename them"
            )
        return [as_array(X[names[name]]) for name in schema.names]
    if names is not None:
        return _by_position([as_array(X[key]) for key in names.values()], schema)
    matrix = as_matrix(X)
    return _by_position(list(matrix.T), schema)


def _by_position(columns: list[Array], schema: Schema) -> list[Array]:
    if len(columns) != len(schema):
        raise InputError(
            f"X has {len(columns)} features, but RPTEClassifier is expecting {len(schema)} "
            "features as input; give the training columns in their order"
        )
    return columns


def column_names(X: Any) -> dict[str, Any] | None:
    """Return {name as text: key} for a mapping or a data frame, None for anything without names."""
    if isinstance(X, Mapping):
        keys = list(X.keys())
    elif hasattr(X, "column_names"):  # pyarrow
        keys = list(X.column_names)
    elif hasattr(X, "columns"):  # pandas, polars
        keys = list(X.columns)
    else:
        return None
    names = {str(key): key for key in keys}
    if len(names) < len(keys):
        texts = [str(key) for key in keys]
        twice = sorted({text for text in texts if texts.count(text) > 1})
        raise InputError(f"column names occur more than once: {twice[:10]}; rename the columns")
    return names


def as_array(column: Any) -> Array:
    """Return a column, or a table without names, as a numpy array that keeps each cell's type."""
    if type(column).__module__.startswith("pyarrow") and str(column.type).startswith("dictionary"):
        # Numpy alone would turn a null of a dictionary column into the last level.
        return np.array(column.to_pylist(), object)
    array = np.asarray(column)
    if array.dtype.kind in "US" and isinstance(column, (list, tuple)):
        # Numpy alone would turn numbers and NaN that stand beside text into text.
        return np.array(column, object)
    return array


def as_matrix(X: Any) -> Array:
    """Return `X` as a 2-D array or say what it is instead."""
    matrix = as_array(X)
    if matrix.ndim == 2:
        return matrix
    if matrix.ndim < 2:
        raise InputError(
            f"Expected 2D array, got {'scalar' if matrix.ndim == 0 else '1D'} array instead. "
            "Reshape your data either using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    raise InputError(f"Found array with dim {matrix.ndim}, expected 2: one row per case")


def is_absent(value: Any) -> bool:
    """Tell whether one cell of an object column is missing (None, NaN, pandas NA or NaT)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def as_number(column: Array, name: str) -> Floats:
    """Return a numeric column as float64, -0.0 as 0.0 and NaN where missing; refuse infinities."""
    if column.dtype.kind in "fiub":
        numbers = column.astype(np.float64) + 0.0
    elif column.dtype.kind == "c":
        raise InputError(f"Complex data not supported: column '{name}' is complex; pass real parts")
    else:
        numbers = np.array([_cell_number(v, name, i) for i, v in enumerate(column)], np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise InputError(
            f"column '{name}' holds {len(infinite)} infinite values (infinity; first at row "
            f"{infinite[0]}); replace them or set them missing"
        )
    return numbers


def _cell_number(value: Any, name: str, row: int) -> float:
    if is_absent(value):
        return float("nan")
    if isinstance(value, str):
        raise InputError(
            f"could not convert string to float: column '{name}' is a number but row {row} holds "
            f"the text {value!r}; clean the column, or make it a category"
        )
    if not isinstance(value, (int, float, np.number, np.bool_)) and not hasattr(value, "__float__"):
        raise TypeError(
            f"float() argument must be a string or a real number, not '{type(value).__name__}' "
            f"(column '{name}', row {row}); give numbers, text or missing cells"
        )
    return float(value) + 0.0


def as_codes(column: Array, variable: Variable) -> Codes:
    """Return the level codes of a category column; `MISSING` and `UNSEEN` where they apply."""
    index = {level: code for code, level in enumerate(variable.levels)}
    if column.dtype.kind in "biuf":
        values, inverse = np.unique(column, return_inverse=True)
        codes = [MISSING if is_absent(v) else index.get(level_text(v), UNSEEN) for v in values]
        return np.array(codes, np.int32)[inverse.reshape(-1)]
    codes = [MISSING if is_absent(v) else index.get(level_text(v), UNSEEN) for v in column]
    return np.array(codes, np.int32).reshape(-1)


def level_text(value: Any) -> str:
    """Return the name of a category level: its text, without a trailing ``.0`` for whole floats."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)
