"""Rows on disk, in the order and in the blocks that they would have in memory.

Rows are first written to parts by the first bits of their hash, as they come. Then each part is
read, put in order, its equal rows merged, and written to one file of blocks, in which every column
of a block lies in one piece. A part is removed as soon as it is written again.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rpte.errors import InputError
from rpte.losses import BINOMIAL, Loss
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.table.table import Table, content_order, repetitions, row_hashes
from rpte.utils.arrays import Array, Floats, Index, Ints, Mask, Words

logger = logging.getLogger("rpte")

PART_ROWS = 500_000  # of one part, about, which is put in order in memory
MOST_PARTS = 4096
GIGABYTE = 1e9


class Rows(NamedTuple):
    """Some rows as they come: cells, class or number, weights, number of the group."""

    inputs: Inputs
    label: Array
    weight: Floats | None  # the user's; ones if None
    factor: Floats  # on it
    group: Words | None


@dataclass(frozen=True)
class Layout:
    """How rows are written.

    Parameters
    ----------
    schema : Schema
    single : names of numbers that float32 holds
    weighted : whether the user's weights are written
    grouped : whether groups are
    exposed : whether a factor on the weight of each row is written
    factors : factors on the weights, by class; None where targets are numbers
    positive : the class of two that y = 1 stands for; None where y is the class, or a number
    """

    schema: Schema
    single: frozenset[str] = frozenset()
    weighted: bool = False
    grouped: bool = False
    exposed: bool = False
    factors: tuple[float, ...] | None = (1.0, 1.0)
    positive: int | None = None
    loss: Loss = BINOMIAL

    def cells(self) -> list[tuple[str, str]]:
        """Return the fields of the cells, c for each variable and s for special codes."""
        found = []
        for place, variable in enumerate(self.schema.variables):
            if variable.kind == "category":
                found.append((f"c{place}", _code_type(len(variable.levels))))
                continue
            found.append((f"c{place}", "f4" if variable.name in self.single else "f8"))
            if variable.levels:
                found.append((f"s{place}", _code_type(len(variable.levels))))
        return found

    @property
    def _label(self) -> tuple[str, str]:
        return "label", "f8" if self.factors is None else "u1"

    @property
    def record(self) -> np.dtype[Any]:
        """A row as it comes; large fields first, so that all are aligned."""
        weight = [("weight", "f8")] if self.weighted else []
        weight += [("factor", "f8")] if self.exposed else []
        group = [("group", "u4")] if self.grouped else []
        fields = [("hash", "u8"), *weight, *group, *self.cells(), self._label]
        return np.dtype(sorted(fields, key=lambda each: -int(each[1][1])))

    @property
    def fields(self) -> dict[str, np.dtype[Any]]:
        """What a block holds of each row."""
        group = [("group", "u4")] if self.grouped else []
        sums = ("weight", "f8"), ("cases", "i8")
        fields = [("hash", "u8"), *sums, *group, *self.cells(), self._label]
        return {name: np.dtype(kind) for name, kind in fields}

    def records(self, rows: Rows) -> Array:
        """Return the rows of positive weight as they are written."""
        inputs, label, weight, factor, group = rows
        found = np.empty(inputs.n_rows, self.record)
        for place, column in enumerate(inputs.columns):
            if column.dtype.kind == "f":
                np.copyto(found[f"c{place}"], np.where(np.isnan(column), np.nan, column))
            else:
                found[f"c{place}"] = column - MISSING
        for place, codes in inputs.specials.items():
            found[f"s{place}"] = codes - MISSING
        found["hash"], found["label"] = row_hashes(inputs), label
        if group is not None:
            found["group"] = group
        if weight is not None:
            found["weight"] = weight
        if self.exposed:
            found["factor"] = factor
        counts = factor > 0
        counts &= True if weight is None else weight > 0
        return found if counts.all() else found[counts]

    def weights(self, records: Array) -> tuple[Floats, Ints]:
        """Return the weights of rows, factors included, and the cases they stand for."""
        if self.exposed:
            factor = np.ascontiguousarray(records["factor"])
        elif self.factors is None:
            factor = np.ones(len(records))
        else:
            factor = np.array(self.factors)[records["label"]]
        if not self.weighted:
            return factor, np.ones(len(records), np.int64)
        weight = np.ascontiguousarray(records["weight"])
        return weight * factor, repetitions(weight)

    def target(self, label: Array) -> Floats:
        """Return y: whether a class is the positive one of two, or numbers as they are."""
        if self.positive is None:
            return np.ascontiguousarray(label, np.float64)
        return np.asarray(label == self.positive, np.float64)


def _code_type(levels: int) -> str:
    return "u1" if levels < 2**8 - 1 else "u2" if levels < 2**16 - 1 else "u4"


class Merged(NamedTuple):
    """The rows of a part in order, equal ones merged: places of their first, and sums."""

    records: Array
    first: Index
    weight: Floats
    cases: Ints

    @property
    def hashes(self) -> Words:
        """Hashes of the rows."""
        return np.asarray(self.records["hash"][self.first])

    @property
    def labels(self) -> Array:
        """Classes of the rows."""
        return np.asarray(self.records["label"][self.first])

    def alone(self) -> Merged:
        """Return the same without rows that were merged."""
        return self._replace(records=self.records[self.first], first=np.arange(len(self.first)))


class Parts:
    """Rows on disk by the first bits of their hash."""

    def __init__(self, folder: Path, layout: Layout, n_rows: int) -> None:
        self.folder, self.layout = folder, layout
        wanted = min(MOST_PARTS, -(-n_rows // PART_ROWS))
        self.bits = max(0, (wanted - 1).bit_length())

    def __len__(self) -> int:
        return 1 << self.bits

    def _path(self, part: int) -> Path:
        return self.folder / f"part{part}"

    def write(
        self, batches: Iterator[Sequence[Callable[[], Rows]]], step: Callable[[], None]
    ) -> None:
        """Write rows, a few batches at a time, which threads share; call `step` after each."""
        for some in batches:
            for records, starts in thread_map(self._sorted, some):
                for part in range(len(self)):
                    if starts[part] < starts[part + 1]:
                        with self._path(part).open("ab") as file:
                            records[starts[part] : starts[part + 1]].tofile(file)
                step()

    def _sorted(self, read: Callable[[], Rows]) -> tuple[Array, Index]:
        records = self.layout.records(read())
        if not self.bits:
            return records, np.array([0, len(records)])
        part = (records["hash"] >> np.uint64(64 - self.bits)).astype(np.uint16)
        ordered = records[np.argsort(part, kind="stable")]
        counts = np.bincount(part, minlength=len(self))
        return ordered, np.concatenate([[0], np.cumsum(counts)])

    def merged(self) -> Iterator[Merged]:
        """Yield the rows of each part in order, and remove it."""
        for part in range(len(self)):
            path = self._path(part)
            if path.exists():
                records = np.fromfile(path, self.layout.record)
                path.unlink()
                yield self._merged(records)

    def _merged(self, records: Array) -> Merged:
        layout, hashes = self.layout, np.ascontiguousarray(records["hash"])
        weight, cases = layout.weights(records)
        y = layout.target(records["label"])
        apart = (records["group"], y) if layout.grouped else (y,)
        order, same = content_order(hashes, weight, *apart)
        pairs = np.flatnonzero(same)
        same[pairs] = self._equal(records, order[pairs], order[pairs + 1])
        starts = np.flatnonzero(np.concatenate([[True], ~same]))
        sums = np.add.reduceat(weight[order], starts), np.add.reduceat(cases[order], starts)
        return Merged(records, order[starts], *sums)

    def _equal(self, records: Array, rows: Index, others: Index) -> Mask:
        """Return whether cells are equal, which rows of one hash hardly ever are not."""
        same = np.ones(len(rows), bool)
        for name, _ in self.layout.cells():
            bits = np.dtype(f"u{records.dtype[name].itemsize}")
            cells = records[name]
            one, other = cells[rows].view(bits), cells[others].view(bits)
            same &= one == other
        return same


class BlockFile:
    """A file of blocks; every column of a block lies in one piece."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.layout, self.n_rows = layout, 0
        self._fields = layout.fields
        sizes = [each.itemsize * scale.BLOCK_ROWS for each in self._fields.values()]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self._offsets = dict(zip(self._fields, offsets, strict=False))
        self._block_bytes = int(offsets[-1])
        self._buffer = {n: np.zeros(scale.BLOCK_ROWS, kind) for n, kind in self._fields.items()}
        self._path, self._file = path, path.open("wb+")

    def append(self, rows: Merged) -> None:
        """Write the rows of a part after those that are there."""
        low = 0
        while low < len(rows.first):
            fill = self.n_rows % scale.BLOCK_ROWS
            high = min(len(rows.first), low + scale.BLOCK_ROWS - fill)
            some = rows.records[rows.first[low:high]]
            for name, cells in self._buffer.items():
                if name in ("weight", "cases"):
                    cells[fill : fill + high - low] = getattr(rows, name)[low:high]
                else:
                    cells[fill : fill + high - low] = some[name]
            self.n_rows += high - low
            low = high
            if self.n_rows % scale.BLOCK_ROWS == 0:
                self.flush()

    def flush(self) -> None:
        """Write the block that is begun."""
        for cells in self._buffer.values():
            self._file.write(cells.tobytes())

    def finish(self) -> None:
        """Write the last block."""
        if self.n_rows % scale.BLOCK_ROWS:
            self.flush()
        self._file.flush()
        self._buffer = {}

    def __len__(self) -> int:
        return max(1, -(-self.n_rows // scale.BLOCK_ROWS))

    def rows_of(self, number: int) -> slice:
        """Return the places of the rows of a block among all."""
        low = number * scale.BLOCK_ROWS
        return slice(low, min(low + scale.BLOCK_ROWS, self.n_rows))

    def read(self, number: int, name: str) -> Array:
        """Return a column of a block; any thread may."""
        rows, kind = self.rows_of(number), self._fields[name]
        count = rows.stop - rows.start
        start = number * self._block_bytes + self._offsets[name]
        if not hasattr(os, "pread"):
            return np.fromfile(self._path, kind, count, offset=start)
        data = os.pread(self._file.fileno(), count * kind.itemsize, start)
        return np.frombuffer(data, kind)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def check_room(folder: Path, layout: Layout, n_rows: int) -> float:
    """Say how much will be written and refuse it where the disk has no room; return the bytes."""
    wanted = n_rows * (sum(each.itemsize for each in layout.fields.values()) + 8) + 2**20
    free = shutil.disk_usage(folder).free
    said = f"{wanted / GIGABYTE:.3g} GB to {folder}"
    if wanted > free:
        raise InputError(
            f"the fit would write {said}, which has {free / GIGABYTE:.3g} GB free; name a folder "
            "with more room (cache_dir=...), or leave columns out"
        )
    logger.info("writing about %s, removed after the fit", said)
    return float(wanted)


def as_table(parts: list[Merged], layout: Layout) -> Table:
    """Return merged rows, in order, as a table in memory."""
    records = [part.records[part.first] for part in parts]
    rows = np.concatenate(records) if records else np.empty(0, layout.record)
    weight = np.concatenate([np.zeros(0), *(part.weight for part in parts)])
    cases = np.concatenate([np.zeros(0, np.int64), *(part.cases for part in parts)])
    group = rows["group"].astype(np.int64) if layout.grouped else np.zeros(len(rows), np.int64)
    inputs = typed_cells(layout, lambda name: rows[name])
    hashes, y = np.ascontiguousarray(rows["hash"]), layout.target(rows["label"])
    return Table(inputs, y, weight, group, hashes, cases, layout.loss)


def typed_cells(layout: Layout, read: Callable[[str], Array]) -> Inputs:
    """Return cells as the stages know them, from what is read of each field."""
    columns = [typed_column(layout.schema, place, read) for place in range(len(layout.schema))]
    return Inputs(layout.schema, tuple(columns), special_codes(layout.schema, read))


def typed_column(schema: Schema, place: int, read: Callable[[str], Array]) -> Array:
    """Return the cells of one variable: numbers, or codes of levels."""
    cells = read(f"c{place}")
    if schema.variables[place].kind == "category":
        return cells.astype(np.int32) + MISSING
    return cells.astype(np.float64)


def special_codes(schema: Schema, read: Callable[[str], Array]) -> dict[int, Array]:
    """Return the special codes of the numbers that have some."""
    numbers = [(i, v) for i, v in enumerate(schema.variables) if v.kind == "number"]
    return {i: read(f"s{i}").astype(np.int32) + MISSING for i, v in numbers if v.levels}
