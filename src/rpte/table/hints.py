"""What deserves a look before a model is used: codes among numbers (warned of), and hints.

A code such as -9 or 999 that stands for no measurement is warned of only where it is one of the
usual ones, recurs, and stands apart from all other numbers of its column, or where whole rows
repeat it. Hints at what a column may mean are too weak for a warning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rpte.errors import warn
from rpte.table.column import extents, parse_number
from rpte.table.inputs import Inputs
from rpte.table.schema import Variable
from rpte.utils.arrays import Floats, Index, Mask

# Codes
REPEATS, FRACTION = 5, 0.0005  # rows, and fraction of the rows, that a code needs
FAR = 0.5  # a gap, in ranges of the other numbers
FEW = 10  # different other numbers below which -1 to -6 may be a scale of its own
WIDE = 5.0  # a gap, in distances between the numbers next to it
COLUMNS = 3  # that a row must have to be the same code throughout
SMALL = range(1, 7)  # -1 to -6 are codes only beside many numbers that are not negative
# Hints
FEW_VALUES = 10  # the most different whole numbers that may be codes
ROWS = 10  # of each, on average
LARGEST_CODE = 20
SHOWN = 5
APART = 0.2  # distance of 0 from all other numbers, in their range
LONG = {"m": "male", "f": "female", "w": "woman", "y": "yes", "n": "no", "t": "true"}


NINES = {10**digits - back for digits in range(2, 10) for back in (1, 2, 3, 4)}
SAME_DIGITS = {int(digit * count) for digit in "78" for count in range(2, 7)}
LIMITS = {2**15 - 1, 2**31 - 1, -(2**15), -(2**31)}
USUAL = LIMITS.union(range(-9, 0), *({code, -code} for code in NINES | SAME_DIGITS))


@dataclass(frozen=True, slots=True)
class Sentinels:
    """The codes of each column, and how many rows hold nothing but a code."""

    codes: Mapping[str, tuple[int, ...]]
    rows: Mapping[int, int]

    def said(self) -> str:
        """Say what was found, with the remedy ready to paste."""
        name, codes = next(iter(self.codes.items()))
        several = len(self.codes) > 1
        count = f"{len(self.codes)} columns hold" if several else "a column holds"
        what = f"codes that stand apart from all {'their' if several else 'its'} other numbers"
        whole = "".join(f"; {n} rows are {code} throughout" for code, n in self.rows.items())
        pasted = {name: list(codes) for name, codes in self.codes.items()}
        return (
            f"{count} {what}, such as {codes[0]} in '{name}'{whole}. They are read as "
            "measurements; if they are none, make them levels of their own: "
            f"special_values={pasted}"
        )


def warn_of_sentinels(inputs: Inputs) -> dict[str, list[int]]:
    """Warn of the codes in a training table, in one warning; return them by column."""
    found = find_sentinels(inputs)
    if found.codes:
        warn(found.said())
    return {name: list(codes) for name, codes in found.codes.items()}


def find_sentinels(inputs: Inputs) -> Sentinels:
    """Look for codes in the numbers of a training table; those declared already are left out."""
    columns = {name: x for name, x in _numbers(inputs) if not inputs.schema[name].levels}
    rows = _whole_rows(list(columns.values()))
    ends = zip(columns.items(), extents(list(columns.values())), strict=True)
    usual = {name: [] if USUAL.isdisjoint(e[:2]) else _end_codes(x) for (name, x), e in ends}
    found = {name: tuple(sorted({*codes, *rows})) for name, codes in usual.items()}
    return Sentinels({name: codes for name, codes in found.items() if codes}, rows)


def _end_codes(column: Floats) -> list[int]:
    """Return the codes at both ends of a column that stand apart from the rest of it."""
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    low = _end(values, counts)
    high = _end(-values[::-1], counts[::-1], high=True)
    return [int(value) for value in (*values[:low], *values[len(values) - high :])]


def _end(values: Floats, counts: Index, high: bool = False) -> int:
    """Return how many of the smallest values are codes; 0 where none stands apart.

    The `values` (m,) are different and in order; negated where the `high` end is asked for.
    """
    sign = -1 if high else 1
    for k in range(1, len(values) - 1):
        if sign * values[k - 1] not in USUAL or (high and values[k - 1] > 0):
            return 0
        often = counts[:k].max() >= max(REPEATS, FRACTION * counts.sum())
        if often and _apart(values[:k], values[k:], counts[:k], counts[k:], high):
            return k
    return 0


def _apart(codes: Floats, rest: Floats, held: Index, others: Index, high: bool) -> bool:
    """Tell whether codes below the rest of a column are none of its numbers."""
    gap = rest[0] - codes[-1]
    if -codes[-1] not in SMALL and gap >= FAR * (rest[-1] - rest[0]):
        return True
    if high or rest[0] < 0 or len(rest) < FEW:
        return False
    spacing = np.median(np.diff(rest[:FEW]))
    return bool(gap >= WIDE * spacing or held.max() >= 2 * others[0])


def _whole_rows(columns: list[Floats]) -> dict[int, int]:
    """Return the codes that some rows hold in every column, and how many rows."""
    if len(columns) < COLUMNS:
        return {}
    first = columns[0]
    same = np.ones(len(first), np.bool_)
    for column in columns[1:]:
        same &= column == first
        if same.sum() < REPEATS:
            return {}
    same[same] = np.isin(first[same], list(USUAL))
    values, counts = np.unique(first[same], return_counts=True)
    often = [(v, n) for v, n in zip(values, counts, strict=True) if n >= REPEATS]
    return {int(v): int(n) for v, n in often if _foreign(v, same & (first == v), columns)}


def _foreign(code: float, rows: Mask, columns: list[Floats]) -> bool:
    """Tell whether a code lies outside of the other rows' numbers in half of the columns."""
    others = (column[~rows] for column in columns if not rows.all())
    outside = [not np.fmin.reduce(x) <= code <= np.fmax.reduce(x) for x in others]
    return sum(outside) >= len(columns) / 2


