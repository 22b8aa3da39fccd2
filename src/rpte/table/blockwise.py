"""A schema learned block by block: that of all rows at once, whatever the blocks.

`learn` looks at one block, what it returns for two blocks can be added, and `finish` makes the
schema, rare levels pooled. `typed` then reads a block under that schema. Of numbers no more than
their range is kept; of text the distinct cells with their weights, which must not be too many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.table.column import (
    EXACT,
    MISSING,
    UNSEEN,
    Raw,
    as_number,
    as_number_or_special,
    as_one_of_two,
    distinct,
    family,
    few_values,
    is_absent,
    level_text,
    merged_cells,
)
from rpte.table.inputs import Inputs, check_shapes
from rpte.table.read import (
    RawTable,
    Specials,
    check_numbers,
    dates,
    kind_of,
    learn_column,
    special_levels,
)
from rpte.table.schema import Kind, Schema, Variable
from rpte.table.table import PoolingRule, pool, yes_no
from rpte.utils.arrays import Array, Floats, Int32s

MOST_CELLS = 500_000  # different ones of a column of text, kept in memory
SINGLE = 2.0**24  # whole numbers below are floats of single precision
DIGITS = 15  # decimals of so many are told apart as floats

Cells = Mapping[tuple[str, Any], float]  # the weight of each different cell


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What blocks tell of one column.

    Parameters
    ----------
    declared : the kind that its type settles, None if its cells do
    numeric : whether it came as numbers
    missing : whether a row that counts has no value
    largest : the largest number in size, NaN without any
    values : at most three of the different numbers of rows that count
    single : whether float32 holds every number
    cells : the different cells; of numbers those that might become one as floats
    """

    declared: Kind | None
    numeric: bool
    missing: bool
    largest: float
    single: bool
    cells: Cells
    values: Sequence[float] = ()

    @property
    def empty(self) -> bool:
        """Whether every cell is missing."""
        return not self.cells and bool(np.isnan(self.largest))

    def plus(self, other: ColumnFacts, name: str) -> ColumnFacts:
        """Return what two blocks tell."""
        typed = self if other.empty else other
        alike = (self.declared, self.numeric) == (other.declared, other.numeric)
        if not (self.empty or other.empty or alike):
            raise InputError(
                f"column '{name}' holds numbers in one block and other cells in another; give it "
                "one type everywhere"
            )
        cells = dict(self.cells)
        for cell, weight in other.cells.items():
            cells[cell] = cells.get(cell, 0.0) + weight
        _check_count(name, len(cells), typed.numeric)
        return ColumnFacts(
            typed.declared,
            typed.numeric,
            self.missing or other.missing,
            float(np.fmax(self.largest, other.largest)),
            self.single and other.single,
            cells,
            few_values(np.array([*self.values, *other.values])),
        )


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What some blocks tell of a table."""

    names: tuple[str, ...]
    named: bool
    columns: tuple[ColumnFacts, ...]

    def __add__(self, other: TableFacts) -> TableFacts:
        if self.names != other.names:
            raise InputError(
                f"blocks have different columns, {list(self.names)[:10]} and "
                f"{list(other.names)[:10]}; give all blocks the same"
            )
        pairs = zip(self.names, self.columns, other.columns, strict=True)
        return replace(self, columns=tuple(one.plus(more, name) for name, one, more in pairs))

    def finish(self, rule: PoolingRule, specials: Specials | None = None) -> Schema:
        """Return the schema of all rows; levels that are rare by the rule are pooled."""
        return self.pooled(self.schema(specials), rule)

    def schema(self, specials: Specials | None = None) -> Schema:
        """Return the schema of all rows with all levels."""
        wanted = special_levels(specials or {}, self.names)
        columns = zip(self.names, self.columns, strict=True)
        found = [_variable(name, facts, wanted.get(name, ())) for name, facts in columns]
        return Schema(tuple(found), self.named)

    def pooled(self, schema: Schema, rule: PoolingRule) -> Schema:
        """Return the schema of rows that count, levels pooled that are rare by the rule."""
        columns = zip(schema.variables, self.columns, strict=True)
        return replace(schema, variables=tuple(_pooled(v, facts, rule) for v, facts in columns))


def learn(block: RawTable, weight: Floats, specials: Specials | None = None) -> TableFacts:
    """Return what a block tells of the schema of the whole table.

    Parameters
    ----------
    block : RawTable
        As `split_columns` makes it of any data frame or array.
    weight : (n,)
        Of the rows, class factors included; those of weight zero tell of kinds alone.
    specials : mapping, optional
        Special codes by name of a number, as for `read_training`.
    """
    check_shapes(block.names, block.columns)
    wanted = special_levels(specials or {}, block.names)
    columns = zip(block.names, block.columns, block.declared, strict=True)
    found = [_facts(n, column, kind, wanted.get(n, ()), weight) for n, column, kind in columns]
    return TableFacts(tuple(block.names), block.named, tuple(found))


def typed(block: RawTable, schema: Schema) -> Inputs:
    """Return a block as typed columns under the schema, which may have some of its columns."""
    place = {name: i for i, name in enumerate(block.names)}
    columns: list[Array] = []
    specials: dict[int, Int32s] = {}
    for position, variable in enumerate(schema.variables):
        column = block.columns[place[variable.name]]
        if variable.kind == "category":
            columns.append(_codes(column, variable))
        elif variable.levels:
            numbers, specials[position] = as_number_or_special(column, variable)
            columns.append(numbers)
        else:
            columns.append(as_number(column, variable.name))
    return Inputs(schema, tuple(columns), specials)


def _facts(
    name: str, column: Raw, declared: Kind | None, specials: tuple[str, ...], weight: Floats
) -> ColumnFacts:
    if column.dtype.kind in "mM":
        raise dates(name)
    as_numbers = isinstance(column, np.ndarray) and column.dtype.kind in "fiuc"
    if as_numbers and declared != "category":
        assert isinstance(column, np.ndarray)
        return _number_facts(name, column, declared, specials, weight)
    cells, places = distinct(column, name)
    held = np.bincount(places, minlength=len(cells)) > 0
    sums = np.bincount(places, weight, minlength=len(cells))
    found = {
        (family(type(cell)), cell): float(total)
        for cell, there, total in zip(cells, held, sums, strict=True)
        if there and not is_absent(cell)
    }
    weighed = [cell for cell, total in zip(cells, sums, strict=True) if total > 0]
    counted = [cell for cell in weighed if not is_absent(cell)]
    largest, by_type = np.nan, declared == "number" and not specials
    values: Sequence[float] = ()
    if by_type:  # as decimals have it: no more than what may be told apart is kept
        numbers = as_number(np.array([*(cell for _, cell in found), None], object), name)
        largest = float(np.fmax.reduce(np.abs(numbers)))
        values = few_values(as_number(np.array([*counted, None], object), name))
        found = {key: total for key, total in found.items() if not _short(key[1])}
    _check_count(name, len(found), by_type)
    empty = not found and bool(np.isnan(largest))
    absent = len(counted) < len(weighed)
    return ColumnFacts(declared, by_type, absent, largest, empty, found, values)


def _number_facts(
    name: str, column: Array, declared: Kind | None, specials: tuple[str, ...], weight: Floats
) -> ColumnFacts:
    """Return what a column tells that came as numbers."""
    if specials:
        numbers, codes = as_number_or_special(column, Variable(name, "number", specials))
        missing = np.isnan(numbers) & (codes < 0)
    else:
        numbers = as_number(column, name, signed=True)
        missing = np.isnan(numbers)
    high, low = np.fmax.reduce(numbers, initial=np.nan), np.fmin.reduce(numbers, initial=np.nan)
    largest, whole = float(np.fmax(high, -low)), column.dtype.kind in "iu"
    cells: Cells = {}
    if whole and largest >= EXACT:
        large = np.unique(column[np.abs(numbers) >= EXACT])
        cells = dict.fromkeys((("", int(cell)) for cell in large), 0.0)
        _check_count(name, len(cells), numeric=True)
    single = column.dtype.itemsize <= (2 if whole else 4) or (whole and largest < SINGLE)
    counted = bool((weight[missing] > 0).any())
    values = few_values(numbers[weight > 0])
    return ColumnFacts(declared or "number", True, counted, largest, bool(single), cells, values)


def _short(cell: Any) -> bool:
    """Tell whether a number is told apart, as a float, from all others that are short."""
    if isinstance(cell, Decimal):
        return len(cell.as_tuple().digits) <= DIGITS
    return isinstance(cell, (float, np.floating)) or bool(abs(cell) < EXACT)


def _check_count(name: str, count: int, numeric: bool) -> None:
    if count <= MOST_CELLS:
        return
    what = "whole numbers beyond 2**53, or decimals of more than 15 digits" if numeric else "cells"
    remedy = "subtract a constant or round them" if numeric else "make them coarser"
    raise InputError(
        f"column '{name}' holds more than {MOST_CELLS:,} different {what}; leave it out "
        f"(limits=Limits(exclude=['{name}'])) if it names the cases, or {remedy}"
    )


def _variable(name: str, facts: ColumnFacts, specials: tuple[str, ...]) -> Variable:
    cells = [cell for _, cell in facts.cells]
    if facts.numeric:
        check_numbers(name, facts.largest, merged_cells(cells))
        return Variable(name, "number", specials, facts.missing)
    column = np.array([*cells, None], object)[:-1]
    kind = facts.declared or kind_of(name, column, specials)
    variable = learn_column(name, column, kind, specials)[0]
    return replace(variable, has_missing=facts.missing)


def _pooled(variable: Variable, facts: ColumnFacts, rule: PoolingRule) -> Variable:
    if variable.kind == "number":
        values = facts.values
        if not facts.numeric and not variable.levels:
            counted = [cell for (_, cell), total in facts.cells.items() if total > 0]
            values = few_values(as_number(np.array([*counted, None], object), variable.name))
        return yes_no(variable, values, rule)
    codes = _codes(np.array([*(cell for _, cell in facts.cells), None], object)[:-1], variable)
    return pool(variable, codes, np.array([*facts.cells.values()], np.float64), rule)[0]


def _codes(column: Raw, variable: Variable) -> Int32s:
    """Return the level of each row; of a level that was pooled, the last."""
    if variable.numeric:
        return as_one_of_two(column, variable)[1]
    cells, places = distinct(column)
    index = {level: code for code, level in enumerate(variable.levels)}
    rest = len(index) - 1 if variable.pooled else UNSEEN
    codes = [MISSING if is_absent(c) else index.get(level_text(c), rest) for c in cells]
    return np.array(codes, np.int32)[places]
