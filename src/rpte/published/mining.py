"""Patterns from items: the most frequent ones, and what the high utility gain miner shares.

A pattern is one item, or two items of different variables. Candidates carry their cover weights,
so that no indicator column is built before a pattern is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpte.columns.kinds import Column, Item, Pattern
from rpte.columns.limits import FREE, Permissions
from rpte.published.items import ItemColumn
from rpte.published.joint import JointCounts
from rpte.rows.threads import thread_map
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Ints, Mask
from rpte.vocabulary.gain import in_or_out_gain


@dataclass(frozen=True, slots=True)
class Candidates:
    """Patterns with their counts, (c,) each."""

    first: Ints  # item numbers, counted through the item columns in canonical order
    second: Ints  # -1 for a pattern of one item
    cover: Floats  # weight
    events: Floats  # weight times target: of two classes, positive weight
    gain: Floats  # in nats

    def __len__(self) -> int:
        return len(self.first)

    def _fields(self) -> tuple[Array, ...]:
        return self.first, self.second, self.cover, self.events, self.gain

    def keep(self, rows: Mask | Index) -> Candidates:
        """Return some of the candidates."""
        return Candidates(*(values[rows] for values in self._fields()))

    def join(self, others: Sequence[Candidates]) -> Candidates:
        """Return these candidates followed by others."""
        parts = [candidates._fields() for candidates in (self, *others)]
        return Candidates(*(np.concatenate(values) for values in zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True)
class ItemIndex:
    """All items of a table, numbered in canonical order, with their single counts."""

    table: Table
    columns: tuple[ItemColumn, ...]
    items: tuple[Item, ...]
    owner: Ints
    singles: Candidates
    positive: float  # weight times target of all rows
    limits: Permissions = FREE

    def covers(self, candidates: Candidates, j: int) -> Mask:
        """Return the rows that a candidate covers."""
        rows, second = self._item_rows(int(candidates.first[j])), int(candidates.second[j])
        return rows if second < 0 else rows & self._item_rows(second)

    def columns_of(self, candidates: Candidates) -> tuple[Item | Pattern, ...]:
        """Return candidates as vocabulary columns."""
        items = self.items
        return tuple(
            items[first] if second < 0 else Pattern(items[first], items[second])
            for first, second in zip(candidates.first, candidates.second, strict=True)
        )

    def permitted(self, candidates: Candidates) -> Mask:
        """Return which candidates the user's limits admit."""
        found = [self.limits.admits(column) for column in self.columns_of(candidates)]
        return np.array(found, np.bool_)

    def _item_rows(self, item: int) -> Mask:
        owner = self.owner[item]
        start = int(np.searchsorted(self.owner, owner))
        return np.asarray(self.columns[owner].codes == item - start)


def item_index(
    table: Table, columns: tuple[ItemColumn, ...], limits: Permissions = FREE
) -> ItemIndex:
    """Number the items and count each one's cover."""
    items = tuple(item for column in columns for item in column.items)
    owner = np.repeat(np.arange(len(columns)), [len(c.items) for c in columns])
    weights = table.weight, table.weight * table.y
    counts = [[_counts(c, weight) for c in columns] for weight in weights]
    cover, events = (np.concatenate([np.zeros(0), *part]) for part in counts)
    total, positive = table.total_weight, float(weights[1].sum())
    gain = np.round(in_or_out_gain(cover, events, total, positive, table.loss), 12)
    number = np.arange(len(items))
    singles = Candidates(number, np.full(len(items), -1), cover, events, gain)
    return ItemIndex(table, columns, items, owner, singles, positive, limits)


def _counts(column: ItemColumn, weight: Floats) -> Floats:
    codes = column.codes + column.codes.dtype.type(1)
    counts = np.bincount(codes, weight, minlength=len(column.items) + 1)
    return counts[1:].astype(np.float64)


@dataclass(frozen=True, slots=True)
class Worth:
    """The least worth (`floor`) of a pattern: its cover times the sum of its items' utilities."""

    utility: Floats
    floor: float


