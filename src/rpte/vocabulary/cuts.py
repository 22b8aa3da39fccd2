"""Cuts that labels ask for: where a number is split, and which levels of a category go together.

Both are those of a small regression tree of one variable on the null model, grown best first.
"""

from __future__ import annotations

import numpy as np

from rpte.columns.kinds import Level
from rpte.columns.limits import Permissions
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index
from rpte.vocabulary.screening import NullModel
from rpte.vocabulary.shapes import FEWEST_LEVELS, MOST_LEVELS

MOST_CUTS = 7
LEAST_TEST = 4.0  # squared score test that a cut must have
PRIOR = 2.5  # curvature at which a level counts half: ten cases of two even classes


def best_cuts(curvature: Floats, gradient: Floats) -> list[int]:
    """Return after which of some bins in order to cut, the most useful cut first.

    Both are (scores, bins); the gains of all scores are added.
    """
    scores, bins = curvature.shape
    sums = np.cumsum([curvature, gradient], axis=2)
    totals = np.concatenate([np.zeros((2, scores, 1)), sums], axis=2)
    leaves = [(*_best_cut(totals, 0, bins), 0, bins)]
    cuts: list[int] = []
    while len(cuts) < MOST_CUTS:
        leaf = max(leaves, key=lambda found: found[0])
        gain, at, first, end = leaf
        if gain < LEAST_TEST * max(1, scores - 1):
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
    left = totals[..., at] - totals[..., [first]]
    whole = totals[..., [end]] - totals[..., [first]]
    parts = [gradient**2 / np.maximum(curve, 1e-300) for curve, gradient in (left, whole - left)]
    gains = sum(parts) - whole[1] ** 2 / np.maximum(whole[0], 1e-300)
    gains = np.round(gains.sum(axis=0), 9)
    best = int(gains.argmax())
    return float(gains[best]), int(at[best])


def level_sets(table: Table, nulls: list[NullModel], limits: Permissions) -> list[Level]:
    """Return sets of levels with alike labels, of categories that have neither few nor many.

    Levels are ordered by their slope on the null model, shrunken where cases are few, and cut like
    a number; of the two sides of a cut the one with fewer levels is the set. This is done for every
    score of a row.
    """
    found: dict[Level, None] = {}
    for position in table.schema.canonical():
        variable = table.schema.variables[position]
        few_or_many = not FEWEST_LEVELS <= len(variable.levels) <= MOST_LEVELS
        if variable.kind == "number" or few_or_many or not limits.derivable(variable.name):
            continue
        codes = table.inputs.columns[position]
        found |= dict.fromkeys(
            Level(variable.name, tuple(variable.levels[code] for code in sorted(side)))
            for null in nulls
            for side in _sides(codes, null, len(variable.levels))
        )
    return [column for column in found if limits.admits(column)]


def _sides(codes: Array, null: NullModel, size: int) -> list[Index]:
    """Return the smaller sides, of at least two levels, of the cuts of a category."""
    known = codes >= 0
    sums = [np.bincount(codes[known], x[known], size) for x in (null.curvature, null.gradient)]
    curvature, gradient = np.array(sums, np.float64)
    slope = np.round(gradient / (curvature + PRIOR), 12)
    # One of both directions, whichever class is the positive one.
    order = min((np.argsort(s, kind="stable") for s in (slope, -slope)), key=tuple)
    cuts = best_cuts(curvature[None, order], gradient[None, order])
    sides = (min(order[: cut + 1], order[cut + 1 :], key=len) for cut in cuts)
    return [side for side in sides if len(side) > 1]
