"""One column of a table, from its cells to numbers or to codes of levels, with numpy alone."""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from rpte.errors import InputError
from rpte.table.decimals import in_single
from rpte.table.schema import Variable
from rpte.utils.arrays import Array, Floats, Index, Int32s

MISSING = -1
UNSEEN = -2
MANY_CELLS = 10_000  # of text: from here on pandas, if it is there, tells them apart faster
FEW_CELLS = 32_768  # looked at together
FEW_ROWS = 4096  # of all columns
LARGEST = 1e300  # beyond it sums and squares overflow; such numbers are codes for missing
EXACT = 2.0**53  # whole numbers up to here are floats; in a larger sum a single row is lost


@dataclass(frozen=True, slots=True, eq=False)
class Factorized:
    """The distinct cells of a column of objects and, by row (n,), which of them it holds."""

    cells: list[Any]
    places: Index
    dtype: ClassVar[np.dtype[Any]] = np.dtype(object)
    ndim: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.places)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, as an array says it."""
        return self.places.shape


Raw = Array | Factorized


def is_absent(value: Any) -> bool:
    """Tell whether one cell of an object column is missing (None, NaN, pandas NA or NaT)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(value != value)


def distinct(column: Raw, name: str = "") -> tuple[list[Any], Index]:
    """Return the distinct cells of a column and, for each row, which of them it holds.

    True is told apart from 1, which is equal to it in Python: the order of rows decides nothing.
    """
    if isinstance(column, Factorized):
        return column.cells, column.places
    if column.dtype.kind in "biufUS":
        values, inverse = np.unique(column, return_inverse=True)
        return values.tolist(), inverse.reshape(-1)
    numbers: dict[Any, int] = {}
    families = {kind: family(kind) for kind in set(map(type, column))}
    try:
        if len(set(families.values())) > 1:
            keys = ((families[type(cell)], cell) for cell in column)
            places = [numbers.setdefault(key, len(numbers)) for key in keys]
            return [cell for _, cell in numbers], np.array(places, np.intp)
        if len(column) > MANY_CELLS and "pandas" in sys.modules:
            codes, cells = sys.modules["pandas"].factorize(column, use_na_sentinel=False)
            return list(cells), codes
        places = [numbers.setdefault(cell, len(numbers)) for cell in column]
    except TypeError:  # a list, a dict or a set in a cell
        cell = next(cell for cell in column if not _hashable(cell))
        raise unreadable(cell, f" (column '{name}')" if name else "") from None
    return list(numbers), np.array(places, np.intp)


BOOLEANS = (bool, np.bool_)
FAMILIES = {
    "boolean": BOOLEANS,
    "decimal": (Decimal,),
    "complex": (complex, np.complexfloating),
    "duration": (np.timedelta64,),
}


def family(kind: type) -> str:
    """Return what tells equal cells of different types apart; all usual cells are of one family.

    A Decimal cannot be compared with numpy's integers at all.
    """
    return next((name for name, kinds in FAMILIES.items() if issubclass(kind, kinds)), "")


