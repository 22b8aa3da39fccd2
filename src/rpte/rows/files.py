"""Tables in files: opened through `pyarrow.dataset`, and read batch by batch as raw columns.

A path, a pattern, a folder, several paths, or a `pyarrow.dataset.Dataset`. A stream can be read
once only, so it is first written to a Parquet file in the folder of the cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rpte.errors import InputError, did_you_mean, warn
from rpte.rows.threads import has_threads
from rpte.table.column import Factorized, Raw, is_absent
from rpte.table.inputs import repeated
from rpte.table.read import RawTable, declared_kinds
from rpte.table.schema import Kind
from rpte.table.table import read_weights
from rpte.utils.arrays import Array, Floats, Index

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset as ds

T = TypeVar("T")

BATCH_ROWS = 131_072
TOGETHER = 4  # batches that threads share
PARQUET = (".parquet", ".pq")
MOST_LABELS = 1_000  # different ones, more than which are not counted
MOST_GROUPS = 2_000_000


def is_stored(X: Any) -> bool:
    """Tell whether a table is to be read in batches: paths, a dataset, or a stream.

    A data frame is in memory already, although most can be read as a stream.
    """
    if _is_path(X) or (isinstance(X, (list, tuple)) and X and all(map(_is_path, X))):
        return True
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments"):
        return True
    return hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__len__")


def _is_path(X: Any) -> bool:
    return isinstance(X, (str, os.PathLike))


def open_dataset(X: Any, folder: Path | None = None) -> ds.Dataset:
    """Return the dataset of a table in files; a stream is written to the folder first."""
    try:
        from pyarrow import dataset as ds
    except ImportError:
        raise InputError(
            "tables in files need the package pyarrow: pip install 'rpte[files]', or read the "
            "table into memory and pass the data frame"
        ) from None
    if isinstance(X, ds.Dataset):
        return X
    if _is_path(X) or isinstance(X, (list, tuple)):
        return _opened([X] if _is_path(X) else list(X))
    if folder is None:
        raise InputError("a stream can be read once only; give a path or a pyarrow dataset")
    return _written(X, folder / "stream.parquet")


def paths_of(given: Sequence[Any]) -> list[Path]:
    """Return the files that paths, patterns and folders name; refuse what is no Parquet file."""
    found: list[Path] = []
    for path in map(os.fspath, given):
        pattern = has_magic(path) and not Path(path).exists()
        names = sorted(glob(path, recursive=True)) if pattern else [path]  # noqa: PTH207
        whole = [Path(name) for name in names]
        if not whole or not all(each.exists() for each in whole):
            raise InputError(f"no file matches {path!r}; give a path, a pattern or a folder")
        found += [file for each in whole for file in (_inside(each) if each.is_dir() else [each])]
    others = [path for path in found if path.suffix.lower() not in PARQUET]
    if others:
        raise InputError(
            f"{others[0]} is no Parquet file, by its ending; files of other formats are read whole "
            "(pandas.read_csv, rpte fit), or in batches as a dataset: X="
            f"pyarrow.dataset.dataset('{others[0]}', format='csv')"
        )
    return found


def _inside(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and those below it."""
    files = (path for path in folder.rglob("*") if path.suffix.lower() in PARQUET)
    found = sorted(path for path in files if not path.name.startswith(("_", ".")))
    if not found:
        raise InputError(f"{folder} holds no Parquet files; give a folder that does")
    return found


def _opened(given: Sequence[Any]) -> ds.Dataset:
    """Open Parquet files; in folders such as year=2020 the names of folders are cells too."""
    import pyarrow as pa
    from pyarrow import dataset as ds

    paths = paths_of(given)
    folders = "hive" if any(Path(path).is_dir() for path in given) else None
    try:
        found = ds.dataset(paths, format="parquet", partitioning=folders)
        unified = _unified(found)
        if unified is None:
            return found
        return ds.dataset(paths, unified, format="parquet", partitioning=folders)
    except (pa.ArrowException, OSError) as error:
        what = ", ".join(map(str, given[:3]))
        raise InputError(f"{what}: no Parquet files that can be read: {error}") from error


