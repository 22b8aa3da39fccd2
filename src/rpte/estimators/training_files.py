"""What `fit` learns from where a table is in files: two passes over them, and rows on disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.estimators.checks import warn_of_idle_groups
from rpte.estimators.labels import class_factors, positive_class, read_labels, refuse_missing
from rpte.estimators.parameters import settings_for
from rpte.estimators.training_data import (
    ONE_CLASS,
    Given,
    TrainingData,
    classes_of,
    notes_of,
    of_classes,
    splits_of,
)
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.model.target import Target
from rpte.rows import scale
from rpte.rows.cache import BlockFile, Layout, Parts, Rows, check_room
from rpte.rows.files import (
    BATCH_ROWS,
    LabelCounts,
    TableFiles,
    count_labels,
    group_numbers,
    label_cells,
    numbered_batches,
    numbers_of,
    open_dataset,
    together,
)
from rpte.rows.folds import Validation
from rpte.rows.stored import StoredRows, merge_parts
from rpte.rows.threads import thread_map
from rpte.table.blockwise import TableFacts, learn, typed
from rpte.table.fingerprint import TableHash
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable
from rpte.table.table import Table, check_total_weight
from rpte.table.target import warn_of_follow_up
from rpte.utils.arrays import Array, Floats
from rpte.utils.progress import Watch

if TYPE_CHECKING:
    import pyarrow as pa

    from rpte.estimators.classifier import RPTEClassifier

NAMES = "the table is in files, so name the column"


@contextmanager
def read_files(estimator: RPTEClassifier, given: Given, watch: Watch) -> Iterator[TrainingData]:
    """Yield what a fit needs of a table in files; what is on disk is removed afterwards."""
    names = {"y": given.y, "sample_weight": given.sample_weight, "groups": given.groups}
    cache_dir = given.cache_dir
    for role, name in names.items():
        if not isinstance(name, str) and (name is not None or role == "y"):
            raise InputError(f"{role} is {type(name).__name__}; {NAMES}, such as {role}='bad'")
    if estimator.cv is not None and not isinstance(estimator.cv, Integral):
        raise InputError(
            f"cv={estimator.cv!r} splits rows in memory; {NAMES} of the groups that stay together "
            "(groups='patient'), give a number of folds, or pass a data frame"
        )
    if cache_dir is not None and not Path(cache_dir).is_dir():
        raise InputError(f"cache_dir={str(cache_dir)!r} is no folder; make it first")
    folder = Path(tempfile.mkdtemp(prefix="rpte-", dir=cache_dir))
    closing: list[Callable[[], None]] = []
    try:
        excluded = getattr(estimator.limits, "exclude", ())
        dataset = open_dataset(given.X, folder)
        unread = tuple(name for name in dataset.schema.names if name in excluded)
        files = TableFiles(dataset, given.y, given.sample_weight, given.groups, unread)
        yield _read(estimator, given.parameters, files, folder, closing, watch)
    finally:
        for close in closing:
            close()
        shutil.rmtree(folder, ignore_errors=True)


def _read(
    estimator: RPTEClassifier,
    parameters: dict[str, Any],
    files: TableFiles,
    folder: Path,
    closing: list[Callable[[], None]],
    watch: Watch,
) -> TrainingData:
    if not files.features:
        raise InputError("the files have no variables beside the columns that were named")
    target = _read_target(estimator, files)
    batches = -(-target.n_rows // BATCH_ROWS)
    watch.begin("learning the columns", 0.07, batches)
    facts = _facts(files, target, estimator.special_values, watch)
    learned = facts.schema(estimator.special_values)
    schema = with_unread(learned, files.names)
    settings = settings_for(parameters, estimator.limits, schema)
    warn_of_follow_up(files.target, files.features)
    part = None if files.groups is None else np.zeros(0, np.int64)
    validation = Validation(number_of_folds(estimator.cv), part)
    warn_of_idle_groups(files.groups, settings)
    pooled = facts.pooled(learned, settings.pooling)
    layout = target.layout(pooled, facts, files)
    rows, data = _stored(files, target, layout, settings, folder, closing, watch)
    predicts = Target(classes_of(target.known), target.positive, 0.0)
    if isinstance(rows, Table):
        if not rows.loss.varies(rows.y):
            raise InputError(ONE_CLASS)
        training = Training.of(rows, settings, predicts, splits_of(validation))
        sample = rows
    else:
        training = Training(rows, settings, predicts, splits_of(validation), data)
        sample = rows.searched(validation)
    notes = notes_of(Inputs(learned, sample.inputs.columns, sample.inputs.specials))
    told = of_classes(target.known, target.factors, notes)
    return TrainingData(training, validation, schema, *told)


@dataclass(frozen=True)
class TargetFacts:
    """What the first look at targets and weights alone has told."""

    n_rows: int
    known: Array
    factors: Floats
    positive: int
    label: Mapping[Any, int]  # class, 0 or 1, of each label
    group: Mapping[Any, int]

    def layout(self, schema: Schema, facts: TableFacts, files: TableFiles) -> Layout:
        """Return how rows are written."""
        columns = zip(facts.names, facts.columns, strict=True)
        single = frozenset(name for name, column in columns if column.single)
        factors = float(self.factors[0]), float(self.factors[1])
        weighted, grouped = files.weight is not None, files.groups is not None
        return Layout(schema, single, weighted, grouped, factors, self.positive)

    def labels(self, files: TableFiles, batch: pa.RecordBatch) -> Array:
        """Return the class of each row of a batch."""
        assert files.target is not None
        return numbers_of(*label_cells(batch.column(files.target)), self.label, "label")


def number_of_folds(cv: int | None) -> int:
    """Return how many folds there are."""
    count = scale.FOLDS if cv is None else int(cv)
    if count < 2 or isinstance(cv, bool):
        raise InputError(f"cv={cv!r}; give at least 2 folds")
    return count


def _read_target(estimator: RPTEClassifier, files: TableFiles) -> TargetFacts:
    assert files.target is not None
    kind = files.dataset.schema.field(files.target).type
    return target_facts(estimator, count_labels(files), kind.to_pandas_dtype(), files.features)


def target_facts(
    estimator: RPTEClassifier, found: LabelCounts, dtype: Any, features: Sequence[str]
) -> TargetFacts:
    """Return what the labels of all rows tell; numbers among them are of some type."""
    if found.total < 2:
        raise InputError(
            f"Found array with {found.total} sample(s) while a minimum of 2 is required; "
            "give rows of both classes"
        )
    refuse_missing(found.missing, found.first_missing)
    cells = found.labels(dtype)
    labels, known = read_labels(cells, len(cells), features)
    weight = np.array([*found.weight.values()])
    factors = class_factors(estimator.class_weight, labels, known, weight)
    second = labels == known[1]
    check_total_weight(float((weight * factors[second.astype(int)]).sum()), found.counted)
    if not ((weight * factors[second.astype(int)]) > 0).all():
        raise InputError(ONE_CLASS)
    label = dict(zip(found.rows, second.astype(int).tolist(), strict=True))
    positive = positive_class(estimator.positive, known)
    groups = group_numbers(found.groups)
    return TargetFacts(found.total, known, factors, positive, label, groups)


def _columns(files: TableFiles) -> list[str]:
    beside = (files.target, files.weight, files.groups)
    return [*files.features, *dict.fromkeys(name for name in beside if name is not None)]


def _facts(files: TableFiles, target: TargetFacts, specials: Any, watch: Watch) -> TableFacts:
    """Learn the schema, in one pass over all rows."""

    def facts(numbered: tuple[int, pa.RecordBatch]) -> TableFacts:
        low, batch = numbered
        weight = files.sample_weight(batch) * target.factors[target.labels(files, batch)]
        try:
            return learn(files.raw(batch), weight, specials)
        except InputError as error:
            raise InputError(f"{error} (rows counted from {low})" if low else error) from None

    total: TableFacts | None = None
    for batches in together(numbered_batches(files, _columns(files))):
        for found in thread_map(facts, batches):
            total = found if total is None else total + found
            watch.step()
    assert total is not None
    return total


def _stored(
    files: TableFiles,
    target: TargetFacts,
    layout: Layout,
    settings: Settings,
    folder: Path,
    closing: list[Callable[[], None]],
    watch: Watch,
) -> tuple[Table | StoredRows, dict[str, Any]]:
    """Write the rows to disk in order; return a table in memory where they are few."""
    check_room(folder, layout, target.n_rows)

    def rows(batch: pa.RecordBatch) -> Rows:
        group: Array | None = None
        if files.groups is not None:
            cells = label_cells(batch.column(files.groups))
            group = numbers_of(*cells, target.group, "group").astype(np.uint32)
        weight = None if files.weight is None else files.sample_weight(batch)
        inputs = typed(files.raw(batch), layout.schema)
        return Rows(inputs, target.labels(files, batch), weight, group)

    parts = Parts(folder, layout, target.n_rows)
    watch.begin("writing rows to disk", 0.09, -(-target.n_rows // BATCH_ROWS))
    batches = together(partial(rows, batch) for batch in files.batches(_columns(files)))
    parts.write(batches, watch.step)
    file = BlockFile(folder / "blocks", layout)
    closing.append(file.close)
    classes = classes_of(target.known)
    digest = TableHash((classes[1 - target.positive], classes[target.positive]))
    watch.begin("putting rows in order", 0.1, len(parts))
    short = merge_parts(parts, file, digest, watch.step)
    if short is not None:
        return short, {}
    stored = StoredRows(file)
    watch.begin("describing the columns", 0.11, len(layout.schema))
    return stored, stored.fingerprint(digest, settings.profile, watch.step)


def with_unread(schema: Schema, names: tuple[str, ...]) -> Schema:
    """Return the schema of all columns; those that are not read might be anything."""
    known = {variable.name: variable for variable in schema.variables}
    found = tuple(known.get(name, Variable(name, "number")) for name in names)
    return replace(schema, variables=found)
