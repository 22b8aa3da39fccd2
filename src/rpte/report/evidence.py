"""The table that a report is made on: typed rows, outcomes, weights and groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.losses.risk_sets import FollowUp
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.outcome import Status, outcome_parts, read_outcome
from rpte.model.survival import SurvivalTarget, follow_up
from rpte.model.target import NumberTarget
from rpte.model.verify_table import hashed, labelled
from rpte.table.column import is_absent
from rpte.table.fingerprint import Profile, fingerprint, table_hash
from rpte.table.inputs import Inputs, as_array
from rpte.table.numbers import named, read_numbers
from rpte.table.table import checked_weights
from rpte.table.target import as_classes
from rpte.utils.arrays import Array, Floats, Index

AnyModel = Model | ClassesModel


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows to report on; arrays have one entry per row."""

    name: str
    inputs: Inputs
    weight: Floats
    places: Index  # numbers of the rows in the user's table, from 0
    profile: list[dict[str, Any]]
    labels: Array | None = None  # outcomes as the model's classes, or numbers; None without
    y: Floats | None = None  # 1.0 for the positive class, numbers, or those of several classes
    unlabelled: int = 0  # rows that were left out because they have no outcome
    sha256: str | None = None  # fingerprint of rows, outcomes and weights
    training: bool = False  # it is that of the training rows
    groups: Mapping[str, Array] = field(default_factory=dict)  # performance is split by them
    exposure: Floats | None = None  # of numbers
    offset: Floats | None = None
    seen: FollowUp | None = None  # of times until an event; y is then 1.0 where it was seen
    strata: Array | None = None  # labels of the baselines
    against: Mapping[str, Floats] = field(default_factory=dict)  # means that others predict

    @property
    def total(self) -> float:
        """Sum of weights."""
        return float(self.weight.sum())


def gather(
    model: AnyModel,
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    name: str = "table",
    groups: Mapping[str, Any] | None = None,
    profile: Profile = "safe",
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
    against: Mapping[str, Any] | None = None,
) -> Evidence:
    """Read a table for a report; rows without an outcome are left out and counted.

    `groups` are columns by which performance is split; the model need not know them. The profile
    "safe" hides counts under 5 and exact extremes. Of a number: its `exposure` and `offset`, arrays
    or names of columns of `X`, and `against` whom to draw a double lift, predictions of y by name.
    Of a time until an event: `y` as for `RPTESurvival.fit`, and `entry` and `strata` alike.
    """
    inputs = model.read(X)
    if inputs.n_rows == 0:
        raise InputError("the table has no rows; a report needs at least one")
    own = checked_weights(weight, inputs.n_rows)
    columns = {key: np.asarray(values, object) for key, values in (groups or {}).items()}
    beside = _beside(model, X, inputs.n_rows, {"exposure": exposure, "offset": offset})
    since, labels_of = _over_time(model, inputs.n_rows, named(X, entry), named(X, strata))
    others = _predictions(model, against or {}, inputs.n_rows)
    if y is None:
        names, zeros = model.target.hashed_labels, np.zeros(len(own))
        profiled = fingerprint(inputs, zeros, own, names, profile)["profile"]
        rows = np.arange(len(own))
        told = {"groups": columns, "strata": labels_of, **beside}
        return Evidence(name, inputs, own, rows, profiled, **told)
    _require_beside(model, beside)
    kept, labels, time = _labelled(model, y, inputs.n_rows)
    inside, weights = inputs.take(kept), own[kept]
    beside = {role: None if found is None else found[kept] for role, found in beside.items()}
    seen, labels_of = None, None if labels_of is None else labels_of[kept]
    if time is None:
        numbers, digest = _hashed(model, inside, labels, weights, beside)
    else:
        since = None if since is None else np.asarray(since)[kept]
        given = inside, (labels, time), weights, since, labels_of
        seen, digest = _hashed_times(model, *given)
        labels = seen.event
        numbers = labels.astype(np.float64)
    return Evidence(
        name=name,
        inputs=inside,
        weight=weights,
        places=kept,
        profile=fingerprint(inside, numbers, weights, model.target.hashed_labels, profile)[
            "profile"
        ],
        labels=labels,
        y=numbers,
        unlabelled=inputs.n_rows - len(kept),
        sha256=digest,
        training=digest is not None and digest == model.data.get("sha256"),
        groups={key: values[kept] for key, values in columns.items()},
        against={key: values[kept] for key, values in others.items()},
        seen=seen,
        strata=labels_of,
        **beside,
    )


def _over_time(model: AnyModel, n_rows: int, entry: Any, strata: Any) -> tuple[Any, Any]:
    """Return entry times and labels of strata, one per row; refuse them where there are none."""
    target = model.target
    if not isinstance(target, SurvivalTarget):
        given = [role for role, of in (("entry", entry), ("strata", strata)) if of is not None]
        if given:
            raise InputError(f"{given[0]} is for models of a time; this is of '{model.task}'")
        return None, None
    target.numbers_of(strata, n_rows)
    return entry, None if strata is None else np.broadcast_to(as_array(strata), (n_rows,))


