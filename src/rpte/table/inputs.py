"""From any table to typed columns, with numpy alone.

A number becomes float64 with NaN where there is none; a category becomes int32 codes into the
schema's levels, `MISSING` for a missing cell and `UNSEEN` for a level that training did not have. A
number with special codes has both: NaN as its value, and the code of its special level.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rpte.errors import InputError, did_you_mean, warn
from rpte.table.column import (
    EXACT,
    MANY_CELLS,
    MISSING,
    Factorized,
    Raw,
    all_allowed,
    as_number,
    as_number_or_special,
    distinct,
)
from rpte.table.schema import Schema
from rpte.table.spelling import read_levels
from rpte.utils.arrays import Array, Index, Int32s, Mask

Names = Collection[str]


class LazyColumns(Sequence[Array]):
    """Columns of some rows, each of them made when it is asked for."""

    __slots__ = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    def only(self, positions: Sequence[int]) -> LazyColumns:
        """Return some columns."""
        raise NotImplementedError

    def take(self, rows: Array | slice) -> Sequence[Array]:
        """Return some rows of all columns, taken at once."""
        return tuple(column[rows] for column in self)


class Picked(LazyColumns):
    """Some rows of columns, each column taken when it is asked for; -0.0 is then 0.0.

    A table of many rows in another order takes no memory that way.
    """

    __slots__ = ("columns", "rows")

    def __init__(self, columns: Sequence[Array], rows: Index) -> None:
        self.columns, self.rows = columns, rows

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return Picked(self.columns[position], self.rows)
        cells = self.columns[position][self.rows]
        if cells.dtype.kind == "f":
            cells += 0.0
        return cells

    def only(self, positions: Sequence[int]) -> Picked:
        """Return some columns."""
        return Picked([self.columns[i] for i in positions], self.rows)

    def take(self, rows: Array | slice) -> Sequence[Array]:
        """Return some rows of all columns, taken at once."""
        return tuple(Picked(self.columns, self.rows[rows]))


@dataclass(frozen=True, slots=True, repr=False)
class Inputs:
    """Typed columns of some rows, by variable.

    `specials` has, by position of a number with special codes, the special level of each row,
    `MISSING` for none. `unknown` counts, by name of a category, the cells that are no level known
    by name, as they were read; rows that are taken do not have it.
    """

    schema: Schema
    columns: Sequence[Array]  # in schema order: float64 for numbers, int32 codes for categories
    specials: Mapping[int, Int32s] = field(default_factory=dict)
    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Inputs({self.n_rows} rows, {len(self.schema)} variables)"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import inputs_html

        return inputs_html(self)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if isinstance(self.columns, LazyColumns):
            return self.columns.n_rows
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Array:
        return self.columns[self.schema.position(name)]

    def source(self, name: str) -> tuple[Array, Index]:
        """Return a column in its own order, zeros with signs, and the place there of each row."""
        position = self.schema.position(name)
        if isinstance(self.columns, Picked):
            return self.columns.columns[position], self.columns.rows
        return self.columns[position], np.arange(self.n_rows)

    def codes(self, name: str) -> Int32s:
        """Return the level of each row: a category's, or a number's special code."""
        position = self.schema.position(name)
        if self.schema.variables[position].kind == "category":
            return self.columns[position]
        return self.specials[position]

    def is_missing(self, name: str) -> Mask:
        """Return which rows have no value for the variable `name`, not even a special code."""
        position = self.schema.position(name)
        column = self.columns[position]
        if column.dtype.kind != "f":
            return np.asarray(column == MISSING)
        empty = np.isnan(column)
        special = self.specials.get(position)
        return empty if special is None else empty & (special == MISSING)

    def without(self, names: Names) -> Inputs:
        """Return the inputs without some variables."""
        return self.only([name for name in self.schema.names if name not in names])

    def only(self, names: Names) -> Inputs:
        """Return the inputs of some variables, in their own order."""
        kept = self.schema.places(names)
        schema = Schema(tuple(self.schema.variables[i] for i in kept), self.schema.named)
        specials = {new: self.specials[i] for new, i in enumerate(kept) if i in self.specials}
        if isinstance(self.columns, LazyColumns):
            return Inputs(schema, self.columns.only(kept), specials)
        return Inputs(schema, tuple(self.columns[i] for i in kept), specials)

    def take(self, rows: Array | slice) -> Inputs:
        """Return some rows."""
        specials = {p: c[rows] for p, c in self.specials.items()}
        if isinstance(self.columns, LazyColumns):
            return Inputs(self.schema, self.columns.take(rows), specials)
        return Inputs(self.schema, tuple(column[rows] for column in self.columns), specials)

    def in_own_order(self) -> Inputs:
        """Return the rows as their columns have them where all of these were picked, else in order.

        For what does not depend on the order of rows, and zeros may have signs.
        """
        columns = self.columns
        if not isinstance(columns, Picked):
            return self
        whole = all(len(column) == len(columns.rows) for column in columns.columns)
        if self.specials or not whole:
            return self.take(slice(None))
        return Inputs(self.schema, tuple(map(np.ascontiguousarray, columns.columns)))

    def pick(self, rows: Index) -> Inputs:
        """Return some rows, each column taken when it is asked for."""
        specials = {p: c[rows] for p, c in self.specials.items()}
        return Inputs(self.schema, Picked(self.columns, rows), specials)


def read_inputs(X: Any, schema: Schema, ignored: Names = (), needed: Names | None = None) -> Inputs:
    """Read the schema's columns from a mapping, a 2-D array, or a table with columns by name.

    Columns that are `ignored` may be there without a warning although the schema does not have
    them. A table with names must have those that are `needed`, all if None; others that are absent
    are read as missing.
    """
    if isinstance(X, Inputs):
        return X
    needed = schema.names if needed is None else needed
    return _typed(columns_of(X, schema, ignored, needed, read=factorized), schema)


def read_part(X: Any, schema: Schema, ignored: Names, part: Schema) -> Inputs:
    """Read some of the schema's variables; of a table with names no others are looked at.

    `part` has some of the variables, in the order of `schema`; a table with names must have them.
    """
    if isinstance(X, Inputs):
        return X
    if column_names(X) is None:
        return read_inputs(X, schema, ignored, part.names)
    return _typed(columns_of(X, schema, ignored, part.names, part, factorized), part)


def plain_matrix(X: Any, schema: Schema) -> Array | None:
    """Return an array of allowed numbers, one column per variable; None for any other table."""
    if isinstance(X, Inputs) or column_names(X) is not None:
        return None
    matrix = as_matrix(X)
    _check_width(matrix.shape[1], schema)
    plain = matrix.dtype.kind in "iu" or (matrix.dtype.kind == "f" and all_allowed(matrix))
    return matrix if plain else None


def require_columns(X: Any, schema: Schema) -> None:
    """Refuse a table with names that lacks a variable of the schema."""
    if isinstance(X, Inputs):
        return
    names = column_names(X)
    if names is not None and schema.named:
        _require(names, schema.names)


def _typed(raw: Sequence[Raw], schema: Schema) -> Inputs:
    columns: list[Array] = []
    specials: dict[int, Int32s] = {}
    unknown: dict[str, dict[str, int]] = {}
    check_shapes(schema.names, raw)
    for position, (column, variable) in enumerate(zip(raw, schema.variables, strict=True)):
        if variable.kind == "category":
            codes, strange = read_levels(column, variable)
            columns.append(codes)
            if strange:
                unknown[variable.name] = strange
        elif variable.levels:
            numbers, specials[position] = as_number_or_special(column, variable)
            columns.append(numbers)
        else:
            columns.append(as_number(column, variable.name))
    return Inputs(schema, tuple(columns), specials, unknown)


def check_shapes(names: Sequence[str], columns: Sequence[Raw]) -> None:
    """Refuse columns that are not 1-D, or not all of one length."""
    nested = [name for name, column in zip(names, columns, strict=True) if column.ndim != 1]
    if nested:
        remedy = "hold more than one value per row; split them up"
        if all(column.ndim < 2 for column in columns):
            remedy = "are single values; give lists, one value per row"
        raise InputError(f"columns {nested[:10]} {remedy}")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InputError(f"columns have different lengths {sorted(lengths)}; give one row per case")


def as_array(column: Any, name: str = "") -> Array:
    """Return a column, or a table without names, as a numpy array that keeps each cell's type."""
    refuse_lazy(column)
    if type(column).__module__.startswith("pyarrow") and str(column.type).startswith("dictionary"):
        # Numpy alone would turn a null of a dictionary column into the last level.
        return np.array(column.to_pylist(), object)
    rows = column if isinstance(column, (list, tuple)) else [column]
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):  # numpy would show what is masked
        return _unmasked(np.ma.array(column))
    array = np.asarray(column)
    if isinstance(column, (list, tuple)) and _changes(column, array):
        return np.array(column, object)
    return array.astype(object) if array.dtype.kind == "T" else array


