"""Tables in files: opened through `pyarrow.dataset`, and read batch by batch as raw columns.

A path, a pattern, a folder, several paths, or a `pyarrow.dataset.Dataset`. A stream can be read
once only, so it is first written to a Parquet file in the folder of the cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rpte.errors import CellError, InputError, did_you_mean, warn
from rpte.rows.threads import has_threads
from rpte.table.column import Factorized, Raw
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
    """A table in files: which of its columns is the target, the weight, the group, or not read.

    Of numbers, also which is the exposure and the offset.
    """

    dataset: ds.Dataset
    target: str | None = None
    weight: str | None = None
    groups: str | None = None
    unread: tuple[str, ...] = ()
    exposure: str | None = None
    offset: str | None = None
    labelled: bool = False  # rows without a target are left out
    features: tuple[str, ...] = field(init=False)
    declared: dict[str, Kind | None] = field(init=False)

    def __post_init__(self) -> None:
        """Check the names, and leave columns out that hold lists or records."""
        import pyarrow as pa

        schema = self.dataset.schema
        twice = repeated(schema.names)
        if twice:
            raise InputError(f"column names occur more than once: {twice}; rename the columns")
        for role, name in self.roles.items():
            if name is not None and name not in schema.names:
                more = ", ..." if len(schema.names) > 10 else ""
                raise InputError(
                    f"the {role} column '{name}' is not in the table"
                    f"{did_you_mean(name, schema.names)}; its columns are "
                    f"{', '.join(schema.names[:10])}{more}"
                )
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        rows = {name for name in index if isinstance(name, str)}  # names of rows in pandas
        beside = {*self.roles.values(), *self.unread, *rows}
        nested = [f.name for f in schema if pa.types.is_nested(f.type) and f.name not in beside]
        if nested:
            warn(f"the columns {nested[:5]} hold lists or records and are left out")
        found = tuple(name for name in schema.names if name not in {*beside, *nested})
        kinds = declared_kinds(schema.empty_table())
        object.__setattr__(self, "features", found)
        object.__setattr__(self, "declared", dict(zip(schema.names, kinds, strict=True)))

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are no variables, by what they are."""
        numbers = {"exposure": self.exposure, "offset": self.offset}
        weights = {"sample_weight": self.weight, "groups": self.groups}
        return {"target": self.target, **weights, **numbers}

    @property
    def beside(self) -> list[str]:
        """The columns that are no variables, each once."""
        return [*dict.fromkeys(name for name in self.roles.values() if name is not None)]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, those that are not read included."""
        beside = {*self.beside}
        read = {*self.features, *self.unread}
        return tuple(n for n in self.dataset.schema.names if n in read and n not in beside)

    def without_unlabelled(self) -> TableFiles:
        """Return the rows that have a target."""
        from pyarrow import dataset as ds

        labelled = ~ds.field(self.target).is_null(nan_is_null=True)
        return replace(self, dataset=self.dataset.filter(labelled), labelled=True)

    def place(self, row: int) -> str:
        """Say where a row is, of which the number among all is known: in which file, from 0 on."""
        if self.labelled:
            return f"row {row} of those with a target (counted from 0)"
        low, fragments = 0, list(self.dataset.get_fragments())
        for fragment in fragments if len(fragments) > 1 else ():
            high = low + int(fragment.count_rows())
            if row < high:
                return f"row {row - low} of {getattr(fragment, 'path', 'a part')} (counted from 0)"
            low = high
        return f"row {row} (counted from 0)"

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


@dataclass(frozen=True)
class FileBatch:
    """A batch of files, whose first row has a number among all."""

    files: TableFiles
    first: int
    batch: pa.RecordBatch

    def labels(self) -> tuple[list[Any], Index]:
        """Return the distinct cells of the target, and which of them each row holds."""
        assert self.files.target is not None
        return label_cells(self.batch.column(self.files.target))

    def numbers(self, role: str) -> Array | None:
        """Return a column as it is in the files; texts as objects."""
        name = self.files.roles["target" if role == "y" else role]
        if name is None:
            return None
        column = raw_column(self.batch.column(name))
        return column if isinstance(column, np.ndarray) else _objects(column)

    def weights(self) -> Floats:
        """Return the weights of the rows, class factors left out."""
        return read_weights(self.numbers("sample_weight"), self.batch.num_rows)

    def groups(self) -> tuple[list[Any], Index]:
        """Return the distinct groups, and which of them each row is of."""
        assert self.files.groups is not None
        return label_cells(self.batch.column(self.files.groups))

    def raw(self) -> RawTable:
        """Return the variables."""
        return self.files.raw(self.batch)

    def told(self, error: CellError) -> InputError:
        """Return an error with the column, and the file and row, of its cell."""
        column = self.files.roles["target" if error.name == "y" else error.name]
        return error.at(
            f"{error.name} (column '{column}')", self.files.place(self.first + error.row)
        )


def lean_options(dataset: ds.Dataset) -> ds.ParquetFragmentScanOptions | None:
    """Return how Parquet files are read: with buffers ahead, a whole file would stay in memory."""
    from pyarrow import dataset as ds

    if not isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        return None
    return ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)


def numbered_batches(files: TableFiles, names: Sequence[str]) -> Iterator[FileBatch]:
    """Yield some columns, a batch of rows at a time, with the number of its first row."""
    low = 0
    for batch in files.batches(names):
        yield FileBatch(files, low, batch)
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


def first_look(files: TableFiles, look: Callable[[FileBatch], T]) -> tuple[T | None, set[Any]]:
    """Return what a look at targets and weights alone tells of all rows, and their groups.

    What it returns of one batch adds to that of others by `plus`; where that is `hopeless`, the
    rest is not read.
    """
    found: Any = None
    groups: set[Any] = set()
    for batch in numbered_batches(files, files.beside):
        try:
            more: Any = look(batch)
        except CellError as error:
            raise batch.told(error) from None
        found = more if found is None else found.plus(more)
        if files.groups is not None:
            _add_groups(groups, *batch.groups(), files.groups)
        if found.hopeless:
            break
    return found, groups


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


def _add_groups(groups: set[Any], cells: list[Any], places: Index, name: str) -> None:
    held = np.bincount(places, minlength=len(cells)) > 0
    groups.update(cell for cell, there in zip(cells, held, strict=True) if there)
    if len(groups) > MOST_GROUPS:
        raise InputError(
            f"groups: the column '{name}' holds more than {MOST_GROUPS:,} different groups; fit a "
            "sample of whole groups in memory"
        )
