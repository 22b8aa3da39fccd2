"""Which cases inner validation holds out: by content, by group, or by the user's own splitter.

A row that recurs, or has a whole weight, stands for several cases. Where they recur by chance they
are divided over the folds as evenly as can be, so that validation meets recurring rows as often as
a user will. Where they are copies (`are_copies`) they stay in one fold, or a model that learns rows
by heart would look right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.rows import scale
from rpte.table.inputs import as_array
from rpte.table.table import Table, row_hashes
from rpte.utils.arrays import Floats, Index, Int8s, Ints, Mask, Words

Split = tuple[Index, Index]

TRAIN, TEST = 1, 2


@dataclass(frozen=True, slots=True)
class Cases:
    """Some of the cases that the rows of a table stand for: rows (m,), and how many of each."""

    rows: Index
    number: Ints

    @classmethod
    def of(cls, number: Ints) -> Cases:
        """Return the rows that have any, of the number of each row, (n,)."""
        rows = np.flatnonzero(number)
        return cls(rows, number[rows])

    def on(self, table: Table) -> Table:
        """Return the table of these cases."""
        return table.take(self.rows, self.number)


@dataclass(frozen=True, slots=True)
class Fold:
    """The cases that train, and those held out; a row may have both."""

    train: Cases
    test: Cases


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

    count: int = scale.FOLDS
    part: Ints | None = None
    roles: Int8s | None = None

    @property
    def by(self) -> str:
        """What decides which rows stay together: their content, groups, or the user's splits."""
        if self.roles is not None:
            return "splits"
        return "content" if self.part is None else "groups"

    def sample(self, table: Table) -> Table:
        """Return the table that is searched: the whole one, or a sample where it is long.

        Above 100,000 distinct rows it has so many of them, or whole groups in the order of their
        first rows. The user's own splits are of the whole table.
        """
        if self.roles is not None or table.n_rows <= scale.SAMPLE_ROWS:
            return table
        if self.part is None:
            return table.sample(scale.SAMPLE_ROWS)
        rows = _whole_groups(table, self.count)
        return table if len(rows) == table.n_rows else table.take(rows)

    def folds(self, table: Table, copies: bool = True) -> list[Fold]:
        """Return training and held-out cases; folds that train on one class only are left out.

        Without `copies`, as in earlier versions, these are divided like other cases.

        The user's own splits are all used. None are returned where all held-out cases are
        of one class: they could not tell a model that is too sure of it.
        """
        cases = table.cases_of()
        if self.roles is not None and table.part is not None:
            roles = self.roles[:, table.part]
            sides = [(cases * (r == TRAIN), cases * (r == TEST)) for r in roles]
        else:
            sides = [(cases - held, held) for held in self._held_out(table, copies)]
        found = [Fold(Cases.of(train), Cases.of(test)) for train, test in sides]
        varies = table.loss.varies
        kept = [f for f in found if len(f.test.rows) and varies(table.y[f.train.rows])]
        tested = [table.y[fold.test.rows] for fold in kept]
        return kept if tested and varies(np.concatenate(tested)) else []

    def is_long(self, table: Table) -> bool:
        """Tell whether one fold is searched, and gives the structure."""
        return self.roles is None and table.n_rows > scale.LONG_ABOVE

    def split(self, table: Table) -> tuple[list[Fold], list[Fold]]:
        """Return the folds that the search sees, and the others, which validate finalists.

        All up to 5,000 distinct rows, where a class has fewer than 1,000 cases, and of the user's
        own splits; two up to 20,000 rows, and one of more.
        """
        folds = self.folds(table)
        if self.is_long(table):
            return folds[:1], folds[1:]
        cases = table.loss.effective_cases(table.y, table.cases_of())
        few = table.n_rows <= scale.MANY_ROWS or cases < scale.FEWER_FOLDS_FROM_CASES
        return (folds, []) if few or self.roles is not None else (folds[:2], folds[2:])

    def _held_out(self, table: Table, copies: bool) -> Iterator[Ints]:
        """Yield how many cases of each row every fold holds out, (n,)."""
        if self.part is not None:
            fold = _by_group(table, self.count)
            for f in range(int(fold.max(initial=-1)) + 1):
                yield table.cases_of() * (fold == f)
            return
        strata, cases = table.loss.strata(table.y), table.cases_of()
        held = deal(strata, cases, self.count, copies_of(table) if copies else None)
        if table.loss.n_scores > 1:  # the only case of a class always trains
            held[:, np.bincount(strata, cases)[strata] == 1] = 0
        yield from held


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
        count = scale.FOLDS if cv is None else int(cv)
        if isinstance(cv, bool) or count < 2:
            raise InputError(f"cv={cv!r}; give at least 2 folds, a splitter, or a list of splits")
        return Validation(count, labels)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InputError(f"cv={cv!r}; it must be None, a number of folds, a splitter or splits")
    splits = cv.split(X, y, groups) if hasattr(cv, "split") else cv
    return _from_splits([_positions(split, len(y)) for split in splits], len(y))


