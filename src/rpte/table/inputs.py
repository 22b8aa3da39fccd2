"""From any table to typed columns, with numpy alone.

A number becomes float64 with NaN where there is none; a category becomes int32 codes into the
schema's levels, `MISSING` for a missing cell and `UNSEEN` for a level that training did not have. A
number with special codes has both: NaN as its value, and the code of its special level.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError, RPTEWarning, did_you_mean
from rpte.table.picked import Picked
from rpte.table.schema import Schema, Variable

MISSING = -1
UNSEEN = -2
MANY_CELLS = 10_000  # of text: from here on pandas, if it is there, tells them apart faster
FEW_CELLS = 32_768  # looked at together
LARGEST = 1e300  # beyond it sums and squares overflow; such numbers are codes for missing

Array = NDArray[Any]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Typed columns of some rows, by variable.

    Parameters
    ----------
    schema : Schema
    columns : sequence of arrays, each of shape (n_rows,)
        In schema order: float64 for numbers, int32 codes for categories.
    specials : mapping from position to int32 array of shape (n_rows,)
        For each number with special codes: the special level of each row, `MISSING` for none.
    """

    schema: Schema
    columns: Sequence[Array]
    specials: Mapping[int, Codes] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if isinstance(self.columns, Picked):
            return len(self.columns.rows)
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Array:
        return self.columns[self.schema.position(name)]

    def source(self, name: str) -> tuple[Array, NDArray[np.intp]]:
        """Return a column in its own order, and the place there of each row."""
        position = self.schema.position(name)
        if isinstance(self.columns, Picked):
            return self.columns.columns[position], self.columns.rows
        return self.columns[position], np.arange(self.n_rows)

    def codes(self, name: str) -> Codes:
        """Return the level of each row: a category's, or a number's special code."""
        position = self.schema.position(name)
        if self.schema.variables[position].kind == "category":
            return self.columns[position]
        return self.specials[position]

    def is_missing(self, name: str) -> NDArray[np.bool_]:
        """Return which rows have no value for the variable `name`, not even a special code."""
        position = self.schema.position(name)
        column = self.columns[position]
        if column.dtype.kind != "f":
            return np.asarray(column == MISSING)
        empty = np.isnan(column)
        special = self.specials.get(position)
        return empty if special is None else empty & (special == MISSING)

    def without(self, names: Collection[str]) -> Inputs:
        """Return the inputs without some variables."""
        return self.only([name for name in self.schema.names if name not in names])

    def only(self, names: Collection[str]) -> Inputs:
        """Return the inputs of some variables, in their own order."""
        kept = [i for i, v in enumerate(self.schema.variables) if v.name in names]
        schema = Schema(tuple(self.schema.variables[i] for i in kept), self.schema.named)
        specials = {new: self.specials[i] for new, i in enumerate(kept) if i in self.specials}
        if isinstance(self.columns, Picked):
            whole = self.columns.columns
            return Inputs(schema, Picked([whole[i] for i in kept], self.columns.rows), specials)
        return Inputs(schema, tuple(self.columns[i] for i in kept), specials)

    def take(self, rows: NDArray[Any] | slice) -> Inputs:
        """Return some rows."""
        specials = {p: c[rows] for p, c in self.specials.items()}
        if isinstance(self.columns, Picked):
            some = self.columns.rows[rows]
            return Inputs(self.schema, tuple(c[some] for c in self.columns.columns), specials)
        return Inputs(self.schema, tuple(column[rows] for column in self.columns), specials)

    def pick(self, rows: NDArray[np.intp]) -> Inputs:
        """Return some rows, each column taken when it is asked for."""
        specials = {p: c[rows] for p, c in self.specials.items()}
        return Inputs(self.schema, Picked(self.columns, rows), specials)


def read_inputs(
    X: Any,
    schema: Schema,
    ignored: Collection[str] = (),
    needed: Collection[str] | None = None,
) -> Inputs:
    """Read the schema's columns from a mapping, a 2-D array, or a table with columns by name.

    Parameters
    ----------
    X : table
    schema : Schema
    ignored : names
        Columns that may be there without a warning although the schema does not have them.
    needed : names, optional
        Columns of the schema that a table with names must have; all if None. Others that are absent
        are read as missing.
    """
    if isinstance(X, Inputs):
        return X
    raw = columns_of(X, schema, ignored, schema.names if needed is None else needed)
    return _typed(raw, schema)


def read_part(X: Any, schema: Schema, ignored: Collection[str], part: Schema) -> Inputs:
    """Read some of the schema's variables; where there are names, no others are looked at.

    Parameters
    ----------
    X, schema, ignored
        As in `read_inputs`.
    part : Schema
        Some of the variables, in the order of `schema`; a table with names must have them.
    """
    if isinstance(X, Inputs):
        return X
    if schema.named and column_names(X) is not None:
        return _typed(columns_of(X, schema, ignored, part.names, part), part)
    return read_inputs(X, schema, ignored, part.names)


