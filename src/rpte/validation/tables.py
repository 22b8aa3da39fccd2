"""Rows of a model's table with their targets, and how they are split into folds."""

from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.check import Check
from rpte.model.model import Model
from rpte.model.verify_table import Rows, labelled, merged, same_table
from rpte.rows.folds import deal
from rpte.table.numbers import named
from rpte.utils.arrays import Array, Index, Ints


def labelled_rows(
    model: Model, X: Any, y: Any, sample_weight: Any, exposure: Any = None, offset: Any = None
) -> Rows:
    """Return a table with its targets and weights as the model's fit saw them."""
    given = named(X, exposure), named(X, offset)
    return labelled(model, model.read(X), y, sample_weight, *given)


def is_training_table(model: Model, rows: Rows) -> Check:
    """Check that rows are those that the model was fitted on."""
    return same_table(model, merged(rows, model.loss))[0]


def fold_of_rows(
    content: Array,
    y: Array,
    groups: Array | None,
    folds: int,
    weight: Array | None = None,
    strata: Ints | None = None,
) -> Index:
    """Return the fold of each row, (n,); rows of one group stay together.

    The folds are even in the two classes of `y`, or in the strata of numbers. There are fewer folds
    where the smaller class, or the table, has fewer rows or groups.
    """
    if folds < 2:
        raise InputError(f"folds={folds}; give at least 2")
    units = np.arange(len(y)) if groups is None else groups.astype(str)
    if strata is None:
        strata = (y == np.unique(y)[-1]).astype(np.int64)
        most = min(folds, *(len(np.unique(units[strata == side])) for side in (0, 1)))
    else:
        most = min(folds, len(np.unique(units)))
        strata = _well_filled(strata, most)
    if most < 2:
        few = "one class" if len(np.unique(y)) <= 2 else "the table"
        raise InputError(f"{few} has fewer than two rows or groups to hold out")
    fold = np.empty(len(y), np.intp)
    if groups is None:
        # In the order of their content, equal rows to different folds.
        order = np.lexsort((*(() if weight is None else (weight,)), content))
        dealt = deal(strata[order], np.ones(len(order), np.int64), most)
        fold[order] = dealt.argmax(axis=0)
    else:
        from sklearn.model_selection import StratifiedGroupKFold

        unit = np.unique(units, return_inverse=True)[1]
        for f, (_, test) in enumerate(StratifiedGroupKFold(most).split(unit, strata, unit)):
            fold[test] = f
    return fold


def _well_filled(strata: Ints, least: int) -> Ints:
    """Return strata of which those with fewer rows than `least` have joined the one before."""
    filled = np.cumsum(np.bincount(strata) >= least) - 1
    return np.asarray(np.maximum(filled, 0)[strata], np.int64)


def trains_on_both(fold: Index, y: Array) -> list[bool]:
    """Tell of each fold whether the rows of the others are of both classes, or numbers differ."""
    return [len(np.unique(y[fold != f])) > 1 for f in range(int(fold.max()) + 1)]