def _hashable(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def unreadable(cell: Any, where: str = "") -> TypeError:
    """Return the error of a cell that is neither a number nor text."""
    return TypeError(
        f"argument must be a string or a real number, not '{type(cell).__name__}'{where}; give "
        "numbers, text or missing cells"
    )


def as_number(column: Raw, name: str, signed: bool = False) -> Floats:
    """Return a numeric column as float64, NaN where missing; refuse infinities.

    A -0.0 becomes 0.0, in a copy of the column, unless zeros may be `signed`.
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "b" and len(column):
        raise _boolean(column[0], name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        numbers = column.astype(np.float64, copy=False).view()
        numbers.flags.writeable = False  # they may be the caller's own
        zeros = (part[part == 0.0] for part in _parts(numbers))
        if not signed and any(np.signbit(zero).any() for zero in zeros):
            numbers = numbers + 0.0
    elif column.dtype.kind == "c":
        raise InputError(f"Complex data not supported: column '{name}' is complex; pass real parts")
    elif column.dtype.kind in "mM":
        raise InputError(f"column '{name}' is a number but holds dates or durations; convert them")
    else:
        cells, inverse = distinct(column)
        numbers = np.array([_cell_number(cell, name) for cell in cells], np.float64)[inverse]
    if not all_allowed(numbers):
        infinite = np.flatnonzero(np.abs(numbers) > LARGEST)
        raise InputError(
            f"column '{name}' holds {len(infinite)} values beyond {LARGEST:g} (infinity included; "
            f"first at row {infinite[0]}: {numbers[infinite[0]]}); replace them or set them missing"
        )
    return numbers


def all_allowed(numbers: Array) -> bool:
    """Tell whether no number is beyond `LARGEST` in size."""
    parts = (part.astype(np.float64, copy=False) for part in _parts(numbers))
    return not any(bool((np.abs(part) > LARGEST).any()) for part in parts)


def extents(columns: Sequence[Floats]) -> list[tuple[float, float, bool]]:
    """Return of each column the least and the largest number, NaN if none, and whether any lacks.

    A few rows of all columns at a time: those of an array lie side by side in the memory.
    """
    low, high = np.full((2, len(columns)), np.nan)
    gaps = np.zeros(len(columns), np.bool_)
    rows = len(columns[0]) if columns else 0
    for start in range(0, rows, FEW_ROWS):
        for j, column in enumerate(columns):
            part = np.ascontiguousarray(column[start : start + FEW_ROWS])
            least, most = part.min(), part.max()
            if least != least:
                gaps[j], least, most = True, np.fmin.reduce(part), np.fmax.reduce(part)
            if not (least >= low[j] and most <= high[j]):
                low[j], high[j] = np.fmin(low[j], least), np.fmax(high[j], most)
    return list(zip(low.tolist(), high.tolist(), gaps.tolist(), strict=True))


def as_one_of_two(column: Raw, variable: Variable) -> tuple[Floats, Int32s]:
    """Return the numbers of a category of two numbers, NaN where missing, and their levels.

    True and False are 1 and 0 where these are the two. Any other number is `UNSEEN`.
    """
    if set(variable.levels) == {"0", "1"}:
        column = _without_booleans(column)
    numbers = as_number(column, variable.name)
    codes = np.where(np.isnan(numbers), MISSING, UNSEEN).astype(np.int32)
    for code, level in enumerate(variable.levels):
        codes[numbers == float(level)] = code
    return numbers, codes


def _without_booleans(column: Raw) -> Raw:
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return column.astype(np.float64) if column.dtype.kind == "b" else column
    cells, places = distinct(column)
    plain = [float(cell) if isinstance(cell, BOOLEANS) else cell for cell in cells]
    return Factorized(plain, places)


def few_values(numbers: Floats) -> list[float]:
    """Return the smallest and the largest number of a column, and one between them if any is."""
    for part in (numbers[:FEW_CELLS], numbers):
        low, high = np.fmin.reduce(part, initial=np.nan), np.fmax.reduce(part, initial=np.nan)
        inside = part[(part > low) & (part < high)]
        if len(inside):
            break
    return sorted({float(value) + 0.0 for value in (low, *inside[:1], high) if value == value})


def _parts(cells: Array) -> Iterator[Array]:
    """Yield a few rows at a time."""
    step = max(1, FEW_CELLS // max(math.prod(cells.shape[1:]), 1))
    return (cells[low : low + step] for low in range(0, len(cells), step))


def as_number_or_special(column: Raw, variable: Variable) -> tuple[Floats, Int32s]:
    """Return the numbers of a column, NaN where a cell is missing or special, and special codes."""
    index: dict[str | None, int] = {level: code for code, level in enumerate(variable.levels)}
    index |= {level_text(copy): code for copy, code in special_copies(variable.levels).items()}
    cells, inverse = distinct(column)
    names = [None if is_absent(cell) else special_text(cell) for cell in cells]
    codes = np.array([index.get(name, MISSING) for name in names], np.int32)
    ordinary = [None if code >= 0 else cell for code, cell in zip(codes, cells, strict=True)]
    numbers = as_number(np.array([*ordinary, None], dtype=object)[:-1], variable.name)
    return numbers[inverse], codes[inverse]


def special_copies(levels: Sequence[str]) -> dict[float, int]:
    """Return what single precision (float32) makes of special codes, and whose place each has.

    A code such as 99.9 arrives as 99.9000015258789 in a table that was ever held in float32.

    Examples
    --------
    >>> special_copies(["-9", "99.9", "n/a"])
    {99.9000015258789: 1}
    """
    copies: dict[float, int] = {}
    for place, level in enumerate(levels):
        number = parse_number(level)
        copy = math.inf if number is None else in_single(number)
        if math.isfinite(copy) and level_text(copy) not in levels:
            copies.setdefault(copy, place)
    return copies


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
    if isinstance(cell, BOOLEANS):
        raise _boolean(cell, name)
    if isinstance(cell, str):
        number = parse_number(cell)
        if number is None:
            raise InputError(
                f"could not convert string to float: column '{name}' is a number but holds the "
                f"text {cell!r}; clean the column, name the text in special_values, or make the "
                "column a category"
            )
        return number
    if not is_real(cell):
        raise unreadable(cell, f" in column '{name}'")
    return to_float(cell)


def _boolean(cell: Any, name: str) -> InputError:
    """Return the error of a boolean where training had numbers."""
    return InputError(
        f"column '{name}' is a number but holds the boolean {bool(cell)}; check that it is the "
        "column of training, and if True and False mean 1 and 0, make it numbers (astype(float))"
    )


def to_float(cell: Any) -> float:
    """Return a real number as a float, never -0.0; one of hundreds of digits is infinite."""
    try:
        return float(cell) + 0.0
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def is_real(cell: Any) -> bool:
    """Tell whether a cell that is no text can be read as a number."""
    if isinstance(cell, (complex, np.complexfloating, np.timedelta64)):
        return False
    return isinstance(cell, (int, float, np.number, np.bool_)) or hasattr(cell, "__float__")


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


def level_text(value: Any) -> str:
    """Return the name of a category level: its text, without a trailing ``.0`` for whole floats.

    Cells that are equal have one name, whatever their types.
    """
    if isinstance(value, str):
        return str.__str__(value)  # a member of an Enum of texts is its text
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)):
        return str(int(value))
    if isinstance(value, (float, np.floating, Decimal, Fraction)):
        return _number_name(value)
    return str(value)


def _number_name(value: Any) -> str:
    try:
        number = float(value)
    except OverflowError:
        return str(value)
    if number != value:  # more digits than a float has
        return str(value)
    return str(int(number)) if number.is_integer() else str(number)


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