def _unified(found: ds.Dataset) -> pa.Schema | None:
    """Return types that hold those of all files, if they differ; their order decides nothing."""
    import pyarrow as pa

    schemas = {each.physical_schema.remove_metadata() for each in found.get_fragments()}
    if len(schemas) == 1:
        return None
    names = set.union(*({*schema.names} for schema in schemas))
    some = sorted(name for name in names if any(name not in schema.names for schema in schemas))
    if some:
        warn(f"the columns {some[:5]} are not in every file; they are missing where they are not")
    ordered = sorted(schemas, key=str)
    unified = pa.unify_schemas([*ordered, found.schema], promote_options="permissive")
    order = {name: place for place, name in enumerate(found.schema.names)}
    fields = sorted(unified, key=lambda f: (order.get(f.name, len(order)), f.name))
    return pa.schema(fields, metadata=found.schema.metadata)


def _written(stream: Any, path: Path) -> ds.Dataset:
    """Write a stream to a file, which can be read more than once."""
    import pyarrow as pa
    from pyarrow import dataset as ds
    from pyarrow import parquet

    try:
        reader = pa.RecordBatchReader.from_stream(stream)
        with parquet.ParquetWriter(path, reader.schema) as file:
            for batch in reader:
                file.write_batch(batch)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"X is no stream of rows with columns: {error}") from error
    return ds.dataset(path, format="parquet")


@dataclass(frozen=True)
class TableFiles:
    """A table in files: which of its columns is the target, the weight, the group, or not read."""

    dataset: ds.Dataset
    target: str | None = None
    weight: str | None = None
    groups: str | None = None
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = field(init=False)
    declared: dict[str, Kind | None] = field(init=False)

    def __post_init__(self) -> None:
        """Check the names, and leave columns out that hold lists or records."""
        import pyarrow as pa

        schema = self.dataset.schema
        twice = repeated(schema.names)
        if twice:
            raise InputError(f"column names occur more than once: {twice}; rename the columns")
        roles = {"target": self.target, "sample_weight": self.weight, "groups": self.groups}
        for role, name in roles.items():
            if name is not None and name not in schema.names:
                more = ", ..." if len(schema.names) > 10 else ""
                raise InputError(
                    f"the {role} column '{name}' is not in the table"
                    f"{did_you_mean(name, schema.names)}; its columns are "
                    f"{', '.join(schema.names[:10])}{more}"
                )
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        rows = {name for name in index if isinstance(name, str)}  # names of rows in pandas
        beside = {*roles.values(), *self.unread, *rows}
        nested = [f.name for f in schema if pa.types.is_nested(f.type) and f.name not in beside]
        if nested:
            warn(f"the columns {nested[:5]} hold lists or records and are left out")
        found = tuple(name for name in schema.names if name not in {*beside, *nested})
        kinds = declared_kinds(schema.empty_table())
        object.__setattr__(self, "features", found)
        object.__setattr__(self, "declared", dict(zip(schema.names, kinds, strict=True)))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, those that are not read included."""
        beside = {self.target, self.weight, self.groups}
        read = {*self.features, *self.unread}
        return tuple(n for n in self.dataset.schema.names if n in read and n not in beside)

    def without_unlabelled(self) -> TableFiles:
        """Return the rows that have a target."""
        from pyarrow import dataset as ds

        labelled = ~ds.field(self.target).is_null(nan_is_null=True)
        return replace(self, dataset=self.dataset.filter(labelled))

    def count_rows(self) -> int:
        """Return the number of rows."""
        return int(self.dataset.count_rows())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns, a batch of rows at a time."""
        import pyarrow as pa

        try:
            for batch in self.dataset.to_batches(
                columns=list(names),
                batch_size=BATCH_ROWS,
                batch_readahead=1,
                fragment_readahead=1,
                fragment_scan_options=lean_options(self.dataset),
                use_threads=has_threads(),
            ):
                if batch.num_rows:
                    yield batch
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"the files cannot be read: {error}") from error
        finally:
            pa.default_memory_pool().release_unused()

    def raw(self, batch: pa.RecordBatch) -> RawTable:
        """Return the variables of a batch."""
        columns = [raw_column(batch.column(name)) for name in self.features]
        return RawTable(list(self.features), columns, [self.declared[n] for n in self.features])

    def sample_weight(self, batch: pa.RecordBatch) -> Floats:
        """Return the weights of the rows of a batch, class factors left out."""
        if self.weight is None:
            return np.ones(batch.num_rows)
        column = raw_column(batch.column(self.weight))
        cells = column if isinstance(column, np.ndarray) else _objects(column)
        return read_weights(cells, batch.num_rows)


