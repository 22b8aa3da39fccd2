"""Which rows inner validation holds out: by content, by group, or by the user's own splitter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.table import Table

Ints = NDArray[np.int64]
Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]

FOLDS = 5
SMALL = 1_000
REPEATS = 3  # of all folds, on small tables that are split by content
MIDDLING = 5_000  # from here on two of the folds, if both classes have so many rows:
MANY_CASES = 1_000
LONG = 8_000  # from here on one of them
LARGE = 20_000
SAMPLE = 25_000
TRAIN, TEST = 1, 2


@dataclass(frozen=True, slots=True)
class Validation:
    """How a table is split for inner validation.

    Parameters
    ----------
    count : int
        Number of folds where the table is split by content or by group.
    part : (n,) or None
        What keeps equal rows apart: each row's group, or its roles in the user's splits.
    roles : (splits, parts) or None
        For the user's splits: 1 where a part trains, 2 where it is held out.
    """

    count: int = FOLDS
    part: Ints | None = None
    roles: NDArray[np.int8] | None = None

    @property
    def by(self) -> str:
        """What decides which rows stay together: their content, groups, or the user's splits."""
        if self.roles is not None:
            return "splits"
        return "content" if self.part is None else "groups"

    def folds(self, table: Table) -> list[Fold]:
        """Return training and held-out rows; folds that train on one class only are left out.

        Below 1,000 distinct rows the folds are dealt out three times, each time anew, when content
        decides. Above 5,000 distinct rows two of the folds are used, above 8,000 one (all where a
        class has fewer than 1,000), above 20,000 always one, of a sample of 25,000 rows: the first,
        which content has put in a random order, or whole groups in the order of their first rows.
        The user's own splits are all used.
        None are returned where all held-out rows are of one class: they could not tell a model that
        is too sure of it.
        """
        if self.roles is not None and table.part is not None:
            roles = self.roles[:, table.part]
            found = [(np.flatnonzero(r == TRAIN), np.flatnonzero(r == TEST)) for r in roles]
        else:
            found = self._own_folds(table)
        kept = [(a, b) for a, b in found if len(b) and _both(table.y[a])]
        held_out = [table.y[b] for _, b in kept]
        return kept if held_out and _both(np.concatenate(held_out)) else []

    def _own_folds(self, table: Table) -> list[Fold]:
        large = table.n_rows > LARGE
        if self.part is None:
            rows = np.arange(min(table.n_rows, SAMPLE if large else table.n_rows))
            repeats = min(REPEATS, self.count) if table.n_rows < SMALL else 1
            dealt = [_by_content(table.y[rows], self.count, r) for r in range(repeats)]
        else:
            rows = _whole_groups(table, self.count) if large else np.arange(table.n_rows)
            dealt = [_by_group(table.take(rows), self.count)]
        return [
            (rows[fold != f], rows[fold == f])
            for fold in dealt
            for f in range(min(_most_folds(table), int(fold.max(initial=-1)) + 1))
        ]


def _most_folds(table: Table) -> int:
    if table.n_rows > LARGE:
        return 1
    cases = min(table.y.sum(), table.n_rows - table.y.sum())
    if table.n_rows <= MIDDLING or cases < MANY_CASES:
        return table.n_rows
    return 2 if table.n_rows <= LONG else 1


def _both(y: NDArray[np.float64]) -> bool:
    return bool(0 < y.sum() < len(y))


def make_validation(cv: Any, X: Any, y: Any, groups: Any) -> Validation:
    """Return how to split, from the parameters `cv` and `groups`.

    Parameters
    ----------
    cv : None, int, splitter with a `split` method, or iterable of (train, test) positions
    X, y : what was passed to `fit`
    groups : (n,) labels, or None
    """
    labels = None if groups is None else _group_numbers(groups, len(y))
    if cv is None or isinstance(cv, Integral):
        count = FOLDS if cv is None else int(cv)
        if isinstance(cv, bool) or count < 2:
            raise InputError(f"cv={cv!r}; give at least 2 folds, a splitter, or a list of splits")
        return Validation(count, labels)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InputError(f"cv={cv!r}; it must be None, a number of folds, a splitter or splits")
    splits = cv.split(X, y, groups) if hasattr(cv, "split") else cv
    return _from_splits([_positions(split, len(y)) for split in splits], len(y))


