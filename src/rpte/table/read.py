"""Reading the training table: any data frame (through narwhals), mapping, array or list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError, did_you_mean
from rpte.table.column import (
    MISSING,
    Codes,
    Raw,
    as_number,
    as_number_or_special,
    distinct,
    is_absent,
    level_text,
    special_text,
)
from rpte.table.inputs import Inputs, as_matrix, check_shapes, column_names, factorized
from rpte.table.kinds import check_precision, kind_of
from rpte.table.schema import Kind, Schema, Variable

Array = NDArray[Any]
Specials = Mapping[str, Sequence[Any]]


def read_training(X: Any, specials: Specials | None = None) -> Inputs:
    """Read a training table and learn its schema.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow, ...), mapping from name to 1-D array, or 2-D array
    specials : mapping from name to codes, optional
        Special codes of numbers, which become levels next to the numeric range.

    Returns
    -------
    Inputs
        Typed columns, with the schema that predictions are checked against. Numbers are the
        caller's own, a -0.0 too; `make_table` makes it 0.0 where rows are taken.
    """
    names, columns, declared = _split(X)
    check_shapes(names, columns)
    wanted = _special_levels(specials or {}, names)
    variables: list[Variable] = []
    typed: list[Array] = []
    special_codes: dict[int, Codes] = {}
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        levels = wanted.get(name, ())
        kind = declared[position] or kind_of(name, column, levels)
        variable, values, codes = _learn(name, column, kind, levels)
        variables.append(variable)
        typed.append(values)
        if codes is not None:
            special_codes[position] = codes
    schema = Schema(tuple(variables), named=column_names(X) is not None)
    return Inputs(schema, tuple(typed), special_codes)


def _special_levels(specials: Specials, names: list[str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(specials, Mapping):
        raise InputError(f"special_values={specials!r}; it must map names of columns to codes")
    unknown = [name for name in specials if str(name) not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise InputError(
            f"special_values names {unknown[:5]}, which are not columns of the table{hint}; use "
            "its names"
        )
    levels = {str(name): _codes(str(name), specials[name]) for name in specials}
    for name, codes in levels.items():
        if not codes or len(set(codes)) < len(codes):
            raise InputError(
                f"special_values[{name!r}] is {list(codes)}; list each code once, at least one"
            )
    return levels


def _codes(name: str, codes: Any) -> tuple[str, ...]:
    if isinstance(codes, (str, Mapping)) or not isinstance(codes, Iterable):
        raise InputError(f"special_values[{name!r}] is {codes!r}; it must be a list of codes")
    if any(is_absent(code) for code in codes):
        raise InputError(
            f"special_values[{name!r}] is {list(codes)}; missing cells are read as missing "
            "already, list codes only"
        )
    return tuple(special_text(code) for code in codes)


def _split(X: Any) -> tuple[list[str], list[Raw], list[Kind | None]]:
    """Return names, raw columns and the kinds that the table declares (None: see the cells)."""
    keys = column_names(X)
    if keys is None:
        matrix = as_matrix(X)
        keys = {f"x{i}": i for i in range(matrix.shape[1])}
        columns = [factorized(matrix[:, i], name) for name, i in keys.items()]
        return list(keys), columns, [None] * len(columns)
    nameless = [place for place, name in enumerate(keys) if not name.strip()]
    if nameless:
        raise InputError(
            f"the columns at places {nameless[:10]} have an empty name; name them, so that rules "
            "can speak of them"
        )
    columns = [factorized(X[key], name) for name, key in keys.items()]
    if isinstance(X, Mapping):
        return list(keys), columns, [None] * len(columns)
    frame = nw.from_native(X, eager_only=True)
    kinds = [_declared_kind(dtype) for dtype in frame.schema.values()]
    return list(keys), columns, kinds


def _declared_kind(dtype: Any) -> Kind | None:
    """Kind that a data frame's column type settles; text and objects are judged by their cells."""
    if dtype.is_numeric():
        return "number"
    return "category" if dtype in (nw.Boolean, nw.Categorical, nw.Enum) else None


def _learn(
    name: str, column: Raw, kind: Kind, specials: tuple[str, ...]
) -> tuple[Variable, Array, Codes | None]:
    """Return the variable, its typed training values and its special codes."""
    if kind == "number" and specials:
        variable = Variable(name, "number", specials)
        numbers, codes = as_number_or_special(column, variable)
        check_precision(column, numbers, name, specials)
        missing = bool((np.isnan(numbers) & (codes < 0)).any())
        return Variable(name, "number", specials, missing), numbers, codes
    if kind == "number":
        numbers = as_number(column, name, signed=True)
        check_precision(column, numbers, name, ())
        return Variable(name, "number", (), bool(np.isnan(numbers).any())), numbers, None
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