def _hashed_times(
    model: AnyModel, inputs: Inputs, y: Any, weight: Floats, entry: Any, strata: Any
) -> tuple[FollowUp, str]:
    """Return when rows were under observation, and the hash of the table."""
    assert isinstance(model, Model)
    assert isinstance(model.target, SurvivalTarget)
    rows = hashed(labelled(model, inputs, y, weight, entry=entry, strata=strata))
    held = np.flatnonzero(rows.weight > 0)
    _, digest = table_hash(inputs.take(held), rows.y[held], rows.weight[held], ())
    outcome = read_outcome(y, inputs.n_rows, model.target.status)
    return follow_up(replace(model.target, ties="breslow"), outcome, entry, strata), digest


def _beside(model: AnyModel, X: Any, n_rows: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the exposure and the offset of numbers, (n,) each; refuse them of classes."""
    target, named_by = model.target, [role for role, of in given.items() if of is not None]
    if not isinstance(target, NumberTarget):
        if named_by:
            what = "is of a time" if isinstance(target, SurvivalTarget) else "tells classes"
            raise InputError(f"{named_by[0]} is for models of numbers; this one {what}")
        return {}
    readers = {"exposure": target.read_exposure, "offset": target.read_offset}
    return {
        role: None if of is None else readers[role](named(X, of), n_rows)
        for role, of in given.items()
    }


def _require_beside(model: AnyModel, beside: Mapping[str, Any]) -> None:
    """Refuse outcomes without the exposure or offset that the model was fitted with."""
    for role, found in beside.items():
        trained = getattr(model.target, role)
        if trained is not None and found is None:
            raise InputError(
                f"the model was fitted with the {role} '{trained}', without which what it predicts "
                f"is not what was observed; give {role}="
            )


def _predictions(model: AnyModel, against: Mapping[str, Any], n_rows: int) -> dict[str, Floats]:
    """Return what others predict of the rows of a table."""
    if against and isinstance(model, ClassesModel):
        raise InputError(
            "a double lift compares predicted means, and the model is of several classes; leave "
            "the other predictions out"
        )
    if against and isinstance(model.target, SurvivalTarget):
        raise InputError(
            "a double lift compares predicted means, and the model is of a time until an event; "
            "leave the other predictions out"
        )
    if against and not isinstance(model.target, NumberTarget):
        raise InputError(
            "a double lift compares predicted means, and the model is of two classes; "
            "rpte compare shows where the predictions of two such models differ"
        )
    return {key: read_numbers(values, n_rows, key) for key, values in against.items()}


def _hashed(
    model: AnyModel, inputs: Inputs, labels: Array, weight: Floats, beside: Mapping[str, Any]
) -> tuple[Floats, str | None]:
    """Return outcomes as numbers, and the hash of the table as that of training was taken.

    There is none where an exposure or an offset is given that training did not have: such a table
    is not that of training.
    """
    target = model.target
    assert not isinstance(target, SurvivalTarget)
    more = any((found is None) != (getattr(target, role) is None) for role, found in beside.items())
    y = target.read(labels, len(labels))
    if more:
        return y, None
    rows = labelled(model, inputs, labels, weight, **beside)
    held = np.flatnonzero(rows.weight > 0)
    inside = inputs.take(held)
    _, digest = table_hash(inside, rows.y[held], rows.weight[held], target.hashed_labels)
    return y, digest


def _labelled(model: AnyModel, y: Any, n_rows: int) -> tuple[Index, Array, Floats | None]:
    """Return the rows that have an outcome, and these outcomes as the model knows them.

    Of times until an event: whether one was seen, or its cause, and when.
    """
    if isinstance(model.target, SurvivalTarget):
        return _with_times(y, n_rows, model.target.status)
    labels = as_array(y)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}, X has {n_rows} rows; give one label per row")
    kept = np.flatnonzero([not is_absent(label) for label in labels])
    if not len(kept):
        raise InputError("no row has an outcome; name another column, or none")
    if isinstance(model.target, NumberTarget):
        return kept, model.target.read(labels[kept], len(kept)), None
    return kept, as_classes(labels[kept], model.classes), None


def _with_times(y: Any, n_rows: int, status: Status | None) -> tuple[Index, Array, Floats]:
    event, time, _ = outcome_parts(y)
    time = as_array(time)
    if event.shape != (n_rows,) or time.shape != (n_rows,):
        raise InputError(f"y has {len(event)} outcomes, X has {n_rows} rows; give one per row")
    gone = [is_absent(e) or is_absent(t) for e, t in zip(event, time, strict=True)]
    kept = np.flatnonzero(~np.array(gone, np.bool_))
    if not len(kept):
        raise InputError("no row has both an event and a time; name other columns, or none")
    found = read_outcome((event[kept], time[kept]), len(kept), status)
    return kept, found.event if status is None else event[kept], found.time
