"""The vocabulary as integer codes for Stage 2, and the way back from codes to readable splits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

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
from rpte.kernels.codes import assign_bins, key_range, pack_rows, quantile_starts, unpack_rows
from rpte.kernels.growth import IS_MISSING, LEVELS
from rpte.structure.coded import CodedColumns, CodeTree
from rpte.structure.coded import Split as CodeSplit
from rpte.structure.gaps import largest_copy, pair_gap, separable
from rpte.structure.tree import EXACT_BINS, MAX_BINS, Branch, Split, Tree
from rpte.table.decimals import thresholds_between
from rpte.table.inputs import Inputs
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Ints
from rpte.vocabulary.vocabulary import Vocabulary

MOST_ENDS = 4096  # bins whose ends are stored; those of more are looked up in the rows


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One column of the tree search."""

    column: Column  # names it in splits (`Value` for a whole category)
    members: tuple[int, ...]  # what a tree that splits on it uses up of the vocabulary
    codes: Array
    n_bins: int
    low: Floats  # smallest and largest training value in each bin of a number; empty for many bins
    high: Floats
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
        column, name = source.column, source.column.sources[0]
        if test.test == LEVELS:
            # Levels that the node never saw go with missing, so the set is named on the other side.
            codes = test.right_levels if missing_left else test.left_levels
            return Split(Level(name, tuple(source.levels[c] for c in codes))), missing_left
        if test.test == IS_MISSING and isinstance(column, Pair):
            # A pair is missing where either part is, which no flag says: all its values go one way.
            most = largest_copy(column, self.inputs, self._ends(source, source.n_bins - 1)[1])
            return Split(column, most, False), True
        if test.test == IS_MISSING and source.special:
            # The node parted numbers from everything else, special codes and missing alike.
            return Split(Interval(name, -math.inf, math.inf)), True
        if test.test == IS_MISSING:
            return Split(Missing(name)), False
        if column.binary:
            return Split(column), True
        threshold = self._threshold(source, test.bin, test.next_bin)
        if source.fill is not None:
            missing_left = source.fill <= threshold
        return Split(column, threshold, missing_left), False

    def _threshold(self, source: CodedColumn, below: int, above: int) -> float:
        low, high = self._ends(source, below)[1], self._ends(source, above)[0]
        gap = None
        if isinstance(source.column, Pair):
            sides = source.codes <= below, source.codes >= above
            gap = pair_gap(source.column, self.inputs, sides, (low, high))
        return thresholds_between(low, high, self.midpoints, gap)[0]

    def _ends(self, source: CodedColumn, code: int) -> tuple[float, float]:
        """Return the smallest and largest training value in a bin."""
        if len(source.low):
            return float(source.low[code]), float(source.high[code])
        rows = np.flatnonzero(source.codes == code)
        inputs = self.inputs.only(source.column.sources).take(rows)
        x = _filled(source.column.evaluate(inputs), source.fill)
        return float(x.min()) + 0.0, float(x.max()) + 0.0


def code_columns(
    table: Table,
    vocabulary: Vocabulary,
    paper: bool,
    roots: Sequence[Pair] = (),
    limits: Permissions = FREE,
) -> TreeColumns:
    """Code every column that a tree may split on, and the `roots` that only lookahead may.

    In the paper configuration these are the vocabulary columns, with missing numbers filled in and
    one bin per distinct value; otherwise a category is one column whose splits are sets of levels,
    missing has its own code, and numbers have at most 255 bins.
    """
    memory = np.empty((len(vocabulary) + len(roots), table.n_rows), np.uint16)
    columns: list[CodedColumn] = []
    made = _paper_columns(table, vocabulary) if paper else _our_columns(table, vocabulary)
    # A tree that uses a root uses up no vocabulary column.
    extra = (_quantile_coded(table, pair, ()) for pair in roots)
    for column in chain(made, extra):
        if limits.in_trees(column.column):
            memory[len(columns)] = column.codes
            columns.append(replace(column, codes=memory[len(columns)]))
    n_roots = sum(limits.in_trees(pair) for pair in roots)
    codes: Array = memory[: len(columns)]
    if max((c.n_bins for c in columns), default=0) < 256:
        codes = codes.astype(np.uint8)
        columns = [replace(c, codes=own) for c, own in zip(columns, codes, strict=True)]
    position = table.schema.position
    coded = CodedColumns(
        codes=codes,
        n_bins=np.array([c.n_bins for c in columns], np.int64),
        is_category=np.array([bool(c.levels) for c in columns], bool),
        sources=tuple(tuple(position(s) for s in c.column.sources) for c in columns),
        root_only=np.arange(len(columns)) >= len(columns) - n_roots,
    )
    return TreeColumns(coded, tuple(columns), paper, table.inputs)


