"""Labels of classes as a model keeps them, and as arrays (numpy only)."""

from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.table.inputs import as_array
from rpte.utils.arrays import Array

Label = str | int | float | bool


def as_labels(classes: tuple[Label, ...]) -> Array:
    """Return classes as an array; of objects where numpy's own types would lose something."""
    labels = np.array(classes)
    return labels if labels.tolist() == list(classes) else np.array(classes, object)


def known_labels(y: Any, n_rows: int, classes: tuple[Label, ...]) -> Array:
    """Return labels as an array, (n_rows,); refuse any that is none of the classes."""
    labels = as_array(y)
    if labels.shape != (n_rows,):
        text = f"y has shape {labels.shape}, X has {n_rows} rows; give one label per row"
        raise InputError(text)
    strange = labels[~np.isin(labels, as_labels(classes))].tolist()
    if strange:
        raise InputError(f"y holds {strange[0]!r}; the model's classes are {classes}")
    return labels