def hints_of(inputs: Inputs) -> tuple[str, ...]:
    """Return one line for each thing that deserves a look."""
    numbers = list(_numbers(inputs))
    categories = [v for v in inputs.schema.variables if v.kind == "category"]
    codes = [(name, held) for name, column in numbers if len(held := _few_whole(column))]
    alike = [(v.name, twice) for v in categories if (twice := _spelled_alike(v))]
    found = {
        "few whole numbers; if they are codes rather than amounts or grades, make them categories "
        "(astype('category'), or astype(str))": [f"'{n}' ({_values(held)})" for n, held in codes],
        "0 stands apart from all other numbers; if it means not measured, say so "
        "(special_values={name: [0]})": [
            f"'{name}'"
            for (name, x), (low, *_) in zip(numbers, extents([x for _, x in numbers]), strict=True)
            if low == 0.0 and _zero_apart(x)
        ],
        "levels that differ in spelling alone; if they mean the same, write them alike": [
            f"'{name}' ({', '.join(twice[:SHOWN])})" for name, twice in alike
        ],
        "levels that are numbers, in text or declared a category; if they are amounts, make them "
        "numbers (astype(float))": [
            f"'{v.name}'"
            for v in categories
            if v.levels and None not in map(parse_number, v.levels)
        ],
    }
    return tuple(f"{_listed(columns)}: {text}" for text, columns in found.items() if columns)


def _few_whole(column: Floats) -> Floats:
    """Return the values of a column of few whole numbers, none for any other, and for two."""
    none = np.zeros(0)
    head = column[: FEW_VALUES * ROWS]
    if len(np.unique(head[~np.isnan(head)])) > FEW_VALUES:
        return none
    values = np.unique(column[~np.isnan(column)])
    few = 3 <= len(values) <= FEW_VALUES and len(column) >= ROWS * len(values)
    whole = few and bool((values == np.rint(values)).all() and np.abs(values).max() <= LARGEST_CODE)
    return values if whole else none


def _zero_apart(column: Floats) -> bool:
    """Tell whether 0, the smallest number of a column, stands apart from all others."""
    rest = column[column > 0.0]
    if len(np.unique(rest[: 10 * FEW_VALUES])) <= FEW_VALUES or (column == 0.0).sum() < 2:
        return False
    return bool(rest.min() >= APART * (rest.max() - rest.min()))


def _spelled_alike(variable: Variable) -> list[str]:
    """Return the levels of a category that may be one, written differently."""
    alike: dict[str, list[str]] = {}
    for level in variable.levels:
        plain = "".join(level.split()).casefold()
        alike.setdefault(LONG.get(plain, plain), []).append(level)
    return ["/".join(levels) for levels in alike.values() if len(levels) > 1]


def _numbers(inputs: Inputs) -> Iterator[tuple[str, Floats]]:
    for place, variable in enumerate(inputs.schema.variables):
        if variable.kind == "number":
            yield variable.name, inputs.columns[place]


def _values(values: Floats) -> str:
    texts = [str(int(value)) for value in values]
    steps = len(values) > 2 and bool((np.diff(values) == 1).all())
    return f"{texts[0]} to {texts[-1]}" if steps else ", ".join(texts)


def _listed(columns: list[str]) -> str:
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return ", ".join(columns[:SHOWN]) + more
