"""Partitions of dask collections: variables, labels and weights of the same rows, and their facts.

Everything that a partition is asked for here is small; the typed partition stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed

from rpte.errors import InputError, did_you_mean
from rpte.estimators.training_files import TargetFacts
from rpte.model.model import Model
from rpte.rows.files import LabelCounts, numbers_of
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
    """The variables of some rows, their labels, and weights if there are any."""

    X: Any
    y: Any
    weight: Any


@dataclass(frozen=True)
class Collections:
    """A table on a cluster: `y` and `weight` are collections beside it, or names of columns."""

    X: Any
    y: Any
    weight: Any
    unread: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what is not in partitions, and names that are not there."""
        if not isinstance(self.X, (dd.DataFrame, da.Array)):
            raise InputError(
                f"X is {type(self.X).__name__}, not {COLLECTIONS}; fit a table in memory or in "
                "files with rpte.RPTEClassifier, or make it one (dask.dataframe.from_pandas)"
            )
        if isinstance(self.X, da.Array) and self.X.ndim != 2:
            raise InputError(f"X has {self.X.ndim} dimensions; give an array of rows and columns")
        for role, given in (("y", self.y), ("sample_weight", self.weight)):
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
        beside = {given for given in (self.y, self.weight) if isinstance(given, str)}
        return tuple(name for name in self.keys if name not in beside)

    @property
    def features(self) -> tuple[str, ...]:
        """The variables that are read; an array keeps its places."""
        unread = self.unread if self.named else ()
        return tuple(name for name in self.names if name not in unread)

    @property
    def target_name(self) -> Any:
        """What the target is called, if it has a name."""
        return self.y if isinstance(self.y, str) else getattr(self.y, "name", None)

    @property
    def label_type(self) -> Any:
        """The type of labels that are numbers."""
        meta = self.X._meta[self.keys[self.y]] if isinstance(self.y, str) else self.y._meta
        return as_array(meta).dtype

    def partitions(self) -> list[Any]:
        """Return what makes each partition, as delayed objects."""
        sides = [row_parts(self.X), *(self._beside(given) for given in (self.y, self.weight))]
        counts = {len(side) for side in sides if side is not None}
        if len(counts) > 1:
            raise InputError(
                f"X has {len(sides[0] or ())} partitions, y or sample_weight others; take them "
                "from one data frame, or repartition them alike"
            )
        names = None if not self.named else [self.keys[name] for name in self.features]
        columns = [self.keys.get(g) if isinstance(g, str) else None for g in (self.y, self.weight)]
        cut = delayed(_Cut(names, *columns), pure=False)
        filled = [side or [None] * len(sides[0] or ()) for side in sides]
        return [cut(*parts) for parts in zip(*filled, strict=True)]

    def _beside(self, given: Any) -> list[Any] | None:
        return None if given is None or isinstance(given, str) else row_parts(given)


def row_parts(collection: Any) -> list[Any]:
    """Return the partitions of a collection, or the rows of an array, as delayed objects."""
    if isinstance(collection, da.Array):
        return [*np.ravel(_by_rows(collection).to_delayed())]
    return [*collection.to_delayed()]


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
    target: Any
    weight: Any

    def __call__(self, X: Any, y: Any, weight: Any) -> Partition:
        y = X[self.target] if y is None else y
        weight = X[self.weight] if self.weight is not None else weight
        X = X if self.features is None else X[self.features]
        for name, beside in (("y", y), ("sample_weight", weight)):
            if beside is not None and len(beside) != len(X):
                raise InputError(
                    f"a partition of X has {len(X)} rows, that of {name} {len(beside)}; take both "
                    "from one data frame, or repartition them alike"
                )
        return Partition(X, y, weight)


def _cells(y: Any) -> tuple[list[Any], Index]:
    column: Raw = factorized(y, "y") if hasattr(y, "dtype") else as_array(y)
    return distinct(column.reshape(-1) if isinstance(column, np.ndarray) else column)


def count_labels(part: Partition) -> LabelCounts:
    """Count the labels of a partition, and weigh them."""
    found = LabelCounts()
    found.add(*_cells(part.y), read_weights(part.weight, len(part.X)))
    return found


@dataclass(frozen=True)
class Weighing:
    """Weights and classes of the rows of a partition."""

    target: TargetFacts

    def weights(self, part: Partition) -> tuple[Array, Floats, Floats]:
        """Return class, weight, and weight times the factor of the class, of each row."""
        label = numbers_of(*_cells(part.y), self.target.label, "label")
        weight = read_weights(part.weight, len(part.X))
        return label, weight, weight * self.target.factors[label]


@dataclass(frozen=True)
class Learning(Weighing):
    """What a partition tells of the schema."""

    specials: Any

    def __call__(self, part: Partition) -> TableFacts:
        """Look at one partition."""
        return learn(split_columns(part.X), self.weights(part)[2], self.specials)


@dataclass(frozen=True)
class Typing(Weighing):
    """A partition under the schema of all, equal rows merged."""

    schema: Schema

    def __call__(self, part: Partition) -> KeptBlock:
        """Read one partition."""
        label, given, weight = self.weights(part)
        y = np.asarray(label == self.target.positive, np.float64)
        inputs, cases = typed(split_columns(part.X), self.schema), repetitions(given)
        if not (weight > 0).all():
            at = np.flatnonzero(weight > 0)
            inputs, y, weight, cases = inputs.take(at), y[at], weight[at], cases[at]
        table = merge_rows(inputs, y, weight, cases=cases)
        room = 4 * table.n_rows * len(self.schema)
        own = table.inputs, table.y, table.weight, None, table.hashes, table.cases, table.loss
        return KeptBlock(*own, room=room)
