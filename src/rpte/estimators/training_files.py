"""What `fit` learns from where a table is in files: two passes over them, and rows on disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.estimators.checks import warn_of_idle_groups
from rpte.estimators.parameters import refuse_of_two_classes, settings_for
from rpte.estimators.target_facts import Look, TargetFacts, with_groups
from rpte.estimators.training_data import Given, TrainingData, notes_of, splits_of
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.rows import scale
from rpte.rows.cache import BlockFile, Layout, Parts, Rows, check_room
from rpte.rows.files import (
    BATCH_ROWS,
    FileBatch,
    TableFiles,
    first_look,
    numbered_batches,
    open_dataset,
    together,
)
from rpte.rows.folds import Validation
from rpte.rows.labels import group_numbers, numbers_of
from rpte.rows.stored import StoredRows, merge_parts
from rpte.rows.threads import thread_map
from rpte.table.blockwise import TableFacts, learn, typed
from rpte.table.fingerprint import TableHash
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable
from rpte.table.table import Table
from rpte.utils.arrays import Array
from rpte.utils.progress import Watch

NAMES = "the table is in files, so name the column"


@contextmanager
def read_files(estimator: Any, given: Given, watch: Watch) -> Iterator[TrainingData]:
    """Yield what a fit needs of a table in files; what is on disk is removed afterwards."""
    cache_dir = given.cache_dir
    for role in ("y", "sample_weight", "groups", "exposure", "offset"):
        name = getattr(given, role)
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
        roles = given.y, given.sample_weight, given.groups
        files = TableFiles(dataset, *roles, unread, given.exposure, given.offset)
        yield _read(estimator, given.parameters, files, folder, closing, watch)
    finally:
        for close in closing:
            close()
        shutil.rmtree(folder, ignore_errors=True)


def _read(
    estimator: Any,
    parameters: dict[str, Any],
    files: TableFiles,
    folder: Path,
    closing: list[Callable[[], None]],
    watch: Watch,
) -> TrainingData:
    if not files.features:
        raise InputError("the files have no variables beside the columns that were named")
    target = _first_look(estimator, files)
    batches = -(-target.n_rows // BATCH_ROWS)
    watch.begin("learning the columns", 0.07, batches)
    facts = _facts(files, target, estimator.special_values, watch)
    learned = facts.schema(estimator.special_values)
    schema = with_unread(learned, files.names)
    classes = getattr(target.predicts, "classes", ())
    settings = settings_for(parameters, estimator.limits, schema, classes)
    refuse_of_two_classes(estimator, target.predicts)
    part = None if files.groups is None else np.zeros(0, np.int64)
    validation = Validation(number_of_folds(estimator.cv), part)
    warn_of_idle_groups(files.groups, settings)
    pooled = facts.pooled(learned, settings.pooling)
    layout = target.cells(pooled, facts, files.weight is not None, files.groups is not None)
    rows, data = _stored(files, target, layout, settings, folder, closing, watch)
    if isinstance(rows, Table):
        target.check(rows.y)
        training = Training.of(rows, settings, target.predicts, splits_of(validation))
        sample = rows
    else:
        training = Training(rows, settings, target.predicts, splits_of(validation), data)
        sample = rows.searched(validation)
    training = replace(training, whole_weights=target.whole_weights)
    notes = notes_of(Inputs(learned, sample.inputs.columns, sample.inputs.specials))
    return TrainingData(training, validation, schema, *target.told(notes))


def number_of_folds(cv: int | None) -> int:
    """Return how many folds there are."""
    count = scale.FOLDS if cv is None else int(cv)
    if count < 2 or isinstance(cv, bool):
        raise InputError(f"cv={cv!r}; give at least 2 folds")
    return count


def _first_look(estimator: Any, files: TableFiles) -> TargetFacts:
    """Look at targets, weights and groups alone."""
    look: Look = estimator._first_look(files.target, files.exposure, files.offset)
    found, groups = first_look(files, look)
    if found is None:
        raise InputError("the files hold no rows; give some to learn from")
    kind = files.dataset.schema.field(files.target).type
    facts = look.facts(found, kind.to_pandas_dtype(), files.features)
    return with_groups(facts, group_numbers(groups))


def _columns(files: TableFiles) -> list[str]:
    return [*files.features, *files.beside]


def _facts(files: TableFiles, target: TargetFacts, specials: Any, watch: Watch) -> TableFacts:
    """Learn the schema, in one pass over all rows."""

    def facts(batch: FileBatch) -> TableFacts:
        weight = target.read(batch).weight
        try:
            return learn(batch.raw(), weight, specials)
        except InputError as error:
            low = batch.first
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

    def rows(batch: FileBatch) -> Rows:
        group: Array | None = None
        if files.groups is not None:
            group = numbers_of(*batch.groups(), target.group, "group").astype(np.uint32)
        label, given, factor = target.read(batch)
        weight = None if files.weight is None else given
        return Rows(typed(batch.raw(), layout.schema), label, weight, factor, group)

    parts = Parts(folder, layout, target.n_rows)
    watch.begin("writing rows to disk", 0.09, -(-target.n_rows // BATCH_ROWS))
    numbered = numbered_batches(files, _columns(files))
    batches = together(partial(rows, batch) for batch in numbered)
    parts.write(batches, watch.step)
    file = BlockFile(folder / "blocks", layout)
    closing.append(file.close)
    digest = TableHash(target.predicts.hashed_labels)
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
