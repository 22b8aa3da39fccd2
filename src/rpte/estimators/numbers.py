"""Numeric targets with exposures and offsets, as users give them to `RPTERegressor.fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import column_or_1d

from rpte.errors import InputError
from rpte.estimators.checks import read_table, warn_of_idle_groups
from rpte.estimators.parameters import settings_for
from rpte.estimators.training_data import (
    Given,
    TrainingData,
    is_sampled,
    name_of,
    notes_of,
    splits_of,
)
from rpte.fit.training import Training
from rpte.losses import LOSSES, TWEEDIE, Loss
from rpte.losses.tweedie import Tweedie
from rpte.model.target import LOSSES_OF_NUMBERS, NumberTarget
from rpte.model.units import Moments
from rpte.rows.folds import make_validation
from rpte.table.inputs import as_array
from rpte.table.numbers import named
from rpte.table.table import are_whole, make_table, read_weights, repetitions
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.estimators.regressor import RPTERegressor


def checked_loss(loss: Any, power: Any) -> Loss:
    """Return the loss that an estimator asks for."""
    if not isinstance(loss, str) or loss not in LOSSES_OF_NUMBERS:
        raise InputError(f"loss={loss!r}; it must be one of {list(LOSSES_OF_NUMBERS)}")
    return Tweedie(power) if loss == TWEEDIE.name else LOSSES[loss]


def read_memory(estimator: RPTERegressor, given: Given) -> TrainingData:
    """Read a table in memory with numeric targets."""
    if given.y is None:
        raise InputError("RPTERegressor requires y to be passed, but the target y is None")
    loss = checked_loss(estimator.loss, estimator.power)
    inputs = read_table(given.X, estimator.special_values, given.sample_weight)
    schema = inputs.schema
    settings = settings_for(given.parameters, estimator.limits, schema)
    beside = {each for each in (given.exposure, given.offset) if isinstance(each, str)}
    if schema.named:  # an array keeps its places, so that columns can be counted off
        inputs = inputs.without({*settings.limits.excluded, *beside})
    noticed = notes_of(inputs)
    weight = read_weights(given.sample_weight, inputs.n_rows)
    target = NumberTarget(
        loss,
        0.0,
        name_of(given.y),
        _called("exposure", given.exposure),
        _called("offset", given.offset),
    )
    exposure, offset = named(given.X, given.exposure), named(given.X, given.offset)
    plain = target.plain(_read_target(target, given.y, inputs.n_rows), weight, exposure, offset)
    target = target.with_units(Moments.of(plain))
    scaled = target.scaled(plain)
    validation = make_validation(estimator.cv, given.X, scaled.y, given.groups)
    warn_of_idle_groups(given.groups, settings)
    copied = not is_sampled(settings, validation, len(scaled.y))
    cases, rule = repetitions(weight), settings.pooling
    table = make_table(inputs, *scaled, rule, validation.part, copied, cases, loss)
    training = Training.of(table, settings, target, splits_of(validation))
    whole = are_whole(weight) or not target.has_exposure
    training = replace(training, whole_weights=whole)
    return TrainingData(training, validation, schema, noticed, {})


def _read_target(target: NumberTarget, y: Any, n_rows: int) -> Floats:
    """Return the targets; a table of one column is read with scikit-learn's warning."""
    array = as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = column_or_1d(array, warn=True)
    return target.read(array, n_rows)


def _called(kind: str, given: Any) -> str | None:
    """Return what a model calls its exposure or offset: the column's name, or the kind."""
    if given is None:
        return None
    return name_of(given) or kind
