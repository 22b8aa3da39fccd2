"""Which kind a training column is: by its type or the set of its cells, never by their order."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np

from rpte.errors import InputError, RPTEWarning
from rpte.table.column import (
    Raw,
    distinct,
    is_absent,
    is_real,
    level_text,
    parse_number,
    special_text,
    strange,
)
from rpte.table.schema import Kind

TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
BOOLEANS = (bool, np.bool_)
MANY = 20  # different fractions in text, above which they are hardly levels


def kind_of(name: str, column: Raw, specials: tuple[str, ...]) -> Kind:
    """Return the kind of a column whose type alone does not say it.

    Parameters
    ----------
    name : str
        For errors and warnings.
    column : array or Told
    specials : tuple of str
        The special codes that the user has named: they make a number of text that spells numbers.
    """
    if column.dtype.kind in "fiuc":
        return "number"
    if column.dtype.kind == "b":
        return "category"
    if column.dtype.kind in "mM":
        raise _dates(name)
    cells = [
        c for c in distinct(column, name)[0] if not is_absent(c) and special_text(c) not in specials
    ]
    if any(isinstance(c, TIMES) or type(c).__name__ == "Period" for c in cells):  # pandas
        raise _dates(name)
    return _kind_of_cells(name, cells, bool(specials))


def _kind_of_cells(name: str, cells: list[Any], with_specials: bool) -> Kind:
    texts = [cell for cell in cells if isinstance(cell, str)]
    booleans = [cell for cell in cells if isinstance(cell, BOOLEANS)]
    numbers = [cell for cell in cells if not isinstance(cell, (str, *BOOLEANS))]
    for cell in numbers:
        if not is_real(cell):
            raise strange(cell, f" in column '{name}'")
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


def _one_of(cells: list[Any]) -> str:
    """Return the text of one of some cells, the same in any order of them."""
    return min(level_text(cell) for cell in cells)


def _dates(name: str) -> InputError:
    return InputError(
        f"column '{name}' holds dates or durations; turn them into numbers, such as days since a "
        "reference date, before fitting"
    )
