"""The score of a few rows, fast: all columns of one kind at once, from the variables that count.

A column's own `evaluate` works on any array. Here it is given, instead of the rows of one variable,
the variables of all columns of its kind (row by row), and a column vector of their thresholds for
its threshold. So there is one definition of every column, and a row costs a few dozen operations
instead of a few hundred.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.kinds import Column, Level, Pair, Pattern, combine
from rpte.model.unknown import checked_inputs
from rpte.structure.tree import Branch, Split
from rpte.table.column import MISSING, UNSEEN
from rpte.table.inputs import Inputs, plain_matrix, read_part
from rpte.table.schema import Schema
from rpte.utils.arrays import Array, Floats, Index, Int32s, Mask

if TYPE_CHECKING:
    from rpte.model.model import Model
    from rpte.model.parts import Component


FEW_ROWS = 16
SCORED_TOGETHER = 512
BLOCK = 16_384  # rows of which what a component adds fits the cache


@dataclass(frozen=True, slots=True)
class _Cells:
    """Typed columns as matrices: what stacked columns are evaluated on in place of `Inputs`."""

    numbers: Floats
    missing: Mask
    levels: Int32s | None = None

    def __getitem__(self, source: Any) -> Any:
        return self.numbers[source]

    def codes(self, source: Any) -> Any:
        """Return the level of each source."""
        assert self.levels is not None
        return self.levels[source]

    def is_missing(self, source: Any) -> Any:
        """Return where each source has no value."""
        return self.missing[source]


@dataclass(frozen=True, slots=True)
class _Levels:
    """Several `Level` columns: `wanted` (m, levels + 2) says which codes each is true for."""

    source: Index
    wanted: Floats

    def evaluate(self, cells: _Cells) -> Floats:
        """Return 1.0 where the level is one of these; unseen and missing are the last two."""
        codes = cells.codes(self.source)
        return np.take_along_axis(self.wanted, codes.astype(np.intp), axis=1)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Columns of one kind: where their values go, and how they come about."""

    places: Index
    column: Any  # a stacked column, or the operation of two columns before it
    left: Index | None = None
    right: Index | None = None

    def fill(self, values: Floats, cells: _Cells) -> None:
        """Write the values, (columns, rows)."""
        if self.left is None:
            values[self.places] = self.column.evaluate(cells)
        elif self.column is None:
            values[self.places] = values[self.left] * values[self.right]
        else:
            values[self.places] = combine(self.column, values[self.left], values[self.right])


