"""What a model file says of its training table: counts, a hash, and a profile of each column.

The hash ignores container, row order and the coding of levels, and treats a weight as repetition:
the same table gives the same hash however it is passed. Numpy and the standard library only, since
`verify` computes it again wherever a model can be loaded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rpte.table.inputs import Inputs
from rpte.table.schema import Variable
from rpte.table.table import order_by_hash, row_hashes
from rpte.utils.arrays import Bytes, Floats, Index, Words

Profile = Literal["safe", "full", "none"]
Sort = Callable[[Floats], Floats]  # of numbers, none missing; what it is given may be overwritten

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PARTS = 20  # equal ones, that numbers are cut into
FEW = 10  # different numbers that are told one by one
SMALL = 5
TOO_SMALL, HIDDEN = "<5", "hidden"
LINES = 10_000  # hashed at a time
WEIGHT_DIGITS = 9  # sums of weights are rounded differently in different orders
PROFILE_DIGITS = 12  # of such sums in a profile, which holds every whole number of rows


def fingerprint(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    labels: Sequence[Any],
    profile: Profile,
    hashes: Words | None = None,
    sort: Sort = np.sort,
    each: Callable[..., Iterable[dict[str, Any]]] = map,
) -> dict[str, Any]:
    """Return the fingerprint of a training table, under the model's schema, as plain JSON values.

    Weights include class factors; rows of weight zero do not count. Of the two `labels` the second
    is the positive class, where `y` (n,) is 1.0; numbers have none. The profile "safe" hides counts
    under 5 and extremes of fewer than 5 rows, "none" leaves it out. The `hashes` (n,) of rows may
    be given where they are known, and what sorts numbers and goes over columns faster.
    """
    counted = weight > 0
    if not counted.all():
        inputs, y, weight = inputs.take(counted), y[counted], weight[counted]
        hashes = None if hashes is None else hashes[counted]
    digest = _hashed(inputs, y, weight, labels, hashes)
    names = () if profile == "none" else inputs.schema.names
    even = bool(len(weight)) and bool((weight == weight[0]).all())

    def column(name: str) -> dict[str, Any]:
        some = inputs.only([name])
        some = some.in_own_order() if even else some.take(slice(None))
        return _column(some, name, weight, profile == "full", sort if even else None)

    columns = list(each(column, names))
    return described(digest, float(weight.sum()), columns, profile)


def described(
    digest: TableHash, total: float, columns: list[dict[str, Any]], profile: Profile
) -> dict[str, Any]:
    """Return the fingerprint of a table of some total weight, of which all rows were hashed."""
    return {
        "rows": total,
        "distinct_rows": digest.distinct,
        "sha256": digest.hexdigest(),
        "profile": None if profile == "none" else columns,
    }


def table_hash(inputs: Inputs, y: Floats, weight: Floats, labels: Sequence[Any]) -> tuple[int, str]:
    """Return the number of distinct (row, label) and the SHA-256 of them with their weights."""
    digest = _hashed(inputs, y, weight, labels)
    return digest.distinct, digest.hexdigest()


def _hashed(
    inputs: Inputs, y: Floats, weight: Floats, labels: Sequence[Any], hashes: Words | None = None
) -> TableHash:
    digest = TableHash(labels)
    digest.add(row_hashes(inputs) if hashes is None else hashes, y, weight)
    return digest


class TableHash:
    """The SHA-256 of distinct (row, label) with their weights, and how many there are.

    Rows may come in parts, each with hashes beyond those of the parts before.
    """

    def __init__(self, labels: Sequence[Any]) -> None:
        # By class, not by which of them is called positive.
        self._names = [json.dumps(label) for label in labels]
        self._digest = hashlib.sha256(json.dumps(sorted(self._names)).encode())
        self.distinct = 0

    def add(self, hashes: Words, y: Floats, weight: Floats) -> None:
        """Add some rows, in any order; equal ones among them are one."""
        later = (hashes[1:] > hashes[:-1]) | ((hashes[1:] == hashes[:-1]) & (y[1:] > y[:-1]))
        if not later.all():
            order = order_by_hash(hashes, weight, y)
            hashes, y, weight = hashes[order], y[order], weight[order]
        new = np.concatenate([[True], (hashes[1:] != hashes[:-1]) | (y[1:] != y[:-1])])
        starts = np.flatnonzero(new[: len(hashes)])
        sums = np.add.reduceat(weight, starts) if len(starts) else weight
        hashes, y = hashes[starts], y[starts]
        # Of numbers the bits are hashed, as those of the row are.
        words = [hashes] if self._names else [hashes, (y + 0.0).view(np.uint64)]
        labels = y if self._names else np.zeros(len(y))
        ends, which = _line_ends(self._names or [""], labels, sums)
        for low in range(0, len(starts), LINES):
            some = slice(low, low + LINES)
            self._digest.update(_lines([word[some] for word in words], ends[which[some]]))
        self.distinct += len(starts)

    def hexdigest(self) -> str:
        """Return the hash of all rows so far."""
        return self._digest.hexdigest()


def _line_ends(names: Sequence[str], y: Floats, sums: Floats) -> tuple[Bytes, Index]:
    """Return the distinct ends of lines, label and weight, and which of them each row has.

    They are characters, (ends, width), 0 after the last of each.
    """
    weights, place = np.unique(sums, return_inverse=True)
    texts = [f"{total:.{WEIGHT_DIGITS}g}" for total in weights.tolist()]
    ends = np.array([f" {name} {text}".encode() for name in names for text in texts], np.bytes_)
    which = y.astype(np.intp) * len(texts) + place.reshape(-1)
    return ends.view(np.uint8).reshape(len(ends), ends.itemsize), which


def _lines(words: Sequence[Words], ends: Bytes) -> bytes:
    """Return a line for each row: its hash, and a number, in hexadecimal, then label and weight."""
    digits = [np.frombuffer(w.astype(">u8").tobytes().hex().encode(), np.uint8) for w in words]
    width = 1 + 16 * len(words)
    lines = np.full((len(ends), width + ends.shape[1]), ord("\n"), np.uint8)
    lines[:, 1:width] = np.hstack([each.reshape(-1, 16) for each in digits])
    lines[:, width:] = ends
    return bytes(lines[lines != 0].tobytes())


def _column(
    inputs: Inputs, name: str, weight: Floats, full: bool, sort: Sort | None
) -> dict[str, Any]:
    """Return the profile of one variable; counts are weights, as everywhere.

    There is a `sort` where all weights are equal, and rows may then stand in any order.
    """
    missing = float(weight[inputs.is_missing(name)].sum())
    cells = level_counts(inputs, name, weight)
    values, sums = number_counts(inputs, name, weight, sort)
    numbers = NumberSummary(float(np.cumsum(sums)[-1]) if len(sums) else 0.0)
    numbers.add(values, sums)
    return column_profile(inputs.schema[name], float(weight.sum()), missing, cells, numbers, full)


def _rounded(weight: float) -> float:
    return float(f"{weight:.{PROFILE_DIGITS}g}")


def column_profile(
    variable: Variable,
    total: float,
    missing: float,
    cells: Mapping[str, float],
    numbers: NumberSummary,
    full: bool,
) -> dict[str, Any]:
    """Return the profile of a variable: weight of all rows, of missing cells, of levels.

    Weights are rounded, so that the order in which they were added does not matter.
    """
    total, missing, *sums = map(_rounded, (total, missing, *cells.values(), numbers.total))
    shown = _hidden([missing, *sums], full)
    number = variable.kind == "number"
    pictured = {"equal_parts": numbers.equal_parts(full), "values": numbers.values(full)}
    return {
        "name": variable.name,
        "kind": variable.kind,
        "missing": shown[0] if isinstance(shown[0], str) else missing / total,
        "distinct": numbers.distinct + sum(count > 0 for count in cells.values()),
        "quantiles": numbers.quantiles(full) if number and numbers.distinct else None,
        "extremes": [numbers.first, numbers.last] if full and numbers.distinct else None,
        "levels": dict(zip(cells, shown[1:-1], strict=True)),
        **(pictured if number and numbers.distinct else {}),
    }


class NumberSummary:
    """How many different numbers there are, their ends and their quantiles (inverted CDF).

    They come in ascending order, perhaps in parts; `total` is the weight of all of them.
    """

    def __init__(self, total: float) -> None:
        self.total, self.distinct = total, 0
        self.first = self.last = np.nan
        self._below = 0.0
        self._found: dict[float, tuple[int, float, float]] = {}  # place, value, weight of its tail
        parts = min(PARTS, int(_rounded(total) // SMALL))  # of at least SMALL rows each
        self._inner = [part / parts for part in range(1, parts)]
        self._ends = [np.nan, np.nan]  # the first and last with at least SMALL rows at or beyond it
        self._few: list[tuple[float, float]] = []  # the first numbers and their weights

    def add(self, values: Floats, sums: Floats) -> None:
        """Add the next numbers (m,), different and in order, and the weight of each."""
        if not len(values):
            return
        below = np.cumsum(np.concatenate([[self._below], sums]))[1:]
        for quantile in {*QUANTILES, *self._inner}:
            place = int(np.searchsorted(below, quantile * self.total * (1 - 1e-12)))
            if quantile not in self._found and place < len(values):
                tail = min(below[place], self.total - below[place] + sums[place])
                found = self.distinct + place, float(values[place]), float(tail)
                self._found[quantile] = found
        enough = SMALL * (1 - 1e-12)
        outer = below >= enough, self.total - below + sums >= enough
        if np.isnan(self._ends[0]) and outer[0].any():
            self._ends[0] = float(values[outer[0].argmax()])
        if outer[1].any():
            self._ends[1] = float(values[np.flatnonzero(outer[1])[-1]])
        if self.distinct <= FEW:
            self._few += zip(values[: FEW + 1].tolist(), sums[: FEW + 1].tolist(), strict=True)
        self.first = self.first if self.distinct else float(values[0])
        self.last, self._below = float(values[-1]), float(below[-1])
        self.distinct += len(values)

    def quantiles(self, full: bool) -> list[float | None]:
        """Return the quantiles; None for one that few rows lie beyond, or an extreme."""
        found: list[float | None] = []
        for place, value, tail in (self._found[quantile] for quantile in QUANTILES):
            extreme = place in (0, self.distinct - 1) or tail < SMALL
            found.append(None if extreme and not full else value)
        return found

    def equal_parts(self, full: bool) -> list[float] | None:
        """Return the numbers between which equal parts of the rows lie, from end to end.

        The ends have at least 5 rows at or beyond them, unless the profile is full.
        """
        low, high = (self.first, self.last) if full else self._ends
        if not low < high:
            return None
        inner = [min(max(self._found[share][1], low), high) for share in self._inner]
        return [low, *inner, high]

    def values(self, full: bool) -> list[float] | None:
        """Return the different numbers if they are few; those of few rows only if full."""
        if self.distinct > FEW:
            return None
        shown = [value for value, weight in self._few if full or weight >= SMALL * (1 - 1e-12)]
        return shown if len(shown) > 1 else None


def level_counts(inputs: Inputs, name: str, weight: Floats) -> dict[str, float]:
    """Return the weight of each level, or special code, of a variable."""
    levels = inputs.schema[name].levels
    if not levels:
        return {}
    codes = inputs.codes(name)
    known = codes >= 0
    sums = np.bincount(codes[known], weight[known], minlength=len(levels))
    return dict(zip(levels, sums.tolist(), strict=True))


def number_counts(
    inputs: Inputs, name: str, weight: Floats, sort: Sort | None = None
) -> tuple[Floats, Floats]:
    """Return the different numbers of a variable in order, and the weight of each."""
    if inputs.schema[name].kind != "number":
        return np.zeros(0), np.zeros(0)
    x = inputs[name]
    present = ~np.isnan(x)
    if not present.all():
        x, weight = x[present], weight[present]
    if sort is not None:
        x = sort(x + 0.0)  # a -0.0 is 0.0
        starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]])[: len(x)])
        return x[starts], np.diff(starts, append=len(x)) * weight[:1]
    values, place = np.unique(x, return_inverse=True)
    return values, np.bincount(place.reshape(-1), weight).astype(np.float64)


def _hidden(cells: list[float], full: bool) -> list[float | str]:
    """Hide counts under 5; a single hidden one would follow from the rest, so it gets company."""
    small = [0 < cell < SMALL for cell in cells]
    if full or not any(small):
        return list(cells)
    shown = [TOO_SMALL if tiny else cell for tiny, cell in zip(small, cells, strict=True)]
    others = [(cell, i) for i, cell in enumerate(cells) if cell >= SMALL]
    if sum(small) == 1 and others:
        shown[min(others)[1]] = HIDDEN
    return shown