def pair_candidates(
    index: ItemIndex, allowed: Mask, worth: Worth | None = None
) -> list[Candidates]:
    """Count the pairs of allowed items of two variables that cover some but not all rows.

    With `worth`, those below its floor are left out.
    """
    codes, kept = _allowed_codes(index, allowed)
    counts = JointCounts(index.table, codes, [len(numbers) for numbers in kept])
    worth = worth or Worth(np.zeros(len(index.items)), 0.0)
    found = thread_map(lambda c: _pairs_of(index, counts, kept, c, worth), range(len(codes) - 1))
    if index.limits is FREE:
        return list(found)
    return [pairs.keep(index.permitted(pairs)) for pairs in found]


def _allowed_codes(index: ItemIndex, allowed: Mask) -> tuple[Array, list[Ints]]:
    """Recode each column with an allowed item: its allowed items from 0, then everything else."""
    rows, kept = [], []
    kind = np.int8 if all(c.codes.dtype == np.int8 for c in index.columns) else np.int32
    for c, column in enumerate(index.columns):
        numbers = np.flatnonzero(allowed & (index.owner == c))
        if not len(numbers):
            continue
        start = int(np.searchsorted(index.owner, c))
        recode = np.full(len(column.items) + 1, len(numbers), kind)  # last entry: code -1
        recode[numbers - start] = np.arange(len(numbers))
        rows.append(recode[column.codes])
        kept.append(numbers)
    return np.array(rows, kind).reshape(len(rows), index.table.n_rows), kept


def _pairs_of(
    index: ItemIndex, counts: JointCounts, kept: list[Ints], c: int, worth: Worth
) -> Candidates:
    """Return the candidates that pair the items of column `c` with those of later columns."""
    table, others = index.table, np.arange(c + 1, len(kept))
    cells = counts.beside(c, others)
    number = np.full((len(others), cells.shape[2]), -1)
    for row, o in enumerate(others):
        number[row, : len(kept[o])] = kept[o]
    cover, total = cells[..., 0], table.total_weight
    utility = worth.utility[kept[c]][:, None] + worth.utility[number][:, None, :]
    k, a, b = np.nonzero((cover > 0) & (cover < total) & (cover * utility >= worth.floor))
    cover, events = cells[k, a, b, 0], cells[k, a, b, 1]
    gain = np.round(in_or_out_gain(cover, events, total, index.positive, table.loss), 12)
    return Candidates(kept[c][a], number[k, b], cover, events, gain)


def select(index: ItemIndex, candidates: Candidates, order: Index, budget: int) -> Ints:
    """Take candidates in `order` up to the budget, without repetitions.

    Of pairs that share an item and cover the same rows only the first is taken.
    """
    taken: list[int] = []
    by_counts: dict[tuple[int, float, float], list[int]] = {}
    for row in order:
        if len(taken) == budget:
            break
        first, second = int(candidates.first[row]), int(candidates.second[row])
        keys = [
            (i, float(candidates.cover[row]), float(candidates.events[row]))
            for i in (first, second)
        ]
        if second < 0:
            taken.append(int(row))
            continue
        cover = index.covers(candidates, row)
        rivals = [rival for key in keys for rival in by_counts.get(key, [])]
        if any(np.array_equal(cover, index.covers(candidates, r)) for r in rivals):
            continue
        taken.append(int(row))
        for key in keys:
            by_counts.setdefault(key, []).append(int(row))
    return np.array(taken, np.int64)


def distinct_covers(index: ItemIndex, candidates: Candidates, rows: Ints, budget: int) -> Ints:
    """Return the first `budget` rows whose cover does not equal that of an earlier one."""
    seen: set[bytes] = set()
    kept: list[int] = []
    for row in rows:
        if len(kept) == budget:
            break
        key = np.packbits(index.covers(candidates, row)).tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(int(row))
    return np.array(kept, np.int64)


def mine_frequent(index: ItemIndex, order: int, budget: int) -> tuple[Column, ...]:
    """Return the `budget` patterns of at most `order` items that cover most weight.

    The label does not count. Patterns that cover every row, or the same rows as a more frequent
    one, are passed over; ties in support are broken by the canonical order of items.
    """
    if not index.items or budget == 0:
        return ()
    usable = (index.singles.cover > 0) & (index.singles.cover < index.table.total_weight)
    usable &= index.permitted(index.singles)
    found = index.singles.keep(usable)
    if order > 1:
        found = found.join(pair_candidates(index, usable))
    ranking = np.lexsort((found.second, found.first, -found.cover))
    return index.columns_of(found.keep(distinct_covers(index, found, ranking, budget)))
