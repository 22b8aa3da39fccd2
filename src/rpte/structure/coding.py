"""The vocabulary as integer codes for Stage 2, and the way back from codes to readable splits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rpte.columns.kinds import (
    Column,
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Scale,
    Step,
    Value,
    is_true,
)
from rpte.columns.limits import FREE, Permissions
from rpte.kernels.codes import (
    assign_bins,
    bins_of_ranks,
    key_range,
    pack_rows,
    quantile_starts,
    unpack_rows,
)
from rpte.kernels.growth import IS_MISSING, LEVELS
from rpte.structure.coded import CodedColumns, CodeTree
from rpte.structure.coded import Split as CodeSplit
from rpte.structure.gaps import largest_copy, pair_gap, separable
from rpte.structure.tree import EXACT_BINS, MAX_BINS, Branch, Split, Tree
from rpte.table.decimals import thresholds_between
from rpte.table.inputs import Inputs, Picked
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Ints
from rpte.vocabulary.vocabulary import Vocabulary

MOST_RANKED_ROWS = 65_535  # of a table whose numbers are put in order once for all folds


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One column of the tree search."""

    column: Column  # names it in splits (`Value` for a whole category)
    members: tuple[int, ...]  # what a tree that splits on it uses up of the vocabulary
    levels: tuple[str, ...] = ()  # name the codes of a category
    fill: float | None = None  # replaces missing cells (paper configuration)
    special: bool = False  # cells without a number may be special codes


@dataclass(frozen=True, slots=True)
class TreeColumns:
    """All columns of the tree search, coded, with what is needed to read a tree back."""

    coded: CodedColumns
    columns: tuple[CodedColumn, ...]
    midpoints: bool
    inputs: Inputs

    def members(self, tree: CodeTree) -> set[int]:
        """Return the vocabulary columns that a tree used."""
        return {m for j in tree.used_columns for m in self.columns[int(j)].members}

    def read(self, tree: CodeTree) -> tuple[Tree, Index]:
        """Return the readable tree, and for each of its leaves the leaf number of the code tree."""
        leaves: list[int] = []
        root = self._node(tree, 0, leaves)
        if not isinstance(root, Branch):
            raise ValueError("a code tree without a split")
        return Tree(root), np.array(leaves, np.intp)

    def _node(self, tree: CodeTree, node: int, leaves: list[int]) -> Branch | int:
        test = tree.splits[node]
        if test is None:
            leaves.append(int(tree.leaf[node]))
            return len(leaves) - 1
        split, flipped = self._split(test)
        children = [int(tree.left[node]), int(tree.right[node])]
        yes, no = children[::-1] if flipped else children
        first = self._node(tree, yes, leaves)
        return Branch(split, first, self._node(tree, no, leaves))

    def _split(self, test: CodeSplit) -> tuple[Split, bool]:
        """Return a readable split, and whether its `yes` side is the right child."""
        source, missing_left = self.columns[test.column], test.missing_left
        last = int(self.coded.n_bins[test.column]) - 1
        column, name = source.column, source.column.sources[0]
        if test.test == LEVELS:
            # Levels that the node never saw go with missing, so the set is named on the other side.
            codes = test.right_levels if missing_left else test.left_levels
            return Split(Level(name, tuple(source.levels[c] for c in codes))), missing_left
        if test.test == IS_MISSING and isinstance(column, Pair):
            # A pair is missing where either part is, which no flag says: all its values go one way.
            most = largest_copy(column, self.inputs, self._ends(test.column, last)[1])
            return Split(column, most, False), True
        if test.test == IS_MISSING and source.special:
            # The node parted numbers from everything else, special codes and missing alike.
            return Split(Interval(name, -math.inf, math.inf)), True
        if test.test == IS_MISSING:
            return Split(Missing(name)), False
        if column.binary:
            return Split(column), True
        threshold = self._threshold(test.column, test.bin, test.next_bin)
        if source.fill is not None:
            missing_left = source.fill <= threshold
        return Split(column, threshold, missing_left), False

    def _threshold(self, place: int, below: int, above: int) -> float:
        low, high = self._ends(place, below)[1], self._ends(place, above)[0]
        column, codes, gap = self.columns[place].column, self.coded.codes[place], None
        if isinstance(column, Pair):
            gap = pair_gap(column, self.inputs, (codes <= below, codes >= above), (low, high))
        return thresholds_between(low, high, self.midpoints, gap)[0]

    def _ends(self, place: int, code: int) -> tuple[float, float]:
        """Return the smallest and largest training value in a bin of a column."""
        source, rows = self.columns[place], np.flatnonzero(self.coded.codes[place] == code)
        inputs = self.inputs.only(source.column.sources).take(rows)
        x = _filled(source.column.evaluate(inputs), source.fill)
        return float(x.min()) + 0.0, float(x.max()) + 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """The numbers of a table by rank: put in order once, however many sets of rows are coded."""

    table: Table
    _made: list[tuple[dict[str, int], Array, Ints]] = field(default_factory=list)

    def rows_of(self, part: Table) -> Index | None:
        """Return which rows of the table a part has; None where ranks are not for it."""
        if part.n_rows == 0 or self.table.n_rows > MOST_RANKED_ROWS:
            return None
        if part is self.table:
            return np.arange(part.n_rows)
        columns = part.inputs.columns
        if isinstance(columns, Picked) and columns.columns is self.table.inputs.columns:
            return columns.rows
        return None

    def made(self) -> tuple[dict[str, int], Array, Ints]:
        """Return the place of each number, ranks by place and row, and how many values each has.

        A missing cell has the rank behind all others.
        """
        if not self._made:
            names = [v.name for v in self.table.schema.variables if v.kind == "number"]
            ranks = np.empty((len(names), self.table.n_rows), np.uint16)
            counts = np.empty(len(names), np.int64)
            for place, name in enumerate(names):
                order, first = _ordered(np.ascontiguousarray(self.table.inputs[name]))
                counts[place] = len(first)
                ranks[place] = len(first)
                assign_bins(order, first, ranks[place])
            self._made.append(({name: k for k, name in enumerate(names)}, ranks, counts))
        return self._made[0]


