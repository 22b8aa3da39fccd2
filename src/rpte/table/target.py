"""The two labels of a table read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.column import distinct, is_absent, level_text
from rpte.table.files import check_column
from rpte.table.task import task_of

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
SHOWN = 6


def has_label(frame: pd.DataFrame, target: str) -> NDArray[np.bool_]:
    """Return which rows have a label."""
    check_column(frame, target, "target")
    cells, place = distinct(frame[target].to_numpy(object))
    return np.array([not is_absent(cell) for cell in cells], bool)[place]


def binary_labels(frame: pd.DataFrame, target: str) -> Array:
    """Return the labels of the rows, or say why they are not two classes.

    Raises
    ------
    InputError
        If the column is absent, has gaps, or does not hold exactly two values.
    """
    given = has_label(frame, target)
    if not given.all():
        first = int(np.flatnonzero(~given)[0]) + 1
        gaps = int((~given).sum())
        raise InputError(
            f"the target '{target}' is missing in {gaps} of {len(given)} rows, first "
            f"in row {first}; fill them in, or leave them out with --drop-unlabelled"
        )
    labels = frame[target].to_numpy()
    cells = distinct(labels)[0]
    values = sorted({level_text(cell) for cell in cells})
    if len(values) != 2:
        more = ", ..." if len(values) > SHOWN else ""
        held = ", ".join(values[:SHOWN]) + more
        few, others = len(values) < 2, [str(name) for name in frame if name != target]
        remedy = "a model needs cases of two classes" if few else task_of(cells, target, others)
        raise InputError(f"the target '{target}' holds {len(values)} values ({held}); {remedy}")
    return labels


def matching_label(text: str, labels: Sequence[Any]) -> Any:
    """Return the label that a text spells."""
    named = {level_text(label): label for label in labels}
    if text not in named:
        raise InputError(f"'{text}' is not a class; the classes are {', '.join(named)}")
    return named[text]


def labels_as(frame: pd.DataFrame, target: str, classes: Sequence[Any]) -> Array:
    """Return the labels of the rows as the classes of a model, matched by their text."""
    check_column(frame, target, "target")
    labels = frame[target].to_numpy(object)
    if any(is_absent(cell) for cell in distinct(labels)[0]):
        raise InputError(f"the target '{target}' has missing cells; leave these rows out")
    return as_classes(labels, classes)


def as_classes(labels: Array, classes: Sequence[Any]) -> Array:
    """Return labels as the classes of a model, matched by their text: a file may lose types."""
    cells, place = distinct(labels)
    return np.array([matching_label(level_text(cell), classes) for cell in cells])[place]
