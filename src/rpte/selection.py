"""Honest inner validation: the number of trees and the penalty, chosen together.

Everything learned from y (bins, patterns, pairs, trees) is learned again in each fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import RPTEWarning
from rpte.estimation.monotone import path_in_order
from rpte.estimation.path import lambda_grid
from rpte.estimation.solver import Fit
from rpte.estimation.terms import Structure, TermSet, choose_terms, make_design
from rpte.folds import Fold, Validation
from rpte.settings import Settings
from rpte.structure.order import ordered_leaves
from rpte.table.table import Table

Floats = NDArray[np.float64]

GRID = 40
BLOCKS = 10  # of the held-out rows, for the standard error where there is one fold
TREE_COUNTS = (0, 1, 2, 3, 5, 8)


@dataclass(frozen=True, slots=True)
class Point:
    """Validated loss of one number of trees at one penalty.

    `folds` are the deviances of the single folds (or of blocks of the held-out rows where there is
    one fold), `deviance` their weighted mean and `error` its standard error.
    """

    n_trees: int
    l1: float
    deviance: float
    error: float
    folds: tuple[float, ...]


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
            "points": [{**asdict(p), "folds": list(p.folds)} for p in self.points],
        }


def select(
    table: Table,
    structure: Structure,
    settings: Settings,
    validation: Validation,
    discover: Callable[[Table], Structure],
) -> Choice:
    """Choose among (number of trees, lambda) by cross-validated deviance.

    The best validated deviance wins; ties go to fewer trees, then to the larger lambda.
    """
    folds = validation.folds(table)
    if not folds:
        return _nothing_to_validate(table, structure, settings)
    counts = tree_counts(len(structure.trees))
    grids = [_grid(table, structure, m, settings) for m in counts]
    blocks = 1 if len(folds) > 1 else BLOCKS
    losses, weights = [], []
    for train_rows, test_rows in folds:
        train = table.take(train_rows)
        part = discover(train)
        valid = [table.take(rows) for rows in np.array_split(test_rows, blocks)]
        fitted = [_fits(train, part, m, grids[k], settings) for k, m in enumerate(counts)]
        losses += [[_deviance(v, terms, fits) for terms, fits in fitted] for v in valid if v.n_rows]
        weights += [v.total_weight for v in valid if v.n_rows]
    share = max(len(train_rows) for train_rows, _ in folds) / table.n_rows
    shrink = np.sqrt(share) if _sampled(table, folds) else 1.0
    choice = _best(counts, grids, np.array(losses), np.array(weights))
    return replace(choice, l1=choice.l1 * float(shrink))


def _sampled(table: Table, folds: list[Fold]) -> bool:
    """Tell whether validation saw a sample only; the penalty then shrinks with the root of n."""
    return len(folds[0][0]) + len(folds[0][1]) < table.n_rows and len(folds) == 1


def tree_counts(accepted: int) -> list[int]:
    """Return the numbers of trees that are compared."""
    return sorted({min(m, accepted) for m in (*TREE_COUNTS, accepted)})


def _nothing_to_validate(table: Table, structure: Structure, settings: Settings) -> Choice:
    """Admit no term where nothing can be held out: the model is the base rate."""
    smaller = int(min((table.y == 1).sum(), (table.y == 0).sum()))
    warnings.warn(
        f"l1='cv' finds no splits that train and test on both classes ({smaller} distinct row(s) "
        "in the smaller class): the model is the base rate alone; give more cases or groups, or "
        "set l1='4/n' or a number",
        RPTEWarning,
        stacklevel=2,
    )
    return Choice(0, float(_grid(table, structure, 0, settings)[0]), ())


def _terms(table: Table, structure: Structure, m: int, settings: Settings) -> TermSet:
    return choose_terms(table, structure, m, settings.admission())


def _grid(table: Table, structure: Structure, m: int, settings: Settings) -> Floats:
    terms = _terms(table, structure, m, settings)
    design = make_design(table, structure, terms, settings.limits)
    if design.n_terms == 0:
        return np.ones(GRID)
    return lambda_grid(design, settings.l1_ratio, GRID)


def _fits(
    train: Table, structure: Structure, m: int, grid: Floats, settings: Settings
) -> tuple[TermSet, list[Fit]]:
    """Fit the whole path of lambdas on the training rows of a fold."""
    terms = _terms(train, structure, min(m, len(structure.trees)), settings)
    design = make_design(train, structure, terms, settings.limits)
    order = [ordered_leaves(tree, settings.limits.directions) for tree in terms.trees]
    return terms, path_in_order(design, order, grid, settings.l1_ratio)


def _deviance(valid: Table, terms: TermSet, fits: list[Fit]) -> Floats:
    """Return the deviance on held-out rows at each lambda."""
    intercepts = np.array([fit.intercept for fit in fits])
    coefficients = np.array([fit.coefficients for fit in fits])
    score = terms.score(valid.inputs, intercepts, coefficients)
    loss = np.logaddexp(0.0, score) - valid.y[:, None] * score
    return np.asarray(2.0 * (valid.weight @ loss) / valid.total_weight)


def _best(counts: list[int], grids: list[Floats], losses: Floats, weights: Floats) -> Choice:
    mean = np.average(losses, axis=0, weights=weights)
    spread = _standard_error(losses, weights)
    # Counts ascend and lambdas descend, so that the first of equals is the simplest.
    k, at = np.unravel_index(int(np.argmin(np.round(mean, 12))), mean.shape)
    points = tuple(
        Point(
            m,
            float(grids[i][j]),
            float(mean[i, j]),
            float(spread[i, j]),
            tuple(losses[:, i, j].tolist()),
        )
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