def plain_matrix(X: Any, schema: Schema) -> Array | None:
    """Return an array of allowed numbers, one column per variable; None for any other table."""
    if isinstance(X, Inputs) or column_names(X) is not None:
        return None
    matrix = as_matrix(X)
    _check_width(matrix.shape[1], schema)
    plain = matrix.dtype.kind in "iub" or (matrix.dtype.kind == "f" and _within(matrix))
    return matrix if plain else None


def _typed(raw: list[Array], schema: Schema) -> Inputs:
    """Return the schema's columns as numbers and codes."""
    columns: list[Array] = []
    specials: dict[int, Codes] = {}
    check_shapes(schema.names, raw)
    for position, (column, variable) in enumerate(zip(raw, schema.variables, strict=True)):
        if variable.kind == "category":
            columns.append(as_codes(column, variable))
        elif variable.levels:
            numbers, specials[position] = as_number_or_special(column, variable)
            columns.append(numbers)
        else:
            columns.append(as_number(column, variable.name))
    return Inputs(schema, tuple(columns), specials)


def check_shapes(names: Sequence[str], columns: Sequence[Array]) -> None:
    """Refuse columns that are not 1-D, or not all of one length."""
    nested = [name for name, column in zip(names, columns, strict=True) if column.ndim != 1]
    if nested:
        single = all(c.ndim == 0 for n, c in zip(names, columns, strict=True) if n in nested)
        remedy = (
            "are single values; give lists, one value per row"
            if single
            else ("hold more than one value per row; split them up")
        )
        raise InputError(f"columns {nested[:10]} {remedy}")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InputError(f"columns have different lengths {sorted(lengths)}; give one row per case")


def columns_of(
    X: Any,
    schema: Schema,
    ignored: Collection[str],
    needed: Collection[str],
    part: Schema | None = None,
) -> list[Array]:
    """Return the schema's columns of `X` as 1-D arrays, matched by name where there are names.

    With names, only those of `part`, if it is given.
    """
    names = column_names(X)
    if names is not None and schema.named:
        absent = [name for name in needed if name not in names]
        if absent:
            more = ", ..." if len(absent) > 10 else ""
            hint = did_you_mean(absent[0], names)
            raise InputError(
                f"the table lacks {len(absent)} of the {len(needed)} columns that the model needs: "
                f"{absent[:10]}{more}{hint}; add or rename them"
            )
        _warn_extra([name for name in names if name not in ignored], schema)
        wanted = (schema if part is None else part).names
        found = {name: as_array(X[names[name]]) for name in wanted if name in names}
        height = next((column.shape[:1] for column in found.values()), (0,))
        empty = np.full(height, None, object)
        return [found.get(name, empty) for name in wanted]
    if names is not None:
        return _by_position([as_array(X[key]) for key in names.values()], schema)
    matrix = as_matrix(X)
    return _by_position(list(matrix.T), schema)


def _warn_extra(names: list[str], schema: Schema) -> None:
    known = set(schema.names)
    extra = [name for name in names if name not in known]
    if extra:
        warnings.warn(
            f"the table has {len(extra)} columns that the model does not know, such as "
            f"{extra[:3]}; they are ignored (drop them to silence this)",
            RPTEWarning,
            stacklevel=2,
        )


def _by_position(columns: list[Array], schema: Schema) -> list[Array]:
    _check_width(len(columns), schema)
    return columns


def _check_width(n_columns: int, schema: Schema) -> None:
    if n_columns != len(schema):
        raise InputError(
            f"X has {n_columns} features, but RPTEClassifier is expecting {len(schema)} "
            "features as input; give the training columns in their order"
        )


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
    if X is None or isinstance(X, (str, bytes)):
        raise InputError(f"X is {X!r}; pass a table (read a file with pandas.read_csv first)")
    matrix = as_array(X)
    if matrix.ndim == 2:
        return matrix
    if matrix.ndim < 2:
        raise InputError(
            f"Expected 2D array, got {'scalar' if matrix.ndim == 0 else '1D'} array instead. "
            "Reshape your data either using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it contains a single sample. One row of a data frame is "
            "X.iloc[[0]]; a list of records is pandas.DataFrame(records)."
        )
    raise InputError(f"Found array with dim {matrix.ndim}, expected 2: one row per case")


def is_absent(value: Any) -> bool:
    """Tell whether one cell of an object column is missing (None, NaN, pandas NA or NaT)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def distinct(column: Array, name: str = "") -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct cells of a column and, for each row, which of them it holds."""
    if column.dtype.kind in "biufUS":
        values, inverse = np.unique(column, return_inverse=True)
        return values.tolist(), inverse.reshape(-1)
    numbers: dict[Any, int] = {}
    try:
        if len(column) > MANY_CELLS and "pandas" in sys.modules:
            codes, cells = sys.modules["pandas"].factorize(column, use_na_sentinel=False)
            return list(cells), codes
        places = [numbers.setdefault(cell, len(numbers)) for cell in column]
    except TypeError:  # a list, a dict or a set in a cell
        cell = next(cell for cell in column if type(cell).__hash__ is None)
        raise _strange(cell, f" (column '{name}')" if name else "") from None
    return list(numbers), np.array(places, np.intp)


