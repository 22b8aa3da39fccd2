"""Where thresholds on arithmetic of two numbers may lie, whatever precision the numbers come in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.table.inputs import Inputs
from rpte.vocabulary.columns import Pair

Floats = NDArray[np.float64]
Gap = tuple[float, float]


def pair_gap(pair: Pair, inputs: Inputs, codes: NDArray[Any], bins: Gap, ends: Gap) -> Gap:
    """Return the gap between two bins of a pair in which a threshold separates copies as well.

    What single precision (float32) does to a difference depends on the size of its parts, so the
    gap of `rpte.table.decimals` is too wide. Rows of bins that are too near keep theirs.

    Parameters
    ----------
    pair : Pair
    inputs : Inputs
        The training rows.
    codes : (n_rows,)
        Their bins.
    bins : the bin below and the bin above
    ends : the largest value of the one and the smallest of the other
    """
    lower, upper = codes <= bins[0], codes >= bins[1]
    low, high = ends
    for copies in _copies(pair, inputs):
        below = max(_largest(x[lower], low) for x in copies)
        above = min(-_largest(-x[upper], -high) for x in copies)
        if below < above:
            return below, above
    return ends


def largest_copy(pair: Pair, inputs: Inputs, largest: float) -> float:
    """Return the largest value of a pair in any copy of the training rows."""
    return max(_largest(x, largest) for copies in _copies(pair, inputs) for x in copies)


def _copies(pair: Pair, inputs: Inputs) -> Iterator[list[Floats]]:
    """Yield values that copies of the rows may have: in any precision, then in single precision."""
    own = inputs.only(pair.sources)
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [_ends(column) for column in own.columns]
        single = [(low + high) / 2 if low is not high else low for low, high in ends]
        yield [pair.evaluate(replace(own, columns=corner)) for corner in product(*ends)]
        yield [pair.evaluate(replace(own, columns=single))]


def _ends(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest number that single precision cannot tell from each cell."""
    if column.dtype.kind != "f":
        return column, column
    single = column.astype(np.float32)
    half_step = np.abs(np.spacing(single)).astype(np.float64) / 2
    return single - half_step, single + half_step


def _largest(x: Floats, least: float) -> float:
    """Return the largest number of a column, or `least`; missing cells do not count."""
    return float(np.fmax.reduce(x, initial=least)) + 0.0
