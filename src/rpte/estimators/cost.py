"""What a fit will take: seconds, memory and disk, from a fit of some of the rows.

The search grows with the rows up to those of a sample, reading with all rows, and so does the
estimation of models, which on the rows of the trial is mostly that of the sample. On short tables
fewer folds are searched the longer they are, so the time grows slowly.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.base import clone, is_classifier

from rpte.errors import InputError
from rpte.losses import COX, DISCRETE
from rpte.rows import cache, files, scale, stored
from rpte.rows.threads import thread_count
from rpte.table.blockwise import learn
from rpte.table.inputs import as_array, as_matrix, column_names
from rpte.table.read import split_columns
from rpte.table.schema import Schema
from rpte.table.table import PoolingRule
from rpte.utils.arrays import Array, Index
from rpte.utils.progress import ESTIMATING, MINING, Progress

GIGABYTE = 1e9
LEAST_ROWS = 1_000  # of a trial
PROBED_ROWS = 30_000  # of the trial of a long table, which is searched as a long one is
FRACTION = 4  # rows of a short table for one of its trial
# What as many rows more as the trial had add to the estimation of models, of what the trial took.
ESTIMATION_GROWTH = 0.3
ROW_GROUPS = 16  # of which a trial takes rows
SEARCH_BYTES, SEARCH_CELL_BYTES = 1.5e8, 100.0  # of the search: in all, and per cell of its rows
ROW_BYTES, CELL_BYTES, COPY_BYTES = 100.0, 2.0, 8.0  # of all rows in memory; of cells not float64
COPIES = 4  # of a batch, or of numbers that are put in order, at one time
KERNEL_BYTES = 1e8  # of what a fit loads
TARGET = "made-up target"


@dataclass(frozen=True, slots=True)
class FitCost:
    """What a fit is expected to take, each within a factor of two.

    Parameters
    ----------
    rows, columns : int
        Of the table.
    seconds : float
        On this machine, with the estimator's threads, while nothing else runs.
    memory : float
        Bytes of resident memory of this process at most, what it holds now included.
    disk : float
        Bytes in the folder of temporary files (`cache_dir`); zero for a table in memory.
    """

    rows: int
    columns: int
    seconds: float
    memory: float
    disk: float

    def _repr_html_(self) -> str:
        from rpte.notebook.results import cost_html

        return cost_html(self)

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows x {self.columns} columns: about {self.seconds:.3g} s, "
            f"{self.memory / GIGABYTE:.2g} GB of memory, {self.disk / GIGABYTE:.2g} GB on disk"
        )


class _Trial(NamedTuple):
    """The seconds of a fit of some rows: reading them, searching, estimating models."""

    rows: int
    reading: float
    searching: float
    estimating: float

    def seconds(self, n_rows: int) -> float:
        """Return what all rows are expected to take."""
        times = n_rows / self.rows
        if n_rows <= PROBED_ROWS:
            work = _short_work(n_rows) / _short_work(self.rows)
            return (self.reading + self.searching + self.estimating) * work
        searching = self.searching * min(n_rows, scale.SAMPLE_ROWS) / self.rows
        more = 1.0 + ESTIMATION_GROWTH * (times - 1.0)
        return self.reading * times + searching + self.estimating * more


def _short_work(n_rows: int) -> float:
    """Return what the time of a short table goes with: its rows and folds, both by their root."""
    folds = 2 if n_rows <= scale.LONG_ABOVE else 1
    return float(np.sqrt(n_rows * (scale.FOLDS if n_rows <= scale.MANY_ROWS else folds)))


def estimate_cost(estimator: Any, X: Any, y: Any, given: Mapping[str, Any]) -> FitCost:
    """Fit some of the rows, and tell what all of them will take.

    What else `fit` is `given` (weights, groups, exposure) by name; None where there is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (_of_files if files.is_stored(X) else _of_memory)(estimator, X, y, given)


