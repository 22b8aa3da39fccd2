"""The table that a report is made on: typed rows, outcomes, weights and groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.model import Model
from rpte.model.verify_table import labelled
from rpte.table.column import is_absent
from rpte.table.fingerprint import Profile, fingerprint, table_hash
from rpte.table.inputs import Inputs, as_array
from rpte.table.table import read_weights
from rpte.table.target import as_classes
from rpte.utils.arrays import Array, Floats, Index


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows to report on; arrays have one entry per row."""

    name: str
    inputs: Inputs
    weight: Floats
    places: Index  # numbers of the rows in the user's table, from 0
    profile: list[dict[str, Any]]
    labels: Array | None = None  # outcomes as the model's classes; None without outcomes
    y: Floats | None = None  # 1.0 for the positive class
    unlabelled: int = 0  # rows that were left out because they have no outcome
    sha256: str | None = None  # fingerprint of rows, outcomes and weights
    training: bool = False  # it is that of the training rows
    groups: Mapping[str, Array] = field(default_factory=dict)  # performance is split by them

    @property
    def total(self) -> float:
        """Sum of weights."""
        return float(self.weight.sum())


def gather(
    model: Model,
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    name: str = "table",
    groups: Mapping[str, Any] | None = None,
    profile: Profile = "safe",
) -> Evidence:
    """Read a table for a report; rows without an outcome are left out and counted.

    `groups` are columns by which performance is split; the model need not know them. The profile
    "safe" hides counts under 5 and exact extremes.
    """
    inputs = model.read(X)
    if inputs.n_rows == 0:
        raise InputError("the table has no rows; a report needs at least one")
    own = checked_weights(weight, inputs.n_rows)
    columns = {key: np.asarray(values, object) for key, values in (groups or {}).items()}
    if y is None:
        profiled = fingerprint(inputs, np.zeros(len(own)), own, model.classes, profile)["profile"]
        return Evidence(name, inputs, own, np.arange(len(own)), profiled, groups=columns)
    kept, labels = _labelled(model, y, inputs.n_rows)
    inside, weights = inputs.take(kept), own[kept]
    rows = labelled(model, inside, labels, weights)
    names = model.classes[1 - model.positive], model.classes[model.positive]
    held = np.flatnonzero(rows.weight > 0)
    _, digest = table_hash(inside.take(held), rows.y[held], rows.weight[held], names)
    return Evidence(
        name=name,
        inputs=inside,
        weight=weights,
        places=kept,
        profile=fingerprint(inside, rows.y, weights, names, profile)["profile"],
        labels=labels,
        y=rows.y,
        unlabelled=inputs.n_rows - len(kept),
        sha256=digest,
        training=digest == model.data.get("sha256"),
        groups={key: values[kept] for key, values in columns.items()},
    )


def _labelled(model: Model, y: Any, n_rows: int) -> tuple[Index, Array]:
    """Return the rows that have an outcome, and these outcomes as the model's classes."""
    labels = as_array(y)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}, X has {n_rows} rows; give one label per row")
    kept = np.flatnonzero([not is_absent(label) for label in labels])
    if not len(kept):
        raise InputError("no row has an outcome; name another column, or none")
    return kept, as_classes(labels[kept], model.classes)


def checked_weights(weight: Any, n_rows: int) -> Floats:
    """Return weights as numbers, 1 for each row if None; refuse what cannot be weights."""
    found = read_weights(weight, n_rows)
    if len(found) and not found.sum() > 0:
        raise InputError("every weight is zero; give some rows a positive weight")
    return found
