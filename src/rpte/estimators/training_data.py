"""What `fit` learns from: a table in memory, checked, with its labels, weights and splits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.estimators.checks import read_table, warn_of_idle_groups
from rpte.estimators.labels import (
    ONE_CLASS,
    check_rare,
    class_factors,
    plain,
    positive_class,
    read_labels,
)
from rpte.estimators.parameters import refuse_of_two_classes, settings_for
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.model.class_target import ClassesTarget
from rpte.model.target import Target
from rpte.rows import scale
from rpte.rows.folds import Validation, make_validation
from rpte.table.hints import hints_of, warn_of_sentinels
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.table.table import check_total_weight, make_table, read_weights, repetitions
from rpte.table.target import warn_of_follow_up
from rpte.utils.arrays import Array, Floats

if TYPE_CHECKING:
    from rpte.estimators.classifier import RPTEClassifier


@dataclass(frozen=True, slots=True)
class Given:
    """What `fit` was given."""

    parameters: dict[str, Any]  # of the estimator, checked
    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    cache_dir: str | Path | None = None
    exposure: Any = None
    offset: Any = None
    entry: Any = None
    strata: Any = None


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a fit needs of the user's table."""

    training: Training
    validation: Validation
    schema: Schema  # of all columns, those left out included
    fitted: dict[str, Any]  # fitted attributes: the classes, what deserves a look
    record: dict[str, Any]  # what the model file keeps beside the record of the fit
    others: tuple[Training, ...] = ()  # of further causes of events, on the same rows


def notes_of(inputs: Inputs) -> dict[str, Any]:
    """Return what deserves a look in some rows, and warn of codes."""
    return {"sentinels_": warn_of_sentinels(inputs), "hints_": hints_of(inputs)}


def splits_of(validation: Validation) -> dict[str, Any]:
    """Return what the model file says of the folds of inner validation."""
    return {"folds": validation.count, "by": validation.by}


def of_classes(
    known: Array, factors: Floats, notes: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fitted attributes and the record of a fit to classes, one entry for each."""
    return {"classes_": known, **notes}, {"class_factors": factors.tolist()}


def read_memory(estimator: RPTEClassifier, given: Given) -> TrainingData:
    """Read a table in memory; what it takes beside the rows to be learned from is let go."""
    inputs = read_table(given.X, estimator.special_values, given.sample_weight)
    schema = inputs.schema
    labels, known = read_labels(given.y, inputs.n_rows, schema.names)
    settings = settings_for(given.parameters, estimator.limits, schema, known.tolist())
    used = [name for name in schema.names if name not in settings.limits.excluded]
    warn_of_follow_up(getattr(given.y, "name", None), used)
    if schema.named:  # an array keeps its places, so that columns can be counted off
        inputs = inputs.without(settings.limits.excluded)
    noticed = notes_of(inputs)
    weight = read_weights(given.sample_weight, len(labels))
    cases = repetitions(weight)
    factors = class_factors(estimator.class_weight, labels, known, weight)
    place = np.searchsorted(known, labels)
    weight = weight * factors[place]
    check_total_weight(float(weight.sum()), int((weight > 0).sum()))  # before single classes
    counts = np.bincount(place, cases * (weight > 0), len(known)).tolist()
    check_rare(known, counts, getattr(given.y, "name", None), schema.names)
    validation = make_validation(estimator.cv, given.X, labels, given.groups)
    warn_of_idle_groups(given.groups, settings)
    positive = None if len(known) > 2 else positive_class(estimator.positive, known)
    predicts = predicted(known, positive, name_of(given.y))
    refuse_of_two_classes(estimator, predicts)
    target = np.asarray(place if positive is None else place == positive, np.float64)
    sampled = is_sampled(settings, validation, len(target))
    held = settings.pooling, validation.part, not sampled, cases, predicts.loss
    table = make_table(inputs, target, weight, *held)
    if not predicts.loss.varies(table.y):
        raise InputError(ONE_CLASS)
    training = Training.of(table, settings, predicts, splits_of(validation))
    return TrainingData(training, validation, schema, *of_classes(known, factors, noticed))


def name_of(column: Any) -> str | None:
    """Return the name of a column, None where it has none: that of a series, or a text."""
    name = column if isinstance(column, str) else getattr(column, "name", None)
    return name if isinstance(name, str) and name else None


def predicted(known: Array, positive: int | None, name: str | None) -> Target | ClassesTarget:
    """Return what is predicted, its totals not yet counted; several classes have no positive."""
    classes = tuple(plain(label) for label in known)
    if positive is None:
        return ClassesTarget(classes, (), name)
    return Target((classes[0], classes[1]), positive, 0.0, name)


def is_sampled(settings: Settings, validation: Validation, n_rows: int) -> bool:
    """Tell whether a table may be so long that a sample of it is searched."""
    long = n_rows > scale.LONG_ABOVE
    return settings.l1 == "cv" and validation.roles is None and long