def _positions(split: Any, n_rows: int) -> Split:
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
    labels = as_array(groups)
    if labels.shape != (n_rows,):
        raise InputError(
            f"groups has shape {labels.shape}; give one group for each of {n_rows} rows"
        )
    texts = labels.astype(str) if labels.dtype.kind == "O" else labels
    return np.unique(texts, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _from_splits(splits: list[Split], n_rows: int) -> Validation:
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


def copies_of(table: Table) -> Mask:
    """Tell which rows of a table stand for copies of one case, shape (n,)."""
    content = row_hashes(table.inputs) if table.hashes is None else table.hashes
    return are_copies(content, table.y, table.cases_of())


def are_copies(content: Words, y: Floats, cases: Ints) -> Mask:
    """Tell which rows stand for copies of one case, which no two folds may share, shape (n,).

    Cases that recur by chance, as in a table of few contents, differ in their targets like others
    of that content. Copies, such as whole weights make, agree: where two cases of one content
    differ in their targets less than a quarter as often as any two, repeated rows are copies. A
    content that weighs much is none: as a row of special codes throughout, new cases will be it.

    Parameters
    ----------
    content : (n,) hashes of cells, equal where these are
    y, cases : (n,) target and number of cases of each distinct row
    """
    place = np.unique(content, return_inverse=True)[1].reshape(-1)
    number = np.bincount(place, cases).astype(np.float64)
    total = number.sum()
    heavy = (number >= scale.FOLDS) & (number >= scale.HEAVY_SHARE * total)
    recurs = (number > 1) & ~heavy
    pairs = np.maximum(number * (number - 1.0), 1.0)
    alike = np.bincount(place, cases * (cases - 1.0)) / pairs
    unlike = float(number[recurs] @ (1.0 - alike[recurs]))
    targets = np.bincount(np.unique(y, return_inverse=True)[1].reshape(-1), cases) / total
    expected = float(number[recurs].sum() * (1.0 - targets @ targets))
    if unlike >= scale.UNLIKE_SHARE * expected:
        return np.zeros(len(y), np.bool_)
    return np.asarray(recurs[place])


def deal(strata: Ints, cases: Ints, count: int, whole: Mask | None = None) -> Ints:
    """Deal the cases of each stratum out over the folds: how many of each row's, (folds, n).

    Rows that are `whole`, (n,), have all their cases in one fold.

    Rows stand in a random order that content has made. Each row's cases go to one fold after the
    other, so that no fold has two more of a row's cases than another.
    """
    if whole is not None and whole.any():
        one = deal(strata, np.where(whole, np.minimum(cases, 1), cases), count)
        return np.asarray(np.where(whole, one * cases, one))
    first = np.empty(len(strata), np.int64)
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        place = np.cumsum(cases[rows]) - cases[rows]
        first[rows] = place % count
    turn = (np.arange(count)[:, None] - first) % count  # when it is a fold's turn
    return np.asarray(cases // count + (turn < cases % count))


def _whole_groups(table: Table, least: int) -> Index:
    """Return the rows of as many groups as a sample needs, at least of `least` groups.

    Content has put them in random order.
    """
    assert table.part is not None
    first, counts = np.unique(table.part, return_index=True, return_counts=True)[1:]
    order = np.argsort(first)
    enough = max(least, 1 + int(np.searchsorted(np.cumsum(counts[order]), scale.SAMPLE_ROWS)))
    return np.flatnonzero(np.isin(table.part, table.part[first[order[:enough]]]))


def _by_group(table: Table, count: int) -> Ints:
    """Deal whole groups out, heaviest first, to the fold that stays most even in all strata."""
    assert table.part is not None
    numbers, group = np.unique(table.part, return_inverse=True)
    strata = table.loss.strata(table.y)
    sums = [np.bincount(group, table.weight * (strata == s)) for s in range(strata.max() + 1)]
    masses = np.stack(sums, axis=1)
    fraction = masses / np.maximum(masses.sum(axis=0), 1e-300)
    filled = np.zeros((min(count, len(numbers)), masses.shape[1]))
    chosen = np.empty(len(numbers), np.int64)
    for g in np.lexsort((numbers, -fraction.sum(axis=1))):
        cost = ((filled + fraction[g]) ** 2 - filled**2).sum(axis=1)
        chosen[g] = int(np.argmin(np.round(cost, 12)))
        filled[chosen[g]] += fraction[g]
    return chosen[group]
