"""What the cells of a file mean: gaps, numbers, levels.

A CSV file and a sheet hold texts where a data frame holds values; one rule turns them into columns,
and, when a model is given, into what the model's variables know.
"""

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from rpte.errors import warn
from rpte.table.column import EXACT, is_absent, level_text, merged_cells, parse_number, special_text
from rpte.table.schema import Variable
from rpte.utils.arrays import Array, Index

MARKERS = (
    "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None",
)  # fmt: skip
"""Texts that stand for a missing cell, as they do for `pandas.read_csv`."""

MOSTLY = 0.5  # fraction of the rows that spell numbers, from which on other texts are warned of
FEW = 5  # different texts that are shown, and more than which are no codes

COMMA_NUMBER = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
DATE = re.compile(r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4})([ T]\d\d?:\d{2}.*)?")


def typed(
    name: str,
    cells: list[Any],
    place: Index,
    markers: Collection[str] = MARKERS,
    variable: Variable | None = None,
    codes_known: bool = False,
) -> Array:
    """Return a column: numbers as int64 or float64, anything else as objects with None for gaps.

    `cells` are the different ones that the file has, `place` (n_rows,) tells which of them each row
    holds. The `markers` stand for missing, beside the empty cell. What a model knows of the column,
    its `variable`, has levels that are never read as missing, and numbers that may have leading
    zeros. The codes are known if the user has named the texts that stand among the numbers.
    """
    if variable is not None:
        values = [_known(cell, variable, markers) for cell in cells]
    else:
        values = [_meant(cell, markers) for cell in cells]
        _warn_of_markers(name, cells, values)
        _warn_of_dates(name, values)
        if not codes_known:
            _warn_of_mixed(name, values, np.bincount(place, minlength=len(cells)))
    if variable is not None and variable.kind == "category":  # a number and its text may differ
        return _objects(values, place)
    return _column(values, place, variable is not None or not _are_one(name, values))


def with_points(name: str, cells: list[Any]) -> list[Any]:
    """Write decimal commas as points, in a column whose cells with digits are numbers all of them.

    Only for files with another delimiter: elsewhere a comma may part thousands.
    """
    texts = [cell for cell in cells if isinstance(cell, str) and any(map(str.isdigit, cell))]
    commas = [text for text in texts if "," in text]
    if not commas or not all(COMMA_NUMBER.fullmatch(text) for text in texts):
        return cells
    warn(f"column '{name}': commas are read as decimal points, such as in {commas[0].strip()!r}")
    return [cell.replace(",", ".") if isinstance(cell, str) else cell for cell in cells]


def _column(values: list[Any], place: Index, may_be_numbers: bool) -> Array:
    present = [value for value in values if value is not None]
    numbers = [_number(value) for value in present]
    if may_be_numbers and None not in numbers:
        return _numbers([None if v is None else _number(v) for v in values], place)
    texts = any(isinstance(value, str) for value in present)
    levels = [level_text(v) if texts and v is not None else v for v in values]
    return _objects(levels, place)


def _objects(values: list[Any], place: Index) -> Array:
    return np.array([*values, None], object)[:-1][place]


def _numbers(values: list[float | None], place: Index) -> Array:
    """Return float64, or int64 where every cell is a whole number."""
    column = np.array([np.nan if value is None else value for value in values], np.float64)[place]
    whole = np.isfinite(column).all() and (np.abs(column) < EXACT).all()
    return column.astype(np.int64) if whole and (column == np.rint(column)).all() else column


def _meant(cell: Any, markers: Collection[str]) -> Any:
    """Return what a cell means: None for a gap, a text without its margins, or the value."""
    if is_absent(cell):
        return None
    if not isinstance(cell, str):
        return cell.item() if isinstance(cell, np.generic) else cell
    text = cell.strip()
    return None if not text or text in markers else text


def _known(cell: Any, variable: Variable, markers: Collection[str]) -> Any:
    if not isinstance(cell, str):
        return _meant(cell, markers)
    for text in (cell, cell.strip()):
        if (special_text(text) if variable.kind == "number" else text) in variable.levels:
            return text
    meant = _meant(cell, markers)
    if variable.kind == "number" and meant is not None:
        number = parse_number(meant.lstrip("0") or "0")
        return meant if number is None else number
    return meant


def _are_one(name: str, values: list[Any]) -> bool:
    """Warn if different whole numbers would become one number, and so stay levels."""
    large = [v for v in values if abs(_number(v) or 0.0) >= EXACT]
    merged = merged_cells(large)
    if merged is not None:
        warn(
            f"column '{name}' holds {merged[0]!s} and {merged[1]!s}, which are one number in "
            "float64 (exact for whole numbers up to 2**53); it is read as a category"
        )
    return merged is not None


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return parse_number(value)
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain else None


def _warn_of_markers(name: str, cells: list[Any], values: list[Any]) -> None:
    """Warn of texts in a column of texts that were read as missing; they might be levels."""
    gone = [
        cell.strip()
        for cell, value in zip(cells, values, strict=True)
        if value is None and isinstance(cell, str) and cell.strip()
    ]
    if gone and any(isinstance(v, str) and _number(v) is None for v in values):
        warn(
            f"column '{name}': {_texts(gone)} is read as missing; to keep it as a level, say which "
            "texts are missing (--missing, or --missing '' for empty cells only)"
        )


def _warn_of_dates(name: str, values: list[Any]) -> None:
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) > 1 and all(DATE.fullmatch(text) for text in texts):
        warn(
            f"column '{name}' looks like dates ({texts[0]}) and is read as a category; turn them "
            "into numbers, such as days since a reference date, or leave the column out"
        )


def _warn_of_mixed(name: str, values: list[Any], counts: Index) -> None:
    """Warn that a few texts make a category of what is otherwise a column of numbers."""
    present = [(v, int(n)) for v, n in zip(values, counts, strict=True) if v is not None]
    odd = [v for v, _ in present if _number(v) is None]
    spelled = sum(n for v, n in present if _number(v) is not None)
    total = sum(n for _, n in present)
    if not odd or spelled <= MOSTLY * total or not all(isinstance(v, str) for v in odd):
        return
    if all(text.isdigit() for text in odd):  # codes with leading zeros
        return
    if len(odd) > FEW or len(present) - len(odd) <= FEW:  # levels such as 0, 1, 2, 3+
        return
    warn(
        f"column '{name}': {spelled} of {total} cells spell numbers but {_texts(odd)} does not, so "
        "it is read as a category; if that means missing, name it in --missing, if it is a code, "
        f"in --special {name}={','.join(odd)}"
    )


def _texts(texts: list[str]) -> str:
    more = ", ..." if len(texts) > FEW else ""
    return ", ".join(repr(text) for text in texts[:FEW]) + more