def _of_memory(estimator: Any, X: Any, y: Any, given: Mapping[str, Any]) -> FitCost:
    held, names = _resident(), column_names(X)
    n_rows = len(as_matrix(X)) if names is None else len(as_array(X[next(iter(names.values()))]))
    rows = _spread(n_rows)
    some = {role: _taken(each, rows) for role, each in given.items()}
    part = _rows_of(X, rows)
    raw = split_columns(part)
    y = _made_up(raw.columns, estimator) if y is None else _targets(y, rows)
    trial = _tried(estimator, part, y, some)
    copied = sum(column.dtype != np.float64 for column in raw.columns)
    columns = len(raw.columns)
    memory = _searched(n_rows, columns) + n_rows * (
        ROW_BYTES + CELL_BYTES * columns + COPY_BYTES * copied
    )
    return FitCost(n_rows, columns, trial.seconds(n_rows), held + KERNEL_BYTES + memory, 0.0)


def _targets(y: Any, rows: Index) -> Any:
    """Return the targets of some rows; outcomes of a follow-up may be a pair, or a table of two."""
    if isinstance(y, tuple):
        return tuple(as_array(part)[rows] for part in y)
    return _rows_of(y, rows) if np.ndim(y) == 2 else as_array(y)[rows]


def _taken(given: Any, rows: Index) -> Any:
    """Return what was given for some rows; the name of a column, or one number, for all."""
    if given is None or isinstance(given, str) or not np.ndim(given):
        return given
    return as_array(given)[rows]