def _paper_columns(table: Table, vocabulary: Vocabulary) -> Iterator[CodedColumn]:
    for j, column in enumerate(vocabulary.columns):
        if column.binary:
            yield _binary(table, vocabulary, j)
            continue
        x, fill = column.evaluate(table.inputs), float(vocabulary.centre[j])
        yield _number(column, (j,), table, _filled(x, fill), None, EXACT_BINS, fill)


def _filled(x: Floats, fill: float | None) -> Floats:
    missing = np.isnan(x)
    return x if fill is None or not missing.any() else np.where(missing, fill, x)


def _our_columns(table: Table, vocabulary: Vocabulary) -> Iterator[CodedColumn]:
    done: set[str] = set()
    known = set(vocabulary.columns)
    for j, column in enumerate(vocabulary.columns):
        if isinstance(column, Step) and Value(column.source) not in known:
            if column.source not in done:  # a number that has no slope
                done.add(column.source)
                yield _stepped(table, vocabulary, column.source)
            continue
        if isinstance(column, (Hinge, Scale, Step)):
            continue  # thresholds on the value say the same
        if isinstance(column, (Level, Missing)) and vocabulary.block[j] == 0:
            name = column.source
            if table.schema[name].kind == "number":
                if isinstance(column, Level):  # a special code; thresholds see missing themselves
                    yield _binary(table, vocabulary, j)
            elif name not in done:
                done.add(name)
                yield _category(table, vocabulary, name)
        elif column.binary:
            yield _binary(table, vocabulary, j)
        else:
            yield _free_number(table, column, (j,))


def _free_number(table: Table, column: Column, members: tuple[int, ...]) -> CodedColumn:
    special = any(table.schema[source].levels for source in column.sources)
    return replace(_quantile_coded(table, column, members), special=special)


def _stepped(table: Table, vocabulary: Vocabulary, name: str) -> CodedColumn:
    """Return a number of which the vocabulary has steps but no value."""
    steps = (
        j for j, c in enumerate(vocabulary.columns) if isinstance(c, Step) and c.source == name
    )
    return _free_number(table, Value(name), tuple(steps))


def _quantile_coded(table: Table, column: Column, members: tuple[int, ...]) -> CodedColumn:
    x = column.evaluate(table.inputs)
    return _number(column, members, table, x, table.weight, MAX_BINS)


def _binary(table: Table, vocabulary: Vocabulary, j: int) -> CodedColumn:
    codes = is_true(vocabulary.columns[j], table.inputs).view(np.uint8)
    return CodedColumn(vocabulary.columns[j], (j,), codes, 2, np.zeros(2), np.zeros(2))


def _category(table: Table, vocabulary: Vocabulary, name: str) -> CodedColumn:
    levels, codes = table.schema[name].levels, table.inputs[name].astype(np.int64)
    originals = zip(vocabulary.columns, vocabulary.block, strict=True)
    members = tuple(j for j, (c, b) in enumerate(originals) if b == 0 and c.sources == (name,))
    filled, none = np.where(codes < 0, len(levels), codes), np.zeros(0)
    return CodedColumn(Value(name), members, filled, len(levels), none, none, levels)


def _number(
    column: Column,
    members: tuple[int, ...],
    table: Table,
    x: Floats,
    weight: Floats | None,
    max_bins: int,
    fill: float | None = None,
) -> CodedColumn:
    """Bin a number: one bin per distinct value, or quantile bins by weight (rows if None)."""
    x = np.ascontiguousarray(x)
    order, first = _ordered(x)
    if isinstance(column, Pair):
        first = separable(column, table.inputs, x, order, first)
    if len(first) > max_bins:
        first = _quantile_bins(order, first, weight, max_bins)
    codes = np.full(len(x), len(first), np.uint16)
    assign_bins(order, first, codes)
    low = high = np.zeros(0)
    if len(first) <= MOST_ENDS:
        low, high = x[order[first]], x[order[np.append(first[1:], len(order))[: len(first)] - 1]]
    return CodedColumn(column, members, codes, len(first), low, high, fill=fill)


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
