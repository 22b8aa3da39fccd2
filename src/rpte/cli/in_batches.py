"""Tables that commands read in batches: which they are, and `rpte fit` and `rpte score` of them.

One file is read whole, as ever, up to 200 MB; a larger Parquet file, several, a folder or a pattern
are read in batches, so that they may be larger than memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from rpte.cli.options import Rows, row_inputs
from rpte.cli.task import loss_for, several_for
from rpte.cli.terminal import progress, say
from rpte.cli.training import held_text
from rpte.errors import InputError
from rpte.model.unknown import check_unknown, present_cells
from rpte.table.files import FORMATS, check_writable
from rpte.table.inputs import Inputs
from rpte.table.target import TargetValues, known_classes
from rpte.utils.csv_text import frame_csv
from rpte.utils.output import writing

if TYPE_CHECKING:
    import pandas as pd

    from rpte.cli.fit import FitRequest
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model
    from rpte.rows.files import FileBatch, TableFiles
    from rpte.rows.labels import LabelCounts
    from rpte.utils.progress import Callback
    from rpte.validation.cross_validate import Estimate

T = TypeVar("T")
LARGE_FILE = 200_000_000  # bytes of a Parquet file, from which on it is read in batches


def in_batches(tables: Sequence[Path]) -> bool:
    """Tell whether tables are read in batches."""
    if len(tables) > 1 or tables[0].is_dir():
        return True
    if not tables[0].exists():
        return has_magic(str(tables[0]))
    parquet = FORMATS.get(tables[0].suffix.lower()) == "Parquet"
    return parquet and tables[0].stat().st_size > LARGE_FILE


def named(tables: Sequence[Path]) -> str:
    """Return what messages call some tables."""
    more = f" and {len(tables) - 1} more" if len(tables) > 1 else ""
    return f"{tables[0]}{more}"


@dataclass(frozen=True)
class FileTraining:
    """A table in files for a fit: its targets are looked at, its rows are read by the fit."""

    files: TableFiles
    n_rows: int
    held: str  # what the target holds
    estimator: Any

    @classmethod
    def of(cls, request: FitRequest) -> FileTraining:
        """Open the files; the estimator is made for their targets."""
        from rpte.estimators.target_facts import LabelLook

        files = _opened(request)

        def values() -> TargetValues:
            return _looked_at(files, lambda batch: TargetValues.of(*batch.labels()))

        loss = loss_for(request, values, files.names)
        if loss is not None:
            found = values().require_numbers(request.target)
            held = f"from {found.low:g} to {found.high:g}, mean {found.sum / found.total:.4g}"
            made = request.regressor(loss)
            return cls(files, found.total, f"{held}; loss {loss}", made)
        counts: LabelCounts = _looked_at(files, LabelLook(None, None, request.target))
        gaps = counts.missing, counts.first_missing, counts.total
        several = several_for(request)
        classes = known_classes(request.target, list(counts.rows), *gaps, files.names, several)
        held = held_text(sorted(counts.rows.items()))
        return cls(files, counts.total, held, request.estimator(classes))

    def description(self) -> str:
        """Say what is there to learn from."""
        names = f"{self.files.target} {self.held}; {len(self.files.names)} variables"
        return f"{self.n_rows} rows in files, {names}"

    @property
    def roles(self) -> dict[str, str]:
        """The columns that the fit is told of, by what they are."""
        found = {"y" if role == "target" else role: n for role, n in self.files.roles.items()}
        return {role: name for role, name in found.items() if name is not None}

    def fit(self, progress: Callback, cache_dir: Path | None = None) -> Any:
        """Return the fitted estimator."""
        given: dict[str, Any] = {**self.roles, "progress": progress, "cache_dir": cache_dir}
        return self.estimator.fit(self.files.dataset, **given)

    def estimate(self, on_fold: Callable[[int, int, float], None]) -> Estimate:
        """Refuse to fit again in every fold."""
        raise InputError(
            "the table is read in batches; fit on some of the files and judge the model by the "
            "others (rpte score, rpte report)"
        )


@dataclass(frozen=True)
class ClusterTraining(FileTraining):
    """A table in files that the workers of a cluster read."""

    def fit(self, progress: Callback, cache_dir: Path | None = None) -> Any:
        """Return the fitted estimator; workers keep the rows meanwhile."""
        import dask.dataframe as dd

        files = self.files
        paths = [str(Path(part.path).resolve()) for part in files.dataset.get_fragments()]
        X = dd.read_parquet(paths)
        absent = [name for name in files.names if name not in X.columns]
        if absent:
            raise InputError(
                f"the columns {absent[:5]} are not in the first file; on a cluster all files need "
                "the same columns, and names of folders are not read"
            )
        X = X[[*files.features, *files.beside]].dropna(subset=[files.target])
        return self.estimator.fit(X, **self.roles, progress=progress, cache_dir=cache_dir)


def _opened(request: FitRequest) -> TableFiles:
    """Open the files of a table, and name the columns that are no variables."""
    from rpte.rows.files import TableFiles, open_dataset

    dataset = open_dataset(list(request.table))
    import pyarrow as pa  # is there now

    if request.id_column is not None:
        TableFiles(dataset, request.id_column)  # refuses one that is not there
        kept = [f for f in dataset.schema if f.name != request.id_column]
        dataset = dataset.replace_schema(pa.schema(kept, metadata=dataset.schema.metadata))
    roles = request.target, request.weight_column, request.group_column
    files = TableFiles(dataset, *roles, exposure=request.exposure, offset=request.offset)
    return files.without_unlabelled() if request.drop_unlabelled else files


def _looked_at(files: TableFiles, look: Callable[[FileBatch], T]) -> T:
    """Return what a look at targets tells of all rows."""
    from rpte.rows.files import first_look

    found, _ = first_look(files, look)
    if found is None:
        raise InputError("the files hold no rows; give some to learn from")
    return found


def score_in_batches(
    model: Model | ClassesModel,
    tables: Sequence[Path],
    output: Path | None,
    beside: Sequence[str],
    allow_unknown: bool,
    scored: Callable[[Rows], pd.DataFrame],
) -> None:
    """Score files batch by batch; the output is written whole or not at all.

    Columns `beside` the model's are read too: the id column, an exposure.
    """
    from rpte.rows.files import TableFiles, open_dataset

    if output is None:
        raise InputError("tables in batches need a file to write to; name it with -o")
    check_writable(output)
    files = TableFiles(open_dataset(list(tables)))
    for name in beside:
        TableFiles(files.dataset, name)  # refuses one that is not there
    read = {source for component in model.components for source in component.sources}
    wanted = [n for n in files.dataset.schema.names if n in {*read, *beside}]
    wanted = wanted if model.schema.named else list(files.dataset.schema.names)
    unknown: dict[str, Counter[str]] = {}
    present: Counter[str] = Counter()
    flags: Counter[str] = Counter()
    done, total = 0, files.count_rows()
    with progress(f"scoring {named(tables)}") as tell, _writer(output) as write:
        for batch in files.batches(wanted):
            frame = batch.to_pandas()
            inputs = row_inputs(model, frame, list(beside), read)
            for name, strange in inputs.unknown.items():
                unknown.setdefault(name, Counter()).update(strange)
            present.update(present_cells(inputs, read))
            rows = Rows(frame, inputs, first=done + 1)
            write(scored(rows))
            flags.update(flags_of(model, inputs))
            done += len(frame)
            tell(f"scoring {named(tables)}", done, total)
        check_unknown(model, unknown, present, allow_unknown)
    say_flags(model, flags, done)
    say(f"Wrote {output}: {done} rows")


def flags_of(model: Model | ClassesModel, inputs: Inputs) -> Counter[str]:
    """Return how many rows hold what training did not have, by what that is."""
    from rpte.model.explain import flag_counts

    found: Counter[str] = Counter()
    for name in sorted({source for component in model.components for source in component.sources}):
        found.update(flag_counts(inputs, name))
    return found


def say_flags(model: Model | ClassesModel, counts: Counter[str], n_rows: int) -> None:
    """Say how many rows hold what training did not have; reading them has told of new levels."""
    from rpte.model.explain import level_flag

    schema = model.schema
    told = {level_flag(v) for v in schema.variables if v.kind == "category" and not v.pooled}
    for flag, count in counts.items():
        if count and flag not in told:
            say(f"note: {count} of {n_rows} rows: {flag}")


@contextmanager
def _writer(output: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield what writes one batch after the other to a CSV or Parquet file."""
    kind = FORMATS.get(output.suffix.lower(), "CSV")
    if kind == "Excel" or output.suffix.lower() == ".gz":
        raise InputError(f"{output}: tables in batches are written as Parquet or CSV")
    with writing(output) as file:
        if kind == "CSV":
            yield _CSV(file, "\t" if output.suffix.lower() == ".tsv" else ",")
            return
        parquet = _Parquet(file)
        try:
            yield parquet
        finally:
            parquet.close()


class _CSV:
    def __init__(self, file: BinaryIO, separator: str) -> None:
        self.file, self.separator, self.begun = file, separator, False

    def __call__(self, frame: pd.DataFrame) -> None:
        text = frame_csv(frame, self.separator, header=not self.begun)
        self.file.write(text.encode("utf-8"))
        self.begun = True


class _Parquet:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.writer: Any = None

    def __call__(self, frame: pd.DataFrame) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        schema = None if self.writer is None else self.writer.schema
        table = pa.Table.from_pandas(frame, schema, preserve_index=False)
        if self.writer is None:
            self.writer = parquet.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
