"""Weights of rows, as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.table.column import is_absent, is_real
from rpte.table.inputs import as_array

Floats = NDArray[np.float64]

MOST = 2.0**53  # in a larger sum a single row is lost


def read_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Return the weight of each row: 1 where none are given, one for all where one is given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = _numbers(as_array(sample_weight))
    if weight.ndim and weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): Sample weights must be "
            "1D array or scalar, one per row"
        )
    weight = np.broadcast_to(weight, (n_rows,))
    check_weights(weight)
    return weight


def _numbers(weight: NDArray[Any]) -> Floats:
    if weight.dtype.kind == "O":
        flat = [np.nan if is_absent(cell) else cell for cell in weight.ravel().tolist()]
        strange = [cell for cell in flat if isinstance(cell, str) or not is_real(cell)]
        if not strange:
            return np.array([_number(cell) for cell in flat], np.float64).reshape(weight.shape)
        what = f"{strange[0]!r}"
    elif weight.dtype.kind in "biuf":
        return weight.astype(np.float64, copy=False)
    else:
        what = f"the type {weight.dtype}"
    raise InputError(f"sample_weight holds {what}; weights must be numbers, one per row")


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return np.inf


def check_weights(weight: Floats) -> None:
    """Refuse weights that are missing, infinite or negative, or whose sum is beyond `MOST`."""
    allowed = np.isfinite(weight) & (weight >= 0)
    if not allowed.all():
        bad = int(np.flatnonzero(~allowed)[0])
        raise InputError(
            f"sample_weight[{bad}] is {weight[bad]}; weights must be finite and not negative: give "
            "0 to leave a row out"
        )
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total > MOST:
        raise InputError(
            f"sample_weight (times class_weight) sums to {total:g}; beyond 2**53 a single row is "
            "lost in sums, so rescale the weights to a mean near 1"
        )
