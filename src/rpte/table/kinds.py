"""What a training column is: its kind, and whether float64 can hold its numbers.

The type or the set of its cells decides, never their order. Numbers that float64 cannot hold are
refused, because a model of them would be another.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError, RPTEWarning
from rpte.table.column import (
    EXACT,
    Raw,
    distinct,
    is_absent,
    is_real,
    level_text,
    parse_number,
    special_text,
    unreadable,
)
from rpte.table.schema import Kind

Floats = NDArray[np.float64]

TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
BOOLEANS = (bool, np.bool_)
MANY = 20  # different fractions in text, above which they are hardly levels
SMALLEST = 1e-270  # slopes of columns that are smaller throughout come near the largest float


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
        raise _dates(name)
    cells = _ordinary(column, specials, name)
    if any(isinstance(c, TIMES) or type(c).__name__ == "Period" for c in cells):  # pandas
        raise _dates(name)
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
        warnings.warn(
            f"column '{name}' mixes text ({_one_of(texts)!r}) and {what} "
            f"({_one_of(numbers or booleans)}); it is read as a category of their texts (clean it, "
            "or name the text in special_values)",
            RPTEWarning,
            stacklevel=2,
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
        warnings.warn(
            f"column '{name}' is text and so a category, but each of its {len(texts)} different "
            "cells spells a number; if they are amounts, make them numbers (astype(float))",
            RPTEWarning,
            stacklevel=2,
        )
    return "category"


def _ordinary(column: Raw, specials: Collection[str], name: str = "") -> list[Any]:
    """Return the distinct cells that are neither missing nor special codes."""
    cells = distinct(column, name)[0]
    return [c for c in cells if not is_absent(c) and special_text(c) not in specials]


def _one_of(cells: list[Any]) -> str:
    """Return the text of one of some cells, the same in any order of them."""
    return min(level_text(cell) for cell in cells)


def _dates(name: str) -> InputError:
    return InputError(
        f"column '{name}' holds dates or durations; turn them into numbers, such as days since a "
        "reference date, before fitting"
    )


def check_precision(column: Raw, numbers: Floats, name: str, specials: Collection[str]) -> None:
    """Refuse a column whose different cells became one number, or whose slopes would overflow.

    `numbers` (n,) are what was read, NaN where missing; `specials` are no numbers.
    """
    if not len(numbers):
        return
    biggest = max(float(np.fmax.reduce(numbers)), -float(np.fmin.reduce(numbers)))
    merged = _merged(column, biggest, specials)
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


def _exact(cell: Any) -> Any:
    """Return a number that can be compared with all of its digits."""
    if isinstance(cell, str):
        return Decimal(cell.strip())
    if isinstance(cell, np.floating):
        return Fraction(*cell.as_integer_ratio())
    return cell.item() if isinstance(cell, np.generic) else cell


def merged_cells(cells: list[Any]) -> tuple[Any, Any] | None:
    """Return two different numbers, or texts of numbers, that are one float, if there are any."""
    seen: dict[float, Any] = {}
    for cell in cells:
        exact = _exact(cell)
        other = seen.setdefault(float(cell), exact)
        if other is not exact and other != exact:
            return min(other, exact, key=str), max(other, exact, key=str)
    return None
