"""What `fit` learns from where rows are on a cluster: labels, schema, typed partitions, sample."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from numbers import Integral
from typing import Any

from rpte.dask.blocks import Blocks, Session
from rpte.dask.partitions import Collections, Learning, Looking, Partition, Typing
from rpte.dask.rows import DaskRows
from rpte.errors import InputError, warn
from rpte.estimators.parameters import refuse_of_two_classes, settings_for
from rpte.estimators.target_facts import Look
from rpte.estimators.training_data import TrainingData, notes_of, splits_of
from rpte.estimators.training_files import number_of_folds, with_unread
from rpte.fit.training import Training
from rpte.rows.folds import Validation
from rpte.table.blockwise import TableFacts
from rpte.table.inputs import Inputs
from rpte.utils.progress import Watch

# A count of different rows, and a hash of them in order, would need a shuffle.
NOT_COUNTED = {"distinct_rows": None, "sha256": None, "profile": None}


def check_splits(cv: Any, groups: Any) -> None:
    """Refuse splits of rows that have no order among all."""
    if groups is not None:
        raise InputError(
            "groups may lie in several partitions, so inner validation on a cluster cannot keep "
            "them together; fit a sample of whole groups in memory"
        )
    if cv is not None and not isinstance(cv, Integral):
        raise InputError(
            f"cv={cv!r} splits rows in memory; give a number of folds, or fit a table in memory"
        )


def read_cluster(
    estimator: Any,
    parameters: dict[str, Any],
    table: Collections,
    session: Session,
    watch: Watch,
) -> TrainingData:
    """Learn labels and schema, type the partitions where they are, and fetch the sample."""
    validation = Validation(number_of_folds(estimator.cv))
    parts: Blocks[Partition] = Blocks.of(session, table.partitions())
    roles = "y", "exposure", "offset"
    look: Look = estimator._first_look(*map(table.called, roles))
    found = reduce(lambda one, more: one.plus(more), parts.map(Looking(look)))
    target = look.facts(found, table.label_type, table.features)
    watch.begin("learning the columns", 0.06)
    specials = estimator.special_values
    facts = parts.reduce(Learning(target, specials), TableFacts.__add__)
    learned = facts.schema(specials)
    schema = with_unread(learned, table.names)
    classes = getattr(target.predicts, "classes", ())
    settings = settings_for(parameters, estimator.limits, schema, classes)
    refuse_of_two_classes(estimator, target.predicts)
    watch.begin("drawing a sample", 0.08)
    pooled = facts.pooled(learned, settings.pooling)
    typed = parts.then(Typing(target, pooled))
    del parts  # each is let go as soon as it is typed
    predicts = target.predicts
    rows = DaskRows(typed, pooled, predicts.loss)
    sample = rows.searched(validation)
    by = splits_of(validation)
    if rows.few is not None:
        training = Training.of(rows.few, settings, predicts, by)
    else:
        if settings.profile == "full":
            warn("profile='full': rows on a cluster are not put in order, so there is no profile")
        data = {"rows": rows.total_weight, **NOT_COUNTED}
        settings = replace(settings, profile="none")
        training = Training(rows, settings, predicts, by, data)
    training = replace(training, whole_weights=target.whole_weights)
    notes = notes_of(Inputs(learned, sample.inputs.columns, sample.inputs.specials))
    return TrainingData(training, validation, schema, *target.told(notes))
