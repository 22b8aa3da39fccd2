"""The training table: equal rows merged into weighted rows, in an order that content decides."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Rows = NDArray[np.intp]


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
    """

    inputs: Inputs
    y: Floats
    weight: Floats

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

    def take(self, rows: Rows) -> Table:
        """Return the table of some rows, in their order."""
        columns = tuple(column[rows] for column in self.inputs.columns)
        return Table(Inputs(self.schema, columns), self.y[rows], self.weight[rows])


def make_table(inputs: Inputs, y: Floats, weight: Floats) -> Table:
    """Merge rows of equal content and label, drop rows of weight zero, put the rest in order."""
    _check_weight(weight)
    keep = np.flatnonzero(weight > 0)
    if len(keep) < len(weight):
        inputs, y, weight = _seen_in(inputs, keep), y[keep], weight[keep]
    order, starts = _canonical_order(inputs, y, weight)
    first = order[starts]
    merged = np.add.reduceat(weight[order], starts) if len(starts) else weight[order]
    kept = Inputs(inputs.schema, tuple(column[first] for column in inputs.columns))
    return Table(kept, y[first], merged)


def _seen_in(inputs: Inputs, keep: Rows) -> Inputs:
    """Return some rows with a schema that knows nothing of the others: no level, no gap."""
    variables, columns = [], []
    for variable, column in zip(inputs.schema.variables, inputs.columns, strict=True):
        cells = column[keep]
        if variable.kind == "category":
            seen = np.unique(cells[cells >= 0])
            levels = tuple(variable.levels[code] for code in seen)
            cells = np.where(cells >= 0, np.searchsorted(seen, cells), cells).astype(np.int32)
            known = replace(variable, levels=levels, has_missing=bool((cells < 0).any()))
        else:
            known = replace(variable, has_missing=bool(np.isnan(cells).any()))
        variables.append(known)
        columns.append(cells)
    return Inputs(Schema(tuple(variables), inputs.schema.named), tuple(columns))


def _check_weight(weight: Floats) -> None:
    if not np.isfinite(weight).all() or (weight < 0).any():
        bad = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise InputError(
            f"sample_weight[{bad}] is {weight[bad]}; weights must be finite and not negative"
        )
    total, rows = float(weight.sum()), int((weight > 0).sum())
    if rows == 0:
        raise InputError("every sample weight is zero; give at least two rows a positive weight")
    if total < rows / 10:
        raise InputError(
            f"sample_weight sums to {total:g} over {rows} rows with a positive weight; supports "
            "and penalties count weight, so rescale the weights to a mean near 1"
        )


def _canonical_order(inputs: Inputs, y: Floats, weight: Floats) -> tuple[Rows, Rows]:
    """Return row order by content and where each run of equal (content, label) starts."""
    hashes = row_hashes(inputs)
    order = np.lexsort((weight, y, hashes))
    same = (hashes[order][1:] == hashes[order][:-1]) & (y[order][1:] == y[order][:-1])
    pairs = np.flatnonzero(same)
    if not _equal_rows(inputs, order[pairs], order[pairs + 1]):
        keys = [weight, y, *(_words(column) for column in inputs.columns)]
        order = np.lexsort(tuple(keys))
        same = (y[order][1:] == y[order][:-1]) & np.all(
            [_words(c)[order][1:] == _words(c)[order][:-1] for c in inputs.columns], axis=0
        )
    starts = np.flatnonzero(np.concatenate([[True], ~same])) if len(y) else np.zeros(0, np.intp)
    return order, starts


def _equal_rows(inputs: Inputs, a: Rows, b: Rows) -> bool:
    """Tell whether rows that share a hash really are equal (they are, short of a collision)."""
    return all(bool((_words(c[a]) == _words(c[b])).all()) for c in inputs.columns)


def _words(column: NDArray[Any]) -> Words:
    """Return 64-bit words that are equal exactly where cells are equal, missing included."""
    if column.dtype.kind == "f":
        canonical = np.where(np.isnan(column), np.nan, column)
        return canonical.view(np.uint64)
    return column.astype(np.int64).view(np.uint64)


def row_hashes(inputs: Inputs) -> Words:
    """Hash each row's content; named columns may stand in any order, levels in any coding."""
    total = np.zeros(inputs.n_rows, np.uint64)
    for position, variable in enumerate(inputs.schema.variables):
        key = variable.name if inputs.schema.named else str(position)
        words = _words(inputs.columns[position])
        if variable.kind == "category":
            table = np.array([_text_hash(t) for t in (*variable.levels, "", "\0")], np.uint64)
            words = table[inputs.columns[position]]  # codes -1 and -2 reach the last two entries
        total += _mix(words ^ np.uint64(_text_hash(key)))
    return _mix(total)


def _text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mix(words: Words) -> Words:
    """Scramble 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