def factorized(column: Any, name: str) -> Raw:
    """Return a column as an array; one of objects, which is asked for its distinct cells, as these.

    Pandas needs no object for each cell of a column that it keeps as text or as categories.
    """
    pandas, dtype = sys.modules.get("pandas"), getattr(column, "dtype", None)
    if pandas is not None and isinstance(dtype, pandas.StringDtype) and len(column) > MANY_CELLS:
        places, cells = column.factorize(use_na_sentinel=False)
        return Factorized(list(cells), places)
    if pandas is not None and isinstance(dtype, pandas.CategoricalDtype):
        levels = as_array(dtype.categories)
        if levels.dtype.kind in "OUiu":
            return _categories(levels, np.asarray(getattr(column, "array", column).codes))
    array = as_array(column)
    whole = array.dtype == object and array.ndim == 1
    return Factorized(*distinct(array, name)) if whole else array


def _categories(levels: Array, codes: Array) -> Factorized:
    """Return the categories that some codes use; -1 is a missing cell."""
    counts = np.bincount(codes + np.intp(1), minlength=len(levels) + 1)
    used = np.flatnonzero(counts[1:])
    places = np.full(len(levels) + 1, len(used))  # -1 reaches the last
    places[used] = np.arange(len(used))
    missing = [None] if counts[0] else []
    return Factorized([*levels[used].tolist(), *missing], places[codes])


