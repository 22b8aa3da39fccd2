"""Rows of a model's table with their targets, and how they are split into folds."""

from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.check import Check
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.observed import Rows
from rpte.model.verify_table import labelled, same_table
from rpte.rows.folds import are_copies, deal
from rpte.table.numbers import named
from rpte.utils.arrays import Array, Index, Ints


def labelled_rows(
    model: Model | ClassesModel,
    X: Any,
    y: Any,
    sample_weight: Any,
    **beside: Any,
) -> Rows:
    """Return a table with its targets and weights as the model's fit saw them.

    What was given `beside` are the exposure and the offset of a number, or the entry and the strata
    of times until an event.
    """
    given = {role: named(X, values) for role, values in beside.items()}
    return labelled(model, model.read(X), y, sample_weight, **given)


def is_training_table(model: Model | ClassesModel, rows: Rows) -> Check:
    """Check that rows are those that the model was fitted on."""
    return same_table(model, rows)[0]


def fold_of_rows(
    content: Array,
    y: Array,
    groups: Array | None,
    folds: int,
    weight: Array | None = None,
    strata: Ints | None = None,
) -> Index:
    """Return the fold of each row, (n,); rows of one group stay together.

    The folds are even in the classes of `y`, or in the strata of numbers. There are fewer folds
    where the smallest class, or the table, has fewer rows or groups.
    """
    if folds < 2:
        raise InputError(f"folds={folds}; give at least 2")
    units = _first_alike(content, y) if groups is None else groups.astype(str)
    classes = strata is None
    if strata is None:
        sides, places = np.unique(y, return_inverse=True)
        strata = places.astype(np.int64)
        held = [len(np.unique(units[strata == k])) for k in range(len(sides))]
        most = min(folds, *held) if len(sides) > 1 else 0
    else:
        most = min(folds, len(np.unique(units)))
        strata = _well_filled(strata, most)
    if most < 2:
        few = "one class" if classes or len(np.unique(y)) <= 2 else "the table"
        raise InputError(f"{few} has fewer than two rows or groups to hold out")
    fold = np.empty(len(y), np.intp)
    if groups is None:
        # In the order of their content, equal rows to different folds unless they are copies.
        order = np.lexsort((*(() if weight is None else (weight,)), content))
        dealt = order[units[order] == order]
        fold[dealt] = deal(strata[dealt], np.ones(len(dealt), np.int64), most).argmax(axis=0)
        fold = fold[units]
    else:
        from sklearn.model_selection import StratifiedGroupKFold

        unit = np.unique(units, return_inverse=True)[1]
        for f, (_, test) in enumerate(StratifiedGroupKFold(most).split(unit, strata, unit)):
            fold[test] = f
    return fold


def _first_alike(content: Array, y: Array) -> Index:
    """Return the first row of each row's copies, which is itself where it has none, (n,)."""
    labels = np.unique(y, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((labels, content))
    new = np.ones(len(order), np.bool_)
    new[1:] = (content[order][1:] != content[order][:-1]) | (
        labels[order][1:] != labels[order][:-1]
    )
    starts, group = np.flatnonzero(new), np.cumsum(new) - 1
    cases = np.diff(np.append(starts, len(order)))
    leads = order[starts]  # a stable sort: the first of each
    copies = are_copies(content[leads], labels[leads].astype(np.float64), cases)
    first = np.arange(len(y))
    first[order] = np.where(copies[group], leads[group], order)
    return first


def _well_filled(strata: Ints, least: int) -> Ints:
    """Return strata of which those with fewer rows than `least` have joined the one before."""
    filled = np.cumsum(np.bincount(strata) >= least) - 1
    return np.asarray(np.maximum(filled, 0)[strata], np.int64)


def trains_on_both(fold: Index, y: Array, every: bool = False) -> list[bool]:
    """Tell of each fold whether the rows of the others are of both classes, or numbers differ.

    With `every`, whether they are of all classes that `y` holds.
    """
    least = max(2, len(np.unique(y))) if every else 2
    return [len(np.unique(y[fold != f])) >= least for f in range(int(fold.max()) + 1)]
