"""The sample of rows that are in blocks anywhere: that of `Table.sample`, without a shuffle.

A row is drawn by its place, which its hash decides, over its cases. Only a row that recurs in
several blocks is no block's own affair. First the cases of all rows below some place are counted,
so many that the sample cannot need a higher limit. Then a row beyond that place is in the sample
only if it recurs often, of which sketches (sums of cases by another hash, never less than those of
a row) leave few: these are counted too. At last the drawn rows are fetched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rpte.rows import scale
from rpte.rows.passes import Reducer
from rpte.table.inputs import Inputs
from rpte.table.table import Table, content_order, drawn, merge_rows, mixed, places
from rpte.utils.arrays import Array, Floats, Index, Ints, Words

CELLS = 5  # of a sketch, for each row of the sample, at most twice as many
MOST_SKETCHES = 12
ROUNDING = 1e-9
FEW = 8  # times the sample: so many rows that may be drawn are counted without another sketch


Sketch = tuple[int, Array]  # rows, and sums of their cases by a hash


class Sample(NamedTuple):
    """Rows drawn, or all of them if there are few, and how many different ones there are."""

    table: Table
    n_rows: int  # about, where rows recur in several blocks and are many
    whole: bool


def draw(rows: Reducer[Table], in_blocks: int, most: int = 0) -> Sample:
    """Return the sample of all rows; all of them where a table in memory would not be sampled.

    Parameters
    ----------
    rows : Reducer
        Each block with equal rows merged, and hashes.
    in_blocks : int
        Sum of the numbers of rows of blocks.
    most : int
        Rows of the sample.
    """
    most = most or scale.SAMPLE_ROWS
    below = _lowest(rows, in_blocks, most)
    if len(below.hashes) <= most:
        table = rows.reduce(_all_rows, merged_tables)
        return Sample(table, table.n_rows, True)
    # Of rows that recur in several blocks as large a part is there twice as among those counted.
    n_rows = max(round(in_blocks * len(below.hashes) / below.given), len(below.hashes))
    limit = _limit(below, most)
    bits = (CELLS * most).bit_length()
    counted = below.plus(_recurring(rows, _Candidates(below.until, limit, bits), FEW * most))
    chosen, cases = drawn(places(counted.hashes), counted.cases, _limit(counted, most))
    hashes, y = counted.hashes[chosen], counted.y[chosen]
    fetched = rows.reduce(_Fetch(np.unique(hashes)), merged_tables)
    assert fetched.hashes is not None
    both = np.concatenate([hashes, fetched.hashes]), np.concatenate([y, fetched.y])
    wanted = np.concatenate([np.ones(len(y), bool), np.zeros(fetched.n_rows, bool)])
    order = np.lexsort((wanted, both[1], both[0]))  # each wanted one stands behind its row
    at = np.flatnonzero(wanted[order])
    return Sample(fetched.take(order[at - 1] - len(y), cases[order[at]]), n_rows, False)


class Counted(NamedTuple):
    """Different rows, by hash and target, in order, and the cases of each."""

    hashes: Words
    y: Floats
    cases: Ints
    given: int = 0  # rows in blocks, of which these are the different ones
    until: float = 0.0  # the place below which all are here

    def plus(self, other: Counted) -> Counted:
        """Return the rows of both, equal ones counted together."""
        hashes = np.concatenate([self.hashes, other.hashes])
        y, cases = np.concatenate([self.y, other.y]), np.concatenate([self.cases, other.cases])
        order, same = content_order(hashes, cases, y)
        starts = np.flatnonzero(np.concatenate([np.ones(min(len(y), 1), bool), ~same]))
        first, sums = order[starts], np.add.reduceat(cases[order], starts) if len(y) else cases
        given = self.given + other.given
        return Counted(hashes[first], y[first], sums, given, max(self.until, other.until))


def _counted(block: Table, at: Index, until: float = 0.0) -> Counted:
    assert block.hashes is not None
    return Counted(block.hashes[at], block.y[at], block.cases_of(at), len(at), until)


def _limit(counted: Counted, most: int) -> float:
    """Return the place over cases below which `most` rows are drawn."""
    return float(np.partition(places(counted.hashes) / counted.cases, most)[most])


def _lowest(rows: Reducer[Table], in_blocks: int, enough: int) -> Counted:
    """Count all rows below some place, more than enough if there are."""
    until = 2.0 * enough / max(in_blocks, 1)
    while True:
        found = rows.reduce(_Below(min(until, 1.0)), Counted.plus)
        if len(found.hashes) > enough or until >= 1.0:
            return found
        until *= min(2.0 * enough / max(len(found.hashes), 1), 64.0)


def _recurring(rows: Reducer[Table], left: _Candidates, few: int) -> Counted:
    """Count the rows that may be drawn, and few others."""
    for _ in range(MOST_SKETCHES):
        count, sketch = rows.reduce(left.sketch, _added)
        if count <= few:
            break
        left = replace(left, sketches=(*left.sketches, sketch))
    return rows.reduce(left.count, Counted.plus)


def _added(one: Sketch, more: Sketch) -> Sketch:
    return one[0] + more[0], _short(np.add(one[1], more[1], dtype=np.int64))


def _short(sums: Ints) -> Array:
    """Return whole numbers in as few bytes as hold them."""
    return sums.astype(np.min_scalar_type(int(sums.max())))


@dataclass(frozen=True, slots=True)
class _Below:
    """Count the rows of a block below a place."""

    until: float

    def __call__(self, block: Table) -> Counted:
        assert block.hashes is not None
        at = np.flatnonzero(places(block.hashes) < self.until)
        return _counted(block, at, self.until)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Rows beyond a place whose place over their cases may be below a limit, by sketches."""

    beyond: float
    limit: float
    bits: int  # of the number of cells of a sketch
    sketches: tuple[Array, ...] = ()

    def among(self, block: Table) -> Index:
        """Return the rows of a block that may be drawn."""
        assert block.hashes is not None
        place = places(block.hashes)
        found = place >= self.beyond
        for number, sketch in enumerate(self.sketches):
            cases = sketch[self._cells(block.hashes, number)].astype(np.int64)
            found &= place < self.limit * (1 + ROUNDING) * cases
        return np.flatnonzero(found)

    def count(self, block: Table) -> Counted:
        """Count the cases of these rows of a block."""
        return _counted(block, self.among(block))

    def sketch(self, block: Table) -> Sketch:
        """Return how many of these rows a block has, and sums of cases by another hash."""
        assert block.hashes is not None
        at = self.among(block)
        sums = np.zeros(1 << self.bits, np.int64)
        np.add.at(sums, self._cells(block.hashes[at], len(self.sketches)), block.cases_of(at))
        return len(at), _short(sums)

    def _cells(self, hashes: Words, number: int) -> Ints:
        """Return the cell of each row in a sketch; each sketch has a hash of its own."""
        salted = mixed(hashes ^ np.uint64(0x9E3779B97F4A7C15 * (number + 1) % 2**64))
        return np.asarray(salted >> np.uint64(64 - self.bits), np.int64)


@dataclass(frozen=True, slots=True)
class _Fetch:
    """Return the rows of a block that have one of some hashes."""

    hashes: Words

    def __call__(self, block: Table) -> Table:
        assert block.hashes is not None
        return block.take(np.flatnonzero(np.isin(block.hashes, self.hashes)))


def _all_rows(block: Table) -> Table:
    return block.take(np.arange(block.n_rows))


def merged_tables(one: Table, more: Table) -> Table:
    """Return the rows of two tables of one schema, equal ones merged."""
    both = one.inputs, more.inputs
    columns = zip(*(inputs.columns for inputs in both), strict=True)
    specials = {
        place: np.concatenate([inputs.specials[place] for inputs in both])
        for place in one.inputs.specials
    }
    inputs = Inputs(one.schema, tuple(np.concatenate(pair) for pair in columns), specials)
    y, weight = np.concatenate([one.y, more.y]), np.concatenate([one.weight, more.weight])
    cases = np.concatenate([one.cases_of(), more.cases_of()])
    return merge_rows(inputs, y, weight, cases=cases, loss=one.loss)