def _of_files(estimator: Any, X: Any, y: Any, given: Mapping[str, Any]) -> FitCost:
    import pyarrow as pa
    from pyarrow import parquet

    held, dataset = _resident(), files.open_dataset(X)
    roles = {"weight" if role == "sample_weight" else role: name for role, name in given.items()}
    table = files.TableFiles(dataset, y, **roles)
    n_rows = table.count_rows()
    if n_rows < 2:
        raise InputError(f"the files hold {n_rows} row(s); give some to learn from")
    part = _rows_of_files(dataset, len(_spread(n_rows)))
    raw = table.raw(part.combine_chunks().to_batches()[0])
    if y is None:
        y = TARGET
        part = part.append_column(TARGET, pa.array(_made_up(raw.columns, estimator)))
    with tempfile.TemporaryDirectory(prefix="rpte-") as folder:
        path = Path(folder) / "part.parquet"
        parquet.write_table(part, path)
        trial = _tried(estimator, path, y, given)
    layout = _layout(estimator, table)
    cells = sum(each.itemsize for each in layout.fields.values())
    together = files.BATCH_ROWS * (1 if thread_count(estimator.n_jobs) == 1 else files.TOGETHER)
    part_rows = min(n_rows, cache.PART_ROWS) * (2 * cells + ROW_BYTES)
    ordered = n_rows / -(-n_rows // stored.SORTED_ROWS) * 2 * COPY_BYTES * COPIES
    most = max(min(n_rows, together) * cells * COPIES, part_rows, ordered)
    memory = held + KERNEL_BYTES + _searched(n_rows, len(raw.columns)) + most
    long = n_rows > scale.SAMPLE_ROWS
    disk = float(n_rows * (cells + 8)) if long else n_rows * float(cells)
    return FitCost(n_rows, len(table.names), trial.seconds(n_rows), memory, disk)


def _layout(estimator: Any, table: files.TableFiles) -> cache.Layout:
    """Return how rows would be written, as the first batch has it."""
    batch = next(table.batches([*table.features, *filter(None, [table.weight])]))
    facts = learn(table.raw(batch), np.ones(batch.num_rows), estimator.special_values)
    schema: Schema = facts.finish(PoolingRule(1.0, 100), estimator.special_values)
    columns = zip(facts.names, facts.columns, strict=True)
    single = frozenset(name for name, column in columns if column.single)
    exposed = table.exposure is not None or table.offset is not None
    kept = table.weight is not None, table.groups is not None, exposed
    factors = (1.0, 1.0) if is_classifier(estimator) else None
    return cache.Layout(schema, single, *kept, factors)


def _tried(estimator: Any, X: Any, y: Any, given: Mapping[str, Any]) -> _Trial:
    """Fit some rows and take the time; a small table comes first, which loads the kernels."""
    small = np.arange(2.0 * LEAST_ROWS).reshape(-1, 2) % 97.0
    of_table = {"special_values", "limits", "class_weight", "positive"} & {*estimator.get_params()}
    first = clone(estimator).set_params(**dict.fromkeys(of_table))
    first.fit(small, _as_target(small[:, 0] > 40.0, estimator))
    marks: dict[str, float] = {}

    def tell(now: Progress) -> None:
        marks.setdefault(now.stage, time.perf_counter())

    trial = clone(estimator)
    rows = 0 if isinstance(y, str) else len(y[0] if isinstance(y, tuple) else y)
    start = time.perf_counter()
    trial.fit(X, y, **given, progress=tell)
    end = time.perf_counter()
    mined, estimated = marks.get(MINING, start), marks.get(ESTIMATING, end)
    rows = rows or int(trial.model_.data["rows"])
    return _Trial(rows, mined - start, estimated - mined, end - estimated)


def _spread(n_rows: int) -> Index:
    """Return places of the rows of a trial, evenly over all."""
    few = max(min(n_rows, LEAST_ROWS), n_rows // FRACTION)
    count = PROBED_ROWS if n_rows > PROBED_ROWS else few
    return np.linspace(0, n_rows - 1, count).astype(np.intp)


def _rows_of(X: Any, rows: Index) -> Any:
    """Return some rows of any table in memory."""
    if isinstance(X, Mapping):
        return {name: as_array(column)[rows] for name, column in X.items()}
    if column_names(X) is None:
        return as_matrix(X)[rows]
    return nw.from_native(X, eager_only=True)[rows.tolist()].to_native()


def _rows_of_files(dataset: Any, count: int) -> Any:
    """Return so many rows, from some row groups all over the files."""
    import pyarrow as pa

    fragments = list(dataset.get_fragments())
    chosen = [fragments[i] for i in _evenly(len(fragments))]
    groups = [
        g for f in chosen for g in (f.split_by_row_group() if hasattr(f, "row_groups") else [f])
    ]
    groups = [groups[i] for i in _evenly(len(groups))]
    each = -(-count // len(groups))
    slow: dict[str, Any] = {"batch_size": each, "batch_readahead": 0, "use_threads": False}
    slow["fragment_scan_options"] = files.lean_options(dataset)
    parts = [group.scanner(schema=dataset.schema, **slow).head(each) for group in groups]
    missing = count - sum(part.num_rows for part in parts)
    whole = pa.concat_tables(parts if missing <= 0 else [dataset.head(count)])
    pa.default_memory_pool().release_unused()
    return whole.slice(0, count)


def _evenly(count: int) -> list[int]:
    return sorted({int(i) for i in np.linspace(0, count - 1, min(count, ROW_GROUPS))})


def _made_up(columns: list[Any], estimator: Any) -> Any:
    """Return targets that go with the first columns, for a trial without."""
    rows = len(columns[0])
    score = np.zeros(rows)
    numbers = [c for c in columns if isinstance(c, np.ndarray) and c.dtype.kind in "fiu"]
    for column in numbers[:3]:
        x = np.nan_to_num(column.astype(np.float64))
        score += (x - x.mean()) / (x.std() or 1.0)
    chance = np.random.default_rng(0).random(rows)
    return _as_target(chance < 1.0 / (1.0 + np.exp(-score)), estimator)


def _as_target(holds: Array, estimator: Any) -> Any:
    """Return two classes, the numbers 1 and 2, or events after these times."""
    numbers = 1 + holds
    if getattr(estimator, "loss", None) in (COX.name, DISCRETE.name):
        return np.ones(len(holds), bool), numbers
    return holds if is_classifier(estimator) else numbers


def _searched(n_rows: int, columns: int) -> float:
    """Return the bytes that the search takes."""
    rows = min(n_rows, scale.SAMPLE_ROWS)
    return SEARCH_BYTES * min(1.0, rows / scale.MANY_ROWS) + SEARCH_CELL_BYTES * rows * columns


def _resident() -> float:
    """Return the bytes of memory that the process holds, at most so far where it is not told."""
    try:
        status = Path("/proc/self/statm").read_text(encoding="ascii")
    except OSError:
        return 3.5e8
    return float(int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE"))
