"""Stage 1 as a whole: from a table to its vocabulary (the paper's ConstructVocabulary)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpte.columns.kinds import (
    Column,
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.columns.limits import FREE, Permissions
from rpte.table.inputs import Inputs
from rpte.table.table import Table
from rpte.vocabulary.book import Middle, ShapeBook, evaluate, standardise
from rpte.vocabulary.frequent import mine_frequent
from rpte.vocabulary.gain import SortedColumn, in_or_out_gain
from rpte.vocabulary.hug import mine_hug
from rpte.vocabulary.items import make_items
from rpte.vocabulary.mining import item_book
from rpte.vocabulary.pairs import mine_pairs
from rpte.vocabulary.redundancy import Registry, keep_independent
from rpte.vocabulary.screening import SAMPLE_ROWS, promising, sample

Floats = NDArray[np.float64]
Miner = Literal["shapes", "hug", "frequent", "original"]

ORIGINAL, PATTERN, PAIR = 0, 1, 2  # shapes are in the budget of patterns, products in that of pairs
PLAIN, CURVE, STEP, CODE = 0, 1, 2, 3  # what menus tell apart; a log is plain
ORIGINAL_SCORE_BINS = 16
ROOM_FOR_PAIRS = 120  # costs no memory before it is used
ALL_RIVALS = 1000  # with more columns than this, only sources compete with what is made of them


@dataclass(frozen=True, slots=True)
class VocabularySettings:
    """What Stage 1 may do.

    Parameters
    ----------
    miner : {"shapes", "hug", "frequent", "original"}
    pattern_order : {1, 2}
        L: items per pattern; pairs are made only for 2.
    budget : int
        K: at most so many patterns (or shapes), and at most so many pairs.
    min_gain : float
        G: gain in nats that a pattern must exceed.
    paper : bool
        Follow the published configuration where it is arbitrary.
    least : float
        Weight on either side of a shape's knot.
    lookahead : bool
        Stage 2 will look ahead, and needs pairs of its own.
    limits : Permissions
        What the user forbids.
    """

    miner: Miner
    pattern_order: int
    budget: int
    min_gain: float
    paper: bool
    least: float = 5.0
    lookahead: bool = False
    limits: Permissions = FREE

    @property
    def pair_budget(self) -> int:
        """How many pairs are mined: lookahead keeps half of the budget for its own roots."""
        return self.budget // 2 if self.lookahead else self.budget


@dataclass(slots=True, eq=False)
class Room:
    """Memory of which the first rows are taken and others may follow, so that none is copied.

    Parameters
    ----------
    cells : (rows that there is room for, n) C order
    taken : int
    """

    cells: Floats
    taken: int

    def extend(self, known: Floats, more: Floats) -> Floats | None:
        """Return some known rows and more, if all that is taken is known and there is room left."""
        end = len(known) + len(more)
        if self.taken != len(known) or end > len(self.cells):
            return None
        self.cells[len(known) : end] = more
        self.taken = end
        return self.cells[:end]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The columns of Stage 1 on some training rows, as Stage 3 sees them.

    Parameters
    ----------
    columns : tuple of Column
        Raw variables, then patterns or shapes, then pairs; each block in its ranking.
    block : (V,)
        0 raw variable, 1 pattern or shape, 2 pair.
    z : (V, rows) C order
        (value - centre) / scale for numeric columns, 0 where missing; binary ones as they are. Of a
        long table these are the first rows, and the columns are evaluated when they are asked for.
    centre, scale : (V,)
    room : Room or None
        What holds z, with room for more columns.

    Attributes
    ----------
    role : (V,)
        Plain, or the shape by which menus hold it: curve, step, or code (a single value).
    paired : (V,)
        Whether the column reads two variables.
    """

    columns: tuple[Column, ...]
    block: NDArray[np.intp]
    z: Floats
    centre: Floats
    scale: Floats
    room: Room | None = field(default=None, repr=False, compare=False)
    role: NDArray[np.int8] = field(init=False)
    paired: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", np.array([_role(c) for c in self.columns], np.int8))
        paired = [isinstance(c, (Pair, Pattern)) for c in self.columns]
        object.__setattr__(self, "paired", np.array(paired, np.bool_))

    def __len__(self) -> int:
        return len(self.columns)

    def parts_of(self, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which columns are parts of some pairs, (V,)."""
        made = [c for j in pairs if isinstance(c := self.columns[j], (Pair, Pattern))]
        parts = {part for column in made for part in (column.left, column.right)}
        return np.array([column in parts for column in self.columns], np.bool_)

    def keep(self, which: NDArray[np.intp]) -> Vocabulary:
        """Return the vocabulary of some columns."""
        return Vocabulary(
            tuple(self.columns[j] for j in which),
            self.block[which],
            self.z[which],
            self.centre[which],
            self.scale[which],
        )

    def head(self, rows: int) -> Vocabulary:
        """Return the same columns, which hold the cells of their first rows alone."""
        return replace(self, z=self.z[:, :rows].copy(), room=None)

    def on(self, inputs: Inputs, first: int = 0, kind: type = np.float64) -> NDArray[Any]:
        """Return the columns from the `first` on, on other rows: (V - first, n)."""
        z: NDArray[Any] = np.empty((len(self) - first, inputs.n_rows), kind)
        for row, j in zip(z, range(first, len(self)), strict=True):
            row[:] = standardise(
                self.columns[j].evaluate(inputs), float(self.centre[j]), float(self.scale[j])
            )
        return z

    def with_pairs(self, table: Table, pairs: tuple[Column, ...]) -> Vocabulary:
        """Return the vocabulary with some more columns of two sources, those that repeat left out.

        `table` is the one that this vocabulary was evaluated on.
        """
        seen = Registry()
        seen.numbers(self.z, np.flatnonzero([column.binary for column in self.columns]))
        more = evaluate_columns(table, (), (), pairs, False, seen)
        z = None if self.room is None else self.room.extend(self.z, more.z)
        return Vocabulary(
            (*self.columns, *more.columns),
            np.concatenate([self.block, more.block]),
            np.vstack([self.z, more.z]) if z is None else z,
            np.concatenate([self.centre, more.centre]),
            np.concatenate([self.scale, more.scale]),
            None if z is None else self.room,
        )


def _role(column: Column) -> int:
    if isinstance(column, (Hinge, Scale)):
        return PLAIN if isinstance(column, Scale) and column.formula == "log" else CURVE
    return CODE if isinstance(column, Interval) else STEP if isinstance(column, Step) else PLAIN


def build_vocabulary(
    table: Table,
    settings: VocabularySettings,
    pool: ThreadPoolExecutor | None = None,
    held: int | None = None,
) -> Vocabulary:
    """Mine the vocabulary of a table: at most p0 + 2K columns, a raw variable counted once.

    Its z is of the first `held` rows, of all if None; shapes are always evaluated on all.
    """
    if settings.miner == "shapes":
        shapes = ShapeBook(table, settings.least, settings.limits)
        return read_book(shapes, table, np.arange(table.n_rows), settings, last=True)
    limits = settings.limits
    originals = original_columns(table, settings.paper, limits)
    patterns: tuple[Column, ...] = ()
    pairs: tuple[Column, ...] = ()
    if settings.miner != "original":
        among = promising(table, limits)
        book = item_book(table, make_items(table, not settings.paper, among), limits)
        order, budget = settings.pattern_order, settings.budget
        if settings.miner == "hug":
            patterns = mine_hug(book, order, budget, settings.min_gain, pool)
        else:
            patterns = mine_frequent(book, order, budget, pool)
        if order > 1:
            pairs = mine_pairs(sample(table), settings.pair_budget, among, limits, pool)
    if settings.paper:
        originals = _cap_originals(table, originals, settings.budget)
    rows = None if held is None else max(held, SAMPLE_ROWS)
    found = evaluate_columns(table, originals, patterns, pairs, settings.paper, rows=rows)
    return _independent(table, found, held)


def read_book(
    book: ShapeBook,
    part: Table,
    rows: NDArray[np.intp],
    settings: VocabularySettings,
    last: bool = False,
) -> Vocabulary:
    """Return the vocabulary "shapes" of some rows of a book's table.

    The `last` reader takes what he reads out of the book, so that it is not there twice.
    """
    originals = original_columns(book.table, settings.paper, settings.limits)
    columns = (*originals, *book.strongest(part, rows, settings.budget))
    room = Room(np.empty((len(columns) + ROOM_FOR_PAIRS, len(rows))), 0)
    kept: dict[int, int] = {}  # where the first of those that say the same is
    location = np.empty((2, len(columns)))
    for j, column in enumerate(columns):
        entry = book.entry(column, last)
        if entry.alike >= 0 and kept.setdefault(entry.alike, j) == j:
            # Any other mode makes a copy first.
            entry.z.take(rows, out=room.cells[room.taken], mode="clip")
            location[:, room.taken] = entry.centre, entry.scale
            room.taken += 1
    if last:
        book.close()
    which, (centre, scale) = np.array([*kept.values()], np.intp), location[:, : len(kept)]
    return Vocabulary(
        tuple(columns[j] for j in which),
        np.where(which < len(originals), ORIGINAL, PATTERN),
        room.cells[: len(which)],
        centre,
        scale,
        room,
    )


def original_columns(table: Table, paper: bool, limits: Permissions = FREE) -> tuple[Column, ...]:
    """Return values, levels (special codes too) and missing flags, by variable in order."""
    columns: list[Column] = []
    for position in table.schema.canonical():
        variable = table.schema.variables[position]
        if not limits.usable(variable.name):
            continue
        if variable.kind == "number":
            columns.append(Value(variable.name))
        columns.extend(Level(variable.name, (level,)) for level in variable.levels)
        if variable.has_missing and not (paper and variable.kind == "number"):
            columns.append(Missing(variable.name))
    return tuple(columns)


def evaluate_columns(
    table: Table,
    originals: tuple[Column, ...],
    patterns: tuple[Column, ...],
    pairs: tuple[Column, ...],
    paper: bool,
    seen: Registry | None = None,
    rows: int | None = None,
) -> Vocabulary:
    """Evaluate columns on the training rows; z is of the first `rows`.

    Those that are constant, or repeat another or what was `seen` before, are left out.
    """
    columns = (*originals, *patterns, *pairs)
    block = np.repeat([ORIGINAL, PATTERN, PAIR], [len(originals), len(patterns), len(pairs)])
    seen = Registry() if seen is None else seen
    z = np.empty((len(columns), min(table.n_rows, rows or table.n_rows)))
    kept: list[int] = []
    location = np.empty((2, len(columns)))
    for j, column in enumerate(columns):
        middle: Middle = "mean" if paper and block[j] == PAIR else "median"
        before = seen.count
        entry = evaluate(table, column, middle, paper, seen, rows)
        if seen.count > before:  # nothing that was seen says the same
            z[len(kept)], location[:, len(kept)] = entry.z, (entry.centre, entry.scale)
            kept.append(j)
    centre, scale = location[:, : len(kept)]
    known = tuple(columns[j] for j in kept)
    return Vocabulary(known, block[kept], z[: len(kept)], centre, scale)


def _cap_originals(table: Table, originals: tuple[Column, ...], budget: int) -> tuple[Column, ...]:
    """Keep the K raw columns of highest gain in 16 quantile bins (paper configuration)."""
    if len(originals) <= budget:
        return originals
    gains = np.array([_coarse_gain(table, column) for column in originals])
    ranking = np.argsort(-np.round(gains, 12), kind="stable")
    return tuple(originals[j] for j in np.sort(ranking[:budget]))


def _coarse_gain(table: Table, original: Column) -> float:
    x, weight = original.evaluate(table.inputs), table.weight
    if original.binary:
        events = weight * table.y
        return float(in_or_out_gain(weight @ x, events @ x, weight.sum(), events.sum()))
    column = SortedColumn(x, table.y, weight)
    if not len(column.values):
        return 0.0
    fractions = np.arange(1, ORIGINAL_SCORE_BINS) / ORIGINAL_SCORE_BINS
    return column.gain(np.unique(column.quantiles(fractions)))


def _independent(table: Table, vocabulary: Vocabulary, held: int | None) -> Vocabulary:
    """Drop the patterns and pairs that another column nearly repeats; hold so many rows.

    Where all rows stay, the columns that stay move up in the memory of `vocabulary`, which is used
    up: a copy of them would take as much again.
    """
    rivals = _rivals(vocabulary)
    rows = min(table.n_rows, SAMPLE_ROWS)
    z = vocabulary.z[:, :rows] if len(rivals) == len(vocabulary) else vocabulary.z[rivals, :rows]
    kept = keep_independent(z.T, table.weight[:rows], vocabulary.block[rivals])
    dropped = np.setdiff1d(rivals, rivals[kept])
    which = np.setdiff1d(np.arange(len(vocabulary)), dropped)
    if held is None:
        for place, j in enumerate(which):
            if place < j:
                vocabulary.z[place] = vocabulary.z[j]
    return Vocabulary(
        tuple(vocabulary.columns[j] for j in which),
        vocabulary.block[which],
        vocabulary.z[: len(which)] if held is None else vocabulary.z[which, :held],
        vocabulary.centre[which],
        vocabulary.scale[which],
    )


def _rivals(vocabulary: Vocabulary) -> NDArray[np.intp]:
    """Return the derived columns and the raw columns of their sources: what may be redundant."""
    derived = vocabulary.block != ORIGINAL
    read = {s for j in np.flatnonzero(derived) for s in vocabulary.columns[j].sources}
    if len(vocabulary) <= ALL_RIVALS:
        return np.arange(len(vocabulary))
    related = [derived[j] or c.sources[0] in read for j, c in enumerate(vocabulary.columns)]
    return np.flatnonzero(related)