def _strange(cell: Any, where: str = "") -> TypeError:
    return TypeError(
        f"argument must be a string or a real number, not '{type(cell).__name__}'{where}; give "
        "numbers, text or missing cells"
    )


def as_number(column: Array, name: str) -> Floats:
    """Return a numeric column as float64, -0.0 as 0.0 and NaN where missing; refuse infinities."""
    if column.dtype.kind in "fiub":
        numbers = column.astype(np.float64, copy=False).view()
        numbers.flags.writeable = False  # they may be the caller's own
        if _has_negative_zero(numbers):
            numbers = numbers + 0.0
    elif column.dtype.kind == "c":
        raise InputError(f"Complex data not supported: column '{name}' is complex; pass real parts")
    elif column.dtype.kind in "mM":
        raise InputError(f"column '{name}' is a number but holds dates or durations; convert them")
    else:
        cells, inverse = distinct(column)
        numbers = np.array([_cell_number(cell, name) for cell in cells], np.float64)[inverse]
    if not _within(numbers):
        infinite = np.flatnonzero(np.abs(numbers) > LARGEST)
        raise InputError(
            f"column '{name}' holds {len(infinite)} values beyond {LARGEST:g} (infinity included; "
            f"first at row {infinite[0]}: {numbers[infinite[0]]}); replace them or set them missing"
        )
    return numbers


def _has_negative_zero(numbers: Floats) -> bool:
    zeros = (part[part == 0.0] for part in _parts(numbers))
    return any(bool(np.signbit(zero).any()) for zero in zeros)


def _within(numbers: Array) -> bool:
    """Tell whether no number lies beyond what is allowed."""
    parts = (part.astype(np.float64, copy=False) for part in _parts(numbers))
    return not any(bool((np.abs(part) > LARGEST).any()) for part in parts)


def _parts(cells: Array) -> Iterator[Array]:
    """Yield a few rows at a time."""
    step = max(1, FEW_CELLS // max(math.prod(cells.shape[1:]), 1))
    return (cells[low : low + step] for low in range(0, len(cells), step))


def as_number_or_special(column: Array, variable: Variable) -> tuple[Floats, Codes]:
    """Return the numbers of a column, NaN where a cell is missing or special, and special codes."""
    index = {level: code for code, level in enumerate(variable.levels)}
    cells, inverse = distinct(column)
    codes = np.array([_special_code(cell, index) for cell in cells], np.int32)
    ordinary = [None if code >= 0 else cell for code, cell in zip(codes, cells, strict=True)]
    numbers = as_number(np.array([*ordinary, None], dtype=object)[:-1], variable.name)
    return numbers[inverse], codes[inverse]


def _special_code(cell: Any, index: Mapping[str, int]) -> int:
    return MISSING if is_absent(cell) else index.get(special_text(cell), MISSING)


def special_text(cell: Any) -> str:
    """Return the name of a special code; a text that spells a number is that number.

    Examples
    --------
    >>> special_text(-9.0), special_text(" -9.0"), special_text("n/a")
    ('-9', '-9', 'n/a')
    """
    number = parse_number(cell) if isinstance(cell, str) else None
    return level_text(cell if number is None else number)


def _cell_number(cell: Any, name: str) -> float:
    if is_absent(cell):
        return math.nan
    if isinstance(cell, str):
        number = parse_number(cell)
        if number is None:
            raise InputError(
                f"could not convert string to float: column '{name}' is a number but holds the "
                f"text {cell!r}; clean the column, name the text in special_values, or make the "
                "column a category"
            )
        return number
    if not isinstance(cell, (int, float, np.number, np.bool_)) and not hasattr(cell, "__float__"):
        raise _strange(cell, f" in column '{name}'")
    return float(cell) + 0.0


def parse_number(text: str) -> float | None:
    """Return the number that a text spells, None if it spells none.

    A text with a leading zero such as ``02139`` is a code, not a number.

    Examples
    --------
    >>> parse_number(" 3.50"), parse_number("02139"), parse_number("n/a")
    (3.5, None, None)
    """
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] == "0" and stripped[1].isdigit():
        return None
    try:
        number = float(stripped)
    except ValueError:
        return None
    return number + 0.0 if math.isfinite(number) and "_" not in stripped else None


def as_codes(column: Array, variable: Variable) -> Codes:
    """Return the level codes of a category column; `MISSING` and `UNSEEN` where they apply."""
    index = {level: code for code, level in enumerate(variable.levels)}
    unknown = len(variable.levels) - 1 if variable.pooled else UNSEEN
    cells, inverse = distinct(column)
    codes = [MISSING if is_absent(c) else index.get(level_text(c), unknown) for c in cells]
    return np.array(codes, np.int32)[inverse]


def level_text(value: Any) -> str:
    """Return the name of a category level: its text, without a trailing ``.0`` for whole floats."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)
