"""Reading the training table: any data frame (through narwhals), mapping, array or list.

The type of a column or the set of its cells decides of which kind it is, never their order. Numbers
that float64 cannot hold are refused, because a model of them would be another.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from rpte.errors import InputError, did_you_mean, warn
from rpte.table.column import (
    BOOLEANS,
    EXACT,
    MISSING,
    Raw,
    as_number,
    as_number_or_special,
    distinct,
    extents,
    is_absent,
    is_real,
    level_text,
    merged_cells,
    parse_number,
    special_text,
    unreadable,
)
from rpte.table.inputs import Inputs, as_matrix, check_shapes, column_names, factorized
from rpte.table.schema import Kind, Schema, Variable
from rpte.utils.arrays import Array, Int32s

Specials = Mapping[str, Sequence[Any]]

TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
MANY = 20  # different fractions in text, above which they are hardly levels
SMALLEST = 1e-270  # slopes of columns that are smaller throughout come near the largest float


def read_training(X: Any, specials: Specials | None = None) -> Inputs:
    """Read a training table and learn the schema that predictions are checked against.

    `X` is a data frame (pandas, polars, pyarrow, ...), a mapping from name to 1-D array, or a 2-D
    array; `specials` maps names to special codes of numbers, which become levels next to the
    numeric range. Numbers are the caller's own, a -0.0 too: rows that are taken make it 0.0.
    """
    names, columns, declared, named = split_columns(X)
    check_shapes(names, columns)
    wanted = special_levels(specials or {}, names)
    variables: list[Variable] = []
    typed: list[Array] = []
    special_codes: dict[int, Int32s] = {}
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        levels = wanted.get(name, ())
        kind = declared[position] or kind_of(name, column, levels)
        variable, values, codes = learn_column(name, column, kind, levels)
        variables.append(variable)
        typed.append(values)
        if codes is not None:
            special_codes[position] = codes
    schema = Schema(tuple(variables), named)
    return Inputs(schema, tuple(typed), special_codes)


def special_levels(specials: Specials, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the special codes of each variable as texts, or say what is wrong with them."""
    if not isinstance(specials, Mapping):
        raise InputError(f"special_values={specials!r}; it must map names of columns to codes")
    unknown = [name for name in specials if str(name) not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise InputError(
            f"special_values names {unknown[:5]}, which are not columns of the table{hint}; use "
            "its names"
        )
    return {str(name): _codes(str(name), codes) for name, codes in specials.items()}


def _codes(name: str, codes: Any) -> tuple[str, ...]:
    given = f"special_values[{name!r}] is"
    if isinstance(codes, (str, Mapping)) or not isinstance(codes, Iterable):
        raise InputError(f"{given} {codes!r}; it must be a list of codes")
    if any(is_absent(code) for code in codes):
        raise InputError(
            f"{given} {list(codes)}; missing cells are read as missing already, list codes only"
        )
    texts = tuple(special_text(code) for code in codes)
    if not texts or len(set(texts)) < len(texts):
        raise InputError(f"{given} {list(texts)}; list each code once, at least one")
    return texts


class RawTable(NamedTuple):
    """A table as it came, or a block of one."""

    names: list[str]
    columns: list[Raw]
    declared: list[Kind | None]  # the kinds that its types settle; None: see the cells
    named: bool = True


def split_columns(X: Any) -> RawTable:
    """Return the columns of a table, their names and the kinds that the table declares."""
    keys = column_names(X)
    if keys is None:
        columns = [factorized(column, f"x{i}") for i, column in enumerate(as_matrix(X).T)]
        names = [f"x{i}" for i in range(len(columns))]
        return RawTable(names, columns, [None] * len(columns), named=False)
    nameless = [place for place, name in enumerate(keys) if not name.strip()]
    if nameless:
        raise InputError(
            f"the columns at places {nameless[:10]} have an empty name; name them, so that rules "
            "can speak of them"
        )
    columns = [factorized(X[key], name) for name, key in keys.items()]
    if isinstance(X, Mapping):
        return RawTable(list(keys), columns, [None] * len(columns))
    return RawTable(list(keys), columns, declared_kinds(X))


def declared_kinds(frame: Any) -> list[Kind | None]:
    """Return the kind of each column of a data frame that its type settles."""
    dtypes = nw.from_native(frame, eager_only=True).schema.values()
    return [_declared_kind(dtype) for dtype in dtypes]


def _declared_kind(dtype: Any) -> Kind | None:
    """Kind that a data frame's column type settles; text and objects are judged by their cells."""
    if dtype.is_numeric():
        return "number"
    return "category" if dtype in (nw.Boolean, nw.Categorical, nw.Enum) else None


def learn_column(
    name: str, column: Raw, kind: Kind, specials: tuple[str, ...]
) -> tuple[Variable, Array, Int32s | None]:
    """Return a variable, its numbers or codes, and the special codes of its rows."""
    if kind == "number":
        codes: Int32s | None = None
        if specials:
            numbers, codes = as_number_or_special(column, Variable(name, "number", specials))
        else:
            numbers = as_number(column, name, signed=True)
        low, high, gaps = extents([numbers])[0]
        _check_precision(column, max(high, -low), name, specials)
        if codes is not None:
            gaps = bool((np.isnan(numbers) & (codes < 0)).any())
        return Variable(name, "number", specials, gaps), numbers, codes
    if specials:
        raise InputError(
            f"special_values names '{name}', which is a category; its levels are special already"
        )
    cells, places = distinct(column)
    texts = [None if is_absent(cell) else level_text(cell) for cell in cells]
    levels = tuple(sorted({text for text in texts if text is not None}))
    index: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    values = np.array([index.get(text, MISSING) for text in texts], np.int32)[places]
    return Variable(name, "category", levels, bool((values < 0).any())), values, None


def kind_of(name: str, column: Raw, specials: tuple[str, ...]) -> Kind:
    """Return the kind of a column whose type alone does not say it.

    `specials` are the special codes that the user has named: they make a number of text that spells
    numbers.
    """
    if column.dtype.kind in "fiuc":
        return "number"
    if column.dtype.kind == "b":
        return "category"
    if column.dtype.kind in "mM":
        raise dates(name)
    cells = _ordinary(column, specials, name)
    if any(isinstance(c, TIMES) or type(c).__name__ == "Period" for c in cells):  # pandas
        raise dates(name)
    return _kind_of_cells(name, cells, bool(specials))


def _kind_of_cells(name: str, cells: list[Any], with_specials: bool) -> Kind:
    texts = [cell for cell in cells if isinstance(cell, str)]
    booleans = [cell for cell in cells if isinstance(cell, BOOLEANS)]
    numbers = [cell for cell in cells if not isinstance(cell, (str, *BOOLEANS))]
    for cell in numbers:
        if not is_real(cell):
            raise unreadable(cell, f" in column '{name}'")
    if booleans and numbers:
        raise InputError(
            f"column '{name}' mixes booleans ({_one_of(booleans)}) and numbers "
            f"({_one_of(numbers)}), which are equal where they are 0 and 1; make them all booleans "
            "(astype(bool)), or all numbers (astype(float))"
        )
    if texts and (numbers or booleans):
        what = "numbers" if numbers else "booleans"
        warn(
            f"column '{name}' mixes text ({_one_of(texts)!r}) and {what} "
            f"({_one_of(numbers or booleans)}); it is read as a category of their texts (clean it, "
            "or name the text in special_values)"
        )
    elif texts:
        return _kind_of_texts(name, texts, with_specials)
    return "category" if texts or booleans else "number"


def _kind_of_texts(name: str, texts: list[str], with_specials: bool) -> Kind:
    """Return that text is a category, unless the user has named codes among its numbers."""
    spelled = [parse_number(text) for text in texts]
    if None in spelled:
        return "category"
    if with_specials:
        return "number"
    if len(texts) > MANY and not all(float(number).is_integer() for number in spelled if number):
        warn(
            f"column '{name}' is text and so a category, but each of its {len(texts)} different "
            "cells spells a number; if they are amounts, make them numbers (astype(float))"
        )
    return "category"


def _ordinary(column: Raw, specials: Collection[str], name: str = "") -> list[Any]:
    """Return the distinct cells that are neither missing nor special codes."""
    cells = distinct(column, name)[0]
    return [c for c in cells if not is_absent(c) and special_text(c) not in specials]


def _one_of(cells: list[Any]) -> str:
    """Return the text of one of some cells, the same in any order of them."""
    return min(level_text(cell) for cell in cells)


def dates(name: str) -> InputError:
    """Return the error of a column of dates."""
    return InputError(
        f"column '{name}' holds dates or durations; turn them into numbers, such as days since a "
        "reference date, before fitting"
    )


def _check_precision(column: Raw, biggest: float, name: str, specials: Collection[str]) -> None:
    """Refuse a column whose different cells became one number, or whose slopes would overflow.

    The numbers that were read are at most `biggest` in size; `specials` are no numbers.
    """
    check_numbers(name, biggest, _merged(column, biggest, specials))


def check_numbers(name: str, biggest: float, merged: tuple[Any, Any] | None) -> None:
    """Refuse numbers that are too small, `biggest` in size, or two that became one (`merged`)."""
    if merged is not None:
        one, other = map(str, merged)
        raise InputError(
            f"column '{name}' holds {one} and {other}, which are one number in float64 (exact for "
            "whole numbers up to 2**53); subtract a constant, or make the column a category "
            "(astype(str)) if its cells are codes"
        )
    if 0.0 < biggest < SMALLEST:
        raise InputError(
            f"column '{name}' holds numbers no larger than {biggest:g} in size; below "
            f"{SMALLEST:g} they lose digits and their slopes overflow: multiply the column by a "
            "constant"
        )


def _merged(column: Raw, biggest: float, specials: Collection[str]) -> tuple[Any, Any] | None:
    """Return two different cells that are one float, if there are any."""
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "fiu":
        return merged_cells(_ordinary(column, specials))
    whole = column.dtype.kind in "iu" and biggest >= EXACT
    if not whole and column.dtype.itemsize <= 8:
        return None
    values = np.unique(column)
    same = np.flatnonzero(np.diff(values.astype(np.float64)) == 0)
    return (values[same[0]], values[same[0] + 1]) if len(same) else None