def _positions(split: Any, n_rows: int) -> Fold:
    """Return a split as positions of training and held-out rows; masks are positions too."""
    sides = [np.asarray(side) for side in split]
    masks = [side.dtype == np.bool_ and side.shape == (n_rows,) for side in sides]
    sides = [np.flatnonzero(s) if mask else s for s, mask in zip(sides, masks, strict=True)]
    if len(sides) != 2 or any(s.ndim != 1 or (s.size and s.dtype.kind not in "iu") for s in sides):
        raise InputError("cv has a split that is no pair (train, test) of row positions")
    train, test = (s.astype(np.intp) for s in sides)
    both = np.concatenate([train, test])
    outside = both[(both < 0) | (both >= n_rows)]
    if outside.size:
        raise InputError(f"cv has a split with row {outside[0]}; X has rows 0 to {n_rows - 1}")
    return train, test


def _group_numbers(groups: Any, n_rows: int) -> Ints:
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InputError(
            f"groups has shape {labels.shape}; give one group for each of {n_rows} rows"
        )
    texts = labels.astype(str) if labels.dtype.kind == "O" else labels
    return np.unique(texts, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _from_splits(splits: list[Fold], n_rows: int) -> Validation:
    """Number the rows by their roles, so that equal rows with equal roles may be merged."""
    if not splits:
        raise InputError("cv gives no splits; give at least one (train, test) pair")
    roles = np.zeros((len(splits), n_rows), np.int8)
    for role, (train, test) in zip(roles, splits, strict=True):
        if np.intersect1d(train, test).size:
            raise InputError("cv has a split whose training and held-out rows overlap")
        role[train] = TRAIN
        role[test] = TEST
    kinds, part = np.unique(roles, axis=1, return_inverse=True)
    return Validation(len(splits), part.astype(np.int64).reshape(-1), kinds)


def _by_content(y: NDArray[np.float64], count: int, repeat: int) -> Ints:
    """Deal the rows of each class out over the folds; rows stand in a content-made random order.

    Rows that met in a fold are parted in the other repeats: the r-th deals row k to k + r floor(k /
    count), as in a Latin square, which has as many ways as there are folds.
    """
    fold = np.empty(len(y), np.int64)
    for label in (0.0, 1.0):
        rows = np.flatnonzero(y == label)
        places = np.arange(len(rows))
        fold[rows] = (places + repeat * (places // count)) % count
    return fold


def _whole_groups(table: Table, least: int) -> Rows:
    """Return the rows of as many groups as a sample needs, and at least so many.

    Content has put them in random order.
    """
    assert table.part is not None
    first, counts = np.unique(table.part, return_index=True, return_counts=True)[1:]
    order = np.argsort(first)
    enough = max(least, 1 + int(np.searchsorted(np.cumsum(counts[order]), SAMPLE)))
    return np.flatnonzero(np.isin(table.part, table.part[first[order[:enough]]]))


def _by_group(table: Table, count: int) -> Ints:
    """Deal whole groups out, heaviest first, to the fold that stays most even in both classes."""
    assert table.part is not None
    numbers, group = np.unique(table.part, return_inverse=True)
    classes = np.stack(
        [np.bincount(group, table.weight * (table.y == label)) for label in (0.0, 1.0)], axis=1
    )
    share = classes / np.maximum(classes.sum(axis=0), 1e-300)
    filled = np.zeros((min(count, len(numbers)), 2))
    chosen = np.empty(len(numbers), np.int64)
    for g in np.lexsort((numbers, -share.sum(axis=1))):
        cost = ((filled + share[g]) ** 2 - filled**2).sum(axis=1)
        chosen[g] = int(np.argmin(np.round(cost, 12)))
        filled[chosen[g]] += share[g]
    return chosen[group]
