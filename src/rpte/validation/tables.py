"""Labelled rows of a model's table, and how they are split into folds."""

from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.check import Check
from rpte.model.model import Model
from rpte.model.verify_table import Rows, labelled, merged, same_table
from rpte.rows.folds import deal
from rpte.utils.arrays import Array, Index


def labelled_rows(model: Model, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Return a table with its labels and weights as the model's fit saw them."""
    return labelled(model, model.read(X), y, sample_weight)


def is_training_table(model: Model, rows: Rows) -> Check:
    """Check that rows are those that the model was fitted on."""
    return same_table(model, merged(rows))[0]


def fold_of_rows(
    content: Array, y: Array, groups: Array | None, folds: int, weight: Array | None = None
) -> Index:
    """Return the fold of each row, (n,); rows of one group stay together.

    There are fewer folds where the smaller class has fewer rows or groups.
    """
    if folds < 2:
        raise InputError(f"folds={folds}; give at least 2")
    positive = y == np.unique(y)[-1]
    units = np.arange(len(y)) if groups is None else groups.astype(str)
    most = min(folds, *(len(np.unique(units[positive == side])) for side in (False, True)))
    if most < 2:
        raise InputError("one class has fewer than two rows or groups to hold out")
    fold = np.empty(len(y), np.intp)
    if groups is None:
        # In the order of their content, equal rows to different folds.
        order = np.lexsort((*(() if weight is None else (weight,)), content))
        dealt = deal(positive[order].astype(np.int64), np.ones(len(order), np.int64), most)
        fold[order] = dealt.argmax(axis=0)
    else:
        from sklearn.model_selection import StratifiedGroupKFold

        unit = np.unique(units, return_inverse=True)[1]
        for f, (_, test) in enumerate(StratifiedGroupKFold(most).split(unit, positive, unit)):
            fold[test] = f
    return fold


def trains_on_both(fold: Index, y: Array) -> list[bool]:
    """Tell of each fold whether the rows of the others are of both classes."""
    return [len(np.unique(y[fold != f])) == 2 for f in range(int(fold.max()) + 1)]
