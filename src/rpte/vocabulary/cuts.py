"""Cuts that labels ask for: where a number is split, and which levels of a category go together.

Both are those of a small regression tree of one variable on the null model, grown best first.
"""

from __future__ import annotations

import numpy as np

from rpte.columns.kinds import Level
from rpte.columns.limits import Permissions
from rpte.table.table import Table
from rpte.utils.arrays import Floats
from rpte.vocabulary.screening import NullModel
from rpte.vocabulary.shapes import FEWEST_LEVELS, MOST_LEVELS

MOST_CUTS = 7
LEAST_TEST = 4.0  # squared score test that a cut must have
PRIOR = 2.5  # curvature at which a level counts half: ten cases of two even classes


def best_cuts(curvature: Floats, gradient: Floats) -> list[int]:
    """Return after which of some bins (k,) in order to cut, the most useful cut first."""
    sums = np.cumsum([curvature, gradient], axis=1)
    totals = np.concatenate([np.zeros((2, 1)), sums], axis=1)
    leaves = [(*_best_cut(totals, 0, len(curvature)), 0, len(curvature))]
    cuts: list[int] = []
    while len(cuts) < MOST_CUTS:
        leaf = max(leaves, key=lambda found: found[0])
        gain, at, first, end = leaf
        if gain < LEAST_TEST:
            break
        cuts.append(at - 1)
        leaves.remove(leaf)
        leaves += [(*_best_cut(totals, a, b), a, b) for a, b in ((first, at), (at, end))]
    return cuts


def _best_cut(totals: Floats, first: int, end: int) -> tuple[float, int]:
    """Return the largest gain of a cut between two of the bins, and the bin that it is before."""
    if end - first < 2:
        return 0.0, first
    at = np.arange(first + 1, end)
    left, whole = totals[:, at] - totals[:, [first]], totals[:, end] - totals[:, first]
    right = whole[:, None] - left
    parts = [gradient**2 / np.maximum(curve, 1e-300) for curve, gradient in (left, right)]
    gains = np.round(sum(parts) - whole[1] ** 2 / max(whole[0], 1e-300), 9)
    best = int(gains.argmax())
    return float(gains[best]), int(at[best])


def level_sets(table: Table, null: NullModel, limits: Permissions) -> list[Level]:
    """Return sets of levels with alike labels, of categories that have neither few nor many.

    Levels are ordered by their slope on the null model, shrunken where cases are few, and cut like
    a number; of the two sides of a cut the one with fewer levels is the set.
    """
    found: list[Level] = []
    for position in table.schema.canonical():
        variable = table.schema.variables[position]
        few_or_many = not FEWEST_LEVELS <= len(variable.levels) <= MOST_LEVELS
        if variable.kind == "number" or few_or_many or not limits.derivable(variable.name):
            continue
        codes = table.inputs.columns[position]
        known, size = codes >= 0, len(variable.levels)
        sums = [np.bincount(codes[known], x[known], size) for x in (null.curvature, null.gradient)]
        curvature, gradient = np.array(sums, np.float64)
        slope = np.round(gradient / (curvature + PRIOR), 12)
        # One of both directions, whichever class is the positive one.
        order = min((np.argsort(s, kind="stable") for s in (slope, -slope)), key=tuple)
        for cut in best_cuts(curvature[order], gradient[order]):
            side = min(order[: cut + 1], order[cut + 1 :], key=len)
            if len(side) > 1:
                names = tuple(variable.levels[code] for code in sorted(side))
                found.append(Level(variable.name, names))
    return [column for column in found if limits.admits(column)]