def code_columns(
    table: Table,
    vocabulary: Vocabulary,
    paper: bool,
    roots: Sequence[Pair] = (),
    limits: Permissions = FREE,
    ranks: Ranks | None = None,
    most_bins: int = MAX_BINS,
) -> TreeColumns:
    """Code every column that a tree may split on, and the `roots` that only lookahead may.

    In the paper configuration these are the vocabulary columns, with missing numbers filled in and
    one bin per distinct value; otherwise a category is one column whose splits are sets of levels,
    missing has its own code, and numbers have at most `most_bins`.
    """
    made = _paper_columns(vocabulary) if paper else _our_columns(table, vocabulary)
    columns = [column for column in made if limits.in_trees(column.column)]
    # A tree that uses a root uses up no vocabulary column.
    extra = [CodedColumn(pair, ()) for pair in roots if limits.in_trees(pair)]
    columns += extra
    most = max((len(column.levels) for column in columns), default=0)
    narrow = not paper and max(most, MAX_BINS) < 256
    codes: Array = np.empty((len(columns), table.n_rows), np.uint8 if narrow else np.uint16)
    n_bins = np.zeros(len(columns), np.int64)
    rows = None if paper or ranks is None else ranks.rows_of(table)
    coded = np.zeros(len(columns), np.bool_)
    if rows is not None and ranks is not None:
        coded = np.array([_is_number(column) for column in columns], np.bool_)
        numbers = np.flatnonzero(coded)
        _code_by_rank(ranks, rows, table, columns, numbers, codes, n_bins, most_bins)
    for place in np.flatnonzero(~coded):
        n_bins[place] = _code(table, columns[place], paper, codes[place], most_bins)
    if not narrow and n_bins.max(initial=0) < 256:
        codes = codes.astype(np.uint8)
    position = table.schema.position
    searched = CodedColumns(
        codes=codes,
        n_bins=n_bins,
        is_category=np.array([bool(c.levels) for c in columns], bool),
        sources=tuple(tuple(position(s) for s in c.column.sources) for c in columns),
        root_only=np.arange(len(columns)) >= len(columns) - len(extra),
    )
    return TreeColumns(searched, tuple(columns), paper, table.inputs)


def _is_number(column: CodedColumn) -> bool:
    return isinstance(column.column, Value) and not column.levels


def _code_by_rank(
    ranks: Ranks,
    rows: Index,
    table: Table,
    columns: Sequence[CodedColumn],
    numbers: Index,
    codes: Array,
    n_bins: Ints,
    most: int,
) -> None:
    """Code those of some columns that are numbers; codes (k, n) and n_bins (k,) take the result."""
    names, by_rank, counts = ranks.made()
    which = np.array([names[columns[j].column.sources[0]] for j in numbers], np.intp)
    bins_of_ranks(by_rank, counts, which, rows, table.weight, most, numbers, codes, n_bins)