def columns_of(
    X: Any,
    schema: Schema,
    ignored: Names,
    needed: Names,
    part: Schema | None = None,
    read: Callable[[Any, str], Any] = as_array,
) -> list[Any]:
    """Return the schema's columns of `X`, or those of `part`, matched by name if there are names.

    Columns are 1-D arrays, or what `read` makes of each and its name.
    """
    names = column_names(X)
    wanted = (schema if part is None else part).names
    if names is None or not schema.named:
        columns = as_matrix(X).T if names is None else list(names.values())
        _check_width(len(columns), schema)
        some = [(name, columns[schema.position(name)]) for name in wanted]
        return [read(found if names is None else X[found], name) for name, found in some]
    _require(names, needed)
    _warn_extra([name for name in names if name not in ignored], schema)
    by_name = {name: read(X[names[name]], name) for name in wanted if name in names}
    height = next((column.shape[:1] for column in by_name.values()), (0,))
    empty = np.full(height, None, object)
    return [by_name.get(name, empty) for name in wanted]


def _require(names: Names, needed: Names) -> None:
    """Refuse names among which some that are needed are not."""
    absent = [name for name in needed if name not in names]
    if absent:
        more = ", ..." if len(absent) > 10 else ""
        hint = did_you_mean(absent[0], names)
        raise InputError(
            f"the table lacks {len(absent)} of the {len(needed)} columns that the model needs: "
            f"{absent[:10]}{more}{hint}; add or rename them"
        )


def _warn_extra(names: list[str], schema: Schema) -> None:
    known = set(schema.names)
    extra = [name for name in names if name not in known]
    if extra:
        warn(
            f"the table has {len(extra)} columns that the model does not know, such as "
            f"{extra[:3]}; they are ignored (drop them to silence this)"
        )


def _check_width(n_columns: int, schema: Schema) -> None:
    if n_columns != len(schema):
        raise InputError(
            f"X has {n_columns} features, but RPTEClassifier is expecting {len(schema)} "
            "features as input; give the training columns in their order"
        )


def refuse_lazy(table: Any) -> None:
    """Refuse a query that has not run, such as a LazyFrame of polars.

    Collected once for X and once for y, its rows may come in two orders.
    """
    if hasattr(type(table), "collect"):
        raise InputError(
            f"a {type(table).__name__} is a query that has not run; collect it once "
            "(frame = query.collect()) and take X, y and weights from the result"
        )


def column_names(X: Any) -> dict[str, Any] | None:
    """Return {name as text: key} for a mapping or a data frame, None for anything without names."""
    refuse_lazy(X)
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
        twice = repeated(map(str, keys))
        raise InputError(f"column names occur more than once: {twice}; rename the columns")
    return names


def repeated(names: Iterable[str]) -> list[str]:
    """Return the first ten of the names that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)[:10]


def _changes(cells: Sequence[Any], array: Array) -> bool:
    """Tell whether numpy has made other cells of those of a list or of its rows.

    It turns numbers beside text into text, booleans beside numbers into numbers, and large whole
    numbers beside others into floats.
    """
    if array.dtype.kind == "f" and array.size and np.fmax.reduce(np.abs(array), axis=None) >= EXACT:
        return True
    if array.dtype.kind not in "iuf":
        return array.dtype.kind in "US"
    flat = (cell for row in cells for cell in (row if isinstance(row, (list, tuple)) else [row]))
    return any(isinstance(cell, (bool, np.bool_)) for cell in flat)


def _unmasked(array: Any) -> Array:
    """Return an array in which masked cells are missing."""
    masked = np.ma.getmaskarray(array)
    if not masked.any():
        return np.asarray(array)
    numbers = array.dtype.kind == "f"
    cells = np.array(array.data, array.dtype if numbers else object)
    cells[masked] = np.nan if numbers else None
    return cells


def as_matrix(X: Any) -> Array:
    """Return `X` as a 2-D array or say what it is instead."""
    if X is None or isinstance(X, (str, bytes)):
        raise InputError(f"X is {X!r}; pass a table (read a file with pandas.read_csv first)")
    matrix = as_array(X)
    if matrix.dtype.names is not None:
        raise InputError(
            f"X is a structured array with the fields {list(matrix.dtype.names)[:10]}; pass "
            "pandas.DataFrame(X)"
        )
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
