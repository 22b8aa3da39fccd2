"""Honest inner validation: the number of trees and the penalty, chosen together.

Everything learned from y (bins, patterns, pairs, trees) is learned again in each fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import RPTEWarning
from rpte.estimation.path import lambda_grid, path
from rpte.estimation.terms import Structure, TermSet, choose_terms, make_design
from rpte.settings import Settings
from rpte.table.table import Table

Floats = NDArray[np.float64]

FOLDS = 5
GRID = 40
TREE_COUNTS = (0, 1, 2, 3, 5, 8)


@dataclass(frozen=True, slots=True)
class Point:
    """Validated loss of one number of trees at one penalty."""

    n_trees: int
    l1: float
    deviance: float
    error: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The number of trees and the penalty, with the points that were compared."""

    n_trees: int
    l1: float
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain JSON values."""
        return {
            "n_trees": self.n_trees,
            "l1": self.l1,
            "points": [asdict(point) for point in self.points],
        }


def select(
    table: Table, structure: Structure, settings: Settings, discover: Callable[[Table], Structure]
) -> Choice:
    """Choose among (number of trees, lambda) by cross-validated deviance.

    The simplest model within one standard error of the best is taken: the fewest trees, then the
    largest lambda. The error is that of the difference to the best, over folds.
    """
    smaller = int(min((table.y == 1).sum(), (table.y == 0).sum()))
    if smaller < 2:
        return _nothing_to_validate(table, structure, settings, smaller)
    counts = tree_counts(len(structure.trees))
    grids = [_grid(table, structure, m, settings) for m in counts]
    held_out = folds(table, min(FOLDS, smaller))
    losses = np.zeros((len(held_out), len(counts), GRID))
    for f, rows in enumerate(held_out):
        train = table.take(np.setdiff1d(np.arange(table.n_rows), rows))
        part, valid = discover(train), table.take(rows)
        for k, m in enumerate(counts):
            losses[f, k] = _validated(train, valid, part, m, grids[k], settings)
    weights = np.array([table.weight[rows].sum() for rows in held_out])
    return _one_error_rule(counts, grids, losses, weights)


def tree_counts(accepted: int) -> list[int]:
    """Return the numbers of trees that are compared."""
    return sorted({min(m, accepted) for m in (*TREE_COUNTS, accepted)})


def folds(table: Table, count: int) -> list[NDArray[np.intp]]:
    """Deal the rows of each class out over the folds; rows stand in a content-made random order."""
    fold = np.empty(table.n_rows, np.intp)
    for label in (0.0, 1.0):
        rows = np.flatnonzero(table.y == label)
        fold[rows] = np.arange(len(rows)) % count
    return [np.flatnonzero(fold == f) for f in range(count)]


def _nothing_to_validate(
    table: Table, structure: Structure, settings: Settings, smaller: int
) -> Choice:
    """Admit no term where no row of a class can be held out: the model is the base rate."""
    warnings.warn(
        f"one class has {smaller} distinct row, and l1='cv' must hold some out: the model is the "
        "base rate alone; give more cases, or set l1='4/n' or a number",
        RPTEWarning,
        stacklevel=2,
    )
    return Choice(0, float(_grid(table, structure, 0, settings)[0]), ())


def _terms(table: Table, structure: Structure, m: int, settings: Settings) -> TermSet:
    return choose_terms(
        table,
        structure,
        m,
        settings.ownership,
        settings.max_component_sources,
        settings.paper,
    )


def _grid(table: Table, structure: Structure, m: int, settings: Settings) -> Floats:
    design = make_design(table, structure, _terms(table, structure, m, settings))
    if design.n_terms == 0:
        return np.ones(GRID)
    return lambda_grid(design, settings.l1_ratio, GRID)


def _validated(
    train: Table, valid: Table, structure: Structure, m: int, grid: Floats, settings: Settings
) -> Floats:
    """Return the deviance on held-out rows at each lambda."""
    terms = _terms(train, structure, min(m, len(structure.trees)), settings)
    fits = path(make_design(train, structure, terms), grid, settings.l1_ratio)
    intercepts = np.array([fit.intercept for fit in fits])
    coefficients = np.array([fit.coefficients for fit in fits])
    score = terms.score(valid.inputs, intercepts, coefficients)
    loss = np.logaddexp(0.0, score) - valid.y[:, None] * score
    return 2.0 * (valid.weight @ loss) / valid.total_weight


def _one_error_rule(
    counts: list[int], grids: list[Floats], losses: Floats, weights: Floats
) -> Choice:
    mean = np.average(losses, axis=0, weights=weights)
    best = np.unravel_index(np.argmin(mean), mean.shape)
    spread = _standard_error(losses, weights)
    apart = _standard_error(losses - losses[:, best[0], best[1]][:, None, None], weights)
    good = mean <= mean[best] + apart
    k = int(np.argmax(good.any(axis=1)))
    at = int(np.argmax(good[k]))
    points = tuple(
        Point(m, float(grids[i][j]), float(mean[i, j]), float(spread[i, j]))
        for i, m in enumerate(counts)
        for j in range(len(grids[i]))
    )
    return Choice(counts[k], float(grids[k][at]), points)


def _standard_error(losses: Floats, weights: Floats) -> Floats:
    if len(losses) < 2:
        return np.zeros(losses.shape[1:])
    mean = np.average(losses, axis=0, weights=weights)
    variance = np.average((losses - mean) ** 2, axis=0, weights=weights)
    return np.sqrt(variance / (len(losses) - 1))
