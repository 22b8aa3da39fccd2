"""Training numbers that float64 cannot hold: refused, because a model of them would be another."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.column import Raw, distinct, is_absent, special_text

Floats = NDArray[np.float64]

EXACT = 2.0**53  # whole numbers up to here are floats
SMALLEST = 1e-270  # slopes of columns that are smaller throughout come near the largest float


def check_precision(column: Raw, numbers: Floats, name: str, specials: Collection[str]) -> None:
    """Refuse a column whose different cells became one number, or whose slopes would overflow.

    Parameters
    ----------
    column : array or Told
        As it came in.
    numbers : (n,)
        What was read, NaN where missing.
    name : str
    specials : texts
        Cells of these names are no numbers.
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
        cells = [c for c in distinct(column)[0] if not is_absent(c)]
        return merged_cells([c for c in cells if special_text(c) not in specials])
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