class _Columns:
    """Different columns, numbered in the order in which they are first asked for."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.places: dict[Column, int] = {}

    def place(self, column: Column) -> int:
        """Return the number of a column; parts come before what is made of them."""
        if column not in self.places:
            if isinstance(column, (Pair, Pattern)):
                self.place(column.left)
                self.place(column.right)
            self.places[column] = len(self.places)
        return self.places[column]

    def stages(self) -> list[_Stage]:
        """Return how all columns are computed: single ones by kind, then those of two."""
        kinds: dict[tuple[Any, ...], list[Any]] = {}
        for column in sorted(self.places, key=lambda c: isinstance(c, (Pair, Pattern))):
            kinds.setdefault(_kind(column), []).append(column)
        return [self._stage(columns) for columns in kinds.values()]

    def _at(self, columns: Iterable[Column]) -> Index:
        return np.array([self.places[column] for column in columns], np.intp)

    def _stage(self, columns: Sequence[Any]) -> _Stage:
        first, places = columns[0], self._at(columns)
        if isinstance(first, (Pair, Pattern)):
            operation = first.operation if isinstance(first, Pair) else None
            left, right = self._at(c.left for c in columns), self._at(c.right for c in columns)
            return _Stage(places, operation, left, right)
        source = np.array([self.schema.position(c.source) for c in columns], np.intp)
        if isinstance(first, Level):
            return _Stage(places, _Levels(source, _wanted(columns, self.schema)))
        return _Stage(places, replace(first, source=source, **_stacked(columns)))


def _kind(column: Any) -> tuple[Any, ...]:
    """Return what columns must share to be computed together."""
    words = ("side", "formula", "limited", "operation")
    return (column.kind, *(getattr(column, word) for word in words if hasattr(column, word)))


def _stacked(columns: Sequence[Any]) -> dict[str, Any]:
    """Return the numbers of columns of one kind as column vectors, by the name of the field."""
    out: dict[str, Any] = {}
    for name in (field.name for field in fields(columns[0])):
        given = [getattr(column, name) for column in columns]
        if isinstance(given[0], float):
            out[name] = np.array(given)[:, None]
        elif isinstance(given[0], tuple):
            out[name] = tuple(np.array(given).T[:, :, None])
    return out


def _wanted(columns: Sequence[Level], schema: Schema) -> Floats:
    known = [schema[column.source].levels for column in columns]
    wanted = np.zeros((len(columns), max(map(len, known)) + 2))
    for row, column, levels in zip(wanted, columns, known, strict=True):
        row[[levels.index(level) for level in column.levels]] = 1.0
    return wanted


class Plan:
    """What the score of a few rows needs of a model, made once; `schema` is of what it reads."""

    def __init__(self, model: Model) -> None:
        read = set(model.sources)
        variables = tuple(v for v in model.schema.variables if v.name in read)
        self.schema = Schema(variables, model.schema.named)
        self._model, self._whole, self._ignored = model, model.schema, model.ignored
        self._intercept = model.intercept
        self._positions = np.array([model.schema.position(v.name) for v in variables], np.intp)
        self._plain = not any(v.kind == "category" or v.levels for v in variables)
        columns = _Columns(self.schema)
        self._terms = model.direct
        self._direct = np.array([columns.place(t.column) for t in self._terms], np.intp)
        self._splits: list[Split] = []
        self._components = [
            ([(self._node(t.tree.root), [v.coefficient for v in t.leaves]) for t in c.trees], c)
            for c in model.components
        ]
        self._tested = np.array([columns.place(s.column) for s in self._splits], np.intp)
        self._stages = columns.stages()
        self._n_columns = len(columns.places)
        self._coefficient = _upright((term.coefficient for term in self._terms), float)
        self._centre = _upright((0.0 if t.column.binary else t.centre for t in self._terms), float)
        # A 0/1 column holds where it is not at most 0.
        self._threshold = _upright((s.threshold or 0.0 for s in self._splits), float)
        self._binary = _upright((s.threshold is None for s in self._splits), bool)
        self._missing_holds = _upright((s.missing_holds for s in self._splits), bool)
        self._tables = [_level_table(component, self.schema) for component in model.components]

    def _node(self, node: Branch | int) -> Any:
        """Return a tree as (number of the split, yes, no), leaves as their numbers."""
        if not isinstance(node, Branch):
            return node
        self._splits.append(node.split)
        return (len(self._splits) - 1, self._node(node.yes), self._node(node.no))

    def score(self, X: Any, allow_unknown: bool = False) -> Floats:
        """Return the model's score of each row, as it is defined."""
        matrix = plain_matrix(X, self._whole) if self._plain else None
        if matrix is not None:
            numbers = self._numbers(matrix)
            if 0 < len(matrix) <= FEW_ROWS:
                return self._score_cells(_Cells(numbers, np.isnan(numbers)))
            inputs = Inputs(self.schema, tuple(numbers))
        else:
            inputs = read_part(X, self._whole, self._ignored, self.schema)
            if inputs is not X:
                checked_inputs(self._model, inputs, allow_unknown)
        if 0 < inputs.n_rows <= FEW_ROWS:
            return self._score_cells(self._cells(inputs))
        total = np.full(inputs.n_rows, self._intercept)
        for low in range(0, len(total), BLOCK):
            rows = slice(low, low + BLOCK)
            self._add_subtotals(total[rows], inputs.take(rows))
        return total

    def _add_subtotals(self, total: Floats, inputs: Inputs) -> None:
        for component, table in zip(self._model.components, self._tables, strict=True):
            if table is None:
                total += component.subtotal(inputs)
            else:
                total += table[inputs.codes(component.sources[0])]

    def _numbers(self, matrix: Array) -> Floats:
        """Return the columns that count, (variables, rows), -0.0 as 0.0.

        In blocks of rows that fit the cache: a column of a wide table lies all over the memory.
        """
        numbers = np.empty((len(self._positions), len(matrix)))
        for start in range(0, len(matrix), SCORED_TOGETHER):
            rows = slice(start, start + SCORED_TOGETHER)
            np.add(matrix[rows, self._positions].T, 0.0, out=numbers[:, rows])
        return numbers

    def _score_cells(self, cells: _Cells) -> Floats:
        values = np.empty((self._n_columns, cells.numbers.shape[1]))
        for stage in self._stages:
            stage.fill(values, cells)
        direct = values[self._direct]
        terms = self._coefficient * (direct - self._centre) + 0.0
        terms[np.isnan(direct)] = 0.0
        tested = values[self._tested]
        holds = (tested <= self._threshold) ^ self._binary
        holds |= np.isnan(tested) & self._missing_holds
        rows = zip(terms.T.tolist(), holds.T.tolist(), strict=True)
        return np.array([self._total(*row) for row in rows], np.float64)

    def _cells(self, inputs: Inputs) -> _Cells:
        """Lay the variables out as matrices; cells that a kind does not have are never read."""
        shape = len(self.schema), inputs.n_rows
        numbers, missing = np.empty(shape), np.empty(shape, bool)
        levels = np.full(shape, -1, np.int32)
        for row, variable in enumerate(self.schema.variables):
            if variable.kind == "number":
                numbers[row] = inputs[variable.name]
            if variable.kind == "category" or variable.levels:
                levels[row] = inputs.codes(variable.name)
            missing[row] = inputs.is_missing(variable.name)
        return _Cells(numbers, missing, levels)

    def _total(self, terms: list[float], holds: list[bool]) -> float:
        """Add intercept and subtotals, each the sum of its parts, from left to right."""
        score, at = self._intercept, 0
        for trees, component in self._components:
            subtotal = 0.0
            for node, coefficients in trees:
                while isinstance(node, tuple):
                    node = node[1] if holds[node[0]] else node[2]
                subtotal = subtotal + coefficients[node]
            end = at + len(component.direct)
            for term in terms[at:end]:
                subtotal = subtotal + term
            at = end
            score = score + subtotal
        return score


def _upright(values: Iterable[Any], dtype: type) -> Array:
    return np.array([*values], dtype)[:, None]


def _level_table(component: Component, schema: Schema) -> Floats | None:
    """Return what a component of one category adds by level; None for any other component.

    The last two entries are for unseen and missing, whose codes -2 and -1 reach them.
    """
    variable = schema[component.sources[0]]
    if len(component.sources) > 1 or variable.kind != "category":
        return None
    codes = np.array([*range(len(variable.levels)), UNSEEN, MISSING], np.int32)
    return component.subtotal(Inputs(Schema((variable,), schema.named), (codes,)))