def _code(table: Table, source: CodedColumn, paper: bool, codes: Array, most: int) -> int:
    """Code one column; return how many bins it has."""
    column = source.column
    if source.levels:
        levels = table.inputs[column.sources[0]]
        codes[:] = np.where(levels < 0, len(source.levels), levels)
        return len(source.levels)
    if column.binary:
        codes[:] = is_true(column, table.inputs)
        return 2
    x = _filled(column.evaluate(table.inputs), source.fill)
    weight, most = (None, EXACT_BINS) if source.fill is not None else (table.weight, most)
    return code_number(column, table, x, weight, most, codes)


def _paper_columns(vocabulary: Vocabulary) -> Iterator[CodedColumn]:
    for j, column in enumerate(vocabulary.columns):
        fill = None if column.binary else float(vocabulary.centre[j])
        yield CodedColumn(column, (j,), fill=fill)


def _filled(x: Floats, fill: float | None) -> Floats:
    missing = np.isnan(x)
    return x if fill is None or not missing.any() else np.where(missing, fill, x)


def _our_columns(table: Table, vocabulary: Vocabulary) -> Iterator[CodedColumn]:
    done: set[str] = set()
    known = set(vocabulary.columns)
    special = {v.name for v in table.schema.variables if v.levels}
    for j, column in enumerate(vocabulary.columns):
        if isinstance(column, Step) and Value(column.source) not in known:
            if column.source not in done:  # a number that has no slope
                done.add(column.source)
                yield _free_number(Value(column.source), _steps(vocabulary, column.source), special)
            continue
        if isinstance(column, (Hinge, Scale, Step)):
            continue  # thresholds on the value say the same
        if isinstance(column, (Level, Missing)) and vocabulary.block[j] == 0:
            name = column.source
            if table.schema[name].kind == "number":
                if isinstance(column, Level):  # a special code; thresholds see missing themselves
                    yield CodedColumn(column, (j,))
            elif name not in done:
                done.add(name)
                yield _category(table, vocabulary, name)
        elif column.binary:
            yield CodedColumn(column, (j,))
        else:
            yield _free_number(column, (j,), special)


def _free_number(column: Column, members: tuple[int, ...], special: set[str]) -> CodedColumn:
    return CodedColumn(column, members, special=not special.isdisjoint(column.sources))


def _steps(vocabulary: Vocabulary, name: str) -> tuple[int, ...]:
    """Return the steps of a number of which the vocabulary has no value."""
    known = enumerate(vocabulary.columns)
    return tuple(j for j, c in known if isinstance(c, Step) and c.source == name)


def _category(table: Table, vocabulary: Vocabulary, name: str) -> CodedColumn:
    originals = zip(vocabulary.columns, vocabulary.block, strict=True)
    members = tuple(j for j, (c, b) in enumerate(originals) if b == 0 and c.sources == (name,))
    return CodedColumn(Value(name), members, table.schema[name].levels)


def code_number(
    column: Column, table: Table, x: Floats, weight: Floats | None, most: int, codes: Array
) -> int:
    """Bin a number: one bin per distinct value, or quantile bins by weight (rows if None)."""
    x = np.ascontiguousarray(x)
    order, first = _ordered(x)
    if isinstance(column, Pair):
        first = separable(column, table.inputs, x, order, first)
    if len(first) > most:
        first = _quantile_bins(order, first, weight, most)
    codes[:] = len(first)
    assign_bins(order, first, codes)
    return len(first)


def _ordered(x: Floats) -> tuple[Ints, Ints]:
    """Return the rows by value, missing ones left out, and where in them each value begins."""
    words, packed = x.view(np.uint64), np.empty(len(x), np.uint64)
    count, least, most = key_range(x, words)
    row_bits = len(x).bit_length()
    dropped = max((int(most) - int(least)).bit_length() + row_bits - 64, 0)
    pack_rows(x, words, np.uint64(least), dropped, row_bits, packed)
    packed.sort()
    order, first = packed[:count].view(np.int64), np.empty(count, np.int64)
    return order, first[: unpack_rows(packed[:count], x, row_bits, order, first)]


def _quantile_bins(order: Ints, first: Ints, weight: Floats | None, most: int) -> Ints:
    """Return where in the order of rows each of at most `most` bins begins.

    `first` is where each distinct value begins; it is overwritten.
    """
    before: Array = first
    total = float(len(order))
    if weight is not None and not (weight == 1.0).all():
        number = np.full(len(weight), len(first), np.int32)
        assign_bins(order, first, number)
        counts = np.bincount(number, weight)[: len(first)].astype(np.float64)
        before, total = np.cumsum(counts) - counts, float(counts.sum())
    return first[: quantile_starts(before, total, most, first)]
