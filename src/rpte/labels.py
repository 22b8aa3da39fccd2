"""Labels, their classes and weights, as users give them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from rpte.errors import InputError
from rpte.table.column import is_absent

Floats = NDArray[np.float64]


def read_labels(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the label of each row, and the two classes in order."""
    if y is None:
        raise InputError("RPTEClassifier requires y to be passed, but the target y is None")
    labels: NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if len(labels) != n_rows:
        raise InputError(f"X has {n_rows} rows and y has {len(labels)}; give one label per row")
    _refuse_missing(labels)
    _refuse_mixed(labels)
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) == 1:
        raise InputError(
            f"y holds one class only, {plain(classes[0])!r}; a classifier needs rows of two"
        )
    if len(classes) > 2:
        raise InputError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)} with {len(classes)} classes; wrap the estimator "
            "in sklearn.multiclass.OneVsRestClassifier, or merge classes"
        )
    return labels, classes


def _refuse_missing(labels: NDArray[Any]) -> None:
    if labels.dtype.kind in "biuUS":
        return
    absent = [i for i, label in enumerate(labels) if is_absent(label)]
    if absent:
        raise InputError(
            f"Input y contains NaN: {len(absent)} missing label(s), first at row {absent[0]}; drop "
            "these rows"
        )


def _refuse_mixed(labels: NDArray[Any]) -> None:
    if labels.dtype.kind != "O":
        return
    kinds = {isinstance(label, str) for label in labels}
    if len(kinds) > 1:
        types = sorted({type(label).__name__ for label in labels})
        raise InputError(
            f"y mixes labels of the types {types}, which have no order; make them all text, or all "
            "numbers"
        )


def positive_class(positive: Any, classes: NDArray[Any]) -> int:
    """Return the place of the class that the score speaks of, the second if none is named."""
    if positive is None:
        return 1
    found = np.flatnonzero(classes == positive)
    if not len(found):
        raise InputError(
            f"positive={positive!r} is not a class; the classes are {classes.tolist()}"
        )
    return int(found[0])


def class_factors(
    class_weight: Mapping[Any, float] | str | None,
    labels: NDArray[Any],
    classes: NDArray[Any],
    weight: Floats,
) -> Floats:
    """Return the factor on the weights of each class; "balanced" counts weight, as all does."""
    if class_weight is None:
        return np.ones(2)
    if isinstance(class_weight, str) and class_weight == "balanced":
        held = np.array([weight[labels == label].sum() for label in classes])
        return np.where(held > 0, held.sum() / 2.0 / np.where(held > 0, held, 1.0), 1.0)
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"class_weight={class_weight!r}; it must be None, 'balanced' or a mapping "
            "from class to weight"
        )
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise InputError(
            f"class_weight={class_weight!r}; {unknown[0]!r} is not a class, the classes "
            f"are {classes.tolist()}"
        )
    factors = [class_weight.get(label, 1.0) for label in classes.tolist()]
    if any(not isinstance(f, Real) or not (np.isfinite(f) and f >= 0) for f in factors):
        raise InputError(f"class_weight={class_weight!r}; weights must be finite and not negative")
    return np.array(factors, np.float64)


def read_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Return the weight of each row."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, np.float64)
    if weight.ndim and weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): Sample weights must be "
            "1D array or scalar, one per row"
        )
    return np.broadcast_to(weight, (n_rows,))


def plain(label: Any) -> Any:
    """Return a label as a JSON value."""
    return label.item() if isinstance(label, np.generic) else label
