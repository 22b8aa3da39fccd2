"""All rows of a fit on disk: blocks are read when they are asked for, any thread may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from rpte.errors import InputError
from rpte.losses import Loss
from rpte.rows import scale
from rpte.rows.cache import (
    BlockFile,
    Merged,
    Parts,
    as_table,
    special_codes,
    typed_cells,
    typed_column,
)
from rpte.rows.folds import Validation
from rpte.rows.threads import thread_map
from rpte.table.fingerprint import (
    NumberSummary,
    Profile,
    TableHash,
    column_profile,
    described,
)
from rpte.table.inputs import Inputs, LazyColumns
from rpte.table.schema import Schema, Variable
from rpte.table.table import Table, drawn, places
from rpte.utils.arrays import Array, Floats, Index, Ints

T = TypeVar("T")

SORTED_ROWS = 8_000_000  # numbers of a column that are put in order at once


class StoredColumns(LazyColumns):
    """Columns of a block, read from disk when they are asked for."""

    __slots__ = ("file", "number", "positions")

    def __init__(self, file: BlockFile, number: int, positions: Sequence[int]) -> None:
        self.file, self.number, self.positions = file, number, positions

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(range(self.file.n_rows)[self.file.rows_of(self.number)])

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return StoredColumns(self.file, self.number, self.positions[position])
        place = self.positions[position]
        return typed_column(
            self.file.layout.schema, place, lambda name: self.file.read(self.number, name)
        )

    def only(self, positions: Sequence[int]) -> StoredColumns:
        """Return some columns."""
        return StoredColumns(self.file, self.number, [self.positions[i] for i in positions])


class StoredRows:
    """Rows on disk, in the order that content gives them, equal ones merged."""

    def __init__(self, file: BlockFile) -> None:
        self.file, self.layout = file, file.layout
        self._samples: dict[tuple[bool, int], Table] = {}
        self.n_cases, self.total_weight, self.target_total = 0, 0.0, 0.0
        for cases, weight, target in self._each(self._sums):
            self.n_cases += cases
            self.total_weight += weight
            self.target_total += target

    @property
    def schema(self) -> Schema:
        """The schema of the columns."""
        return self.layout.schema

    @property
    def loss(self) -> Loss:
        """The loss of the targets."""
        return self.layout.loss

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return self.file.n_rows

    def _sums(self, number: int) -> tuple[int, float, float]:
        weight, y = self.file.read(number, "weight"), self._target(number)
        cases = int(self.file.read(number, "cases").sum())
        return cases, float(weight.sum()), float((weight * y).sum())

    def _target(self, number: int) -> Floats:
        return self.layout.target(self.file.read(number, "label"))

    def _each(self, function: Callable[[int], T]) -> Iterator[T]:
        return thread_map(function, range(len(self.file)))

    def read(self, number: int) -> Table:
        """Return a block; its columns are read when they are asked for."""

        def cells(name: str) -> Array:
            return self.file.read(number, name)

        columns = StoredColumns(self.file, number, range(len(self.schema)))
        inputs = Inputs(self.schema, columns, special_codes(self.schema, cells))
        return Table(inputs, self._target(number), cells("weight"), loss=self.loss)

    def map(self, function: Callable[[Table], T]) -> Iterator[T]:
        """Yield what a function returns for each block, in order; they run in threads."""
        return self._each(lambda number: function(self.read(number)))

    def whole(self) -> Table:
        """Refuse to hold all rows in memory."""
        raise InputError(
            "what learns its structure from all rows at once (a fixed l1, reassign=False, the "
            f"published configuration) needs them in memory, and the files hold {self.n_rows:,} "
            "different rows; fit with l1='cv', or read the files and pass the data frame"
        )

    def searched(self, validation: Validation) -> Table:
        """Return the sample of rows that a table in memory would give."""
        key = validation.part is None, validation.count
        if key not in self._samples:
            self._samples[key] = (
                self._drawn(scale.SAMPLE_ROWS) if key[0] else self._whole_groups(key[1])
            )
        return self._samples[key]

    def _drawn(self, most: int) -> Table:
        """Return what `Table.sample` returns of all rows."""

        def first(number: int) -> Floats:
            found = places(self.file.read(number, "hash")) / self.file.read(number, "cases")
            return np.sort(found)[: most + 1]

        least = np.zeros(0)
        for found in self._each(first):
            if len(least) <= most or found[0] < least[-1]:
                least = np.sort(np.concatenate([least, found]))[: most + 1]
        limit = float(least[most])

        def taken(number: int) -> tuple[Index, Ints]:
            place = places(self.file.read(number, "hash"))
            return drawn(place, self.file.read(number, "cases"), limit)

        chosen = list(self._each(taken))
        table = self._table([rows for rows, _ in chosen])
        return table.take(np.arange(table.n_rows), np.concatenate([cases for _, cases in chosen]))

    def _whole_groups(self, least: int) -> Table:
        """Return the rows of whole groups, in the order of their first rows."""
        first: dict[int, int] = {}
        counts: dict[int, int] = {}

        def numbers(number: int) -> tuple[Array, Index, Index]:
            return np.unique(self.file.read(number, "group"), return_index=True, return_counts=True)

        for number, (groups, at, held) in enumerate(self._each(numbers)):
            low = self.file.rows_of(number).start
            for group, place, count in zip(groups.tolist(), at, held, strict=True):
                first.setdefault(group, low + int(place))
                counts[group] = counts.get(group, 0) + int(count)
        order = sorted(first, key=first.__getitem__)
        enough = np.cumsum([counts[group] for group in order])
        count = max(least, 1 + int(np.searchsorted(enough, scale.SAMPLE_ROWS)))
        wanted = np.array(order[:count], np.uint32)

        def rows(number: int) -> Index:
            return np.flatnonzero(np.isin(self.file.read(number, "group"), wanted))

        return self._table(list(self._each(rows)))

    def _table(self, rows: list[Index]) -> Table:
        """Return some rows of each block as a table in memory, with all of their cases."""
        numbers = [number for number, some in enumerate(rows) if len(some)]

        def field(name: str) -> Array:
            return np.concatenate([self.file.read(i, name)[rows[i]] for i in numbers])

        weight, cases = field("weight"), field("cases")
        grouped = self.layout.grouped
        part = field("group").astype(np.int64) if grouped else np.zeros(len(weight), np.int64)
        inputs = typed_cells(self.layout, field)
        y = self.layout.target(field("label"))
        return Table(inputs, y, weight, part, field("hash"), cases, self.loss)

    def fingerprint(
        self, digest: TableHash, profile: Profile, step: Callable[[], None]
    ) -> dict[str, Any]:
        """Return what a model file says of its training table, of which all rows were hashed."""
        columns = []
        for name in () if profile == "none" else self.schema.names:
            columns.append(self._profile(self.schema[name], profile == "full"))
            step()
        return described(digest, self.total_weight, columns, profile)

    def _profile(self, variable: Variable, full: bool) -> dict[str, Any]:
        place, count = self.schema.position(variable.name), len(variable.levels)

        def counts(number: int) -> Floats:
            """Return the weight of missing cells, of each level, and of numbers."""
            weight = self.file.read(number, "weight")
            column = self._column(place, number)
            codes = column
            if variable.kind == "number":
                codes = np.where(np.isnan(column), -1, count)
                if count:
                    special = self.file.read(number, f"s{place}").astype(np.intp) - 1
                    codes = np.where(special >= 0, special, codes)
            return np.asarray(np.bincount(codes + 1, weight, minlength=count + 2), np.float64)

        sums = sum(self._each(counts), np.zeros(count + 2))
        numbers = NumberSummary(float(sums[-1]))
        if variable.kind == "number" and sums[-1] > 0:
            self._summarise(place, numbers)
        levels = dict(zip(variable.levels, sums[1:-1].tolist(), strict=True))
        return column_profile(variable, self.total_weight, float(sums[0]), levels, numbers, full)

    def _column(self, place: int, number: int) -> Floats:
        return typed_column(self.schema, place, lambda name: self.file.read(number, name))

    def _summarise(self, place: int, numbers: NumberSummary) -> None:
        """Put the numbers of a column in order, a range of them at a time.

        The first rows, which are a random sample, tell how many lie between which.
        """
        known = self._column(place, 0)
        known = np.sort(known[~np.isnan(known)])
        few = len(np.unique(known)) < len(known) / 2
        pieces = -(-self.n_rows // SORTED_ROWS)
        at = (np.arange(1, pieces) * len(known)) // pieces
        ends = (
            [-np.inf, *np.unique(known[at]).tolist(), np.inf] if len(known) else [-np.inf, np.inf]
        )

        def counts(number: int, low: float, high: float) -> tuple[Floats, Floats]:
            x = self._column(place, number)
            inside = np.flatnonzero((x > low) & (x <= high))
            values, weight = x[inside], self.file.read(number, "weight")[inside]
            return _counted(values, weight) if few else (values, weight)

        for low, high in pairwise(ends):
            found = list(self._each(lambda i, a=low, b=high: counts(i, a, b)))  # type: ignore[misc]
            values = np.concatenate([values for values, _ in found])
            weight = np.concatenate([weight for _, weight in found])
            del found
            numbers.add(*_counted(values, weight))


def _counted(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the different numbers in order, and the weight of each."""
    if len(weight) and (weight == weight[0]).all():
        found, counts = np.unique(values, return_counts=True)
        return found, counts * weight[0]
    found, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weight, minlength=len(found))
    return found, np.asarray(sums, np.float64)


def merge_parts(
    parts: Parts, file: BlockFile, digest: TableHash, step: Callable[[], None]
) -> Table | None:
    """Put all parts in order into the file; return a table in memory where it is short."""
    short: list[Merged] | None = []
    for merged in parts.merged():
        digest.add(merged.hashes, parts.layout.target(merged.labels), merged.weight)
        file.append(merged)
        if short is not None:
            short.append(merged.alone())
        if file.n_rows > scale.SAMPLE_ROWS:
            short = None
        step()
    file.finish()
    return None if short is None else as_table(short, parts.layout)
