"""Numbers given one per row: numeric targets, exposures, offsets (numpy only)."""

from typing import Any

import numpy as np

from rpte.errors import InputError, bad_cell, did_you_mean, warn
from rpte.table.column import EXACT, is_absent, is_real, to_float
from rpte.table.inputs import as_array, column_names
from rpte.utils.arrays import Array, Floats


def read_numbers(values: Any, n_rows: int, name: str) -> Floats:
    """Return finite numbers, one per row, or say which cell is none.

    Examples
    --------
    >>> read_numbers([1, 2.5], 2, "y").tolist()
    [1.0, 2.5]
    """
    found = per_row(values, n_rows, name)
    gaps = np.flatnonzero(np.isnan(found))
    if len(gaps):
        text = f"{len(gaps)} missing value(s), first at row {gaps[0]}; drop these rows"
        text = f"Input {name} contains NaN: {text}"
        raise bad_cell(name, int(gaps[0]), "is missing", "drop such rows", text=text)
    bad = np.flatnonzero(np.isinf(found))
    if len(bad):
        text = f"{len(bad)} value(s), first at row {bad[0]}; replace or drop these rows"
        text = f"Input {name} contains infinity: {text}"
        raise bad_cell(name, int(bad[0]), "is infinite", "replace or drop such rows", text=text)
    _refuse_inexact(as_array(values), found, name)
    return found


def _refuse_inexact(given: Array, found: Floats, name: str) -> None:
    """Refuse whole numbers of which double precision keeps another one."""
    cells = given.reshape(-1)
    large = np.flatnonzero(np.abs(found) >= EXACT) if given.dtype.kind in "iuO" else ()
    for row in large:
        cell = cells[row]
        if isinstance(cell, (int, np.integer)) and int(cell) != int(found[row]):
            rule = "whole numbers beyond 2**53 are not exact in double precision: subtract a "
            rule += "constant, or give floats if the last digits mean nothing"
            raise bad_cell(name, int(row), f"is {cell}", rule)


def named(X: Any, values: Any) -> Any:
    """Return values that are given by the name of a column of a table, others as they are."""
    if not isinstance(values, str):
        return values
    names = column_names(X) or {}
    if values not in names:
        hint = did_you_mean(values, list(names))
        raise InputError(f"the table has no column {values!r}{hint}; name one, or give an array")
    return as_array(X[names[values]])


def require_given(what: str, name: str | None, given: Any) -> None:
    """Refuse rows without the exposure or offset of the fit, or with one too many."""
    if name is not None and given is None:
        raise InputError(f"the model was fitted with the {what} '{name}'; give {what}= as to fit")
    if name is None and given is not None:
        raise InputError(f"the model was fitted without {what}; leave {what}= out")


def warn_of_forgotten(trained: Any, exposure: Any, offset: Any) -> None:
    """Warn of predictions without the exposure or offset of the fit, which may be forgotten.

    `trained` is the target of a number, which names what the fit had.
    """
    if trained.exposure is not None and exposure is None:
        warn(
            f"the model was fitted with the exposure '{trained.exposure}', and without one "
            "predicts means for one unit of it: give exposure= as to fit, or exposure=1 if that is "
            "what you want",
        )
    if trained.offset is not None and offset is None:
        warn(
            f"the model was fitted with the offset '{trained.offset}', and without one predicts "
            "means for an offset of 0: give offset= as to fit, or offset=0 if that is what you "
            "want",
        )


def per_row(values: Any, n_rows: int, name: str) -> Floats:
    """Return numbers, one per row, NaN where missing; a single one stands for all rows."""
    array = as_array(values)
    if array.dtype.names is not None:
        raise InputError(f"{name} has the fields {list(array.dtype.names)}; give one column")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0 and name != "y":
        array = np.broadcast_to(array, (n_rows,))
    if array.ndim != 1:
        raise InputError(
            f"{name} should be a 1d array, got an array of shape {array.shape} instead"
        )
    if len(array) != n_rows:
        raise InputError(f"X has {n_rows} rows and {name} has {len(array)}; give one per row")
    return _floats(array, name)


def _floats(array: Array, name: str) -> Floats:
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    classes = ", or use RPTEClassifier for classes" if name == "y" else ""
    rule = f"give numbers, one per row (pandas: pd.to_numeric){classes}"
    if array.dtype.kind != "O":
        held = f"{name} holds the type {array.dtype}, such as {array.ravel()[:1].tolist()}"
        raise InputError(f"{held}; {rule}")
    cells = array.tolist()
    for row, cell in enumerate(cells):
        if isinstance(cell, str) or not (is_absent(cell) or is_real(cell)):
            raise bad_cell(name, row, f"is {cell!r}", rule)
    return np.array([np.nan if is_absent(cell) else to_float(cell) for cell in cells], np.float64)
