"""The training table: equal rows merged into weighted rows, in an order that content decides.

Rare levels of categories are pooled here, and the weights that users give are checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.errors import InputError, bad_cell
from rpte.losses import BINOMIAL, Loss
from rpte.table.column import (
    EXACT,
    as_one_of_two,
    few_values,
    is_absent,
    is_real,
    level_text,
    to_float,
)
from rpte.table.decimals import EXACT_WHOLE
from rpte.table.inputs import Inputs, Picked, as_array
from rpte.table.schema import OTHER, Schema, Variable
from rpte.utils.arrays import Array, Floats, Index, Int32s, Ints, Mask, Words

MOST_TARGETS = 10  # of a content, on average, among first rows that stand for all
HASHED_ROWS = 8192  # hashed at a time: they stay at hand from column to column
# Sums of weights such as 0.1 fall short by rounding alone, differently in each order of rows.
WEIGHT_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class PoolingRule:
    """A level keeps its name if it weighs enough and is among the heaviest; ties by name.

    A number with two whole values is a category of them, except for some `numbers` (None: all).
    """

    least_weight: float
    most_levels: int
    numbers: frozenset[str] | None = None


KEEP_ALL = PoolingRule(0.0, 2**62)


@dataclass(frozen=True, slots=True)
class Table:
    """Typed columns with targets and weights, one row per distinct (content, target).

    Rows stand in the order of a hash of their content, which is as good as a shuffled order but
    depends on nothing else: permuted or repeated rows give the same table.
    """

    inputs: Inputs
    y: Floats  # (n,) as the loss takes them: of two classes, 1.0 for the positive one
    weight: Floats  # (n,)
    part: Ints | None = None  # what kept equal rows apart: groups, or places in the user's splits
    hashes: Words | None = None  # of the content of each row, where they are known
    cases: Ints | None = None  # rows of the user's table per row, one of weight 3 counted as three
    loss: Loss = BINOMIAL

    @property
    def schema(self) -> Schema:
        """The schema of the columns."""
        return self.inputs.schema

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.y)

    @property
    def total_weight(self) -> float:
        """Sum of weights: the number of rows that came in, when there were no weights."""
        return float(self.weight.sum())

    @property
    def null_score(self) -> float:
        """The score of the model without terms."""
        return self.loss.null_score(self.y, self.weight)

    @property
    def n_cases(self) -> int:
        """Number of cases: rows that came in, where a row of weight 3 counts as three."""
        return self.n_rows if self.cases is None else int(self.cases.sum())

    @property
    def effective_rows(self) -> float:
        """Number of distinct rows that the loss counts: of counts, those that are not zero.

        However often a row recurs, it shows one content: how many rows are enough to choose
        columns by does not depend on their weights.
        """
        return self.loss.effective_cases(self.y, np.ones(self.n_rows))

    def cases_of(self, rows: Index | slice = slice(None)) -> Ints:
        """Return how many cases some rows stand for."""
        if self.cases is None:
            return np.ones(len(self.y[rows]), np.int64)
        return self.cases[rows]

    def take(self, rows: Index, cases: Ints | None = None) -> Table:
        """Return the table of some rows, in their order, with all or some of their cases."""
        part = None if self.part is None else self.part[rows]
        whole, weight = self.cases_of(rows), self.weight[rows]
        if cases is not None:  # a whole weight is divided exactly
            weight = np.where(cases == whole, weight, weight / whole * cases)
        kept = whole if cases is None else cases
        chosen = isinstance(self.inputs.columns, Picked)
        inputs = self.inputs.take(rows) if chosen else self.inputs.pick(rows)
        hashes = None if self.hashes is None else self.hashes[rows]
        return Table(inputs, self.y[rows], weight, part, hashes, kept, self.loss)

    def fair_rows(self, rows: int) -> int:
        """Return how many of the first rows stand for all: `rows`, or all where contents recur.

        Rows of one content stand together, in the order of their targets. Where few contents have
        many targets, the first rows are of some contents alone, and of the last its least targets.
        """
        fair = rows >= self.n_rows or self.contents(rows) * MOST_TARGETS >= rows
        return rows if fair else self.n_rows

    def contents(self, rows: int) -> int:
        """Return how many different contents the first rows have, whatever their targets."""
        first = np.arange(min(rows, self.n_rows))
        known = row_hashes(self.inputs.take(first)) if self.hashes is None else self.hashes[first]
        return int(len(first) > 0) + int(np.count_nonzero(known[1:] != known[:-1]))

    def sample(self, most: int) -> Table:
        """Return a table of at most `most` distinct rows, drawn case by case.

        The cases of a row are spread evenly over the unit interval, from a place that its content
        decides, and all cases below a limit are taken: single rows by chance, and of rows that
        recur as large a fraction as of all.
        """
        if self.n_rows <= most:
            return self
        cases = self.cases_of()
        place = places(row_hashes(self.inputs) if self.hashes is None else self.hashes)
        limit = np.partition(place / cases, most)[most]
        return self.take(*drawn(place, cases, limit))


def places(hashes: Words) -> Floats:
    """Return where rows stand in the unit interval, which no other row has a say in."""
    return np.asarray(hashes * 2.0**-64, np.float64)


def drawn(place: Floats, cases: Ints, limit: float) -> tuple[Index, Ints]:
    """Return the rows that have cases below a limit, and how many of each."""
    rows = np.flatnonzero(place / cases < limit)
    taken = np.ceil(cases[rows] * limit - place[rows])
    return rows, np.clip(taken, 1, cases[rows]).astype(np.int64)


def make_table(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    rule: PoolingRule = KEEP_ALL,
    part: Ints | None = None,
    copied: bool = True,
    cases: Ints | None = None,
    loss: Loss = BINOMIAL,
) -> Table:
    """Merge rows of equal content and target, drop rows of weight zero, put the rest in order.

    The rule says which levels of a category are pooled as rare. Rows of different parts (n,) are
    never merged. The cells are put in order if they are `copied`, otherwise each column when it is
    asked for. The `cases` (n,) that each row stands for follow from its weight if None.
    """
    check_weight(weight)
    if not (weight > 0).all():
        keep = np.flatnonzero(weight > 0)
        inputs, y, weight = inputs.take(keep), y[keep], weight[keep]
        cases = None if cases is None else cases[keep]
        part = None if part is None else part[keep]
    return merge_rows(_learn_schema(inputs, weight, rule), y, weight, part, copied, cases, loss)


def merge_rows(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    part: Ints | None = None,
    copied: bool = True,
    cases: Ints | None = None,
    loss: Loss = BINOMIAL,
) -> Table:
    """Do as `make_table`, under the schema as it is; every weight is positive."""
    cases = repetitions(weight) if cases is None else cases
    hashes = row_hashes(inputs)
    order, starts = _canonical_order(inputs, hashes, y, weight, part)
    first = order[starts]
    merged, number = _sums(weight[order], starts), _sums(cases[order], starts)
    cells = inputs.pick(first)
    if copied:
        cells = cells.take(slice(None))
    kept = np.zeros(len(first), np.int64) if part is None else part[first]
    return Table(cells, y[first], merged, kept, hashes[first], number, loss)


def _sums(column: Array, starts: Index) -> Array:
    return np.add.reduceat(column, starts) if len(starts) else column


def repetitions(weight: Floats) -> Ints:
    """Return how many cases rows of some weights stand for: a whole weight is repetition.

    Any other weight says how much one case counts.
    """
    counts = np.ones(len(weight), np.int64)
    whole = np.flatnonzero((weight > 1) & (weight < EXACT) & (weight == np.floor(weight)))
    counts[whole] = weight[whole].astype(np.int64)
    return counts


def are_whole(weight: Floats) -> bool:
    """Tell whether all weights are whole numbers: repetitions, or rows left out."""
    return bool((weight == np.rint(weight)).all())


def read_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Return the weight of each row: 1 where none are given, one for all where one is given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = _weight_numbers(as_array(sample_weight))
    if weight.ndim and weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): Sample weights must be "
            "1D array or scalar, one per row"
        )
    weight = np.broadcast_to(weight, (n_rows,))
    _check_each_weight(weight)
    return weight


def checked_weights(weight: Any, n_rows: int) -> Floats:
    """Return weights as numbers, 1 for each row if None; refuse what cannot be weights."""
    found = read_weights(weight, n_rows)
    if len(found) and not found.sum() > 0:
        raise InputError("every weight is zero; give some rows a positive weight")
    return found


def _weight_numbers(weight: Array) -> Floats:
    what = f"the type {weight.dtype}"
    if weight.dtype.kind in "biuf":
        return weight.astype(np.float64, copy=False)
    if weight.dtype.kind == "O":
        cells = [np.nan if is_absent(cell) else cell for cell in weight.ravel().tolist()]
        others = [cell for cell in cells if isinstance(cell, str) or not is_real(cell)]
        if not others:
            return np.array([to_float(cell) for cell in cells]).reshape(weight.shape)
        what = repr(others[0])
    raise InputError(f"sample_weight holds {what}; weights must be numbers, one per row")


def _check_each_weight(weight: Floats) -> None:
    """Refuse weights that are missing, infinite or negative, or whose sum is beyond `EXACT`."""
    allowed = np.isfinite(weight) & (weight >= 0)
    if not allowed.all():
        bad = int(np.flatnonzero(~allowed)[0])
        rule = "weights must be finite and not negative: give 0 to leave a row out"
        raise bad_cell("sample_weight", bad, f"is {weight[bad]}", rule)
    with np.errstate(over="ignore"):
        _check_largest(float(weight.sum()))


def _check_largest(total: float) -> None:
    if total > EXACT:
        raise InputError(
            f"sample_weight (times class_weight) sums to {total:g}; beyond 2**53 a single row is "
            "lost in sums, so rescale the weights to a mean near 1"
        )


def check_weight(weight: Floats) -> None:
    """Refuse weights that are not finite and positive, or that sum to next to nothing."""
    _check_each_weight(weight)
    check_total_weight(float(weight.sum()), int((weight > 0).sum()))


def check_total_weight(total: float, rows: int) -> None:
    """Refuse a sum of weights over some rows of positive weight that is too large or too small."""
    _check_largest(total)
    if rows == 0:
        raise InputError("every sample weight is zero; give at least two rows a positive weight")
    if total < rows / 10 * (1 - WEIGHT_SLACK):
        raise InputError(
            f"sample_weight sums to {total:g} over {rows} rows with a positive weight; supports "
            "and penalties count weight, so rescale the weights to a mean near 1"
        )


def _learn_schema(inputs: Inputs, weight: Floats, rule: PoolingRule) -> Inputs:
    """Return the inputs with a schema learned from the rows that count.

    Levels without a row are forgotten, rare ones are pooled under ``OTHER``, and `has_missing`
    tells of these rows alone. Special codes stay as they were declared, seen or not. Numbers with
    two values become categories.
    """
    variables, columns = [], []
    for variable, column in zip(inputs.schema.variables, inputs.columns, strict=True):
        gaps = variable.has_missing and bool(inputs.is_missing(variable.name).any())
        learned = variable if gaps == variable.has_missing else replace(variable, has_missing=gaps)
        if variable.kind == "category":
            learned, column = pool(learned, column, weight, rule)
        elif rule.numbers is not None:
            learned = yes_no(learned, few_values(column), rule)
            column = as_one_of_two(column, learned)[1] if learned.numeric else column
        variables.append(learned)
        columns.append(column)
    schema = Schema(tuple(variables), inputs.schema.named)
    return Inputs(schema, tuple(columns), inputs.specials)


def yes_no(variable: Variable, values: Sequence[float], rule: PoolingRule) -> Variable:
    """Return a number as a category where its `values` are two whole numbers and the rule allows.

    Neither of the two is ever pooled. Fractions stay numbers, because they are hardly ever equal.
    """
    asked = rule.numbers is None or variable.name in rule.numbers or bool(variable.levels)
    whole = all(value.is_integer() and abs(value) < EXACT_WHOLE for value in values)
    if asked or len(values) != 2 or not whole:
        return variable
    levels = tuple(map(level_text, sorted(values)))
    return replace(variable, kind="category", levels=levels, numeric=True)


def pooled_name(levels: Collection[str]) -> str:
    """Return what rare levels are called beside some that keep their names."""
    name = OTHER
    while name in levels:
        name = f"({name})"
    return name


def pool(
    variable: Variable, codes: Int32s, weight: Floats, rule: PoolingRule
) -> tuple[Variable, Int32s]:
    """Return a category without levels that are rare by the weights of rows, and its codes."""
    present = codes >= 0
    weights = np.bincount(codes[present], weight[present], minlength=len(variable.levels))
    heavy = np.lexsort((np.arange(len(weights)), -np.round(weights, 9)))[: rule.most_levels]
    least = rule.least_weight * (1 - WEIGHT_SLACK)
    kept = np.sort(heavy[(weights[heavy] >= least) & (weights[heavy] > 0)])
    pooled = bool((weights > 0).sum() > len(kept))
    recode = np.full(len(weights) + 1, len(kept), np.int32)
    recode[kept] = np.arange(len(kept))
    recode[-1] = -1  # code -1, a missing cell, stays
    levels = tuple(variable.levels[i] for i in kept)
    named = (*levels, pooled_name(levels)) if pooled else levels
    return replace(variable, levels=named, pooled=pooled), recode[codes]


def _canonical_order(
    inputs: Inputs, hashes: Words, y: Floats, weight: Floats, part: Ints | None
) -> tuple[Index, Index]:
    """Return row order by content and where each run of equal (content, target, part) starts."""
    apart = (y,) if part is None else (part, y)
    order, same = content_order(hashes, weight, *apart)
    pairs = np.flatnonzero(same)
    if not _equal_content(inputs, order[pairs], order[pairs + 1]):
        # Two contents share a hash: sort by the contents themselves.
        words = [_words(inputs, position) for position in range(len(inputs.columns))]
        order = np.lexsort((weight, *apart, *words))
        same = _same_as_next(order, *words, *apart)
    starts = np.flatnonzero(np.concatenate([[True], ~same])) if len(y) else np.zeros(0, np.intp)
    return order, starts


def content_order(hashes: Words, weight: Floats, *apart: Array) -> tuple[Index, Mask]:
    """Return row order by hash, then by what keeps rows apart, then by weight.

    Return also, for each row in order but the last, whether the next is equal but for its weight.
    """
    order = order_by_hash(hashes, weight, *apart)
    return order, _same_as_next(order, hashes, *apart)


def order_by_hash(hashes: Words, *ties: Array) -> Index:
    """Return ``np.lexsort((*ties, hashes))``, by a sort of plain integers where hashes differ.

    These are the leading bits of a hash followed by the number of its row.
    """
    bits = np.uint64(len(hashes).bit_length())
    packed = np.sort((hashes >> bits << bits) | np.arange(len(hashes), dtype=np.uint64))
    order = (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.intp)
    packed >>= bits
    same = np.flatnonzero(packed[1:] == packed[:-1])
    if len(same):
        unsure = np.union1d(same, same + 1)
        rows = order[unsure]
        order[unsure] = rows[np.lexsort((*(key[rows] for key in ties), hashes[rows]))]
    return order


def _equal_content(inputs: Inputs, rows: Index, others: Index) -> bool:
    if not len(rows):
        return True
    here, there = inputs.take(rows), inputs.take(others)
    places = range(len(inputs.columns))
    return all(bool((_words(here, p) == _words(there, p)).all()) for p in places)


def _same_as_next(order: Index, *keys: Array) -> Mask:
    """Return, for each row in order but the last, whether the next one has the same keys."""
    same = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        ordered = key[order]
        same &= ordered[1:] == ordered[:-1]
    return same


def _words(inputs: Inputs, position: int, names: Words | None = None) -> Words:
    """Return 64-bit words that are equal exactly where cells are equal, missing included.

    Levels and special codes are hashed by name, so that their coding does not matter.
    """
    column = inputs.columns[position]
    names = _level_words(inputs.schema.variables[position]) if names is None else names
    if inputs.schema.variables[position].kind == "category":
        return names[column]  # codes -1 and -2 reach the last two entries
    numbers = column + 0.0  # -0.0 is 0.0
    np.copyto(numbers, np.nan, where=np.isnan(numbers))
    words = numbers.view(np.uint64)
    special = inputs.specials.get(position)
    return words if special is None else np.where(special >= 0, names[special], words)


def _level_words(variable: Variable) -> Words:
    return np.array([*map(_hash, variable.levels), *NO_LEVEL], np.uint64)


def row_hashes(inputs: Inputs) -> Words:
    """Hash each row's content; named columns may stand in any order, levels in any coding."""
    variables, named = inputs.schema.variables, inputs.schema.named
    keys = [np.uint64(_hash(v.name if named else str(p))) for p, v in enumerate(variables)]
    names = [_level_words(variable) for variable in variables]
    total = np.zeros(inputs.n_rows, np.uint64)
    for low in range(0, len(total), HASHED_ROWS):
        some = inputs.take(slice(low, low + HASHED_ROWS))
        for position, key in enumerate(keys):
            total[low : low + HASHED_ROWS] += mixed(_words(some, position, names[position]) ^ key)
    return mixed(total)


def _hash(content: str | bytes) -> int:
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


NO_LEVEL = _hash(b"\xff"), _hash(b"\xfe")  # unseen, missing: bytes that no text has


def mixed(words: Words) -> Words:
    """Scramble 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
