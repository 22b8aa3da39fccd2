"""What a model file says of its training table: counts, a hash, and a profile of each column.

The hash ignores container, row order and the coding of levels, and treats a weight as repetition:
the same table gives the same hash however it is passed. Numpy and the standard library only, since
`verify` computes it again wherever a model can be loaded.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rpte.table.inputs import Inputs
from rpte.table.table import row_hashes
from rpte.utils.arrays import Bytes, Floats, Index, Words

Profile = Literal["safe", "full", "none"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SMALL = 5
TOO_SMALL, HIDDEN = "<5", "hidden"
LINES = 10_000  # hashed at a time
WEIGHT_DIGITS = 9  # sums of weights are rounded differently in different orders


def fingerprint(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    labels: Sequence[Any],
    profile: Profile,
    hashes: Words | None = None,
) -> dict[str, Any]:
    """Return the fingerprint of a training table, under the model's schema, as plain JSON values.

    Weights include class factors; rows of weight zero do not count. Of the two `labels` the second
    is the positive class, where `y` (n,) is 1.0. The profile "safe" hides counts under 5 and exact
    extremes, "none" leaves it out. The `hashes` (n,) of rows may be given where they are known.
    """
    counted = weight > 0
    if not counted.all():
        inputs, y, weight = inputs.take(counted), y[counted], weight[counted]
        hashes = None if hashes is None else hashes[counted]
    distinct, digest = table_hash(inputs, y, weight, labels, hashes)
    names = () if profile == "none" else inputs.schema.names
    columns = [_column(inputs, name, weight, profile == "full") for name in names]
    return {
        "rows": float(weight.sum()),
        "distinct_rows": distinct,
        "sha256": digest,
        "profile": None if profile == "none" else columns,
    }


def table_hash(
    inputs: Inputs, y: Floats, weight: Floats, labels: Sequence[Any], hashes: Words | None = None
) -> tuple[int, str]:
    """Return the number of distinct (row, label) and the SHA-256 of them with their weights."""
    hashes = row_hashes(inputs) if hashes is None else hashes
    order = np.lexsort((weight, y, hashes))
    hashes, y, weight = hashes[order], y[order], weight[order]
    new = np.concatenate([[True], (hashes[1:] != hashes[:-1]) | (y[1:] != y[:-1])])
    starts = np.flatnonzero(new[: len(hashes)])
    sums = np.add.reduceat(weight, starts) if len(starts) else weight
    # By class, not by which of them is called positive.
    names = [json.dumps(label) for label in labels]
    digest = hashlib.sha256(json.dumps(sorted(names)).encode())
    hashes, (ends, which) = hashes[starts], _line_ends(names, y[starts], sums)
    for low in range(0, len(starts), LINES):
        digest.update(_lines(hashes[low : low + LINES], ends[which[low : low + LINES]]))
    return len(starts), digest.hexdigest()


def _line_ends(names: Sequence[str], y: Floats, sums: Floats) -> tuple[Bytes, Index]:
    """Return the distinct ends of lines, label and weight, and which of them each row has.

    They are characters, (ends, width), 0 after the last of each.
    """
    weights, place = np.unique(sums, return_inverse=True)
    texts = [f"{total:.{WEIGHT_DIGITS}g}" for total in weights.tolist()]
    ends = np.array([f" {name} {text}".encode() for name in names for text in texts], np.bytes_)
    which = y.astype(np.intp) * len(texts) + place.reshape(-1)
    return ends.view(np.uint8).reshape(len(ends), ends.itemsize), which


def _lines(hashes: Words, ends: Bytes) -> bytes:
    """Return a line for each row: its hash in hexadecimal, label and weight."""
    digits = np.frombuffer(hashes.astype(">u8").tobytes().hex().encode(), np.uint8)
    lines = np.full((len(hashes), 17 + ends.shape[1]), ord("\n"), np.uint8)
    lines[:, 1:17] = digits.reshape(-1, 16)
    lines[:, 17:] = ends
    return bytes(lines[lines != 0].tobytes())


def _column(inputs: Inputs, name: str, weight: Floats, full: bool) -> dict[str, Any]:
    """Return the profile of one variable; counts are weights, as everywhere."""
    inputs = inputs.only([name]).take(slice(None))
    variable, total = inputs.schema[name], float(weight.sum())
    missing = float(weight[inputs.is_missing(name)].sum())
    cells = _level_counts(inputs, name, weight)
    values, sums = _values(inputs, name, weight)
    shown = _hidden([missing, *cells.values(), float(sums.sum())], full)
    return {
        "name": name,
        "kind": variable.kind,
        "missing": shown[0] if isinstance(shown[0], str) else missing / total,
        "distinct": len(values) + sum(count > 0 for count in cells.values()),
        "quantiles": _quantiles(values, sums, full) if variable.kind == "number" else None,
        "extremes": [float(values[0]), float(values[-1])] if full and len(values) else None,
        "levels": dict(zip(cells, shown[1:-1], strict=True)),
    }


def _level_counts(inputs: Inputs, name: str, weight: Floats) -> dict[str, float]:
    levels = inputs.schema[name].levels
    if not levels:
        return {}
    codes = inputs.codes(name)
    known = codes >= 0
    sums = np.bincount(codes[known], weight[known], minlength=len(levels))
    return dict(zip(levels, sums.tolist(), strict=True))


def _values(inputs: Inputs, name: str, weight: Floats) -> tuple[Floats, Floats]:
    if inputs.schema[name].kind != "number":
        return np.zeros(0), np.zeros(0)
    x = inputs[name]
    present = ~np.isnan(x)
    if not present.all():
        x, weight = x[present], weight[present]
    if len(weight) and (weight == weight[0]).all():
        values, counts = np.unique(x, return_counts=True)
        return values, counts * weight[0]
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


def _quantiles(values: Floats, sums: Floats, full: bool) -> list[float | None] | None:
    """Return the quantiles (inverted CDF); None for one that few rows lie beyond, or an extreme."""
    if not len(values):
        return None
    below = np.cumsum(sums)
    places = np.searchsorted(below, np.array(QUANTILES) * below[-1] * (1 - 1e-12))
    found: list[float | None] = []
    for place in places.tolist():
        tail = min(below[place], below[-1] - below[place] + sums[place])
        extreme = place in (0, len(values) - 1) or tail < SMALL
        found.append(None if extreme and not full else float(values[place]))
    return found
