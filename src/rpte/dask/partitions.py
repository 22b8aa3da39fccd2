"""Partitions of dask collections: variables, labels and weights of the same rows, and their facts.

Everything that a partition is asked for here is small; the typed partition stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed

from rpte.errors import CellError, InputError, did_you_mean
from rpte.estimators.target_facts import Look, TargetFacts
from rpte.model.model import Model
from rpte.rows.training_rows import KeptBlock
from rpte.table.blockwise import TableFacts, learn, typed
from rpte.table.column import Raw, distinct
from rpte.table.inputs import as_array, column_names, factorized, require_columns
from rpte.table.read import split_columns
from rpte.table.schema import Schema
from rpte.table.table import merge_rows, read_weights, repetitions
from rpte.utils.arrays import Array, Floats, Index

COLLECTIONS = "a dask data frame or array"


def is_dask(X: Any) -> bool:
    """Tell whether something is a collection of dask, in partitions of rows."""
    return isinstance(X, (dd.DataFrame, dd.Series, da.Array))


class Partition(NamedTuple):
    """The variables of some rows, and what stands beside them: None where there is none."""

    number: int  # among all partitions
    X: Any
    y: Any
    sample_weight: Any = None
    exposure: Any = None
    offset: Any = None

    def labels(self) -> tuple[list[Any], Index]:
        """Return the distinct labels, and which of them each row holds."""
        y = self.y
        column: Raw = factorized(y, "y") if hasattr(y, "dtype") else as_array(y)
        return distinct(column.reshape(-1) if isinstance(column, np.ndarray) else column)

    def numbers(self, role: str) -> Array | None:
        """Return numbers in a role."""
        given = getattr(self, role)
        return None if given is None else as_array(given)

    def weights(self) -> Floats:
        """Return the weights that users gave."""
        return read_weights(self.sample_weight, len(self.X))


@dataclass(frozen=True)
class Collections:
    """A table on a cluster: what is `beside` it, by role, are collections or names of columns."""

    X: Any
    beside: Mapping[str, Any]  # y, sample_weight, exposure, offset; None for none
    unread: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what is not in partitions, and names that are not there."""
        if not isinstance(self.X, (dd.DataFrame, da.Array)):
            raise InputError(
                f"X is {type(self.X).__name__}, not {COLLECTIONS}; fit a table in memory or in "
                "files with the estimator of the same name in rpte, or make it one "
                "(dask.dataframe.from_pandas)"
            )
        if isinstance(self.X, da.Array) and self.X.ndim != 2:
            raise InputError(f"X has {self.X.ndim} dimensions; give an array of rows and columns")
        for role, given in self.beside.items():
            if isinstance(given, str):
                self._check_name(role, given)
            elif not (is_dask(given) or (given is None and role != "y")):
                raise InputError(
                    f"{role} is {type(given).__name__}; X is in partitions, so give the name of "
                    "its column, or a dask series or array of the same partitions"
                )
        if not self.features:
            raise InputError("X has no variables beside the columns that were named")

    def _check_name(self, role: str, name: str) -> None:
        names = [*self.keys] if isinstance(self.X, dd.DataFrame) else []
        if name not in names:
            raise InputError(
                f"{role}='{name}' is not a column of X{did_you_mean(name, names)}; its columns are "
                f"{names[:10]}"
            )

    @property
    def keys(self) -> dict[str, Any]:
        """Columns by name as text; x0, x1, ... of an array."""
        if isinstance(self.X, da.Array):
            return {f"x{place}": place for place in range(self.X.shape[1])}
        return column_names(self.X._meta) or {}

    @property
    def named(self) -> bool:
        """Whether variables have names."""
        return isinstance(self.X, dd.DataFrame)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, those that are not read included."""
        beside = {given for given in self.beside.values() if isinstance(given, str)}
        return tuple(name for name in self.keys if name not in beside)

    @property
    def features(self) -> tuple[str, ...]:
        """The variables that are read; an array keeps its places."""
        unread = self.unread if self.named else ()
        return tuple(name for name in self.names if name not in unread)

    def called(self, role: str) -> str | None:
        """Return the name of what is beside the table, its role if it has no name; None for none.

        A target without a name has none.
        """
        given = self.beside.get(role)
        if given is None or isinstance(given, str):
            return given
        name = getattr(given, "name", None) if isinstance(given, dd.Series) else None
        return name if isinstance(name, str) and name else None if role == "y" else role

    @property
    def label_type(self) -> Any:
        """The type of targets that are numbers."""
        y = self.beside["y"]
        return as_array(self.X._meta[self.keys[y]] if isinstance(y, str) else y._meta).dtype

    def partitions(self) -> list[Any]:
        """Return what makes each partition, as delayed objects."""
        given = self.beside.items()
        series = {role: each for role, each in given if each is not None and not _named(each)}
        tables, apart = aligned_parts(self.X, series)
        names = None if not self.named else [self.keys[name] for name in self.features]
        cut = _Cut(names, {role: self.keys[g] for role, g in given if _named(g)})
        made = delayed(cut, pure=False)
        return [
            made(number, X, {role: parts[number] for role, parts in apart.items()})
            for number, X in enumerate(tables)
        ]


def _named(given: Any) -> bool:
    return isinstance(given, str)


def row_parts(collection: Any, optimized: bool = True) -> list[Any]:
    """Return the partitions of a collection, or the rows of an array, as delayed objects.

    Partitions that are not `optimized` are those that the collection has; dask may join those of
    few columns when it reads files.
    """
    if isinstance(collection, da.Array):
        return [*np.ravel(_by_rows(collection).to_delayed())]
    return [*collection.to_delayed(optimize_graph=optimized)]


def beside_column(X: Any, role: str, given: Any) -> Any:
    """Return what stands beside the rows of X: a collection, or one number or None for all."""
    if isinstance(given, str):
        keys = (column_names(X._meta) or {}) if isinstance(X, dd.DataFrame) else {}
        if given not in keys:
            hint = did_you_mean(given, list(keys))
            raise InputError(f"{role}='{given}' is not a column of X{hint}; name one that is")
        return X[keys[given]]
    if not is_dask(given) and np.ndim(given):
        raise InputError(
            f"{role} is {type(given).__name__}; X is in partitions, so give the name of its "
            "column, a dask series or array of the same partitions, or one number"
        )
    return given


def aligned_parts(X: Any, beside: Mapping[str, Any]) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return the partitions of X, and by role those of what is beside it, as delayed objects.

    Where dask would join those of one of them, all are in the partitions that they have: columns of
    one data frame then share the task that reads it.
    """
    found = [row_parts(each) for each in (X, *beside.values())]
    if beside and any(map(_are_joined, (X, *beside.values()), found)):
        found = [row_parts(each, optimized=False) for each in (X, *beside.values())]
    tables, apart = found[0], dict(zip(beside, found[1:], strict=True))
    for role, parts in apart.items():
        if len(parts) != len(tables):
            raise InputError(
                f"X has {len(tables)} partitions, {role} has {len(parts)}; give {role} as the name "
                "of a column of X, as a series of the data frame that X comes from "
                "(X = frame.drop(columns=name), frame[name]), or repartition both alike"
            )
    return tables, apart


