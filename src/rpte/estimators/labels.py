"""Labels, their classes and factors on weights, as users give them."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from rpte.errors import InputError, warn
from rpte.table.column import distinct, is_absent
from rpte.table.inputs import as_array
from rpte.table.target import CLASSES, SURVIVAL, task_of
from rpte.utils.arrays import Array, Floats

KINDS: dict[type, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float, np.floating),
    str: (str,),
}
MOST_CLASSES = 50
MANY_NUMBERS = 20  # different ones, which are more often counts than classes
FEWEST_ROWS = 5  # of each class: one for every fold
ONE_CLASS = "only one class has rows with a positive weight; a classifier needs both"
LARGEST = 2**53  # beyond it, whole numbers are not the same everywhere that a model file is read


def read_labels(y: Any, n_rows: int, columns: Sequence[str] = ()) -> tuple[Array, Array]:
    """Return the label of each row, and the classes in order.

    Labels are booleans, whole numbers, floats or text: what a model file can keep. The names of the
    columns beside them tell of other tasks.
    """
    if y is None:
        raise InputError("RPTEClassifier requires y to be passed, but the target y is None")
    labels = _one_per_row(y, n_rows)
    _refuse_missing(labels)
    labels = _kept(labels)
    classes = np.unique(labels)
    if len(classes) == 1:
        only = plain(classes[0])
        raise InputError(f"y holds one class only, {only!r}; a classifier needs rows of two")
    kind = type_of_target(labels)
    task = task_of(classes.tolist(), getattr(y, "name", None), columns)
    if kind.startswith("continuous"):
        raise InputError(f"Unknown label type: {kind}. y holds {len(classes)} numbers; {task}")
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"y holds {len(classes)} classes, at most {MOST_CLASSES} can be told apart: give "
            f"rare ones a common label, or drop their rows; {task}"
        )
    if len(classes) > MANY_NUMBERS and labels.dtype.kind in "iuf":
        warn(f"y holds {len(classes)} different numbers, each taken as a class of its own; {task}")
    return labels, classes


def check_rare(
    classes: Array, cases: Sequence[int], name: Any = None, columns: Sequence[str] = ()
) -> None:
    """Refuse classes without weight; warn of those with fewer cases than inner validation folds.

    Where the name of the target, and those of the columns beside it, speak of another task, rare
    classes are refused too.
    """
    counted = [(plain(c), int(n)) for c, n in zip(classes, cases, strict=True)]
    gone = [label for label, count in counted if count == 0]
    if gone and len(counted) == 2:
        raise InputError(ONE_CLASS)
    if gone:
        raise InputError(
            f"the classes {gone[:5]} have no rows with a positive weight; give them a weight, or "
            "leave their rows out"
        )
    rare = [(label, count) for label, count in counted if count < FEWEST_ROWS]
    if not rare:
        return
    task = task_of(classes.tolist(), name, columns)
    said = ", ".join(f"{label!r} {count}" for label, count in rare[:5])
    found = f"{len(rare)} of {len(classes)} classes with fewer than {FEWEST_ROWS} rows ({said})"
    if len(counted) > 2 and task != CLASSES:
        raise InputError(f"y holds {found}; {task}")
    warn(
        f"y holds {found}: inner validation cannot test them in every fold, so hardly anything can "
        "be learned about them; give more of their rows"
        + (", or give rare classes a common label (such as 'other')" if len(counted) > 2 else "")
    )


def _one_per_row(y: Any, n_rows: int) -> Array:
    array = as_array(y)
    if array.dtype.names is not None:
        raise InputError(f"y has the fields {list(array.dtype.names)}; {SURVIVAL}")
    if array.dtype.kind in "mMcS" and array.size:
        raise _unkept(array.ravel()[0])
    if array.ndim == 2 and array.shape[1] == 2:
        raise InputError(
            f"y should be a 1d array, got an array of shape {array.shape} instead; if its columns "
            f"are a time and an event: {SURVIVAL}"
        )
    labels: Array = column_or_1d(array, warn=True)
    if len(labels) != n_rows:
        raise InputError(f"X has {n_rows} rows and y has {len(labels)}; give one label per row")
    return labels


def _refuse_missing(labels: Array) -> None:
    if labels.dtype.kind in "biuUS":
        return
    absent = [i for i, label in enumerate(labels) if is_absent(label)]
    if absent:
        refuse_missing(len(absent), absent[0])


def refuse_missing(count: int, first: int) -> None:
    """Refuse missing labels, if there are any."""
    if count:
        raise InputError(
            f"Input y contains NaN: {count} missing label(s), first at row {first}; drop these rows"
        )


def _kept(labels: Array) -> Array:
    """Return labels of one type that a model file can keep, or say why they are not."""
    if labels.dtype.kind == "O":
        return _of_one_type(labels)
    if labels.dtype.kind in "iu" and len(labels):
        _refuse_large([int(labels.min()), int(labels.max())])
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y holds infinite labels; give two classes")
    return labels


def _of_one_type(labels: Array) -> Array:
    """Return object labels as an array of booleans, numbers or (still objects) text."""
    cells, place = distinct(labels, "y")
    kinds = {_kind(cell) for cell in cells}
    if len(kinds) > 1 and kinds != {int, float}:
        types = sorted({type(cell).__name__ for cell in cells})
        raise InputError(
            f"y mixes labels of the types {types}, which have no order; make them all text, or all "
            "numbers"
        )
    if kinds == {str}:
        return np.array([*map(_text, cells), None], object)[:-1][place]
    if int in kinds:
        _refuse_large([int(cell) for cell in cells])
    kind = float if float in kinds else kinds.pop()
    return _kept(np.array([kind(cell) for cell in cells])[place])


def _kind(label: Any) -> type:
    for kind, types in KINDS.items():
        if isinstance(label, types):
            return kind
    raise _unkept(label)


def _unkept(label: Any) -> InputError:
    return InputError(
        f"y holds labels of the type {type(label).__name__}, such as {label!r}; a model file keeps "
        "text, whole numbers, floats and booleans: turn them into text (astype(str)) or numbers"
    )


def _text(label: str) -> str:
    text = str.__str__(label)  # a member of an Enum of texts is its text
    if text.endswith("\0") or any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(
            f"y holds the label {text!r}: numpy drops zero characters at the end of text, and a "
            "model file holds Unicode text only; rename the label"
        )
    return text


def _refuse_large(numbers: list[int]) -> None:
    large = [number for number in numbers if abs(number) > LARGEST]
    if large:
        raise InputError(
            f"y holds the label {large[0]}, beyond 2**53: not every reader of a model file keeps "
            "its digits; turn the labels into text (astype(str))"
        )


def positive_class(positive: Any, classes: Array) -> int:
    """Return the index of the class that the score is of, the second if none is named."""
    if positive is None:
        return 1
    found = np.flatnonzero(classes == positive)
    if not len(found):
        known = classes.tolist()
        raise InputError(f"positive={positive!r} is not a class; the classes are {known}")
    return int(found[0])


def class_factors(
    class_weight: Mapping[Any, float] | str | None, labels: Array, classes: Array, weight: Floats
) -> Floats:
    """Return the factor on the weights of each class; "balanced" is by weight, not by rows."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = np.array([weight[labels == label].sum() for label in classes])
        even = total.sum() / len(classes)
        return np.where(total > 0, even / np.where(total > 0, total, 1.0), 1.0)
    given = f"class_weight={class_weight!r}"
    if not isinstance(class_weight, Mapping):
        raise InputError(f"{given}; it must be None, 'balanced' or a mapping from class to weight")
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        known = classes.tolist()
        raise InputError(f"{given}; {unknown[0]!r} is not a class, the classes are {known}")
    factors = [class_weight.get(label, 1.0) for label in classes.tolist()]
    if any(not isinstance(f, Real) or not (np.isfinite(f) and f >= 0) for f in factors):
        raise InputError(f"{given}; weights must be finite and not negative")
    return np.array(factors, np.float64)


def plain(label: Any) -> Any:
    """Return a label as a JSON value."""
    return label.item() if isinstance(label, np.generic) else label
