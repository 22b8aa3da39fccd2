"""The training table: equal rows merged into weighted rows, in an order that content decides."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.losses import BINOMIAL, Loss
from rpte.table.inputs import Inputs
from rpte.table.levels import KEEP_ALL, WEIGHT_SLACK, PoolingRule, settle_schema
from rpte.table.schema import Schema, Variable
from rpte.table.weights import check_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Rows = NDArray[np.intp]

MOST_CASES = 2.0**53  # a larger weight is no count
FEW_ROWS = 8192  # hashed at a time: they stay at hand from column to column


@dataclass(frozen=True, slots=True)
class Table:
    """Typed columns with 0/1 labels and weights, one row per distinct (content, label).

    Rows stand in the order of a hash of their content, which is as good as a shuffled order but
    depends on nothing else: permuted or repeated rows give the same table.

    Parameters
    ----------
    inputs : Inputs
    y : array of shape (n,)
        1.0 for the positive class.
    weight : array of shape (n,)
    part : int array of shape (n,) or None
        What kept equal rows apart: the group of each row, or its place in the user's splits.
    hashes : array of shape (n,) or None
        Of the content of each row, where they are known.
    cases : int array of shape (n,) or None
        How many rows of the user's table each row stands for, a whole weight counting as so many;
        one each if None.
    loss : Loss
    """

    inputs: Inputs
    y: Floats
    weight: Floats
    part: Ints | None = None
    hashes: Words | None = None
    cases: Ints | None = None
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
        """Number of cases: of rows that came in, a whole weight counting as so many."""
        return self.n_rows if self.cases is None else int(self.cases.sum())

    def cases_of(self, rows: Rows | slice = slice(None)) -> Ints:
        """Return how many cases some rows stand for."""
        if self.cases is None:
            return np.ones(len(self.y[rows]), np.int64)
        return self.cases[rows]

    def take(self, rows: Rows, cases: Ints | None = None) -> Table:
        """Return the table of some rows, in their order, with all or so many of their cases."""
        part = None if self.part is None else self.part[rows]
        whole, weight = self.cases_of(rows), self.weight[rows]
        if cases is not None:  # a whole weight is divided exactly
            weight = np.where(cases == whole, weight, weight / whole * cases)
        kept = whole if cases is None else cases
        inputs, y = self.inputs.take(rows), self.y[rows]
        return Table(inputs, y, weight, part, cases=kept, loss=self.loss)

    def sample(self, most: int) -> Table:
        """Return a table of at most so many distinct rows, drawn case by case.

        The cases of a row are spread evenly over the unit interval, from a place that its content
        decides, and all cases below a limit are taken: single rows by chance, and of rows that
        recur as large a share as of all.
        """
        if self.n_rows <= most:
            return self
        cases = self.cases_of()
        place = (np.arange(self.n_rows) + 0.5) / self.n_rows  # content has put the rows in order
        first = place / cases
        limit = np.partition(first, most)[most]
        rows = np.flatnonzero(first < limit)
        taken = np.ceil(cases[rows] * limit - place[rows])
        return self.take(rows, np.clip(taken, 1, cases[rows]).astype(np.int64))


def make_table(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    rule: PoolingRule = KEEP_ALL,
    part: Ints | None = None,
    copied: bool = True,
    cases: Ints | None = None,
) -> Table:
    """Merge rows of equal content and label, drop rows of weight zero, put the rest in order.

    Parameters
    ----------
    inputs : Inputs
    y, weight : (n,)
    rule : PoolingRule
        Which levels of a category are pooled as rare.
    part : (n,), optional
        Rows of different parts are never merged.
    copied : bool
        Whether the cells are put in order, or each column only when it is asked for.
    cases : (n,), optional
        How many cases each row stands for; what its weight says if None.
    """
    check_weight(weight)
    if not (weight > 0).all():
        keep = np.flatnonzero(weight > 0)
        inputs, y, weight = inputs.take(keep), y[keep], weight[keep]
        cases = None if cases is None else cases[keep]
        part = None if part is None else part[keep]
    return merge_rows(settle_schema(inputs, weight, rule), y, weight, part, copied, cases)


def merge_rows(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    part: Ints | None = None,
    copied: bool = True,
    cases: Ints | None = None,
) -> Table:
    """Merge rows of equal content and label and put them in order, under the schema as it is.

    Parameters
    ----------
    inputs, y, weight, part, copied, cases
        As in `make_table`; every weight is positive.
    """
    cases = repetitions(weight) if cases is None else cases
    hashes = row_hashes(inputs)
    order, starts = _canonical_order(inputs, hashes, y, weight, part)
    first = order[starts]
    merged, number = _sums(weight[order], starts), _sums(cases[order], starts)
    cells = inputs.pick(first)
    if copied:
        cells = cells.take(slice(None))
    kept = np.zeros(len(first), np.int64) if part is None else part[first]
    return Table(cells, y[first], merged, kept, hashes[first], number)


def _sums(column: NDArray[Any], starts: Rows) -> NDArray[Any]:
    """Return the sum of each run."""
    return np.add.reduceat(column, starts) if len(starts) else column


def repetitions(weight: Floats) -> Ints:
    """Return how many cases rows of some weights stand for: a whole weight is repetition.

    Any other weight says how much one case counts.
    """
    counts = np.ones(len(weight), np.int64)
    whole = np.flatnonzero((weight > 1) & (weight < MOST_CASES) & (weight == np.floor(weight)))
    counts[whole] = weight[whole].astype(np.int64)
    return counts


def check_weight(weight: Floats) -> None:
    """Refuse weights that are not finite and positive, or that sum to next to nothing."""
    check_weights(weight)
    total, rows = float(weight.sum()), int((weight > 0).sum())
    if rows == 0:
        raise InputError("every sample weight is zero; give at least two rows a positive weight")
    if total < rows / 10 * (1 - WEIGHT_SLACK):
        raise InputError(
            f"sample_weight sums to {total:g} over {rows} rows with a positive weight; supports "
            "and penalties count weight, so rescale the weights to a mean near 1"
        )


def _canonical_order(
    inputs: Inputs, hashes: Words, y: Floats, weight: Floats, part: Ints | None
) -> tuple[Rows, Rows]:
    """Return row order by content and where each run of equal (content, label, part) starts."""
    apart = (y,) if part is None else (part, y)
    order = np.lexsort((weight, *apart, hashes))
    same = _same_as_next(order, hashes, *apart)
    pairs = np.flatnonzero(same)
    if not _equal_content(inputs, order[pairs], order[pairs + 1]):
        # Two contents share a hash: sort by the contents themselves.
        words = [_words(inputs, position) for position in range(len(inputs.columns))]
        order = np.lexsort((weight, *apart, *words))
        same = _same_as_next(order, *words, *apart)
    starts = np.flatnonzero(np.concatenate([[True], ~same])) if len(y) else np.zeros(0, np.intp)
    return order, starts


def _equal_content(inputs: Inputs, rows: Rows, others: Rows) -> bool:
    """Tell whether rows hold the same cells as others."""
    if not len(rows):
        return True
    here, there = inputs.take(rows), inputs.take(others)
    places = range(len(inputs.columns))
    return all(bool((_words(here, p) == _words(there, p)).all()) for p in places)


def _same_as_next(order: Rows, *keys: NDArray[Any]) -> NDArray[np.bool_]:
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
    return np.array([*map(_text_hash, variable.levels), *NO_LEVEL], np.uint64)


def row_hashes(inputs: Inputs) -> Words:
    """Hash each row's content; named columns may stand in any order, levels in any coding."""
    variables, named = inputs.schema.variables, inputs.schema.named
    keys = [np.uint64(_text_hash(v.name if named else str(p))) for p, v in enumerate(variables)]
    names = [_level_words(variable) for variable in variables]
    total = np.zeros(inputs.n_rows, np.uint64)
    for low in range(0, len(total), FEW_ROWS):
        some = inputs.take(slice(low, low + FEW_ROWS))
        for position, key in enumerate(keys):
            total[low : low + FEW_ROWS] += _mix(_words(some, position, names[position]) ^ key)
    return _mix(total)


def _text_hash(text: str) -> int:
    return _hash(text.encode(errors="surrogatepass"))


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


NO_LEVEL = _hash(b"\xff"), _hash(b"\xfe")  # unseen, missing: bytes that no text has


def _mix(words: Words) -> Words:
    """Scramble 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