def _are_joined(collection: Any, parts: list[Any]) -> bool:
    return not isinstance(collection, da.Array) and len(parts) < collection.npartitions


def _by_rows(array: da.Array) -> da.Array:
    """Return an array in blocks of whole rows."""
    whole = array.ndim == 1 or array.numblocks[1] == 1
    return array if whole else array.rechunk({1: -1})


def needed_columns(X: Any, model: Model) -> Any:
    """Return the columns that a model reads, of a collection that has all columns of training."""
    if isinstance(X, da.Array):
        return _by_rows(X)
    require_columns(X._meta, model.schema)
    keys = column_names(X._meta) or {}
    if not model.schema.named:
        return X
    return X[[keys[name] for name in model.sources or model.schema.names[:1]]]


@dataclass(frozen=True)
class _Cut:
    """Take a partition apart."""

    __name__ = "rpte_partition"

    features: list[Any] | None
    columns: dict[str, Any]  # of what is beside the table, by role

    def __call__(self, number: int, X: Any, apart: dict[str, Any]) -> Partition:
        found = {role: X[name] for role, name in self.columns.items()} | apart
        X = X if self.features is None else X[self.features]
        for name, beside in found.items():
            if len(beside) != len(X):
                raise InputError(
                    f"a partition of X has {len(X)} rows, that of {name} {len(beside)}; take both "
                    "from one data frame, after rows were left out, or repartition them alike"
                )
        return Partition(number, X, **found)


@dataclass(frozen=True)
class Looking:
    """A first look at the targets of a partition."""

    look: Look

    def __call__(self, part: Partition) -> Any:
        """Look at one partition; say in which of them a cell is."""
        try:
            return self.look(part)
        except CellError as error:
            place = f"row {error.row} of partition {part.number} (counted from 0)"
            raise error.at(error.name, place) from None


@dataclass(frozen=True)
class Learning:
    """What a partition tells of the schema."""

    target: TargetFacts
    specials: Any

    def __call__(self, part: Partition) -> TableFacts:
        """Look at one partition."""
        return learn(split_columns(part.X), self.target.read(part).weight, self.specials)


@dataclass(frozen=True)
class Typing:
    """A partition under the schema of all, equal rows merged."""

    target: TargetFacts
    schema: Schema

    def __call__(self, part: Partition) -> KeptBlock:
        """Read one partition."""
        found = self.target.read(part)
        y, weight, loss = self.target.target(found.label), found.weight, self.target.predicts.loss
        inputs, cases = typed(split_columns(part.X), self.schema), repetitions(found.given)
        if not (weight > 0).all():
            at = np.flatnonzero(weight > 0)
            inputs, y, weight, cases = inputs.take(at), y[at], weight[at], cases[at]
        table = merge_rows(inputs, y, weight, cases=cases, loss=loss)
        room = 4 * table.n_rows * len(self.schema)
        own = table.inputs, table.y, table.weight, None, table.hashes, table.cases, table.loss
        return KeptBlock(*own, room=room)