def lean_options(dataset: ds.Dataset) -> ds.ParquetFragmentScanOptions | None:
    """Return how Parquet files are read: with buffers ahead, a whole file would stay in memory."""
    from pyarrow import dataset as ds

    if not isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        return None
    return ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)


def numbered_batches(
    files: TableFiles, names: Sequence[str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the number of the first row of each batch, from 0 on, and the batch."""
    low = 0
    for batch in files.batches(names):
        yield low, batch
        low += batch.num_rows


def _objects(column: Factorized) -> Array:
    return np.array([*column.cells, None], object)[:-1][column.places]


def together(items: Iterator[T], count: int | None = None) -> Iterator[list[T]]:
    """Yield a few items at a time, as many as threads share if None.

    Examples
    --------
    >>> list(together(iter("abcde"), 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    count = count or (TOGETHER if has_threads() else 1)
    while some := list(islice(items, count)):
        yield some


def raw_column(array: Any) -> Raw:
    """Return a column of pyarrow: numbers as an array, other cells as their distinct ones."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_integer(array.type) or kinds.is_floating(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if kinds.is_decimal(array.type) and (short := _short_decimals(array)) is not None:
        return short
    if kinds.is_null(array.type):
        return Factorized([None], np.zeros(len(array), np.intp))
    if not kinds.is_dictionary(array.type):
        if str(array.type).endswith("_view"):
            array = array.cast(pa.large_string() if "string" in str(array.type) else pa.binary())
        array = array.dictionary_encode()
    cells = array.dictionary.to_pylist()
    places = array.indices.fill_null(len(cells)).to_numpy(zero_copy_only=False).astype(np.intp)
    return Factorized([*cells, None], places)


def _short_decimals(array: Any) -> Floats | None:
    """Return decimals of at most 15 digits as floats, each the nearest; None for others."""
    scale = array.type.scale
    if array.type.bit_width != 128 or array.type.precision > 15 or not 0 <= scale <= 22:
        return None
    words = np.frombuffer(array.buffers()[1], np.int64)[::2]
    whole = words[array.offset : array.offset + len(array)]
    numbers = whole / 10.0**scale  # both are exact, so the quotient is the nearest float
    if array.null_count:
        numbers[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return np.asarray(numbers)


@dataclass
class LabelCounts:
    """The different labels of a table, the rows and the weight of each; missing ones apart."""

    rows: dict[Any, int] = field(default_factory=dict)
    weight: dict[Any, float] = field(default_factory=dict)
    counted: int = 0  # rows of positive weight
    missing: int = 0
    first_missing: int = -1
    total: int = 0
    groups: set[Any] = field(default_factory=set)

    def add(self, cells: list[Any], places: Index, weight: Floats) -> None:
        """Add rows: which of some cells each of them holds, and its weight."""
        rows = np.bincount(places, minlength=len(cells))
        sums = np.bincount(places, weight, minlength=len(cells))
        for place, cell in enumerate(cells):
            if not rows[place]:
                continue
            if is_absent(cell):
                if not self.missing:
                    self.first_missing = self.total + int(np.argmax(places == place))
                self.missing += int(rows[place])
                continue
            self.rows[cell] = self.rows.get(cell, 0) + int(rows[place])
            self.weight[cell] = self.weight.get(cell, 0.0) + float(sums[place])
        self.counted += int((weight > 0).sum())
        self.total += len(places)

    def plus(self, other: LabelCounts) -> LabelCounts:
        """Return the counts of these rows and of others behind them; groups are left out."""
        found = replace(self, rows=dict(self.rows), weight=dict(self.weight))
        for cell, rows in [*other.rows.items()][: MOST_LABELS + 1]:
            found.rows[cell] = found.rows.get(cell, 0) + rows
            found.weight[cell] = found.weight.get(cell, 0.0) + other.weight[cell]
        if other.missing and not self.missing:
            found.first_missing = self.total + other.first_missing
        found.missing += other.missing
        found.counted += other.counted
        found.total += other.total
        return found

    def labels(self, dtype: Any) -> Array:
        """Return the different labels, numbers in the type of their column."""
        cells = list(self.rows)
        plain = cells and all(isinstance(cell, (bool, int, float)) for cell in cells)
        return np.array(cells, dtype if plain else object)


def count_labels(files: TableFiles) -> LabelCounts:
    """Look at targets, weights and groups alone; more labels than anyone has classes end it."""
    found = LabelCounts()
    names = [n for n in dict.fromkeys((files.target, files.weight, files.groups)) if n is not None]
    assert files.target is not None
    for batch in files.batches(names):
        cells, places = label_cells(batch.column(files.target))
        found.add(cells, places, files.sample_weight(batch))
        if files.groups is not None:
            _add_groups(found.groups, batch.column(files.groups), files.groups)
        if len(found.rows) > MOST_LABELS:
            break
    return found


def label_cells(array: Any) -> tuple[list[Any], Index]:
    """Return the distinct cells of a column, numbers too, and which of them each row holds."""
    import pyarrow as pa

    if pa.types.is_null(array.type):
        return [None], np.zeros(len(array), np.intp)
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        array = array.dictionary_encode()
        cells = array.dictionary.to_pylist()
        places = array.indices.fill_null(len(cells)).to_numpy(zero_copy_only=False)
        return [*cells, None], places.astype(np.intp)
    column = raw_column(array)
    if isinstance(column, Factorized):
        return column.cells, column.places
    values, inverse = np.unique(column, return_inverse=True)
    return values.tolist(), inverse.reshape(-1)


def _add_groups(groups: set[Any], array: Any, name: str) -> None:
    cells, places = label_cells(array)
    held = np.bincount(places, minlength=len(cells)) > 0
    groups.update(cell for cell, there in zip(cells, held, strict=True) if there)
    if len(groups) > MOST_GROUPS:
        raise InputError(
            f"groups: the column '{name}' holds more than {MOST_GROUPS:,} different groups; fit a "
            "sample of whole groups in memory"
        )


def group_numbers(groups: set[Any]) -> dict[Any, int]:
    """Number groups in their order: numbers by size, all others by their text."""
    numbers = all(isinstance(cell, (bool, int, float)) for cell in groups)
    return {cell: place for place, cell in enumerate(sorted(groups, key=None if numbers else str))}


def numbers_of(cells: Sequence[Any], places: Index, numbers: Mapping[Any, int], what: str) -> Index:
    """Return the number of the cell that each row holds, as an earlier pass has given them.

    A cell that was not there then is refused: the table has changed meanwhile.
    """
    found = np.array([numbers.get(cell, -1) for cell in cells], np.intp)[places]
    new = np.flatnonzero(found < 0)
    if len(new):
        raise InputError(
            f"the {what} {cells[places[new[0]]]!r} was not in the table when it was first read; "
            "fit a table that does not change meanwhile"
        )
    return found
