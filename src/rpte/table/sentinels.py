"""Codes among numbers that stand for no measurement, such as -9 or 999: found by how they lie.

A code is warned of only where it is one of the usual ones, recurs, and stands apart from all other
numbers of its column, or where whole rows repeat it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.errors import RPTEWarning
from rpte.table.inputs import Inputs

Floats = NDArray[np.float64]

REPEATS, SHARE = 5, 0.0005  # rows, and share of the rows, that a code needs
FAR = 0.5  # a gap, in ranges of the other numbers
FEW = 10  # different other numbers below which -1 to -6 may be a scale of its own
WIDE = 5.0  # a gap, in distances between the numbers next to it
COLUMNS = 3  # that a row must have to be the same code throughout
SMALL = range(1, 7)  # -1 to -6 are codes only beside many numbers that are not negative


def _usual() -> frozenset[int]:
    small = {-code for code in range(1, 10)}
    nines = {10**digits - back for digits in range(2, 10) for back in (1, 2, 3, 4)}
    same = {int(digit * count) for digit in "78" for count in range(2, 7)}
    limits = {2**15 - 1, 2**31 - 1}
    return frozenset(
        small | nines | same | limits | {-c for c in nines | same} | {-(2**15), -(2**31)}
    )


USUAL = _usual()


@dataclass(frozen=True, slots=True)
class Sentinels:
    """The codes that were found.

    Parameters
    ----------
    codes : mapping from the name of a column to its codes
    rows : mapping from a code to the number of rows that hold nothing else
    """

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
        warnings.warn(found.said(), RPTEWarning, stacklevel=3)
    return {name: list(codes) for name, codes in found.codes.items()}


def find_sentinels(inputs: Inputs) -> Sentinels:
    """Look for codes in the numbers of a training table; those declared already are left out."""
    places = [
        place
        for place, variable in enumerate(inputs.schema.variables)
        if variable.kind == "number" and place not in inputs.specials
    ]
    columns = {inputs.schema.variables[p].name: inputs.columns[p] for p in places}
    rows = _whole_rows(list(columns.values()))
    found = {}
    for name, column in columns.items():
        codes = sorted({*_codes(column), *rows})
        if codes:
            found[name] = tuple(codes)
    return Sentinels(found, rows)


def _codes(column: Floats) -> list[int]:
    """Return the codes at both ends of a column that stand apart from the rest of it."""
    if not len(column) or not {np.fmin.reduce(column), np.fmax.reduce(column)} & USUAL:
        return []
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    low = _end(values, counts)
    high = _end(-values[::-1], counts[::-1], high=True)
    return [int(value) for value in (*values[:low], *values[len(values) - high :])]


def _end(values: Floats, counts: NDArray[np.intp], high: bool = False) -> int:
    """Return how many of the smallest values are codes; 0 where none stands apart.

    Parameters
    ----------
    values, counts : (m,)
        Different numbers in order; negated where the `high` end is asked for.
    """
    sign = -1 if high else 1
    for k in range(1, len(values) - 1):
        if sign * values[k - 1] not in USUAL or (high and values[k - 1] > 0):
            return 0
        often = counts[:k].max() >= max(REPEATS, SHARE * counts.sum())
        if often and _apart(values[:k], values[k:], counts[:k], counts[k:], high):
            return k
    return 0


def _apart(
    codes: Floats,
    rest: Floats,
    held: NDArray[np.intp],
    others: NDArray[np.intp],
    high: bool,
) -> bool:
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
    same = np.isin(first, list(USUAL))
    for column in columns[1:]:
        same &= column == first
        if same.sum() < REPEATS:
            return {}
    values, counts = np.unique(first[same], return_counts=True)
    often = [(v, n) for v, n in zip(values, counts, strict=True) if n >= REPEATS]
    return {int(v): int(n) for v, n in often if _foreign(v, same & (first == v), columns)}


def _foreign(code: float, rows: NDArray[np.bool_], columns: list[Floats]) -> bool:
    """Tell whether a code lies outside of the other rows' numbers in half of the columns."""
    outside = 0
    for column in columns:
        rest = column[~rows]
        if len(rest):
            outside += not np.fmin.reduce(rest) <= code <= np.fmax.reduce(rest)
    return outside >= len(columns) / 2
